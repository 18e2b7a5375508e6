/*
 * Converts counters into shares of time. All arithmetic of an interval is in permille times microseconds, whatever the
 * counter's unit, so that every kind can be carried over.
 */
#include "load/clients.h"
#include "base/num.h"
#include "sense/source.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FULL_PERMILLE 1000u

/* Enough for most machines; the table doubles. */
#define CAP_FIRST 32u

void clients_init(struct clients *clients)
{
    *clients = (struct clients){ 0 };
}

void clients_finish(struct clients *clients)
{
    mem_free(clients->all);
    clients_init(clients);
}

void clients_begin(struct clients *clients)
{
    for (uint32_t i = 0; i < clients->n; i++) {
        clients->all[i].is_seen = false;
    }
    clients->n_over = 0;
}

static struct client *find(const struct clients *clients, uint32_t minor, uint64_t id)
{
    for (uint32_t i = 0; i < clients->n; i++) {
        if (clients->all[i].id == id && clients->all[i].minor == minor) {
            return &clients->all[i];
        }
    }
    return NULL;
}

static uint8_t engine_index(struct clients *clients, const char *name)
{
    for (uint32_t i = 0; i < clients->n_engines; i++) {
        if (strcmp(clients->engines[i], name) == 0) {
            return (uint8_t)i;
        }
    }
    if (clients->n_engines == CLIENTS_ENGINES_MAX) {
        return CLIENTS_ENGINES_MAX - 1;
    }
    snprintf(clients->engines[clients->n_engines], sizeof(clients->engines[0]), "%s", name);
    clients->classes[clients->n_engines] = engine_class_of(name);
    return (uint8_t)clients->n_engines++;
}

/* Returns the counter's increase since the last reading. *ret_is_behind: it is unknown, as the counter is behind its
 * highest value. */
static uint64_t advance(struct client_counter *counter, uint64_t value, uint64_t now_us, bool *ret_is_behind)
{
    uint64_t step;

    if (value >= counter->high) {
        step = value - counter->high;
        counter->high = value;
        counter->since_us = 0;
        return step;
    }
    *ret_is_behind = true;
    if (counter->since_us == 0) {
        counter->since_us = now_us;
    } else if (now_us - counter->since_us >= CLIENTS_BACK_US) {
        counter->high = value;
        counter->since_us = 0;
    }
    return 0;
}

/* Returns @part of @whole, of an interval of @span_us, in permille times us. */
static uint64_t share(uint64_t part, uint64_t whole, uint64_t span_us)
{
    const double permille = (double)part * FULL_PERMILLE / (double)whole;

    /* The caller cuts at two intervals' worth. */
    return permille >= 2 * FULL_PERMILLE ? 2 * FULL_PERMILLE * span_us : (uint64_t)(permille * (double)span_us);
}

/* What a reading showed of an engine, or of all of a client. */
struct move {
    bool has_moved;     /* some counter of work moved */
    bool is_behind;     /* some counter is behind its highest value */
    bool is_unmeasured; /* cycles of a clock of unknown rate passed */
};

/*
 * Returns the work of an engine in @span_us, in permille times us. Of several kinds of counters the largest is
 * believed, since a kind that is switched off stands still.
 */
static uint64_t measure(struct client_engine *engine, const struct fdinfo_engine *now, uint64_t clock_hz,
                        uint64_t now_us, uint64_t span_us, struct move *move)
{
    const uint64_t ns = now->has_ns ? advance(&engine->ns, now->ns, now_us, &move->is_behind) : 0;
    const uint64_t cycles = now->has_cycles ? advance(&engine->cycles, now->cycles, now_us, &move->is_behind) : 0;
    const uint64_t total = now->has_total ? advance(&engine->total, now->total_cycles, now_us, &move->is_behind) : 0;
    uint64_t hz = now->max_hz ? now->max_hz : clock_hz ? clock_hz : now->cur_hz;
    uint64_t done = share(ns, span_us * 1000 * now->capacity, span_us);

    move->has_moved |= ns > 0 || cycles > 0;
    if (cycles == 0) {
        return done;
    }
    if (total > 0) {
        return num_max(done, share(cycles, total * now->capacity, span_us));
    }
    if (hz > 0) {
        /* Cycles of this clock in the interval; at least one. */
        const uint64_t most = num_max((uint64_t)((double)hz * (double)span_us / 1e6), 1);

        return num_max(done, share(cycles, most * now->capacity, span_us));
    }
    move->is_unmeasured |= ns == 0;
    return done;
}

static bool is_behind(const struct client_engine *engine)
{
    return engine->ns.since_us > 0 || engine->cycles.since_us > 0 || engine->total.since_us > 0;
}

/*
 * Ends the engine's interval with this reading. While all that is known of it is behind, the interval stays open and
 * the last share stands. When a counter has passed its mark, its work since then is divided by all of that time; work
 * up to the mark may be missing in it, so the last share is the least that is told.
 */
static void end_interval(struct client_engine *engine, const struct fdinfo_engine *now, uint64_t clock_hz,
                         uint64_t now_us, struct move *ret_move)
{
    const uint64_t span_us = now_us - engine->read_us;
    const uint32_t least = is_behind(engine) ? engine->permille : 0;
    struct move move = { 0 };
    uint64_t done = measure(engine, now, clock_hz, now_us, span_us, &move);

    move.is_behind = move.is_behind && done == 0;
    if (!move.is_behind) {
        done += engine->carry;
        engine->carry =
            done > FULL_PERMILLE * span_us ? num_min(done - FULL_PERMILLE * span_us, FULL_PERMILLE * span_us) : 0;
        engine->permille = (uint32_t)num_max(num_min(done / span_us, FULL_PERMILLE), least);
        engine->read_us = now_us;
    } else if (!is_behind(engine)) {
        engine->read_us = now_us; /* it was reset */
    }
    ret_move->has_moved |= move.has_moved || move.is_behind;
    ret_move->is_behind |= move.is_behind;
    ret_move->is_unmeasured |= move.is_unmeasured;
}

static struct client_engine *engine_at(struct clients *clients, struct client *client, uint32_t i,
                                       const struct fdinfo_engine *now)
{
    struct client_engine *engine;

    /* Drivers print the same lines each time: the i-th is nearly always the right one. */
    if (i < client->n_engines && strcmp(clients->engines[client->engines[i].engine], now->name) == 0) {
        return &client->engines[i];
    }
    for (uint32_t k = 0; k < client->n_engines; k++) {
        if (strcmp(clients->engines[client->engines[k].engine], now->name) == 0) {
            return &client->engines[k];
        }
    }
    if (client->n_engines == FDINFO_ENGINES_MAX) {
        return NULL;
    }
    engine = &client->engines[client->n_engines++];
    *engine = (struct client_engine){ .engine = engine_index(clients, now->name), .read_us = client->read_us };
    /* No interval yet: counting starts here. */
    engine->ns.high = now->ns;
    engine->cycles.high = now->cycles;
    engine->total.high = now->total_cycles;
    return engine;
}

void clients_update_known(struct clients *clients, struct client *client, const struct fdinfo *fdinfo, uint64_t now_us)
{
    struct move move = { .is_unmeasured = fdinfo->is_cut || (fdinfo->n_engines == 0 && fdinfo->n_unparsed > 0) };

    client->is_lost = false;
    client->memory_kb = fdinfo->memory_kb;
    client->is_timed = fdinfo->n_engines > 0;
    if (client->n_samples > 0 && now_us - client->read_us < CLIENTS_INTERVAL_MIN_US) {
        return;
    }
    memset(client->permille, 0, sizeof(client->permille));
    for (uint32_t i = 0; i < fdinfo->n_engines; i++) {
        struct client_engine *engine = engine_at(clients, client, i, &fdinfo->engines[i]);
        enum engine_class class;

        if (!engine) {
            continue;
        }
        if (client->n_samples == 0) {
            engine->read_us = now_us;
            continue;
        }
        end_interval(engine, &fdinfo->engines[i], clients->clock_hz, now_us, &move);
        class = clients->classes[engine->engine];
        client->permille[class] = (uint32_t)num_max(client->permille[class], engine->permille);
    }
    client->is_unmeasured = move.is_unmeasured;
    client->read_us = now_us;
    /* One that was read once and is behind since then has no interval yet. */
    client->n_samples += !(move.is_behind && client->n_samples == 1);
    if (move.has_moved || clients->moved_us == 0) {
        clients->moved_us = now_us;
    }
}

static int make_room(struct clients *clients)
{
    const uint32_t cap = clients->cap ? clients->cap * 2 : CAP_FIRST;
    struct client *all;

    if (clients->n < clients->cap) {
        return 0;
    }
    all = mem_realloc(MEM_MISC, clients->all, cap * sizeof(*all));
    if (!all) {
        return -ENOMEM;
    }
    clients->all = all;
    clients->cap = cap;
    return 0;
}

int clients_update(struct clients *clients, uint32_t minor, const struct fdinfo *fdinfo, uint64_t now_us,
                   struct client **ret_client)
{
    struct client *client = find(clients, minor, fdinfo->client);
    int r;

    assert(fdinfo->has_client);
    if (client && client->is_seen) {
        return CLIENTS_REPEATED;
    }
    if (!client) {
        if (clients->n == CLIENTS_MAX) {
            clients->n_over++;
            return CLIENTS_FULL;
        }
        r = make_room(clients);
        if (r) {
            return r;
        }
        client = &clients->all[clients->n++];
        *client = (struct client){ .minor = minor, .id = fdinfo->client, .cached_fd = -1 };
    }
    client->is_seen = true;
    clients_update_known(clients, client, fdinfo, now_us);
    *ret_client = client;
    return CLIENTS_OK;
}

void clients_lose(struct client *client)
{
    client->is_lost = true;
    memset(client->permille, 0, sizeof(client->permille));
    for (uint32_t i = 0; i < client->n_engines; i++) {
        client->engines[i].permille = 0;
        client->engines[i].carry = 0;
    }
}

void clients_end(struct clients *clients)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < clients->n; i++) {
        if (clients->all[i].is_seen) {
            if (n != i) {
                clients->all[n] = clients->all[i];
            }
            n++;
        }
    }
    clients->n = n;
}

void clients_add_up(const struct clients *clients, struct clients_sum *ret_sum)
{
    uint32_t engines[CLIENTS_ENGINES_MAX] = { 0 };

    *ret_sum = (struct clients_sum){ 0 };
    for (uint32_t i = 0; i < clients->n; i++) {
        const struct client *client = &clients->all[i];

        ret_sum->n_unmeasured += client->is_unmeasured;
        ret_sum->n_timeless += !client->is_timed && !client->is_unmeasured;
        ret_sum->n_new += client->is_timed && client->n_samples < 2;
        ret_sum->n_timed += client->is_timed && client->n_samples >= 2;
        for (uint32_t k = 0; k < client->n_engines; k++) {
            engines[client->engines[k].engine] += client->engines[k].permille;
        }
    }
    for (uint32_t k = 0; k < clients->n_engines; k++) {
        const enum engine_class class = clients->classes[k];

        ret_sum->permille[class] = (uint32_t)num_max(ret_sum->permille[class], num_min(engines[k], FULL_PERMILLE));
    }
}

static uint64_t weight(const struct source_client *client)
{
    return (uint64_t)client->graphics_permille + client->compute_permille;
}

/* Inserts @entry into the @n of @list, busiest first. */
static void insert(struct source_client *list, uint32_t n, const struct source_client *entry)
{
    while (n > 0 && weight(&list[n - 1]) < weight(entry)) {
        list[n] = list[n - 1];
        n--;
    }
    list[n] = *entry;
}

static void add_to(struct source_client *others, const struct source_client *entry)
{
    others->graphics_permille = (uint32_t)num_min(others->graphics_permille + entry->graphics_permille, FULL_PERMILLE);
    others->compute_permille = (uint32_t)num_min(others->compute_permille + entry->compute_permille, FULL_PERMILLE);
    others->memory_kb = num_saturate(others->memory_kb, entry->memory_kb, UINT64_MAX);
}

uint32_t clients_list(const struct clients *clients, struct source_client *list, uint32_t cap)
{
    const uint32_t n_single = clients->n > cap && cap > 0 ? cap - 1 : (uint32_t)num_min(clients->n, cap);
    struct source_client others = { .name = "others" };
    uint32_t n = 0;

    for (uint32_t i = 0; i < clients->n && cap > 0; i++) {
        const struct client *client = &clients->all[i];
        struct source_client entry = {
            .minor = client->minor,
            .id = client->id,
            .pid = client->pid,
            .graphics_permille = client->permille[ENGINE_GRAPHICS],
            .compute_permille = client->permille[ENGINE_COMPUTE],
            .memory_kb = client->memory_kb,
        };

        snprintf(entry.name, sizeof(entry.name), "%s", client->name);
        others.minor = client->minor;
        if (n < n_single) {
            insert(list, n++, &entry);
        } else if (n_single > 0 && weight(&list[n - 1]) < weight(&entry)) {
            add_to(&others, &list[n - 1]);
            insert(list, n - 1, &entry);
        } else {
            add_to(&others, &entry);
        }
    }
    if (n < cap && clients->n > n_single) {
        list[n++] = others;
    }
    return n;
}
