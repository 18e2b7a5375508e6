/*
 * The link is one life of sotto-sense; the book outlives it. What was known stays, and grows old in front of everybody.
 */
#include "stream/senses.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "stream/sense_fill.h"
#include "stream/sense_link.h"
#include "stream/senses_config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the system's unit listens. */
#define USUAL_SOCKET "/run/sotto-sense.sock"

#define BEAT_MS 1000u

/* To the inventory, which is a scan of some hundred small files; and from one word to the next, of at most a second. */
#define FIRST_WORD_US 10000000u
#define SILENT_US     3500000u
#define DROP_US       8000000u

/* One that has lived so long is not about to crash again at once. */
#define STABLE_US 60000000u

/* A source that flaps is told of so often at most. */
#define TELL_AGAIN_US 10000000u

/* Sources that come and go are told of by name so often in that time, and as a number beyond. */
#define TELL_SOURCES_MAX 64u

#define HANDLES 2u

struct senses {
    uv_loop_t *loop;
    uv_timer_t beat;
    uv_timer_t pause;
    const struct senses_sink *sink;
    void *owner;
    struct arena arena; /* behind @config */
    struct senses_config config;
    struct sense_book book;
    struct sense_link *link; /* NULL: none, @pause runs */
    bool link_is_socket;
    bool socket_failed; /* AUTO: the next try is a child */
    bool has_begun;
    bool is_ending;
    bool was_there;     /* watchers were told so */
    uint32_t n_losses;  /* in a row; picks the pause */
    uint32_t period_ms; /* of load, as asked */
    uint32_t n_handles;
    uint64_t since_us; /* should be there since then: begun, or lost */
    uint32_t n_told;   /* sources that came or went, since @told_us */
    uint32_t n_untold; /* and those that were not named */
    uint64_t told_us;
    bool has_other_devices; /* not told yet */
    uint64_t devices_told_us;
    uint64_t heard_us; /* last message, or the start of the link */
    uint64_t born_us;
    void (*ended)(void *owner);
    void *ended_owner;
};

static void start(struct senses *senses);

/* ---- events */

static void tell(struct senses *senses, const char *name, const char *const *pairs, size_t n_pairs)
{
    if (senses->sink->on_event) {
        senses->sink->on_event(senses->owner, name, pairs, n_pairs);
    }
}

static void tell_lost(struct senses *senses, const char *why)
{
    const char *pairs[] = { "why", why };

    tell(senses, "sense-lost", pairs, 1);
}

static void tell_there(struct senses *senses)
{
    char n_sources[16];
    char n_devices[16];
    const char *pairs[] = { "sources", n_sources,     "devices",
                            n_devices, "sees-others", senses->book.is_limited ? "no" : "yes" };

    snprintf(n_sources, sizeof(n_sources), "%" PRIu32, senses->book.n_sources);
    snprintf(n_devices, sizeof(n_devices), "%" PRIu32, senses->book.n_devices);
    tell(senses, "sense-there", pairs, 3);
}

static void tell_source(struct senses *senses, const struct sense_source *source, bool is_listed)
{
    const char *pairs[] = { "quantity", sense_quantity_name(source->quantity), "sensor", source->name };

    if (senses->n_told == 0) {
        senses->told_us = clock_mono_us();
    }
    if (senses->n_told < TELL_SOURCES_MAX) {
        senses->n_told++;
        tell(senses, is_listed ? "sensor-came" : "sensor-gone", pairs, 2);
    } else {
        senses->n_untold++;
    }
}

/* Sources that came or went with an inventory; all of the first one are told of as their number alone. */
static void tell_sources(struct senses *senses, bool is_first)
{
    for (uint32_t i = 0; i < senses->book.n_sources; i++) {
        struct sense_source *source = &senses->book.sources[i];
        bool is_listed = source->id != 0;

        if (is_listed != source->was_listed && !is_first) {
            tell_source(senses, source, is_listed);
        }
        source->was_listed = is_listed;
    }
}

/* What was too much to name. */
static void tell_number(struct senses *senses, uint64_t now_us)
{
    char n_untold[16];
    const char *pairs[] = { "sensors", n_untold };

    if (senses->n_told == 0 || now_us - senses->told_us < TELL_AGAIN_US) {
        return;
    }
    if (senses->n_untold > 0) {
        snprintf(n_untold, sizeof(n_untold), "%" PRIu32, senses->n_untold);
        tell(senses, "sensors-came-and-went", pairs, 1);
    }
    senses->n_told = 0;
    senses->n_untold = 0;
}

/* One line for each change of state, and never more than one for each source in ten seconds. */
static void tell_states(struct senses *senses, uint64_t now_us)
{
    bool alive = senses_is_there(senses);

    for (uint32_t i = 0; i < senses->book.n_sources; i++) {
        struct sense_source *source = &senses->book.sources[i];
        Sotto__Sense__State state = sense_book_state(source, now_us, SENSE_OLD_US, alive);
        const char *pairs[] = { "quantity", sense_quantity_name(source->quantity),
                                "sensor",   source->name,
                                "from",     sense_state_name(source->told),
                                "to",       sense_state_name(state),
                                "why",      source->now.why };

        if (!source->was_read || (source->was_told && source->told == state)) {
            continue;
        }
        if (source->was_told) {
            if (now_us - source->told_us < TELL_AGAIN_US) {
                continue;
            }
            source->told_us = now_us;
            trace_add(TRACE_SENSE_STATE, source->id, (uint64_t)state);
            tell(senses, "sensor-state", pairs, source->now.why[0] ? 5 : 4);
        }
        source->was_told = true;
        source->told = state;
    }
}

/* ---- messages */

/* A device came or went: whoever has claimed one looks anew, once in a beat however often they do. */
static void tell_devices(struct senses *senses, uint64_t now_us)
{
    char n_devices[16];
    const char *pairs[] = { "devices", n_devices };

    if (!senses->has_other_devices || now_us - senses->devices_told_us < BEAT_MS * UINT64_C(1000)) {
        return;
    }
    senses->has_other_devices = false;
    senses->devices_told_us = now_us;
    snprintf(n_devices, sizeof(n_devices), "%" PRIu32, senses->book.n_devices);
    tell(senses, "devices-changed", pairs, 1);
}

static void on_inventory(struct senses *senses, const Sotto__Sense__Inventory *inventory)
{
    bool is_first = !senses->book.has_inventory;
    uint64_t n_changes = senses->book.n_device_changes;
    struct diag diag = DIAG_INIT;

    if (sense_book_inventory(&senses->book, inventory, SOTTO_VERSION, &diag)) {
        sense_link_drop(senses->link, diag.text);
        return;
    }
    senses->has_other_devices |= n_changes != senses->book.n_device_changes;
    tell_devices(senses, clock_mono_us());
    tell_sources(senses, is_first);
    sense_book_sweep(&senses->book, false);
    if (is_first) {
        senses->was_there = true;
        tell_there(senses);
    }
}

/* The two figures that explain what the governor does next. */
static void trace_sample(const struct senses *senses, uint64_t now_us)
{
    struct governor_input input = { .now_us = now_us };
    int32_t hottest = 0;

    senses_fill(senses, now_us, &input);
    for (uint32_t i = 0; i < input.n_zones; i++) {
        hottest = input.zones[i].temp_mc > hottest ? input.zones[i].temp_mc : hottest;
    }
    trace_add(TRACE_SENSE, input.graphics.busy_permille, (uint64_t)hottest);
}

static void on_sample(struct senses *senses, const Sotto__Sense__Sample *sample, uint64_t now_us)
{
    struct diag diag = DIAG_INIT;

    if (sense_book_sample(&senses->book, sample, now_us, &diag)) {
        sense_link_drop(senses->link, diag.text);
        return;
    }
    if (sample->n_readings > 0 || sample->has_clients) {
        trace_sample(senses, now_us);
        if (senses->sink->on_sample) {
            senses->sink->on_sample(senses->owner, sample->event);
        }
    }
}

static void on_message(void *owner, const Sotto__Sense__FromSense *message)
{
    struct senses *senses = owner;
    uint64_t now_us = clock_mono_us();

    senses->heard_us = now_us;
    switch (message->body_case) {
    case SOTTO__SENSE__FROM_SENSE__BODY_INVENTORY:
        on_inventory(senses, message->inventory);
        break;
    case SOTTO__SENSE__FROM_SENSE__BODY_SAMPLE:
        on_sample(senses, message->sample, now_us);
        break;
    case SOTTO__SENSE__FROM_SENSE__BODY__NOT_SET:
        sense_link_drop(senses->link, "sotto-sense sends what this build does not know");
        break;
    }
}

/* ---- life of the link */

static void on_pause(uv_timer_t *timer)
{
    start(timer->data);
}

static void close_all(struct senses *senses);

static void on_end(void *owner, bool was_open, const char *why)
{
    struct senses *senses = owner;
    uint64_t now_us = clock_mono_us();
    uint32_t pause = senses->n_losses < 2 ? senses->n_losses : 2;
    bool other_way = senses->link_is_socket && !was_open && senses->config.start == SENSES_AUTO &&
                     senses->config.program && !senses->config.socket;

    senses->link = NULL;
    if (senses->is_ending) {
        close_all(senses);
        return;
    }
    sense_book_restart(&senses->book);
    if (other_way) {
        log_debug("sense", "%s: a child is started in its place", why);
        senses->socket_failed = true;
        start(senses);
        return;
    }
    senses->since_us = senses->was_there ? now_us : senses->since_us;
    if (senses->was_there || senses->n_losses == 0) {
        tell_lost(senses, why); /* further ones in a row are of no news */
    }
    senses->was_there = false;
    senses->socket_failed = false;
    senses->n_losses = now_us - senses->born_us > STABLE_US ? 1 : senses->n_losses + 1;
    uv_update_time(senses->loop);
    uv_timer_start(&senses->pause, on_pause, senses->config.pause_ms[pause], 0);
}

static const struct sense_link_sink link_sink = { .on_message = on_message, .on_end = on_end };

static int start_child(struct senses *senses)
{
    const char *argv[SENSE_ARGS_MAX + 1] = { senses->config.program, "--fd", "3" };
    size_t n = 3;

    if (senses->config.root) {
        argv[n++] = "--root";
        argv[n++] = senses->config.root;
    }
    if (senses->config.device) {
        argv[n++] = "--device";
        argv[n++] = senses->config.device;
    }
    for (size_t i = 0; i < senses->config.n_zones && n + 2 <= SENSE_ARGS_MAX; i++) {
        argv[n++] = "--zone";
        argv[n++] = senses->config.zones[i];
    }
    for (size_t i = 0; i < senses->config.n_scales && n + 2 <= SENSE_ARGS_MAX; i++) {
        argv[n++] = "--scale";
        argv[n++] = senses->config.scales[i];
    }
    return sense_link_start(&senses->link, senses->loop, argv, &link_sink, senses);
}

static int start_link(struct senses *senses)
{
    const struct senses_config *config = &senses->config;

    senses->link_is_socket =
        config->start == SENSES_SOCKET || (config->start == SENSES_AUTO && !senses->socket_failed && !config->root);
    if (senses->link_is_socket || !config->program) {
        senses->link_is_socket = true;
        return sense_link_connect(&senses->link, senses->loop, config->socket ? config->socket : USUAL_SOCKET,
                                  config->uid, &link_sink, senses);
    }
    return start_child(senses);
}

static void on_beat(uv_timer_t *timer)
{
    struct senses *senses = timer->data;
    uint64_t now_us = clock_mono_us();
    uint64_t silent_us = now_us - senses->heard_us;

    sense_book_tick(&senses->book, now_us, senses_is_there(senses));
    tell_states(senses, now_us);
    tell_number(senses, now_us);
    tell_devices(senses, now_us);
    if (!senses->link) {
        return;
    }
    sense_link_tick(senses->link);
    if (silent_us > (senses->book.has_inventory ? DROP_US : FIRST_WORD_US)) {
        sense_link_drop(senses->link, "sotto-sense has fallen silent");
    }
}

static void start(struct senses *senses)
{
    if (senses->config.start == SENSES_NEVER) {
        uv_timer_stop(&senses->beat);
        return;
    }
    if (!uv_is_active((const uv_handle_t *)&senses->beat)) {
        uv_timer_start(&senses->beat, on_beat, BEAT_MS, BEAT_MS);
    }
    senses->born_us = clock_mono_us();
    senses->heard_us = senses->born_us;
    if (start_link(senses)) {
        uv_timer_start(&senses->pause, on_pause, senses->config.pause_ms[2], 0); /* no memory: later */
        return;
    }
    sense_link_rate(senses->link, senses->period_ms);
}

void senses_begin(struct senses *senses)
{
    if (senses->has_begun || senses->config.start == SENSES_NEVER) {
        return;
    }
    senses->has_begun = true;
    senses->since_us = clock_mono_us();
    start(senses);
}

/* ---- the end */

static void on_closed(uv_handle_t *handle)
{
    struct senses *senses = handle->data;

    if (--senses->n_handles == 0 && senses->ended) {
        senses->ended(senses->ended_owner);
    }
}

static void close_all(struct senses *senses)
{
    uv_close((uv_handle_t *)&senses->beat, on_closed);
    uv_close((uv_handle_t *)&senses->pause, on_closed);
}

void senses_end(struct senses *senses, void (*done)(void *owner), void *owner)
{
    if (senses->is_ending) {
        return;
    }
    senses->is_ending = true;
    senses->ended = done;
    senses->ended_owner = owner;
    if (senses->link) {
        sense_link_abandon(senses->link);
    } else {
        close_all(senses);
    }
}

void senses_destroy(struct senses *senses)
{
    if (senses) {
        arena_finish(&senses->arena);
        mem_free(senses);
    }
}

/* ---- configuration */

int senses_create(struct senses **ret_senses, uv_loop_t *loop, const struct senses_config *config,
                  const struct senses_sink *sink, void *owner)
{
    struct senses *senses = mem_calloc(MEM_MISC, 1, sizeof(*senses));

    if (!senses) {
        return err_new(-ENOMEM);
    }
    arena_init(&senses->arena, MEM_MISC, SENSES_CONFIG_BYTES);
    if (senses_copy_config(&senses->arena, config, &senses->config)) {
        senses_destroy(senses);
        return err_new(-ENOMEM);
    }
    senses->loop = loop;
    senses->sink = sink;
    senses->owner = owner;
    senses->period_ms = BEAT_MS;
    sense_book_init(&senses->book);
    uv_timer_init(loop, &senses->beat);
    uv_timer_init(loop, &senses->pause);
    senses->beat.data = senses;
    senses->pause.data = senses;
    senses->n_handles = HANDLES;
    *ret_senses = senses;
    return 0;
}

int senses_configure(struct senses *senses, const struct senses_config *config)
{
    struct senses_config copy;
    struct arena arena;
    bool same;

    arena_init(&arena, MEM_MISC, SENSES_CONFIG_BYTES);
    if (senses_copy_config(&arena, config, &copy)) {
        arena_finish(&arena);
        return err_new(-ENOMEM);
    }
    same = senses_same_link(&senses->config, &copy);
    arena_finish(&senses->arena);
    senses->arena = arena;
    senses->config = copy;
    sense_book_sweep(&senses->book, true);
    if (same || senses->is_ending) {
        return 0;
    }
    senses->n_losses = 0;
    senses->was_there = false;
    if (senses->link) {
        sense_link_drop(senses->link, "the configuration names another one");
    } else if (senses->has_begun) {
        uv_timer_start(&senses->pause, on_pause, 0, 0);
    }
    senses_begin(senses);
    return 0;
}

/* ---- questions */

bool senses_is_there(const struct senses *senses)
{
    return senses->link && senses->book.has_inventory && clock_mono_us() - senses->heard_us < SILENT_US;
}

void senses_rate(struct senses *senses, uint32_t period_ms)
{
    if (senses->period_ms == period_ms) {
        return;
    }
    senses->period_ms = period_ms;
    if (senses->link) {
        sense_link_rate(senses->link, period_ms);
    }
}

static void make_view(const struct senses *senses, uint64_t now_us, struct sense_view *ret_view)
{
    *ret_view = (struct sense_view){
        .now_us = now_us,
        .since_us = senses->since_us,
        .period_us = senses->period_ms * UINT64_C(1000),
        .is_wanted = senses->config.start != SENSES_NEVER,
        .is_alive = senses_is_there(senses),
        .zones = senses->config.zones,
        .n_zones = senses->config.n_zones,
        .is_ours = senses->sink->is_ours,
        .owner = senses->owner,
    };
}

void senses_fill(const struct senses *senses, uint64_t now_us, struct governor_input *input)
{
    struct sense_view view;

    make_view(senses, now_us, &view);
    sense_fill(&senses->book, &view, input);
}

bool senses_energy(const struct senses *senses, uint64_t now_us, uint64_t *ret_at_us, uint64_t *ret_uj)
{
    const struct sense_source *meter = sense_book_find(&senses->book, SOTTO__SENSE__QUANTITY__QUANTITY_ENERGY);

    if (!meter || meter->id == 0 ||
        sense_book_state(meter, now_us, SENSE_OLD_US, senses_is_there(senses)) != SOTTO__SENSE__STATE__STATE_OK) {
        return false;
    }
    *ret_at_us = meter->now.at_us;
    *ret_uj = (uint64_t)meter->now.value;
    return true;
}

int senses_report(const struct senses *senses, uint64_t now_us, struct arena *arena, Sotto__V1__StatusReport *report)
{
    return sense_report(&senses->book, now_us, senses_is_there(senses), arena, report);
}
