/*
 * Bench run: measures a model, case by case
 *
 * A plan has the first of each list as its base, and varies one thing at a time: the batch, the context, the threads,
 * the format of keys and values. Its order is that of importance. Each model has a share of the time; a case that would
 * take more than what is left is left out, and named. Each case is measured several times, with the limits of the
 * machine between.
 */
#ifndef SOTTO_TOOL_BENCH_RUN_H
#define SOTTO_TOOL_BENCH_RUN_H

#include "base/diag.h"
#include "tool/bench.h"

#define BENCH_LIST 8 /* most values of a list */

/* A list of numbers, or of names that outlive it. */
struct bench_list {
    uint32_t n;
    uint32_t numbers[BENCH_LIST];
    const char *names[BENCH_LIST];
};

struct bench_options {
    struct bench_list threads; /* as the following: at least one */
    struct bench_list batches;
    struct bench_list contexts;
    struct bench_list kv_formats;
    uint32_t n_prompt;  /* tokens of a prompt */
    uint32_t n_decode;  /* tokens of each sequence in a sample */
    uint32_t n_repeats; /* samples of a case */
    double seconds;     /* for one model */
};

/* Writes the plan, of at most @cap cases, and returns how many there are. */
uint32_t bench_plan(const struct bench_options *options, struct bench_case *cases, uint32_t cap);

enum bench_run_outcome {
    BENCH_RUN_OK,
    BENCH_RUN_REFUSED, /* @diag says what is wrong with the file or the machine */
};

/* Measures the model file at @path, which must outlive @model. Shows progress on a terminal. Returns a
 * bench_run_outcome or a fault. */
int bench_run(struct bench_model *model, const char *path, const struct bench_options *options, struct diag *diag);

#endif
