/*
 * Turn world: two lanes, jobs, and engines that are played by hand, for tests of the turn
 */
#ifndef SOTTO_TESTS_TURN_WORLD_H
#define SOTTO_TESTS_TURN_WORLD_H

#include "sched/turn.h"
#include "unit.h"

#define MS 1000u

extern struct queue queue;
extern struct planner planner;
extern struct turn turn;
extern struct turn_input in;
extern struct turn_order order;
extern struct account *account;

/* On the cores. A reading of the weights takes 10 ms, a prompt row 1 ms, an answer's row 0.1 ms. */
extern struct lane lanes[2];

void setup(void);
void teardown(void);

void add_opening(struct job *job, enum sched_class class, struct lane *lane, uint32_t n_prompt);
void add_prompt(struct job *job, enum sched_class class, struct lane *lane, uint32_t n_prompt);
void add_answer(struct job *job, enum sched_class class, struct lane *lane);
void end_job(struct job *job);

void pass(uint32_t us);

/* Slice and duty of both places. */
void bound(uint32_t slice_us, uint32_t duty_permille);

/* The turn's next order must be @what. */
struct turn_step *expect(enum turn_what what);

/* The engine has done all of @step, after @us more; or has suspended it, or taken it back. */
void finish(struct turn_step *step, uint32_t us);
void stand(struct turn_step *step, uint32_t us);
void take_back(struct turn_step *step);

bool has(const struct turn_step *step, const struct job *job);

/* Runs @facts (of @n) in a world of their own each. */
int run_facts(const char *name, const TTest *const *facts, size_t n);

#endif
