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
    uint32_t n_tokens; /* of the text at hand */
    uint32_t n_done;
};

#define READER_SHOWN 32 /* tokens whose logits come out of one step */

/* How a command line asks for it; texts live as long as the reader. */
struct reader_setup {
    const char *path;
    const char *backend;   /* "cpu", "truth" */
    const char *kv_format; /* "f16", ... */
    uint32_t n_context;    /* 0: as trained, at most 8192 */
};

enum reader_outcome {
    READER_OK,
    READER_REFUSED, /* the file, the setup or the tokens: @diag, with the path where it is the file's fault */
};

/* Opens the file and loads the model; a zeroed or ended reader may be closed. */
int reader_open(struct reader *reader, const struct reader_setup *setup, struct diag *diag);
void reader_close(struct reader *reader);

/*
 * Begins to read @tokens, which it copies; reader_step() then shows the logits after each of those from index @from on.
 * One text at a time: reader_end() before the next.
 */
int reader_begin(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                 void *watcher, struct diag *diag);

/* Reads on, at most READER_SHOWN shown tokens; which ones depends on the arguments of reader_begin() alone. */
int reader_step(struct reader *reader, struct diag *diag);
bool reader_is_left(const struct reader *reader);
void reader_end(struct reader *reader);

/* All of it at once. */
int reader_read(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                void *watcher, struct diag *diag);

#endif
