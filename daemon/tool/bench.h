/*
 * Bench: what was measured, and the figures that follow from it
 *
 * Measuring (bench.c, trial.h, ceiling.h) fills in these structs; everything else is arithmetic on them: figures here,
 * the table, JSON and the picture in files of their own. So they are tested with fixed measurements.
 *
 * A work is bounded by memory, which must deliver its bytes, and by arithmetic (Williams, Waterman, Patterson 2009).
 * The share of a row is the time of the tighter of the two bounds, by the limits of the same second, over the time that
 * the work took.
 */
#ifndef SOTTO_TOOL_BENCH_H
#define SOTTO_TOOL_BENCH_H

#include "base/diag.h"
#include "tool/ceiling.h"
#include <jansson.h>
#include <stdio.h>

#define BENCH_SAMPLES 32
#define BENCH_ROWS    64
#define BENCH_MODELS  16
#define BENCH_WHY     DIAG_BYTES
#define BENCH_WORD    64

enum bench_work {
    BENCH_PROMPT, /* reads n_batch prompts of n_context tokens */
    BENCH_DECODE, /* makes a token of each of n_batch sequences, which have n_context tokens at first */
};

struct bench_case {
    enum bench_work work;
    uint32_t n_threads;
    uint32_t n_batch;
    uint32_t n_context;
    const char *kv_format;
};

/* One measurement. */
struct bench_sample {
    double seconds;
    struct ceiling limits; /* mean of those before and after */
};

struct bench_row {
    struct bench_case what;
    double n_tokens; /* of a sample */
    double n_bytes;  /* that a sample must read from memory at least */
    double n_ops;    /* that it must compute */
    uint32_t n_samples;
    struct bench_sample samples[BENCH_SAMPLES];
};

/* A case that was not measured. */
struct bench_gap {
    struct bench_case what;
    char why[BENCH_WHY];
};

/* Sizes of a model, from which the bytes and operations of a work follow. */
struct bench_sizes {
    double layer_bytes; /* of the weights that every row reads */
    double layer_elems;
    double head_bytes; /* of the output matrix, which only rows with logits read */
    double head_elems;
    double attend_ops; /* of one row for each position that it sees */
};

struct bench_model {
    const char *path;
    char architecture[BENCH_WORD];
    char format[BENCH_WORD];
    char backend[BENCH_WORD];
    uint64_t n_parameters;
    uint64_t file_bytes;
    enum peak_kind arithmetic; /* of most weights */
    struct bench_sizes sizes;
    double open_s;           /* from the open file to a model that is ready; the first time */
    uint64_t resident_bytes; /* at the end of the rows of the first opening, without what measures */
    uint64_t kv_bytes;       /* of these: pages of keys and values that were used */
    struct bench_row rows[BENCH_ROWS];
    uint32_t n_rows;
    struct bench_gap gaps[BENCH_ROWS];
    uint32_t n_gaps;
};

/* First tokens at a daemon, beside a number of other answers. */
struct bench_firsts {
    uint32_t n_beside;
    uint32_t n;
    double ms[BENCH_SAMPLES];
};

struct bench {
    char served[BENCH_WORD];       /* the daemon's model; empty: no daemon was asked */
    struct bench_firsts firsts[2]; /* beside nothing, and beside others */
    uint32_t n_models;
    struct bench_model models[BENCH_MODELS];
};

/* Sets the bytes and operations of @row, which makes or reads @n_steps times a row for each of its sequences.
 * @kv_token_bytes: of one position; @n_step_rows: most rows of a step. */
void bench_weigh(struct bench_row *row, const struct bench_sizes *sizes, double kv_token_bytes, uint32_t n_steps,
                 uint32_t n_step_rows);

/* The figures of a row with at least one sample. */
struct bench_figures {
    double rate; /* tokens a second, all sequences together: median, least and greatest */
    double lowest;
    double highest;
    double share;         /* of the limit: median; 0: unknown */
    bool is_memory_bound; /* the limit is bandwidth; else it is arithmetic */
    double read_bytes_s;  /* medians of the limits beside it */
    double peak_ops_s;
    double ops_s;     /* median of what it computed */
    double intensity; /* operations for each byte */
};

void bench_figure(const struct bench_row *row, enum peak_kind arithmetic, struct bench_figures *ret_figures);

/* Gives the median and the greatest of the times, of which there is at least one. */
void bench_first(const struct bench_firsts *firsts, double *ret_median_ms, double *ret_most_ms);

/* Returns the median of each limit over the rows of @model with as many threads as its first row. */
struct ceiling bench_ceiling(const struct bench_model *model);

const char *bench_work_name(enum bench_work work); /* "prompt", "decode" */

/* ---- for people and programs ---- */

void bench_text(const struct bench *bench, FILE *out);

/* Returns a new object; NULL: no memory. */
json_t *bench_json(const struct bench *bench);

/* Draws the roofline with each row in it, and the scaling over threads and batch, as an SVG picture. */
void bench_plot(const struct bench *bench, FILE *out);

#endif
