/*
 * Machine report: what Status shows of the machine
 */
#include "base/err.h"
#include "machine/machine_input.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *copy(struct arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *same = arena_alloc(arena, n);

    return same ? memcpy(same, text, n) : NULL;
}

static Sotto__V1__SensorState state_of(Sotto__Sense__State state)
{
    switch (state) {
    case SOTTO__SENSE__STATE__STATE_OK:
        return SOTTO__V1__SENSOR_STATE__SENSOR_OK;
    case SOTTO__SENSE__STATE__STATE_STALE:
        return SOTTO__V1__SENSOR_STATE__SENSOR_STALE;
    case SOTTO__SENSE__STATE__STATE_ABSENT:
        return SOTTO__V1__SENSOR_STATE__SENSOR_ABSENT;
    case SOTTO__SENSE__STATE__STATE_IMPLAUSIBLE:
        return SOTTO__V1__SENSOR_STATE__SENSOR_IMPLAUSIBLE;
    case SOTTO__SENSE__STATE__STATE_FORBIDDEN:
        return SOTTO__V1__SENSOR_STATE__SENSOR_FORBIDDEN;
    }
    return SOTTO__V1__SENSOR_STATE__SENSOR_UNSPECIFIED;
}

static int fill_history(const struct machine_source *source, struct arena *arena, Sotto__V1__SensorInfo *info)
{
    uint32_t first = (source->history_at + MACHINE_HISTORY - source->n_history) % MACHINE_HISTORY;

    info->n_history = source->n_history;
    info->history = arena_alloc(arena, source->n_history * sizeof(*info->history) + 1);
    if (!info->history) {
        return err_new(-ENOMEM);
    }
    for (uint32_t i = 0; i < source->n_history; i++) {
        info->history[i] = source->history[(first + i) % MACHINE_HISTORY];
    }
    return 0;
}

/* Returns the reason that is shown: what is wrong now, else why the source was chosen or passed over. */
static const char *why_of(const struct machine_source *source, Sotto__Sense__State state, bool alive)
{
    if (source->now.state == SOTTO__SENSE__STATE__STATE_OK && state == SOTTO__SENSE__STATE__STATE_STALE) {
        return alive ? "it is not read any more" : "sotto-sense is not there";
    }
    return source->now.why[0] ? source->now.why : source->why;
}

static int fill_sensor(const struct machine_source *source, uint64_t now_us, bool alive, struct arena *arena,
                       Sotto__V1__SensorInfo *info)
{
    Sotto__Sense__State state = machine_state_state(source, now_us, MACHINE_OLD_US, alive);
    uint64_t age_ms = now_us > source->now.at_us ? (now_us - source->now.at_us) / 1000 : 0;

    *info = (Sotto__V1__SensorInfo)SOTTO__V1__SENSOR_INFO__INIT;
    info->quantity = copy(arena, machine_quantity_name(source->quantity));
    info->name = copy(arena, source->name);
    info->unit = copy(arena, source->unit);
    info->why = copy(arena, why_of(source, state, alive));
    info->state = state_of(state);
    info->value = source->now.value;
    info->age_ms = source->now.at_us == 0 ? 0 : age_ms < UINT32_MAX ? (uint32_t)age_ms : UINT32_MAX;
    info->in_use = source->in_use && source->id != 0;
    info->blind_permille = source->now.blind_permille;
    if (!info->quantity || !info->name || !info->unit || !info->why) {
        return err_new(-ENOMEM);
    }
    return fill_history(source, arena, info);
}

static int fill_sensors(const struct machine_state *machine, uint64_t now_us, bool alive, struct arena *arena,
                        Sotto__V1__StatusReport *report)
{
    Sotto__V1__SensorInfo **list = arena_alloc(arena, machine->n_sources * sizeof(*list) + 1);

    if (!list) {
        return err_new(-ENOMEM);
    }
    report->sensors = list;
    for (uint32_t i = 0; i < machine->n_sources; i++) {
        int r;

        list[i] = arena_alloc(arena, sizeof(**list));
        r = list[i] ? fill_sensor(&machine->sources[i], now_us, alive, arena, list[i]) : -ENOMEM;
        if (r) {
            return err_new(-ENOMEM);
        }
        report->n_sensors++;
    }
    return 0;
}

static int fill_device(const struct machine_state *machine, const struct machine_device *device, struct arena *arena,
                       Sotto__V1__DeviceInfo *info)
{
    const struct machine_source *load = machine_state_find(machine, SOTTO__SENSE__QUANTITY__QUANTITY_GRAPHICS_LOAD);
    bool is_ours = device->minor == machine_input_minor(machine);
    bool is_seen = is_ours && load && load->id != 0;
    char node[32];

    /* The kernel numbers render nodes from 128 on. */
    snprintf(node, sizeof(node), device->minor >= 128 ? "/dev/dri/renderD%u" : "/dev/dri/card%u", device->minor);
    *info = (Sotto__V1__DeviceInfo)SOTTO__V1__DEVICE_INFO__INIT;
    info->node = copy(arena, node);
    info->driver = copy(arena, device->driver);
    info->load_source = copy(arena, is_seen ? load->name : "");
    info->why = copy(arena, !is_seen || !machine->is_limited || !load->tells_clients
                                ? (is_seen ? load->why : "")
                                : "programs of other users may not be looked at: their share is not seen");
    return info->node && info->driver && info->load_source && info->why ? 0 : err_new(-ENOMEM);
}

static int fill_devices(const struct machine_state *machine, struct arena *arena, Sotto__V1__StatusReport *report)
{
    Sotto__V1__DeviceInfo **list = arena_alloc(arena, machine->n_devices * sizeof(*list) + 1);

    if (!list) {
        return err_new(-ENOMEM);
    }
    report->devices = list;
    for (uint32_t i = 0; i < machine->n_devices; i++) {
        int r;

        list[i] = arena_alloc(arena, sizeof(**list));
        r = list[i] ? fill_device(machine, &machine->devices[i], arena, list[i]) : -ENOMEM;
        if (r) {
            return err_new(-ENOMEM);
        }
        report->n_devices++;
    }
    return 0;
}

int machine_report(const struct machine_state *machine, uint64_t now_us, bool alive, struct arena *arena,
                   Sotto__V1__StatusReport *report)
{
    int r = fill_sensors(machine, now_us, alive, arena, report);

    return r ? err_up(r) : fill_devices(machine, arena, report);
}
