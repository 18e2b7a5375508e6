/*
 * Family: what the folders of a family call things, and what GGUF calls them; private to this room
 *
 * A family is a file with one row: which model_type config.json gives it, its name in GGUF, its tables of tensors, and
 * a function that writes the keys which not every family has.
 */
#ifndef SOTTO_IMPORT_FAMILY_H
#define SOTTO_IMPORT_FAMILY_H

#include "import/draft.h"

enum family_flag {
    FAMILY_LAYER = 1, /* "model.layers.N.FROM" is "blk.N.TO" */
    FAMILY_OPTIONAL = 2,
    FAMILY_PAIRS = 4,     /* rows of each head go from halves to neighbours */
    FAMILY_PLUS_ONE = 16, /* stored less one */
    FAMILY_FLOATS = 32,   /* stays F32 */
    FAMILY_FULL = 64,     /* only in layers that the family takes for those of full attention */
    FAMILY_LINEAR = 128,  /* only in the others */
};

struct family_tensor {
    const char *from;
    const char *to;
    unsigned flags;
};

struct family_table {
    const struct family_tensor *rows;
    size_t n;
};

#define FAMILY_TABLES_MAX 6
#define FAMILY_TYPES_MAX  3

struct family {
    const char *types[FAMILY_TYPES_MAX];                  /* model_type in config.json, of the language model */
    const char *arch;                                     /* general.architecture */
    const struct family_table *tables[FAMILY_TABLES_MAX]; /* up to a NULL */

    /* Writes keys and adds made tensors beyond the common ones. NULL: there are none. IMPORT_REFUSED, or a fault. */
    int (*more)(struct import *import, struct diag *diag);

    /* Optional. True if @layer has the tensor of @row. NULL: every layer has every row. */
    bool (*has)(const struct import *import, const struct family_tensor *row, uint32_t layer);

    /* Optional. Says in @source how the lines of the tensor of @row change places. NULL: as the flags have it. */
    void (*place)(const struct import *import, const struct family_tensor *row, struct import_source *source);
};

extern const struct family family_llama;
extern const struct family family_smollm3;
extern const struct family family_qwen2;
extern const struct family family_qwen3;
extern const struct family family_qwen35;
extern const struct family family_gemma;
extern const struct family family_gemma2;
extern const struct family family_gemma3;
extern const struct family family_phi3;

/* Tables that several families share. */
extern const struct family_table family_ends;       /* embedding, last norm, output */
extern const struct family_table family_ends_plus;  /* the same, the norm stored less one */
extern const struct family_table family_attention;  /* q, k, v, o and their biases */
extern const struct family_table family_pairs;      /* the same, turning in neighbours */
extern const struct family_table family_head_norms; /* of q and k */
extern const struct family_table family_norms;      /* one in front of each half of a layer */
extern const struct family_table family_gated;      /* gate, up, down */

/* The row that config.json asks for, or NULL with a sentence. */
const struct family *family_find(const struct folder *folder, struct diag *diag);

/* Adds a tensor for each row of the tables that the folder has, and refuses what is missing or left over. */
int family_bind(struct import *import, struct diag *diag);

/* config.json's numbers that every family has, and their keys. */
int family_common(struct import *import, struct diag *diag);

#endif
