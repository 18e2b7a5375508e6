/*
 * Reader: a model that reads given tokens and passes its logits on, for commands that compare numbers
 *
 * It reads one sequence at a time, with the same steps that serve requests; nothing is sampled.
 */
#ifndef SOTTO_TOOL_READER_H
#define SOTTO_TOOL_READER_H

#include "model/seq.h"
#include "tool/model_file.h"

struct reader {
    struct model_file file;
    struct model *model;
    struct model_facts facts;
    uint32_t n_tokens; /* of the current text */
    uint32_t n_done;
};

#define READER_SHOWN 32 /* most tokens of a step with logits */

/* Settings of a reader; texts live as long as the reader. */
struct reader_setup {
    const char *path;
    const char *backend;   /* "cpu", "truth" */
    const char *kv_format; /* "f16", ... */
    uint32_t n_context;    /* 0: that of training, at most 8192 */
};

enum reader_outcome {
    READER_OK,
    READER_REFUSED, /* @diag says why, with the path if the file is at fault */
};

/* Opens the file and loads the model. Returns a reader_outcome or a fault. A zeroed or ended reader may be closed. */
int reader_open(struct reader *reader, const struct reader_setup *setup, struct diag *diag);
void reader_close(struct reader *reader);

/*
 * Begins to read @tokens, which it copies; reader_step() then passes the logits after each token from index @from on to
 * @watch. Call reader_end() before the next text. Returns a reader_outcome or a fault.
 */
int reader_begin(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                 void *watcher, struct diag *diag);

/* Reads on, up to READER_SHOWN tokens with logits; which ones depends on the arguments of reader_begin() alone. */
int reader_step(struct reader *reader, struct diag *diag);
bool reader_is_left(const struct reader *reader);
void reader_end(struct reader *reader);

/* Reads all tokens at once. */
int reader_read(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                void *watcher, struct diag *diag);

#endif
