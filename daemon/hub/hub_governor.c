/*
 * The part of a status report on the governor and the accounts.
 */
#include "base/clock.h"
#include "base/err.h"
#include "dispatch/governor_report.h"
#include "hub/hub_arena.h"
#include "hub/hub_state.h"
#include "stream/report.h"
#include <errno.h>

static void fill_processor(const struct hub *hub, enum processor processor, const struct grant *grant, uint64_t now_us,
                           struct arena *arena, Sotto__V1__GovernorInfo *ret_info)
{
    struct governor_limits limits;
    uint64_t since_us;

    governor_show(&hub->governor_loop.governor, processor, &limits, &since_us);
    *ret_info = (Sotto__V1__GovernorInfo)SOTTO__V1__GOVERNOR_INFO__INIT;
    ret_info->processor = hub_arena_copy(arena, governor_report_processor(processor));
    ret_info->mode = hub_arena_copy(arena, governor_mode_name(limits.mode));
    ret_info->cause = hub_arena_copy(arena, governor_cause_name(limits.cause));
    ret_info->slice_us = limits.slice_us;
    ret_info->duty_permille = limits.duty_permille;
    ret_info->rows = limits.n_rows;
    ret_info->class_gate = stream_class_of(limits.class_gate);
    ret_info->since_ms = (now_us - since_us) / 1000;
    ret_info->changes = hub->governor_loop.governor.n_changes;
    if (grant->observe) {
        ret_info->held_us = hub->governor_loop.held_us[processor]; /* never falls: the slice that runs is not in it */
        ret_info->slices = hub->governor_loop.n_slices[processor];
    }
}

static int fill_governor(const struct hub *hub, const struct grant *grant, struct arena *arena,
                         Sotto__V1__StatusReport *report)
{
    uint64_t now_us = clock_mono_us();
    Sotto__V1__GovernorInfo *infos;
    void **list;

    infos = hub_arena_list(arena, PROCESSOR_COUNT, sizeof(*infos), &list);
    if (!infos) {
        return err_new(-ENOMEM);
    }
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        fill_processor(hub, (enum processor)i, grant, now_us, arena, &infos[i]);
    }
    report->governor = (Sotto__V1__GovernorInfo **)list;
    report->n_governor = PROCESSOR_COUNT;
    return arena->exceeded ? err_new(-ENOMEM) : 0;
}

static int fill_accounts(const struct hub *hub, const struct grant *grant, struct arena *arena,
                         Sotto__V1__StatusReport *report)
{
    const struct usage *usage;
    Sotto__V1__AccountInfo *infos;
    void **list;
    size_t at = 0;
    size_t n = 0;

    infos = hub_arena_list(arena, hub->streams.usage_table.by_uid.n, sizeof(*infos), &list);
    if (!infos) {
        return err_new(-ENOMEM);
    }
    while ((usage = usage_table_next(&hub->streams.usage_table, &at))) {
        if (usage->uid != grant->uid && !grant->observe) {
            continue;
        }
        infos[n] = (Sotto__V1__AccountInfo)SOTTO__V1__ACCOUNT_INFO__INIT;
        infos[n].uid = usage->uid;
        infos[n].tokens = usage->n_tok;
        infos[n].energy_uj = usage->energy_uj;
        infos[n].energy_source = report_energy_source(usage->source);
        infos[n].requests = streams_count_live(&hub->streams, usage->uid);
        infos[n].refused = usage->n_refused;
        n++;
    }
    report->accounts = (Sotto__V1__AccountInfo **)list;
    report->n_accounts = n;
    return 0;
}

int hub_governor_fill(const struct hub *hub, const struct grant *grant, struct arena *arena,
                      Sotto__V1__StatusReport *report)
{
    int r = fill_governor(hub, grant, arena, report);

    r = r ? r : fill_accounts(hub, grant, arena, report);
    return err_up(r);
}
