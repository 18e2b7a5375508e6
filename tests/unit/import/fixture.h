/*
 * Fixture: folders of models that a test writes for itself
 */
#ifndef SOTTO_TESTS_IMPORT_FIXTURE_H
#define SOTTO_TESTS_IMPORT_FIXTURE_H

#include "unit.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FIXTURE_PATH 256

/* Makes an empty folder and gives its path, which lives as long as the process. */
const char *fixture_folder(void);

/* Writes @n bytes as @name in @folder. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t n);
void fixture_write_text(const char *folder, const char *name, const char *text);

/* "FOLDER/NAME", valid until the next call but one. */
const char *fixture_path(const char *folder, const char *name);

/* A safetensors file with the head @head and @n bytes of data at @data (NULL: zeros). */
void fixture_st(const char *folder, const char *name, const char *head, const void *data, size_t n);

/* Tensors of a file in the making; data is appended in their order. */
struct fixture_tensors {
    char head[32768];
    uint8_t data[1u << 18];
    size_t n_head;
    size_t n_data;
};

/* Adds a tensor of up to two dimensions (@n_cols 0: one). @bytes NULL: element i is some small float by i and name. */
void fixture_add(struct fixture_tensors *tensors, const char *name, const char *dtype, unsigned n_rows, unsigned n_cols,
                 const void *bytes);
void fixture_save(const struct fixture_tensors *tensors, const char *folder, const char *name);

/* The number that fixture_add() gives element @i of tensor @name. */
float fixture_value(const char *name, size_t i);

/*
 * A whole llama: 1 layer, 8 wide, 2 heads of 4, 1 of keys, 12 in the feed-forward, 8 tokens over bytes. @leave_out
 * (may be NULL) is not written; @also (may be NULL) is, as one number more.
 */
const char *fixture_llama(const char *leave_out, const char *also);
/* Writes @text with @to in place of @from, which must be there. */
void fixture_put(const char *folder, const char *name, const char *text, const char *from, const char *to);
extern const char fixture_config[];
extern const char fixture_tokenizer[];

struct gguf;
struct import;

/* The head of the file that the keys of @import make. The caller's. */
struct gguf *fixture_head(struct import *import);
uint32_t fixture_u32(const struct gguf *gguf, const char *name);

#endif
