/*
 * Maker: model files for tests, right or wrong on purpose
 *
 * Every field is written as given and nothing is checked, so that a test can claim anything. The maker counts keys and
 * tensors; a test that needs another count overwrites it.
 */
#ifndef SOTTO_TESTS_MAKER_H
#define SOTTO_TESTS_MAKER_H

#include "base/buf.h"
#include "gguf/gguf.h"

struct maker {
    struct buf buf;
    uint64_t n_keys;
    uint64_t n_tensors;
};

void maker_init(struct maker *maker, uint32_t version);
void maker_finish(struct maker *maker);

/* Raw pieces, little endian. */
void maker_u32(struct maker *maker, uint32_t value);
void maker_u64(struct maker *maker, uint64_t value);
void maker_bytes(struct maker *maker, const void *bytes, size_t n);
void maker_text(struct maker *maker, const char *text); /* length, then bytes */

/* Writes the name and type of a key; its value follows as raw pieces. */
void maker_key(struct maker *maker, const char *name, uint32_t type);
void maker_key_u32(struct maker *maker, const char *name, uint32_t value);
void maker_key_bool(struct maker *maker, const char *name, bool value);
void maker_key_text(struct maker *maker, const char *name, const char *text);

/* Begins an array key; its elements follow as raw pieces. */
void maker_key_array(struct maker *maker, const char *name, uint32_t elem, uint64_t n);

/* One row of the directory. */
void maker_tensor(struct maker *maker, const char *name, uint32_t n_dims, const uint64_t *dims, uint32_t type,
                  uint64_t offset);

/* Pads the head to @align and adds @n zero bytes of data. */
void maker_data(struct maker *maker, size_t align, size_t n);

/* Returns the file so far with its counts; valid until the next call. */
const uint8_t *maker_file(struct maker *maker, size_t *ret_n);

/* Parses the file; the maker must outlive the result. */
int maker_parse(struct maker *maker, struct gguf **ret_gguf, struct diag *diag);

#endif
