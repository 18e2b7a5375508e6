#include "desk.h"
#include "base/clean.h"
#include "base/num.h"
#include "watch.h"
#include <assert.h>

#define TICK_NS (50 * AGENDA_MS)

static uint64_t now_us(const struct desk *desk)
{
    return desk->agenda->now_ns / AGENDA_US;
}

static struct request *request_of(struct job *job)
{
    return container_of(job, struct request, job);
}

static uint32_t lane_number(const struct desk *desk, const struct lane *lane)
{
    return (uint32_t)(lane - desk->lanes);
}

static struct engine *engine_of(const struct desk *desk, const struct lane *lane)
{
    return &desk->engines[lane_number(desk, lane)];
}

enum governor_place desk_place(const struct desk *desk)
{
    return desk->scenario->chip.cores ? GOVERNOR_CORES : GOVERNOR_DEVICE;
}

const struct governor_limits *desk_limits(const struct desk *desk)
{
    return &desk->governor.limits[desk_place(desk)];
}

/* Something has changed: what follows from it is decided once, in this same moment. */
static void poke(struct desk *desk)
{
    if (!agenda_has(&desk->run)) {
        agenda_enter(desk->agenda, &desk->run, desk->agenda->now_ns);
    }
}

/* ---- the governor */

static void tick(struct desk *desk)
{
    struct governor_input input = { .now_us = now_us(desk) };

    if (desk->is_unscheduled) {
        return;
    }
    input.hint = desk->hint.hint;
    desk->hint.hint.n_missed = 0;
    sensors_fill(desk->sensors, &input);
    for (int i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        input.held_us[i] = desk->held_us[i];
        desk->held_us[i] = 0;
    }
    if (desk->foretold_us > 0.0) {
        input.delay_permille = (uint32_t)(1000.0 * desk->took_us / desk->foretold_us);
    }
    desk->took_us = 0.0;
    desk->foretold_us = 0.0;
    mutant_blinds(desk->mutant, &input);
    governor_tick(&desk->governor, &input);
    mutant_forgets(desk->mutant, &desk->governor);
    watch_on_limits(desk->watch, desk_limits(desk));
    desk->ticked_ns = desk->agenda->now_ns;
    poke(desk);
}

static void on_tick(void *owner)
{
    struct desk *desk = owner;

    tick(desk);
    if (desk->n_live > 0 || turn_is_running(&desk->turn)) {
        agenda_enter(desk->agenda, &desk->tick, desk->agenda->now_ns + TICK_NS);
    }
}

/* There is work now. */
static void rouse(struct desk *desk)
{
    if (!agenda_has(&desk->tick) && !desk->is_unscheduled) {
        on_tick(desk);
    }
}

void desk_hint(struct desk *desk, uint64_t busy_until_ns, uint32_t n_missed)
{
    if (desk->mutant == MUTANT_DEAF || desk->is_unscheduled) {
        return;
    }
    desk->hint.hint.at_us = now_us(desk);
    desk->hint.hint.frame_us = 1000000u / (uint32_t)desk->scenario->screen.hz;
    desk->hint.hint.n_missed += n_missed;
    desk->hint.hint.busy_until_us = busy_until_ns / AGENDA_US;
    if (agenda_has(&desk->tick)) {
        tick(desk);
    }
}

/* ---- requests */

static void forget(struct desk *desk, struct request *request)
{
    list_remove(&request->link);
    mem_free(request);
    (void)desk;
}

static void close_sequence(struct desk *desk, struct request *request)
{
    struct engine_message order = { .what = ENGINE_CLOSE, .sequence = request->sequence };

    if (request->sequence == 0) {
        return;
    }
    engine_send(engine_of(desk, request->job.lane), &order);
    request->job.lane->n_taken--;
    request->job.lane->n_pages_promised -= request->job.n_pages;
    request->job.lane->no_room = false;
    request->sequence = 0;
}

/* The one place where a request ends. */
static void end(struct desk *desk, struct request *request, enum desk_end how)
{
    request->n_ends++;
    request->is_over = true;
    watch_on_end(desk->watch, request, how);
    if (!(how == DESK_CANCELLED && desk->mutant == MUTANT_LEAK)) {
        close_sequence(desk, request);
    }
    queue_remove(&desk->queue, &request->job, now_us(desk));
    desk->n_live--;
    desk->on_end(request->client, request, how);
    request->client = NULL;
    poke(desk);
    if (request->job.n_steps == 0) {
        forget(desk, request);
    }
}

void desk_cancel(struct desk *desk, struct request *request)
{
    if (!request->is_over) {
        end(desk, request, DESK_CANCELLED);
    }
}

static void fill_job(struct desk *desk, struct request *request, const struct desk_ask *ask)
{
    struct job *job = &request->job;
    uint64_t now = now_us(desk);

    job->lane = &desk->lanes[ask->lane];
    job->class = desk->is_unscheduled ? SCHED_INTERACTIVE : ask->class;
    job->limits = (struct account_limits){
        .weight = desk->is_unscheduled || desk->mutant == MUTANT_NO_WEIGHT ? 0 : ask->weight,
        .n_streams = DESK_STREAMS,
        .n_waiting = DESK_WAITING,
        .tokens_a_minute = ask->tokens_a_minute,
    };
    job->n_prompt = ask->n_prompt;
    job->n_known = ask->n_prompt;
    job->n_most = ask->n_prompt + ask->n_most;
    if (!desk->is_unscheduled) {
        job->first_by_us = ask->first_by_us ? now + ask->first_by_us : 0;
        job->finish_by_us = ask->finish_by_us ? now + ask->finish_by_us : 0;
    }
    request->n_most = ask->n_most;
    request->n_answer = ask->n_answer;
    request->n_cached = ask->n_cached;
    request->asked_ns = desk->agenda->now_ns;
    request->client = ask->client;
}

/* May it come in? As stream/ does: the account's limits first, then its deadline. */
static int admit(struct desk *desk, struct request *request, uint64_t *ret_retry_us)
{
    struct job *job = &request->job;
    struct admit_verdict verdict;
    int r = account_admit(job->account, &job->limits, 0, now_us(desk), ret_retry_us);

    if (r == ACCOUNT_STREAMS || r == ACCOUNT_WAITING) {
        *ret_retry_us = 1000ull * queue_retry_ms(&desk->queue, job->account, job->class, desk->governor.limits,
                                                 now_us(desk));
    }
    if (r) {
        return DESK_REFUSED;
    }
    r = admit_ask(&desk->queue, job, desk->governor.limits, now_us(desk), &verdict);
    if (r == ADMIT_LATE && desk->mutant == MUTANT_NO_ADMIT) {
        r = ADMIT_OK;
    }
    if (r != ADMIT_OK) {
        *ret_retry_us = r == ADMIT_LATE ? verdict.retry_us : 0;
        return DESK_REFUSED;
    }
    request->is_promised = job->first_by_us != 0 || job->finish_by_us != 0;
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
    r = desk->is_unscheduled ? DESK_OK : admit(desk, request, ret_retry_us);
    if (r) {
        desk->n_refused++;
        watch_on_refused(desk->watch, request, *ret_retry_us);
        return DESK_REFUSED;
    }
    queue_add(&desk->queue, &request->job, now_us(desk));
    queue_want(&desk->queue, &request->job, now_us(desk));
    request->job.n_left = ask->credit ? ask->credit : request->n_most;
    list_init(&request->link);
    list_append(&desk->requests, &request->link);
    desk->n_live++;
    rouse(desk);
    watch_on_asked(desk->watch, request);
    poke(desk);
    *ret_request = steal(&request);
    return DESK_OK;
}

void desk_grant(struct desk *desk, struct request *request, uint32_t n_tok)
{
    request->job.n_left = (uint32_t)num_min(request->job.n_left + n_tok, request->n_most - request->n_tok);
    if (request->job.parked && request->job.n_left > 0) {
        request->job.parked = false;
        request->job.since_us = now_us(desk);
    }
    poke(desk);
}

/* ---- seats */

static void open_sequence(struct desk *desk, struct request *request)
{
    struct job *job = &request->job;
    struct engine_message order = {
        .what = ENGINE_OPEN,
        .sequence = ++desk->last_sequence,
        .n_known = job->n_known,
        .n_cached = request->n_cached,
        .n_reserve = request->n_most - request->n_tok,
    };

    request->sequence = order.sequence;
    job_move(job, JOB_OPENING, now_us(desk));
    job->lane->n_taken++;
    desk->n_opening[lane_number(desk, job->lane)]++;
    engine_send(engine_of(desk, job->lane), &order);
}

static struct request *find_sequence(struct desk *desk, uint32_t lane, uint32_t sequence)
{
    struct list *link;

    list_for_each (link, &desk->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->sequence == sequence && request->job.lane == &desk->lanes[lane]) {
            return request;
        }
    }
    return NULL;
}

static void on_opened(struct desk *desk, struct engine *engine, const struct engine_message *answer)
{
    struct request *request = find_sequence(desk, engine->number, answer->sequence);
    struct lane *lane = &desk->lanes[engine->number];
    struct job *job;

    desk->n_opening[engine->number]--;
    if (!request) {
        return; /* ended meanwhile; its Close is behind the Open */
    }
    job = &request->job;
    if (answer->what == ENGINE_OPENED) {
        job->n_pages = (uint32_t)num_div_up((uint64_t)job->n_known + request->n_most - request->n_tok,
                                            ENGINE_PAGE_TOKENS);
        lane->n_pages_promised += job->n_pages;
        job->n_done = answer->n_cached;
        job_move(job, JOB_SEATED, now_us(desk));
        return;
    }
    request->sequence = 0;
    lane->n_taken--;
    lane->no_room = true;
    job_move(job, JOB_WAITING, now_us(desk));
    if (lane->n_taken == 0) {
        end(desk, request, DESK_NEVER);
    }
}

/* ---- steps */

static struct engine_work *work_of(const struct turn_step *step)
{
    struct engine_work *work = mem_calloc(MEM_MISC, 1, sizeof(*work));

    assert(work);
    work->id = step->id;
    work->load = step->plan.load;
    work->class = step->class;
    work->n_entries = step->plan.n_entries;
    for (uint32_t i = 0; i < work->n_entries; i++) {
        const struct plan_entry *entry = &step->plan.entries[i];

        work->entries[i] = (struct engine_entry){
            .sequence = request_of(entry->job)->sequence,
            .n_prefill = entry->n_prefill,
        };
    }
    return work;
}

static void carry_out(struct desk *desk, const struct turn_order *order)
{
    struct engine_message message = { .id = order->step->id, .slice_us = order->step->slice_us };

    switch (order->what) {
    case TURN_STEP:
        message.what = ENGINE_STEP;
        message.work = work_of(order->step);
        break;
    case TURN_CONTINUE:
        message.what = ENGINE_CONTINUE;
        break;
    case TURN_SUSPEND:
        message.what = ENGINE_SUSPEND;
        break;
    case TURN_WITHDRAW:
        message.what = ENGINE_WITHDRAW;
        break;
    case TURN_NONE:
        return;
    }
    if (desk->mutant == MUTANT_NO_SLICE) {
        message.slice_us = 0;
    }
    engine_send(engine_of(desk, order->step->lane), &message);
}

/* What a step computed and sampled for one job. */
static void take_result(struct desk *desk, struct request *request, const struct engine_entry *entry)
{
    struct job *job = &request->job;
    uint64_t now = now_us(desk);

    job->n_done += entry->n_rows;
    desk->n_rows += entry->n_rows;
    queue_charge(&desk->queue, job, entry->n_rows, entry->n_tok, now, now);
    watch_on_served(desk->watch, request, entry->n_rows + entry->n_tok);
    if (entry->n_tok == 0) {
        return;
    }
    if (request->n_tok >= request->n_answer) {
        return; /* sampled behind the end: in the pipeline already */
    }
    desk->n_tok++;
    job->n_known++;
    job->n_left--;
    job->has_first = true;
    request->n_tok++;
    if (request->first_ns == 0) {
        request->first_ns = desk->agenda->now_ns;
    }
    watch_on_token(desk->watch, request);
    desk->on_token(request->client, request);
    if (!request->is_over && request->n_tok == request->n_answer) {
        end(desk, request, DESK_DONE);
    } else if (!request->is_over && job->n_left == 0) {
        job->parked = true;
        job->since_us = now;
    }
}

static void on_done(struct desk *desk, struct engine *engine, const struct engine_message *answer)
{
    struct lane *lane = &desk->lanes[engine->number];
    struct turn_step *step = turn_on_done(&desk->turn, lane, answer->id, answer->held_us, now_us(desk));

    if (!step) {
        watch_on_nonsense(desk->watch);
        return;
    }
    desk->held_us[desk_place(desk)] += answer->held_us;
    desk->took_us += (double)answer->took_us;
    desk->foretold_us += step->plan.foretold_ns / 1000.0;
    watch_on_step(desk->watch, engine, &step->plan, answer->took_us);
    if (desk->mutant != MUTANT_NO_LEARN) {
        cost_learn(&lane->cost, &step->plan.load, answer->took_us * 1000);
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct engine_entry *entry = &answer->work->entries[i];
        struct request *request = step->plan.entries[i].job ? request_of(step->plan.entries[i].job) : NULL;

        if (!request) {
            continue;
        }
        if (request->is_over) {
            if (request->job.n_steps == 0) {
                forget(desk, request);
            }
        } else if (request->sequence == entry->sequence) {
            take_result(desk, request, entry);
        }
    }
}

void desk_on_answer(void *owner, struct engine *engine, const struct engine_message *answer)
{
    struct desk *desk = owner;
    struct lane *lane = &desk->lanes[engine->number];
    bool understood = true;

    switch (answer->what) {
    case ENGINE_OPENED:
    case ENGINE_REFUSED:
        on_opened(desk, engine, answer);
        break;
    case ENGINE_DONE:
        on_done(desk, engine, answer);
        break;
    case ENGINE_SUSPENDED:
        understood = turn_on_suspended(&desk->turn, lane, answer->id, answer->held_us, now_us(desk));
        desk->held_us[desk_place(desk)] += answer->held_us;
        break;
    case ENGINE_WITHDRAWN:
        understood = turn_on_withdrawn(&desk->turn, lane, answer->id, answer->done, now_us(desk));
        break;
    case ENGINE_OPEN:
    case ENGINE_CLOSE:
    case ENGINE_STEP:
    case ENGINE_CONTINUE:
    case ENGINE_SUSPEND:
    case ENGINE_WITHDRAW:
        understood = false;
        break;
    }
    if (!understood) {
        watch_on_nonsense(desk->watch);
    }
    poke(desk);
}

/* ---- once a turn */

static void expire(struct desk *desk)
{
    struct job *job;

    while ((job = queue_next_expired(&desk->queue, now_us(desk)))) {
        end(desk, request_of(job), DESK_EXPIRED);
    }
}

static void seat(struct desk *desk)
{
    uint64_t now = now_us(desk);
    struct job *job;

    queue_look(&desk->queue, desk->governor.limits, now);
    while ((job = queue_find_victim(&desk->queue, desk->governor.limits, now, now))) {
        close_sequence(desk, request_of(job));
        queue_put_aside(&desk->queue, job, now);
    }
    while ((job = queue_next_seat(&desk->queue, desk->governor.limits, now, now))) {
        open_sequence(desk, request_of(job));
    }
}

static void fill_turn_input(struct desk *desk, struct turn_input *input)
{
    *input = (struct turn_input){ .now_us = now_us(desk), .boot_us = now_us(desk) };
    for (int i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        input->limits[i] = desk->governor.limits[i];
        if (desk->mutant == MUTANT_NO_REST && input->limits[i].duty_permille > 0) {
            input->limits[i].duty_permille = 1000;
        }
    }
}

static void on_run(void *owner)
{
    struct desk *desk = owner;
    struct turn_input input;
    struct turn_order order;
    uint64_t wake_us;

    expire(desk);
    seat(desk);
    if (desk->mutant == MUTANT_NO_AGE) {
        mutant_rejuvenates(&desk->queue, now_us(desk));
    }
    fill_turn_input(desk, &input);
    for (;;) {
        turn_next(&desk->turn, &desk->queue, &desk->planner, &input, &order);
        if (order.what == TURN_NONE) {
            break;
        }
        if (order.what != TURN_SUSPEND || desk->mutant != MUTANT_NO_SUSPEND) {
            carry_out(desk, &order);
        }
    }
    wake_us = order.wake_us;
    if (order.wake_boot_us > 0) {
        wake_us = wake_us ? num_min(wake_us, order.wake_boot_us) : order.wake_boot_us;
    }
    if (queue_next_deadline_us(&desk->queue) > 0) {
        uint64_t at_us = queue_next_deadline_us(&desk->queue);

        wake_us = wake_us ? num_min(wake_us, at_us) : at_us;
    }
    if (wake_us > 0) {
        agenda_enter(desk->agenda, &desk->wake, num_max(wake_us, now_us(desk) + 1) * AGENDA_US);
    }
    watch_on_settled(desk->watch, desk);
}

/* ---- engines that are lost */

void desk_on_lost(struct desk *desk, uint32_t number, uint64_t after_ns)
{
    struct lane *lane = &desk->lanes[number];
    struct list *link;
    struct list *after;

    turn_on_lost(&desk->turn, lane, now_us(desk));
    lane->open = false;
    lane->n_taken = 0;
    lane->n_pages_promised = 0;
    lane->no_room = false;
    desk->n_opening[number] = 0;
    list_for_each_safe (link, after, &desk->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->job.lane != lane) {
            continue;
        }
        if (request->is_over) {
            if (request->job.n_steps == 0) {
                forget(desk, request);
            }
            continue;
        }
        request->sequence = 0;
        job_forget(&request->job);
        if (request->job.state != JOB_WAITING) {
            job_move(&request->job, JOB_WAITING, now_us(desk));
        }
    }
    agenda_enter(desk->agenda, &desk->restart[number], desk->agenda->now_ns + after_ns);
    poke(desk);
}

static void restart(struct desk *desk, uint32_t number)
{
    engine_start(&desk->engines[number]);
    desk->lanes[number].open = true;
    poke(desk);
}

static void on_restart_first(void *owner)
{
    restart(owner, 0);
}

static void on_restart_second(void *owner)
{
    restart(owner, 1);
}

/* ---- life */

static void init_lane(struct lane *lane, const struct scenario *scenario, const struct scenario_engine *family)
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
    *lane = (struct lane){
        .place = scenario->chip.cores ? GOVERNOR_CORES : GOVERNOR_DEVICE,
        .n_seats = (uint32_t)family->seats,
        .n_rows = (uint32_t)family->rows,
        .page_tokens = ENGINE_PAGE_TOKENS,
        .n_pages = (uint32_t)family->pages,
        .open = true,
    };
    cost_init(&lane->cost, first_ns);
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
    turn_init(&desk->turn);
    governor_init(&desk->governor, &policy);
    list_init(&desk->requests);
    for (uint32_t i = 0; i < scenario->n_engines; i++) {
        init_lane(&desk->lanes[i], scenario, &scenario->engines[i]);
    }
    agenda_event_init(&desk->run, on_run, desk);
    agenda_event_init(&desk->wake, on_run, desk);
    agenda_event_init(&desk->tick, on_tick, desk);
    agenda_event_init(&desk->restart[0], on_restart_first, desk);
    agenda_event_init(&desk->restart[1], on_restart_second, desk);
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
