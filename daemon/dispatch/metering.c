#include "dispatch/metering.h"
#include "base/clock.h"
#include "base/num.h"

void metering_init(struct metering *metering, const struct energy_stated *stated)
{
    *metering = (struct metering){ .has_meter = false };
    energy_init(&metering->energy, stated);
}

void metering_read(struct metering *metering, const struct machine_watch *watch, uint64_t now_us, uint64_t held_us)
{
    uint64_t at_us;
    uint64_t uj;

    if (machine_watch_energy(watch, now_us, &at_us, &uj)) {
        metering->has_meter = true;
        energy_read(&metering->energy, at_us, uj, held_us);
    } else if (metering->has_meter) {
        metering->has_meter = false;
        energy_lose_meter(&metering->energy);
    }
}

/* Returns the entry's part of the step, by what its rows cost. */
static double part_of(const struct engine_queue *eq, const struct plan_entry *entry)
{
    struct cost_load load = { .n = { 0 } };

    load.n[COST_PREFILL_ROW] = entry->n_prefill;
    load.n[COST_DECODE_ROW] = entry->n_prefill ? 0 : entry->n_rows;
    load.n[COST_ATTEND_PAGE] = plan_pages(entry->job, entry->n_rows, eq->page_tokens);
    return cost_of(&eq->cost, &load);
}

static void charge(struct stream *stream, uint64_t uj, enum energy_source source, uint64_t boot_us)
{
    struct usage *usage = usage_table_get(&stream->streams->usage_table, stream->grant.uid);
    struct account *account = stream->job.account;
    uint32_t budget = stream->grant.energy_a_minute;

    stream->usage.energy_uj += uj;
    stream->usage.energy_source = energy_sum_source(stream->usage.energy_source, source);
    if (usage) {
        usage_charge(usage, uj, source, budget, boot_us);
        account->rest_until_us = num_max(account->rest_until_us, boot_us + usage_wait_us(usage, budget, boot_us));
    }
}

void metering_charge(struct metering *metering, const struct dispatch_step *step)
{
    struct job *jobs[PLAN_ENTRIES];
    double parts[PLAN_ENTRIES];
    uint64_t shares[PLAN_ENTRIES];
    enum energy_source source;
    uint64_t uj = energy_charge(&metering->energy, step->held_us, &source);
    uint64_t boot_us = clock_boot_us();
    size_t n = 0;

    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job) { /* the share of a job that was forgotten meanwhile falls to the others */
            jobs[n] = step->plan.entries[i].job;
            parts[n++] = part_of(step->eq, &step->plan.entries[i]);
        }
    }
    if (n == 0 || source == ENERGY_UNKNOWN) {
        return;
    }
    energy_divide(uj, parts, n, shares);
    for (size_t i = 0; i < n; i++) {
        charge(stream_of(jobs[i]), shares[i], source, boot_us);
    }
}

void metering_count(struct stream *stream, uint32_t n_tok)
{
    struct usage *usage = usage_table_get(&stream->streams->usage_table, stream->grant.uid);

    if (usage) {
        usage->n_tok += n_tok;
    }
}
