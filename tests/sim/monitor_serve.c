/*
 * Judges requests: when they were served, and whether promises were kept.
 */
#include "base/clean.h"
#include "base/num.h"
#include "chart.h"
#include "monitor.h"
#include "plant/dram.h"
#include <assert.h>

#define TICK_S 0.02

/* Accounts that always have work differ from their weights by no more, over ten seconds. */
#define FAIR_PERCENT 5.0
#define PROGRESS_S   5.0
/* Blind to heat: a tenth, as the governor allows, and one slice in a second. */
#define BLIND_PERMILLE 110.0
/* Part of the time until a deadline that requests of higher classes may be in progress that came after it was promised.
 * Margins are a quarter of the estimate. */
#define LATER_PART 0.1
/* Grace times unless policy sets others, as documented. */
#define HEAT_GRACE_MS 3000
#define LOAD_GRACE_MS 1000
/* After the grace time: a tick, and what was running. */
#define BLIND_SETTLES_MS 400
/* Only our own heat shows that a sensor is stuck: it stood still until it was asked, and had time to answer. */
#define STUCK_FOUND_MS 110000
#define COST_FROM      200u
#define CLOCK_STEPS    10u
#define COST_PART      0.25

/* How long a realtime arrival waits for the end of an unbounded step. */
#define SLICE_US 5000.0

/* ---- shares */

struct monitor_account *monitor_account_of(struct monitor *monitor, const struct request *request)
{
    uint32_t uid = request->job.account->uid;

    for (size_t i = 0; i < MONITOR_ACCOUNTS; i++) {
        struct monitor_account *account = &monitor->accounts[i];

        if (account->uid == 0) {
            account->uid = uid;
            account->weight = request->weight;
            account->engine = (uint32_t)(request->job.eq - monitor->server->eqs);
        }
        if (account->uid == uid) {
            return account;
        }
    }
    return NULL;
}

static void judge_shares(struct monitor *monitor)
{
    double served = 0.0;
    double weights = 0.0;

    for (size_t i = 0; i < MONITOR_ACCOUNTS && monitor->accounts[i].uid != 0; i++) {
        const struct monitor_account *account = &monitor->accounts[i];

        served += (double)(account->past[monitor->second % MONITOR_SECONDS] -
                           account->past[(monitor->second + 1) % MONITOR_SECONDS]);
        weights += account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL;
    }
    for (size_t i = 0; i < MONITOR_ACCOUNTS && monitor->accounts[i].uid != 0 && served > 0.0; i++) {
        const struct monitor_account *account = &monitor->accounts[i];
        double mine = (double)(account->past[monitor->second % MONITOR_SECONDS] -
                               account->past[(monitor->second + 1) % MONITOR_SECONDS]);
        double due = served * (account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL) / weights;
        double off = mine > due ? mine - due : due - mine;

        if (monitor->scenario->n_engines > 1) {
            /* Models alternate in whole steps. */
            off = off > (double)account->n_step_most ? off - (double)account->n_step_most : 0.0;
        }
        off = 100.0 * off / due;
        tally_add(&monitor->tallies, INVARIANT_FAIR, off, off > FAIR_PERCENT, monitor_now_s(monitor));
    }
}

/* Returns the tokens of @account at weight 1. */
static double share_of(const struct monitor_account *account)
{
    return (double)account->n_served / (account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL);
}

/* Returns how far one account may be ahead of another for what can't be cut: its longest request, at each of its
 * slots, and one more that has just got one. */
static double uncut_of(const struct monitor *monitor, const struct monitor_account *account)
{
    return account->n_longest * (monitor->scenario->engines[account->engine].slots + 1.0) /
           (account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL);
}

/*
 * Where slots are few, ten seconds can be one answer. What holds over any time, ten seconds or an hour, is the bound of
 * start-time fair queueing (Goyal, Vin and Cheng 1996, theorem 1): no account gets ahead of another, by weight, by more
 * than what of both can't be cut.
 */
static void judge_leads(struct monitor *monitor)
{
    for (size_t i = 0; i < MONITOR_LEADS && monitor->accounts[i].uid != 0; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct monitor_account *a = &monitor->accounts[i];
            const struct monitor_account *b = &monitor->accounts[k];
            struct monitor_lead *lead = &monitor->leads[i][k];
            double now = share_of(a) - share_of(b);
            double times;

            if (a->engine != b->engine) {
                continue; /* what one model can't use goes to the other */
            }
            lead->least = lead->has_begun && lead->least < now ? lead->least : now;
            lead->most = lead->has_begun && lead->most > now ? lead->most : now;
            lead->has_begun = true;
            times = (lead->most - lead->least) / (uncut_of(monitor, a) + uncut_of(monitor, b));
            tally_add(&monitor->tallies, INVARIANT_LEAD, times, times > 1.0, monitor_now_s(monitor));
        }
    }
}

/* ---- blindness */

/* Returns since when a sensor of @kind has been gone; 0: it is not. */
static uint64_t gone_since_ns(const struct monitor *monitor, enum mishap kind)
{
    for (int64_t i = 0; i < monitor->scenario->n_mishaps && monitor->sensors->is_gone[kind]; i++) {
        const struct scenario_mishap *mishap = &monitor->scenario->mishaps[i];

        if (mishap->kind == (int64_t)kind) {
            return (uint64_t)mishap->at_ms * TIMELINE_MS;
        }
    }
    return 0;
}

/* True if the last second was wholly after the grace time of @kind and what was running then. */
static bool was_blind(const struct monitor *monitor, enum mishap kind, uint64_t grace_ms)
{
    uint64_t since_ns = gone_since_ns(monitor, kind);

    return since_ns > 0 &&
           monitor->timeline->now_ns >= since_ns + (grace_ms + BLIND_SETTLES_MS) * TIMELINE_MS + TIMELINE_S;
}

/* True if heat counts as blind although the zone is read well. */
static bool is_taken_for_stuck(const struct monitor *monitor)
{
    return monitor->scenario->n_mishaps == 0 && monitor->server->governor.heat.zones[0].stuck.is_stuck;
}

/* Judges the last second; @share is in permille of it. */
static void judge_blind(struct monitor *monitor, double share)
{
    const struct scenario_policy *policy = &monitor->scenario->policy;
    uint64_t heat_ms = policy->heat_grace_ms > 0 ? (uint64_t)policy->heat_grace_ms : HEAT_GRACE_MS;
    uint64_t load_ms = policy->graphics_grace_ms > 0 ? (uint64_t)policy->graphics_grace_ms : LOAD_GRACE_MS;
    const struct scenario_sense *sense = &monitor->scenario->sense;
    bool is_hot = was_blind(monitor, MISHAP_HEAT_GONE, heat_ms) || was_blind(monitor, MISHAP_HEAT_FROZEN, heat_ms) ||
                  was_blind(monitor, MISHAP_HEAT_NONSENSE, heat_ms) ||
                  was_blind(monitor, MISHAP_HEAT_STUCK, STUCK_FOUND_MS);
    bool is_busy = was_blind(monitor, MISHAP_LOAD_GONE, load_ms);

    if (is_taken_for_stuck(monitor)) {
        tally_add(&monitor->tallies, INVARIANT_BLIND, 1000.0, true, monitor_now_s(monitor));
    }
    if (monitor->scenario->policy.min_share_permille > 0) {
        return; /* policy leaves voice a share, whatever is not seen */
    }
    if (is_busy && sense->has_load && !monitor->scenario->chip.cores) {
        tally_add(&monitor->tallies, INVARIANT_BLIND, share, share > 0.0, monitor_now_s(monitor));
    } else if (is_hot && sense->has_heat) {
        tally_add(&monitor->tallies, INVARIANT_BLIND, share, share > BLIND_PERMILLE, monitor_now_s(monitor));
    }
}

/* ---- once a second, and 50 times */

static void take_second(struct monitor *monitor)
{
    double ours_ns = 0.0;

    for (size_t i = 0; i < MONITOR_ACCOUNTS; i++) {
        monitor->accounts[i].past[monitor->second % MONITOR_SECONDS] = monitor->accounts[i].n_served;
    }
    /* In the first seconds all clients arrive. */
    if (monitor->second >= MONITOR_SECONDS + 2 && !monitor->server->is_closed) {
        if (monitor->scenario->run.family == FAMILY_FAIR || monitor->scenario->run.family == FAMILY_TWINS) {
            judge_shares(monitor);
        } else if (monitor->scenario->run.family == FAMILY_SHARE || monitor->scenario->run.family == FAMILY_LOSSES) {
            judge_leads(monitor);
        }
    }
    for (int64_t i = 0; i < monitor->scenario->n_engines; i++) {
        ours_ns += engine_held_ns(&monitor->server->engines[i]);
    }
    monitor_use_second(monitor, ours_ns - monitor->busy_ns);
    judge_blind(monitor, (ours_ns - monitor->busy_ns) / 1e6);
    monitor->busy_ns = ours_ns;
    monitor->second++;
}

bool monitor_is_ready(const struct monitor *monitor, const struct job *job)
{
    return (job->state == JOB_ASSIGNED || job->state == JOB_WAITING) && !job->parked && job->eq->open &&
           account_wait_us(job->account, job->limits.tokens_a_minute, monitor->timeline->now_ns / TIMELINE_US) == 0;
}

/* True if a job of @least to @most could run at @eq; NULL: at any engine. */
static bool has_ready(const struct monitor *monitor, enum priority least, enum priority most,
                      const struct engine_queue *eq)
{
    for (int priority = least; priority <= (int)most; priority++) {
        struct list *link;

        list_for_each (link, &monitor->server->queue.jobs[priority]) {
            const struct job *job = container_of(link, struct job, link);

            if ((!eq || job->eq == eq) && monitor_is_ready(monitor, job)) {
                return true;
            }
        }
    }
    return false;
}

bool monitor_is_troubled(const struct monitor *monitor)
{
    for (int64_t i = 0; i < monitor->scenario->n_engines; i++) {
        if (!monitor->server->engines[i].is_alive || monitor->server->engines[i].is_stalled) {
            return true;
        }
    }
    return false;
}

/* Counts the time in which background of one model could have run, but did not move. */
static void monitor_progress(struct monitor *monitor, uint32_t engine)
{
    const struct governor_limits *limits = server_limits(monitor->server);
    double *starved_s = &monitor->starved_s[engine];

    if (!has_ready(monitor, PRIORITY_BACKGROUND, PRIORITY_BACKGROUND, &monitor->server->eqs[engine]) ||
        monitor_is_troubled(monitor)) {
        *starved_s = 0.0;
        return;
    }
    if (!governor_lets_run(limits, PRIORITY_BACKGROUND)) {
        return;
    }
    *starved_s += TICK_S;
    tally_add(&monitor->tallies, INVARIANT_PROGRESS, *starved_s, *starved_s > PROGRESS_S, monitor_now_s(monitor));
}

/* True if something took time away that no admission could foresee: frames or work became longer, a sensor or an
 * engine was lost. What frees time is no excuse. */
static bool is_disturbed(const struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    uint64_t now_ns = monitor->timeline->now_ns;
    uint64_t before_ns = now_ns - num_min(now_ns, SENSORS_TICK_NS);
    bool found = monitor_is_troubled(monitor);

    for (int i = MISHAP_HEAT_GONE; i < MISHAP_COUNT; i++) {
        found = found || monitor->sensors->is_gone[i];
    }
    return found || gpu_clock_permille(scenario, now_ns) < gpu_clock_permille(scenario, before_ns) ||
           dram_stretch(scenario, now_ns) > dram_stretch(scenario, before_ns) ||
           gpu_load_permille(scenario, now_ns, GPU_BASE) + gpu_load_permille(scenario, now_ns, GPU_APP) >
               gpu_load_permille(scenario, before_ns, GPU_BASE) + gpu_load_permille(scenario, before_ns, GPU_APP);
}

void monitor_serve(struct monitor *monitor)
{
    if (is_disturbed(monitor)) {
        monitor->disturbed_ns = monitor->timeline->now_ns;
    }
    monitor_use(monitor, !monitor_is_troubled(monitor) &&
                             has_ready(monitor, server_limits(monitor->server)->class_gate, PRIORITY_REALTIME, NULL));
    if (monitor_is_troubled(monitor)) {
        monitor->troubled_until_ns = monitor->timeline->now_ns + 5 * TIMELINE_S;
    }
    for (uint32_t i = 0; i < monitor->scenario->n_engines; i++) {
        monitor_progress(monitor, i);
    }
    monitor_streams(monitor);
    if (monitor->timeline->now_ns >= monitor->second * TIMELINE_S) {
        take_second(monitor);
    }
}

/* ---- requests */

void monitor_on_asked(struct monitor *monitor, const struct request *request)
{
    struct monitor_account *account = monitor_account_of(monitor, request);
    uint64_t n_most = 0;

    for (int64_t i = 0; i < monitor->scenario->n_clients; i++) {
        n_most += (uint64_t)num_max(1, (uint64_t)monitor->scenario->clients[i].n_uids) * SERVER_STREAMS;
    }
    if (!monitor->server->is_unscheduled) {
        tally_add(&monitor->tallies, INVARIANT_QUEUE, (double)monitor->server->n_live,
                  monitor->server->n_live > n_most || request->job.account->n_waiting > SERVER_WAITING,
                  monitor_now_s(monitor));
    }
    if (account) {
        account->n_longest = (uint32_t)num_max(account->n_longest, request->job.n_prompt + request->n_answer);
    }
    if (request->job.priority == PRIORITY_REALTIME && ++monitor->n_realtime > 1) {
        monitor->realtime_mixed_ns = monitor->timeline->now_ns;
    }
    monitor_log(monitor,
                "request %llu: uid %u, class %d, engine %d, prompt %u (%u cached), answer %u, first by %llu, "
                "done by %llu",
                (unsigned long long)request->job.order, request->job.account->uid, (int)request->job.priority,
                (int)(request->job.eq - monitor->server->eqs), request->job.n_prompt, request->n_cached,
                request->n_answer, (unsigned long long)request->first_by_us, (unsigned long long)request->finish_by_us);
    chart_queue(monitor->chart, monitor->timeline->now_ns, monitor->server->n_live);
}

void monitor_on_served(struct monitor *monitor, struct request *request, uint32_t n)
{
    struct monitor_account *account = monitor_account_of(monitor, request);

    if (account) {
        account->n_step = account->step_ns == monitor->timeline->now_ns ? account->n_step + n : n;
        account->n_step_most = num_max(account->n_step_most, account->n_step);
        account->step_ns = monitor->timeline->now_ns;
        account->n_served += n;
        monitor_spend(monitor, account, request, n);
    }
    if (request->job.priority == PRIORITY_BACKGROUND && n > 0) {
        /* Also in a step of a higher class. */
        monitor->starved_s[request->job.eq - monitor->server->eqs] = 0.0;
    }
    if (n > 0) {
        monitor_stream_on_served(request);
    }
    chart_tokens(monitor->chart, monitor->timeline->now_ns, n, request->job.priority);
}

/* Returns the steps that its prompt is cut into: by the engine's rows, and by how long a step should be at the clock
 * of that time. */
static uint32_t n_steps_of(const struct monitor *monitor, const struct request *request)
{
    const struct engine_queue *eq = request->job.eq;
    const struct scenario_engine *family = &monitor->scenario->engines[eq - monitor->server->eqs];
    uint32_t n_rows = request->job.n_prompt - request->n_cached;
    double target_ns = plan_target_ns(eq, monitor_limits_at(monitor, request->asked_ns));
    double clock = (double)gpu_clock_permille(monitor->scenario, request->asked_ns) / 1000.0;
    double room_ns = target_ns * clock - (double)family->fixed_us * 1000.0;
    double row_ns =
        (double)family->prefill_ns + (double)family->attend_ns * (double)request->job.n_prompt / eq->page_tokens;
    uint32_t n_a_step = PLAN_PIECE_ROWS;

    if (room_ns > row_ns * PLAN_PIECE_ROWS) {
        n_a_step = (uint32_t)(room_ns / row_ns);
    }
    n_a_step = (uint32_t)num_min(n_a_step, eq->n_rows);
    return (uint32_t)num_div_up(n_rows, n_a_step);
}

/* Returns the time of its own prompt, in the plan's steps, at the full clock. */
static double own_ns(const struct monitor *monitor, const struct request *request)
{
    const struct engine_queue *eq = request->job.eq;
    const struct scenario_engine *family = &monitor->scenario->engines[eq - monitor->server->eqs];
    uint32_t n_rows = request->job.n_prompt - request->n_cached;
    struct cost_load load = { 0 };

    load.n[COST_FIXED] = n_steps_of(monitor, request);
    load.n[COST_PREFILL_ROW] = n_rows;
    load.n[COST_ATTEND_PAGE] = plan_pages(&request->job, n_rows, eq->page_tokens);
    return engine_true_ns(family, &load) * (monitor->scenario->chip.slow_permille > 0 ? 2.0 : 1.0) *
           (1.05 + (double)monitor->scenario->chip.noise_permille / 1000.0);
}

double monitor_offered(const struct monitor *monitor, uint64_t at_ns)
{
    const struct scenario *scenario = monitor->scenario;
    const struct governor_limits *limits = monitor_limits_at(monitor, at_ns);
    double clock = (double)gpu_clock_permille(scenario, at_ns) / 1000.0;
    double drawn =
        (double)(gpu_load_permille(scenario, at_ns, GPU_BASE) + gpu_load_permille(scenario, at_ns, GPU_APP)) / 1000.0 /
        clock;

    if (drawn >= 1.0) {
        return 0.0;
    }
    drawn = scenario->chip.cores ? 0.0 : drawn;
    return limits->duty_permille / 1000.0 * (1.0 - drawn) * clock / dram_stretch(scenario, at_ns);
}

/*
 * Returns the time of the first token as a multiple of what it may take: one slice of another job (or
 * SLICE_US if unbounded) with a part, one frame that is drawn when it arrives, its own work, and a message
 * there and back for each slice and frame of that. It is measured not on the clock but in what the limits offered of
 * the chip meanwhile: a duty that falls while it waits excuses only itself.
 */
static double first_times(const struct monitor *monitor, const struct request *request)
{
    const struct scenario_chip *chip = &monitor->scenario->chip;
    double there_and_back_ns = (double)(2 * chip->latency_us + chip->submit_us) * TIMELINE_US;
    double waited_ns = (double)(request->first_ns - request->asked_ns);
    double period_ns = (double)monitor->gpu->period_ns;
    double own = own_ns(monitor, request);
    double n_messages = period_ns > 0.0 ? 4.0 + waited_ns / period_ns : 4.0;
    double had_ns = 0.0;
    uint32_t longest_us = 0;
    uint32_t shortest_us = UINT32_MAX;

    for (uint64_t at = request->asked_ns; at < request->first_ns; at += TIMELINE_MS) {
        uint32_t slice_us = monitor_limits_at(monitor, at)->slice_us;

        had_ns += (double)num_min(TIMELINE_MS, request->first_ns - at) * monitor_offered(monitor, at);
        longest_us = (uint32_t)num_max(longest_us, slice_us);
        shortest_us = slice_us > 0 ? (uint32_t)num_min(shortest_us, slice_us) : shortest_us;
    }
    n_messages += own / 1000.0 / shortest_us;
    return had_ns / (own + (longest_us > 0 ? longest_us : SLICE_US) * 1000.0 + (double)chip->part_us * 1000.0 +
                     (period_ns + n_messages * there_and_back_ns) * had_ns / waited_ns);
}

static void judge_first(struct monitor *monitor, const struct request *request)
{
    double times;

    if (request->job.priority != PRIORITY_REALTIME || monitor->realtime_mixed_ns > request->asked_ns ||
        monitor->n_realtime > 1 || monitor->troubled_until_ns > request->asked_ns) {
        return;
    }
    times = first_times(monitor, request);
    if (times > 1.0) {
        monitor_log(monitor, "request %llu: first token late: %.3f of what it may take",
                    (unsigned long long)request->job.order, times);
    }
    tally_add(&monitor->tallies, INVARIANT_FIRST, times, times > 1.0, monitor_now_s(monitor));
}

void monitor_on_token(struct monitor *monitor, struct request *request)
{
    monitor_judge_gap(monitor, request);
    monitor_log(monitor, "request %llu: token %u", (unsigned long long)request->job.order, request->n_tok);
    if (request->n_tok == 1) {
        uint64_t by_us = request->first_by_us;

        judge_first(monitor, request);
        monitor_judge_estimate(monitor, request);
        if (request->is_promised && by_us > 0 && monitor->disturbed_ns < request->asked_ns) {
            tally_add(&monitor->tallies, INVARIANT_DEADLINE,
                      ((double)(request->first_ns - request->asked_ns) / 1000.0) /
                          (double)(by_us - request->asked_ns / TIMELINE_US),
                      request->first_ns > by_us * TIMELINE_US, monitor_now_s(monitor));
        }
    }
}

/* True if requests of higher classes that came later took part of the time of @request: they come first, whatever was
 * promised below them. */
static bool is_overtaken(const struct monitor *monitor, const struct request *request)
{
    double since_s = (double)(monitor->timeline->now_ns - request->asked_ns) / (double)TIMELINE_S;

    return request->later_s > LATER_PART * since_s;
}

static void judge_end(struct monitor *monitor, const struct request *request, enum server_end how)
{
    uint64_t by_us = request->finish_by_us;
    double at_us = (double)(monitor->timeline->now_ns - request->asked_ns) / 1000.0;

    if (!request->is_promised || how == SERVER_CANCELLED || monitor->disturbed_ns >= request->asked_ns ||
        (how == SERVER_EXPIRED && is_overtaken(monitor, request))) {
        return;
    }
    if (how == SERVER_EXPIRED && request->n_tok == 0 && by_us == 0) {
        by_us = request->first_by_us; /* it never came */
    }
    if (by_us > 0 && (how != SERVER_DONE || request->finish_by_us > 0)) {
        tally_add(&monitor->tallies, INVARIANT_DEADLINE, at_us / (double)(by_us - request->asked_ns / TIMELINE_US),
                  how != SERVER_DONE || monitor->timeline->now_ns > by_us * TIMELINE_US, monitor_now_s(monitor));
    }
}

void monitor_on_end(struct monitor *monitor, const struct request *request, enum server_end how)
{
    static const char *const ends[] = { "done", "cancelled", "expired", "never fits" };
    bool is_whole = how != SERVER_DONE || request->n_tok == request->n_answer;

    monitor_log(monitor, "request %llu: %s after %u tokens", (unsigned long long)request->job.order, ends[how],
                request->n_tok);
    monitor_judge_told(monitor, request, how);
    tally_add(&monitor->tallies, INVARIANT_ONCE, (double)request->n_ends, request->n_ends != 1 || !is_whole,
              monitor_now_s(monitor));
    if (request->job.priority == PRIORITY_REALTIME) {
        monitor->n_realtime--;
        if (monitor->n_realtime > 0) {
            monitor->realtime_mixed_ns = monitor->timeline->now_ns;
        }
    }
    judge_end(monitor, request, how);
}

/* ---- steps */

void monitor_on_step(struct monitor *monitor, const struct engine *engine, const struct plan *plan, uint64_t took_us)
{
    uint64_t now_ns = monitor->timeline->now_ns;
    int64_t pace = gpu_clock_permille(monitor->scenario, now_ns) * 100000 +
                   (int64_t)(1000.0 * dram_stretch(monitor->scenario, now_ns));
    double ratio = (double)took_us * 1000.0 / plan->estimated_ns;
    bool is_off = ratio < 1.0 - COST_PART || ratio > 1.0 + COST_PART;
    uint32_t n = engine->number;

    monitor_log(monitor, "engine %u: step done, %u entries, %u rows, took %.3f ms, estimated %.3f ms", n,
                plan->n_entries, plan->n_rows, (double)took_us / 1e3, plan->estimated_ns / 1e6);
    if (monitor->pace[n] != pace) {
        monitor->pace[n] = pace;
        monitor->n_since_change[n] = 0;
    }
    monitor_count_answers(monitor, plan, took_us);
    monitor->n_steps[n]++;
    monitor->n_since_change[n]++;
    if (monitor->n_steps[n] > COST_FROM && monitor->n_since_change[n] > CLOCK_STEPS) {
        enum invariant which =
            monitor->n_steps[n] != monitor->n_since_change[n] && monitor->n_since_change[n] < 5 * CLOCK_STEPS
                ? INVARIANT_CLOCK
                : INVARIANT_COST;

        tally_add(&monitor->tallies, which, 100.0 * (ratio > 1.0 ? ratio - 1.0 : 1.0 - ratio), is_off,
                  monitor_now_s(monitor));
    }
}

void monitor_on_settled(struct monitor *monitor, const struct server *server)
{
    (void)server;
    chart_queue(monitor->chart, monitor->timeline->now_ns, monitor->server->n_live);
}

void monitor_on_nonsense(struct monitor *monitor)
{
    tally_add(&monitor->tallies, INVARIANT_CONTRACT, 1.0, true, monitor_now_s(monitor));
}
