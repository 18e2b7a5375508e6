/*
 * Fixture: a machine that takes exactly as long as estimated, and requests that come and go, for tests of queue, plan,
 * slots and admission together. Steps run one after the other; with @pipelined the next one is planned while one runs.
 */
#ifndef SOTTO_SCHED_FIXTURE_H
#define SOTTO_SCHED_FIXTURE_H

#include "sched/admit.h"
#include "sched/plan.h"

#define FIXTURE_ACCOUNTS 9u /* uids 1 to 8 */

/* A request, and its history. A time of 0 means not yet. */
struct fixture_request {
    struct job job;
    uint32_t n_answer;
    uint64_t asked_us;
    uint64_t first_us;
    uint64_t last_us; /* its latest token */
    uint64_t ended_us;
    uint64_t gap_us; /* longest time between two tokens */
    bool expired;
};

struct fixture {
    struct queue queue;
    struct planner planner;
    struct engine_queue eq;
    struct plan_input in; /* now_us and boot_us run together */
    struct account *accounts[FIXTURE_ACCOUNTS];
    uint64_t n_served[FIXTURE_ACCOUNTS]; /* tokens, prompts and answers, by uid */
    uint32_t n_slot_cached;              /* permille of what was computed that a reopened sequence finds cached */
    bool pipelined;
    struct plan plans[2];
    uint32_t n_under_way;
    uint64_t n_steps;
};

/* Sets up @n_slots. Reading the weights takes 10 ms, a prompt row 1 ms, an answer row 0.1 ms. */
void fixture_init(struct fixture *fixture, uint32_t n_slots);
void fixture_finish(struct fixture *fixture);

/* Fills in @request for queue_add(). */
void fixture_request(struct fixture *fixture, struct fixture_request *request, uint32_t uid, enum priority priority,
                     uint32_t n_prompt, uint32_t n_answer);

/* The request arrives: it joins the queue and wants a slot. */
void fixture_arrive(struct fixture *fixture, struct fixture_request *request);

/* Sets deadlines in us from now on; 0: none. */
void fixture_promise(struct fixture *fixture, struct fixture_request *request, uint64_t first_us, uint64_t finish_us);

/* Gives it a slot, whatever the order says. */
void fixture_assign(struct fixture *fixture, struct fixture_request *request);

/* Preempts @job, as the dispatcher does. */
void fixture_preempt(struct fixture *fixture, struct job *job);

/* Ask the queue which job gives a slot up, and which one gets one. */
struct job *fixture_victim(struct fixture *fixture);
struct job *fixture_next_slot(struct fixture *fixture);

/* Fills in a request of @weight (0: the usual), which arrives. */
void fixture_add(struct fixture *fixture, struct fixture_request *request, uint32_t uid, uint32_t weight,
                 enum priority priority, uint32_t n_prompt, uint32_t n_answer);

/* Hands out slots and runs one step; without work a millisecond passes. */
void fixture_step(struct fixture *fixture);

void fixture_until(struct fixture *fixture, uint64_t until_us);

bool fixture_is_over(const struct fixture_request *request);

#endif
