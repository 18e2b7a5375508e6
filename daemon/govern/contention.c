#include "govern/contention.h"
#include <math.h>

#define MEMORY_US   100000.0  /* time constant: six frames at 60 Hz */
#define LONGEST_US  1000000.0 /* of the longest wait */
#define NOISE_US    100u      /* a shorter wait is the way of a submission to the GPU */
#define UNSEEN_MOST 0.5       /* part of the waits that may have been shorter than that */
#define LEAST_US    0.5       /* of a frame: the weight of not knowing */

static double kept(const struct contention *contention, uint64_t now_us)
{
    return now_us > contention->ended_us ? exp(-(double)(now_us - contention->ended_us) / MEMORY_US) : 1.0;
}

void contention_sample(struct contention *contention, double frame_us, uint64_t ended_us, uint64_t held_us,
                       uint64_t waited_us)
{
    double keep = kept(contention, ended_us);
    double took_us = (double)(held_us + waited_us);
    double pause_us = contention->ended_us > 0 ? (double)(ended_us - contention->ended_us) - took_us : 0.0;

    pause_us = fmax(0.0, fmin(pause_us, frame_us));
    contention->busy_us *= keep;
    contention->span_us = contention->span_us * keep + pause_us + took_us;
    contention->longest_us *= exp(-(pause_us + took_us) / LONGEST_US);
    if (waited_us > NOISE_US) {
        contention->busy_us += pause_us + (double)waited_us;
        contention->longest_us = fmax(contention->longest_us, (double)waited_us);
    }
    contention->ended_us = ended_us;
}

double contention_load(const struct contention *contention, double frame_us, uint64_t now_us)
{
    double keep = kept(contention, now_us);
    double share = contention->busy_us * keep / (contention->span_us * keep + LEAST_US * frame_us);
    double unseen = fmin(UNSEEN_MOST, NOISE_US / fmax(NOISE_US, contention->longest_us));

    return fmin(1.0, share / (1.0 - unseen));
}

bool contention_is_known(const struct contention *contention, double frame_us, uint64_t now_us)
{
    return contention->span_us * kept(contention, now_us) > 2.0 * frame_us;
}
