/* Runs one step after the other, in the estimated time. */
#include "fixture.h"
#include "base/num.h"
#include "unit.h"

void fixture_init(struct fixture *fixture, uint32_t n_slots)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 10000000, 1000000, 100000, 1 };

    *fixture = (struct fixture){ .n_slot_cached = 1000 };
    queue_init(&fixture->queue);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        fixture->in.limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
    fixture->eq = (struct engine_queue){
        .n_slots = n_slots, .n_rows = 256, .n_context = 1u << 20, .page_tokens = 16, .open = true
    };
    cost_init(&fixture->eq.cost, first_ns);
    for (uint32_t i = 1; i < FIXTURE_ACCOUNTS; i++) {
        ck_assert_int_eq(accounts_get(&fixture->queue.accounts, i, &fixture->accounts[i]), 0);
    }
    fixture->in.now_us = 1000000;
    fixture->in.boot_us = fixture->in.now_us;
}

void fixture_finish(struct fixture *fixture)
{
    queue_finish(&fixture->queue);
}

void fixture_request(struct fixture *fixture, struct fixture_request *request, uint32_t uid, enum priority priority,
                     uint32_t n_prompt, uint32_t n_answer)
{
    *request = (struct fixture_request){ .n_answer = n_answer };
    request->job = (struct job){
        .account = fixture->accounts[uid],
        .priority = priority,
        .eq = &fixture->eq,
        .n_prompt = n_prompt,
        .n_known = n_prompt,
        .n_most = n_prompt + n_answer,
    };
}

void fixture_arrive(struct fixture *fixture, struct fixture_request *request)
{
    request->asked_us = fixture->in.now_us;
    queue_add(&fixture->queue, &request->job, fixture->in.now_us);
    request->job.n_left = request->n_answer;
    queue_want(&fixture->queue, &request->job, fixture->in.now_us);
}

void fixture_add(struct fixture *fixture, struct fixture_request *request, uint32_t uid, uint32_t weight,
                 enum priority priority, uint32_t n_prompt, uint32_t n_answer)
{
    fixture_request(fixture, request, uid, priority, n_prompt, n_answer);
    request->job.limits.weight = weight;
    fixture_arrive(fixture, request);
}

/* ---- slots */

static void leave_steps(struct fixture *fixture, const struct job *job)
{
    for (uint32_t i = 0; i < fixture->n_under_way; i++) {
        for (uint32_t k = 0; k < fixture->plans[i].n_entries; k++) {
            if (fixture->plans[i].entries[k].job == job) {
                fixture->plans[i].entries[k].job = NULL;
            }
        }
    }
}

void fixture_promise(struct fixture *fixture, struct fixture_request *request, uint64_t first_us, uint64_t finish_us)
{
    request->job.first_by_us = first_us ? fixture->in.boot_us + first_us : 0;
    request->job.finish_by_us = finish_us ? fixture->in.boot_us + finish_us : 0;
}

void fixture_assign(struct fixture *fixture, struct fixture_request *request)
{
    job_move(&request->job, JOB_OPENING, fixture->in.now_us);
    job_move(&request->job, JOB_ASSIGNED, fixture->in.now_us);
    request->job.eq->n_taken++;
}

struct job *fixture_victim(struct fixture *fixture)
{
    return queue_find_victim(&fixture->queue, fixture->in.limits, fixture->in.now_us, fixture->in.boot_us);
}

struct job *fixture_next_slot(struct fixture *fixture)
{
    return queue_next_slot(&fixture->queue, fixture->in.limits, fixture->in.now_us, fixture->in.boot_us);
}

void fixture_preempt(struct fixture *fixture, struct job *job)
{
    leave_steps(fixture, job);
    queue_preempt(&fixture->queue, job, fixture->in.now_us);
    job->eq->n_taken--;
    job->eq->no_room = false;
}

/* Opens a sequence as an engine does: refused if there are no pages. */
static void open_sequence(struct fixture *fixture, struct job *job)
{
    struct engine_queue *eq = job->eq;
    uint32_t n_pages = (uint32_t)num_div_up(job->n_most, eq->page_tokens);

    job_move(job, JOB_OPENING, fixture->in.now_us);
    job->n_pages = n_pages;
    if (eq->n_pages > 0 && eq->n_pages_promised + n_pages > eq->n_pages) {
        eq->no_room = true;
        job_move(job, JOB_WAITING, fixture->in.now_us);
        return;
    }
    eq->n_taken++;
    job->n_done = (uint32_t)((uint64_t)job->n_paid * fixture->n_slot_cached / 1000);
    job->n_done = (uint32_t)num_min(job->n_done, job->n_known - 1);
    job_move(job, JOB_ASSIGNED, fixture->in.now_us);
}

static void slot(struct fixture *fixture)
{
    struct plan_input *in = &fixture->in;
    struct job *job;

    admit_mark_urgent(&fixture->queue, in->limits, in->boot_us);
    do {
        while ((job = queue_find_victim(&fixture->queue, in->limits, in->now_us, in->boot_us))) {
            fixture_preempt(fixture, job);
        }
        job = queue_next_slot(&fixture->queue, in->limits, in->now_us, in->boot_us);
        if (job) {
            open_sequence(fixture, job);
        }
    } while (job);
}

/* ---- steps */

static struct fixture_request *request_of(struct job *job)
{
    return container_of(job, struct fixture_request, job);
}

bool fixture_is_over(const struct fixture_request *request)
{
    return request->job.state == JOB_ENDED;
}

static void end(struct fixture *fixture, struct fixture_request *request)
{
    leave_steps(fixture, &request->job);
    if (request->job.state == JOB_ASSIGNED) {
        request->job.eq->n_taken--;
        request->job.eq->no_room = false;
    }
    request->ended_us = fixture->in.now_us;
    queue_remove(&fixture->queue, &request->job, fixture->in.now_us);
    job_forget(&request->job);
}

static void take_token(struct fixture *fixture, struct fixture_request *request)
{
    uint64_t now_us = fixture->in.now_us;

    if (request->first_us == 0) {
        request->first_us = now_us;
    } else {
        request->gap_us = num_max(request->gap_us, now_us - request->last_us);
    }
    request->last_us = now_us;
    request->job.n_known++;
    request->job.n_left--;
    if (request->job.n_left == 0) {
        end(fixture, request);
    }
}

static void send(struct fixture *fixture, enum plan_kind kind)
{
    struct plan *plan = &fixture->plans[fixture->n_under_way];

    fixture->in.kind = kind;
    fixture->in.eq = kind == PLAN_BEHIND ? &fixture->eq : NULL;
    plan_make(&fixture->planner, &fixture->queue, &fixture->in, plan);
    if (!plan->eq) {
        return;
    }
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        job_send(plan->entries[i].job, plan->entries[i].n_rows, plan->entries[i].n_tok, plan->entries[i].n_drafts);
    }
    fixture->n_under_way++;
}

static void take_results(struct fixture *fixture, struct plan *plan)
{
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        struct plan_entry *entry = &plan->entries[i];
        struct job *job = entry->job;
        uint32_t n_before;

        if (!job) {
            continue;
        }
        entry->job = NULL;
        n_before = job->n_paid;
        job_settle(job, entry->n_rows, entry->n_tok, entry->n_drafts);
        job->n_done += entry->n_rows;
        queue_charge(&fixture->queue, job, entry->n_rows, entry->n_tok, fixture->in.now_us, fixture->in.boot_us);
        fixture->n_served[job->account->uid] += job->n_paid - n_before;
        if (entry->n_tok > 0) {
            take_token(fixture, request_of(job));
        }
    }
}

static void expire(struct fixture *fixture)
{
    struct job *job;

    while ((job = queue_next_expired(&fixture->queue, fixture->in.boot_us))) {
        request_of(job)->expired = true;
        end(fixture, request_of(job));
    }
}

void fixture_step(struct fixture *fixture)
{
    struct plan plan;

    expire(fixture);
    slot(fixture);
    if (fixture->n_under_way == 0) {
        send(fixture, PLAN_NEXT);
    }
    if (fixture->n_under_way == 0) {
        fixture->in.now_us += 1000;
        fixture->in.boot_us += 1000;
        return;
    }
    if (fixture->pipelined && fixture->n_under_way == 1) {
        send(fixture, PLAN_BEHIND);
    }
    plan = fixture->plans[0];
    fixture->plans[0] = fixture->plans[1];
    fixture->n_under_way--;
    fixture->in.now_us += (uint64_t)(plan.estimated_ns / 1000.0);
    fixture->in.boot_us += (uint64_t)(plan.estimated_ns / 1000.0);
    fixture->n_steps++;
    take_results(fixture, &plan);
}

void fixture_until(struct fixture *fixture, uint64_t until_us)
{
    while (fixture->in.now_us < until_us) {
        fixture_step(fixture);
    }
}
