/* Fixture: a model under test, driven step by step as sottod would */
#ifndef SOTTO_MODEL_FIXTURE_H
#define SOTTO_MODEL_FIXTURE_H

#include "model/model.h"
#include "model/step.h"

#define MODEL_FIXTURE_TOKENS 600
#define MODEL_FIXTURE_VOCAB  512 /* of the stories260K files */

struct model_fixture_setup {
    const char *backend;   /* NULL: MODEL_FIXTURE_BACKEND, or "cpu" */
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

/* Opens @path, or fails the test with the text of the refusal. */
struct model *model_fixture_open(const char *path, const struct model_fixture_setup *setup);

/* Calls model_open() and returns its outcome. */
int model_fixture_try(struct model **ret_model, const char *path, const struct model_fixture_setup *setup,
                      struct diag *diag);

/* A stream: prompt in, answer out, with the log-probabilities of the whole vocabulary at each token. */
struct model_fixture_stream {
    uint32_t id;
    uint32_t prompt[MODEL_FIXTURE_TOKENS];
    uint32_t n_prompt;
    uint32_t answer[MODEL_FIXTURE_TOKENS];
    uint32_t n_answer; /* so far */
    uint32_t n_wanted;
    uint32_t n_rows;     /* of prompt and answer, found or computed */
    uint32_t n_cached;   /* of them, those found at the first opening */
    bool keeps;          /* closed with keep */
    uint32_t reopen_at;  /* number of answers after which it is closed and opened with all that is known; 0: never */
    bool extends;        /* it extends an open sequence instead of opening one */
    const char *salt;    /* NULL: that of all streams */
    const char *pins;    /* salt of the pins' domain, or NULL */
    uint32_t n_pinned;   /* rows found in that domain */
    uint32_t n_drafts;   /* tokens that a decode may draft */
    uint32_t n_accepted; /* drafts that were sampled */
    uint64_t seed;
    float temperature;
    float *logprobs; /* [n_wanted][MODEL_FIXTURE_VOCAB] by id, or NULL */
};

/* True if all pages of all models have the same hash (compiled with MODEL_FIXTURE_ONE_HASH). */
extern const bool model_fixture_has_one_hash;

/*
 * Opens all @streams, steps until each has its answer, and closes them. Prompts go in pieces of @n_chunk rows; each
 * step has everything that can be decoded, in the given order. @poll is as in step_run(); a suspended step is continued
 * at once.
 */
void model_fixture_drive(struct model *model, struct model_fixture_stream *streams, uint32_t n_streams,
                         uint32_t n_chunk, step_poll_fn poll, void *owner);

/* A drive that stops after each step or suspension, so that two can alternate. */
struct model_fixture_run {
    struct model *model;
    struct model_fixture_stream *streams;
    uint32_t n_streams;
    uint32_t n_chunk;
    uint64_t step; /* id of its steps, different for each run */
    bool is_begun;
};

void model_fixture_begin(struct model_fixture_run *run);

/* Continues until @poll suspends the step or it ends. Returns false if all answers are complete. */
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

/* Reads "models/NAME" of the truth folder and returns the cases, *ret_n of them, to be freed by free(). NULL: the file
 * is missing, which was reported. */
struct model_fixture_case *model_fixture_cases(const char *name, size_t *ret_n);

/* Reads a file with one case (stories260K-long.json). */
struct model_fixture_case *model_fixture_long_case(const char *name);

/* Reads text @i for FILE (a key of teacher_forced in stories260K-long.json): ids in prompt, the log-probability of each
 * next id in margins. NULL: there is no such text. */
struct model_fixture_case *model_fixture_forced_case(const char *file, size_t i);

#endif
