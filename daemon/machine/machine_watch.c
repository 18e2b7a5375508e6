/*
 * The link is one life of sotto-sense; the state outlives it. What was known stays, and grows old visibly.
 */
#include "machine/machine_watch.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "child/sense_link.h"
#include "machine/machine_config.h"
#include "machine/machine_input.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The socket of the system's unit. */
#define USUAL_SOCKET "/run/sotto-sense.sock"

#define BEAT_MS 1000u

/* The longest time to the inventory, which is a scan of some hundred small files; and from one message to the next, of
 * at most a second. */
#define FIRST_WORD_US 10000000u
#define SILENT_US     3500000u
#define DROP_US       8000000u

/* A sotto-sense that has lived so long is not about to crash again at once. */
#define STABLE_US 60000000u

/* A source that flaps is reported at most so often. */
#define TELL_AGAIN_US 10000000u

/* Sources that come and go are reported by name so often in that time, and as a number beyond. */
#define TELL_SOURCES_MAX 64u

#define HANDLES 2u

struct machine_watch {
    uv_loop_t *loop;
    uv_timer_t beat;
    uv_timer_t pause;
    const struct machine_watch_sink *sink;
    void *owner;
    struct arena arena; /* behind @config */
    struct machine_config config;
    struct machine_state machine;
    struct sense_link *link; /* NULL: none, @pause runs */
    bool link_is_socket;
    bool socket_failed; /* AUTO: the next try is a child */
    bool has_begun;
    bool is_ending;
    bool was_there;     /* reported to watchers */
    uint32_t n_losses;  /* in a row; picks the pause */
    uint32_t period_ms; /* of load, as asked */
    uint32_t n_handles;
    uint64_t since_us;     /* should be there since then: begun, or lost */
    uint32_t n_reported;   /* sources that came or went, since @reported_us */
    uint32_t n_unreported; /* and those that were not named */
    uint64_t reported_us;
    bool has_other_devices; /* not reported yet */
    uint64_t devices_reported_us;
    uint64_t heard_us; /* last message, or the start of the link */
    uint64_t born_us;
    void (*ended)(void *owner);
    void *ended_owner;
};

static void start(struct machine_watch *watch);

/* ---- events */

static void tell(struct machine_watch *watch, const char *name, const char *const *pairs, size_t n_pairs)
{
    if (watch->sink->on_event) {
        watch->sink->on_event(watch->owner, name, pairs, n_pairs);
    }
}

static void tell_lost(struct machine_watch *watch, const char *why)
{
    const char *pairs[] = { "why", why };

    tell(watch, "sense-lost", pairs, 1);
}

static void tell_there(struct machine_watch *watch)
{
    char n_sources[16];
    char n_devices[16];
    const char *pairs[] = { "sources", n_sources,     "devices",
                            n_devices, "sees-others", watch->machine.is_limited ? "no" : "yes" };

    snprintf(n_sources, sizeof(n_sources), "%" PRIu32, watch->machine.n_sources);
    snprintf(n_devices, sizeof(n_devices), "%" PRIu32, watch->machine.n_devices);
    tell(watch, "sense-ready", pairs, 3);
}

static void tell_source(struct machine_watch *watch, const struct machine_source *source, bool is_listed)
{
    const char *pairs[] = { "quantity", machine_quantity_name(source->quantity), "sensor", source->name };

    if (watch->n_reported == 0) {
        watch->reported_us = clock_mono_us();
    }
    if (watch->n_reported < TELL_SOURCES_MAX) {
        watch->n_reported++;
        tell(watch, is_listed ? "sensor-came" : "sensor-gone", pairs, 2);
    } else {
        watch->n_unreported++;
    }
}

/* Reports the sources that came or went with an inventory; those of the first one as their number alone. */
static void tell_sources(struct machine_watch *watch, bool is_first)
{
    for (uint32_t i = 0; i < watch->machine.n_sources; i++) {
        struct machine_source *source = &watch->machine.sources[i];
        bool is_listed = source->id != 0;

        if (is_listed != source->was_listed && !is_first) {
            tell_source(watch, source, is_listed);
        }
        source->was_listed = is_listed;
    }
}

/* Reports how many sources were too many to name. */
static void tell_number(struct machine_watch *watch, uint64_t now_us)
{
    char n_unreported[16];
    const char *pairs[] = { "sensors", n_unreported };

    if (watch->n_reported == 0 || now_us - watch->reported_us < TELL_AGAIN_US) {
        return;
    }
    if (watch->n_unreported > 0) {
        snprintf(n_unreported, sizeof(n_unreported), "%" PRIu32, watch->n_unreported);
        tell(watch, "sensors-came-and-went", pairs, 1);
    }
    watch->n_reported = 0;
    watch->n_unreported = 0;
}

/* Reports each change of state, and never more than one for each source in ten seconds. */
static void tell_states(struct machine_watch *watch, uint64_t now_us)
{
    bool alive = machine_watch_is_there(watch);

    for (uint32_t i = 0; i < watch->machine.n_sources; i++) {
        struct machine_source *source = &watch->machine.sources[i];
        Sotto__Sense__State state = machine_state_state(source, now_us, MACHINE_OLD_US, alive);
        const char *pairs[] = { "quantity", machine_quantity_name(source->quantity),
                                "sensor",   source->name,
                                "from",     machine_state_name(source->reported),
                                "to",       machine_state_name(state),
                                "why",      source->now.why };

        if (!source->was_read || (source->was_reported && source->reported == state)) {
            continue;
        }
        if (source->was_reported) {
            if (now_us - source->reported_us < TELL_AGAIN_US) {
                continue;
            }
            source->reported_us = now_us;
            trace_add(TRACE_SENSE_STATE, source->id, (uint64_t)state);
            tell(watch, "sensor-state", pairs, source->now.why[0] ? 5 : 4);
        }
        source->was_reported = true;
        source->reported = state;
    }
}

/* ---- messages */

/* Reports that a device came or went, once in a beat however often they do: a program that has claimed one looks
 * again. */
static void tell_devices(struct machine_watch *watch, uint64_t now_us)
{
    char n_devices[16];
    const char *pairs[] = { "devices", n_devices };

    if (!watch->has_other_devices || now_us - watch->devices_reported_us < BEAT_MS * UINT64_C(1000)) {
        return;
    }
    watch->has_other_devices = false;
    watch->devices_reported_us = now_us;
    snprintf(n_devices, sizeof(n_devices), "%" PRIu32, watch->machine.n_devices);
    tell(watch, "devices-changed", pairs, 1);
}

static void on_inventory(struct machine_watch *watch, const Sotto__Sense__Inventory *inventory)
{
    bool is_first = !watch->machine.has_inventory;
    uint64_t n_changes = watch->machine.n_device_changes;
    struct diag diag = DIAG_INIT;

    if (machine_state_inventory(&watch->machine, inventory, SOTTO_VERSION, &diag)) {
        sense_link_drop(watch->link, diag.text);
        return;
    }
    watch->has_other_devices |= n_changes != watch->machine.n_device_changes;
    tell_devices(watch, clock_mono_us());
    tell_sources(watch, is_first);
    machine_state_sweep(&watch->machine, false);
    if (is_first) {
        watch->was_there = true;
        tell_there(watch);
    }
}

/* Traces the two figures that explain what the governor does next. */
static void trace_sample(const struct machine_watch *watch, uint64_t now_us)
{
    struct governor_input input = { .now_us = now_us };
    int32_t hottest = 0;

    machine_watch_fill(watch, now_us, &input);
    for (uint32_t i = 0; i < input.n_zones; i++) {
        hottest = input.zones[i].temp_mc > hottest ? input.zones[i].temp_mc : hottest;
    }
    trace_add(TRACE_SENSE, input.graphics.busy_permille, (uint64_t)hottest);
}

static void on_sample(struct machine_watch *watch, const Sotto__Sense__Sample *sample, uint64_t now_us)
{
    struct diag diag = DIAG_INIT;

    if (machine_state_sample(&watch->machine, sample, now_us, &diag)) {
        sense_link_drop(watch->link, diag.text);
        return;
    }
    if (sample->n_readings > 0 || sample->has_clients) {
        trace_sample(watch, now_us);
        if (watch->sink->on_sample) {
            watch->sink->on_sample(watch->owner, sample->event);
        }
    }
}

static void on_message(void *owner, const Sotto__Sense__FromSense *message)
{
    struct machine_watch *watch = owner;
    uint64_t now_us = clock_mono_us();

    watch->heard_us = now_us;
    switch (message->body_case) {
    case SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY:
        on_inventory(watch, message->inventory);
        break;
    case SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE:
        on_sample(watch, message->sample, now_us);
        break;
    case SOTTO__SENSE__FROM_SENSE__BODY__NOT_SET:
        sense_link_drop(watch->link, "sotto-sense sends what this build does not know");
        break;
    }
}

/* ---- life of the link */

static void on_pause(uv_timer_t *timer)
{
    start(timer->data);
}

static void close_all(struct machine_watch *watch);

static void on_end(void *owner, bool was_open, const char *why)
{
    struct machine_watch *watch = owner;
    uint64_t now_us = clock_mono_us();
    uint32_t pause = watch->n_losses < 2 ? watch->n_losses : 2;
    bool other_way = watch->link_is_socket && !was_open && watch->config.start == MACHINE_AUTO &&
                     watch->config.program && !watch->config.socket;

    watch->link = NULL;
    if (watch->is_ending) {
        close_all(watch);
        return;
    }
    machine_state_restart(&watch->machine);
    if (other_way) {
        log_debug("sense", "%s: a child is started in its place", why);
        watch->socket_failed = true;
        start(watch);
        return;
    }
    watch->since_us = watch->was_there ? now_us : watch->since_us;
    if (watch->was_there || watch->n_losses == 0) {
        tell_lost(watch, why); /* further losses in a row are no news */
    }
    watch->was_there = false;
    watch->socket_failed = false;
    watch->n_losses = now_us - watch->born_us > STABLE_US ? 1 : watch->n_losses + 1;
    uv_update_time(watch->loop);
    uv_timer_start(&watch->pause, on_pause, watch->config.pause_ms[pause], 0);
}

static const struct sense_link_sink link_sink = { .on_message = on_message, .on_end = on_end };

static int start_child(struct machine_watch *watch)
{
    const char *argv[SENSE_ARGS_MAX + 1] = { watch->config.program, "--fd", "3" };
    size_t n = 3;

    if (watch->config.root) {
        argv[n++] = "--root";
        argv[n++] = watch->config.root;
    }
    if (watch->config.device) {
        argv[n++] = "--device";
        argv[n++] = watch->config.device;
    }
    for (size_t i = 0; i < watch->config.n_zones && n + 2 <= SENSE_ARGS_MAX; i++) {
        argv[n++] = "--zone";
        argv[n++] = watch->config.zones[i];
    }
    for (size_t i = 0; i < watch->config.n_scales && n + 2 <= SENSE_ARGS_MAX; i++) {
        argv[n++] = "--scale";
        argv[n++] = watch->config.scales[i];
    }
    return sense_link_start(&watch->link, watch->loop, argv, &link_sink, watch);
}

static int start_link(struct machine_watch *watch)
{
    const struct machine_config *config = &watch->config;

    watch->link_is_socket =
        config->start == MACHINE_SOCKET || (config->start == MACHINE_AUTO && !watch->socket_failed && !config->root);
    if (watch->link_is_socket || !config->program) {
        watch->link_is_socket = true;
        return sense_link_connect(&watch->link, watch->loop, config->socket ? config->socket : USUAL_SOCKET,
                                  config->uid, &link_sink, watch);
    }
    return start_child(watch);
}

static void on_beat(uv_timer_t *timer)
{
    struct machine_watch *watch = timer->data;
    uint64_t now_us = clock_mono_us();
    uint64_t silent_us = now_us - watch->heard_us;

    machine_state_tick(&watch->machine, now_us, machine_watch_is_there(watch));
    tell_states(watch, now_us);
    tell_number(watch, now_us);
    tell_devices(watch, now_us);
    if (!watch->link) {
        return;
    }
    sense_link_tick(watch->link);
    if (silent_us > (watch->machine.has_inventory ? DROP_US : FIRST_WORD_US)) {
        sense_link_drop(watch->link, "sotto-sense has fallen silent");
    }
}

static void start(struct machine_watch *watch)
{
    if (watch->config.start == MACHINE_NEVER) {
        uv_timer_stop(&watch->beat);
        return;
    }
    if (!uv_is_active((const uv_handle_t *)&watch->beat)) {
        uv_timer_start(&watch->beat, on_beat, BEAT_MS, BEAT_MS);
    }
    watch->born_us = clock_mono_us();
    watch->heard_us = watch->born_us;
    if (start_link(watch)) {
        uv_timer_start(&watch->pause, on_pause, watch->config.pause_ms[2], 0); /* no memory: later */
        return;
    }
    sense_link_rate(watch->link, watch->period_ms);
}

void machine_watch_begin(struct machine_watch *watch)
{
    if (watch->has_begun || watch->config.start == MACHINE_NEVER) {
        return;
    }
    watch->has_begun = true;
    watch->since_us = clock_mono_us();
    start(watch);
}

/* ---- the end */

static void on_closed(uv_handle_t *handle)
{
    struct machine_watch *watch = handle->data;

    if (--watch->n_handles == 0 && watch->ended) {
        watch->ended(watch->ended_owner);
    }
}

static void close_all(struct machine_watch *watch)
{
    uv_close((uv_handle_t *)&watch->beat, on_closed);
    uv_close((uv_handle_t *)&watch->pause, on_closed);
}

void machine_watch_end(struct machine_watch *watch, void (*done)(void *owner), void *owner)
{
    if (watch->is_ending) {
        return;
    }
    watch->is_ending = true;
    watch->ended = done;
    watch->ended_owner = owner;
    if (watch->link) {
        sense_link_abandon(watch->link);
    } else {
        close_all(watch);
    }
}

void machine_watch_destroy(struct machine_watch *watch)
{
    if (watch) {
        arena_finish(&watch->arena);
        mem_free(watch);
    }
}

/* ---- configuration */

int machine_watch_create(struct machine_watch **ret_watch, uv_loop_t *loop, const struct machine_config *config,
                         const struct machine_watch_sink *sink, void *owner)
{
    struct machine_watch *watch = mem_calloc(MEM_MISC, 1, sizeof(*watch));

    if (!watch) {
        return err_new(-ENOMEM);
    }
    arena_init(&watch->arena, MEM_MISC, MACHINE_CONFIG_BYTES);
    if (machine_config_copy(&watch->arena, config, &watch->config)) {
        machine_watch_destroy(watch);
        return err_new(-ENOMEM);
    }
    watch->loop = loop;
    watch->sink = sink;
    watch->owner = owner;
    watch->period_ms = BEAT_MS;
    machine_state_init(&watch->machine);
    uv_timer_init(loop, &watch->beat);
    uv_timer_init(loop, &watch->pause);
    watch->beat.data = watch;
    watch->pause.data = watch;
    watch->n_handles = HANDLES;
    *ret_watch = watch;
    return 0;
}

int machine_watch_configure(struct machine_watch *watch, const struct machine_config *config)
{
    struct machine_config copy;
    struct arena arena;
    bool same;

    arena_init(&arena, MEM_MISC, MACHINE_CONFIG_BYTES);
    if (machine_config_copy(&arena, config, &copy)) {
        arena_finish(&arena);
        return err_new(-ENOMEM);
    }
    same = machine_config_same_link(&watch->config, &copy);
    arena_finish(&watch->arena);
    watch->arena = arena;
    watch->config = copy;
    machine_state_sweep(&watch->machine, true);
    if (same || watch->is_ending) {
        return 0;
    }
    watch->n_losses = 0;
    watch->was_there = false;
    if (watch->link) {
        sense_link_drop(watch->link, "the configuration names another one");
    } else if (watch->has_begun) {
        uv_timer_start(&watch->pause, on_pause, 0, 0);
    }
    machine_watch_begin(watch);
    return 0;
}

/* ---- questions */

bool machine_watch_is_there(const struct machine_watch *watch)
{
    return watch->link && watch->machine.has_inventory && clock_mono_us() - watch->heard_us < SILENT_US;
}

void machine_watch_rate(struct machine_watch *watch, uint32_t period_ms)
{
    if (watch->period_ms == period_ms) {
        return;
    }
    watch->period_ms = period_ms;
    if (watch->link) {
        sense_link_rate(watch->link, period_ms);
    }
}

static void make_view(const struct machine_watch *watch, uint64_t now_us, struct machine_view *ret_view)
{
    *ret_view = (struct machine_view){
        .now_us = now_us,
        .since_us = watch->since_us,
        .period_us = watch->period_ms * UINT64_C(1000),
        .is_wanted = watch->config.start != MACHINE_NEVER,
        .is_alive = machine_watch_is_there(watch),
        .zones = watch->config.zones,
        .n_zones = watch->config.n_zones,
        .is_ours = watch->sink->is_ours,
        .owner = watch->owner,
    };
}

void machine_watch_fill(const struct machine_watch *watch, uint64_t now_us, struct governor_input *input)
{
    struct machine_view view;

    make_view(watch, now_us, &view);
    machine_input_fill(&watch->machine, &view, input);
}

bool machine_watch_energy(const struct machine_watch *watch, uint64_t now_us, uint64_t *ret_at_us, uint64_t *ret_uj)
{
    const struct machine_source *meter = machine_state_find(&watch->machine, SOTTO__SENSE__QUANTITY__QUANTITY_ENERGY);

    if (!meter || meter->id == 0 ||
        machine_state_state(meter, now_us, MACHINE_OLD_US, machine_watch_is_there(watch)) !=
            SOTTO__SENSE__STATE__STATE_OK) {
        return false;
    }
    *ret_at_us = meter->now.at_us;
    *ret_uj = (uint64_t)meter->now.value;
    return true;
}

int machine_watch_report(const struct machine_watch *watch, uint64_t now_us, struct arena *arena,
                         Sotto__V1__StatusReport *report)
{
    return machine_report(&watch->machine, now_us, machine_watch_is_there(watch), arena, report);
}
