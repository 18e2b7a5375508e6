/*
 * Trial: a model that reads and makes tokens for the clock
 *
 * It takes the steps that the engine takes for its streams, with as many rows, in this process. Prompts are arbitrary
 * tokens, different for each sequence, and share nothing; tokens are chosen greedily.
 */
#ifndef SOTTO_TOOL_TRIAL_H
#define SOTTO_TOOL_TRIAL_H

#include "model/model.h"
#include "model/step.h"
#include "tool/model_file.h"

#define TRIAL_SEQUENCES 64u  /* at most */
#define TRIAL_ROWS      256u /* of a step, as in an engine */

struct trial {
    struct model_file file;
    struct model *model;
    struct model_facts facts;
    double open_s; /* from the open file to a model that is ready */
    uint32_t n_seqs;
    uint32_t n_left[TRIAL_SEQUENCES]; /* known tokens of each that are not computed */
};

struct trial_setup {
    const char *path;
    const char *kv_format;
    uint32_t n_threads;
    uint32_t n_context;
    uint32_t n_sequences;
};

enum trial_outcome {
    TRIAL_OK,
    TRIAL_REFUSED, /* @diag says why */
};

/* Opens the file and loads the model. Returns a trial_outcome or a fault. A zeroed or closed trial may be closed. */
int trial_open(struct trial *trial, const struct trial_setup *setup, struct diag *diag);
void trial_close(struct trial *trial);

/* Begins @n_seqs sequences with a prompt of @n_tokens each, which may make @n_more. Nothing is computed. Call
 * trial_end() before the next ones. Returns a trial_outcome or a fault. */
int trial_begin(struct trial *trial, uint32_t n_seqs, uint32_t n_tokens, uint32_t n_more, struct diag *diag);

/* Computes all prompts, in steps that are as full as possible. Gives the seconds that it took. */
int trial_read(struct trial *trial, double *ret_seconds, struct diag *diag);

/* Makes @n_steps tokens of each sequence, in as many steps. The prompts are computed. */
int trial_decode(struct trial *trial, uint32_t n_steps, double *ret_seconds, struct diag *diag);

void trial_end(struct trial *trial);

#endif
