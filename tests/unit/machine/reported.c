#include "reported.h"
#include "base/clean.h"
#include "proto/wire.h"
#include <string.h>

void reported_init(struct reported *reported)
{
    memset(reported, 0, sizeof(*reported));
    machine_state_init(&reported->machine);
    reported->now_us = 1000000000;
}

int reported_inventory(struct reported *reported, const struct reported_source *sources, size_t n, uint32_t minor)
{
    Sotto__Sense__Inventory inventory = SOTTO__SENSE__INVENTORY__INIT;
    Sotto__Sense__Device device = SOTTO__SENSE__DEVICE__INIT;
    Sotto__Sense__Device *devices[] = { &device };
    Sotto__Sense__Source list[200];
    Sotto__Sense__Source *links[200];

    for (size_t i = 0; i < n; i++) {
        list[i] = (Sotto__Sense__Source)SOTTO__SENSE__SOURCE__INIT;
        list[i].id = sources[i].id;
        list[i].quantity = (Sotto__Sense__Quantity)sources[i].quantity;
        list[i].name = wire_str(sources[i].name ? sources[i].name : "");
        list[i].in_use = !sources[i].is_spare;
        list[i].tells_clients = sources[i].tells_clients;
        list[i].most = sources[i].most;
        if (sources[i].passive_mc) {
            list[i].opt_passive_case = SOTTO__SENSE__SOURCE__OPT_PASSIVE_PASSIVE_MC;
            list[i].passive_mc = sources[i].passive_mc;
        }
        links[i] = &list[i];
    }
    device.minor = minor;
    device.is_ours = minor >= 128;
    inventory.build = wire_str(REPORTED_BUILD);
    inventory.n_sources = n;
    inventory.sources = links;
    inventory.n_devices = minor ? 1 : 0;
    inventory.devices = devices;
    diag_clear(&reported->diag);
    return machine_state_inventory(&reported->machine, &inventory, REPORTED_BUILD, &reported->diag);
}

static int tell(struct reported *reported, uint32_t id, int state, int64_t value, bool is_early)
{
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    Sotto__Sense__Reading reading = SOTTO__SENSE__READING__INIT;
    Sotto__Sense__Reading *readings[] = { &reading };

    reported->now_us += 1000;
    reading.source = id;
    reading.state = (Sotto__Sense__State)state;
    reading.value = value;
    reading.at_us = is_early ? 0 : reported->now_us;
    sample.at_us = reported->now_us;
    sample.n_readings = 1;
    sample.readings = readings;
    diag_clear(&reported->diag);
    return machine_state_sample(&reported->machine, &sample, reported->now_us, &reported->diag);
}

int reported_state(struct reported *reported, uint32_t id, int state, int64_t value)
{
    return tell(reported, id, state, value, false);
}

int reported_reading(struct reported *reported, uint32_t id, int64_t value)
{
    return reported_state(reported, id, SOTTO__SENSE__STATE__STATE_OK, value);
}

int reported_early(struct reported *reported, uint32_t id)
{
    return tell(reported, id, SOTTO__SENSE__STATE__STATE_STALE, 0, true);
}

int reported_clients(struct reported *reported, const struct reported_client *clients, size_t n)
{
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    Sotto__Sense__Client list[80];
    Sotto__Sense__Client *links[80];

    for (size_t i = 0; i < n; i++) {
        list[i] = (Sotto__Sense__Client)SOTTO__SENSE__CLIENT__INIT;
        list[i].minor = clients[i].minor;
        list[i].id = clients[i].id;
        list[i].pid = clients[i].pid;
        list[i].graphics_permille = clients[i].graphics;
        list[i].compute_permille = clients[i].compute;
        links[i] = &list[i];
    }
    reported->now_us += 1000;
    sample.at_us = reported->now_us;
    sample.n_clients = n;
    sample.clients = links;
    sample.has_clients = true;
    diag_clear(&reported->diag);
    return machine_state_sample(&reported->machine, &sample, reported->now_us, &reported->diag);
}

struct machine_view reported_view(const struct reported *reported)
{
    return (struct machine_view){
        .now_us = reported->now_us,
        .since_us = 1,
        .period_us = 50000,
        .is_wanted = true,
        .is_alive = true,
    };
}

const struct machine_source *reported_find(const struct reported *reported, const char *name)
{
    for (uint32_t i = 0; i < reported->machine.n_sources; i++) {
        if (strcmp(reported->machine.sources[i].name, name) == 0) {
            return &reported->machine.sources[i];
        }
    }
    return NULL;
}
