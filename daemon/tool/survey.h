/*
 * Survey: what sotto would make of a model file
 *
 * The steps that the daemon and the engine take at a load, without the load: family, hyperparameters, tensors against
 * the family's tables, vocabulary, chat template. A step that refuses leaves its sentence and the others go on.
 */
#ifndef SOTTO_TOOL_SURVEY_H
#define SOTTO_TOOL_SURVEY_H

#include "model/arch.h"
#include "token/vocab.h"
#include "tool/file.h"

enum survey_step {
    SURVEY_FAMILY,
    SURVEY_PARAMS,
    SURVEY_TENSORS,
    SURVEY_WORDS,
    SURVEY_TEMPLATE, /* refusing does not keep a model from running */
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
    struct vocab *vocab;                     /* owned; NULL: SURVEY_WORDS refused */
    struct diag refusals[SURVEY_STEP_COUNT]; /* empty: the step is fine, or stands behind one that refused */
    char backend[32];                        /* "cpu/avx2" */
    struct survey_format formats[ELEM_TYPE_COUNT];
    uint64_t n_elems;
    uint64_t n_bytes;   /* of tensors */
    uint64_t n_passed;  /* bytes of weights that making one token reads; 0 with SURVEY_PARAMS refused */
    uint64_t n_surplus; /* tensors that the family does not read */
};

/* Maps @file, which must outlive the survey. 0 or a fault. */
int survey_create(struct survey *survey, struct tool_file *file);
void survey_finish(struct survey *survey);

/* No step refuses that a load would end with. */
bool survey_runs(const struct survey *survey);

/* Looks at a file that was just written as a load would: 0 with the bytes of its tensors, a fault, or, if it would not
 * run though it @must_run, TOOL_FILE_REFUSED with @diag. */
int survey_new_file(const char *path, bool must_run, uint64_t *ret_bytes, struct diag *diag);

/* "used" or "surplus" (not read by the family); "unknown" where the family is. */
const char *survey_use(const struct survey *survey, const struct gguf_tensor *tensor);

#endif
