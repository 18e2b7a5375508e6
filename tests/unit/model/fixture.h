/*
 * Rig: a model under test, driven step by step as sottod would
 */
#ifndef SOTTO_MODEL_FIXTURE_H
#define SOTTO_MODEL_FIXTURE_H

#include "model/model.h"
#include "model/step.h"

#define MODEL_FIXTURE_TOKENS 600
#define MODEL_FIXTURE_VOCAB  512 /* of the stories260K files */

struct model_fixture_setup {
    const char *backend;   /* NULL: "cpu" */
    const char *cpu_mask;  /* NULL: "" */
    const char *kv_format; /* NULL: "f32" */
    const char *script;
    uint32_t n_threads; /* 0: 1 */
    uint32_t n_context;
    uint32_t n_sequences;
    uint32_t n_rows;
    uint32_t n_parts;
    uint64_t kv_bytes;
};

/* Opens @path or fails the test with the refusal's sentence. */
struct model *model_fixture_open(const char *path, const struct model_fixture_setup *setup);

/* model_open() as it is; for refusals. */
int model_fixture_try(struct model **ret_model, const char *path, const struct model_fixture_setup *setup,
                      struct diag *diag);

/* One greedy stream: prompt in, answer out, with the log-probabilities of every token of the vocabulary at each. */
struct model_fixture_stream {
    uint32_t id;
    uint32_t prompt[MODEL_FIXTURE_TOKENS];
    uint32_t n_prompt;
    uint32_t answer[MODEL_FIXTURE_TOKENS];
    uint32_t n_answer; /* so far */
    uint32_t n_wanted;
    uint32_t n_rows;    /* of the prompt and of what it was opened with, found or computed */
    uint32_t n_cached;  /* of them, found when it was opened first */
    bool keeps;         /* its pages stay for others */
    uint32_t reopen_at; /* so many answers: it is closed and opened with all that is known; 0: never */
    bool extends;       /* a sequence that is open, rather than to open one */
    const char *salt;   /* NULL: that of all */
    const char *pins;   /* salt of what is pinned, or NULL */
    uint32_t n_pinned;  /* of what was found, in that domain */
    uint64_t seed;
    float temperature;
    float *logprobs; /* [n_wanted][MODEL_FIXTURE_VOCAB] by id, or NULL */
};

/* Compiled with MODEL_FIXTURE_ONE_HASH: all pages of all models have the same hash. */
extern const bool model_fixture_has_one_hash;

/*
 * Opens all @streams and steps until each has its answer: prompts in pieces of @n_chunk rows, everything that can be
 * decoded in each step, in the order given. @poll as in step_run(); a suspended step is run on at once. Closes them.
 */
void model_fixture_drive(struct model *model, struct model_fixture_stream *streams, uint32_t n_streams,
                         uint32_t n_chunk, step_poll_fn poll, void *owner);

/* The same a little at a time, so that two may go on in turns. */
struct model_fixture_run {
    struct model *model;
    struct model_fixture_stream *streams;
    uint32_t n_streams;
    uint32_t n_chunk;
    uint64_t step; /* name of its steps: another for each run */
    bool is_begun;
};

void model_fixture_begin(struct model_fixture_run *run);

/* Goes on until @poll suspends it or a step ends. False: all answers are there. */
bool model_fixture_turn(struct model_fixture_run *run, step_poll_fn poll, void *owner);
void model_fixture_end(struct model_fixture_run *run);

struct model_fixture_case {
    uint32_t prompt[MODEL_FIXTURE_TOKENS];
    uint32_t n_prompt;
    uint32_t answer[MODEL_FIXTURE_TOKENS];
    uint32_t n_answer;
    double margins[MODEL_FIXTURE_TOKENS];
    double logits[MODEL_FIXTURE_VOCAB]; /* after the prompt */
    bool has_logits;
};

/* Reads "models/NAME" of the truth folder; cases in *ret_n. NULL: not here (already told). Free with free(). */
struct model_fixture_case *model_fixture_cases(const char *name, size_t *ret_n);

/* The same for a file with one case (stories260K-long.json). */
struct model_fixture_case *model_fixture_long_case(const char *name);

/* Text @i that FILE (a key of teacher_forced in stories260K-long.json) was read with: ids in prompt, the
 * log-probability of each next one in margins. NULL: there is none (more). */
struct model_fixture_case *model_fixture_forced_case(const char *file, size_t i);

#endif
