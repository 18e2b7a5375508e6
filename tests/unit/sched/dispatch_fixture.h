/*
 * Turn world: two eqs, jobs, and engines that are played by hand, for tests of the turn
 */
#ifndef SOTTO_SCHED_DISPATCH_FIXTURE_H
#define SOTTO_SCHED_DISPATCH_FIXTURE_H

#include "sched/dispatch.h"
#include "unit.h"

#define MS 1000u

extern struct queue queue;
extern struct planner planner;
extern struct dispatch dispatch;
extern struct dispatch_input in;
extern struct dispatch_order order;
extern struct account *account;

/* On the cores. A reading of the weights takes 10 ms, a prompt row 1 ms, an answer's row 0.1 ms. */
extern struct engine_queue eqs[2];

void setup(void);
void teardown(void);

void add_opening(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt);
void add_prompt(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt);
void add_answer(struct job *job, enum priority priority, struct engine_queue *eq);
void end_job(struct job *job);

void pass(uint32_t us);

/* Slice and duty of both places. */
void bound(uint32_t slice_us, uint32_t duty_permille);

/* The turn's next order must be @what. */
struct dispatch_step *expect(enum dispatch_what what);

/* The engine has done all of @step, after @us more; or has suspended it, or taken it back. */
void finish(struct dispatch_step *step, uint32_t us);
void stand(struct dispatch_step *step, uint32_t us);
void take_back(struct dispatch_step *step);

bool has(const struct dispatch_step *step, const struct job *job);

/* Runs @facts (of @n) in a world of their own each. */
int run_facts(const char *name, const TTest *const *facts, size_t n);

#endif
