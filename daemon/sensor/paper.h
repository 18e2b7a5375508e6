/*
 * Paper: what is told to sottod, as messages
 *
 * The messages point into the gauges and live until the next one is written. One thread.
 */
#ifndef SOTTO_SENSOR_PAPER_H
#define SOTTO_SENSOR_PAPER_H

#include "base/buf.h"
#include "sensor/sampler.h"
#include <sotto/sense.pb-c.h>

struct paper {
    Sotto__Sense__Source sources[FINDER_SOURCES_MAX];
    Sotto__Sense__Source *source_list[FINDER_SOURCES_MAX];
    Sotto__Sense__Device devices[FINDER_DEVICES_MAX];
    Sotto__Sense__Device *device_list[FINDER_DEVICES_MAX];
    Sotto__Sense__Reading readings[FINDER_SOURCES_MAX];
    Sotto__Sense__Reading *reading_list[FINDER_SOURCES_MAX];
    Sotto__Sense__Client clients[SOURCE_CLIENTS_MAX];
    Sotto__Sense__Client *client_list[SOURCE_CLIENTS_MAX];
};

void paper_init(struct paper *paper);

/* Appends the inventory, framed, to @out. @is_limited: processes of others can't be looked at. BUF_FULL or -ENOMEM. */
int paper_inventory(struct paper *paper, const struct sampler *sampler, bool is_limited, struct buf *out);

enum paper_scope {
    PAPER_NEW,     /* what is not told yet */
    PAPER_ALL,     /* everything that was read once: for one who has just come */
    PAPER_NOTHING, /* "I am here" */
};

/* Appends a sample. Marks nothing as told. The same. */
int paper_sample(struct paper *paper, const struct sampler *sampler, enum paper_scope scope, bool is_event,
                 uint64_t now_us, uint32_t took_us, struct buf *out);

#endif
