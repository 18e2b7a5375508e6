#include "base/num.h"
#include "monitor.h"
#include "server_internal.h"
#include <assert.h>

#define TICK_NS (50 * TIMELINE_MS)
#define CALM_NS (3000 * TIMELINE_MS) /* ticks go on this long after the last work, as in the daemon */

enum processor server_processor(const struct server *server)
{
    return server->scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU;
}

const struct governor_limits *server_limits(const struct server *server)
{
    return &server->governor.limits[server_processor(server)];
}

void server_wake(struct server *server)
{
    if (!timeline_has(&server->run)) {
        timeline_enter(server->timeline, &server->run, server->timeline->now_ns);
    }
}

/* ---- the governor */

static void tick(struct server *server)
{
    struct governor_input input = { .now_us = server_now_us(server) };

    if (server->is_unscheduled) {
        return;
    }
    input.hint = server->hint.hint;
    server->hint.hint.n_missed = 0;
    sensors_fill(server->sensors, &input);
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        input.held_us[i] = server->held_us[i];
        server->held_us[i] = 0;
    }
    mutant_blinds(server->mutant, &server->governor, &input);
    governor_tick(&server->governor, &input);
    mutant_forgets(server->mutant, &server->governor);
    monitor_on_limits(server->monitor, server_limits(server));
    server->ticked_ns = server->timeline->now_ns;
    server_wake(server);
}

static void on_tick(void *owner)
{
    struct server *server = owner;

    tick(server);
    if (server->n_live > 0 || dispatch_is_busy(&server->dispatch, &server->eqs[0]) ||
        dispatch_is_busy(&server->dispatch, &server->eqs[1])) {
        server->worked_ns = server->timeline->now_ns;
    }
    if (server->timeline->now_ns - server->worked_ns < CALM_NS) {
        timeline_enter(server->timeline, &server->tick, server->timeline->now_ns + TICK_NS);
    }
}

void server_on_sample(void *owner)
{
    struct server *server = owner;

    if (timeline_has(&server->tick)) {
        on_tick(server);
    }
}

/* Starts ticks when there is work. */
static void rouse(struct server *server)
{
    server->worked_ns = server->timeline->now_ns;
    if (!timeline_has(&server->tick) && !server->is_unscheduled) {
        on_tick(server);
    }
}

void server_hint(struct server *server, uint64_t busy_until_ns, uint32_t n_missed)
{
    if (server->mutant == MUTANT_DEAF || server->is_unscheduled) {
        return;
    }
    server->hint.hint.at_us = server_now_us(server);
    server->hint.hint.frame_us = 1000000u / (uint32_t)server->scenario->screen.hz;
    server->hint.hint.n_missed += n_missed;
    server->hint.hint.busy_until_us = busy_until_ns / TIMELINE_US;
    if (timeline_has(&server->tick)) {
        tick(server);
    }
}

/* ---- requests */

void server_close_sequence(struct server *server, struct request *request)
{
    struct engine_message order = { .what = ENGINE_CLOSE, .sequence = request->sequence };

    if (request->sequence == 0) {
        return;
    }
    engine_send(server_engine_of(server, request->job.eq), &order);
    dispatch_leave(&server->dispatch, &request->job);
    request->job.eq->n_taken--;
    request->job.eq->no_room = false;
    request->sequence = 0;
}

void server_end(struct server *server, struct request *request, enum server_end how)
{
    request->n_ends++;
    request->is_over = true;
    monitor_on_end(server->monitor, request, how);
    if (!(how == SERVER_CANCELLED && server->mutant == MUTANT_LEAK)) {
        server_close_sequence(server, request);
    }
    queue_remove(&server->queue, &request->job, server_now_us(server));
    server->n_live--;
    server->on_end(request->client, request, how);
    request->client = NULL;
    server->n_over++;
    server_wake(server);
}

void server_cancel(struct server *server, struct request *request)
{
    if (!request->is_over) {
        server_end(server, request, SERVER_CANCELLED);
    }
}

static void fill_job(struct server *server, struct request *request, const struct request_spec *spec)
{
    struct job *job = &request->job;
    uint64_t now = server_now_us(server);

    job->eq = &server->eqs[spec->engine];
    job->priority = server->is_unscheduled ? PRIORITY_INTERACTIVE : spec->priority;
    job->limits = (struct account_limits){
        .weight = server->is_unscheduled || server->mutant == MUTANT_NO_WEIGHT ? 0 : spec->weight,
        .n_streams = SERVER_STREAMS,
        .n_waiting = SERVER_WAITING,
        .tokens_a_minute = server->mutant == MUTANT_HALF_BUDGET ? spec->tokens_a_minute / 2 : spec->tokens_a_minute,
    };
    job->n_prompt = spec->n_prompt;
    job->n_known = spec->n_prompt;
    job->n_most = spec->n_prompt + spec->n_most;
    job->n_left = JOB_NO_END;
    if (!server->is_unscheduled) {
        job->first_by_us = spec->first_by_us ? now + spec->first_by_us : 0;
        job->finish_by_us = spec->finish_by_us ? now + spec->finish_by_us : 0;
        request->first_by_us = job->first_by_us;
        request->finish_by_us = job->finish_by_us;
    }
    request->weight = spec->weight;
    request->tokens_a_minute = spec->tokens_a_minute;
    request->n_most = spec->n_most;
    request->n_answer = spec->n_answer;
    request->n_cached = spec->n_cached;
    request->asked_ns = server->timeline->now_ns;
    request->client = spec->client;
}

/* True if there is room for it. No limit is shared here: 200 clients are fewer than the daemon lets wait. */
static bool has_room(struct server *server, const struct job *job, uint64_t *ret_retry_us)
{
    if (account_room(job->account, &job->limits) > 0) {
        return true;
    }
    *ret_retry_us = mutant_tells(server->mutant, queue_retry_us(&server->queue, job->account, &job->limits,
                                                                job->priority, server->governor.limits));
    monitor_on_full(server->monitor, job, *ret_retry_us);
    return false;
}

/* Decides whether it may come in, as the daemon does: by the account's limits first, then by its deadline. */
static int admit(struct server *server, struct request *request, uint64_t *ret_retry_us)
{
    struct job *job = &request->job;
    struct governor_limits usual[PROCESSOR_COUNT];
    struct governor_limits limits[PROCESSOR_COUNT];
    struct admit_verdict verdict;
    int r = account_admit(job->account, &job->limits, 0, server_now_us(server), ret_retry_us);

    if (r) {
        return SERVER_REFUSED;
    }
    if (!has_room(server, job, ret_retry_us)) {
        return SERVER_FULL;
    }
    admit_limits(server->governor.limits, server_now_us(server), server_now_us(server), usual);
    dispatch_effective_limits(&server->dispatch, usual, limits);
    for (int i = 0; i < COST_PART_COUNT; i++) {
        job->eq->cost.ns[i] *= mutant_misjudges(server->mutant);
    }
    r = admit_check(&server->queue, job, limits, server_now_us(server), &verdict);
    for (int i = 0; i < COST_PART_COUNT; i++) {
        job->eq->cost.ns[i] /= mutant_misjudges(server->mutant);
    }
    r = mutant_admits(server->mutant, job, r);
    monitor_stream_on_verdict(server->monitor, request, r == ADMIT_OK);
    if (r != ADMIT_OK) {
        *ret_retry_us = r == ADMIT_LATE ? mutant_tells(server->mutant, verdict.retry_us) : 0;
        if (r == ADMIT_LATE) {
            monitor_on_deadline(server->monitor, request, true);
        }
        return SERVER_REFUSED;
    }
    request->is_promised = job->first_by_us != 0 || job->finish_by_us != 0;
    request->told_first_us = verdict.first_us;
    monitor_on_deadline(server->monitor, request, false);
    if (server->mutant == MUTANT_NO_DUE) {
        job->first_by_us = 0;
        job->finish_by_us = 0;
    }
    return SERVER_OK;
}

int server_submit(struct server *server, const struct request_spec *spec, struct request **ret_request,
                  uint64_t *ret_retry_us)
{
    cleanup(mem_freep) struct request *request = mem_calloc(MEM_MISC, 1, sizeof(*request));
    uint32_t uid = server->is_unscheduled ? 1 : spec->uid;
    int r;

    assert(request);
    r = accounts_get(&server->queue.accounts, uid, &request->job.account);
    assert(r == 0);
    fill_job(server, request, spec);
    rouse(server);
    server->n_asked++;
    r = server->is_unscheduled ? SERVER_OK : admit(server, request, ret_retry_us);
    if (r) {
        server->n_refused++;
        monitor_on_refused(server->monitor, request, *ret_retry_us);
        return r;
    }
    queue_add(&server->queue, &request->job, server_now_us(server));
    queue_want(&server->queue, &request->job, server_now_us(server));
    request->job.n_left = spec->credit ? spec->credit : request->n_most; /* queue_add() sets no limit */
    list_init(&request->link);
    list_append(&server->requests, &request->link);
    server->n_live++;
    rouse(server);
    monitor_on_asked(server->monitor, request);
    server_wake(server);
    *ret_request = steal(&request);
    return SERVER_OK;
}

void server_grant(struct server *server, struct request *request, uint32_t n_tok)
{
    request->job.n_left = (uint32_t)num_min(request->job.n_left + n_tok, request->n_most - request->n_tok);
    if (request->job.parked && request->job.n_left > 0) {
        request->job.parked = false;
        request->job.since_us = server_now_us(server);
    }
    server_wake(server);
}

/* ---- life */

static void init_eq(struct engine_queue *eq, const struct scenario *scenario, const struct scenario_engine *family)
{
    uint64_t first_ns[COST_PART_COUNT] = {
        [COST_FIXED] = (uint64_t)family->fixed_us * 1000,
        [COST_PREFILL_ROW] = (uint64_t)family->prefill_ns,
        [COST_DECODE_ROW] = (uint64_t)family->decode_ns,
        [COST_ATTEND_PAGE] = (uint64_t)family->attend_ns,
    };

    for (int i = 0; i < COST_PART_COUNT; i++) {
        first_ns[i] = first_ns[i] * (uint64_t)scenario->chip.misjudged_permille / 1000;
    }
    *eq = (struct engine_queue){
        .processor = scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU,
        .n_slots = (uint32_t)family->slots,
        .n_rows = (uint32_t)family->rows,
        .page_tokens = ENGINE_PAGE_TOKENS,
        .n_pages = (uint32_t)family->pages,
        .open = true,
    };
    cost_init(&eq->cost, first_ns);
}

/* Gives the governor the gains that an earlier run kept, as right as the scenario says. */
static void keep_gains(struct server *server)
{
    double whole;
    double lag_s;

    if (server->scenario->heat.kept_permille > 0) {
        thermal_reaction(server->scenario, &whole, &lag_s);
        thermostat_keep(&server->governor.heat.thermostat, whole * (double)server->scenario->heat.kept_permille / 1e3,
                        lag_s);
    }
}

void server_init(struct server *server, struct timeline *timeline, const struct scenario *scenario,
                 struct engine *engines, struct sensors *sensors, struct monitor *monitor)
{
    const struct scenario_policy *family = &scenario->policy;
    struct governor_policy policy = {
        .target_mc = (int32_t)scenario->heat.target_mc,
        .frame_us = scenario->screen.hz > 0 ? 1000000u / (uint32_t)scenario->screen.hz : 0,
        .max_slice_us = (uint32_t)family->max_slice_us,
        .headroom_permille = (uint32_t)family->headroom_permille,
        .min_share_permille = (uint32_t)family->min_share_permille,
        .heat_grace_ms = (uint32_t)family->heat_grace_ms,
        .graphics_grace_ms = (uint32_t)family->graphics_grace_ms,
        .cores_share = scenario->chip.cores != 0,
    };

    *server = (struct server){
        .timeline = timeline,
        .scenario = scenario,
        .engines = engines,
        .sensors = sensors,
        .monitor = monitor,
        .mutant = (enum mutant)scenario->run.mutant,
    };
    queue_init(&server->queue);
    dispatch_init(&server->dispatch);
    governor_init(&server->governor, &policy);
    keep_gains(server);
    list_init(&server->requests);
    for (uint32_t i = 0; i < scenario->n_engines; i++) {
        init_eq(&server->eqs[i], scenario, &scenario->engines[i]);
    }
    timeline_event_init(&server->run, server_settle, server);
    timeline_event_init(&server->wake, server_settle, server);
    timeline_event_init(&server->tick, on_tick, server);
    timeline_event_init(&server->restart[0], server_on_restart_first, server);
    timeline_event_init(&server->restart[1], server_on_restart_second, server);
}

void server_finish(struct server *server)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &server->requests) {
        mem_free(container_of(link, struct request, link));
    }
    timeline_cancel(server->timeline, &server->run);
    timeline_cancel(server->timeline, &server->wake);
    timeline_cancel(server->timeline, &server->tick);
    timeline_cancel(server->timeline, &server->restart[0]);
    timeline_cancel(server->timeline, &server->restart[1]);
    queue_finish(&server->queue);
}
