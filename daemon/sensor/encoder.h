/*
 * Encoder: messages of sense.proto from readings
 *
 * Messages point into the channels and are valid until the next one is encoded. One thread.
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

/*
 * Appends the framed inventory to @out. @is_limited: other users' processes can't be inspected. 0, BUF_FULL or -ENOMEM.
 */
int encoder_inventory(struct encoder *encoder, const struct sampler *sampler, bool is_limited, struct buf *out);

enum encoder_scope {
    ENCODER_NEW,     /* readings that were not reported yet */
    ENCODER_ALL,     /* all readings: for a peer that has just connected */
    ENCODER_NOTHING, /* no readings: a sign of life */
};

/* Appends a framed sample; marks no reading as reported. 0, BUF_FULL or -ENOMEM. */
int encoder_sample(struct encoder *encoder, const struct sampler *sampler, enum encoder_scope scope, bool is_event,
                   uint64_t now_us, uint32_t took_us, struct buf *out);

#endif
