/*
 * Bench: the arithmetic of measurements
 */
#include "base/num.h"
#include "tool/bench.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *bench_work_name(enum bench_work work)
{
    return work == BENCH_PROMPT ? "prompt" : "decode";
}

/* Sets the size of a prompt: every step reads the layers once, and the last row of each sequence the head. A row sees
 * half of the prompt on average. */
static void weigh_prompt(struct bench_row *row, const struct bench_sizes *sizes, double kv_token_bytes,
                         uint32_t n_step_rows)
{
    const double n_seqs = row->what.n_batch;
    const double n_rows = n_seqs * row->what.n_context;
    const double n_steps = ceil(n_rows / n_step_rows);

    row->n_tokens = n_rows;
    row->n_bytes = n_steps * sizes->layer_bytes + fmin(n_seqs, n_steps) * sizes->head_bytes + n_rows * kv_token_bytes;
    row->n_ops = 2 * (n_rows * sizes->layer_elems + n_seqs * sizes->head_elems) +
                 n_rows * sizes->attend_ops * row->what.n_context / 2;
}

/* Sets the size of @n_steps tokens of each sequence: a step reads all weights once, and the keys and values of each. */
static void weigh_decode(struct bench_row *row, const struct bench_sizes *sizes, double kv_token_bytes,
                         uint32_t n_steps)
{
    const double n_seqs = row->what.n_batch;
    const double n_seen = row->what.n_context + n_steps / 2.0;

    row->n_tokens = n_seqs * n_steps;
    row->n_bytes = n_steps * (sizes->layer_bytes + sizes->head_bytes + n_seqs * n_seen * kv_token_bytes);
    row->n_ops = row->n_tokens * (2 * (sizes->layer_elems + sizes->head_elems) + sizes->attend_ops * n_seen);
}

void bench_weigh(struct bench_row *row, const struct bench_sizes *sizes, double kv_token_bytes, uint32_t n_steps,
                 uint32_t n_step_rows)
{
    if (row->what.work == BENCH_PROMPT) {
        weigh_prompt(row, sizes, kv_token_bytes, n_step_rows);
    } else {
        weigh_decode(row, sizes, kv_token_bytes, n_steps);
    }
}

static int compare(const void *a, const void *b)
{
    const double *left = a;
    const double *right = b;

    return (*left > *right) - (*left < *right);
}

/* Sorts @values and returns the median; of an even number, the mean of both in the middle. */
static double median(double *values, uint32_t n)
{
    assert(n > 0);
    qsort(values, n, sizeof(*values), compare);
    return (values[n / 2] + values[(n - 1) / 2]) / 2;
}

/* Returns the least seconds of a sample's work by its own limits; 0: they are not known. */
static double bound_of(const struct bench_row *row, const struct ceiling *limits, enum peak_kind arithmetic,
                       bool *ret_is_memory)
{
    double memory = limits->read_bytes_s > 0 ? row->n_bytes / limits->read_bytes_s : 0;
    double compute = limits->ops_s[arithmetic] > 0 ? row->n_ops / limits->ops_s[arithmetic] : 0;

    *ret_is_memory = memory >= compute;
    return fmax(memory, compute);
}

void bench_figure(const struct bench_row *row, enum peak_kind arithmetic, struct bench_figures *ret_figures)
{
    double rates[BENCH_SAMPLES];
    double shares[BENCH_SAMPLES];
    double reads[BENCH_SAMPLES];
    double peaks[BENCH_SAMPLES];
    uint32_t n_memory = 0;
    const uint32_t n = row->n_samples;

    assert(n > 0 && n <= BENCH_SAMPLES);
    for (uint32_t i = 0; i < n; i++) {
        const struct bench_sample *sample = &row->samples[i];
        bool is_memory;

        rates[i] = row->n_tokens / sample->seconds;
        shares[i] = bound_of(row, &sample->limits, arithmetic, &is_memory) / sample->seconds;
        reads[i] = sample->limits.read_bytes_s;
        peaks[i] = sample->limits.ops_s[arithmetic];
        n_memory += is_memory;
    }
    *ret_figures = (struct bench_figures){
        .rate = median(rates, n),
        .share = median(shares, n),
        .is_memory_bound = 2 * n_memory > n,
        .read_bytes_s = median(reads, n),
        .peak_ops_s = median(peaks, n),
        .intensity = row->n_ops / row->n_bytes,
    };
    ret_figures->lowest = rates[0];
    ret_figures->highest = rates[n - 1];
    ret_figures->ops_s = row->n_ops / row->n_tokens * ret_figures->rate;
}

void bench_first(const struct bench_firsts *firsts, double *ret_median_ms, double *ret_most_ms)
{
    double times[BENCH_SAMPLES];

    memcpy(times, firsts->ms, sizeof(times));
    *ret_median_ms = median(times, firsts->n);
    *ret_most_ms = times[firsts->n - 1];
}

struct ceiling bench_ceiling(const struct bench_model *model)
{
    static const size_t fields[] = {
        offsetof(struct ceiling, read_bytes_s),
        offsetof(struct ceiling, ops_s[PEAK_INT8]),
        offsetof(struct ceiling, ops_s[PEAK_F32]),
        offsetof(struct ceiling, ops_s[PEAK_BF16]),
    };
    double values[BENCH_ROWS * BENCH_SAMPLES];
    struct ceiling medians = { .read_bytes_s = 0 };

    for (size_t field = 0; field < sizeof(fields) / sizeof(fields[0]); field++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < model->n_rows; i++) {
            for (uint32_t k = 0; k < model->rows[i].n_samples; k++) {
                const char *limits = (const char *)&model->rows[i].samples[k].limits;

                if (model->rows[i].what.n_threads == model->rows[0].what.n_threads) {
                    memcpy(&values[n++], limits + fields[field], sizeof(*values));
                }
            }
        }
        if (n > 0) {
            double middle = median(values, n);

            memcpy((char *)&medians + fields[field], &middle, sizeof(middle));
        }
    }
    return medians;
}
