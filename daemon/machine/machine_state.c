/*
 * Every message is checked first and taken afterwards, so that one wrong field leaves everything as it was.
 */
#include "machine/machine_state.h"
#include "base/clean.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The values that are possible at all, on any machine: beyond them the message is a lie. Finer judgement is the
 * matter of sotto-sense. */
static const struct kind {
    const char *name;
    int64_t least;
    int64_t most;
} kinds[] = {
    [SOTTO__SENSE__QUANTITY__QUANTITY_GRAPHICS_LOAD] = { "graphics-load", 0, 1000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_COMPUTE_LOAD] = { "compute-load", 0, 1000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE] = { "temperature", -273150, 1000000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_POWER] = { "power", 0, 100000000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_ENERGY] = { "energy", 0, INT64_MAX },
    [SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK] = { "clock", 0, 100000000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_MEMORY_PRESSURE] = { "memory-pressure", 0, 1000 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_MEMORY_AVAILABLE] = { "memory-available", 0, INT64_C(1) << 50 },
    [SOTTO__SENSE__QUANTITY__QUANTITY_THROTTLE] = { "throttle", 0, 1000000 },
};

static const char *const state_names[MACHINE_STATES] = {
    [SOTTO__SENSE__STATE__STATE_OK] = "ok",
    [SOTTO__SENSE__STATE__STATE_STALE] = "stale",
    [SOTTO__SENSE__STATE__STATE_ABSENT] = "absent",
    [SOTTO__SENSE__STATE__STATE_IMPLAUSIBLE] = "implausible",
    [SOTTO__SENSE__STATE__STATE_FORBIDDEN] = "forbidden",
};

static bool is_quantity(Sotto__Sense__Quantity quantity)
{
    return (size_t)quantity < COUNTOF(kinds);
}

const char *machine_quantity_name(Sotto__Sense__Quantity quantity)
{
    return is_quantity(quantity) ? kinds[quantity].name : "unknown";
}

const char *machine_state_name(Sotto__Sense__State state)
{
    return (size_t)state < COUNTOF(state_names) ? state_names[state] : "unknown";
}

/* Copies untrusted text for a line: mended, and cut at a whole character. */
static void copy_line(char *to, size_t cap, const char *from)
{
    to[utf8_mend_line((const uint8_t *)from, strlen(from), (uint8_t *)to, cap - 1)] = '\0';
}

void machine_state_init(struct machine_state *machine)
{
    memset(machine, 0, sizeof(*machine));
}

void machine_state_restart(struct machine_state *machine)
{
    machine->id_most = 0;
    machine->sample_us = 0;
    machine->n_clients = 0;
    machine->clients_us = 0;
    machine->has_inventory = false;
}

/* ---- inventory */

static struct machine_source *find_id(struct machine_state *machine, uint32_t id)
{
    for (uint32_t i = 0; i < machine->n_sources; i++) {
        if (machine->sources[i].id == id) {
            return &machine->sources[i];
        }
    }
    return NULL;
}

static int lie(struct diag *diag, const char *what, uint64_t number)
{
    diag_set(diag, "%s (%" PRIu64 ")", what, number);
    return MACHINE_LIE;
}

static bool is_temperature(int32_t mc)
{
    const struct kind *kind = &kinds[SOTTO__SENSE__QUANTITY__QUANTITY_TEMPERATURE];

    return mc >= kind->least && mc <= kind->most;
}

/* Checks the id: one above all that were named is new; a lower one must be known, and be the same thing as before. */
static int check_source(struct machine_state *machine, const Sotto__Sense__Inventory *inventory, size_t at,
                        struct diag *diag)
{
    const Sotto__Sense__Source *source = inventory->sources[at];
    const struct machine_source *known = machine->has_inventory ? find_id(machine, source->id) : NULL;

    if (source->id == 0) {
        return lie(diag, "it names a source by no number", 0);
    }
    if (!is_quantity(source->quantity)) {
        return lie(diag, "it names a quantity that there is not", source->quantity);
    }
    if (known ? known->quantity != source->quantity : source->id <= machine->id_most) {
        return lie(diag, "it gives a source's number to another one", source->id);
    }
    if ((source->opt_passive_case && !is_temperature(source->passive_mc)) ||
        (source->opt_critical_case && !is_temperature(source->critical_mc))) {
        return lie(diag, "it tells a trip point that can't be", source->id);
    }
    for (size_t i = 0; i < at; i++) {
        if (inventory->sources[i]->id == source->id) {
            return lie(diag, "it names a source twice", source->id);
        }
    }
    return MACHINE_TAKEN;
}

static int check_inventory(struct machine_state *machine, const Sotto__Sense__Inventory *inventory, const char *build,
                           struct diag *diag)
{
    uint64_t n_ours = 0;

    if (strcmp(inventory->build, build) != 0) {
        diag_set(diag, "sotto-sense is of build \"%.64s\" and sottod of \"%s\": install both of one", inventory->build,
                 build);
        return MACHINE_LIE;
    }
    if (inventory->n_sources > MACHINE_SOURCES || inventory->n_devices > MACHINE_DEVICES) {
        return lie(diag, "it names more sources or devices than it may", inventory->n_sources + inventory->n_devices);
    }
    for (size_t i = 0; i < inventory->n_devices; i++) {
        n_ours += inventory->devices[i]->is_ours;
    }
    if (n_ours > 1) {
        return lie(diag, "it calls more than one device ours", n_ours);
    }
    for (size_t i = 0; i < inventory->n_sources; i++) {
        int r = check_source(machine, inventory, i, diag);

        if (r) {
            return r;
        }
    }
    return MACHINE_TAKEN;
}

/* Returns the record that @source goes on with: that of its number, else one of the same name that has none now. */
static struct machine_source *find_record(struct machine_state *machine, const Sotto__Sense__Source *source,
                                          const char *name, bool same_connection)
{
    struct machine_source *known = same_connection ? find_id(machine, source->id) : NULL;

    if (known) {
        return known;
    }
    for (uint32_t i = 0; i < machine->n_sources; i++) {
        known = &machine->sources[i];
        if (known->id == 0 && known->quantity == source->quantity && strcmp(known->name, name) == 0) {
            return known;
        }
    }
    return NULL;
}

/* Returns room for a new record: behind the others, or that of a source that is gone; there is one, since no more are
 * named than there is room for. */
static struct machine_source *new_record(struct machine_state *machine)
{
    struct machine_source *record =
        machine->n_sources < MACHINE_SOURCES ? &machine->sources[machine->n_sources++] : find_id(machine, 0);

    *record = (struct machine_source){ .passive_mc = GOVERNOR_NO_TRIP, .critical_mc = GOVERNOR_NO_TRIP };
    return record;
}

static void take_source(struct machine_state *machine, const Sotto__Sense__Source *source, bool same_connection)
{
    struct machine_source *record;
    char name[sizeof(record->name)];

    copy_line(name, sizeof(name), source->name);
    record = find_record(machine, source, name, same_connection);
    if (!record) {
        record = new_record(machine);
    }
    record->id = source->id;
    record->quantity = source->quantity;
    memcpy(record->name, name, sizeof(name));
    copy_line(record->unit, sizeof(record->unit), source->unit);
    copy_line(record->why, sizeof(record->why), source->why);
    record->in_use = source->in_use;
    record->tells_clients = source->tells_clients;
    record->most = source->most > 0 ? source->most : record->most;
    record->passive_mc = source->opt_passive_case ? source->passive_mc : GOVERNOR_NO_TRIP;
    record->critical_mc = source->opt_critical_case ? source->critical_mc : GOVERNOR_NO_TRIP;
    record->seen_in = machine->n_messages;
    machine->id_most = source->id > machine->id_most ? source->id : machine->id_most;
}

static bool is_named(const Sotto__Sense__Inventory *inventory, uint32_t id)
{
    for (size_t i = 0; i < inventory->n_sources; i++) {
        if (inventory->sources[i]->id == id) {
            return true;
        }
    }
    return false;
}

/* Takes the numbers from sources that are not named any more, so that others of the same name may go on with them. */
static void let_go(struct machine_state *machine, const Sotto__Sense__Inventory *inventory, bool same_connection)
{
    for (uint32_t i = 0; i < machine->n_sources; i++) {
        struct machine_source *source = &machine->sources[i];

        if (source->id != 0 && (!same_connection || !is_named(inventory, source->id))) {
            source->id = 0;
            source->now.state = SOTTO__SENSE__STATE__STATE_ABSENT;
            snprintf(source->now.why, sizeof(source->now.why), "it was there and is gone");
        }
    }
}

void machine_state_sweep(struct machine_state *machine, bool all)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < machine->n_sources; i++) {
        const struct machine_source *source = &machine->sources[i];

        if (source->id == 0 && (all || !source->in_use || !source->was_ok)) {
            continue;
        }
        if (n != i) {
            machine->sources[n] = *source;
        }
        n++;
    }
    machine->n_sources = n;
}

static bool has_other_devices(const struct machine_state *machine, const Sotto__Sense__Inventory *inventory)
{
    if (machine->n_devices != inventory->n_devices) {
        return true;
    }
    for (uint32_t i = 0; i < machine->n_devices; i++) {
        if (machine->devices[i].minor != inventory->devices[i]->minor ||
            machine->devices[i].has_display != inventory->devices[i]->has_display ||
            machine->devices[i].is_ours != inventory->devices[i]->is_ours ||
            strcmp(machine->devices[i].driver, inventory->devices[i]->driver) != 0) {
            return true;
        }
    }
    return false;
}

static void take_devices(struct machine_state *machine, const Sotto__Sense__Inventory *inventory)
{
    machine->n_device_changes += machine->had_inventory && has_other_devices(machine, inventory);
    machine->n_devices = (uint32_t)inventory->n_devices;
    for (uint32_t i = 0; i < machine->n_devices; i++) {
        machine->devices[i].minor = inventory->devices[i]->minor;
        machine->devices[i].has_display = inventory->devices[i]->has_display;
        machine->devices[i].is_ours = inventory->devices[i]->is_ours;
        copy_line(machine->devices[i].driver, sizeof(machine->devices[i].driver), inventory->devices[i]->driver);
    }
}

int machine_state_inventory(struct machine_state *machine, const Sotto__Sense__Inventory *inventory, const char *build,
                            struct diag *diag)
{
    bool same_connection = machine->has_inventory;
    int r = check_inventory(machine, inventory, build, diag);

    if (r) {
        return r;
    }
    machine->n_messages++;
    let_go(machine, inventory, same_connection);
    for (size_t i = 0; i < inventory->n_sources; i++) {
        take_source(machine, inventory->sources[i], same_connection);
    }
    take_devices(machine, inventory);
    machine->is_limited = inventory->is_limited;
    machine->has_inventory = true;
    machine->had_inventory = true;
    return MACHINE_TAKEN;
}

/* ---- samples */

static bool has_value(Sotto__Sense__State state)
{
    return state == SOTTO__SENSE__STATE__STATE_OK || state == SOTTO__SENSE__STATE__STATE_STALE ||
           state == SOTTO__SENSE__STATE__STATE_IMPLAUSIBLE;
}

static int check_reading(struct machine_state *machine, const Sotto__Sense__Reading *reading, uint64_t now_us,
                         struct diag *diag)
{
    struct machine_source *source = reading->source ? find_id(machine, reading->source) : NULL;
    const struct kind *kind;

    if (!source) {
        return lie(diag, "it reads a source that it has not named", reading->source);
    }
    if (source->seen_in == machine->n_messages) {
        return lie(diag, "it reads a source twice in one sample", reading->source);
    }
    if ((size_t)reading->state >= MACHINE_STATES) {
        return lie(diag, "it tells a state that there is not", reading->state);
    }
    kind = &kinds[source->quantity];
    if (has_value(reading->state) && (reading->value < kind->least || reading->value > kind->most)) {
        diag_set(diag, "a %s of %" PRId64 " can't be", kind->name, reading->value);
        return MACHINE_LIE;
    }
    if (reading->at_us > now_us || reading->blind_permille > 1000) {
        return lie(diag, "it has read in the future, or is blind for more than all", reading->source);
    }
    if (reading->state == SOTTO__SENSE__STATE__STATE_OK &&
        (reading->at_us == 0 || (source->was_read && reading->at_us < source->now.at_us))) {
        return lie(diag, "its time runs backward", reading->source);
    }
    source->seen_in = machine->n_messages;
    return MACHINE_TAKEN;
}

static int check_sample(struct machine_state *machine, const Sotto__Sense__Sample *sample, uint64_t now_us,
                        struct diag *diag)
{
    if (!machine->has_inventory) {
        return lie(diag, "it reads before it has named anything", 0);
    }
    if (sample->at_us > now_us || sample->at_us < machine->sample_us) {
        return lie(diag, "its time is not ours", sample->at_us);
    }
    if (sample->n_clients > MACHINE_CLIENTS) {
        return lie(diag, "it tells of more clients than it may", sample->n_clients);
    }
    machine->n_messages++;
    for (size_t i = 0; i < sample->n_readings; i++) {
        int r = check_reading(machine, sample->readings[i], now_us, diag);

        if (r) {
            return r;
        }
    }
    for (size_t i = 0; i < sample->n_clients; i++) {
        const Sotto__Sense__Client *client = sample->clients[i];

        if (client->graphics_permille > 1000 || client->compute_permille > 1000) {
            return lie(diag, "a client uses more than all of the device", client->id);
        }
    }
    return MACHINE_TAKEN;
}

static void take_reading(struct machine_state *machine, const Sotto__Sense__Reading *reading)
{
    struct machine_source *source = find_id(machine, reading->source);

    source->now.state = reading->state;
    source->now.blind_permille = reading->blind_permille;
    copy_line(source->now.why, sizeof(source->now.why), reading->why);
    if (has_value(reading->state) && reading->at_us > 0) { /* else there is none yet: the last one stays */
        source->now.value = reading->value;
        source->now.at_us = reading->at_us;
    }
    source->was_read = true;
    source->was_ok = source->was_ok || reading->state == SOTTO__SENSE__STATE__STATE_OK;
    if (source->quantity == SOTTO__SENSE__QUANTITY__QUANTITY_CLOCK && reading->state == SOTTO__SENSE__STATE__STATE_OK &&
        reading->value > source->most) {
        source->most = reading->value;
    }
}

static void take_clients(struct machine_state *machine, const Sotto__Sense__Sample *sample)
{
    machine->n_clients = (uint32_t)sample->n_clients;
    machine->clients_us = sample->at_us;
    for (uint32_t i = 0; i < machine->n_clients; i++) {
        const Sotto__Sense__Client *from = sample->clients[i];

        machine->clients[i] = (struct machine_client){
            .minor = from->minor,
            .id = from->id,
            .pid = from->pid,
            .graphics_permille = from->graphics_permille,
            .compute_permille = from->compute_permille,
        };
    }
}

int machine_state_sample(struct machine_state *machine, const Sotto__Sense__Sample *sample, uint64_t now_us,
                         struct diag *diag)
{
    int r = check_sample(machine, sample, now_us, diag);

    if (r) {
        return r;
    }
    for (size_t i = 0; i < sample->n_readings; i++) {
        take_reading(machine, sample->readings[i]);
    }
    if (sample->has_clients) {
        take_clients(machine, sample);
    }
    machine->sample_us = sample->at_us;
    return MACHINE_TAKEN;
}

/* ---- what is asked */

Sotto__Sense__State machine_state_state(const struct machine_source *source, uint64_t now_us, uint64_t most_us,
                                        bool alive)
{
    bool is_old = now_us > source->now.at_us && now_us - source->now.at_us > most_us;

    if (!source->was_read) {
        return SOTTO__SENSE__STATE__STATE_ABSENT;
    }
    if (source->now.state == SOTTO__SENSE__STATE__STATE_OK && (is_old || !alive)) {
        return SOTTO__SENSE__STATE__STATE_STALE;
    }
    return source->now.state;
}

void machine_state_tick(struct machine_state *machine, uint64_t now_us, bool alive)
{
    for (uint32_t i = 0; i < machine->n_sources; i++) {
        struct machine_source *source = &machine->sources[i];

        if (machine_state_state(source, now_us, MACHINE_OLD_US, alive) != SOTTO__SENSE__STATE__STATE_OK) {
            continue;
        }
        source->history[source->history_at] = source->now.value;
        source->history_at = (source->history_at + 1) % MACHINE_HISTORY;
        source->n_history += source->n_history < MACHINE_HISTORY;
    }
}

const struct machine_source *machine_state_find(const struct machine_state *machine, Sotto__Sense__Quantity quantity)
{
    const struct machine_source *gone = NULL;

    for (uint32_t i = 0; i < machine->n_sources; i++) {
        const struct machine_source *source = &machine->sources[i];

        if (source->quantity != quantity || !source->in_use) {
            continue;
        }
        if (source->id != 0) {
            return source;
        }
        gone = gone ? gone : source;
    }
    return gone;
}
