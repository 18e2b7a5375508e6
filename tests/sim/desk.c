#include "base/num.h"
#include "desk_inside.h"
#include "watch.h"
#include <assert.h>

#define TICK_NS (50 * AGENDA_MS)
#define CALM_NS (3000 * AGENDA_MS) /* as stream/governing.c: ticks go on for so long after the last work */

enum processor desk_place(const struct desk *desk)
{
    return desk->scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU;
}

const struct governor_limits *desk_limits(const struct desk *desk)
{
    return &desk->governor.limits[desk_place(desk)];
}

void desk_poke(struct desk *desk)
{
    if (!agenda_has(&desk->run)) {
        agenda_enter(desk->agenda, &desk->run, desk->agenda->now_ns);
    }
}

/* ---- the governor */

static void tick(struct desk *desk)
{
    struct governor_input input = { .now_us = desk_now_us(desk) };

    if (desk->is_unscheduled) {
        return;
    }
    input.hint = desk->hint.hint;
    desk->hint.hint.n_missed = 0;
    sensors_fill(desk->sensors, &input);
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        input.held_us[i] = desk->held_us[i];
        desk->held_us[i] = 0;
    }
    if (desk->estimated_us > 0.0) {
        input.delay_permille = (uint32_t)(1000.0 * desk->took_us / desk->estimated_us);
    }
    desk->took_us = 0.0;
    desk->estimated_us = 0.0;
    mutant_blinds(desk->mutant, &input);
    governor_tick(&desk->governor, &input);
    mutant_forgets(desk->mutant, &desk->governor);
    watch_on_limits(desk->watch, desk_limits(desk));
    desk->ticked_ns = desk->agenda->now_ns;
    desk_poke(desk);
}

static void on_tick(void *owner)
{
    struct desk *desk = owner;

    tick(desk);
    if (desk->n_live > 0 || dispatch_is_busy(&desk->dispatch, &desk->lanes[0]) ||
        dispatch_is_busy(&desk->dispatch, &desk->lanes[1])) {
        desk->worked_ns = desk->agenda->now_ns;
    }
    if (desk->agenda->now_ns - desk->worked_ns < CALM_NS) {
        agenda_enter(desk->agenda, &desk->tick, desk->agenda->now_ns + TICK_NS);
    }
}

void desk_on_sample(void *owner)
{
    struct desk *desk = owner;

    if (agenda_has(&desk->tick)) {
        on_tick(desk);
    }
}

/* There is work now. */
static void rouse(struct desk *desk)
{
    desk->worked_ns = desk->agenda->now_ns;
    if (!agenda_has(&desk->tick) && !desk->is_unscheduled) {
        on_tick(desk);
    }
}

void desk_hint(struct desk *desk, uint64_t busy_until_ns, uint32_t n_missed)
{
    if (desk->mutant == MUTANT_DEAF || desk->is_unscheduled) {
        return;
    }
    desk->hint.hint.at_us = desk_now_us(desk);
    desk->hint.hint.frame_us = 1000000u / (uint32_t)desk->scenario->screen.hz;
    desk->hint.hint.n_missed += n_missed;
    desk->hint.hint.busy_until_us = busy_until_ns / AGENDA_US;
    if (agenda_has(&desk->tick)) {
        tick(desk);
    }
}

/* ---- requests */

void desk_close_sequence(struct desk *desk, struct request *request)
{
    struct engine_message order = { .what = ENGINE_CLOSE, .sequence = request->sequence };

    if (request->sequence == 0) {
        return;
    }
    engine_send(desk_engine_of(desk, request->job.eq), &order);
    dispatch_leave(&desk->dispatch, &request->job);
    request->job.eq->n_taken--;
    request->job.eq->no_room = false;
    request->sequence = 0;
}

void desk_end(struct desk *desk, struct request *request, enum desk_end how)
{
    request->n_ends++;
    request->is_over = true;
    watch_on_end(desk->watch, request, how);
    if (!(how == DESK_CANCELLED && desk->mutant == MUTANT_LEAK)) {
        desk_close_sequence(desk, request);
    }
    queue_remove(&desk->queue, &request->job, desk_now_us(desk));
    desk->n_live--;
    desk->on_end(request->client, request, how);
    request->client = NULL;
    desk->n_over++;
    desk_poke(desk);
}

void desk_cancel(struct desk *desk, struct request *request)
{
    if (!request->is_over) {
        desk_end(desk, request, DESK_CANCELLED);
    }
}

static void fill_job(struct desk *desk, struct request *request, const struct desk_ask *ask)
{
    struct job *job = &request->job;
    uint64_t now = desk_now_us(desk);

    job->eq = &desk->lanes[ask->eq];
    job->priority = desk->is_unscheduled ? PRIORITY_INTERACTIVE : ask->priority;
    job->limits = (struct account_limits){
        .weight = desk->is_unscheduled || desk->mutant == MUTANT_NO_WEIGHT ? 0 : ask->weight,
        .n_streams = DESK_STREAMS,
        .n_waiting = DESK_WAITING,
        .tokens_a_minute = ask->tokens_a_minute,
    };
    job->n_prompt = ask->n_prompt;
    job->n_known = ask->n_prompt;
    job->n_most = ask->n_prompt + ask->n_most;
    job->n_left = JOB_NO_END;
    if (!desk->is_unscheduled) {
        job->first_by_us = ask->first_by_us ? now + ask->first_by_us : 0;
        job->finish_by_us = ask->finish_by_us ? now + ask->finish_by_us : 0;
        request->first_by_us = job->first_by_us;
        request->finish_by_us = job->finish_by_us;
    }
    request->weight = ask->weight;
    request->n_most = ask->n_most;
    request->n_answer = ask->n_answer;
    request->n_cached = ask->n_cached;
    request->asked_ns = desk->agenda->now_ns;
    request->client = ask->client;
}

/* A place for it? There is no bound in common here: 200 clients are fewer than the daemon lets wait. */
static bool finds_place(struct desk *desk, const struct desk_ask *ask, const struct job *job, uint64_t *ret_retry_us)
{
    const struct account *account = job->account;
    struct retry_request place = {
        .key = ask->key,
        .uid = account->uid,
        .own = { .n_free = account_room(account, &job->limits),
                 .n_most = (uint32_t)num_min(job->limits.n_streams, job->limits.n_waiting),
                 .service = &account->service },
        .shared = { .n_free = UINT32_MAX, .n_most = UINT32_MAX },
    };

    place.own.gap_us =
        queue_estimate_us(&desk->queue, account, job->priority, desk->governor.limits, &place.own.first_us);
    if (desk->mutant == MUTANT_NO_LINE) {
        retry_list_init(&desk->retry_list);
    }
    return retry_admit(&desk->retry_list, &place, desk_now_us(desk), ret_retry_us);
}

/* May it come in? As stream/ does: the account's limits first, then its deadline. */
static int admit(struct desk *desk, struct request *request, const struct desk_ask *ask, uint64_t *ret_retry_us)
{
    struct job *job = &request->job;
    struct governor_limits usual[PROCESSOR_COUNT];
    struct governor_limits limits[PROCESSOR_COUNT];
    struct admit_verdict verdict;
    int r = account_admit(job->account, &job->limits, 0, desk_now_us(desk), ret_retry_us);

    if (r) {
        return DESK_REFUSED;
    }
    if (!finds_place(desk, ask, job, ret_retry_us)) {
        return DESK_FULL;
    }
    admit_limits(desk->governor.limits, desk_now_us(desk), desk_now_us(desk), usual);
    dispatch_real_limits(&desk->dispatch, usual, limits);
    r = admit_check(&desk->queue, job, limits, desk_now_us(desk), &verdict);
    if (r == ADMIT_LATE && desk->mutant == MUTANT_NO_ADMIT) {
        r = ADMIT_OK;
    }
    if (r != ADMIT_OK) {
        *ret_retry_us = r == ADMIT_LATE ? verdict.retry_us : 0;
        return DESK_REFUSED;
    }
    request->is_promised = job->first_by_us != 0 || job->finish_by_us != 0;
    if (desk->mutant == MUTANT_NO_DUE) {
        job->first_by_us = 0;
        job->finish_by_us = 0;
    }
    return DESK_OK;
}

int desk_ask(struct desk *desk, const struct desk_ask *ask, struct request **ret_request, uint64_t *ret_retry_us)
{
    cleanup(mem_freep) struct request *request = mem_calloc(MEM_MISC, 1, sizeof(*request));
    uint32_t uid = desk->is_unscheduled ? 1 : ask->uid;
    int r;

    assert(request);
    r = accounts_get(&desk->queue.accounts, uid, &request->job.account);
    assert(r == 0);
    fill_job(desk, request, ask);
    rouse(desk);
    desk->n_asked++;
    r = desk->is_unscheduled ? DESK_OK : admit(desk, request, ask, ret_retry_us);
    watch_on_back(desk->watch, ask, r == DESK_FULL);
    if (r) {
        desk->n_refused++;
        watch_on_refused(desk->watch, request, *ret_retry_us);
        return r;
    }
    queue_add(&desk->queue, &request->job, desk_now_us(desk));
    queue_want(&desk->queue, &request->job, desk_now_us(desk));
    request->job.n_left = ask->credit ? ask->credit : request->n_most; /* queue_add() knows none */
    list_init(&request->link);
    list_append(&desk->requests, &request->link);
    desk->n_live++;
    rouse(desk);
    watch_on_asked(desk->watch, request);
    desk_poke(desk);
    *ret_request = steal(&request);
    return DESK_OK;
}

void desk_grant(struct desk *desk, struct request *request, uint32_t n_tok)
{
    request->job.n_left = (uint32_t)num_min(request->job.n_left + n_tok, request->n_most - request->n_tok);
    if (request->job.parked && request->job.n_left > 0) {
        request->job.parked = false;
        request->job.since_us = desk_now_us(desk);
    }
    desk_poke(desk);
}

/* ---- life */

static void init_lane(struct engine_queue *eq, const struct scenario *scenario, const struct scenario_engine *family)
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
        .place = scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU,
        .n_slots = (uint32_t)family->slots,
        .n_rows = (uint32_t)family->rows,
        .page_tokens = ENGINE_PAGE_TOKENS,
        .n_pages = (uint32_t)family->pages,
        .open = true,
    };
    cost_init(&eq->cost, first_ns);
}

void desk_init(struct desk *desk, struct agenda *agenda, const struct scenario *scenario, struct engine *engines,
               struct sensors *sensors, struct watch *watch)
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

    *desk = (struct desk){
        .agenda = agenda,
        .scenario = scenario,
        .engines = engines,
        .sensors = sensors,
        .watch = watch,
        .mutant = (enum mutant)scenario->run.mutant,
    };
    queue_init(&desk->queue);
    retry_list_init(&desk->retry_list);
    dispatch_init(&desk->dispatch);
    governor_init(&desk->governor, &policy);
    list_init(&desk->requests);
    for (uint32_t i = 0; i < scenario->n_engines; i++) {
        init_lane(&desk->lanes[i], scenario, &scenario->engines[i]);
    }
    agenda_event_init(&desk->run, desk_settle, desk);
    agenda_event_init(&desk->wake, desk_settle, desk);
    agenda_event_init(&desk->tick, on_tick, desk);
    agenda_event_init(&desk->restart[0], desk_on_restart_first, desk);
    agenda_event_init(&desk->restart[1], desk_on_restart_second, desk);
}

void desk_finish(struct desk *desk)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &desk->requests) {
        mem_free(container_of(link, struct request, link));
    }
    agenda_cancel(desk->agenda, &desk->run);
    agenda_cancel(desk->agenda, &desk->wake);
    agenda_cancel(desk->agenda, &desk->tick);
    agenda_cancel(desk->agenda, &desk->restart[0]);
    agenda_cancel(desk->agenda, &desk->restart[1]);
    queue_finish(&desk->queue);
}
