/*
 * Bench: a sampler with readers over fake sources, and a clock that the test turns
 */
#ifndef SOTTO_TESTS_SENSOR_BENCH_H
#define SOTTO_TESTS_SENSOR_BENCH_H

#include "fake.h"
#include "sensor/sampler.h"

struct bench {
    int notify_fd;
    struct readers readers;
    struct sampler sampler;
    struct scan_result scan_result;
    uint64_t now_us;
};

void bench_open(struct bench *bench);

/* All fakes must be open. */
void bench_close(struct bench *bench);

/* A scan has found these @n. */
void bench_found(struct bench *bench, struct fake *const *fakes, uint32_t n);

/* Time goes on by @ms in steps of 10; after each, what is due is read and taken, but for what hangs. */
void bench_run(struct bench *bench, uint32_t ms);

/* The gauge of @fake. */
const struct channel *bench_channel(const struct bench *bench, const struct fake *fake);

#endif
