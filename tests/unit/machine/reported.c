#include "base/clean.h"
#include "told.h"
#include <string.h>

void told_init(struct told *told)
{
    memset(told, 0, sizeof(*told));
    machine_state_init(&told->book);
    told->now_us = 1000000000;
}

static char *text(const char *from)
{
    char *same;

    memcpy(&same, &from, sizeof(same));
    return same;
}

int told_inventory(struct told *told, const struct told_source *sources, size_t n, uint32_t minor)
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
        list[i].name = text(sources[i].name ? sources[i].name : "");
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
    inventory.build = text(TOLD_BUILD);
    inventory.n_sources = n;
    inventory.sources = links;
    inventory.n_devices = minor ? 1 : 0;
    inventory.devices = devices;
    diag_clear(&told->diag);
    return machine_state_inventory(&told->book, &inventory, TOLD_BUILD, &told->diag);
}

static int tell(struct told *told, uint32_t id, int state, int64_t value, bool is_early)
{
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    Sotto__Sense__Reading reading = SOTTO__SENSE__READING__INIT;
    Sotto__Sense__Reading *readings[] = { &reading };

    told->now_us += 1000;
    reading.source = id;
    reading.state = (Sotto__Sense__State)state;
    reading.value = value;
    reading.at_us = is_early ? 0 : told->now_us;
    sample.at_us = told->now_us;
    sample.n_readings = 1;
    sample.readings = readings;
    diag_clear(&told->diag);
    return machine_state_sample(&told->book, &sample, told->now_us, &told->diag);
}

int told_state(struct told *told, uint32_t id, int state, int64_t value)
{
    return tell(told, id, state, value, false);
}

int told_reading(struct told *told, uint32_t id, int64_t value)
{
    return told_state(told, id, SOTTO__SENSE__STATE__STATE_OK, value);
}

int told_early(struct told *told, uint32_t id)
{
    return tell(told, id, SOTTO__SENSE__STATE__STATE_STALE, 0, true);
}

int told_clients(struct told *told, const struct told_client *clients, size_t n)
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
    told->now_us += 1000;
    sample.at_us = told->now_us;
    sample.n_clients = n;
    sample.clients = links;
    sample.has_clients = true;
    diag_clear(&told->diag);
    return machine_state_sample(&told->book, &sample, told->now_us, &told->diag);
}

struct machine_view told_view(const struct told *told)
{
    return (struct machine_view){
        .now_us = told->now_us,
        .since_us = 1,
        .period_us = 50000,
        .is_wanted = true,
        .is_alive = true,
    };
}

const struct machine_source *told_find(const struct told *told, const char *name)
{
    for (uint32_t i = 0; i < told->book.n_sources; i++) {
        if (strcmp(told->book.sources[i].name, name) == 0) {
            return &told->book.sources[i];
        }
    }
    return NULL;
}
