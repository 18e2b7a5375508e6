/*
 * Desk, its second half: seats, steps, and engines that are lost.
 */
#include "base/num.h"
#include "desk_inside.h"
#include "watch.h"
#include <assert.h>

static struct request *request_of(struct job *job)
{
    return container_of(job, struct request, job);
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

    watch_say(desk->watch, "request %llu: asks for a seat, %u tokens and up to %u", (unsigned long long)job->order,
              order.n_known, order.n_reserve);
    request->sequence = order.sequence;
    request->opens_alone = job->eq->n_taken == 0 && job->eq->n_leaving == 0;
    job_move(job, JOB_OPENING, desk_now_us(desk));
    job->eq->n_taken++;
    desk->n_opening[(uint32_t)(job->eq - desk->lanes)]++;
    engine_send(desk_engine_of(desk, job->eq), &order);
}

static struct request *find_sequence(struct desk *desk, uint32_t eq, uint32_t sequence)
{
    struct list *link;

    list_for_each (link, &desk->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->sequence == sequence && request->job.eq == &desk->lanes[eq]) {
            return request;
        }
    }
    return NULL;
}

static void on_opened(struct desk *desk, struct engine *engine, const struct engine_message *answer)
{
    struct request *request = find_sequence(desk, engine->number, answer->sequence);
    struct engine_queue *eq = &desk->lanes[engine->number];
    struct job *job;

    desk->n_opening[engine->number]--;
    if (!request) {
        return; /* ended meanwhile; its Close is behind the Open */
    }
    job = &request->job;
    job->n_pages = (uint32_t)num_div_up((uint64_t)job->n_known + request->n_most - request->n_tok, ENGINE_PAGE_TOKENS);
    watch_say(desk->watch, "request %llu: %s", (unsigned long long)job->order,
              answer->what == ENGINE_OPENED ? "is seated" : "has no room");
    if (answer->what == ENGINE_OPENED) {
        job->n_done = answer->n_cached;
        job_move(job, JOB_ASSIGNED, desk_now_us(desk));
        return;
    }
    request->sequence = 0;
    eq->n_taken--;
    eq->no_room = eq->n_taken > 0 && eq->n_leaving == 0; /* of who leaves there will be some */
    job_move(job, JOB_WAITING, desk_now_us(desk));
    if (request->opens_alone && eq->n_taken == 0) {
        desk_end(desk, request, DESK_NEVER);
    }
}

/* ---- steps */

static struct engine_work *work_of(const struct dispatch_step *step)
{
    struct engine_work *work = mem_calloc(MEM_MISC, 1, sizeof(*work));

    assert(work);
    work->id = step->id;
    work->load = step->plan.load;
    work->priority = step->priority;
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

static void carry_out(struct desk *desk, const struct dispatch_order *order)
{
    static const char *const orders[] = { "none", "begins", "continues", "suspends", "withdraws" };
    struct engine_message message = { .id = order->step->id, .slice_us = order->step->slice_us };

    watch_say(desk->watch, "turn: %s step %llu of engine %u, class %d, slice %u us, %s", orders[order->what],
              (unsigned long long)message.id, (uint32_t)(order->step->eq - desk->lanes), (int)order->step->priority,
              message.slice_us, order->step->state == DISPATCH_WAITING ? "waits" : "at once");
    switch (order->what) {
    case DISPATCH_STEP:
        message.what = ENGINE_STEP;
        message.work = work_of(order->step);
        break;
    case DISPATCH_CONTINUE:
        message.what = ENGINE_CONTINUE;
        break;
    case DISPATCH_SUSPEND:
        message.what = ENGINE_SUSPEND;
        break;
    case DISPATCH_WITHDRAW:
        message.what = ENGINE_WITHDRAW;
        break;
    case DISPATCH_NONE:
        return;
    }
    if (desk->mutant == MUTANT_NO_SLICE) {
        message.slice_us = 0;
    } else if (desk->mutant == MUTANT_LONG_SLICE) {
        message.slice_us += message.slice_us / 5;
    }
    engine_send(desk_engine_of(desk, order->step->eq), &message);
}

/* What a step computed and sampled for one job. */
static void take_result(struct desk *desk, struct request *request, const struct engine_entry *entry)
{
    struct job *job = &request->job;
    uint64_t now = desk_now_us(desk);
    uint32_t n_paid = job->n_paid;
    uint64_t served = job->account->served[job->priority];

    job->n_done += entry->n_rows;
    desk->n_rows += entry->n_rows;
    queue_charge(&desk->queue, job, entry->n_rows, entry->n_tok, now, now);
    mutant_charges(desk->mutant, job, served);
    watch_on_served(desk->watch, request, job->n_paid - n_paid);
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
        desk_end(desk, request, DESK_DONE);
    } else if (!request->is_over && job->n_left == 0) {
        job->parked = true;
        job->since_us = now;
    }
}

/* All that was asked for was computed: its time says something. */
static bool is_whole(const struct plan *plan, const struct engine_work *work)
{
    uint32_t n_rows = 0;

    for (uint32_t i = 0; i < work->n_entries; i++) {
        n_rows += work->entries[i].n_rows;
    }
    return n_rows == plan->n_rows;
}

static void on_done(struct desk *desk, struct engine *engine, const struct engine_message *answer)
{
    struct engine_queue *eq = &desk->lanes[engine->number];
    struct dispatch_step *step = dispatch_on_done(&desk->dispatch, eq, answer->id, answer->held_us, desk_now_us(desk));

    if (!step) {
        watch_on_nonsense(desk->watch);
        return;
    }
    desk->held_us[desk_place(desk)] += answer->held_us;
    if (is_whole(&step->plan, answer->work)) {
        if (desk_place(desk) == PROCESSOR_GPU && eq->cost.n_learnt >= COST_YOUNG) {
            desk->took_us += (double)answer->took_us;
            desk->estimated_us += step->plan.estimated_ns / 1000.0;
        }
        watch_on_step(desk->watch, engine, &step->plan, answer->took_us);
        if (desk->mutant != MUTANT_NO_LEARN) {
            cost_learn(&eq->cost, &step->plan.load, answer->took_us * 1000);
        }
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct engine_entry *entry = &answer->work->entries[i];
        struct request *request = step->plan.entries[i].job ? request_of(step->plan.entries[i].job) : NULL;

        if (!request) {
            continue;
        }
        if (!request->is_over && request->sequence == entry->sequence) {
            take_result(desk, request, entry);
        }
    }
}

void desk_on_answer(void *owner, struct engine *engine, const struct engine_message *answer)
{
    struct desk *desk = owner;
    struct engine_queue *eq = &desk->lanes[engine->number];
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
        understood = dispatch_on_suspended(&desk->dispatch, eq, answer->id, answer->held_us, desk_now_us(desk));
        desk->held_us[desk_place(desk)] += answer->held_us;
        break;
    case ENGINE_WITHDRAWN:
        understood = dispatch_on_withdrawn(&desk->dispatch, eq, answer->id, answer->done, desk_now_us(desk));
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
    desk_poke(desk);
}

/* ---- once a turn */

/* Requests that are over, and that no step names any more: it ended, was withdrawn, or its engine is lost. */
static void drop_ended(struct desk *desk)
{
    struct list *link;
    struct list *after;

    if (desk->n_over == 0) {
        return;
    }
    list_for_each_safe (link, after, &desk->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->is_over && request->job.n_steps == 0) {
            list_remove(&request->link);
            mem_free(request);
            desk->n_over--;
        }
    }
}

static void expire(struct desk *desk)
{
    struct job *job;

    while ((job = queue_next_expired(&desk->queue, desk_now_us(desk)))) {
        desk_end(desk, request_of(job), DESK_EXPIRED);
    }
}

static void fill_turn_input(struct desk *desk, struct dispatch_input *input)
{
    *input = (struct dispatch_input){ .now_us = desk_now_us(desk), .boot_us = desk_now_us(desk) };
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        input->limits[i] = desk->governor.limits[i];
        mutant_limits(desk->mutant, &input->limits[i]);
    }
}

/* Its seat is taken. */
static void put_aside(struct desk *desk, struct job *job)
{
    watch_say(desk->watch, "request %llu: gives its seat up", (unsigned long long)job->order);
    desk_close_sequence(desk, request_of(job));
    dispatch_forget(&desk->dispatch, job);
    queue_preempt(&desk->queue, job, desk_now_us(desk));
}

static void slot(struct desk *desk, const struct dispatch_input *in)
{
    struct governor_limits limits[PROCESSOR_COUNT];
    uint64_t now = desk_now_us(desk);
    struct job *job;

    dispatch_real_limits(&desk->dispatch, desk->governor.limits, limits);
    admit_mark_urgent(&desk->queue, limits, now);
    while ((job = dispatch_find_victim(&desk->dispatch, &desk->queue, in))) {
        put_aside(desk, job);
    }
    while ((job = queue_find_victim(&desk->queue, desk->governor.limits, now, now))) {
        put_aside(desk, job);
    }
    while ((job = queue_next_slot(&desk->queue, desk->governor.limits, now, now))) {
        open_sequence(desk, request_of(job));
    }
}

void desk_settle(void *owner)
{
    struct desk *desk = owner;
    struct dispatch_input input;
    struct dispatch_order order;
    uint64_t wake_us;

    drop_ended(desk);
    expire(desk);
    fill_turn_input(desk, &input);
    slot(desk, &input);
    if (desk->mutant == MUTANT_NO_AGE || desk->mutant == MUTANT_SLOW_AGE) {
        mutant_rejuvenates(&desk->queue, desk_now_us(desk) - desk->settled_us, desk_now_us(desk),
                           desk->mutant == MUTANT_SLOW_AGE ? 4 : 0);
    }
    desk->settled_us = desk_now_us(desk);
    for (;;) {
        dispatch_next(&desk->dispatch, &desk->queue, &desk->planner, &input, &order);
        if (order.what == DISPATCH_NONE) {
            break;
        }
        if (order.what != DISPATCH_SUSPEND || desk->mutant != MUTANT_NO_SUSPEND) {
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
        agenda_enter(desk->agenda, &desk->wake, num_max(wake_us, desk_now_us(desk) + 1) * AGENDA_US);
    }
    watch_on_settled(desk->watch, desk);
}

/* ---- engines that are lost */

void desk_on_lost(struct desk *desk, uint32_t number, uint64_t after_ns)
{
    struct engine_queue *eq = &desk->lanes[number];
    struct list *link;

    dispatch_on_lost(&desk->dispatch, eq, desk_now_us(desk));
    eq->open = false;
    eq->n_taken = desk->mutant == MUTANT_LOST_SLOT;
    eq->no_room = false;
    desk->n_opening[number] = 0;
    list_for_each (link, &desk->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->job.eq != eq) {
            continue;
        }
        if (request->is_over) {
            continue;
        }
        request->sequence = 0;
        job_forget(&request->job);
        if (request->job.state != JOB_WAITING) {
            job_move(&request->job, JOB_WAITING, desk_now_us(desk));
        }
    }
    agenda_enter(desk->agenda, &desk->restart[number], desk->agenda->now_ns + after_ns);
    desk_poke(desk);
}

static void restart(struct desk *desk, uint32_t number)
{
    engine_start(&desk->engines[number]);
    desk->lanes[number].open = true;
    desk_poke(desk);
}

void desk_on_restart_first(void *owner)
{
    restart(owner, 0);
}

void desk_on_restart_second(void *owner)
{
    restart(owner, 1);
}
