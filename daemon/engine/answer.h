/*
 * Answer: what a step came to, as a StepDone
 *
 * The parts of the message that grow with the step are set aside once, for the largest step, and point into the
 * model's report: telling a step allocates nothing here.
 */
#ifndef SOTTO_ENGINE_ANSWER_H
#define SOTTO_ENGINE_ANSWER_H

#include "engine/roll.h"
#include "model/step.h"
#include "sotto/engine.pb-c.h"

struct answer_row {
    Sotto__Engine__EntryDone entry;
    Sotto__Engine__Logprobs logprobs;
    Sotto__Engine__Logprobs *logprobs_of[1]; /* entry.logprobs */
};

struct answer {
    struct answer_row *rows; /* owned */
    Sotto__Engine__EntryDone **entries;
    uint32_t cap;
    Sotto__Engine__StepDone done;
    uint32_t phase_us[STEP_PHASE_COUNT];
};

int answer_init(struct answer *answer, uint32_t cap); /* 0 or -ENOMEM */
void answer_finish(struct answer *answer);

/* The message lives until the next call, and no longer than @report's results. */
Sotto__Engine__StepDone *answer_fill(struct answer *answer, uint64_t id, const struct step_report *report,
                                     const struct roll *roll, const struct model_figures *figures);

#endif
