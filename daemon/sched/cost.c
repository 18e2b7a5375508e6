/*
 * Recursive least squares with forgetting (Plackett 1950; Ljung 1999, chapter 11), on relative errors: a step of one
 * answer counts as much as one of a long prompt, and one that was interrupted, and so took many times as long, hardly
 * counts. Loads differ by orders of magnitude between parts (1 fixed part, thousands of pages), so each part is learnt
 * in units of its first value. Errors are clipped (Huber 1964), so that one bad step teaches no more than a large
 * error would; nor can the covariance grow without bound while loads are all alike (wind-up).
 *
 * Least squares are slow to follow a change of the chip's clock, and would blame it on whatever part was large then.
 * So the ratio of measured and foretold is watched: if the median of the last few is far from 1, it is taken into the
 * speed in common at once. A median forgives almost half of its steps being interrupted.
 *
 * Widrow and Hoff's rule (normalised LMS), which is simpler, was tried: it follows a clock in tens of steps, or is led
 * by noise, and leaves parts that are rarely large where they began.
 */
#include "sched/cost.h"
#include <assert.h>

/* Of what was learnt so much is kept with each step: some hundred steps are remembered. Shorter and noise
 * of 5 % shows; longer and a machine that is not quite linear is followed too late when its work changes
 * in kind. */
#define COST_KEEP 0.99

/* Doubt at first: a part may be several times its first value. It never grows beyond. */
#define COST_DOUBT 10.0

/* The engine's values may be far off, so errors of the first steps are believed. Then a step teaches no
 * more than that it was a quarter faster or slower: the error that a plan must bear. */
#define COST_CLIP       0.25
#define COST_CLIP_YOUNG 100.0

/* Nothing is taken for a change of speed below: the median of seven steps with 5 % noise is within 6 %. */
#define COST_JUMP 1.12

/* A part is between a thousandth and a thousand times its first value, apart from speed: what loads can't
 * tell apart stays sane. */
#define COST_BOUND 1024.0

/* Speed is no number to overflow with. */
#define COST_SPEED_MOST 1e12

/* A part that the engine did not measure: a small model on small cores. */
static const double guesses_ns[COST_PART_COUNT] = {
    [COST_FIXED] = 1e7,
    [COST_PREFILL_ROW] = 1e6,
    [COST_DECODE_ROW] = 2e5,
    [COST_ATTEND_PAGE] = 2e3,
};

static double within(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* What cost_of() reads. */
static void publish(struct cost *cost)
{
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        double ns = cost->speed * cost->scale[i] * cost->share[i];

        cost->ns[i] = ns < 1.0 ? 1.0 : ns;
    }
}

void cost_init(struct cost *cost, const uint64_t first_ns[COST_PART_COUNT])
{
    *cost = (struct cost){ .speed = 1.0 };
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        cost->scale[i] = first_ns[i] ? (double)first_ns[i] : guesses_ns[i];
        cost->share[i] = 1.0;
        cost->doubt[i][i] = COST_DOUBT;
    }
    publish(cost);
}

double cost_of(const struct cost *cost, const struct cost_load *load)
{
    double ns = 0.0;

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        ns += cost->ns[i] * load->n[i];
    }
    return ns;
}

/* The middle of those since the last change, of an even number that nearer to 1; 1 while they are too few. */
static double median(const struct cost *cost)
{
    double sorted[COST_RECENT];
    uint32_t n = cost->n_recent < COST_RECENT ? cost->n_recent : COST_RECENT;

    if (n <= COST_RECENT / 2) {
        return 1.0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > cost->recent[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = cost->recent[i];
    }
    return n % 2 == 0 && sorted[n / 2] > 1.0 ? sorted[n / 2 - 1] : sorted[n / 2];
}

static void follow_speed(struct cost *cost, double ratio)
{
    double middle;

    cost->recent[cost->n_recent++ % COST_RECENT] = ratio;
    middle = median(cost);
    if (middle > 1.0 / COST_JUMP && middle < COST_JUMP) {
        return;
    }
    cost->speed = within(cost->speed * middle, 1.0 / COST_SPEED_MOST, COST_SPEED_MOST);
    cost->n_recent = 0;
}

/* The shares move along @x by what is left of the error of 1 = x * share. */
static void follow_shares(struct cost *cost, const double x[COST_PART_COUNT])
{
    double clip = cost->n_learnt < COST_YOUNG ? COST_CLIP_YOUNG : COST_CLIP;
    double spread[COST_PART_COUNT] = { 0 }; /* doubt * x */
    double norm = COST_KEEP;
    double error = 1.0;

    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        for (size_t k = 0; k < COST_PART_COUNT; k++) {
            spread[i] += cost->doubt[i][k] * x[k];
        }
        norm += x[i] * spread[i];
        error -= x[i] * cost->share[i];
    }
    error = within(error, -clip, clip);
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        cost->share[i] = within(cost->share[i] + error * spread[i] / norm, 1.0 / COST_BOUND, COST_BOUND);
        for (size_t k = 0; k < COST_PART_COUNT; k++) {
            cost->doubt[i][k] = (cost->doubt[i][k] - spread[i] * spread[k] / norm) / COST_KEEP;
        }
    }
}

/* A row and its column shrink together, which leaves a covariance one. */
static void bound_doubt(struct cost *cost)
{
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        double keep = COST_DOUBT / cost->doubt[i][i];

        for (size_t k = 0; k < COST_PART_COUNT && keep < 1.0; k++) {
            cost->doubt[i][k] *= keep;
            cost->doubt[k][i] = cost->doubt[i][k];
        }
    }
}

void cost_learn(struct cost *cost, const struct cost_load *load, uint64_t took_ns)
{
    double estimate = cost_of(cost, load);
    double took = (double)took_ns;
    double x[COST_PART_COUNT];

    if (took_ns == 0 || estimate <= 0.0) {
        return;
    }
    follow_speed(cost, took / estimate);
    for (size_t i = 0; i < COST_PART_COUNT; i++) {
        x[i] = cost->speed * cost->scale[i] * load->n[i] / took;
    }
    follow_shares(cost, x);
    bound_doubt(cost);
    cost->n_learnt += cost->n_learnt < COST_YOUNG;
    publish(cost);
}
