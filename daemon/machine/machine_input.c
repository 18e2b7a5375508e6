#include "machine/machine_input.h"
#include <fnmatch.h>
#include <string.h>

/* A load that is so many periods old has stopped; the age is never less than the longest hiccup of a busy machine. */
#define OLD_PERIODS  5u
#define OLD_LEAST_US 500000u

/* The kernel numbers render nodes from here on. */
#define RENDER_FIRST 128u

static uint64_t seen_us(const struct machine_source *source, const struct machine_view *view)
{
    return source->now.at_us ? source->now.at_us : view->since_us;
}

static Sotto__Sense__State state_of(const struct machine_source *source, const struct machine_view *view,
                                    uint64_t most_us)
{
    return machine_state_state(source, view->now_us, most_us, view->is_alive);
}

static bool is_ok(const struct machine_source *source, const struct machine_view *view, uint64_t most_us)
{
    return state_of(source, view, most_us) == SOTTO__SENSE__STATE__STATE_OK;
}

/* ---- graphics */

uint32_t machine_input_minor(const struct machine_state *machine)
{
    for (uint32_t i = 0; i < machine->n_devices; i++) {
        if (machine->devices[i].is_ours) {
            return machine->devices[i].minor;
        }
    }
    return UINT32_MAX;
}

/* Returns whether the device computes. A device that only shows what the CPU has drawn delays no work of others. */
static bool has_gpu(const struct machine_state *machine)
{
    for (uint32_t i = 0; i < machine->n_devices; i++) {
        if (machine->devices[i].minor >= RENDER_FIRST || machine->devices[i].is_ours) {
            return true;
        }
    }
    return false;
}

/* Sums the load of all clients but ours, in permille; several engines of the device may be busy at once. */
static uint32_t sum_of_others(const struct machine_state *machine, const struct machine_view *view)
{
    uint32_t minor = machine_input_minor(machine);
    uint32_t sum = 0;

    for (uint32_t i = 0; i < machine->n_clients; i++) {
        const struct machine_client *client = &machine->clients[i];

        if (minor != UINT32_MAX && client->minor != minor) {
            continue;
        }
        if (view->is_ours && view->is_ours(view->owner, client->minor, client->id, client->pid)) {
            continue;
        }
        sum += client->graphics_permille + client->compute_permille;
    }
    return sum < 1000 ? sum : 1000;
}

static void fill_clock(const struct machine_state *machine, const struct machine_view *view,
                       struct governor_input *input)
{
    const struct machine_source *clock = machine_state_find(machine, SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK);

    input->graphics.cur_hz = 0;
    input->graphics.max_hz = 0;
    if (clock && is_ok(clock, view, MACHINE_OLD_US) && clock->now.value > 0) {
        input->graphics.cur_hz = (uint64_t)clock->now.value * 1000;
        input->graphics.max_hz = (uint64_t)clock->most * 1000;
    }
}

/* Returns whether a load that was never read may come soon: sotto-sense starts, or has taken its first look. After the
 * time in which everything is read again it does not come. */
static bool is_early(const struct machine_state *machine, const struct machine_source *load,
                     const struct machine_view *view)
{
    if (view->now_us - view->since_us >= MACHINE_OLD_US) {
        return false;
    }
    if (!load) {
        return !machine->had_inventory;
    }
    return load->id != 0 && !load->was_ok &&
           (!load->was_read || (load->now.state == SOTTO__SENSE__STATE__STATE_STALE && load->now.at_us == 0));
}

static void fill_graphics(const struct machine_state *machine, const struct machine_view *view,
                          struct governor_input *input)
{
    const struct machine_source *load = machine_state_find(machine, SOTTO__SENSE__QUANTITY__QUANTITY_GRAPHICS_LOAD);
    uint64_t old_us = OLD_PERIODS * view->period_us;
    bool counts_clients;

    old_us = old_us > OLD_LEAST_US ? old_us : OLD_LEAST_US;
    input->graphics.busy_permille = 0;
    input->graphics.blind_permille = 0;
    fill_clock(machine, view, input);
    if (is_early(machine, load, view)) {
        input->graphics.sight = GOVERNOR_EARLY;
        input->graphics.at_us = view->since_us;
        return;
    }
    if (!load) {
        /* A GPU without a source of load is not idle. */
        input->graphics.sight = !view->is_alive ? GOVERNOR_BLIND : has_gpu(machine) ? GOVERNOR_UNTOLD : GOVERNOR_NONE;
        input->graphics.at_us = view->since_us;
        return;
    }
    input->graphics.at_us = seen_us(load, view);
    if (load->id == 0 || !is_ok(load, view, old_us)) {
        input->graphics.sight = GOVERNOR_BLIND;
        return;
    }
    counts_clients = load->tells_clients && machine->clients_us > 0;
    input->graphics.sight = GOVERNOR_SEEN;
    input->graphics.busy_permille = counts_clients ? sum_of_others(machine, view) : (uint32_t)load->now.value;
    input->graphics.blind_permille = load->now.blind_permille;
}

/* ---- heat */

static bool matches(const char *pattern, const char *name)
{
    const char *second = strchr(name, ' '); /* "zone gpu-thermal": people know it as "gpu-thermal" */

    return fnmatch(pattern, name, FNM_CASEFOLD) == 0 || (second && fnmatch(pattern, second + 1, FNM_CASEFOLD) == 0);
}

/* Returns whether the zone counts. */
static bool is_zone(const struct machine_source *source, const struct machine_view *view)
{
    if (source->quantity != SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE) {
        return false;
    }
    for (size_t i = 0; i < view->n_zones; i++) {
        if (matches(view->zones[i], source->name)) {
            return true;
        }
    }
    return view->n_zones == 0 && source->in_use;
}

static void add_zone(const struct machine_source *source, const struct machine_view *view, struct governor_input *input)
{
    bool is_seen = source->id != 0 && is_ok(source, view, MACHINE_OLD_US);

    if (input->n_zones == GOVERNOR_ZONES_MAX) {
        return;
    }
    input->zones[input->n_zones++] = (struct governor_zone){
        .sight = is_seen ? GOVERNOR_SEEN : GOVERNOR_BLIND,
        .at_us = seen_us(source, view),
        .temp_mc = (int32_t)source->now.value,
        .passive_mc = source->passive_mc,
        .critical_mc = source->critical_mc,
    };
}

/* Returns the temperature where the kernel begins to act. It is the zone's own and does not move, so neither does the
 * choice. */
static int32_t limit_of(const struct machine_source *source)
{
    return source->passive_mc < source->critical_mc ? source->passive_mc : source->critical_mc;
}

/* Chooses the zones with the lowest limits if there are more than the governor looks at; of equals the first. */
static bool is_beyond(const struct machine_state *machine, const struct machine_view *view, uint32_t at)
{
    const struct machine_source *source = &machine->sources[at];
    uint32_t n_before = 0;

    for (uint32_t i = 0; i < machine->n_sources && n_before < GOVERNOR_ZONES_MAX; i++) {
        const struct machine_source *other = &machine->sources[i];
        bool is_before = limit_of(other) < limit_of(source) || (limit_of(other) == limit_of(source) && i < at);

        n_before += is_before && other->was_ok == source->was_ok && is_zone(other, view);
    }
    return n_before == GOVERNOR_ZONES_MAX;
}

static void add_zones(const struct machine_state *machine, const struct machine_view *view, bool ever_ok,
                      struct governor_input *input)
{
    bool is_crowded = machine->n_sources > GOVERNOR_ZONES_MAX;

    for (uint32_t i = 0; i < machine->n_sources; i++) {
        if (machine->sources[i].was_ok == ever_ok && is_zone(&machine->sources[i], view) &&
            !(is_crowded && is_beyond(machine, view, i))) {
            add_zone(&machine->sources[i], view, input);
        }
    }
}

static void fill_zones(const struct machine_state *machine, const struct machine_view *view,
                       struct governor_input *input)
{
    input->n_zones = 0;
    add_zones(machine, view, true, input);
    if (input->n_zones == 0) {
        add_zones(machine, view, false, input);
    }
    if (input->n_zones == 0 && (view->n_zones > 0 || !view->is_alive)) {
        input->zones[input->n_zones++] = (struct governor_zone){
            .sight = GOVERNOR_BLIND,
            .at_us = view->since_us,
            .passive_mc = GOVERNOR_NO_TRIP,
            .critical_mc = GOVERNOR_NO_TRIP,
        };
    }
}

/* ---- the rest */

static void fill_power(const struct machine_state *machine, const struct machine_view *view,
                       struct governor_input *input)
{
    const struct machine_source *power = machine_state_find(machine, SOTTO__SENSE__QUANTITY__QUANTITY_POWER);

    input->power.mw = 0;
    input->power.at_us = view->since_us;
    if (!power) {
        input->power.sight = view->is_alive ? GOVERNOR_NONE : GOVERNOR_BLIND;
        return;
    }
    input->power.at_us = seen_us(power, view);
    input->power.sight = GOVERNOR_BLIND;
    if (power->id != 0 && is_ok(power, view, MACHINE_OLD_US)) {
        input->power.sight = GOVERNOR_SEEN;
        input->power.mw = (uint32_t)power->now.value;
    }
}

/* Returns how deep in its states the cooling device is, in permille; the middle if their number is not known. */
static uint64_t depth_of(const struct machine_source *source)
{
    uint64_t state = (uint64_t)source->now.value;
    uint64_t most = source->most > 0 ? (uint64_t)source->most : 2 * state;

    return most > 0 ? 1000 * state / most : 0;
}

/* Takes the cooling device that is in deepest. A device that never gave a state does not count. */
static void fill_throttle(const struct machine_state *machine, const struct machine_view *view,
                          struct governor_input *input)
{
    const struct machine_source *deepest = NULL;

    for (uint32_t i = 0; i < machine->n_sources; i++) {
        const struct machine_source *source = &machine->sources[i];

        if (source->quantity == SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE && source->in_use && source->was_ok &&
            (!deepest || depth_of(source) > depth_of(deepest))) {
            deepest = source;
        }
    }
    memset(&input->throttle, 0, sizeof(input->throttle));
    if (!deepest) {
        return;
    }
    input->throttle.sight = deepest->id != 0 && is_ok(deepest, view, MACHINE_OLD_US) ? GOVERNOR_SEEN : GOVERNOR_BLIND;
    input->throttle.state = (uint32_t)deepest->now.value;
    input->throttle.most = (uint32_t)deepest->most;
}

static void fill_pressure(const struct machine_state *machine, const struct machine_view *view,
                          struct governor_input *input)
{
    const struct machine_source *pressure =
        machine_state_find(machine, SOTTO__SENSE__QUANTITY__QUANTITY_MEMORY_PRESSURE);
    bool is_seen = pressure && is_ok(pressure, view, MACHINE_OLD_US);

    input->pressure_permille = is_seen ? (uint32_t)pressure->now.value : 0;
}

static void fill_nothing(struct governor_input *input)
{
    memset(&input->graphics, 0, sizeof(input->graphics));
    memset(&input->power, 0, sizeof(input->power));
    memset(&input->throttle, 0, sizeof(input->throttle));
    input->graphics.sight = GOVERNOR_NONE;
    input->power.sight = GOVERNOR_NONE;
    input->n_zones = 0;
    input->pressure_permille = 0;
}

void machine_input_fill(const struct machine_state *machine, const struct machine_view *view,
                        struct governor_input *input)
{
    if (!view->is_wanted) {
        fill_nothing(input);
        return;
    }
    fill_graphics(machine, view, input);
    fill_zones(machine, view, input);
    fill_power(machine, view, input);
    fill_throttle(machine, view, input);
    fill_pressure(machine, view, input);
}
