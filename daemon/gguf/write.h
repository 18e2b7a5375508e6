/*
 * Write: a model file from keys, a directory of tensors, and their data
 *
 * It writes version 3, little endian, with data aligned to 32 bytes unless told otherwise. The order of calls is
 * gguf_writer_create(), keys and tensors in any order, gguf_writer_begin(), the data of all tensors in the order that
 * they were added, and gguf_writer_finish(). The file appears under its name whole, at the end, or not at all: until
 * then it has no name, or is PATH.PID.part where the file system does not support files without a name.
 *
 * Adding a key or tensor fails only without memory; gguf_writer_begin() reports this failure, so that a long list of
 * keys need not be checked one by one. It also refuses keys and tensors that break the format: an empty name, a name
 * that stands twice, an unknown type, rows that are no whole blocks. One thread at a time; blocks.
 */
#ifndef SOTTO_GGUF_WRITE_H
#define SOTTO_GGUF_WRITE_H

#include "gguf/gguf.h"

struct gguf_writer;

enum gguf_write_outcome {
    GGUF_WRITE_OK,
    GGUF_WRITE_REFUSED, /* from begin and finish: @diag says what is wrong, or names the error of the system */
};

/* 0 or -ENOMEM. */
int gguf_writer_create(struct gguf_writer **ret_writer);

/* Leaves nothing at the path unless gguf_writer_finish() has succeeded. */
void gguf_writer_destroy(struct gguf_writer *writer);
void gguf_writer_destroyp(struct gguf_writer **writer);

/* ---- keys; names and values are copied ---- */

void gguf_put_u32(struct gguf_writer *writer, const char *name, uint32_t value);
void gguf_put_f32(struct gguf_writer *writer, const char *name, float value);
void gguf_put_bool(struct gguf_writer *writer, const char *name, bool value);
void gguf_put_text(struct gguf_writer *writer, const char *name, const char *bytes, size_t n);

/* Put arrays of strings, and of numbers as they lie in memory (@elem neither string nor array). */
void gguf_put_texts(struct gguf_writer *writer, const char *name, const struct gguf_text *texts, size_t n);
void gguf_put_numbers(struct gguf_writer *writer, const char *name, enum gguf_type elem, const void *values, size_t n);

/* Copies a key of another file. */
void gguf_put_key(struct gguf_writer *writer, const struct gguf_key *key);

/* ---- tensors ---- */

/* Aligns the data to @align bytes, a power of 2 from 32 to 4096, and puts the key that says so. Before any tensor. */
void gguf_writer_align(struct gguf_writer *writer, uint32_t align);

/* @dims [n_dims], fastest first. @type: an elem_type, with ELEM_PANELS if the data are panels (tensor/panel.h). */
void gguf_put_tensor(struct gguf_writer *writer, struct gguf_text name, uint32_t type, uint32_t n_dims,
                     const uint64_t *dims);

/*
 * Ends the head and writes it beside @path, which is copied. GGUF_WRITE_REFUSED: there is a file at @path (without
 * @force) or something that is no regular file, the folder cannot be written, or a key or tensor breaks the format.
 */
int gguf_writer_begin(struct gguf_writer *writer, const char *path, bool force, struct diag *diag);

/*
 * Writes the next @n bytes of data. A piece may be part of a tensor, but must not extend past the end of the tensor
 * that it begins in. gguf_writer_finish() reports a failure to write.
 */
void gguf_write_data(struct gguf_writer *writer, const void *bytes, size_t n);

/* Returns the bytes of data that the current tensor still lacks; 0: all tensors are complete. */
uint64_t gguf_writer_left(const struct gguf_writer *writer);

/* Flushes to the disk and gives the file its name. GGUF_WRITE_REFUSED also if tensors lack data. */
int gguf_writer_finish(struct gguf_writer *writer, struct diag *diag);

#endif
