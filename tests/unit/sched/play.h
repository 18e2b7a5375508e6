/*
 * Play: a machine that takes exactly as long as is foretold, and requests that come and go, for tests of queue, plan,
 * seats and admission together. Steps run one after the other; with @pipelined each next one is planned while one runs.
 */
#ifndef SOTTO_TESTS_UNIT_SCHED_PLAY_H
#define SOTTO_TESTS_UNIT_SCHED_PLAY_H

#include "sched/admit.h"
#include "sched/plan.h"

#define PLAY_ACCOUNTS 9u /* uids 1 to 8 */

/* A request, and what became of it. Times 0: not yet. */
struct play_ask {
    struct job job;
    uint32_t n_answer;
    uint64_t asked_us;
    uint64_t first_us;
    uint64_t last_us; /* its last token so far */
    uint64_t ended_us;
    uint64_t gap_us; /* the longest between two tokens */
    bool expired;
};

struct play {
    struct queue queue;
    struct planner planner;
    struct lane lane;
    struct plan_input in; /* now_us and boot_us run together */
    struct account *accounts[PLAY_ACCOUNTS];
    uint64_t n_served[PLAY_ACCOUNTS]; /* tokens, prompts and answers, by uid */
    uint32_t n_seat_cached;           /* permille of what was computed that a reopened sequence finds again */
    bool pipelined;
    struct plan plans[2];
    uint32_t n_under_way;
    uint64_t n_steps;
};

/* 10 ms a reading of the weights, 1 ms a prompt row, 0.1 ms an answer row; @n_seats. */
void play_init(struct play *play, uint32_t n_seats);
void play_finish(struct play *play);

/* Fills @ask in, for queue_add(). */
void play_ask(struct play *play, struct play_ask *ask, uint32_t uid, enum sched_class class, uint32_t n_prompt,
              uint32_t n_answer);

/* It comes now: joins the queue and wants a seat. */
void play_come(struct play *play, struct play_ask *ask);

/* Deadlines from now on, in us; 0: none. */
void play_promise(struct play *play, struct play_ask *ask, uint64_t first_us, uint64_t finish_us);

/* It is given a seat, whatever the order says. */
void play_seat(struct play *play, struct play_ask *ask);

/* Takes the seat of @job, as a pacer does. */
void play_put_aside(struct play *play, struct job *job);

/* What the queue says now: who gives a seat up, who gets one. */
struct job *play_victim(struct play *play);
struct job *play_next_seat(struct play *play);

/* Both at once, of @weight (0: the usual). */
void play_add(struct play *play, struct play_ask *ask, uint32_t uid, uint32_t weight, enum sched_class class,
              uint32_t n_prompt, uint32_t n_answer);

/* Seats, one step, and what comes of it; without work a millisecond passes. */
void play_step(struct play *play);

void play_until(struct play *play, uint64_t until_us);

bool play_is_over(const struct play_ask *ask);

#endif
