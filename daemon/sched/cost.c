/*
 * Recursive least squares with forgetting (Plackett 1950; Ljung 1999, chapter 11), on relative errors: a step of one
 * answer counts as much as one with a long prompt, and a step that was interrupted, and so took many times as long,
 * hardly counts. Loads differ between parts by orders of magnitude (1 fixed part, thousands of pages), so each part is
 * learnt in units of its first value. Errors are clipped (Huber 1964), so one bad step teaches no more than a large
 * error would. The covariance is bounded, so it can't grow without end while all loads are alike (wind-up).
 *
 * Least squares follow a change of the chip's clock slowly, and blame it on whichever part was large then. So the ratio
 * of measured to estimated time is watched: if the median of the last few is far from 1, it goes into the common speed
 * at once. A median tolerates almost half of its steps being interrupted.
 *
 * Widrow and Hoff's rule (normalised LMS), which is simpler, was tried and rejected: it follows a clock in tens of
 * steps or is misled by noise, and leaves parts that are rarely large where they began.
 */
#include "sched/cost.h"
#include <assert.h>

/* Weight that earlier steps keep with each new one: some hundred steps are remembered. A shorter memory shows noise
 * of 5 %; a longer one follows a machine that is not quite linear too late when its kind of work changes. */
#define COST_KEEP 0.99

/* Initial doubt, which is never exceeded: a part may be several times its first value. */
#define COST_DOUBT 10.0

/* The engine's values may be far off, so the errors of the first steps are believed. Later a step teaches at most
 * that it was a quarter faster or slower, the error that a plan must bear. */
#define COST_CLIP       0.25
#define COST_CLIP_YOUNG 100.0

/* Below this factor nothing counts as a change of speed: the median of seven steps with 5 % noise is within 6 %. */
#define COST_JUMP 1.12

/* Apart from speed, a part stays between 1/1024 and 1024 times its first value, so parts that the loads can't tell
 * apart stay sane. */
#define COST_BOUND 1024.0

/* Keeps speed from overflowing. */
#define COST_SPEED_MOST 1e12

/* Values for parts that the engine did not measure: a small model on small cores. */
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

/* Updates the figures that cost_of() reads. */
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

/* Returns the median of the steps since the last change; of two middle ones that nearer to 1; 1 while there are too
 * few. */
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

/* Moves the shares along @x by what remains of the error of 1 = x * share. */
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

/* A row and its column shrink together, so the matrix stays a covariance. */
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
