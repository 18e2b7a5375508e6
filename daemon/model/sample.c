/*
 * Filters never build a new list of candidates. They lower a cutoff, which is a position in the total order (value,
 * then id); candidates before the cutoff are kept. So the final draw walks the vocabulary in ascending id, whatever
 * selected the candidates, and its sums have one order.
 *
 * A draw goes through stages, each of which looks at a list of items one after the other and can be left between any
 * two of them. The table at the end says what each stage looks at; its end function returns the next stage.
 */
#include "model/sample.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "model/pick.h"
#include "model/weight.h"
#include "tensor/real.h"
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Room beside twice the number of wanted picks, so that looking for one pick does not select at every second value. */
#define GATHER_MORE 64

enum stage {
    STAGE_TAME,
    STAGE_BIAS,
    STAGE_COUNT_TOKENS,
    STAGE_PENALISE,
    STAGE_MASK,
    STAGE_BEST,
    STAGE_TOP_K,
    STAGE_WEIGH,
    STAGE_TOTAL,
    STAGE_LIKELY,
    STAGE_REACH,
    STAGE_CUT,
    STAGE_SUM,
    STAGE_DRAW,
    STAGE_RAW,
    STAGE_RAW_SUM,
    STAGE_TOPS,
    STAGE_COUNT,
    STAGE_DONE = STAGE_COUNT,
    STAGE_NUMERIC,
};

struct sample_scratch {
    uint32_t n_vocab_most;
    float *values;      /* owned, as all arrays below; logits after bias and penalties, never NaN */
    float *weights;     /* e^((value - best) / temperature); the best has 1 */
    uint32_t *counts;   /* of each token in the window; all 0 outside the stages of penalties */
    struct pick *picks; /* for selecting */

    /* the draw */
    const struct sample_params *params;
    const float *logits;
    uint32_t n_vocab;
    const uint32_t *tokens; /* of the window */
    size_t n_tokens;
    uint32_t n_answer;
    struct sample_result *result;

    enum stage stage;
    size_t at; /* next item of the stage */
    struct pick best;
    struct pick cutoff;
    size_t n_picks;
    struct pick least; /* while gathering: values behind it are not among the best */
    size_t n_weighed;  /* number of weights above 0 */
    double sum;        /* running sum of weights */
    double wanted;     /* LIKELY: the least weight; DRAW: the random number times the sum */
    uint32_t last;     /* last token with a weight so far */
    struct pick_reach reach;
};

int sample_scratch_create(struct sample_scratch **ret_scratch, uint32_t n_vocab)
{
    struct sample_scratch *scratch = mem_calloc(MEM_SCRATCH, 1, sizeof(*scratch));

    if (!scratch) {
        return err_new(-ENOMEM);
    }
    scratch->n_vocab_most = n_vocab;
    scratch->stage = STAGE_DONE;
    scratch->values = mem_calloc(MEM_SCRATCH, n_vocab, sizeof(*scratch->values));
    scratch->weights = mem_calloc(MEM_SCRATCH, n_vocab, sizeof(*scratch->weights));
    scratch->counts = mem_calloc(MEM_SCRATCH, n_vocab, sizeof(*scratch->counts));
    scratch->picks = mem_calloc(MEM_SCRATCH, n_vocab, sizeof(*scratch->picks));
    if (!scratch->values || !scratch->weights || !scratch->counts || !scratch->picks) {
        sample_scratch_destroy(scratch);
        return err_new(-ENOMEM);
    }
    *ret_scratch = scratch;
    return 0;
}

void sample_scratch_destroy(struct sample_scratch *scratch)
{
    if (!scratch) {
        return;
    }
    mem_free(scratch->values);
    mem_free(scratch->weights);
    mem_free(scratch->counts);
    mem_free(scratch->picks);
    mem_free(scratch);
}

double sample_random(uint64_t seed, uint32_t n_answer)
{
    uint64_t x = seed + ((uint64_t)n_answer + 1) * 0x9e3779b97f4a7c15U;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53;
}

/* Returns a finite value, or -infinity for no candidate. */
static float tame(float value)
{
    if (isnan(value)) {
        return -INFINITY;
    }
    return value > FLT_MAX ? FLT_MAX : value;
}

/* ---- what changes values */

static void tame_some(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        draw->values[id] = tame(draw->logits[id]);
    }
}

static void add_biases(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct sample_bias *bias = &draw->params->biases[i];

        if (bias->id < draw->n_vocab) {
            draw->values[bias->id] = tame(draw->values[bias->id] + bias->bias);
        }
    }
}

static bool has_penalties(const struct sample_params *params)
{
    return params->n_window > 0 &&
           (params->repetition_penalty != 1 || params->frequency_penalty != 0 || params->presence_penalty != 0);
}

static enum stage end_biases(struct sample_scratch *draw)
{
    return has_penalties(draw->params) ? STAGE_COUNT_TOKENS : STAGE_MASK;
}

static void count_tokens(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (draw->tokens[i] < draw->n_vocab) {
            draw->counts[draw->tokens[i]]++;
        }
    }
}

/* Repetition makes the token less likely on either side of 0; the other two penalties subtract. */
static float penalise(const struct sample_params *params, float value, uint32_t count)
{
    value = value > 0 ? value / params->repetition_penalty : value * params->repetition_penalty;
    value -= (float)count * params->frequency_penalty;
    return tame(value - params->presence_penalty);
}

/* Penalises each distinct token of the window once, by its count. */
static void add_penalties(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const uint32_t id = draw->tokens[i];

        if (id < draw->n_vocab && draw->counts[id] > 0) {
            draw->values[id] = penalise(draw->params, draw->values[id], draw->counts[id]);
            draw->counts[id] = 0;
        }
    }
}

static void mask_some(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (draw->params->never[i] < draw->n_vocab) {
            draw->values[draw->params->never[i]] = -INFINITY;
        }
    }
}

static enum stage end_mask(struct sample_scratch *draw)
{
    draw->best = (struct pick){ .value = -INFINITY };
    return STAGE_BEST;
}

/* Finds the best value, ties to the lowest id; -infinity means that there is no candidate. */
static void find_best(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        if (draw->values[id] > draw->best.value) {
            draw->best = (struct pick){ .value = draw->values[id], .id = (uint32_t)id };
        }
    }
}

static void begin_gather(struct sample_scratch *draw)
{
    draw->n_picks = 0;
    draw->least = (struct pick){ .value = -INFINITY };
}

/* Notes the chosen token. Returns the next stage: log-probabilities, if any are wanted. */
static enum stage end_choice(struct sample_scratch *draw, uint32_t id)
{
    draw->result->id = id;
    draw->best = (struct pick){ .value = -INFINITY };
    return draw->params->logprobs || draw->params->n_top > 0 ? STAGE_RAW : STAGE_DONE;
}

static enum stage end_best(struct sample_scratch *draw)
{
    const uint32_t top_k = draw->params->top_k;

    if (draw->best.value == -INFINITY) {
        return STAGE_NUMERIC;
    }
    if (!(draw->params->temperature > 0)) {
        return end_choice(draw, draw->best.id);
    }
    draw->cutoff = PICK_END;
    draw->n_weighed = 0;
    begin_gather(draw);
    return top_k > 0 && top_k < draw->n_vocab ? STAGE_TOP_K : STAGE_WEIGH;
}

/* ---- what narrows the choice */

/* Returns the pick that is last in order among the first @n. */
static struct pick find_last(const struct pick *picks, size_t n)
{
    struct pick last = picks[0];

    for (size_t i = 1; i < n; i++) {
        if (pick_before(last, picks[i])) {
            last = picks[i];
        }
    }
    return last;
}

/*
 * Brings the best @k candidates of the values to the front of the picks, in no order. Whenever the room for more is
 * used up, all but the best @k are dropped, so that soon few values pass.
 */
static void gather_best(struct sample_scratch *draw, size_t k, size_t from, size_t to)
{
    const size_t cap = num_min(2 * k + GATHER_MORE, draw->n_vocab);

    for (size_t id = from; id < to; id++) {
        const struct pick own = { .value = draw->values[id], .id = (uint32_t)id };

        if (!pick_before(own, draw->least)) {
            continue;
        }
        draw->picks[draw->n_picks++] = own;
        if (draw->n_picks == cap && draw->n_picks > k) {
            pick_best(draw->picks, draw->n_picks, k);
            draw->n_picks = k;
            draw->least = find_last(draw->picks, k);
        }
    }
}

/* Returns the number of gathered picks, at most @k. */
static size_t end_gather(struct sample_scratch *draw, size_t k)
{
    pick_best(draw->picks, draw->n_picks, k);
    return num_min(draw->n_picks, k);
}

static void gather_top_k(struct sample_scratch *draw, size_t from, size_t to)
{
    gather_best(draw, draw->params->top_k, from, to);
}

static enum stage end_top_k(struct sample_scratch *draw)
{
    draw->cutoff = find_last(draw->picks, end_gather(draw, draw->params->top_k));
    return STAGE_WEIGH;
}

/* Computes the weights; those behind the cutoff are 0. */
static void weigh(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        const float value = draw->values[id];
        const bool is_kept = !pick_before(draw->cutoff, (struct pick){ .value = value, .id = (uint32_t)id });

        draw->weights[id] = is_kept ? weight_of((value - draw->best.value) / draw->params->temperature) : 0;
        draw->n_weighed += draw->weights[id] > 0;
    }
}

static enum stage end_weigh(struct sample_scratch *draw)
{
    draw->sum = 0;
    return draw->params->top_p < 1 ? STAGE_TOTAL : STAGE_CUT;
}

static void sum_weights(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        draw->sum += draw->weights[id];
    }
}

/*
 * Sets the least weight of a token that top-p may keep. Tokens with a weight below their share of what top-p leaves
 * out cannot be kept, since together they weigh less than it. Half of that share is used, so that rounding does not
 * matter.
 */
static enum stage end_total(struct sample_scratch *draw)
{
    draw->wanted = (1 - (double)draw->params->top_p) * draw->sum / (double)draw->n_weighed / 2;
    draw->n_picks = 0;
    return STAGE_LIKELY;
}

static void gather_likely(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        if (draw->weights[id] > 0 && draw->weights[id] >= draw->wanted) {
            draw->picks[draw->n_picks++] = (struct pick){ .value = draw->values[id], .id = (uint32_t)id };
        }
    }
}

static enum stage end_likely(struct sample_scratch *draw)
{
    pick_reach_begin(&draw->reach, draw->picks, draw->n_picks, draw->weights, (double)draw->params->top_p * draw->sum);
    return STAGE_REACH;
}

static enum stage end_reach(struct sample_scratch *draw)
{
    draw->cutoff = draw->reach.found;
    return STAGE_CUT;
}

/* Zeroes the weights of all tokens that the filters leave out. The best token is always kept. */
static void cut(struct sample_scratch *draw, size_t from, size_t to)
{
    const float min_p = draw->params->min_p > 1 ? 1 : draw->params->min_p; /* the best has weight 1 */

    for (size_t id = from; id < to; id++) {
        const struct pick own = { .value = draw->values[id], .id = (uint32_t)id };

        if (pick_before(draw->cutoff, own) || draw->weights[id] < min_p) {
            draw->weights[id] = 0;
        }
    }
}

static enum stage end_cut(struct sample_scratch *draw)
{
    draw->sum = 0;
    return STAGE_SUM;
}

static enum stage end_sum(struct sample_scratch *draw)
{
    draw->wanted = sample_random(draw->params->seed, draw->n_answer) * draw->sum;
    draw->sum = 0;
    draw->last = 0;
    return STAGE_DRAW;
}

/* Walks the kept tokens in ascending id to the one where the random number falls. If rounding lets no sum pass, it is
 * the last of them. */
static void walk(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to && draw->sum <= draw->wanted; id++) {
        draw->sum += draw->weights[id];
        draw->last = draw->weights[id] > 0 ? (uint32_t)id : draw->last;
    }
}

static enum stage end_walk(struct sample_scratch *draw)
{
    return end_choice(draw, draw->last);
}

/* ---- log-probabilities of what the model said: of the logits as they came */

static void tame_raw(struct sample_scratch *draw, size_t from, size_t to)
{
    tame_some(draw, from, to);
    find_best(draw, from, to);
}

static enum stage end_raw(struct sample_scratch *draw)
{
    draw->sum = 0;
    return STAGE_RAW_SUM;
}

static void sum_raw(struct sample_scratch *draw, size_t from, size_t to)
{
    for (size_t id = from; id < to; id++) {
        draw->sum += weight_of(draw->values[id] - draw->best.value);
    }
}

static enum stage end_raw_sum(struct sample_scratch *draw)
{
    const float log_sum = real_log((float)draw->sum);

    draw->result->logprob = (draw->values[draw->result->id] - draw->best.value) - log_sum;
    begin_gather(draw);
    return draw->params->n_top > 0 ? STAGE_TOPS : STAGE_DONE;
}

static void gather_tops(struct sample_scratch *draw, size_t from, size_t to)
{
    gather_best(draw, draw->params->n_top, from, to);
}

static enum stage end_tops(struct sample_scratch *draw)
{
    const float log_sum = real_log((float)draw->sum);
    struct sample_result *result = draw->result;

    result->n_top = (uint32_t)end_gather(draw, draw->params->n_top);
    pick_sort(draw->picks, result->n_top);
    for (uint32_t i = 0; i < result->n_top; i++) {
        result->top_ids[i] = draw->picks[i].id;
        result->top_logprobs[i] = (draw->picks[i].value - draw->best.value) - log_sum;
    }
    return STAGE_DONE;
}

/* ---- stages */

enum things { THE_VOCABULARY, THE_BIASES, THE_WINDOW, THE_MASKED, THE_PICKS };

#define WEIGHING 4 /* an exponential costs as much as looking at so many values */

static const struct row {
    enum things things;
    uint32_t cost; /* of looking at one item */
    void (*look)(struct sample_scratch *draw, size_t from, size_t to);
    enum stage (*end)(struct sample_scratch *draw); /* returns the next stage; NULL: the one below */
} rows[STAGE_COUNT] = {
    [STAGE_TAME] = { THE_VOCABULARY, 1, tame_some, NULL },
    [STAGE_BIAS] = { THE_BIASES, 1, add_biases, end_biases },
    [STAGE_COUNT_TOKENS] = { THE_WINDOW, 1, count_tokens, NULL },
    [STAGE_PENALISE] = { THE_WINDOW, 1, add_penalties, NULL },
    [STAGE_MASK] = { THE_MASKED, 1, mask_some, end_mask },
    [STAGE_BEST] = { THE_VOCABULARY, 1, find_best, end_best },
    [STAGE_TOP_K] = { THE_VOCABULARY, 1, gather_top_k, end_top_k },
    [STAGE_WEIGH] = { THE_VOCABULARY, WEIGHING, weigh, end_weigh },
    [STAGE_TOTAL] = { THE_VOCABULARY, 1, sum_weights, end_total },
    [STAGE_LIKELY] = { THE_VOCABULARY, 1, gather_likely, end_likely },
    [STAGE_REACH] = { THE_PICKS, 1, NULL, end_reach },
    [STAGE_CUT] = { THE_VOCABULARY, 1, cut, end_cut },
    [STAGE_SUM] = { THE_VOCABULARY, 1, sum_weights, end_sum },
    [STAGE_DRAW] = { THE_VOCABULARY, 1, walk, end_walk },
    [STAGE_RAW] = { THE_VOCABULARY, 1, tame_raw, end_raw },
    [STAGE_RAW_SUM] = { THE_VOCABULARY, WEIGHING, sum_raw, end_raw_sum },
    [STAGE_TOPS] = { THE_VOCABULARY, 1, gather_tops, end_tops },
};

static size_t count_things(const struct sample_scratch *draw, enum things things)
{
    switch (things) {
    case THE_VOCABULARY:
        return draw->n_vocab;
    case THE_BIASES:
        return draw->params->n_biases;
    case THE_WINDOW:
        return draw->n_tokens;
    case THE_MASKED:
        return draw->params->n_never;
    case THE_PICKS:
        break;
    }
    return 0;
}

/* Runs the stage and subtracts the work from *n. Returns true if the stage has looked at everything. */
static bool run_stage(struct sample_scratch *draw, size_t *n)
{
    const struct row *row = &rows[draw->stage];
    size_t n_left;
    size_t n_now;

    if (row->things == THE_PICKS) {
        return pick_reach_go(&draw->reach, n);
    }
    n_left = count_things(draw, row->things) - draw->at;
    n_now = num_min(*n / row->cost, n_left);
    row->look(draw, draw->at, draw->at + n_now);
    draw->at += n_now;
    *n -= n_now * row->cost;
    return n_now == n_left;
}

void sample_begin(struct sample_scratch *scratch, const struct sample_params *params, const float *logits,
                  uint32_t n_vocab, const uint32_t *tokens, size_t n_tokens, uint32_t n_answer,
                  struct sample_result *result)
{
    const size_t n_window = num_min(n_tokens, params->n_window);

    assert(n_vocab <= scratch->n_vocab_most);
    if (scratch->stage == STAGE_COUNT_TOKENS || scratch->stage == STAGE_PENALISE) {
        memset(scratch->counts, 0,
               scratch->n_vocab_most * sizeof(*scratch->counts)); /* a draw was left inside these stages */
    }
    scratch->params = params;
    scratch->logits = logits;
    scratch->n_vocab = n_vocab;
    scratch->tokens = tokens + n_tokens - n_window;
    scratch->n_tokens = n_window;
    scratch->n_answer = n_answer;
    scratch->result = result;
    scratch->stage = STAGE_TAME;
    scratch->at = 0;
    result->logprob = 0;
    result->n_top = 0;
}

int sample_go(struct sample_scratch *scratch, size_t n)
{
    n = num_max(n, WEIGHING); /* every stage looks at one item at least */
    while (scratch->stage < STAGE_COUNT) {
        const struct row *row = &rows[scratch->stage];

        if (!run_stage(scratch, &n)) {
            return SAMPLE_MORE;
        }
        scratch->stage = row->end ? row->end(scratch) : scratch->stage + 1;
        scratch->at = 0;
    }
    return scratch->stage == STAGE_NUMERIC ? SAMPLE_NUMERIC : SAMPLE_OK;
}

int sample_draw(const struct sample_params *params, const float *logits, uint32_t n_vocab, const uint32_t *tokens,
                size_t n_tokens, uint32_t n_answer, struct sample_scratch *scratch, struct sample_result *result)
{
    sample_begin(scratch, params, logits, n_vocab, tokens, n_tokens, n_answer, result);
    return sample_go(scratch, SIZE_MAX);
}
