/*
 * What Status tells of the governor and the accounts.
 */
#include "base/clock.h"
#include "base/err.h"
#include "hub/hub_state.h"
#include "stream/report.h"
#include <errno.h>
#include <string.h>

static const char *const place_names[PROCESSOR_COUNT] = {
    [PROCESSOR_GPU] = "device",
    [PROCESSOR_CPU] = "cores",
};

static const Sotto__V1__PriorityClass classes[PRIORITY_COUNT] = {
    [PRIORITY_BACKGROUND] = SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND,
    [PRIORITY_INTERACTIVE] = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
    [PRIORITY_REALTIME] = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME,
};

static char *copy(struct arena *arena, const char *text)
{
    size_t n = strlen(text) + 1;
    char *same = arena_alloc(arena, n);

    return same ? memcpy(same, text, n) : NULL;
}

static int fill_place(const struct hub *hub, enum processor place, uint64_t now_us, struct arena *arena,
                      Sotto__V1__GovernorInfo *ret_info)
{
    struct governor_limits limits;
    uint64_t since_us;

    governor_show(&hub->governor_loop.governor, place, &limits, &since_us);
    *ret_info = (Sotto__V1__GovernorInfo)SOTTO__V1__GOVERNOR_INFO__INIT;
    ret_info->place = copy(arena, place_names[place]);
    ret_info->mode = copy(arena, governor_mode_name(limits.mode));
    ret_info->cause = copy(arena, governor_cause_name(limits.cause));
    ret_info->slice_us = limits.slice_us;
    ret_info->duty_permille = limits.duty_permille;
    ret_info->rows = limits.n_rows;
    ret_info->class_gate = classes[limits.class_gate];
    ret_info->since_ms = (now_us - since_us) / 1000;
    ret_info->changes = hub->governor_loop.governor.n_changes;
    ret_info->held_us = hub->governor_loop.held_us[place]; /* never falls: the slice that runs is not in it */
    ret_info->slices = hub->governor_loop.n_slices[place];
    return ret_info->place && ret_info->mode && ret_info->cause ? 0 : err_new(-ENOMEM);
}

static int fill_governor(const struct hub *hub, struct arena *arena, Sotto__V1__StatusReport *report)
{
    Sotto__V1__GovernorInfo *infos = arena_alloc(arena, PROCESSOR_COUNT * sizeof(*infos));
    Sotto__V1__GovernorInfo **list = arena_alloc(arena, PROCESSOR_COUNT * sizeof(*list));
    uint64_t now_us = clock_mono_us();

    if (!infos || !list) {
        return err_new(-ENOMEM);
    }
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        if (fill_place(hub, (enum processor)i, now_us, arena, &infos[i])) {
            return err_new(-ENOMEM);
        }
        list[i] = &infos[i];
    }
    report->governor = list;
    report->n_governor = PROCESSOR_COUNT;
    return 0;
}

static int fill_accounts(const struct hub *hub, const struct grant *grant, struct arena *arena,
                         Sotto__V1__StatusReport *report)
{
    size_t most = hub->streams.usage_table.by_uid.n;
    Sotto__V1__AccountInfo *infos = arena_alloc(arena, most * sizeof(*infos) + 1);
    Sotto__V1__AccountInfo **list = arena_alloc(arena, most * sizeof(*list) + 1);
    const struct usage *usage;
    size_t at = 0;
    size_t n = 0;

    if (!infos || !list) {
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
        list[n] = &infos[n];
        n++;
    }
    report->accounts = list;
    report->n_accounts = n;
    return 0;
}

int hub_governor_fill(const struct hub *hub, const struct grant *grant, struct arena *arena,
                      Sotto__V1__StatusReport *report)
{
    int r = fill_governor(hub, arena, report);

    r = r ? r : fill_accounts(hub, grant, arena, report);
    return err_up(r);
}
