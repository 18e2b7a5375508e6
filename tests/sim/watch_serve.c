/*
 * Requests: who was served when, and whether what was promised was kept.
 */
#include "base/clean.h"
#include "base/num.h"
#include "drawing.h"
#include "plant/dram.h"
#include "watch.h"
#include <assert.h>

#define TICK_S 0.02

/* No two accounts that always have work differ from their weights by more, over ten seconds. */
#define FAIR_PERCENT 5.0
#define PROGRESS_S   5.0
/* Blind to heat: a tenth, as the governor has it, and one slice. */
#define BLIND_PERMILLE 150.0
/* After the grace time: a tick, and what was under way. */
#define BLIND_SETTLES_MS 400
#define COST_FROM        200u
#define CLOCK_STEPS      10u
#define COST_PART        0.25
/* Idle time of a second that is ours: messages on their way, where nothing could wait behind a step. */
#define IDLE_PERMILLE 50.0
/* A realtime arrival waits for the end of what runs where no slice bounds it. */
#define PATIENCE_US ((double)TURN_PATIENCE_US)

/* ---- shares */

static struct watch_account *account_of(struct watch *watch, const struct request *request)
{
    uint32_t uid = request->job.account->uid;

    for (size_t i = 0; i < WATCH_ACCOUNTS; i++) {
        struct watch_account *account = &watch->accounts[i];

        if (account->uid == 0) {
            account->uid = uid;
            account->weight = request->weight;
        }
        if (account->uid == uid) {
            return account;
        }
    }
    return NULL;
}

static void judge_shares(struct watch *watch)
{
    double served = 0.0;
    double weights = 0.0;

    for (size_t i = 0; i < WATCH_ACCOUNTS && watch->accounts[i].uid != 0; i++) {
        const struct watch_account *account = &watch->accounts[i];

        served += (double)(account->past[watch->second % WATCH_SECONDS] -
                           account->past[(watch->second + 1) % WATCH_SECONDS]);
        weights += account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL;
    }
    for (size_t i = 0; i < WATCH_ACCOUNTS && watch->accounts[i].uid != 0 && served > 0.0; i++) {
        const struct watch_account *account = &watch->accounts[i];
        double mine = (double)(account->past[watch->second % WATCH_SECONDS] -
                               account->past[(watch->second + 1) % WATCH_SECONDS]);
        double due = served * (account->weight ? account->weight : ACCOUNT_WEIGHT_USUAL) / weights;
        double off = 100.0 * (mine > due ? mine - due : due - mine) / due;

        tally_add(&watch->tallies, INVARIANT_FAIR, off, off > FAIR_PERCENT, watch_now_s(watch));
    }
}

/* ---- blindness */

/* Since when a sensor of @kind has been gone; 0: it is there. */
static uint64_t gone_since_ns(const struct watch *watch, enum mishap kind)
{
    for (int64_t i = 0; i < watch->scenario->n_mishaps && watch->sensors->is_gone[kind]; i++) {
        const struct scenario_mishap *mishap = &watch->scenario->mishaps[i];

        if (mishap->kind == (int64_t)kind) {
            return (uint64_t)mishap->at_ms * AGENDA_MS;
        }
    }
    return 0;
}

/* The second that is over lay wholly behind the grace time of @kind, and what was under way then. */
static bool was_blind(const struct watch *watch, enum mishap kind, uint64_t grace_ms)
{
    uint64_t since_ns = gone_since_ns(watch, kind);

    return since_ns > 0 &&
           watch->agenda->now_ns >= since_ns + (grace_ms + BLIND_SETTLES_MS) * AGENDA_MS + AGENDA_S;
}

/* @share: permille of the second that is over. */
static void judge_blind(struct watch *watch, double share)
{
    const struct governor_policy *policy = &watch->desk->governor.policy;
    const struct scenario_sense *sense = &watch->scenario->sense;
    bool is_hot = was_blind(watch, MISHAP_HEAT_GONE, policy->heat_grace_ms) ||
                  was_blind(watch, MISHAP_HEAT_FROZEN, policy->heat_grace_ms) ||
                  was_blind(watch, MISHAP_HEAT_NONSENSE, policy->heat_grace_ms);
    bool is_busy = was_blind(watch, MISHAP_LOAD_GONE, policy->graphics_grace_ms);

    if (watch->scenario->policy.min_share_permille > 0) {
        return; /* policy leaves voice a share, whatever is not seen */
    }
    if (is_busy && sense->has_load && !watch->scenario->chip.cores) {
        tally_add(&watch->tallies, INVARIANT_BLIND, share, share > 0.0, watch_now_s(watch));
    } else if (is_hot && sense->has_heat) {
        tally_add(&watch->tallies, INVARIANT_BLIND, share, share > BLIND_PERMILLE, watch_now_s(watch));
    }
}

/* ---- once a second, and 50 times */

static void take_second(struct watch *watch)
{
    double ours_ns = 0.0;
    double idle;

    for (size_t i = 0; i < WATCH_ACCOUNTS; i++) {
        watch->accounts[i].past[watch->second % WATCH_SECONDS] = watch->accounts[i].n_served;
    }
    /* The first seconds are those in which everybody comes. */
    if (watch->scenario->run.family == FAMILY_FAIR && watch->second >= WATCH_SECONDS + 2 &&
        !watch->desk->is_closed) {
        judge_shares(watch);
    }
    for (int64_t i = 0; i < watch->scenario->n_engines; i++) {
        ours_ns += engine_held_ns(&watch->desk->engines[i]);
    }
    idle = 1000.0 - (ours_ns - watch->busy_ns) / 1e6;
    if (watch->second_is_ours && watch->second > 0) {
        tally_add(&watch->tallies, INVARIANT_BUSY, idle, idle > IDLE_PERMILLE, watch_now_s(watch));
    }
    judge_blind(watch, (ours_ns - watch->busy_ns) / 1e6);
    watch->busy_ns = ours_ns;
    watch->second_is_ours = watch->scenario->screen.hz == 0;
    watch->second++;
}

static bool is_ready(const struct watch *watch, const struct job *job)
{
    return (job->state == JOB_SEATED || job->state == JOB_WAITING) && !job->parked && job->lane->open &&
           account_wait_us(job->account, job->limits.tokens_a_minute, watch->agenda->now_ns / AGENDA_US) == 0;
}

static bool has_ready(const struct watch *watch, enum sched_class least, enum sched_class most)
{
    for (int class = least; class <= (int)most; class ++) {
        struct list *link;

        list_for_each (link, &watch->desk->queue.jobs[class]) {
            if (is_ready(watch, container_of(link, struct job, link))) {
                return true;
            }
        }
    }
    return false;
}

static bool is_troubled(const struct watch *watch)
{
    for (int64_t i = 0; i < watch->scenario->n_engines; i++) {
        if (!watch->desk->engines[i].is_alive || watch->desk->engines[i].is_stalled) {
            return true;
        }
    }
    return false;
}

/* Background: time in which it could have run and did not get on. */
static void watch_progress(struct watch *watch)
{
    const struct governor_limits *limits = desk_limits(watch->desk);

    if (!has_ready(watch, SCHED_BACKGROUND, SCHED_BACKGROUND) || is_troubled(watch)) {
        watch->starved_s = 0.0;
        return;
    }
    if (!governor_lets_run(limits, SCHED_BACKGROUND)) {
        return;
    }
    watch->starved_s += TICK_S;
    tally_add(&watch->tallies, INVARIANT_PROGRESS, watch->starved_s, watch->starved_s > PROGRESS_S,
              watch_now_s(watch));
}

/* Something came or went that no admission could foresee. */
static bool is_disturbed(const struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    uint64_t now_ns = watch->agenda->now_ns;
    int64_t to_ms = (int64_t)(now_ns / AGENDA_MS);
    int64_t from_ms = to_ms - (int64_t)(SENSORS_TICK_NS / AGENDA_MS);
    bool found = is_troubled(watch);

    for (int i = MISHAP_HEAT_GONE; i < MISHAP_COUNT; i++) {
        found = found || watch->sensors->is_gone[i];
    }
    for (int64_t i = 0; i < SCENARIO_ROWS_MAX; i++) {
        found = found || (i < scenario->n_loads && scenario->loads[i].at_ms > from_ms &&
                          scenario->loads[i].at_ms <= to_ms);
        found = found || (i < scenario->n_clocks && scenario->clocks[i].at_ms > from_ms &&
                          scenario->clocks[i].at_ms <= to_ms);
        found = found || (i < scenario->n_traffic && scenario->traffic[i].at_ms > from_ms &&
                          scenario->traffic[i].at_ms <= to_ms);
    }
    return found;
}

void watch_serve(struct watch *watch)
{
    if (is_disturbed(watch)) {
        watch->disturbed_ns = watch->agenda->now_ns;
    }
    if (!has_ready(watch, SCHED_BACKGROUND, SCHED_REALTIME)) {
        watch->second_is_ours = false;
    }
    if (is_troubled(watch)) {
        watch->second_is_ours = false;
        watch->troubled_until_ns = watch->agenda->now_ns + 5 * AGENDA_S;
    }
    watch_progress(watch);
    if (watch->agenda->now_ns >= watch->second * AGENDA_S) {
        take_second(watch);
    }
}

/* ---- requests */

void watch_on_asked(struct watch *watch, const struct request *request)
{
    uint64_t n_most = 0;

    for (int64_t i = 0; i < watch->scenario->n_clients; i++) {
        n_most += (uint64_t)num_max(1, (uint64_t)watch->scenario->clients[i].n_uids) * DESK_STREAMS;
    }
    if (!watch->desk->is_unscheduled) {
        tally_add(&watch->tallies, INVARIANT_QUEUE, (double)watch->desk->n_live,
                  watch->desk->n_live > n_most || request->job.account->n_waiting > DESK_WAITING,
                  watch_now_s(watch));
    }
    if (request->job.class == SCHED_REALTIME && ++watch->n_realtime > 1) {
        watch->realtime_mixed_ns = watch->agenda->now_ns;
    }
    watch_say(watch,
              "request %llu: uid %u, class %d, lane %d, prompt %u (%u cached), answer %u, first by %llu, "
              "done by %llu",
              (unsigned long long)request->job.order, request->job.account->uid, (int)request->job.class,
              (int)(request->job.lane - watch->desk->lanes), request->job.n_prompt, request->n_cached,
              request->n_answer, (unsigned long long)request->job.first_by_us,
              (unsigned long long)request->job.finish_by_us);
    drawing_queue(watch->drawing, watch->agenda->now_ns, watch->desk->n_live);
}

void watch_on_back(struct watch *watch, const struct desk_ask *ask, bool is_full)
{
    if (ask->is_back) {
        tally_add(&watch->tallies, INVARIANT_BACK, is_full ? 1.0 : 0.0, is_full, watch_now_s(watch));
    }
}

void watch_on_refused(struct watch *watch, const struct request *request, uint64_t retry_us)
{
    watch_say(watch, "refused: uid %u, class %d, prompt %u, again in %llu us", request->job.account->uid,
              (int)request->job.class, request->job.n_prompt, (unsigned long long)retry_us);
}

void watch_on_served(struct watch *watch, const struct request *request, uint32_t n)
{
    struct watch_account *account = account_of(watch, request);

    if (account) {
        account->n_served += n;
    }
    if (request->job.class == SCHED_BACKGROUND && n > 0) {
        watch->starved_s = 0.0; /* also in a step of a higher class */
    }
    drawing_tokens(watch->drawing, watch->agenda->now_ns, n, request->job.class);
}

/* Steps that its prompt is cut into: by the engine's rows, and by how long a step should be. */
static uint32_t n_steps_of(const struct watch *watch, const struct request *request)
{
    const struct lane *lane = request->job.lane;
    const struct scenario_engine *family = &watch->scenario->engines[lane - watch->desk->lanes];
    uint32_t n_rows = request->job.n_prompt - request->n_cached;
    double target_ns = plan_target_ns(lane, watch_limits_at(watch, request->asked_ns));
    double room_ns = target_ns - (double)family->fixed_us * 1000.0;
    uint32_t n_a_step = PLAN_PIECE_ROWS;

    if (room_ns > (double)family->prefill_ns * PLAN_PIECE_ROWS) {
        n_a_step = (uint32_t)(room_ns / (double)family->prefill_ns);
    }
    n_a_step = (uint32_t)num_min(n_a_step, lane->n_rows);
    return (uint32_t)num_div_up(n_rows, n_a_step);
}

/*
 * What it takes alone: its own prompt, in steps as large as the engine's, at the clock of now, stretched by
 * the share of time that is left to us and by the frames that are drawn in between; and before that one slice
 * of somebody else's with its rest.
 */
static double first_by_us(const struct watch *watch, const struct request *request)
{
    const struct scenario *scenario = watch->scenario;
    const struct lane *lane = request->job.lane;
    const struct scenario_engine *family = &scenario->engines[lane - watch->desk->lanes];
    struct cost_load load = { 0 };
    uint32_t n_rows = request->job.n_prompt - request->n_cached;
    uint32_t duty = 1000;
    uint32_t slice_us = 0;
    double drawn = 0.0;
    double rate = 1.0;
    double own_us;
    double span_us;

    load.n[COST_FIXED] = n_steps_of(watch, request);
    load.n[COST_PREFILL_ROW] = n_rows;
    load.n[COST_ATTEND_PAGE] = plan_pages(&request->job, n_rows, lane->page_tokens);
    for (uint64_t at = request->asked_ns; at <= request->first_ns; at += AGENDA_MS) {
        const struct governor_limits *limits = watch_limits_at(watch, at);
        double clock = (double)gpu_clock_permille(scenario, at) / 1000.0 / dram_stretch(scenario, at);
        double load_now =
            (double)(gpu_load_permille(scenario, at, GPU_BASE) + gpu_load_permille(scenario, at, GPU_APP)) /
            (double)gpu_clock_permille(scenario, at);

        duty = (uint32_t)num_min(duty, limits->duty_permille);
        slice_us = (uint32_t)num_max(slice_us, limits->slice_us);
        drawn = !scenario->chip.cores && load_now > drawn ? load_now : drawn;
        rate = clock < rate ? clock : rate;
    }
    if (duty == 0 || drawn >= 1.0) {
        return 1e12; /* nothing may run: no time is promised */
    }
    own_us = engine_true_ns(family, &load) / 1000.0 / rate *
             (1.05 + (double)scenario->chip.noise_permille / 1000.0);
    span_us = slice_us > 0 ? slice_us : PATIENCE_US;
    span_us += (double)scenario->chip.part_us / rate;
    if (drawn > 0.0) {
        own_us += (double)watch->gpu->period_ns / 1000.0; /* it comes while a frame is drawn */
    }
    return (own_us + span_us) * 1000.0 / duty / (1.0 - drawn) + 8.0 * (double)scenario->chip.latency_us +
           100.0;
}

static void judge_first(struct watch *watch, const struct request *request)
{
    double took_us = (double)(request->first_ns - request->asked_ns) / 1000.0;
    double by_us;

    if (request->job.class != SCHED_REALTIME || watch->realtime_mixed_ns > request->asked_ns ||
        watch->n_realtime > 1 || watch->troubled_until_ns > request->asked_ns) {
        return;
    }
    by_us = first_by_us(watch, request);
    if (by_us < 1e11) {
        if (took_us > by_us) {
            watch_say(watch, "request %llu: first token late: %.3f ms, by %.3f ms",
                      (unsigned long long)request->job.order, took_us / 1e3, by_us / 1e3);
        }
        tally_add(&watch->tallies, INVARIANT_FIRST, took_us / by_us, took_us > by_us, watch_now_s(watch));
    }
}

void watch_on_token(struct watch *watch, const struct request *request)
{
    watch_say(watch, "request %llu: token %u", (unsigned long long)request->job.order, request->n_tok);
    if (request->n_tok == 1) {
        uint64_t by_us = request->job.first_by_us;

        judge_first(watch, request);
        if (request->is_promised && by_us > 0 && watch->disturbed_ns < request->asked_ns) {
            tally_add(&watch->tallies, INVARIANT_DEADLINE,
                      ((double)(request->first_ns - request->asked_ns) / 1000.0) /
                          (double)(by_us - request->asked_ns / AGENDA_US),
                      request->first_ns > by_us * AGENDA_US, watch_now_s(watch));
        }
    }
}

static void judge_end(struct watch *watch, const struct request *request, enum desk_end how)
{
    const struct job *job = &request->job;
    uint64_t by_us = job->finish_by_us;
    double at_us = (double)(watch->agenda->now_ns - request->asked_ns) / 1000.0;

    if (!request->is_promised || how == DESK_CANCELLED || watch->disturbed_ns >= request->asked_ns) {
        return;
    }
    if (how == DESK_EXPIRED && request->n_tok == 0 && by_us == 0) {
        by_us = job->first_by_us; /* it never came */
    }
    if (by_us > 0 && (how != DESK_DONE || job->finish_by_us > 0)) {
        tally_add(&watch->tallies, INVARIANT_DEADLINE,
                  at_us / (double)(by_us - request->asked_ns / AGENDA_US),
                  how != DESK_DONE || watch->agenda->now_ns > by_us * AGENDA_US, watch_now_s(watch));
    }
}

void watch_on_end(struct watch *watch, const struct request *request, enum desk_end how)
{
    static const char *const ends[] = { "done", "cancelled", "expired", "never fits" };
    bool is_whole = how != DESK_DONE || request->n_tok == request->n_answer;

    watch_say(watch, "request %llu: %s after %u tokens", (unsigned long long)request->job.order, ends[how],
              request->n_tok);
    tally_add(&watch->tallies, INVARIANT_ONCE, (double)request->n_ends, request->n_ends != 1 || !is_whole,
              watch_now_s(watch));
    if (request->job.class == SCHED_REALTIME) {
        watch->n_realtime--;
        if (watch->n_realtime > 0) {
            watch->realtime_mixed_ns = watch->agenda->now_ns;
        }
    }
    judge_end(watch, request, how);
}

/* ---- steps */

void watch_on_step(struct watch *watch, const struct engine *engine, const struct plan *plan,
                   uint64_t took_us)
{
    uint64_t now_ns = watch->agenda->now_ns;
    int64_t pace = gpu_clock_permille(watch->scenario, now_ns) * 100000 +
                   (int64_t)(1000.0 * dram_stretch(watch->scenario, now_ns));
    double ratio = (double)took_us * 1000.0 / plan->foretold_ns;
    bool is_off = ratio < 1.0 - COST_PART || ratio > 1.0 + COST_PART;
    uint32_t n = engine->number;

    watch_say(watch, "engine %u: step done, %u entries, %u rows, took %.3f ms, foretold %.3f ms", n,
              plan->n_entries, plan->n_rows, (double)took_us / 1e3, plan->foretold_ns / 1e6);
    if (watch->pace[n] != pace) {
        watch->pace[n] = pace;
        watch->n_since_change[n] = 0;
    }
    watch->n_steps[n]++;
    watch->n_since_change[n]++;
    if (watch->n_steps[n] > COST_FROM && watch->n_since_change[n] > CLOCK_STEPS) {
        enum invariant which =
            watch->n_steps[n] != watch->n_since_change[n] && watch->n_since_change[n] < 5 * CLOCK_STEPS
                ? INVARIANT_CLOCK
                : INVARIANT_COST;

        tally_add(&watch->tallies, which, 100.0 * (ratio > 1.0 ? ratio - 1.0 : 1.0 - ratio), is_off,
                  watch_now_s(watch));
    }
}

void watch_on_settled(struct watch *watch, const struct desk *desk)
{
    (void)desk;
    drawing_queue(watch->drawing, watch->agenda->now_ns, watch->desk->n_live);
}

void watch_on_nonsense(struct watch *watch)
{
    tally_add(&watch->tallies, INVARIANT_CONTRACT, 1.0, true, watch_now_s(watch));
}
