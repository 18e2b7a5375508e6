/*
 * Step_reply: the result of a step as a StepDone
 *
 * The parts of the message that grow with the step are allocated once, for the largest step, and point into the model's
 * report: answering a step allocates nothing here.
 */
#ifndef SOTTO_ENGINE_STEP_REPLY_H
#define SOTTO_ENGINE_STEP_REPLY_H

#include "engine/seq_table.h"
#include "model/step.h"
#include "sotto/engine.pb-c.h"

struct step_reply_row {
    Sotto__Engine__EntryDone entry;
    Sotto__Engine__Logprobs logprobs;
    Sotto__Engine__Logprobs *logprobs_of[1]; /* entry.logprobs */
};

struct step_reply {
    struct step_reply_row *rows; /* owned */
    Sotto__Engine__EntryDone **entries;
    uint32_t cap;
    Sotto__Engine__StepDone done;
    uint32_t phase_us[STEP_PHASE_COUNT];
};

int step_reply_init(struct step_reply *step_reply, uint32_t cap); /* 0 or -ENOMEM */
void step_reply_finish(struct step_reply *step_reply);

/* Fills the message, which is valid until the next call, and no longer than @report's results. */
Sotto__Engine__StepDone *step_reply_fill(struct step_reply *step_reply, uint64_t id, const struct step_report *report,
                                         const struct seq_table *seq_table, const struct model_figures *figures);

#endif
