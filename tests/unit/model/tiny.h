/*
 * Tiny: a whole model file of family llama, as right or as wrong as a test wants it
 *
 * Two layers of 256 columns, 4 heads of 64 over 2 of keys, 300 tokens, weights of F16 that are all zero. The backend
 * fake makes it talk.
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
    const char *omit[8]; /* keys and tensors that are not there */
    const char *key;     /* NULL, or a key that is @value (a number already there, or one more) */
    uint32_t value;
    const char *text_key; /* NULL, or one more key */
    const char *text;
    const char *tensor; /* NULL, or a tensor (one more, or one there) of @type and of this shape */
    uint32_t type;
    uint64_t n_cols;
    uint64_t n_rows;
    uint32_t n_listed; /* tokens in the list; 0: TINY_TOKENS */
    float eps;         /* 0: 1e-5 */
};

/* Makes the file; a path that opens it, valid as long as the process lives, in @path. */
void tiny_file(const struct tiny *tiny, char *path, size_t cap);

#endif
