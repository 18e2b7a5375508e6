/*
 * Counters into shares of time. All arithmetic of an interval is in permille times microseconds, whatever the counter
 * counts, so that what is carried over fits every kind.
 */
#include "load/clients.h"
#include "base/num.h"
#include "sense/source.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FULL_PERMILLE 1000u

/* As many clients as most machines have; the table doubles. */
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

/* How far @counter went since the last look; 0 while it is behind its highest value. */
static uint64_t advance(struct client_counter *counter, uint64_t value, uint64_t now_us)
{
    uint64_t step;

    if (value >= counter->high) {
        step = value - counter->high;
        counter->high = value;
        counter->since_us = 0;
        return step;
    }
    if (counter->since_us == 0) {
        counter->since_us = now_us;
    } else if (now_us - counter->since_us >= CLIENTS_BACK_US) {
        counter->high = value;
        counter->since_us = 0;
    }
    return 0;
}

/* @part of @whole in permille, of an interval of @span_us: permille times us. */
static uint64_t share(uint64_t part, uint64_t whole, uint64_t span_us)
{
    const double permille = (double)part * FULL_PERMILLE / (double)whole;

    /* More than two intervals' worth is cut anyway. */
    return permille >= 2 * FULL_PERMILLE ? 2 * FULL_PERMILLE * span_us : (uint64_t)(permille * (double)span_us);
}

/*
 * What an engine did in @span_us, in permille times us. Of the kinds of counters that it has, the one that says most
 * is believed: where a kind is switched off, it stands still. *ret_is_unmeasured: cycles went by, of a clock nobody
 * knows.
 */
static uint64_t measure(struct client_engine *engine, const struct fdinfo_engine *now, uint64_t clock_hz,
                        uint64_t now_us, uint64_t span_us, bool *ret_moved, bool *ret_is_unmeasured)
{
    const uint64_t ns = now->has_ns ? advance(&engine->ns, now->ns, now_us) : 0;
    const uint64_t cycles = now->has_cycles ? advance(&engine->cycles, now->cycles, now_us) : 0;
    const uint64_t total = now->has_total ? advance(&engine->total, now->total_cycles, now_us) : 0;
    uint64_t hz = now->max_hz ? now->max_hz : clock_hz ? clock_hz : now->cur_hz;
    uint64_t done = share(ns, span_us * 1000 * now->capacity, span_us);

    *ret_moved |= ns > 0 || cycles > 0;
    if (cycles == 0) {
        return done;
    }
    if (total > 0) {
        return num_max(done, share(cycles, total * now->capacity, span_us));
    }
    if (hz > 0) {
        /* Cycles that this clock makes in the interval; at least one. */
        const uint64_t most = num_max((uint64_t)((double)hz * (double)span_us / 1e6), 1);

        return num_max(done, share(cycles, most * now->capacity, span_us));
    }
    *ret_is_unmeasured |= ns == 0;
    return done;
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
    *engine = (struct client_engine){ .engine = engine_index(clients, now->name) };
    /* No interval yet: from here on it counts. */
    engine->ns.high = now->ns;
    engine->cycles.high = now->cycles;
    engine->total.high = now->total_cycles;
    return engine;
}

void clients_update_known(struct clients *clients, struct client *client, const struct fdinfo *fdinfo, uint64_t now_us)
{
    const uint64_t span_us = now_us - client->read_us;
    bool moved = false;
    bool is_unmeasured = fdinfo->n_engines == 0 && fdinfo->n_unparsed > 0;

    client->is_lost = false;
    client->memory_kb = fdinfo->memory_kb;
    client->is_timed = fdinfo->n_engines > 0;
    if (client->n_samples > 0 && span_us < CLIENTS_INTERVAL_MIN_US) {
        return;
    }
    memset(client->permille, 0, sizeof(client->permille));
    for (uint32_t i = 0; i < fdinfo->n_engines; i++) {
        struct client_engine *engine = engine_at(clients, client, i, &fdinfo->engines[i]);
        enum engine_class class;
        uint64_t done;

        if (!engine || client->n_samples == 0) {
            continue;
        }
        done = engine->carry +
               measure(engine, &fdinfo->engines[i], clients->clock_hz, now_us, span_us, &moved, &is_unmeasured);
        engine->carry =
            done > FULL_PERMILLE * span_us ? num_min(done - FULL_PERMILLE * span_us, FULL_PERMILLE * span_us) : 0;
        engine->permille = (uint32_t)num_min(done / span_us, FULL_PERMILLE);
        class = clients->classes[engine->engine];
        client->permille[class] = (uint32_t)num_max(client->permille[class], engine->permille);
    }
    client->is_unmeasured = is_unmeasured || fdinfo->is_cut;
    client->read_us = now_us;
    client->n_samples++;
    if (moved || clients->moved_us == 0) {
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

/* Puts @entry where it belongs among the @n of @list, busiest first. */
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
