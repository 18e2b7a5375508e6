/*
 * File: a model file that a command looks into
 *
 * The head is read by pread into memory of our own, so that a file that changes meanwhile can't pull it away; the
 * tensors' data is mapped only where a command asks for it.
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
    TOOL_FILE_REFUSED, /* can't be opened, or is no such file: @diag */
};

/* Opens @path and parses its head. On anything but TOOL_FILE_OK there is nothing to close. */
int tool_file_open(struct tool_file *file, const char *path, struct diag *diag);

/* Maps the data: the bytes of a tensor begin at file->map + offset. 0 or a fault. */
int tool_file_map(struct tool_file *file);

void tool_file_close(struct tool_file *file); /* a zeroed one, too */

#endif
