/*
 * A filter never builds a new list of candidates: it lowers a cutoff, a place in the order (value, then id). Whoever
 * stands before the cutoff is kept. So the draw can walk the vocabulary in ascending id whatever was selected how,
 * and the sums behind it have one order.
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

/* Room beside twice the best that are looked for, so that looking for one does not select at every second value. */
#define GATHER_MORE 64

struct sample_scratch {
    uint32_t n_vocab;
    float *values;      /* owned, as all below; logits after bias and penalties, never NaN */
    float *weights;     /* e^((value - best) / temperature): the best has 1 */
    uint32_t *counts;   /* in the window; all 0 between calls */
    struct pick *picks; /* for selecting */
};

int sample_scratch_create(struct sample_scratch **ret_scratch, uint32_t n_vocab)
{
    struct sample_scratch *scratch = mem_calloc(MEM_SCRATCH, 1, sizeof(*scratch));

    if (!scratch) {
        return err_new(-ENOMEM);
    }
    scratch->n_vocab = n_vocab;
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

/* No candidate, or a finite value. */
static float tame(float value)
{
    if (isnan(value)) {
        return -INFINITY;
    }
    return value > FLT_MAX ? FLT_MAX : value;
}

/* ---- what changes values */

static void add_biases(const struct sample_params *params, float *values, uint32_t n_vocab)
{
    for (size_t i = 0; i < params->n_biases; i++) {
        const struct sample_bias *bias = &params->biases[i];

        if (bias->id < n_vocab) {
            values[bias->id] = tame(values[bias->id] + bias->bias);
        }
    }
}

static bool has_penalties(const struct sample_params *params)
{
    return params->n_window > 0 && (params->repetition_penalty != 1 || params->frequency_penalty != 0 ||
                                    params->presence_penalty != 0);
}

/* Repetition scales towards less likely on either side of 0; the other two subtract. */
static float penalise(const struct sample_params *params, float value, uint32_t count)
{
    value = value > 0 ? value / params->repetition_penalty : value * params->repetition_penalty;
    value -= (float)count * params->frequency_penalty;
    return tame(value - params->presence_penalty);
}

/* Each distinct token of the window once, by how often it stands there. */
static void add_penalties(const struct sample_params *params, const uint32_t *tokens, size_t n_tokens,
                          float *values, uint32_t n_vocab, uint32_t *counts)
{
    const size_t first = n_tokens - num_min(n_tokens, params->n_window);

    for (size_t i = first; i < n_tokens; i++) {
        if (tokens[i] < n_vocab) {
            counts[tokens[i]]++;
        }
    }
    for (size_t i = first; i < n_tokens; i++) {
        const uint32_t id = tokens[i];

        if (id < n_vocab && counts[id] > 0) {
            values[id] = penalise(params, values[id], counts[id]);
            counts[id] = 0;
        }
    }
}

static void mask(const uint32_t *never, size_t n_never, float *values, uint32_t n_vocab)
{
    for (size_t i = 0; i < n_never; i++) {
        if (never[i] < n_vocab) {
            values[never[i]] = -INFINITY;
        }
    }
}

/* The best value, ties to the lowest id; -infinity: there is no candidate. */
static struct pick find_best(const float *values, uint32_t n_vocab)
{
    struct pick best = { .value = -INFINITY };

    for (uint32_t id = 0; id < n_vocab; id++) {
        if (values[id] > best.value) {
            best = (struct pick){ .value = values[id], .id = id };
        }
    }
    return best;
}

/* ---- what narrows the choice */

/* The last in order of the first @n. */
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
 * Brings the best @k candidates of @values to the front of @picks, in no order, and returns how many there are. Of what
 * was gathered so far only the best @k are kept whenever the room for more is used up: soon few values pass.
 */
static size_t gather_best(const float *values, uint32_t n_vocab, size_t k, struct pick *picks)
{
    const size_t cap = num_min(2 * k + GATHER_MORE, n_vocab);
    struct pick least = { .value = -INFINITY };
    size_t n = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        const struct pick own = { .value = values[id], .id = id };

        if (!pick_before(own, least)) {
            continue;
        }
        picks[n++] = own;
        if (n == cap && n > k) {
            pick_best(picks, n, k);
            n = k;
            least = find_last(picks, k);
        }
    }
    pick_best(picks, n, k);
    return num_min(n, k);
}

/* The last place that top-k keeps. */
static struct pick cut_top_k(struct sample_scratch *scratch, uint32_t n_vocab, uint32_t top_k)
{
    if (top_k == 0 || top_k >= n_vocab) {
        return PICK_END;
    }
    return find_last(scratch->picks, gather_best(scratch->values, n_vocab, top_k, scratch->picks));
}

/* Fills the weights, 0 behind @cutoff. Returns how many are above 0. */
static size_t weigh(struct sample_scratch *scratch, uint32_t n_vocab, struct pick cutoff, float best,
                    float temperature)
{
    size_t n = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        const float value = scratch->values[id];
        const bool is_kept = !pick_before(cutoff, (struct pick){ .value = value, .id = id });

        scratch->weights[id] = is_kept ? weight_of((value - best) / temperature) : 0;
        n += scratch->weights[id] > 0;
    }
    return n;
}

static double sum_weights(const float *weights, uint32_t n_vocab)
{
    double sum = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        sum += weights[id];
    }
    return sum;
}

/*
 * The last place that top-p keeps, of the @n weights above 0. Tokens that have each less than their part of what top-p
 * leaves out can't be among the kept: together they are less than it. Half of that part, so that rounding is no matter.
 */
static struct pick cut_top_p(struct sample_scratch *scratch, uint32_t n_vocab, size_t n, float top_p)
{
    const double total = sum_weights(scratch->weights, n_vocab);
    const double least = (1 - (double)top_p) * total / (double)n / 2;
    size_t n_picks = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        if (scratch->weights[id] > 0 && scratch->weights[id] >= least) {
            scratch->picks[n_picks++] = (struct pick){ .value = scratch->values[id], .id = id };
        }
    }
    return pick_reach(scratch->picks, n_picks, scratch->weights, (double)top_p * total);
}

/* Fills the weights: 0 for all that the filters leave out. The best is always kept. */
static void narrow(const struct sample_params *params, struct sample_scratch *scratch, uint32_t n_vocab,
                   float best)
{
    const float min_p = params->min_p > 1 ? 1 : params->min_p; /* which the best has */
    float *weights = scratch->weights;
    struct pick cutoff = cut_top_k(scratch, n_vocab, params->top_k);
    const size_t n = weigh(scratch, n_vocab, cutoff, best, params->temperature);

    if (params->top_p < 1) {
        cutoff = cut_top_p(scratch, n_vocab, n, params->top_p);
    }
    for (uint32_t id = 0; id < n_vocab; id++) {
        const struct pick own = { .value = scratch->values[id], .id = id };

        if (pick_before(cutoff, own) || weights[id] < min_p) {
            weights[id] = 0;
        }
    }
}

/* Walks the kept in ascending id to where the random number falls. */
static uint32_t draw(const float *weights, uint32_t n_vocab, double random)
{
    const double wanted = random * sum_weights(weights, n_vocab);
    uint32_t last = 0;
    double sum = 0;

    for (uint32_t id = 0; id < n_vocab && sum <= wanted; id++) {
        sum += weights[id];
        last = weights[id] > 0 ? id : last;
    }
    return last; /* where rounding let no sum pass: the last of the kept */
}

/* ---- log-probabilities of what the model said */

/* Of the logits as they came; the scratch's values are used up. */
static void fill_logprobs(const struct sample_params *params, const float *logits, uint32_t n_vocab,
                          struct sample_scratch *scratch, struct sample_result *result)
{
    float best;
    double sum = 0;
    float log_sum;

    for (uint32_t id = 0; id < n_vocab; id++) {
        scratch->values[id] = tame(logits[id]);
    }
    best = find_best(scratch->values, n_vocab).value;
    for (uint32_t id = 0; id < n_vocab; id++) {
        sum += weight_of(scratch->values[id] - best);
    }
    log_sum = real_log((float)sum);
    result->logprob = (scratch->values[result->id] - best) - log_sum;
    if (params->n_top == 0) {
        return;
    }

    result->n_top = (uint32_t)gather_best(scratch->values, n_vocab, params->n_top, scratch->picks);
    pick_sort(scratch->picks, result->n_top);
    for (uint32_t i = 0; i < result->n_top; i++) {
        result->top_ids[i] = scratch->picks[i].id;
        result->top_logprobs[i] = (scratch->picks[i].value - best) - log_sum;
    }
}

int sample_draw(const struct sample_params *params, const float *logits, uint32_t n_vocab,
                const uint32_t *tokens, size_t n_tokens, uint32_t n_answer, struct sample_scratch *scratch,
                struct sample_result *result)
{
    struct pick best;

    assert(n_vocab <= scratch->n_vocab);
    for (uint32_t id = 0; id < n_vocab; id++) {
        scratch->values[id] = tame(logits[id]);
    }
    add_biases(params, scratch->values, n_vocab);
    if (has_penalties(params)) {
        add_penalties(params, tokens, n_tokens, scratch->values, n_vocab, scratch->counts);
    }
    mask(params->never, params->n_never, scratch->values, n_vocab);
    best = find_best(scratch->values, n_vocab);
    if (best.value == -INFINITY) {
        return SAMPLE_NUMERIC;
    }

    result->id = best.id;
    if (params->temperature > 0) {
        narrow(params, scratch, n_vocab, best.value);
        result->id = draw(scratch->weights, n_vocab, sample_random(params->seed, n_answer));
    }

    result->logprob = 0;
    result->n_top = 0;
    if (params->logprobs || params->n_top > 0) {
        fill_logprobs(params, logits, n_vocab, scratch, result);
    }
    return SAMPLE_OK;
}
