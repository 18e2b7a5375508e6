/*
 * Survey: what sotto would do with a model file
 *
 * It takes the steps of a load, without the load: family, hyperparameters, tensors against the tables of the family,
 * vocabulary, chat template. A step that refuses leaves a sentence, and the others continue.
 */
#ifndef SOTTO_TOOL_SURVEY_H
#define SOTTO_TOOL_SURVEY_H

#include "model/arch.h"
#include "token/vocab.h"
#include "tool/model_file.h"

enum survey_step {
    SURVEY_FAMILY,
    SURVEY_PARAMS,
    SURVEY_TENSORS,
    SURVEY_VOCAB,
    SURVEY_TEMPLATE, /* a model runs even if this refuses */
    SURVEY_STEP_COUNT,
};

/* Sums over the tensors of one format. */
struct survey_format {
    uint64_t n_tensors;
    uint64_t n_elems;
    uint64_t n_bytes;
};

struct survey {
    const struct gguf *gguf;
    const struct arch *arch; /* NULL: SURVEY_FAMILY refused */
    bool has_params;
    struct arch_params params;
    struct vocab *vocab;                     /* owned; NULL: SURVEY_VOCAB refused */
    struct diag refusals[SURVEY_STEP_COUNT]; /* empty: the step succeeded, or follows one that refused */
    char backend[32];                        /* "cpu/avx2" */
    struct survey_format formats[ELEM_TYPE_COUNT];
    uint64_t n_elems;
    uint64_t n_bytes;   /* of tensors */
    uint64_t n_passed;  /* bytes of weights that making one token reads; 0 with SURVEY_PARAMS refused */
    uint64_t n_surplus; /* tensors that the family does not read */
};

/* Surveys @file, which it maps and which must outlive the survey. Returns 0 or a fault. */
int survey_create(struct survey *survey, struct model_file *file);
void survey_finish(struct survey *survey);

/* Returns whether a load would succeed. */
bool survey_runs(const struct survey *survey);

/* Checks a file that was just written, and gives the bytes of its tensors. Returns 0, a fault, or MODEL_FILE_REFUSED
 * with @diag if it @must_run but would not. */
int survey_new_file(const char *path, bool must_run, uint64_t *ret_bytes, struct diag *diag);

/* Returns "used" or "surplus" (not read by the family); "unknown" if the family is. */
const char *survey_use(const struct survey *survey, const struct gguf_tensor *tensor);

/* A format in which keys and values may be stored. */
struct kvsize {
    const char *name; /* as in the configuration: "f16" */
    enum exec_kv_format format;
};

#define KVSIZE_COUNT 4

extern const struct kvsize kvsizes[KVSIZE_COUNT];

/* Returns the bytes of one position, keys and values of all layers; 0 if the format does not fit these heads. */
uint64_t kvsize_token(const struct kvsize *kvsize, const struct arch_params *params);

#endif
