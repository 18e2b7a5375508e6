/* Fake: a source with values set by a test, which can be made to hang */
#ifndef SOTTO_TESTS_SENSOR_FAKE_H
#define SOTTO_TESTS_SENSOR_FAKE_H

#include "sensor/finder.h"
#include <pthread.h>

struct fake {
    struct source source;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    struct reading says;
    uint32_t n_reads; /* started */
    bool is_early;    /* its reading has no interval yet */
    bool is_shut;     /* a reader waits until it is opened */
    struct source_client clients[2];
    uint32_t n_clients;
};

void fake_init(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank);

/* Like fake_init(), with clients told apart. */
void fake_init_clients(struct fake *fake, enum reading_quantity quantity, const char *name, uint32_t rank);
void fake_finish(struct fake *fake);

void fake_says(struct fake *fake, enum reading_state state, int64_t value);
/* Makes its first reading one without an interval. */
void fake_early(struct fake *fake);
void fake_shut(struct fake *fake, bool shut);
uint32_t fake_n_reads(struct fake *fake);

#endif
