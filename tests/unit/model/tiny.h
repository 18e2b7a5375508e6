/*
 * Tiny: a whole model file of family llama, as right or as wrong as a test wants it
 *
 * It has two layers of 256 columns, 4 heads of 64 over 2 of keys, 300 tokens, and weights of F16 that are all zero. The
 * fake backend gives it answers.
 */
#ifndef SOTTO_TESTS_MODEL_TINY_H
#define SOTTO_TESTS_MODEL_TINY_H

#include <stddef.h>
#include <stdint.h>

#define TINY_TOKENS     300
#define TINY_CONTEXT    128
#define TINY_PAGE_BYTES (2 /* layers */ * 2 * 2 * 64 /* K and V of two heads */ * 16 /* positions */ * 2 /* F16 */)

struct tiny {
    const char *arch;    /* NULL: "llama" */
    const char *omit[8]; /* keys and tensors to leave out */
    const char *key;     /* NULL, or a key to change or add, with @value */
    uint32_t value;
    const char *text_key; /* NULL, or a text key to add */
    const char *text;
    const char *tensor; /* NULL, or a tensor to change or add, of @type and this shape */
    uint32_t type;
    uint64_t n_cols;
    uint64_t n_rows;
    uint32_t n_listed; /* tokens in the list; 0: TINY_TOKENS */
    float eps;         /* 0: 1e-5 */
};

/* Makes the file. @path opens it as long as the process lives. */
void tiny_file(const struct tiny *tiny, char *path, size_t cap);

#endif
