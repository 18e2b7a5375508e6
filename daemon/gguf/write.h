/*
 * Write: a model file from keys, a directory of tensors, and their data
 *
 * Version 3, little endian, data aligned to 32 bytes. In this order: gguf_writer_create(), keys and tensors in any
 * order, gguf_writer_begin(), the data of every tensor in the order that they were added, gguf_writer_finish(). The
 * file appears under its name whole, at the end, or not at all: until then it has no name, or is PATH.PID.part where
 * the file system knows no files without one.
 *
 * Adding a key or tensor can fail for want of memory only; the failure is kept for gguf_writer_begin(), so that a long
 * list of keys need not be checked one by one. What is added must be right: it is the program's own (names are not
 * empty, no name twice, types are known, rows are whole blocks); gguf_writer_begin() refuses what is not, with a
 * sentence. One thread at a time; blocks.
 */
#ifndef SOTTO_GGUF_WRITE_H
#define SOTTO_GGUF_WRITE_H

#include "gguf/gguf.h"

struct gguf_writer;

enum gguf_write_outcome {
    GGUF_WRITE_OK,
    GGUF_WRITE_REFUSED, /* begin, finish: @diag says what is there, what does not fit, or what the system said */
};

/* 0 or -ENOMEM. */
int gguf_writer_create(struct gguf_writer **ret_writer);

/* Without finish before it, nothing is left at the path. */
void gguf_writer_destroy(struct gguf_writer *writer);
void gguf_writer_destroyp(struct gguf_writer **writer);

/* ---- keys; names and values are copied ---- */

void gguf_put_u32(struct gguf_writer *writer, const char *name, uint32_t value);
void gguf_put_u64(struct gguf_writer *writer, const char *name, uint64_t value);
void gguf_put_f32(struct gguf_writer *writer, const char *name, float value);
void gguf_put_bool(struct gguf_writer *writer, const char *name, bool value);
void gguf_put_text(struct gguf_writer *writer, const char *name, const char *bytes, size_t n);

/* Arrays of strings, and of numbers as they lie in memory (@elem neither string nor array). */
void gguf_put_texts(struct gguf_writer *writer, const char *name, const struct gguf_text *texts, size_t n);
void gguf_put_numbers(struct gguf_writer *writer, const char *name, enum gguf_type elem, const void *values, size_t n);

/* A key of another file as it is. */
void gguf_put_key(struct gguf_writer *writer, const struct gguf_key *key);

/* ---- tensors ---- */

/* @dims [n_dims], fastest first. */
void gguf_put_tensor(struct gguf_writer *writer, struct gguf_text name, uint32_t type, uint32_t n_dims,
                     const uint64_t *dims);

/*
 * Ends the head and writes it beside @path, which is copied. Refused: a file at @path unless @force, what is no
 * regular file in any case, a folder that can't be written, anything that was added and is not right.
 */
int gguf_writer_begin(struct gguf_writer *writer, const char *path, bool force, struct diag *diag);

/*
 * The next @n bytes of data. Pieces need not end where tensors do, but none may go on past the end of the tensor that
 * it begins in. A failure to write is kept for gguf_writer_finish().
 */
void gguf_write_data(struct gguf_writer *writer, const void *bytes, size_t n);

/* Bytes of data that the tensor at hand still wants; 0: all tensors have theirs. */
uint64_t gguf_writer_left(const struct gguf_writer *writer);

/* Flushes to the disk and gives the file its name. Refused also if tensors lack data. */
int gguf_writer_finish(struct gguf_writer *writer, struct diag *diag);

#endif
