/*
 * Result: what the rows of one entry of a step come to
 *
 * A token is drawn where they reached the end of what is known, or they are pooled. Both may take longer than a part
 * may, in a large vocabulary or a long piece, so either is done a little at a time; between two pieces the other
 * step may go on. Nothing of a sequence changes before its result is begun.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "model/private.h"

#define PIECE_US 2000 /* where nobody set a bound: as a submission */

static int show_watched(struct model *model, const struct step *step, const struct step_share *share)
{
    uint32_t first = share->seq->n_done - share->n_watched; /* position */

    for (uint32_t i = 0; i < share->n_watched; i++) {
        int r = exec_read(step->program->exec, step->program->logits, share->watched + i, step->logits,
                          model->params.n_tokens);

        if (r) {
            return err_up(r);
        }
        share->seq->watch(share->seq->watcher, first + i, step->logits, model->params.n_tokens);
    }
    return 0;
}

/* The rows are part of the sequence now. */
static int take_rows(struct model *model, struct step *step, const struct step_share *share, bool computed)
{
    struct seq *seq = share->seq;

    if (!seq || share->n_rows == 0) {
        return 0;
    }
    if (!computed) {
        if (model->states.mem) {
            seq_go_back(model, seq, 0); /* its state is somewhere among these rows */
        }
        return 0;
    }
    seq->n_done += share->n_rows;
    step->results[step->n_made].n_rows = share->n_rows;
    return err_up(show_watched(model, step, share));
}

/* ---- drawing a token */

static int begin_draw(struct model *model, struct step *step, const struct step_share *share)
{
    struct seq *seq = share->seq;
    int r = exec_read(step->program->exec, step->program->logits, share->wanted, step->logits, model->params.n_tokens);

    if (r) {
        return err_up(r);
    }
    step->drawn = (struct sample_result){ .top_ids = seq->top_ids, .top_logprobs = seq->top_logprobs };
    sample_begin(step->sampling, &seq->params, step->logits, model->params.n_tokens, seq->tokens, seq->n_known,
                 seq->n_known + seq->n_slid - seq->n_prompt, &step->drawn);
    step->stage = RESULT_SAMPLES;
    return 0;
}

static void end_draw(struct model *model, struct step *step, struct step_share *share, int outcome)
{
    struct step_result *result = &step->results[step->n_made];
    struct seq *seq = share->seq;

    if (outcome == SAMPLE_NUMERIC) {
        share->outcome = STEP_ENTRY_NUMERIC;
        seq_go_back(model, seq, seq->n_known - 1); /* the next try needs these logits again */
        return;
    }
    seq->tokens[seq->n_known++] = step->drawn.id;
    result->tokens[result->n_tokens++] = step->drawn.id;
    result->logprob = step->drawn.logprob;
    result->n_top = step->drawn.n_top;
    result->top_ids = step->drawn.top_ids;
    result->top_logprobs = step->drawn.top_logprobs;
}

/* True: the token is drawn. A piece that took longer than it may halves the next one. */
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
    if (outcome != SAMPLE_MORE) {
        end_draw(model, step, share, outcome);
    }
    return outcome != SAMPLE_MORE;
}

/* ---- pooling rows */

/* Takes the rows that count, for about as long as a piece may be. True: all are taken; behind the last of the text,
 * what they come to is the result. */
static int pool_some(struct model *model, struct step *step, struct step_share *share, bool *ret_made)
{
    const struct model_program *program = step->program;
    struct step_result *result = &step->results[step->n_made];
    struct seq *seq = share->seq;
    uint64_t until_us = clock_mono_us() + (model->bound_us ? model->bound_us / 2 : PIECE_US);
    uint32_t first = seq->n_done - share->n_rows; /* position */

    for (; step->n_pooled < share->n_rows && clock_mono_us() <= until_us; step->n_pooled++) {
        int r;

        if (!pooling_wants(seq->pooling, first + step->n_pooled, seq->n_known - 1)) {
            continue;
        }
        r = exec_read(program->exec, program->hidden, share->first + step->n_pooled, seq->pooling->values,
                      seq->pooling->n_values);
        if (r) {
            return err_up(r);
        }
        pooling_add(seq->pooling);
    }
    *ret_made = step->n_pooled == share->n_rows;
    if (!*ret_made || share->n_rows == 0 || seq->n_done < seq->n_known) {
        return 0;
    }
    if (!pooling_pool(seq->pooling)) {
        share->outcome = STEP_ENTRY_NUMERIC;
        return 0;
    }
    result->n_hidden = seq->pooling->n_values;
    result->hidden = seq->pooling->values;
    return 0;
}

/* ---- */

/* The first piece: rows become part of the sequence, and what has to be done with them is begun. */
static int begin_result(struct model *model, struct step *step, struct step_share *share, bool computed, bool *ret_made)
{
    int r = take_rows(model, step, share, computed);

    if (r) {
        return err_up(r);
    }
    if (share->seq && share->seq->is_stopped) {
        return 0; /* is dealt with below */
    }
    if (share->seq && share->seq->pooling) {
        step->stage = RESULT_POOLS;
        step->n_pooled = 0;
        return pool_some(model, step, share, ret_made);
    }
    if (share->wanted != STEP_NOT_WANTED) {
        return err_up(begin_draw(model, step, share));
    }
    *ret_made = true;
    return 0;
}

int result_go(struct model *model, struct step *step, bool computed, bool *ret_made)
{
    struct step_share *share = &step->shares[step->n_made];
    bool is_made = false;
    int r = 0;

    switch (step->stage) {
    case RESULT_NEW:
        r = begin_result(model, step, share, computed, &is_made);
        break;
    case RESULT_POOLS:
        r = pool_some(model, step, share, &is_made);
        break;
    case RESULT_SAMPLES:
        is_made = !share->seq->is_stopped && draw_some(model, step, share);
        break;
    }
    if (r) {
        return err_up(r);
    }
    if (!is_made && share->seq && share->seq->is_stopped) {
        share->outcome = STEP_ENTRY_STOPPED;
        /* Its last row stays to be computed, should it be read again after all. */
        seq_go_back(model, share->seq, share->seq->n_known - 1);
        is_made = true;
    }
    step->results[step->n_made].outcome = share->outcome;
    step->stage = is_made ? RESULT_NEW : step->stage;
    *ret_made = is_made;
    return 0;
}
