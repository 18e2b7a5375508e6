/*
 * Play: a machine that takes exactly as long as is foretold, and requests that come and go, for tests of queue, plan,
 * seats and admission together. Steps run one after the other; with @pipelined each next one is planned while one runs.
 */
#ifndef SOTTO_SCHED_FIXTURE_H
#define SOTTO_SCHED_FIXTURE_H

#include "sched/admit.h"
#include "sched/plan.h"

#define FIXTURE_ACCOUNTS 9u /* uids 1 to 8 */

/* A request, and what became of it. Times 0: not yet. */
struct fixture_request {
    struct job job;
    uint32_t n_answer;
    uint64_t asked_us;
    uint64_t first_us;
    uint64_t last_us; /* its last token so far */
    uint64_t ended_us;
    uint64_t gap_us; /* the longest between two tokens */
    bool expired;
};

struct fixture {
    struct queue queue;
    struct planner planner;
    struct engine_queue eq;
    struct plan_input in; /* now_us and boot_us run together */
    struct account *accounts[FIXTURE_ACCOUNTS];
    uint64_t n_served[FIXTURE_ACCOUNTS]; /* tokens, prompts and answers, by uid */
    uint32_t n_seat_cached;              /* permille of what was computed that a reopened sequence finds again */
    bool pipelined;
    struct plan plans[2];
    uint32_t n_under_way;
    uint64_t n_steps;
};

/* 10 ms a reading of the weights, 1 ms a prompt row, 0.1 ms an answer row; @n_slots. */
void fixture_init(struct fixture *fixture, uint32_t n_slots);
void fixture_finish(struct fixture *fixture);

/* Fills @ask in, for queue_add(). */
void fixture_request(struct fixture *fixture, struct fixture_request *ask, uint32_t uid, enum priority priority,
                     uint32_t n_prompt, uint32_t n_answer);

/* It comes now: joins the queue and wants a seat. */
void fixture_arrive(struct fixture *fixture, struct fixture_request *ask);

/* Deadlines from now on, in us; 0: none. */
void fixture_promise(struct fixture *fixture, struct fixture_request *ask, uint64_t first_us, uint64_t finish_us);

/* It is given a seat, whatever the order says. */
void fixture_assign(struct fixture *fixture, struct fixture_request *ask);

/* Takes the seat of @job, as a pacer does. */
void fixture_preempt(struct fixture *fixture, struct job *job);

/* What the queue says now: who gives a seat up, who gets one. */
struct job *fixture_victim(struct fixture *fixture);
struct job *fixture_next_slot(struct fixture *fixture);

/* Both at once, of @weight (0: the usual). */
void fixture_add(struct fixture *fixture, struct fixture_request *ask, uint32_t uid, uint32_t weight,
                 enum priority priority, uint32_t n_prompt, uint32_t n_answer);

/* Seats, one step, and what comes of it; without work a millisecond passes. */
void fixture_step(struct fixture *fixture);

void fixture_until(struct fixture *fixture, uint64_t until_us);

bool fixture_is_over(const struct fixture_request *ask);

#endif
