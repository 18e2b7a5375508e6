/*
 * Import: a model of the Hugging Face libraries as the contents of a GGUF file
 *
 * Opening a folder decides everything: its family, the keys, and for each tensor of the GGUF file its name, shape and
 * the origin of its numbers. No weights are read until rows are requested. Names, keys and layouts are those of the
 * PyPI package `gguf`; all differences between the two formats (the order of rows that rotate in pairs, norms stored
 * minus one, weights packed in 4 bits) are resolved in this module.
 *
 * Every number is kept: the @type of a tensor is one that holds all its values exactly.
 */
#ifndef SOTTO_IMPORT_IMPORT_H
#define SOTTO_IMPORT_IMPORT_H

#include "base/diag.h"
#include "gguf/write.h"
#include "tensor/type.h"

#define IMPORT_NAME_BYTES 64 /* the longest name that GGUF readers take, with its zero */

struct import;

struct import_tensor {
    char name[IMPORT_NAME_BYTES];
    const char *from; /* its first source in the folder, or NULL: made from config.json */
    uint32_t n_dims;
    uint64_t n_cols;
    uint64_t n_rows; /* 1 with one dimension */
    uint32_t type;   /* holds every value exactly: F32, F16, BF16, and of AWQ weights Q4_0 or Q5_0 */
    bool is_floats;  /* norms, biases, factors: must stay F32 */
};

enum import_outcome {
    IMPORT_OK,
    IMPORT_REFUSED, /* the folder is malformed or of an unknown kind: @diag says where and what to do */
};

/* Opens the folder @path. IMPORT_REFUSED, or a fault. Blocks. */
int import_open(struct import **ret_import, const char *path, struct diag *diag);
void import_close(struct import *import);
void import_closep(struct import **import);

/* Returns the writer, owned by the import, with all keys except general.file_type and general.quantization_version,
 * which depend on the types that are written; it has no tensors yet. */
struct gguf_writer *import_writer(struct import *import);
const char *import_family(const struct import *import); /* general.architecture */

size_t import_n_tensors(const struct import *import);
const struct import_tensor *import_tensor_at(const struct import *import, size_t i);

/* Writes rows @first to @first + @n - 1 of tensor @i as floats to @out. IMPORT_REFUSED, or a fault. */
int import_rows(struct import *import, size_t i, uint64_t first, uint64_t n, float *out, struct diag *diag);

/* Writes these rows in the tensor's own type (elem_row_bytes() a row), which must be a format in blocks. Outcomes as
 * import_rows(). */
int import_blocks(struct import *import, size_t i, uint64_t first, uint64_t n, void *out, struct diag *diag);

#endif
