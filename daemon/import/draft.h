/*
 * Draft: an import under construction; private to this module
 */
#ifndef SOTTO_IMPORT_DRAFT_H
#define SOTTO_IMPORT_DRAFT_H

#include "import/folder.h"
#include "import/import.h"
#include "import/shuffle.h"

/* Origins of the numbers of a tensor. */
enum source_kind {
    SOURCE_STORED, /* floats in the folder */
    SOURCE_AWQ,    /* 4-bit weights with zero points and scales in the folder */
    SOURCE_MADE,   /* floats that were computed when the folder was opened */
    SOURCE_KIND_COUNT,
};

struct import_source {
    enum source_kind kind;
    const struct st_tensor *stored; /* STORED; AWQ: the packed weights, [n_cols][n_rows / 8] */
    const struct st_tensor *zeros;  /* AWQ: [n_cols / group][n_rows / 8] */
    const struct st_tensor *scales; /* AWQ: [n_cols / group][n_rows] */
    uint32_t group;                 /* AWQ: columns that share a scale */
    float *made;                    /* MADE: owned */
    struct shuffle rows;
    struct shuffle cols; /* STORED only */
    bool plus_one;       /* the file stores the value minus one */
    bool minus_exp;      /* the file stores the logarithm of the negated value */
};

struct import_entry {
    struct import_tensor tensor;
    struct import_source source;
};

/* The numbers of config.json that all families have. */
struct import_facts {
    uint32_t n_layers;
    uint32_t n_embd;
    uint32_t n_ff;
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim;
    uint32_t n_rot;
    uint32_t n_trained;
    uint32_t n_rows; /* of the embedding */
    bool is_tied;    /* the output is the embedding */
};

#define IMPORT_KEY_BYTES 96

struct awq_cache; /* the tensor that was unpacked last */

struct import {
    struct folder *folder;
    const struct family *family;
    const char *prefix; /* of the names of the language model's tensors: "model." */
    struct import_facts facts;
    struct gguf_writer *writer;   /* owned; holds the keys */
    char key[IMPORT_KEY_BYTES];   /* result of import_key() */
    struct import_entry *entries; /* owned */
    size_t n;
    size_t cap;
    uint32_t awq_group; /* 0: the weights are not quantised */
    struct awq_cache *awq;
};

/* Returns "ARCH.@suffix", valid until the next call. */
const char *import_key(struct import *import, const char *suffix);

/* Adds an entry named @name and returns it, or NULL without memory. It is valid until the next call. */
struct import_entry *import_add(struct import *import, const char *name);

/* Adds a tensor of one dimension, the @n floats at @values (copied). 0 or -ENOMEM. */
int import_add_made(struct import *import, const char *name, const float *values, size_t n);

/* import_source.c */

/* Sets the shape and type of @entry from its source. IMPORT_REFUSED, or a fault. */
int import_source_check(struct import *import, struct import_entry *entry, struct diag *diag);
int import_source_rows(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, float *out,
                       struct diag *diag);

/* awq.c */

/* Reads quantization_config. IMPORT_REFUSED: the weights are packed in an unknown way. */
int awq_read_config(struct import *import, struct diag *diag);
int awq_check(struct import *import, struct import_entry *entry, struct diag *diag);
int awq_rows(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, float *out,
             struct diag *diag);
int awq_blocks(struct import *import, const struct import_entry *entry, uint64_t first, uint64_t n, void *out,
               struct diag *diag);
void awq_forget(struct import *import);

/* vocabulary.c: puts the vocabulary, its special tokens and the chat template. IMPORT_REFUSED, or a fault. */
int vocabulary_import(struct import *import, struct diag *diag);

/* rope_keys.c */

/* Puts keys and tensors of the rotation, for layers of full attention where a family has others as well. */
int rope_keys_import(struct import *import, struct diag *diag);
/* Reads the base of the rotation in layers of @kind ("sliding_attention"); @ret is untouched if there is none. */
int rope_keys_read_base(const struct folder *folder, const char *kind, float *ret, struct diag *diag);

/* Returns the value of an IEEE binary16. */
float import_half(uint16_t bits);

#endif
