/*
 * Fake: a source that says what a test tells it, and hangs when it is told to
 */
#ifndef SOTTO_TESTS_SENSOR_FAKE_H
#define SOTTO_TESTS_SENSOR_FAKE_H

#include "sensor/finder.h"
#include <pthread.h>

struct fake {
    struct source source;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    struct reading says;
    uint32_t n_reads; /* begun */
    bool is_early;    /* what it says is of no time yet */
    bool is_shut;     /* whoever reads waits until it is open */
    struct source_client clients[2];
    uint32_t n_clients;
};

void fake_init(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank);

/* The same, and it tells clients apart. */
void fake_init_clients(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank);
void fake_finish(struct fake *fake);

void fake_says(struct fake *fake, enum reading_state state, int64_t value);
/* Its first look tells nothing yet. */
void fake_early(struct fake *fake);
void fake_shut(struct fake *fake, bool shut);
uint32_t fake_n_reads(struct fake *fake);

#endif
