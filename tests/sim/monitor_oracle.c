/*
 * Judges what the promises cost: deadlines that were refused, time that was left unused, estimates.
 *
 * Each is compared with a plain policy that knows the truth: the real costs, the real load of the screen, and what the
 * limits came to allow.
 */
#include "base/clean.h"
#include "base/num.h"
#include "monitor.h"

/* The duty is judged once it has followed the screen: 2 s after an announced phase, and the filters. */
#define STEADY_NS (4 * TIMELINE_S)
/* Missed frames that a compositor reports make the duty less for some time constants of 10 s. */
#define MISSED_NS (30 * TIMELINE_S)
/* Part of what the screen leaves that must be given, and half of the headroom for readings that fall between frames:
 * the highest of some is taken for the load. */
#define LEFT_PERMILLE 800.0
#define LEFT_SLACK    50.0
/* Headroom that policy leaves unless it says otherwise, as documented. */
#define HEADROOM_PERMILLE 100.0
/* Below this nothing is said of the duty: a gate and the least slices decide. */
#define LEFT_LEAST 150.0
/* Time on the chip after which its use is judged: more than the ends of some slices. */
#define USED_NS (TIMELINE_S / 2)
/* Part of the time given that may pass unused. */
#define IDLE_PERMILLE   30.0
#define SLICED_PERMILLE 100.0
/* Length of a step on the clock, as documented, and how often an answer may wait for one of it. */
#define GAP_NS    (50.0 * TIMELINE_MS)
#define GAP_TIMES 1.5
/* Answers that may be left out of a step, where nothing else uses the chip. */
#define LEFT_OUT_PERMILLE 50.0
/* Tokens of a budget that rounding may hold back. */
#define BUDGET_TOK 2.0
/* Estimates may be so many times the time that was taken, or such a part of it. */
#define ESTIMATE_TIMES 2.0

static uint64_t now_us(const struct monitor *monitor)
{
    return monitor->timeline->now_ns / TIMELINE_US;
}

/* ---- deadlines */

/* Returns the true time of what @request still needs, computed alone: until its first token, or all of it. */
static double work_ns(const struct monitor *monitor, const struct request *request, bool is_whole)
{
    const struct job *job = &request->job;
    const struct engine_queue *eq = job->eq;
    uint32_t n_rows = job->n_known - (uint32_t)num_min(job->n_known, job->n_done);
    uint32_t n_tok = is_whole ? request->n_most - request->n_tok : 0;
    struct cost_load load = { 0 };

    load.n[COST_FIXED] = (uint32_t)num_div_up(n_rows, eq->n_rows) + n_tok;
    load.n[COST_PREFILL_ROW] = n_rows;
    load.n[COST_DECODE_ROW] = n_tok;
    load.n[COST_ATTEND_PAGE] = plan_pages(job, n_rows, eq->page_tokens) +
                               (uint32_t)((uint64_t)n_tok * (job->n_known + n_tok / 2) / eq->page_tokens);
    return engine_true_ns(&monitor->scenario->engines[eq - monitor->server->eqs], &load);
}

/* Returns the true time of what was promised of @request for @by_us or before. */
static double due_ns(const struct monitor *monitor, const struct request *request, uint64_t by_us)
{
    if (request->finish_by_us > 0 && request->finish_by_us <= by_us) {
        return work_ns(monitor, request, true);
    }
    if (request->n_tok == 0 && request->first_by_us > 0 && request->first_by_us <= by_us) {
        return work_ns(monitor, request, false);
    }
    return 0.0;
}

/* Returns the share of the chip that is needed until @by_us for @request, for all that is promised by then, and for
 * higher classes. */
static double need_by(const struct monitor *monitor, const struct request *request, uint64_t by_us)
{
    const struct governor_limits *limits = server_limits(monitor->server);
    double slice_us = limits->slice_us > 0 ? limits->slice_us : DISPATCH_BOOST_US;
    double ns =
        due_ns(monitor, request, by_us) + (slice_us + (double)monitor->scenario->chip.part_us) * (double)TIMELINE_US;
    struct list *link;

    list_for_each (link, &monitor->server->requests) {
        const struct request *other = container_of(link, struct request, link);

        if (other == request || other->is_over || other->job.parked) {
            continue;
        }
        ns += other->job.priority > request->job.priority ? work_ns(monitor, other, true)
              : other->is_promised                        ? due_ns(monitor, other, by_us)
                                                          : 0.0;
    }
    return ns / ((double)(by_us - now_us(monitor)) * TIMELINE_US);
}

static uint64_t last_deadline_us(const struct request *request)
{
    return num_max(request->first_by_us, request->finish_by_us);
}

/* Raises *need to what @request makes necessary by @by_us, a deadline of it or of another. */
static void look_at(const struct monitor *monitor, const struct request *request, uint64_t by_us, double *need)
{
    double share;

    if (by_us <= now_us(monitor)) {
        return;
    }
    share = need_by(monitor, request, by_us);
    *need = share > *need ? share : *need;
}

/* Returns the share of the chip that plain earliest-deadline-first needs to keep all promises, and this one too: the
 * processor demand at each deadline (Baruah, Mok and Rosier 1990). */
static double need_of(const struct monitor *monitor, const struct request *request)
{
    double need = 0.0;
    struct list *link;

    look_at(monitor, request, request->first_by_us, &need);
    look_at(monitor, request, request->finish_by_us, &need);
    list_for_each (link, &monitor->server->requests) {
        const struct request *other = container_of(link, struct request, link);

        if (other != request && !other->is_over && other->is_promised) {
            look_at(monitor, request, other->n_tok == 0 ? other->first_by_us : 0, &need);
            look_at(monitor, request, other->finish_by_us, &need);
        }
    }
    return need;
}

void monitor_on_deadline(struct monitor *monitor, const struct request *request, bool is_refused)
{
    for (size_t i = 0; i < MONITOR_DEADLINES && last_deadline_us(request) > 0; i++) {
        struct monitor_deadline *deadline = &monitor->deadlines[i];

        if (deadline->by_ns == 0) {
            *deadline = (struct monitor_deadline){
                .at_ns = monitor->timeline->now_ns,
                .by_ns = last_deadline_us(request) * TIMELINE_US,
                .need = need_of(monitor, request),
                .had = monitor_offered(monitor, monitor->timeline->now_ns),
                .offered_ns = monitor->offered_ns,
                .is_refused = is_refused,
            };
            return;
        }
    }
}

/* Judges the deadlines that have passed. What came to disturb the machine is no reason to have refused one, and what
 * came to be free none to have promised it. */
static void judge_deadlines(struct monitor *monitor)
{
    for (size_t i = 0; i < MONITOR_DEADLINES; i++) {
        struct monitor_deadline *deadline = &monitor->deadlines[i];
        double mean;

        if (deadline->by_ns == 0 || deadline->by_ns > monitor->timeline->now_ns) {
            continue;
        }
        mean = (monitor->offered_ns - deadline->offered_ns) / (double)(deadline->by_ns - deadline->at_ns);
        deadline->had = mean < deadline->had ? mean : deadline->had;
        monitor_log(monitor, "deadline of %.3f s: needs %.3f, had %.3f, %s", (double)deadline->at_ns / 1e9,
                    deadline->need, deadline->had, deadline->is_refused ? "refused" : "promised");
        if (monitor->disturbed_ns < deadline->at_ns && deadline->need <= deadline->had) {
            tally_add(&monitor->tallies, INVARIANT_REFUSED,
                      deadline->is_refused ? 1000.0 * deadline->need / deadline->had : 1000.0, deadline->is_refused,
                      monitor_now_s(monitor));
        }
        *deadline = (struct monitor_deadline){ 0 };
    }
}

/* ---- budgets */

/* Returns what @account has spent of its budget and not got back: a plain leaky bucket. */
static double spent_of(const struct monitor *monitor, const struct monitor_account *account, uint32_t tokens_a_minute)
{
    double leaked = (double)(monitor->timeline->now_ns - account->spent_ns) / 60e9 * tokens_a_minute;

    return account->spent > leaked ? account->spent - leaked : 0.0;
}

void monitor_spend(struct monitor *monitor, struct monitor_account *account, const struct request *request, uint32_t n)
{
    uint32_t limit = request->tokens_a_minute;
    double over;

    if (limit == 0) {
        return;
    }
    account->spent = spent_of(monitor, account, limit) + n;
    account->spent_ns = monitor->timeline->now_ns;
    /* One step may run, and one wait behind it, when the budget ends. */
    over = account->spent - limit - 2.0 * (double)account->n_step_most;
    tally_add(&monitor->tallies, INVARIANT_BUDGET, over > 0.0 ? over : 0.0, over > BUDGET_TOK, monitor_now_s(monitor));
}

/* Judges that no account is held back that has not spent its budget. */
static void judge_budgets(struct monitor *monitor)
{
    struct list *link;

    list_for_each (link, &monitor->server->requests) {
        const struct request *request = container_of(link, struct request, link);
        const struct monitor_account *account;
        double left;

        if (request->tokens_a_minute == 0 || request->is_over ||
            account_wait_us(request->job.account, request->job.limits.tokens_a_minute, now_us(monitor)) == 0) {
            continue;
        }
        account = monitor_account_of(monitor, request);
        if (account) {
            left = request->tokens_a_minute - spent_of(monitor, account, request->tokens_a_minute);
            tally_add(&monitor->tallies, INVARIANT_BUDGET, left > 0.0 ? left : 0.0, left > BUDGET_TOK,
                      monitor_now_s(monitor));
        }
    }
}

/* ---- time that is given, and used */

/* Returns the part of the time in which frames are drawn, in permille, at the present clock. */
static double drawn_of(const struct monitor *monitor)
{
    uint64_t now_ns = monitor->timeline->now_ns;
    int64_t load =
        gpu_load_permille(monitor->scenario, now_ns, GPU_BASE) + gpu_load_permille(monitor->scenario, now_ns, GPU_APP);

    return 1000.0 * (double)load / (double)gpu_clock_permille(monitor->scenario, now_ns);
}

/* True if the governor sees the screen, and only that bounds us. */
static bool is_plain(const struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    bool is_plain = scenario->screen.hz > 0 && scenario->sense.has_load && scenario->policy.min_share_permille == 0;

    for (int i = MISHAP_HEAT_GONE; i < MISHAP_COUNT; i++) {
        is_plain = is_plain && !monitor->sensors->is_gone[i];
    }
    return is_plain;
}

static void follow_screen(struct monitor *monitor)
{
    struct monitor_use *use = &monitor->use;
    double drawn = drawn_of(monitor);

    if (drawn != use->drawn || !is_plain(monitor)) {
        use->drawn = drawn;
        use->steady_ns = monitor->timeline->now_ns + STEADY_NS;
    }
    if (monitor->gpu->n_missed != use->n_missed) {
        use->n_missed = monitor->gpu->n_missed;
        use->steady_ns = monitor->timeline->now_ns + MISSED_NS;
    }
}

/* Judges the duty of the last second beside what the screen really leaves. */
static void judge_left(struct monitor *monitor, double duty)
{
    int64_t told = monitor->scenario->policy.headroom_permille;
    double headroom = told > 0 ? (double)told : HEADROOM_PERMILLE;
    double drawn = drawn_of(monitor);
    double left = 1000.0 - drawn - (drawn > 0.0 ? headroom : 0.0);
    double part;

    if (monitor->timeline->now_ns < monitor->use.steady_ns + TIMELINE_S || left < LEFT_LEAST) {
        return;
    }
    part = 1000.0 * (duty + LEFT_SLACK) / left;
    tally_add(&monitor->tallies, INVARIANT_LEFT, part, part < LEFT_PERMILLE, monitor_now_s(monitor));
}

/* Judges how much of the time given was held, since there has been work all the time. */
static void judge_used(struct monitor *monitor)
{
    struct monitor_use *use = &monitor->use;
    double idle = 1000.0 * (1.0 - use->held_ns / use->given_ns);

    if (use->given_ns < (double)USED_NS) {
        return;
    }
    tally_add(&monitor->tallies, use->is_sliced ? INVARIANT_USED : INVARIANT_BUSY, idle,
              idle > (use->is_sliced ? SLICED_PERMILLE : IDLE_PERMILLE), monitor_now_s(monitor));
    use->given_ns = 0.0;
    use->held_ns = 0.0;
    use->is_sliced = false;
}

void monitor_use_second(struct monitor *monitor, double held_ns)
{
    struct monitor_use *use = &monitor->use;

    if (use->is_ready) {
        use->held_ns += held_ns;
        judge_left(monitor, use->duty_sum / (double)num_max(1, use->n_ticks));
        judge_used(monitor);
    } else {
        use->given_ns = 0.0;
        use->held_ns = 0.0;
        use->is_sliced = false;
    }
    use->is_ready = true;
    use->duty_sum = 0.0;
    use->n_ticks = 0;
}

/* Returns the share of time that the limits give: a slice is followed by its pause, which begins when its end is heard
 * of, so each also costs a message there and back. */
static double given_share(const struct monitor *monitor, const struct governor_limits *limits)
{
    double message_us = 2.0 * (double)monitor->scenario->chip.latency_us;
    double slice_us = limits->slice_us;

    if (limits->slice_us == 0 || limits->duty_permille == 0) {
        return limits->duty_permille / 1000.0;
    }
    return slice_us / (slice_us * 1000.0 / limits->duty_permille + message_us);
}

void monitor_use(struct monitor *monitor, bool is_ready)
{
    struct monitor_use *use = &monitor->use;
    const struct governor_limits *limits = server_limits(monitor->server);
    double drawn = monitor->scenario->chip.cores ? 0.0 : drawn_of(monitor) / 1000.0;

    monitor->offered_ns += (double)SENSORS_TICK_NS * monitor_offered(monitor, monitor->timeline->now_ns);
    follow_screen(monitor);
    judge_deadlines(monitor);
    judge_budgets(monitor);
    use->is_ready = use->is_ready && is_ready;
    use->is_sliced = use->is_sliced || limits->slice_us > 0 || limits->duty_permille < 1000;
    use->duty_sum += limits->duty_permille;
    use->n_ticks++;
    use->given_ns += drawn < 1.0 ? (double)SENSORS_TICK_NS * given_share(monitor, limits) * (1.0 - drawn) : 0.0;
}

/* ---- steps */

static bool holds(const struct plan *plan, const struct request *request)
{
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        if (plan->entries[i].job == &request->job) {
            return true;
        }
    }
    return false;
}

/* Counts the answers that were in progress at the engine of @plan all the time of its step, and those in it. */
void monitor_count_answers(struct monitor *monitor, const struct plan *plan, uint64_t took_us)
{
    uint64_t began_ns = monitor->timeline->now_ns - 2 * num_min(took_us * TIMELINE_US, monitor->timeline->now_ns / 2);
    struct list *link;

    list_for_each (link, &monitor->server->requests) {
        const struct request *request = container_of(link, struct request, link);

        if (request->job.eq == plan->eq && !request->is_over && request->job.state == JOB_ASSIGNED &&
            request->first_ns > 0 && request->first_ns < began_ns) {
            monitor->n_answers++;
            monitor->n_left_out += !holds(plan, request);
        }
    }
}

void monitor_oracle_end(struct monitor *monitor)
{
    double left_out = 1000.0 * (double)monitor->n_left_out / (double)num_max(1, monitor->n_answers);

    if (monitor->scenario->run.family == FAMILY_IDLE && monitor->n_answers > 0) {
        tally_add(&monitor->tallies, INVARIANT_FILL, left_out, left_out > LEFT_OUT_PERMILLE, monitor_now_s(monitor));
    }
}

/* ---- gaps */

/* Judges the time between two tokens of an answer that is alone in the highest class. */
void monitor_judge_gap(struct monitor *monitor, struct request *request)
{
    const struct scenario_engine *family = &monitor->scenario->engines[request->job.eq - monitor->server->eqs];
    uint64_t now_ns = monitor->timeline->now_ns;
    uint64_t before_ns = request->token_ns;
    double offered = monitor_offered(monitor, before_ns);
    double now_offered = monitor_offered(monitor, now_ns);
    double step_ns;
    double times;

    request->token_ns = now_ns;
    offered = now_offered < offered ? now_offered : offered;
    if (request->job.priority != PRIORITY_REALTIME || monitor->realtime_mixed_ns > before_ns || before_ns == 0 ||
        monitor->n_realtime > 1 || monitor->troubled_until_ns > before_ns || offered <= 0.0) {
        return;
    }
    step_ns = 2.0 * (double)family->fixed_us * TIMELINE_US / offered;
    step_ns = step_ns > GAP_NS ? step_ns : GAP_NS;
    times = (double)(now_ns - before_ns) / step_ns;
    monitor_log(monitor, "gap: %.3f", times);
    tally_add(&monitor->tallies, INVARIANT_GAP, times, times > GAP_TIMES, monitor_now_s(monitor));
}

/* ---- estimates */

/* Compares the estimate that a promised first token rests on with what it took. What the session had cached is added,
 * since the estimate knows nothing of it, and one step that might have been in progress, which it always counts. */
void monitor_judge_estimate(struct monitor *monitor, const struct request *request)
{
    const struct scenario_engine *family = &monitor->scenario->engines[request->job.eq - monitor->server->eqs];
    double offered = monitor_offered(monitor, request->asked_ns);
    double step_ns = plan_target_ns(request->job.eq, monitor_limits_at(monitor, request->asked_ns));
    double extra_ns = ((double)request->n_cached * (double)family->prefill_ns + step_ns) / offered;
    double took_us = ((double)(request->first_ns - request->asked_ns) + extra_ns) / TIMELINE_US;
    double told_us = (double)request->told_first_us;
    double times = told_us > took_us ? told_us / took_us : took_us / told_us;

    if (!request->is_promised || request->first_by_us == 0 || told_us <= 0.0 || offered <= 0.0 ||
        monitor->disturbed_ns >= request->asked_ns) {
        return;
    }
    tally_add(&monitor->tallies, INVARIANT_ESTIMATE, times, times > ESTIMATE_TIMES, monitor_now_s(monitor));
}
