/*
 * Trial: sequences, and steps that are as full as an engine would make them
 */
#include "tool/trial.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "exec/exec.h"
#include <assert.h>
#include <errno.h>

#define FIRST_ID 1u

static const struct exec_ops *const backends[] = { &exec_cpu, NULL };

int trial_open(struct trial *trial, const struct trial_setup *setup, struct diag *diag)
{
    uint64_t from_us;
    int r;

    *trial = (struct trial){ .file = { .fd = -1 } };
    r = model_file_open(&trial->file, setup->path, diag);
    from_us = clock_mono_us();
    if (!r) {
        r = model_open(&trial->model,
                       &(struct model_setup){ .fd = trial->file.fd,
                                              .backends = backends,
                                              .backend = "cpu",
                                              .cpu_mask = "",
                                              .kv_format = setup->kv_format,
                                              .n_threads = setup->n_threads,
                                              .n_context = setup->n_context,
                                              .n_sequences = setup->n_sequences,
                                              .n_rows = TRIAL_ROWS },
                       NULL, NULL, diag);
    }
    if (r) {
        trial_close(trial);
        return r < 0 ? err_up(r) : TRIAL_REFUSED;
    }
    trial->open_s = (double)(clock_mono_us() - from_us) / 1e6;
    model_facts(trial->model, &trial->facts);
    return TRIAL_OK;
}

void trial_close(struct trial *trial)
{
    model_close(trial->model);
    trial->model = NULL;
    model_file_close(&trial->file);
}

/* Fills @tokens with ids that look arbitrary and are the same in each run: a multiplicative hash of their place. */
static void make_prompt(const struct trial *trial, uint32_t seq, uint32_t *tokens, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t h = ((uint64_t)seq << 32 | i) * 0x9e3779b97f4a7c15u;

        tokens[i] = (uint32_t)((h >> 32) % trial->facts.n_vocab);
    }
}

static int open_sequence(struct trial *trial, uint32_t *tokens, uint32_t n_tokens, uint32_t n_more, struct diag *diag)
{
    const struct sample_params greedy = { .top_p = 1.0f, .repetition_penalty = 1.0f };
    struct seq_room room;
    int r;

    make_prompt(trial, trial->n_seqs, tokens, n_tokens);
    r = seq_open(trial->model,
                 &(struct seq_request){ .id = FIRST_ID + trial->n_seqs,
                                        .tokens = tokens,
                                        .n_tokens = n_tokens,
                                        .n_prompt = n_tokens,
                                        .n_reserve = n_more,
                                        .params = &greedy },
                 &room);
    if (r < 0) {
        return err_up(r);
    }
    if (r) {
        diag_set(diag, "sequence %u of %u and %u tokens does not fit the context of %u", trial->n_seqs + 1, n_tokens,
                 n_more, trial->facts.n_context);
        return TRIAL_REFUSED;
    }
    trial->n_left[trial->n_seqs++] = n_tokens;
    return TRIAL_OK;
}

int trial_begin(struct trial *trial, uint32_t n_seqs, uint32_t n_tokens, uint32_t n_more, struct diag *diag)
{
    uint32_t *tokens = mem_calloc(MEM_SCRATCH, n_tokens, sizeof(*tokens));
    int r = tokens ? TRIAL_OK : err_new(-ENOMEM);

    assert(n_seqs <= TRIAL_SEQUENCES && trial->n_seqs == 0);
    while (!r && trial->n_seqs < n_seqs) {
        r = open_sequence(trial, tokens, n_tokens, n_more, diag);
    }
    mem_free(tokens);
    if (r) {
        trial_end(trial);
        return err_pass(r);
    }
    return TRIAL_OK;
}

/* Runs a step of @entries to its end. */
static int run_step(struct trial *trial, const struct step_entry *entries, uint32_t n, struct step_report *ret_report,
                    struct diag *diag)
{
    int r = step_begin(trial->model, 1, entries, n, diag);

    if (!r) {
        r = step_run(trial->model, 1, NULL, NULL, ret_report);
    }
    return r < 0 ? err_up(r) : r ? TRIAL_REFUSED : TRIAL_OK;
}

/* Fills @entries with the next rows of prompts. Returns how many entries there are. */
static uint32_t next_rows(struct trial *trial, struct step_entry *entries)
{
    uint32_t n_rows = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < trial->n_seqs && n_rows < TRIAL_ROWS; i++) {
        uint32_t n_piece = (uint32_t)num_min(trial->n_left[i], TRIAL_ROWS - n_rows);

        if (n_piece > 0) {
            entries[n++] = (struct step_entry){ .seq = FIRST_ID + i, .n_prefill = n_piece };
            trial->n_left[i] -= n_piece;
            n_rows += n_piece;
        }
    }
    return n;
}

int trial_read(struct trial *trial, double *ret_seconds, struct diag *diag)
{
    const uint64_t from_us = clock_mono_us();
    struct step_entry entries[TRIAL_SEQUENCES];
    struct step_report report;
    uint32_t n;

    while ((n = next_rows(trial, entries)) > 0) {
        int r = run_step(trial, entries, n, &report, diag);

        if (r) {
            return err_pass(r);
        }
    }
    *ret_seconds = (double)(clock_mono_us() - from_us) / 1e6;
    return TRIAL_OK;
}

int trial_decode(struct trial *trial, uint32_t n_steps, double *ret_seconds, struct diag *diag)
{
    struct step_entry entries[TRIAL_SEQUENCES];
    const uint64_t from_us = clock_mono_us();
    struct step_report report;

    for (uint32_t i = 0; i < trial->n_seqs; i++) {
        entries[i] = (struct step_entry){ .seq = FIRST_ID + i, .n_decode = 1 };
    }
    for (uint32_t step = 0; step < n_steps; step++) {
        int r = run_step(trial, entries, trial->n_seqs, &report, diag);

        if (r) {
            return err_pass(r);
        }
        for (uint32_t i = 0; i < report.n_results; i++) {
            if (report.results[i].n_tokens != 1) {
                diag_set(diag, "sequence %u made no token: outcome %d", i + 1, (int)report.results[i].outcome);
                return TRIAL_REFUSED;
            }
        }
    }
    *ret_seconds = (double)(clock_mono_us() - from_us) / 1e6;
    return TRIAL_OK;
}

void trial_end(struct trial *trial)
{
    for (uint32_t i = 0; i < trial->n_seqs; i++) {
        seq_close(trial->model, FIRST_ID + i, false);
    }
    trial->n_seqs = 0;
}
