/*
 * File: a model file that a command reads
 *
 * The head is copied, so that a file that changes meanwhile can't alter it. The data of tensors is mapped only if a
 * command asks for it.
 */
#ifndef SOTTO_TOOL_FILE_H
#define SOTTO_TOOL_FILE_H

#include "gguf/gguf.h"

struct tool_file {
    const char *path; /* the caller's */
    int fd;
    struct gguf *gguf;
    const uint8_t *map; /* all of the file; NULL until tool_file_map() */
};

enum tool_file_outcome {
    TOOL_FILE_OK,
    TOOL_FILE_REFUSED, /* it can't be opened, or is not a GGUF file: @diag */
};

/* Opens @path and parses its head. Returns a tool_file_outcome or a fault; unless it is TOOL_FILE_OK, there is nothing
 * to close. */
int tool_file_open(struct tool_file *file, const char *path, struct diag *diag);

/* Maps the data: the bytes of a tensor begin at file->map + offset. Returns 0 or a fault. */
int tool_file_map(struct tool_file *file);

void tool_file_close(struct tool_file *file); /* takes a zeroed one, too */

#endif
