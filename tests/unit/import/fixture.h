/*
 * Fixture: folders of models for tests
 */
#ifndef SOTTO_TESTS_IMPORT_FIXTURE_H
#define SOTTO_TESTS_IMPORT_FIXTURE_H

#include "unit.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FIXTURE_PATH 256

/* Makes an empty folder and returns its path, which lives as long as the process. */
const char *fixture_folder(void);

/* Writes @n bytes as @name in @folder. */
void fixture_write(const char *folder, const char *name, const void *bytes, size_t n);
void fixture_write_text(const char *folder, const char *name, const char *text);

/* Returns "FOLDER/NAME", valid until the next call but one. */
const char *fixture_path(const char *folder, const char *name);

/* Writes a safetensors file with the head @head and @n bytes of data at @data (NULL: zeros). */
void fixture_st(const char *folder, const char *name, const char *head, const void *data, size_t n);

/* Tensors of a file under construction; data is appended in their order. */
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

/* Returns the number that fixture_add() gives element @i of tensor @name. */
float fixture_value(const char *name, size_t i);

/*
 * Writes a whole llama: 1 layer, 8 wide, 2 heads of 4, 1 of keys, 12 in the feed-forward, 8 tokens over bytes. Tensor
 * @leave_out (may be NULL) is left out; @also (may be NULL) is added, with one number.
 */
const char *fixture_llama(const char *leave_out, const char *also);
/* Writes @text with @to in place of @from, which must be there. */
void fixture_put(const char *folder, const char *name, const char *text, const char *from, const char *to);
extern const char fixture_config[];
extern const char fixture_tokenizer[];

struct gguf;
struct import;

/* Returns the head of a file with the keys of @import, owned by the caller. */
struct gguf *fixture_head(struct import *import);
uint32_t fixture_u32(const struct gguf *gguf, const char *name);

#endif
