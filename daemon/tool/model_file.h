/*
 * Model file: a model file that a command reads
 *
 * The head is copied, so that a file that changes meanwhile can't alter it. The data of tensors is mapped only if a
 * command asks for it.
 */
#ifndef SOTTO_TOOL_MODEL_FILE_H
#define SOTTO_TOOL_MODEL_FILE_H

#include "gguf/write.h"

struct model_file {
    const char *path; /* the caller's */
    int fd;
    struct gguf *gguf;
    const uint8_t *map; /* all of the file; NULL until model_file_map() */
};

enum model_file_outcome {
    MODEL_FILE_OK,
    MODEL_FILE_REFUSED, /* it can't be opened, or is not a GGUF file: @diag */
};

/* Opens @path and parses its head. Returns a model_file_outcome or a fault; unless it is MODEL_FILE_OK, there is
 * nothing to close. */
int model_file_open(struct model_file *file, const char *path, struct diag *diag);

/* Maps the data: the bytes of a tensor begin at file->map + offset. Returns 0 or a fault. */
int model_file_map(struct model_file *file);

/* Begins a new file at @path, as gguf_writer_begin() does; if there is one, @diag names the option that replaces it. */
int model_file_begin(struct gguf_writer *writer, const char *path, bool force, struct diag *diag);

void model_file_close(struct model_file *file); /* takes a zeroed one, too */

#endif
