/*
 * Contention: how much others use a GPU that reports no load, from how long our own submissions wait for it
 *
 * A submission finds the GPU free, or it waits until others have left it. Each is a sample. What it found stands for
 * the pause before it as well, so samples count by the time that they span, and the share of time in which others had
 * the GPU is right for slices without a pause and for rare ones alike. It is what others use, over the last tenth of a
 * second or so, whatever their submissions look like.
 *
 * A slice that meets a submission somewhere waits for any part of it. Those of the waits that are as short as the way
 * of a submission can't be seen; how many they are follows from the longest.
 *
 * What is not submitted is not delayed: without work of ours nothing is known, and the estimate falls, so that a slice
 * can look again.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_CONTENTION_H
#define SOTTO_GOVERN_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>

struct contention {
    double busy_us;    /* decaying sums: the time in which others had the GPU, */
    double span_us;    /* of the time that samples stand for */
    double longest_us; /* the longest wait of the last second or so */
    uint64_t ended_us; /* the last slice; 0: there was none */
};

/* Takes in a slice that has ended at @ended_us: it waited @waited_us for others, then held the GPU for @held_us. A
 * sample stands for a pause of one frame, @frame_us, at most. */
void contention_sample(struct contention *contention, double frame_us, uint64_t ended_us, uint64_t held_us,
                       uint64_t waited_us);

/* Returns the share that others use, 0 to 1; 0 if nothing is known. */
double contention_load(const struct contention *contention, double frame_us, uint64_t now_us);

/* True if enough was submitted in the last tenth of a second or so to know that nothing else uses the GPU. */
bool contention_is_known(const struct contention *contention, double frame_us, uint64_t now_us);

#endif
