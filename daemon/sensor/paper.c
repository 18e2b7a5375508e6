#include "sensor/paper.h"
#include "base/clean.h"
#include "base/err.h"
#include "proto/wire.h"
#include <string.h>

/* The numbers of the schema are those of the readings. */
_Static_assert((int)READING_THROTTLE == (int)SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE, "quantities");
_Static_assert((int)READING_TEMPERATURE == (int)SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE, "quantities");
_Static_assert((int)READING_CLOCK == (int)SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK, "quantities");
_Static_assert((int)READING_QUANTITY_COUNT == SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE + 1, "quantities");
_Static_assert((int)READING_IMPLAUSIBLE == (int)SOTTO__SENSE__STATE__STATE_IMPLAUSIBLE, "states");
_Static_assert((int)READING_ABSENT == (int)SOTTO__SENSE__STATE__STATE_ABSENT, "states");
_Static_assert((int)READING_STATE_COUNT == SOTTO__SENSE__STATE__STATE_FORBIDDEN + 1, "states");

void paper_init(struct paper *paper)
{
    for (size_t i = 0; i < FINDER_SOURCES_MAX; i++) {
        paper->source_list[i] = &paper->sources[i];
        paper->reading_list[i] = &paper->readings[i];
    }
    for (size_t i = 0; i < FINDER_DEVICES_MAX; i++) {
        paper->device_list[i] = &paper->devices[i];
    }
    for (size_t i = 0; i < SOURCE_CLIENTS_MAX; i++) {
        paper->client_list[i] = &paper->clients[i];
    }
}

/* protobuf-c's strings are not const; packing leaves them alone. */
static char *packed(const char *text)
{
    char *same;

    memcpy(&same, &text, sizeof(same));
    return same;
}

static void write_source(const struct gauge *gauge, Sotto__Sense__Source *source)
{
    const struct found *found = &gauge->found;

    *source = (Sotto__Sense__Source)SOTTO__SENSE__SOURCE__INIT;
    source->id = gauge->id;
    source->quantity = (Sotto__Sense__Quantity)found->quantity;
    source->name = packed(found->name);
    source->path = packed(found->path);
    source->unit = packed(reading_unit_name(found->quantity));
    source->in_use = gauge->in_use;
    source->why = packed(found->why);
    source->tells_clients = found->tells_clients;
    source->most = found->most;
    source->is_mixed = found->is_mixed;
    source->is_bound = found->is_bound;
    if (found->passive_mc != INT32_MAX) {
        source->opt_passive_case = SOTTO__SENSE__SOURCE__OPT_PASSIVE_PASSIVE_MC;
        source->passive_mc = found->passive_mc;
    }
    if (found->critical_mc != INT32_MAX) {
        source->opt_critical_case = SOTTO__SENSE__SOURCE__OPT_CRITICAL_CRITICAL_MC;
        source->critical_mc = found->critical_mc;
    }
}

static int append(const Sotto__Sense__FromSense *message, struct buf *out)
{
    int r = wire_pack(&message->base, out);

    return r < 0 ? err_up(r) : r;
}

int paper_inventory(struct paper *paper, const struct sampler *sampler, bool is_limited, struct buf *out)
{
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Inventory inventory = SOTTO__SENSE__INVENTORY__INIT;
    struct list *link;

    inventory.build = packed(SOTTO_VERSION);
    inventory.is_limited = is_limited;
    inventory.sources = paper->source_list;
    list_for_each (link, &sampler->gauges) {
        const struct gauge *gauge = container_of(link, struct gauge, link);

        if (gauge->is_named && inventory.n_sources < FINDER_SOURCES_MAX) {
            write_source(gauge, &paper->sources[inventory.n_sources++]);
        }
    }
    inventory.devices = paper->device_list;
    inventory.n_devices = sampler->n_devices;
    for (uint32_t i = 0; i < sampler->n_devices; i++) {
        paper->devices[i] = (Sotto__Sense__Device)SOTTO__SENSE__DEVICE__INIT;
        paper->devices[i].minor = sampler->devices[i].minor;
        paper->devices[i].driver = packed(sampler->devices[i].driver);
        paper->devices[i].has_display = sampler->devices[i].has_display;
        paper->devices[i].is_ours = sampler->devices[i].is_ours;
    }
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY;
    message.inventory = &inventory;
    return append(&message, out);
}

/* A load is a share: what rounds or races above the whole is the whole. */
static int64_t value_of(const struct gauge *gauge)
{
    bool is_load = gauge->found.quantity == READING_GRAPHICS_LOAD || gauge->found.quantity == READING_COMPUTE_LOAD;

    return is_load && gauge->now.value > 1000 ? 1000 : gauge->now.value;
}

static uint32_t share(uint32_t permille)
{
    return permille < 1000 ? permille : 1000;
}

static void write_reading(const struct gauge *gauge, uint64_t now_us, Sotto__Sense__Reading *reading)
{
    *reading = (Sotto__Sense__Reading)SOTTO__SENSE__READING__INIT;
    reading->source = gauge->id;
    reading->state = (Sotto__Sense__State)gauge->now.state;
    reading->value = value_of(gauge);
    reading->at_us = gauge->now.at_us < now_us ? gauge->now.at_us : now_us;
    reading->blind_permille = share(gauge->now.blind_permille);
    reading->why = packed(gauge->now.why);
}

static void write_clients(struct paper *paper, const struct gauge *gauge, Sotto__Sense__Sample *sample)
{
    sample->has_clients = true;
    sample->clients = paper->client_list;
    sample->n_clients = gauge->n_clients;
    for (uint32_t i = 0; i < gauge->n_clients; i++) {
        const struct source_client *from = &gauge->clients[i];

        paper->clients[i] = (Sotto__Sense__Client)SOTTO__SENSE__CLIENT__INIT;
        paper->clients[i].minor = from->minor;
        paper->clients[i].id = from->id;
        paper->clients[i].pid = from->pid;
        paper->clients[i].graphics_permille = share(from->graphics_permille);
        paper->clients[i].compute_permille = share(from->compute_permille);
        paper->clients[i].memory_kb = from->memory_kb;
        paper->clients[i].name = packed(from->name);
    }
}

int paper_sample(struct paper *paper, const struct sampler *sampler, enum paper_scope scope, bool is_event,
                 uint64_t now_us, uint32_t took_us, struct buf *out)
{
    Sotto__Sense__FromSense message = SOTTO__SENSE__FROM_SENSE__INIT;
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    struct list *link;

    sample.at_us = now_us;
    sample.took_us = took_us;
    sample.event = is_event;
    sample.readings = paper->reading_list;
    list_for_each (link, &sampler->gauges) {
        const struct gauge *gauge = container_of(link, struct gauge, link);
        bool is_told = scope == PAPER_ALL ? gauge->was_read : scope == PAPER_NEW && gauge->is_new;

        if (!is_told || !gauge->is_named || sample.n_readings == FINDER_SOURCES_MAX) {
            continue;
        }
        write_reading(gauge, now_us, &paper->readings[sample.n_readings++]);
        if (gauge->in_use && gauge->found.quantity == READING_GRAPHICS_LOAD && gauge->found.tells_clients) {
            write_clients(paper, gauge, &sample);
        }
    }
    message.body_case = SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE;
    message.sample = &sample;
    return append(&message, out);
}
