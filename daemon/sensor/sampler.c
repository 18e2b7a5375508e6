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
    list_init(&sampler->channels);
}

void sampler_finish(struct sampler *sampler)
{
    struct list *link;

    while ((link = list_first(&sampler->channels))) {
        list_remove(link);
        mem_free(container_of(link, struct channel, link));
    }
}

/* ---- what there is */

static struct channel *find_channel(struct sampler *sampler, const struct source *source)
{
    struct list *link;

    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);

        if (channel->job.source == source) {
            return channel;
        }
    }
    return NULL;
}

static struct channel *make_channel(struct sampler *sampler, const struct source_facts *facts, uint64_t now_us)
{
    size_t n_clients = facts->tells_clients ? 2 * SOURCE_CLIENTS_MAX : 0;
    struct channel *channel = mem_calloc(MEM_MISC, 1, sizeof(*channel) + n_clients * sizeof(struct source_client));

    if (!channel) {
        return NULL;
    }
    channel->id = ++sampler->n_ids;
    channel->job.source = facts->source;
    channel->job.clients = n_clients ? &channel->clients[SOURCE_CLIENTS_MAX] : NULL;
    list_init(&channel->job.link);
    channel->due_us = now_us;
    channel->since_us = now_us;
    channel->now = (struct reading){ .state = READING_ABSENT };
    list_init(&channel->link);
    return channel;
}

static bool is_passed_over(const struct channel *channel)
{
    return channel->facts.rank == SOURCE_PASSED_OVER;
}

/* Does watching sottod have to hear of the difference? */
static bool differs(const struct source_facts *a, const struct source_facts *b)
{
    return a->rank != b->rank || a->passive_mc != b->passive_mc || a->critical_mc != b->critical_mc ||
           a->most != b->most || strcmp(a->path, b->path) != 0 || strcmp(a->why, b->why) != 0 ||
           strcmp(a->name, b->name) != 0 || a->is_mixed != b->is_mixed;
}

static bool same_devices(const struct sampler *sampler, const struct scan_result *scan_result)
{
    if (sampler->n_devices != scan_result->n_devices) {
        return false;
    }
    for (uint32_t i = 0; i < scan_result->n_devices; i++) {
        const struct device_facts *a = &sampler->devices[i];
        const struct device_facts *b = &scan_result->devices[i];

        if (a->minor != b->minor || a->has_display != b->has_display || a->is_ours != b->is_ours ||
            strcmp(a->driver, b->driver) != 0) {
            return false;
        }
    }
    return true;
}

/* The gauge of @facts, new or known, at the end of the list. */
static int take_facts(struct sampler *sampler, const struct source_facts *facts, uint64_t now_us)
{
    struct channel *channel = find_channel(sampler, facts->source);

    if (!channel) {
        channel = make_channel(sampler, facts, now_us);
        if (!channel) {
            return err_new(-ENOMEM);
        }
        sampler->has_changed = true;
    } else if (differs(&channel->facts, facts)) {
        sampler->has_changed = true;
    }
    channel->facts = *facts;
    channel->is_named = true;
    list_remove(&channel->link);
    list_append(&sampler->channels, &channel->link);
    return 0;
}

static void choose(struct sampler *sampler, uint64_t now_us);

int sampler_take_scan(struct sampler *sampler, const struct scan_result *scan_result, uint64_t now_us)
{
    struct list *link;
    int r = 0;

    list_for_each (link, &sampler->channels) {
        container_of(link, struct channel, link)->is_named = false;
    }
    for (uint32_t i = 0; i < scan_result->n_sources && r == 0; i++) {
        r = take_facts(sampler, &scan_result->sources[i], now_us);
    }
    sampler->has_changed = sampler->has_changed || !same_devices(sampler, scan_result);
    memcpy(sampler->devices, scan_result->devices, sizeof(sampler->devices));
    sampler->n_devices = scan_result->n_devices;
    choose(sampler, now_us);
    return r ? err_up(r) : 0;
}

/* ---- which one is in use */

static bool is_ok(const struct channel *channel)
{
    return channel->was_read && channel->now.state == READING_OK;
}

/* May it be the one that decides? One that was never read may, as long as nobody is better. */
static bool is_candidate(const struct channel *channel, enum reading_quantity quantity)
{
    return channel->facts.quantity == quantity && !is_passed_over(channel);
}

/* Better: first what is OK, then what at least is there, then the rank. */
static int standing(const struct channel *channel)
{
    if (is_ok(channel)) {
        return 0;
    }
    return !channel->was_read || channel->now.state != READING_ABSENT ? 1 : 2;
}

static bool is_better(const struct channel *channel, const struct channel *than)
{
    if (!than || standing(channel) != standing(than)) {
        return !than || standing(channel) < standing(than);
    }
    return channel->facts.rank < than->facts.rank;
}

/*
 * The one in use stays for a while if it fails, and while a better one may fail again. In the beginning, when none has
 * been OK for long, the better one is taken at once: it needed its first interval.
 */
static bool is_settling(const struct channel *now, const struct channel *best, uint64_t now_us)
{
    uint64_t lasted_us = now_us - now->since_us;

    if (!now->was_ok || (is_ok(now) && lasted_us < SAMPLER_SETTLE_US)) {
        return false;
    }
    return (is_ok(now) && best ? now_us - best->since_us : lasted_us) < SAMPLER_SETTLE_US;
}

static void choose_one(struct sampler *sampler, enum reading_quantity quantity, uint64_t now_us)
{
    struct channel *now = NULL;
    struct channel *best = NULL;
    struct list *link;

    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);

        if (channel->facts.quantity == quantity && channel->in_use) {
            now = channel;
        }
        if (is_candidate(channel, quantity) && is_better(channel, best)) {
            best = channel;
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
    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);
        bool counts = !is_passed_over(channel);

        if (channel->facts.all_count && channel->in_use != counts) {
            channel->in_use = counts;
            sampler->has_changed = true;
        }
    }
}

/* ---- when */

static bool is_load(const struct channel *channel)
{
    return channel->facts.quantity == READING_GRAPHICS_LOAD || channel->facts.quantity == READING_COMPUTE_LOAD;
}

static uint32_t heat_period_ms(const struct channel *channel)
{
    int32_t trip =
        channel->facts.passive_mc < channel->facts.critical_mc ? channel->facts.passive_mc : channel->facts.critical_mc;
    int64_t room_mc = (int64_t)trip - channel->now.value;

    if (trip == INT32_MAX || !channel->was_read || room_mc > WARM_MC) {
        return SAMPLER_IDLE_MS;
    }
    return room_mc > HOT_MC ? WARM_MS : HOT_MS;
}

/* Its first look was no interval yet: the second need not wait until somebody works, for whom it would come late. */
static bool is_early(const struct channel *channel)
{
    return channel->was_read && !channel->is_overdue && channel->now.state == READING_STALE && channel->now.at_us == 0;
}

static uint32_t period_ms(const struct sampler *sampler, const struct channel *channel)
{
    uint32_t period = channel->facts.slow_ms < SAMPLER_IDLE_MS ? channel->facts.slow_ms : SAMPLER_IDLE_MS;

    if (is_load(channel) && is_early(channel)) {
        return period > sampler->least_ms ? period : sampler->least_ms;
    }
    if (is_load(channel)) {
        period = channel->in_use ? sampler->rate_ms : SAMPLER_IDLE_MS;
    } else if (channel->facts.quantity == READING_TEMPERATURE) {
        period = heat_period_ms(channel);
    }
    if (sampler->rate_ms >= SAMPLER_IDLE_MS && period < SAMPLER_IDLE_MS) {
        return SAMPLER_IDLE_MS;
    }
    return period > sampler->rate_ms ? period : sampler->rate_ms;
}

void sampler_set_rate(struct sampler *sampler, uint32_t rate_ms, uint64_t now_us)
{
    struct list *link;

    rate_ms = rate_ms < SAMPLER_FASTEST_MS ? SAMPLER_FASTEST_MS : rate_ms;
    rate_ms = rate_ms > SAMPLER_IDLE_MS ? SAMPLER_IDLE_MS : rate_ms;
    if (rate_ms == sampler->rate_ms) {
        return;
    }
    sampler->rate_ms = rate_ms;
    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);
        uint64_t period_us = period_ms(sampler, channel) * UINT64_C(1000);

        /* Sooner if it shall be faster; a slower pace begins with the next reading. */
        if (channel->due_us > now_us + period_us) {
            channel->due_us = now_us + period_us;
        }
    }
}

void sampler_wake(struct sampler *sampler, uint64_t now_us)
{
    struct list *link;

    list_for_each (link, &sampler->channels) {
        container_of(link, struct channel, link)->due_us = now_us;
    }
}

void sampler_hurry(struct sampler *sampler, uint64_t now_us)
{
    struct list *link;

    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);

        if (channel->facts.quantity == READING_TEMPERATURE || channel->facts.quantity == READING_THROTTLE ||
            channel->facts.quantity == READING_POWER) {
            channel->due_us = now_us;
        }
    }
}

/* ---- readings */

/* It was asked and says nothing: what it said last grows old. */
static void mark_overdue(struct channel *channel, uint64_t now_us)
{
    if (channel->is_overdue) {
        return;
    }
    channel->is_overdue = true;
    channel->is_new = true;
    channel->since_us = is_ok(channel) ? now_us : channel->since_us;
    channel->was_read = true;
    channel->now.state = READING_STALE;
    label_format(channel->now.why, sizeof(channel->now.why), "it does not answer");
    log_debug("sensor", "%s does not answer", channel->facts.name);
}

static void submit(struct sampler *sampler, struct channel *channel, uint64_t now_us)
{
    uint64_t period_us = period_ms(sampler, channel) * UINT64_C(1000);
    uint64_t behind = now_us - channel->due_us;

    channel->due_us += (behind / period_us + 1) * period_us;
    if (readers_submit(sampler->readers, &channel->job, now_us)) {
        mark_overdue(channel, now_us); /* no thread for it */
    }
}

uint64_t sampler_step(struct sampler *sampler, uint64_t now_us)
{
    uint64_t next_us = now_us + SAMPLER_IDLE_MS * UINT64_C(1000);
    struct list *link;

    list_for_each (link, &sampler->channels) {
        struct channel *channel = container_of(link, struct channel, link);

        if (is_passed_over(channel)) {
            continue;
        }
        if (channel->job.submitted_us) {
            if (readers_is_overdue(sampler->readers, &channel->job, now_us, SAMPLER_OVERDUE_US)) {
                mark_overdue(channel, now_us);
            } else if (channel->job.submitted_us + SAMPLER_OVERDUE_US < next_us) {
                next_us = channel->job.submitted_us + SAMPLER_OVERDUE_US;
            }
            continue;
        }
        if (channel->due_us <= now_us) {
            submit(sampler, channel, now_us);
        }
        next_us = channel->due_us < next_us ? channel->due_us : next_us;
    }
    return next_us > now_us ? next_us : now_us + 1000;
}

static void take_reading(struct sampler *sampler, struct channel *channel, uint64_t now_us)
{
    const struct reading *fresh = &channel->job.reading;
    bool was_ok = is_ok(channel);

    channel->now = *fresh;
    channel->was_read = true;
    channel->is_new = true;
    channel->is_overdue = false;
    channel->was_ok = channel->was_ok || is_ok(channel);
    channel->n_clients = channel->job.n_clients;
    if (channel->n_clients) {
        memcpy(channel->clients, channel->job.clients, channel->n_clients * sizeof(channel->clients[0]));
    }
    if (is_ok(channel) != was_ok) {
        channel->since_us = now_us;
    }
    if (is_load(channel) && is_early(channel)) {
        uint64_t soon_us = now_us + period_ms(sampler, channel) * UINT64_C(1000);

        channel->due_us = soon_us < channel->due_us ? soon_us : channel->due_us;
    }
}

bool sampler_collect(struct sampler *sampler, uint64_t now_us)
{
    struct read_job *job;
    bool any = false;

    while ((job = readers_take(sampler->readers))) {
        struct channel *channel = container_of(job, struct channel, job);

        job->submitted_us = 0;
        take_reading(sampler, channel, now_us);
        any = true;
    }
    if (any) {
        choose(sampler, now_us);
    }
    return any;
}

bool sampler_is_pending(const struct sampler *sampler)
{
    struct list *link;

    list_for_each (link, &sampler->channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->job.submitted_us && !channel->is_overdue) {
            return true;
        }
    }
    return false;
}
