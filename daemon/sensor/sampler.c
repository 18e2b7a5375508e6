#include "sensor/sampler.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>

/* Near a trip point things move fast: within so much of it, read so often. */
#define WARM_MC 10000
#define HOT_MC  3000
#define WARM_MS 250u
#define HOT_MS  100u

void sampler_init(struct sampler *sampler, struct readers *readers)
{
    *sampler = (struct sampler){ .readers = readers, .rate_ms = SAMPLER_IDLE_MS };
    list_init(&sampler->gauges);
}

void sampler_finish(struct sampler *sampler)
{
    struct list *link;

    while ((link = list_first(&sampler->gauges))) {
        list_remove(link);
        mem_free(container_of(link, struct gauge, link));
    }
}

/* ---- what there is */

static struct gauge *find_gauge(struct sampler *sampler, const struct source *source)
{
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);

        if (gauge->job.source == source) {
            return gauge;
        }
    }
    return NULL;
}

static struct gauge *make_gauge(struct sampler *sampler, const struct found *found, uint64_t now_us)
{
    size_t n_clients = found->tells_clients ? 2 * SOURCE_CLIENTS_MAX : 0;
    struct gauge *gauge = mem_calloc(MEM_MISC, 1, sizeof(*gauge) + n_clients * sizeof(struct source_client));

    if (!gauge) {
        return NULL;
    }
    gauge->id = ++sampler->n_ids;
    gauge->job.source = found->source;
    gauge->job.clients = n_clients ? &gauge->clients[SOURCE_CLIENTS_MAX] : NULL;
    list_init(&gauge->job.link);
    gauge->due_us = now_us;
    gauge->since_us = now_us;
    gauge->now = (struct reading){ .state = READING_ABSENT };
    list_init(&gauge->link);
    return gauge;
}

static bool is_passed_over(const struct gauge *gauge)
{
    return gauge->found.rank == SOURCE_PASSED_OVER;
}

/* Does watching sottod have to hear of the difference? */
static bool differs(const struct found *a, const struct found *b)
{
    return a->rank != b->rank || a->passive_mc != b->passive_mc || a->critical_mc != b->critical_mc ||
           a->most != b->most || strcmp(a->path, b->path) != 0 || strcmp(a->why, b->why) != 0 ||
           strcmp(a->name, b->name) != 0 || a->is_mixed != b->is_mixed;
}

static bool same_devices(const struct sampler *sampler, const struct finding *finding)
{
    if (sampler->n_devices != finding->n_devices) {
        return false;
    }
    for (uint32_t i = 0; i < finding->n_devices; i++) {
        const struct found_device *a = &sampler->devices[i];
        const struct found_device *b = &finding->devices[i];

        if (a->minor != b->minor || a->has_display != b->has_display || a->is_ours != b->is_ours ||
            strcmp(a->driver, b->driver) != 0) {
            return false;
        }
    }
    return true;
}

/* The gauge of @found, new or known, at the end of the list. */
static int take_found(struct sampler *sampler, const struct found *found, uint64_t now_us)
{
    struct gauge *gauge = find_gauge(sampler, found->source);

    if (!gauge) {
        gauge = make_gauge(sampler, found, now_us);
        if (!gauge) {
            return err_new(-ENOMEM);
        }
        sampler->has_changed = true;
    } else if (differs(&gauge->found, found)) {
        sampler->has_changed = true;
    }
    gauge->found = *found;
    gauge->is_named = true;
    list_remove(&gauge->link);
    list_append(&sampler->gauges, &gauge->link);
    return 0;
}

static void choose(struct sampler *sampler, uint64_t now_us);

int sampler_found(struct sampler *sampler, const struct finding *finding, uint64_t now_us)
{
    struct list *link;
    int r = 0;

    list_for_each (link, &sampler->gauges) {
        container_of(link, struct gauge, link)->is_named = false;
    }
    for (uint32_t i = 0; i < finding->n_sources && r == 0; i++) {
        r = take_found(sampler, &finding->sources[i], now_us);
    }
    sampler->has_changed = sampler->has_changed || !same_devices(sampler, finding);
    memcpy(sampler->devices, finding->devices, sizeof(sampler->devices));
    sampler->n_devices = finding->n_devices;
    choose(sampler, now_us);
    return r ? err_up(r) : 0;
}

/* ---- which one is in use */

static bool is_ok(const struct gauge *gauge)
{
    return gauge->was_read && gauge->now.state == READING_OK;
}

/* May it be the one that decides? One that was never read may, as long as nobody is better. */
static bool is_candidate(const struct gauge *gauge, enum reading_quantity quantity)
{
    return gauge->found.quantity == quantity && !is_passed_over(gauge);
}

/* Better: first what is OK, then what at least is there, then the rank. */
static int standing(const struct gauge *gauge)
{
    if (is_ok(gauge)) {
        return 0;
    }
    return !gauge->was_read || gauge->now.state != READING_ABSENT ? 1 : 2;
}

static bool is_better(const struct gauge *gauge, const struct gauge *than)
{
    if (!than || standing(gauge) != standing(than)) {
        return !than || standing(gauge) < standing(than);
    }
    return gauge->found.rank < than->found.rank;
}

/*
 * The one in use stays for a while if it fails, and while a better one may fail again. In the beginning, when none has
 * been OK for long, the better one is taken at once: it needed its first interval.
 */
static bool is_settling(const struct gauge *now, const struct gauge *best, uint64_t now_us)
{
    uint64_t lasted_us = now_us - now->since_us;

    if (!now->was_ok || (is_ok(now) && lasted_us < SAMPLER_SETTLE_US)) {
        return false;
    }
    return (is_ok(now) && best ? now_us - best->since_us : lasted_us) < SAMPLER_SETTLE_US;
}

static void choose_one(struct sampler *sampler, enum reading_quantity quantity, uint64_t now_us)
{
    struct gauge *now = NULL;
    struct gauge *best = NULL;
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);

        if (gauge->found.quantity == quantity && gauge->in_use) {
            now = gauge;
        }
        if (is_candidate(gauge, quantity) && is_better(gauge, best)) {
            best = gauge;
        }
    }
    best = best && standing(best) == 2 ? NULL : best; /* nothing is there */
    if (best == now) {
        return;
    }
    if (now && is_candidate(now, quantity) && is_settling(now, best, now_us)) {
        return;
    }
    if (now) {
        now->in_use = false;
    }
    if (best) {
        best->in_use = true;
    }
    sampler->has_changed = true;
}

static void choose(struct sampler *sampler, uint64_t now_us)
{
    struct list *link;

    for (int i = 0; i < READING_QUANTITY_COUNT; i++) {
        if (i != READING_TEMPERATURE && i != READING_THROTTLE) {
            choose_one(sampler, (enum reading_quantity)i, now_us);
        }
    }
    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);
        bool counts = !is_passed_over(gauge);

        if (gauge->found.all_count && gauge->in_use != counts) {
            gauge->in_use = counts;
            sampler->has_changed = true;
        }
    }
}

/* ---- when */

static bool is_load(const struct gauge *gauge)
{
    return gauge->found.quantity == READING_GRAPHICS_LOAD || gauge->found.quantity == READING_COMPUTE_LOAD;
}

static uint32_t heat_period_ms(const struct gauge *gauge)
{
    int32_t trip =
        gauge->found.passive_mc < gauge->found.critical_mc ? gauge->found.passive_mc : gauge->found.critical_mc;
    int64_t room_mc = (int64_t)trip - gauge->now.value;

    if (trip == INT32_MAX || !gauge->was_read || room_mc > WARM_MC) {
        return SAMPLER_IDLE_MS;
    }
    return room_mc > HOT_MC ? WARM_MS : HOT_MS;
}

/* Its first look was no interval yet: the second need not wait until somebody works, for whom it would come late. */
static bool is_early(const struct gauge *gauge)
{
    return gauge->was_read && !gauge->is_overdue && gauge->now.state == READING_STALE && gauge->now.at_us == 0;
}

static uint32_t period_ms(const struct sampler *sampler, const struct gauge *gauge)
{
    uint32_t period = gauge->found.slow_ms < SAMPLER_IDLE_MS ? gauge->found.slow_ms : SAMPLER_IDLE_MS;

    if (is_load(gauge) && is_early(gauge)) {
        return period > sampler->least_ms ? period : sampler->least_ms;
    }
    if (is_load(gauge)) {
        period = gauge->in_use ? sampler->rate_ms : SAMPLER_IDLE_MS;
    } else if (gauge->found.quantity == READING_TEMPERATURE) {
        period = heat_period_ms(gauge);
    }
    if (sampler->rate_ms >= SAMPLER_IDLE_MS && period < SAMPLER_IDLE_MS) {
        return SAMPLER_IDLE_MS;
    }
    return period > sampler->rate_ms ? period : sampler->rate_ms;
}

void sampler_rate(struct sampler *sampler, uint32_t rate_ms, uint64_t now_us)
{
    struct list *link;

    rate_ms = rate_ms < SAMPLER_FASTEST_MS ? SAMPLER_FASTEST_MS : rate_ms;
    rate_ms = rate_ms > SAMPLER_IDLE_MS ? SAMPLER_IDLE_MS : rate_ms;
    if (rate_ms == sampler->rate_ms) {
        return;
    }
    sampler->rate_ms = rate_ms;
    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);
        uint64_t period_us = period_ms(sampler, gauge) * UINT64_C(1000);

        /* Sooner if it shall be faster; a slower pace begins with the next reading. */
        if (gauge->due_us > now_us + period_us) {
            gauge->due_us = now_us + period_us;
        }
    }
}

void sampler_wake(struct sampler *sampler, uint64_t now_us)
{
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        container_of(link, struct gauge, link)->due_us = now_us;
    }
}

void sampler_hurry(struct sampler *sampler, uint64_t now_us)
{
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);

        if (gauge->found.quantity == READING_TEMPERATURE || gauge->found.quantity == READING_THROTTLE ||
            gauge->found.quantity == READING_POWER) {
            gauge->due_us = now_us;
        }
    }
}

/* ---- readings */

/* It was asked and says nothing: what it said last grows old. */
static void mark_overdue(struct gauge *gauge, uint64_t now_us)
{
    if (gauge->is_overdue) {
        return;
    }
    gauge->is_overdue = true;
    gauge->is_new = true;
    gauge->since_us = is_ok(gauge) ? now_us : gauge->since_us;
    gauge->was_read = true;
    gauge->now.state = READING_STALE;
    source_say(gauge->now.why, sizeof(gauge->now.why), "it does not answer");
    log_debug("sensor", "%s does not answer", gauge->found.name);
}

static void ask(struct sampler *sampler, struct gauge *gauge, uint64_t now_us)
{
    uint64_t period_us = period_ms(sampler, gauge) * UINT64_C(1000);
    uint64_t behind = now_us - gauge->due_us;

    gauge->due_us += (behind / period_us + 1) * period_us;
    if (readers_ask(sampler->readers, &gauge->job, now_us)) {
        mark_overdue(gauge, now_us); /* no thread for it */
    }
}

uint64_t sampler_turn(struct sampler *sampler, uint64_t now_us)
{
    uint64_t next_us = now_us + SAMPLER_IDLE_MS * UINT64_C(1000);
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        struct gauge *gauge = container_of(link, struct gauge, link);

        if (is_passed_over(gauge)) {
            continue;
        }
        if (gauge->job.asked_us) {
            if (readers_is_overdue(sampler->readers, &gauge->job, now_us, SAMPLER_OVERDUE_US)) {
                mark_overdue(gauge, now_us);
            } else if (gauge->job.asked_us + SAMPLER_OVERDUE_US < next_us) {
                next_us = gauge->job.asked_us + SAMPLER_OVERDUE_US;
            }
            continue;
        }
        if (gauge->due_us <= now_us) {
            ask(sampler, gauge, now_us);
        }
        next_us = gauge->due_us < next_us ? gauge->due_us : next_us;
    }
    return next_us > now_us ? next_us : now_us + 1000;
}

static void take_reading(struct sampler *sampler, struct gauge *gauge, uint64_t now_us)
{
    const struct reading *fresh = &gauge->job.reading;
    bool was_ok = is_ok(gauge);

    gauge->now = *fresh;
    gauge->was_read = true;
    gauge->is_new = true;
    gauge->is_overdue = false;
    gauge->was_ok = gauge->was_ok || is_ok(gauge);
    gauge->n_clients = gauge->job.n_clients;
    if (gauge->n_clients) {
        memcpy(gauge->clients, gauge->job.clients, gauge->n_clients * sizeof(gauge->clients[0]));
    }
    if (is_ok(gauge) != was_ok) {
        gauge->since_us = now_us;
    }
    if (is_load(gauge) && is_early(gauge)) {
        uint64_t soon_us = now_us + period_ms(sampler, gauge) * UINT64_C(1000);

        gauge->due_us = soon_us < gauge->due_us ? soon_us : gauge->due_us;
    }
}

bool sampler_collect(struct sampler *sampler, uint64_t now_us)
{
    struct job *job;
    bool any = false;

    while ((job = readers_take(sampler->readers))) {
        struct gauge *gauge = container_of(job, struct gauge, job);

        job->asked_us = 0;
        take_reading(sampler, gauge, now_us);
        any = true;
    }
    if (any) {
        choose(sampler, now_us);
    }
    return any;
}

bool sampler_is_out(const struct sampler *sampler)
{
    struct list *link;

    list_for_each (link, &sampler->gauges) {
        const struct gauge *gauge = container_of(link, struct gauge, link);

        if (gauge->job.asked_us && !gauge->is_overdue) {
            return true;
        }
    }
    return false;
}
