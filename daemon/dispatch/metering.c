/*
 * Metering: who of a step's requests took how much, and what that does to their budgets.
 */
#include "base/clock.h"
#include "base/num.h"
#include "dispatch/dispatcher_part.h"
#include "dispatch/governor_loop.h"
#include "registry/models.h"

void metering_read(struct hub *hub, uint64_t now_us)
{
    struct governor_loop *governor_loop = &hub->governor_loop;
    uint64_t held_us = 0;
    uint64_t at_us;
    uint64_t uj;

    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        held_us += governor_loop_held_us(hub, (enum processor)i, now_us);
    }
    if (machine_watch_energy(hub->watch, now_us, &at_us, &uj)) {
        governor_loop->has_meter = true;
        energy_read(&governor_loop->energy, at_us, uj, held_us);
    } else if (governor_loop->has_meter) {
        governor_loop->has_meter = false;
        energy_lose_meter(&governor_loop->energy);
    }
}

/* The entry's part of the step, by what its rows cost. */
static double part_of(const struct engine_queue *eq, const struct plan_entry *entry)
{
    struct cost_load load = { .n = { 0 } };

    load.n[COST_PREFILL_ROW] = entry->n_prefill;
    load.n[COST_DECODE_ROW] = entry->n_prefill ? 0 : entry->n_rows;
    load.n[COST_ATTEND_PAGE] = plan_pages(entry->job, entry->n_rows, eq->page_tokens);
    return cost_of(&eq->cost, &load);
}

static void charge(struct hub *hub, struct stream *stream, uint64_t uj, enum energy_source source, uint64_t boot_us)
{
    struct usage *usage = usage_table_get(&hub->governor_loop.usage_table, stream->grant.uid);
    uint32_t budget = stream->grant.energy_a_minute;

    stream->energy_uj += uj;
    stream->energy_source = energy_sum_source(stream->energy_source, source);
    if (usage) {
        usage_charge(usage, uj, source, budget, boot_us);
        stream->job.account->rest_until_us =
            num_max(stream->job.account->rest_until_us, boot_us + usage_wait_us(usage, budget, boot_us));
    }
}

void metering_charge(struct hub *hub, const struct dispatch_step *step)
{
    struct job *jobs[PLAN_ENTRIES];
    double parts[PLAN_ENTRIES];
    uint64_t shares[PLAN_ENTRIES];
    enum energy_source source;
    uint64_t uj = energy_charge(&hub->governor_loop.energy, step->held_us, &source);
    uint64_t boot_us = clock_boot_us();
    size_t n = 0;

    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job) { /* who was forgotten meanwhile leaves it to the others */
            jobs[n] = step->plan.entries[i].job;
            parts[n++] = part_of(step->eq, &step->plan.entries[i]);
        }
    }
    if (n == 0 || source == ENERGY_UNKNOWN) {
        return;
    }
    energy_divide(uj, parts, n, shares);
    for (size_t i = 0; i < n; i++) {
        charge(hub, dispatcher_stream_of(jobs[i]), shares[i], source, boot_us);
    }
}

void metering_count(struct stream *stream, uint32_t n_tok)
{
    struct usage *usage = usage_table_get(&stream->hub->governor_loop.usage_table, stream->grant.uid);

    if (usage) {
        usage->n_tok += n_tok;
    }
}

void metering_refused(struct hub *hub, uint32_t uid)
{
    struct usage *usage = usage_table_get(&hub->governor_loop.usage_table, uid);

    if (usage) {
        usage->n_refused++;
    }
}

uint64_t metering_wait_us(struct hub *hub, const struct grant *grant, uint64_t boot_us)
{
    struct usage *usage = usage_table_get(&hub->governor_loop.usage_table, grant->uid);

    return usage ? usage_wait_us(usage, grant->energy_a_minute, boot_us) : 0;
}
