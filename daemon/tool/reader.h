/*
 * Reader: a model that reads given tokens and shows its logits, for commands that look at numbers
 *
 * One sequence at a time through the very steps that serve streams; nothing is sampled.
 */
#ifndef SOTTO_TOOL_READER_H
#define SOTTO_TOOL_READER_H

#include "model/seq.h"
#include "tool/file.h"

struct reader {
    struct tool_file file;
    struct model *model;
    struct model_facts facts;
};

/* How a command line asks for it; texts live as long as the reader. */
struct reader_setup {
    const char *path;
    const char *backend;   /* "cpu", "truth" */
    const char *kv_format; /* "f16", ... */
    uint32_t n_context;    /* 0: as trained, at most 8192 */
};

enum reader_outcome {
    READER_OK,
    READER_REFUSED, /* the file, the setup or the tokens: @diag */
};

/* Opens the file and loads the model; a zeroed or ended reader may be closed. */
int reader_open(struct reader *reader, const struct reader_setup *setup, struct diag *diag);
void reader_close(struct reader *reader);

/* Lets the model read @tokens and shows the logits after each of those from index @from on. */
int reader_read(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                void *watcher, struct diag *diag);

#endif
