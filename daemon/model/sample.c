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
#include "tensor/real.h"
#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>

/* Candidates that top-p first looks at; most distributions need no more. */
#define TOP_P_FIRST 64

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

/* Fills weights, and picks with all that have one above 0. Returns how many. */
static size_t weigh(struct sample_scratch *scratch, uint32_t n_vocab, float best, float temperature)
{
    size_t n = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        const float value = scratch->values[id];

        const float weight = real_exp((value - best) / temperature);

        scratch->weights[id] = 0;
        if (weight > 0) {
            scratch->weights[id] = weight;
            scratch->picks[n++] = (struct pick){ .value = value, .id = id };
        }
    }
    return n;
}

/* Of @n picks the best @top_k come to the front. */
static size_t keep_top_k(struct pick *picks, size_t n, uint32_t top_k)
{
    if (top_k == 0 || top_k >= n) {
        return n;
    }
    pick_best(picks, n, top_k);
    return top_k;
}

/*
 * The fewest of the best whose weights reach @top_p of all. Sorted piece by piece, each twice as long as the one
 * before: mostly the first is enough. @total is of all @n.
 */
static size_t keep_top_p(const float *weights, struct pick *picks, size_t n, float top_p, double total)
{
    const double wanted = (double)top_p * total;
    double sum = 0;
    size_t n_sorted = 0;

    for (size_t piece = TOP_P_FIRST; n_sorted < n; piece *= 2) {
        const size_t n_piece = num_min(piece, n - n_sorted);

        pick_best(picks + n_sorted, n - n_sorted, n_piece);
        pick_sort(picks + n_sorted, n_piece);
        for (size_t i = n_sorted; i < n_sorted + n_piece; i++) {
            sum += weights[picks[i].id];
            if (sum >= wanted) {
                return i + 1;
            }
        }
        n_sorted += n_piece;
    }
    return n;
}

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

/* Weight 0 for all that the filters leave out. At least the best is kept. */
static void narrow(const struct sample_params *params, struct sample_scratch *scratch, uint32_t n_vocab,
                   size_t n)
{
    const float min_p = params->min_p > 1 ? 1 : params->min_p; /* which the best has */
    float *weights = scratch->weights;
    struct pick cutoff = { .value = -INFINITY, .id = UINT32_MAX };
    size_t n_kept = keep_top_k(scratch->picks, n, params->top_k);

    if (n_kept < n) {
        cutoff = find_last(scratch->picks, n_kept);
    }
    if (params->top_p < 1) {
        double total = 0;

        for (uint32_t id = 0; id < n_vocab; id++) {
            const struct pick own = { .value = scratch->values[id], .id = id };

            total += pick_before(cutoff, own) ? 0 : weights[id];
        }
        n_kept = keep_top_p(weights, scratch->picks, n_kept, params->top_p, total);
        cutoff = find_last(scratch->picks, n_kept);
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
    uint32_t last = 0;
    double total = 0;
    double sum = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        total += weights[id];
    }
    for (uint32_t id = 0; id < n_vocab; id++) {
        sum += weights[id];
        if (weights[id] > 0) {
            last = id;
            if (sum > random * total) {
                break;
            }
        }
    }
    return last; /* where rounding let no sum pass: the last of the kept */
}

/* ---- log-probabilities of what the model said */

/* The picks of all raw candidates; returns how many. */
static size_t read_raw(const float *logits, uint32_t n_vocab, struct pick *picks)
{
    size_t n = 0;

    for (uint32_t id = 0; id < n_vocab; id++) {
        const float value = tame(logits[id]);

        if (value > -INFINITY) {
            picks[n++] = (struct pick){ .value = value, .id = id };
        }
    }
    return n;
}

static void fill_logprobs(const struct sample_params *params, const float *logits, uint32_t n_vocab,
                          struct pick *picks, struct sample_result *result)
{
    const size_t n = read_raw(logits, n_vocab, picks);
    float best = -INFINITY;
    double sum = 0;
    float log_sum;

    for (size_t i = 0; i < n; i++) {
        best = picks[i].value > best ? picks[i].value : best;
    }
    for (size_t i = 0; i < n; i++) {
        sum += real_exp(picks[i].value - best);
    }
    log_sum = real_log((float)sum);
    result->logprob = (tame(logits[result->id]) - best) - log_sum;

    result->n_top = (uint32_t)num_min(params->n_top, n);
    pick_best(picks, n, result->n_top);
    pick_sort(picks, result->n_top);
    for (uint32_t i = 0; i < result->n_top; i++) {
        result->top_ids[i] = picks[i].id;
        result->top_logprobs[i] = (picks[i].value - best) - log_sum;
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
        const size_t n = weigh(scratch, n_vocab, best.value, params->temperature);

        narrow(params, scratch, n_vocab, n);
        result->id = draw(scratch->weights, n_vocab, sample_random(params->seed, n_answer));
    }

    result->logprob = 0;
    result->n_top = 0;
    if (params->logprobs || params->n_top > 0) {
        fill_logprobs(params, logits, n_vocab, scratch->picks, result);
    }
    return SAMPLE_OK;
}
