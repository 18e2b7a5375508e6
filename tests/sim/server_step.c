/*
 * Server, second half: slots, steps, and lost engines.
 */
#include "base/num.h"
#include "monitor.h"
#include "server_internal.h"
#include <assert.h>

static struct request *request_of(struct job *job)
{
    return container_of(job, struct request, job);
}

/* ---- slots */

static void open_sequence(struct server *server, struct request *request)
{
    struct job *job = &request->job;
    struct engine_message order = {
        .what = ENGINE_OPEN,
        .sequence = ++server->last_sequence,
        .n_known = job->n_known,
        .n_cached = request->n_cached,
        .n_reserve = request->n_most - request->n_tok,
    };

    monitor_log(server->monitor, "request %llu: asks for a slot, %u tokens and up to %u",
                (unsigned long long)job->order, order.n_known, order.n_reserve);
    request->sequence = order.sequence;
    request->opens_alone = job->eq->n_taken == 0 && job->eq->n_leaving == 0;
    job_move(job, JOB_OPENING, server_now_us(server));
    job->eq->n_taken++;
    server->n_opening[(uint32_t)(job->eq - server->eqs)]++;
    engine_send(server_engine_of(server, job->eq), &order);
}

static struct request *find_sequence(struct server *server, uint32_t engine, uint32_t sequence)
{
    struct list *link;

    list_for_each (link, &server->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->sequence == sequence && request->job.eq == &server->eqs[engine]) {
            return request;
        }
    }
    return NULL;
}

static void on_opened(struct server *server, struct engine *engine, const struct engine_message *answer)
{
    struct request *request = find_sequence(server, engine->number, answer->sequence);
    struct engine_queue *eq = &server->eqs[engine->number];
    struct job *job;

    server->n_opening[engine->number]--;
    if (!request) {
        return; /* ended meanwhile; its Close follows the Open */
    }
    job = &request->job;
    job->n_pages = (uint32_t)num_div_up((uint64_t)job->n_known + request->n_most - request->n_tok, ENGINE_PAGE_TOKENS);
    monitor_log(server->monitor, "request %llu: %s", (unsigned long long)job->order,
                answer->what == ENGINE_OPENED ? "is seated" : "has no room");
    if (answer->what == ENGINE_OPENED) {
        job->n_done = answer->n_cached;
        job_move(job, JOB_ASSIGNED, server_now_us(server));
        return;
    }
    request->sequence = 0;
    eq->n_taken--;
    eq->no_room = eq->n_taken > 0 && eq->n_leaving == 0; /* closing sequences will leave some */
    job_move(job, JOB_WAITING, server_now_us(server));
    if (request->opens_alone && eq->n_taken == 0) {
        server_end(server, request, SERVER_NEVER);
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

static void carry_out(struct server *server, const struct dispatch_order *order)
{
    static const char *const orders[] = { "none", "begins", "continues", "suspends", "withdraws" };
    struct engine_message message = { .id = order->step->id, .slice_us = order->step->slice_us };

    monitor_log(server->monitor, "dispatch: %s step %llu of engine %u, class %d, slice %u us, %s", orders[order->what],
                (unsigned long long)message.id, (uint32_t)(order->step->eq - server->eqs), (int)order->step->priority,
                message.slice_us, order->step->state == DISPATCH_WAITING ? "waits" : "at once");
    switch (order->what) {
    case DISPATCH_STEP:
        message.what = ENGINE_STEP;
        server->n_runs++;
        message.work = work_of(order->step);
        break;
    case DISPATCH_CONTINUE:
        message.what = ENGINE_CONTINUE;
        server->n_runs++;
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
    if (server->mutant == MUTANT_NO_SLICE) {
        message.slice_us = 0;
    } else if (server->mutant == MUTANT_LONG_SLICE) {
        message.slice_us += message.slice_us / 5;
    }
    engine_send(server_engine_of(server, order->step->eq), &message);
}

/* Takes what a step computed and sampled for one job. */
static void take_result(struct server *server, struct request *request, const struct engine_entry *entry)
{
    struct job *job = &request->job;
    uint64_t now = server_now_us(server);
    uint32_t n_paid = job->n_paid;
    uint64_t served = job->account->served[job->priority];

    job->n_done += entry->n_rows;
    server->n_rows += entry->n_rows;
    queue_charge(&server->queue, job, entry->n_rows, entry->n_tok, now, now);
    mutant_charges(server->mutant, job, served);
    monitor_on_served(server->monitor, request, job->n_paid - n_paid);
    if (entry->n_tok == 0) {
        return;
    }
    if (request->n_tok >= request->n_answer) {
        return; /* sampled beyond the end, as the step was in the pipeline */
    }
    server->n_tok++;
    job->n_known++;
    job->n_left--;
    job->has_first = true;
    request->n_tok++;
    if (request->first_ns == 0) {
        request->first_ns = server->timeline->now_ns;
    }
    monitor_on_token(server->monitor, request);
    server->on_token(request->client, request);
    if (!request->is_over && request->n_tok == request->n_answer) {
        server_end(server, request, SERVER_DONE);
    } else if (!request->is_over && job->n_left == 0) {
        job->parked = true;
        job->since_us = now;
    }
}

/* True if all that was asked for was computed, so its time can be learnt from. */
static bool is_whole(const struct plan *plan, const struct engine_work *work)
{
    uint32_t n_rows = 0;

    for (uint32_t i = 0; i < work->n_entries; i++) {
        n_rows += work->entries[i].n_rows;
    }
    return n_rows == plan->n_rows;
}

/* Counts a run that has ended. Returns the time that it is charged for. */
static uint64_t count_run(struct server *server, const struct engine_message *answer)
{
    uint64_t held_us = mutant_holds(server->mutant, answer->held_us, answer->waited_us);

    server->held_us[server_processor(server)] += held_us;
    if (server_processor(server) == PROCESSOR_GPU) {
        governor_on_slice(&server->governor, server_now_us(server), held_us,
                          mutant_feels(server->mutant, answer->waited_us));
    }
    return held_us;
}

static void on_done(struct server *server, struct engine *engine, const struct engine_message *answer)
{
    struct engine_queue *eq = &server->eqs[engine->number];
    struct dispatch_step *step =
        dispatch_on_done(&server->dispatch, eq, answer->id, count_run(server, answer), server_now_us(server));

    if (!step) {
        monitor_on_nonsense(server->monitor);
        return;
    }
    if (is_whole(&step->plan, answer->work)) {
        monitor_on_step(server->monitor, engine, &step->plan, step->held_us);
        if (server->mutant != MUTANT_NO_LEARN) {
            cost_learn(&eq->cost, &step->plan.load, step->held_us * 1000);
        }
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct engine_entry *entry = &answer->work->entries[i];
        struct request *request = step->plan.entries[i].job ? request_of(step->plan.entries[i].job) : NULL;

        if (!request) {
            continue;
        }
        if (!request->is_over && request->sequence == entry->sequence) {
            take_result(server, request, entry);
        }
    }
}

void server_on_answer(void *owner, struct engine *engine, const struct engine_message *answer)
{
    struct server *server = owner;
    struct engine_queue *eq = &server->eqs[engine->number];
    bool understood = true;

    switch (answer->what) {
    case ENGINE_OPENED:
    case ENGINE_REFUSED:
        on_opened(server, engine, answer);
        break;
    case ENGINE_DONE:
        on_done(server, engine, answer);
        break;
    case ENGINE_SUSPENDED:
        understood =
            dispatch_on_suspended(&server->dispatch, eq, answer->id, count_run(server, answer), server_now_us(server));
        break;
    case ENGINE_WITHDRAWN:
        understood = dispatch_on_withdrawn(&server->dispatch, eq, answer->id, answer->done, server_now_us(server));
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
        monitor_on_nonsense(server->monitor);
    }
    server_wake(server);
}

/* ---- once an iteration */

/* Removes ended requests that no step names any more: it ended, was withdrawn, or its engine is lost. */
static void drop_ended(struct server *server)
{
    struct list *link;
    struct list *after;

    if (server->n_over == 0) {
        return;
    }
    list_for_each_safe (link, after, &server->requests) {
        struct request *request = container_of(link, struct request, link);

        if (request->is_over && request->job.n_steps == 0) {
            list_remove(&request->link);
            mem_free(request);
            server->n_over--;
        }
    }
}

static void expire(struct server *server)
{
    struct job *job;

    while ((job = queue_next_expired(&server->queue, server_now_us(server)))) {
        server_end(server, request_of(job), SERVER_EXPIRED);
    }
}

static void fill_turn_input(struct server *server, struct dispatch_input *input)
{
    *input = (struct dispatch_input){ .now_us = server_now_us(server), .boot_us = server_now_us(server) };
    for (int i = 0; i < PROCESSOR_COUNT; i++) {
        input->limits[i] = server->governor.limits[i];
        mutant_limits(server->mutant, &input->limits[i]);
    }
}

/* Preempts @job: its slot is taken. */
static void preempt(struct server *server, struct job *job)
{
    uint64_t ahead = job->account->ahead[job->priority];

    monitor_log(server->monitor, "request %llu: is preempted", (unsigned long long)job->order);
    server_close_sequence(server, request_of(job));
    dispatch_forget(&server->dispatch, job);
    queue_preempt(&server->queue, job, server_now_us(server));
    mutant_refunds(server->mutant, job, ahead);
}

static void slot(struct server *server, const struct dispatch_input *in)
{
    struct governor_limits limits[PROCESSOR_COUNT];
    uint64_t now = server_now_us(server);
    struct job *job;

    dispatch_effective_limits(&server->dispatch, server->governor.limits, limits);
    admit_mark_urgent(&server->queue, limits, now);
    mutant_evicts(server->mutant, &server->queue);
    while ((job = dispatch_find_victim(&server->dispatch, &server->queue, in))) {
        preempt(server, job);
    }
    while ((job = queue_find_victim(&server->queue, server->governor.limits, now, now))) {
        preempt(server, job);
    }
    while ((job = queue_next_slot(&server->queue, server->governor.limits, now, now))) {
        open_sequence(server, request_of(job));
    }
}

void server_settle(void *owner)
{
    struct server *server = owner;
    struct dispatch_input input;
    struct dispatch_order order;
    uint64_t wake_us;

    drop_ended(server);
    expire(server);
    fill_turn_input(server, &input);
    slot(server, &input);
    mutant_prolongs(server->mutant, &server->queue, server_now_us(server));
    if (server->mutant == MUTANT_NO_AGE || server->mutant == MUTANT_SLOW_AGE) {
        mutant_rejuvenates(&server->queue, server_now_us(server) - server->settled_us, server_now_us(server),
                           server->mutant == MUTANT_SLOW_AGE ? 4 : 0);
    }
    server->settled_us = server_now_us(server);
    for (;;) {
        dispatch_next(&server->dispatch, &server->queue, &server->planner, &input, &order);
        if (order.what == DISPATCH_NONE) {
            break;
        }
        if (order.what != DISPATCH_SUSPEND || server->mutant != MUTANT_NO_SUSPEND) {
            carry_out(server, &order);
        }
    }
    wake_us = order.wake_us;
    if (order.wake_boot_us > 0) {
        wake_us = wake_us ? num_min(wake_us, order.wake_boot_us) : order.wake_boot_us;
    }
    if (queue_next_deadline_us(&server->queue) > 0) {
        uint64_t at_us = queue_next_deadline_us(&server->queue);

        wake_us = wake_us ? num_min(wake_us, at_us) : at_us;
    }
    if (wake_us > 0) {
        timeline_enter(server->timeline, &server->wake, num_max(wake_us, server_now_us(server) + 1) * TIMELINE_US);
    }
    monitor_on_settled(server->monitor, server);
}

/* ---- lost engines */

void server_on_lost(struct server *server, uint32_t number, uint64_t after_ns)
{
    struct engine_queue *eq = &server->eqs[number];
    struct list *link;

    dispatch_on_lost(&server->dispatch, eq, server_now_us(server));
    eq->open = false;
    eq->n_taken = server->mutant == MUTANT_LOST_SLOT;
    eq->no_room = false;
    server->n_opening[number] = 0;
    list_for_each (link, &server->requests) {
        struct request *request = container_of(link, struct request, link);
        uint64_t ahead;

        if (request->job.eq != eq) {
            continue;
        }
        if (request->is_over) {
            continue;
        }
        ahead = request->job.account->ahead[request->job.priority];
        request->sequence = 0;
        job_forget(&request->job);
        mutant_refunds(server->mutant, &request->job, ahead);
        if (request->job.state != JOB_WAITING) {
            job_move(&request->job, JOB_WAITING, server_now_us(server));
        }
    }
    timeline_enter(server->timeline, &server->restart[number], server->timeline->now_ns + after_ns);
    server_wake(server);
}

static void restart(struct server *server, uint32_t number)
{
    engine_restart(&server->engines[number]);
    server->eqs[number].open = true;
    server_wake(server);
}

void server_on_restart_first(void *owner)
{
    restart(owner, 0);
}

void server_on_restart_second(void *owner)
{
    restart(owner, 1);
}
