/*
 * Gguf: a model file as untrusted data
 *
 * Versions 2 and 3 are read. The bytes come from the caller: a mapping of the whole file (engine), or its head read by
 * pread (daemon). Every length is checked against the bytes that are there before it is used; memory is allocated in
 * proportion to bytes seen, never to a number that the file claims. Keys and tensors point into the caller's bytes,
 * which must outlive the struct gguf. Read-only once created: any thread.
 */
#ifndef SOTTO_GGUF_GGUF_H
#define SOTTO_GGUF_GGUF_H

#include "base/diag.h"
#include "tensor/type.h"

/* Types of values, numbered as in the file. */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPE_COUNT,
};

struct gguf_text { /* bytes without a zero at the end */
    const char *bytes;
    size_t n;
};

struct gguf_key {
    struct gguf_text name;
    enum gguf_type type;
    enum gguf_type elem; /* with GGUF_ARRAY; never an array itself (refused) */
    uint64_t n;          /* elements of an array, else 1 */
    /* The first byte of the value: the first character of a string, the first element of an array, the length in front
     * of the first string of an array of strings. */
    const uint8_t *value;
    size_t n_value; /* bytes of the whole value */
};

struct gguf_tensor {
    struct gguf_text name;
    uint32_t n_dims;  /* 1 to 4 */
    uint64_t dims[4]; /* fastest first; absent ones are 1 */
    uint32_t type;    /* in elem_info()'s table */
    bool in_panels;   /* its rows are in panels: tensor/panel.h */
    uint64_t offset;  /* from the beginning of the file */
    uint64_t n_bytes;
};

struct gguf;

enum gguf_outcome {
    GGUF_OK,
    GGUF_MORE,    /* the head is longer than @n_bytes: at least *ret_wanted bytes are needed (at most file_bytes) */
    GGUF_REFUSED, /* malformed: @diag names the key, tensor or field, and what is wrong */
};

/* Parses the head at @bytes (@n_bytes of a file of @file_bytes). An outcome, or -ENOMEM. */
int gguf_parse(struct gguf **ret_gguf, const void *bytes, size_t n_bytes, uint64_t file_bytes, uint64_t *ret_wanted,
               struct diag *diag);

/*
 * Reads the head of the file at descriptor @fd by pread into one block of at most @max_head_bytes, and parses it. The
 * block belongs to the struct gguf. Blocks: call it in a pool thread. GGUF_REFUSED also if the file is not regular or
 * its head is larger than that.
 */
int gguf_read_head(struct gguf **ret_gguf, int fd, size_t max_head_bytes, struct diag *diag);

void gguf_destroy(struct gguf *gguf);
void gguf_destroyp(struct gguf **gguf);

uint32_t gguf_version(const struct gguf *gguf);
uint64_t gguf_file_bytes(const struct gguf *gguf);
/* Returns the offset where the data of the tensors begins, or where the head ends if there are none. */
uint64_t gguf_head_bytes(const struct gguf *gguf);

size_t gguf_n_keys(const struct gguf *gguf);
const struct gguf_key *gguf_key_at(const struct gguf *gguf, size_t i);
size_t gguf_n_tensors(const struct gguf *gguf);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, size_t i);

const struct gguf_key *gguf_find_key(const struct gguf *gguf, const char *name);       /* or NULL */
const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name); /* or NULL */

enum gguf_get_outcome {
    GGUF_GOT,
    GGUF_NONE,  /* there is no such key; *ret is untouched */
    GGUF_WRONG, /* another type, or out of range: @diag says so */
};

/* Get the value of the key @name: integers of any width and sign if the value fits, finite floats from F32 and F64. An
 * outcome of enum gguf_get_outcome. */
int gguf_get_u64(const struct gguf *gguf, const char *name, uint64_t *ret, struct diag *diag);
int gguf_get_u32(const struct gguf *gguf, const char *name, uint32_t *ret, struct diag *diag);
int gguf_get_f32(const struct gguf *gguf, const char *name, float *ret, struct diag *diag);
int gguf_get_bool(const struct gguf *gguf, const char *name, bool *ret, struct diag *diag);
int gguf_get_text(const struct gguf *gguf, const char *name, struct gguf_text *ret, struct diag *diag);

/* Returns the strings of @key, an array of GGUF_STRING, one after the other. *at starts at 0; false at the end. */
bool gguf_next_text(const struct gguf_key *key, size_t *at, struct gguf_text *ret);

#endif
