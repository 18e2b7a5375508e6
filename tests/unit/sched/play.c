/* One step after the other, in the foretold time. */
#include "play.h"
#include "base/num.h"
#include "unit.h"

void play_init(struct play *play, uint32_t n_seats)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 10000000, 1000000, 100000, 1 };

    *play = (struct play){ .n_seat_cached = 1000 };
    queue_init(&play->queue);
    for (size_t i = 0; i < GOVERNOR_PLACE_COUNT; i++) {
        play->in.limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
    play->lane =
        (struct lane){ .n_seats = n_seats, .n_rows = 256, .n_context = 1u << 20, .page_tokens = 16, .open = true };
    cost_init(&play->lane.cost, first_ns);
    for (uint32_t i = 1; i < PLAY_ACCOUNTS; i++) {
        ck_assert_int_eq(accounts_get(&play->queue.accounts, i, &play->accounts[i]), 0);
    }
    play->in.now_us = 1000000;
    play->in.boot_us = play->in.now_us;
}

void play_finish(struct play *play)
{
    queue_finish(&play->queue);
}

void play_ask(struct play *play, struct play_ask *ask, uint32_t uid, enum sched_class class, uint32_t n_prompt,
              uint32_t n_answer)
{
    *ask = (struct play_ask){ .n_answer = n_answer };
    ask->job = (struct job){
        .account = play->accounts[uid],
        .class = class,
        .lane = &play->lane,
        .n_prompt = n_prompt,
        .n_known = n_prompt,
        .n_most = n_prompt + n_answer,
    };
}

void play_come(struct play *play, struct play_ask *ask)
{
    ask->asked_us = play->in.now_us;
    queue_add(&play->queue, &ask->job, play->in.now_us);
    ask->job.n_left = ask->n_answer;
    queue_want(&play->queue, &ask->job, play->in.now_us);
}

void play_add(struct play *play, struct play_ask *ask, uint32_t uid, uint32_t weight, enum sched_class class,
              uint32_t n_prompt, uint32_t n_answer)
{
    play_ask(play, ask, uid, class, n_prompt, n_answer);
    ask->job.limits.weight = weight;
    play_come(play, ask);
}

/* ---- seats */

static void leave_steps(struct play *play, const struct job *job)
{
    for (uint32_t i = 0; i < play->n_under_way; i++) {
        for (uint32_t k = 0; k < play->plans[i].n_entries; k++) {
            if (play->plans[i].entries[k].job == job) {
                play->plans[i].entries[k].job = NULL;
            }
        }
    }
}

void play_promise(struct play *play, struct play_ask *ask, uint64_t first_us, uint64_t finish_us)
{
    ask->job.first_by_us = first_us ? play->in.boot_us + first_us : 0;
    ask->job.finish_by_us = finish_us ? play->in.boot_us + finish_us : 0;
}

void play_seat(struct play *play, struct play_ask *ask)
{
    job_move(&ask->job, JOB_OPENING, play->in.now_us);
    job_move(&ask->job, JOB_SEATED, play->in.now_us);
    ask->job.lane->n_taken++;
}

struct job *play_victim(struct play *play)
{
    return queue_find_victim(&play->queue, play->in.limits, play->in.now_us, play->in.boot_us);
}

struct job *play_next_seat(struct play *play)
{
    return queue_next_seat(&play->queue, play->in.limits, play->in.now_us, play->in.boot_us);
}

void play_put_aside(struct play *play, struct job *job)
{
    leave_steps(play, job);
    queue_put_aside(&play->queue, job, play->in.now_us);
    job->lane->n_taken--;
    job->lane->no_room = false;
}

/* Pages as an engine promises them: refused when there are none. */
static void open_sequence(struct play *play, struct job *job)
{
    struct lane *lane = job->lane;
    uint32_t n_pages = (uint32_t)num_div_up(job->n_most, lane->page_tokens);

    job_move(job, JOB_OPENING, play->in.now_us);
    job->n_pages = n_pages;
    if (lane->n_pages > 0 && lane->n_pages_promised + n_pages > lane->n_pages) {
        lane->no_room = true;
        job_move(job, JOB_WAITING, play->in.now_us);
        return;
    }
    lane->n_taken++;
    job_move(job, JOB_SEATED, play->in.now_us);
    job->n_done = (uint32_t)((uint64_t)job->n_paid * play->n_seat_cached / 1000);
    job->n_done = (uint32_t)num_min(job->n_done, job->n_known - 1);
}

static void seat(struct play *play)
{
    struct plan_input *in = &play->in;
    struct job *job;

    admit_look(&play->queue, in->limits, in->boot_us);
    do {
        while ((job = queue_find_victim(&play->queue, in->limits, in->now_us, in->boot_us))) {
            play_put_aside(play, job);
        }
        job = queue_next_seat(&play->queue, in->limits, in->now_us, in->boot_us);
        if (job) {
            open_sequence(play, job);
        }
    } while (job);
}

/* ---- steps */

static struct play_ask *ask_of(struct job *job)
{
    return container_of(job, struct play_ask, job);
}

bool play_is_over(const struct play_ask *ask)
{
    return ask->job.state == JOB_ENDED;
}

static void end(struct play *play, struct play_ask *ask)
{
    leave_steps(play, &ask->job);
    if (ask->job.state == JOB_SEATED) {
        ask->job.lane->n_taken--;
        ask->job.lane->no_room = false;
    }
    ask->ended_us = play->in.now_us;
    queue_remove(&play->queue, &ask->job, play->in.now_us);
    job_forget(&ask->job);
}

static void take_token(struct play *play, struct play_ask *ask)
{
    uint64_t now_us = play->in.now_us;

    if (ask->first_us == 0) {
        ask->first_us = now_us;
    } else {
        ask->gap_us = num_max(ask->gap_us, now_us - ask->last_us);
    }
    ask->last_us = now_us;
    ask->job.n_known++;
    ask->job.n_left--;
    if (ask->job.n_left == 0) {
        end(play, ask);
    }
}

static void send(struct play *play, enum plan_kind kind)
{
    struct plan *plan = &play->plans[play->n_under_way];

    play->in.kind = kind;
    play->in.lane = kind == PLAN_BEHIND ? &play->lane : NULL;
    plan_make(&play->planner, &play->queue, &play->in, plan);
    if (!plan->lane) {
        return;
    }
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        job_send(plan->entries[i].job, plan->entries[i].n_rows, plan->entries[i].n_tok);
    }
    play->n_under_way++;
}

static void take_results(struct play *play, struct plan *plan)
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
        job_settle(job, entry->n_rows, entry->n_tok);
        job->n_done += entry->n_rows;
        queue_charge(&play->queue, job, entry->n_rows, entry->n_tok, play->in.now_us, play->in.boot_us);
        play->n_served[job->account->uid] += job->n_paid - n_before;
        if (entry->n_tok > 0) {
            take_token(play, ask_of(job));
        }
    }
}

static void expire(struct play *play)
{
    struct job *job;

    while ((job = queue_next_expired(&play->queue, play->in.boot_us))) {
        ask_of(job)->expired = true;
        end(play, ask_of(job));
    }
}

void play_step(struct play *play)
{
    struct plan plan;

    expire(play);
    seat(play);
    if (play->n_under_way == 0) {
        send(play, PLAN_NEXT);
    }
    if (play->n_under_way == 0) {
        play->in.now_us += 1000;
        play->in.boot_us += 1000;
        return;
    }
    if (play->pipelined && play->n_under_way == 1) {
        send(play, PLAN_BEHIND);
    }
    plan = play->plans[0];
    play->plans[0] = play->plans[1];
    play->n_under_way--;
    play->in.now_us += (uint64_t)(plan.foretold_ns / 1000.0);
    play->in.boot_us += (uint64_t)(plan.foretold_ns / 1000.0);
    play->n_steps++;
    take_results(play, &plan);
}

void play_until(struct play *play, uint64_t until_us)
{
    while (play->in.now_us < until_us) {
        play_step(play);
    }
}
