/*
 * Family: the names of tensors and keys of a model family, in the folder and in GGUF; private to this module
 *
 * A family is a file with one row: its model_type in config.json, its name in GGUF, its tables of tensors, and a
 * function that writes the keys which not every family has.
 */
#ifndef SOTTO_IMPORT_FAMILY_H
#define SOTTO_IMPORT_FAMILY_H

#include "import/draft.h"

enum family_flag {
    FAMILY_LAYER = 1, /* "model.layers.N.FROM" is "blk.N.TO" */
    FAMILY_OPTIONAL = 2,
    FAMILY_PAIRS = 4,     /* rows of each head are reordered from halves to neighbours */
    FAMILY_PLUS_ONE = 16, /* the file stores the value minus one */
    FAMILY_FLOATS = 32,   /* stays F32 */
    FAMILY_FULL = 64,     /* only in layers of full attention */
    FAMILY_LINEAR = 128,  /* only in the other layers */
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

    /* Optional. Writes keys and adds computed tensors beyond the common ones. IMPORT_REFUSED, or a fault. */
    int (*more)(struct import *import, struct diag *diag);

    /* Optional. Returns whether @layer has the tensor of @row. NULL: every layer has every row. */
    bool (*has)(const struct import *import, const struct family_tensor *row, uint32_t layer);

    /* Optional. Sets in @source how the lines of the tensor of @row are reordered. NULL: the flags say it. */
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
extern const struct family_table family_ends_plus;  /* family_ends, with the norm stored minus one */
extern const struct family_table family_attention;  /* q, k, v, o and their biases */
extern const struct family_table family_pairs;      /* family_attention, with rotation in neighbours */
extern const struct family_table family_head_norms; /* of q and k */
extern const struct family_table family_norms;      /* one in front of each half of a layer */
extern const struct family_table family_gated;      /* gate, up, down */

/* Returns the family of config.json, or NULL with a sentence. */
const struct family *family_find(const struct folder *folder, struct diag *diag);

/* Adds a tensor for each row of the tables; refuses tensors that are missing or left over. */
int family_bind(struct import *import, struct diag *diag);

/* Reads the numbers of config.json that every family has, and puts their keys. */
int family_common(struct import *import, struct diag *diag);

#endif
