/*
 * Result: what one entry of a step has as its result
 *
 * A token is drawn if the rows reached the end of the known tokens, or the rows are pooled. Both may take longer than a
 * part may, in a large vocabulary or for many rows, so either is done in pieces, between which the other step may run.
 * Nothing of a sequence changes before its result is begun.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "model/private.h"

#define PIECE_US 2000 /* without a bound; the same as of a submission */

static bool pools(const struct step *step)
{
    for (uint32_t i = 0; i < step->n_entries; i++) {
        if (step->shares[i].n_rows > 0 && step->shares[i].seq->pooling) {
            return true;
        }
    }
    return false;
}

/* Makes readable what the program computed: logits and hidden states of all rows, one call each, once for a step. */
static int fetch(struct step *step)
{
    const struct model_program *program = step->program;
    int r = 0;

    if (step->is_fetched || !program) {
        return 0;
    }
    step->is_fetched = true;
    if (step->n_wanted > 0) {
        r = exec_fetch(program->exec, program->logits, &step->logits);
    }
    if (r == 0 && pools(step)) {
        r = exec_fetch(program->exec, program->hidden, &step->hidden);
    }
    return err_up(r);
}

static void show_watched(const struct model *model, const struct step *step, const struct step_share *share)
{
    uint32_t first = share->seq->n_done - share->n_watched; /* position */

    for (uint32_t i = 0; i < share->n_watched; i++) {
        share->seq->watch(share->seq->watcher, first + i, exec_view_row(&step->logits, share->watched + i),
                          model->params.n_tokens);
    }
}

/* Makes the computed rows part of the sequence. */
static void take_rows(struct model *model, struct step *step, const struct step_share *share, bool computed)
{
    struct seq *seq = share->seq;

    if (!seq || share->n_rows == 0) {
        return;
    }
    if (!computed) {
        if (model->states.mem) {
            seq_go_back(model, seq, 0); /* its state is undefined among these rows */
        }
        return;
    }
    seq->n_done += share->n_rows;
    step->results[step->n_made].n_rows = share->n_rows;
    step->results[step->n_made].n_drafts = share->n_drafts;
    show_watched(model, step, share);
}

/* ---- drawing a token */

static void begin_draw(struct model *model, struct step *step, const struct step_share *share)
{
    uint32_t wanted = share->wanted + step->results[step->n_made].n_tokens;
    struct seq *seq = share->seq;

    step->drawn = (struct sample_result){ .top_ids = seq->top_ids, .top_logprobs = seq->top_logprobs };
    sample_begin(step->sampling, &seq->params, exec_view_row(&step->logits, wanted), model->params.n_tokens,
                 seq->tokens, seq->n_known, seq->n_known + seq->n_slid - seq->n_prompt, &step->drawn);
    step->stage = RESULT_SAMPLES;
}

/* True if the token drawn last is the one that was drafted. */
static bool is_drafted(const struct step *step, const struct step_share *share)
{
    const struct step_result *result = &step->results[step->n_made];

    return result->n_drafts > 0 && step->tokens[share->first + result->n_tokens] == step->drawn.id;
}

/* Ends the draw. Returns true if the next one has to follow: the token is the one that was drafted, so the logits of
 * the row behind it are those of the next token. */
static bool end_draw(struct model *model, struct step *step, struct step_share *share, int outcome)
{
    struct step_result *result = &step->results[step->n_made];
    struct seq *seq = share->seq;

    if (outcome == SAMPLE_NUMERIC) {
        seq_go_back(model, seq, seq->n_known - 1); /* the next try needs these logits again */
        if (result->n_tokens > 0) {
            result->n_rows--; /* the row of a draft, which the next step computes again */
            result->n_drafts++;
        } else {
            share->outcome = STEP_ENTRY_NUMERIC;
        }
        return false;
    }
    seq->tokens[seq->n_known++] = step->drawn.id;
    result->tokens[result->n_tokens++] = step->drawn.id;
    result->logprob = step->drawn.logprob;
    result->n_top = step->drawn.n_top;
    result->top_ids = step->drawn.top_ids;
    result->top_logprobs = step->drawn.top_logprobs;
    if (!is_drafted(step, share)) {
        return false;
    }
    seq->n_done++;
    result->n_rows++;
    result->n_drafts--;
    return true;
}

/* Continues the draw. Returns true if all tokens are drawn. A piece that took too long halves the next one. */
static bool draw_some(struct model *model, struct step *step, struct step_share *share)
{
    uint32_t *speed = &model->sampling_speed;
    uint64_t bound_us = model->bound_us ? model->bound_us : PIECE_US;
    uint64_t began_us = clock_mono_us();
    int outcome = sample_go(step->sampling, bound_us * *speed);
    uint64_t took_us = clock_mono_us() - began_us;

    if (took_us > bound_us) {
        *speed = (uint32_t)num_max(*speed / 2, 1);
    } else if (outcome == SAMPLE_MORE && took_us < bound_us / 2) {
        *speed += (uint32_t)num_min(*speed / 4 + 1, UINT32_MAX - *speed);
    }
    if (outcome == SAMPLE_MORE) {
        return false;
    }
    if (end_draw(model, step, share, outcome)) {
        begin_draw(model, step, share);
        return false;
    }
    return true;
}

/* ---- pooling rows */

/* Adds rows to the pool, for about as long as a piece may take. Returns true if all are added; if they were the last of
 * the text, the pooled state is the result. */
static bool pool_some(const struct model *model, struct step *step, struct step_share *share)
{
    struct step_result *result = &step->results[step->n_made];
    struct seq *seq = share->seq;
    uint64_t until_us = clock_mono_us() + (model->bound_us ? model->bound_us / 2 : PIECE_US);
    uint32_t first = seq->n_done - share->n_rows; /* position */

    for (; step->n_pooled < share->n_rows && clock_mono_us() <= until_us; step->n_pooled++) {
        if (pooling_wants(seq->pooling, first + step->n_pooled, seq->n_known - 1)) {
            pooling_add(seq->pooling, exec_view_row(&step->hidden, share->first + step->n_pooled));
        }
    }
    if (step->n_pooled < share->n_rows) {
        return false;
    }
    if (share->n_rows == 0 || seq->n_done < seq->n_known) {
        return true;
    }
    if (!pooling_end(seq->pooling)) {
        share->outcome = STEP_ENTRY_NUMERIC;
        return true;
    }
    result->n_hidden = seq->pooling->n_values;
    result->hidden = seq->pooling->values;
    return true;
}

/* ---- */

/* Does the first piece: makes the rows part of the sequence and begins drawing or pooling. Returns true if the result
 * is complete. */
static bool begin_result(struct model *model, struct step *step, struct step_share *share, bool computed)
{
    take_rows(model, step, share, computed);
    if (share->seq && share->seq->is_stopped) {
        return false; /* result_go() handles it */
    }
    if (share->seq && share->seq->pooling) {
        step->stage = RESULT_POOLS;
        step->n_pooled = 0;
        return pool_some(model, step, share);
    }
    if (share->wanted != STEP_NOT_WANTED) {
        begin_draw(model, step, share);
        return false;
    }
    return true;
}

int result_go(struct model *model, struct step *step, bool computed, bool *ret_made)
{
    struct step_share *share = &step->shares[step->n_made];
    bool is_made = false;
    int r = computed ? fetch(step) : 0;

    if (r) {
        return err_up(r);
    }
    switch (step->stage) {
    case RESULT_NEW:
        is_made = begin_result(model, step, share, computed);
        break;
    case RESULT_POOLS:
        is_made = pool_some(model, step, share);
        break;
    case RESULT_SAMPLES:
        is_made = !share->seq->is_stopped && draw_some(model, step, share);
        break;
    }
    if (!is_made && share->seq && share->seq->is_stopped) {
        share->outcome = STEP_ENTRY_STOPPED;
        /* The last row is discarded, in case the sequence is read again. */
        seq_go_back(model, share->seq, share->seq->n_known - 1);
        is_made = true;
    }
    step->results[step->n_made].outcome = share->outcome;
    step->stage = is_made ? RESULT_NEW : step->stage;
    *ret_made = is_made;
    return 0;
}
