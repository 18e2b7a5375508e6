/*
 * Reader: a model, one sequence, and its steps
 */
#include "tool/reader.h"
#include "base/err.h"
#include "base/num.h"
#include "exec/exec.h"
#include "model/model.h"
#include "model/step.h"

#define SEQ_ID 1
#define ROWS   512 /* of a step without logits */

static const struct exec_ops *const backends[] = { &exec_cpu, &exec_truth, NULL };

int reader_open(struct reader *reader, const struct reader_setup *setup, struct diag *diag)
{
    int r;

    *reader = (struct reader){ .model = NULL };
    r = model_file_open(&reader->file, setup->path, diag);
    if (!r) {
        r = model_open(&reader->model,
                       &(struct model_setup){ .fd = reader->file.fd,
                                              .backends = backends,
                                              .backend = setup->backend,
                                              .cpu_mask = "",
                                              .kv_format = setup->kv_format,
                                              .n_context = setup->n_context,
                                              .n_sequences = READER_SHOWN,
                                              .n_rows = ROWS },
                       NULL, NULL, diag);
    }
    if (r) {
        reader_close(reader);
        if (diag_is_set(diag)) {
            diag_prefix(diag, setup->path);
        }
        return r < 0 ? err_up(r) : READER_REFUSED;
    }
    model_facts(reader->model, &reader->facts);
    return READER_OK;
}

void reader_close(struct reader *reader)
{
    model_close(reader->model);
    reader->model = NULL;
    model_file_close(&reader->file);
}

static int refuse(const struct reader *reader, int outcome, uint32_t n, struct diag *diag)
{
    switch ((enum seq_outcome)outcome) {
    case SEQ_BAD_TOKEN:
        diag_set(diag, n ? "a token id is above %u, the last of the vocabulary" : "there are no tokens",
                 reader->facts.n_vocab - 1);
        break;
    case SEQ_NEVER_FITS:
    case SEQ_NO_PAGES:
        diag_set(diag, "%u tokens do not fit the context of %u", n, reader->facts.n_context);
        break;
    case SEQ_OK:
    case SEQ_TOO_MANY:
    case SEQ_UNSUPPORTED:
        diag_set(diag, "the model accepts no sequence");
        break;
    }
    return READER_REFUSED;
}

int reader_begin(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                 void *watcher, struct diag *diag)
{
    const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    struct seq_room room;
    int r = seq_open(reader->model,
                     &(struct seq_request){ .id = SEQ_ID,
                                            .tokens = tokens,
                                            .n_tokens = n,
                                            .n_prompt = n,
                                            .params = &greedy,
                                            .watch = watch,
                                            .watcher = watcher,
                                            .watch_from = from },
                     &room);

    if (r) {
        return r < 0 ? err_up(r) : refuse(reader, r, n, diag);
    }
    reader->n_tokens = n;
    reader->n_done = 0;
    return READER_OK;
}

bool reader_is_left(const struct reader *reader)
{
    return reader->n_done < reader->n_tokens;
}

int reader_step(struct reader *reader, struct diag *diag)
{
    const uint32_t n = (uint32_t)num_min(reader->n_tokens - reader->n_done, ROWS);
    const struct step_entry entry = { .seq = SEQ_ID, .n_prefill = n };
    struct step_report report;
    int r = step_begin(reader->model, 1, &entry, 1, diag);

    if (!r) {
        r = step_run(reader->model, 1, NULL, NULL, &report);
    }
    if (r) {
        return r < 0 ? err_up(r) : READER_REFUSED;
    }
    if (report.results[0].n_rows == 0) {
        return refuse(reader, SEQ_NEVER_FITS, reader->n_tokens, diag);
    }
    reader->n_done += report.results[0].n_rows;
    return READER_OK;
}

void reader_end(struct reader *reader)
{
    seq_close(reader->model, SEQ_ID, false);
    reader->n_tokens = reader->n_done = 0;
}

int reader_read(struct reader *reader, const uint32_t *tokens, uint32_t n, uint32_t from, seq_watch_fn watch,
                void *watcher, struct diag *diag)
{
    int r = reader_begin(reader, tokens, n, from, watch, watcher, diag);

    if (r) {
        return err_pass(r);
    }
    while (!r && reader_is_left(reader)) {
        r = reader_step(reader, diag);
    }
    reader_end(reader);
    return err_pass(r);
}
