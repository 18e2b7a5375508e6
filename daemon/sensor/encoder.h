/*
 * Paper: what is told to sottod, as messages
 *
 * The messages point into the gauges and live until the next one is written. One thread.
 */
#ifndef SOTTO_SENSOR_ENCODER_H
#define SOTTO_SENSOR_ENCODER_H

#include "base/buf.h"
#include "sensor/sampler.h"
#include <sotto/sense.pb-c.h>

struct encoder {
    Sotto__Sense__Source sources[FINDER_SOURCES_MAX];
    Sotto__Sense__Source *source_list[FINDER_SOURCES_MAX];
    Sotto__Sense__Device devices[FINDER_DEVICES_MAX];
    Sotto__Sense__Device *device_list[FINDER_DEVICES_MAX];
    Sotto__Sense__Reading readings[FINDER_SOURCES_MAX];
    Sotto__Sense__Reading *reading_list[FINDER_SOURCES_MAX];
    Sotto__Sense__Client clients[SOURCE_CLIENTS_MAX];
    Sotto__Sense__Client *client_list[SOURCE_CLIENTS_MAX];
};

void encoder_init(struct encoder *encoder);

/* Appends the inventory, framed, to @out. @is_limited: processes of others can't be looked at. BUF_FULL or -ENOMEM. */
int encoder_inventory(struct encoder *encoder, const struct sampler *sampler, bool is_limited, struct buf *out);

enum encoder_scope {
    ENCODER_NEW,     /* what is not told yet */
    ENCODER_ALL,     /* everything that was read once: for one who has just come */
    ENCODER_NOTHING, /* "I am here" */
};

/* Appends a sample. Marks nothing as told. The same. */
int encoder_sample(struct encoder *encoder, const struct sampler *sampler, enum encoder_scope scope, bool is_event,
                   uint64_t now_us, uint32_t took_us, struct buf *out);

#endif
