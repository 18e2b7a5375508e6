#include "sensor/encoder.h"
#include "base/clean.h"
#include "base/err.h"
#include "proto/wire.h"
#include <string.h>

/* The schema and struct reading use the same numbers. */
_Static_assert((int)READING_THROTTLE == (int)SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE, "quantities");
_Static_assert((int)READING_TEMPERATURE == (int)SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE, "quantities");
_Static_assert((int)READING_CLOCK == (int)SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK, "quantities");
_Static_assert((int)READING_QUANTITY_COUNT == SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE + 1, "quantities");
_Static_assert((int)READING_IMPLAUSIBLE == (int)SOTTO__SENSE__STATE__STATE_IMPLAUSIBLE, "states");
_Static_assert((int)READING_ABSENT == (int)SOTTO__SENSE__STATE__STATE_ABSENT, "states");
_Static_assert((int)READING_STATE_COUNT == SOTTO__SENSE__STATE__STATE_FORBIDDEN + 1, "states");

void encoder_init(struct encoder *encoder)
{
    for (size_t i = 0; i < FINDER_SOURCES_MAX; i++) {
        encoder->source_list[i] = &encoder->sources[i];
        encoder->reading_list[i] = &encoder->readings[i];
    }
    for (size_t i = 0; i < FINDER_DEVICES_MAX; i++) {
        encoder->device_list[i] = &encoder->devices[i];
    }
    for (size_t i = 0; i < SOURCE_CLIENTS_MAX; i++) {
        encoder->client_list[i] = &encoder->clients[i];
    }
}

static void write_source(const struct channel *channel, Sotto__Sense__Source *source)
{
    const struct source_facts *facts = &channel->facts;

    *source = (Sotto__Sense__Source)SOTTO__SENSE__SOURCE__INIT;
    source->id = channel->id;
    source->quantity = (Sotto__Sense__Quantity)facts->quantity;
    source->name = wire_str(facts->name);
    source->path = wire_str(facts->path);
    source->unit = wire_str(reading_unit_name(facts->quantity));
    source->in_use = channel->in_use;
    source->why = wire_str(facts->why);
    source->tells_clients = facts->tells_clients;
    source->most = facts->most;
    source->is_mixed = facts->is_mixed;
    source->is_bound = facts->is_bound;
    if (facts->passive_mc != INT32_MAX) {
        source->opt_passive_case = SOTTO__SENSE__SOURCE__OPT_PASSIVE_PASSIVE_MC;
        source->passive_mc = facts->passive_mc;
    }
    if (facts->critical_mc != INT32_MAX) {
        source->opt_critical_case = SOTTO__SENSE__SOURCE__OPT_CRITICAL_CRITICAL_MC;
        source->critical_mc = facts->critical_mc;
    }
}

static int append(const Sotto__Sense__FromSense *message, struct buf *out)
{
    int r = wire_pack(&message->base, out);

    return err_pass(r);
}

int encoder_inventory(struct encoder *encoder, const struct sampler *sampler, bool is_limited, struct buf *out)
{
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Inventory inventory = SOTTO__SENSE__INVENTORY__INIT;
    struct list *link;

    inventory.build = wire_str(SOTTO_VERSION);
    inventory.is_limited = is_limited;
    inventory.sources = encoder->source_list;
    list_for_each (link, &sampler->channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->is_named && inventory.n_sources < FINDER_SOURCES_MAX) {
            write_source(channel, &encoder->sources[inventory.n_sources++]);
        }
    }
    inventory.devices = encoder->device_list;
    inventory.n_devices = sampler->n_devices;
    for (uint32_t i = 0; i < sampler->n_devices; i++) {
        encoder->devices[i] = (Sotto__Sense__Device)SOTTO__SENSE__DEVICE__INIT;
        encoder->devices[i].minor = sampler->devices[i].minor;
        encoder->devices[i].driver = wire_str(sampler->devices[i].driver);
        encoder->devices[i].has_display = sampler->devices[i].has_display;
        encoder->devices[i].is_ours = sampler->devices[i].is_ours;
    }
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY;
    message.inventory = &inventory;
    return append(&message, out);
}

/* Limits a load, which rounding or races may lift above the whole. */
static int64_t value_of(const struct channel *channel)
{
    bool is_load = channel->facts.quantity == READING_GRAPHICS_LOAD || channel->facts.quantity == READING_COMPUTE_LOAD;

    return is_load && channel->now.value > 1000 ? 1000 : channel->now.value;
}

static uint32_t share(uint32_t permille)
{
    return permille < 1000 ? permille : 1000;
}

static void write_reading(const struct channel *channel, uint64_t now_us, Sotto__Sense__Reading *reading)
{
    *reading = (Sotto__Sense__Reading)SOTTO__SENSE__READING__INIT;
    reading->source = channel->id;
    reading->state = (Sotto__Sense__State)channel->now.state;
    reading->value = value_of(channel);
    reading->at_us = channel->now.at_us < now_us ? channel->now.at_us : now_us;
    reading->blind_permille = share(channel->now.blind_permille);
    reading->why = wire_str(channel->now.why);
}

static void write_clients(struct encoder *encoder, const struct channel *channel, Sotto__Sense__Sample *sample)
{
    sample->has_clients = true;
    sample->clients = encoder->client_list;
    sample->n_clients = channel->n_clients;
    for (uint32_t i = 0; i < channel->n_clients; i++) {
        const struct source_client *from = &channel->clients[i];

        encoder->clients[i] = (Sotto__Sense__Client)SOTTO__SENSE__CLIENT__INIT;
        encoder->clients[i].minor = from->minor;
        encoder->clients[i].id = from->id;
        encoder->clients[i].pid = from->pid;
        encoder->clients[i].graphics_permille = share(from->graphics_permille);
        encoder->clients[i].compute_permille = share(from->compute_permille);
        encoder->clients[i].memory_kb = from->memory_kb;
        encoder->clients[i].name = wire_str(from->name);
    }
}

int encoder_sample(struct encoder *encoder, const struct sampler *sampler, enum encoder_scope scope, bool is_event,
                   uint64_t now_us, uint32_t took_us, struct buf *out)
{
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    struct list *link;

    sample.at_us = now_us;
    sample.took_us = took_us;
    sample.event = is_event;
    sample.readings = encoder->reading_list;
    list_for_each (link, &sampler->channels) {
        const struct channel *channel = container_of(link, struct channel, link);
        bool is_included = scope == ENCODER_ALL ? channel->was_read : scope == ENCODER_NEW && channel->is_new;

        if (!is_included || !channel->is_named || sample.n_readings == FINDER_SOURCES_MAX) {
            continue;
        }
        write_reading(channel, now_us, &encoder->readings[sample.n_readings++]);
        if (channel->in_use && channel->facts.quantity == READING_GRAPHICS_LOAD && channel->facts.tells_clients) {
            write_clients(encoder, channel, &sample);
        }
    }
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE;
    message.sample = &sample;
    return append(&message, out);
}
