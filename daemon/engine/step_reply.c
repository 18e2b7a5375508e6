#include "engine/step_reply.h"

#include "base/err.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "proto/wire.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

int step_reply_init(struct step_reply *step_reply, uint32_t cap)
{
    *step_reply = (struct step_reply){ .cap = cap };
    step_reply->rows = mem_calloc(MEM_MISC, cap, sizeof(*step_reply->rows));
    step_reply->entries = mem_calloc(MEM_MISC, cap, sizeof(*step_reply->entries));
    if (!step_reply->rows || !step_reply->entries) {
        step_reply_finish(step_reply);
        return err_new(-ENOMEM);
    }
    return 0;
}

void step_reply_finish(struct step_reply *step_reply)
{
    mem_free(step_reply->rows);
    mem_free(step_reply->entries);
    *step_reply = (struct step_reply){ .cap = 0 };
}

static Sotto__Engine__Outcome outcome_of(enum step_entry_outcome outcome)
{
    switch (outcome) {
    case STEP_ENTRY_DONE:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_DONE;
    case STEP_ENTRY_UNFINISHED:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_UNFINISHED;
    case STEP_ENTRY_NO_ROOM:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_NO_ROOM;
    case STEP_ENTRY_NUMERIC:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_NUMERIC;
    case STEP_ENTRY_STOPPED:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_STOPPED;
    case STEP_ENTRY_UNKNOWN:
        return SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN;
    }
    return SOTTO__ENGINE__OUTCOME__OUTCOME_UNSPECIFIED;
}

static void fill_row(struct step_reply_row *row, const struct step_result *result, const struct seq_table *seq_table)
{
    const struct seq_table_row *asked = seq_table_find(seq_table, result->seq);

    sotto__engine__entry_done__init(&row->entry);
    row->entry.sequence = result->seq;
    row->entry.rows = result->n_rows;
    row->entry.drafts = result->n_drafts;
    row->entry.n_tokens = result->n_tokens;
    row->entry.tokens = wire_message(result->tokens);
    row->entry.outcome = outcome_of(result->outcome);
    row->entry.n_hidden = result->n_hidden;
    row->entry.hidden = wire_message(result->hidden);
    if (!asked || !asked->logprobs || result->n_tokens == 0) {
        return;
    }
    sotto__engine__logprobs__init(&row->logprobs);
    row->logprobs.logprob = result->logprob;
    row->logprobs.n_top_ids = result->n_top;
    row->logprobs.top_ids = wire_message(result->top_ids);
    row->logprobs.n_top_logprobs = result->n_top;
    row->logprobs.top_logprobs = wire_message(result->top_logprobs);
    row->logprobs_of[0] = &row->logprobs;
    row->entry.n_logprobs = 1;
    row->entry.logprobs = row->logprobs_of;
}

Sotto__Engine__StepDone *step_reply_fill(struct step_reply *step_reply, uint64_t id, const struct step_report *report,
                                         const struct seq_table *seq_table, const struct model_figures *figures)
{
    Sotto__Engine__StepDone *done = &step_reply->done;

    assert(report->n_results <= step_reply->cap);
    sotto__engine__step_done__init(done);
    for (uint32_t i = 0; i < report->n_results; i++) {
        fill_row(&step_reply->rows[i], &report->results[i], seq_table);
        step_reply->entries[i] = &step_reply->rows[i].entry;
    }
    memcpy(step_reply->phase_us, report->phase_us, sizeof(step_reply->phase_us));

    done->id = id;
    done->n_entries = report->n_results;
    done->entries = step_reply->entries;
    done->longest_us = (uint32_t)report->longest_us;
    done->n_phase_us = STEP_PHASE_COUNT;
    done->phase_us = step_reply->phase_us;
    done->pages_free = figures->n_free;
    done->pages_cached = figures->n_cached;
    done->pages_held = figures->n_held;
    done->weight_passes = report->n_weight_passes;
    done->allocations = report->n_allocs;
    return done;
}
