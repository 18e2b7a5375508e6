/*
 * Dispatch fixture: two engines, jobs, and orders that the tests carry out
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

/* Both run on the cores. Reading the weights takes 10 ms, a prompt row 1 ms, an answer row 0.1 ms. */
extern struct engine_queue eqs[2];

void setup(void);
void teardown(void);

void add_opening(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt);
void add_prompt(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt);
void add_answer(struct job *job, enum priority priority, struct engine_queue *eq);
void end_job(struct job *job);

void pass(uint32_t us);

/* Sets slice and duty of both processors. */
void bound(uint32_t slice_us, uint32_t duty_permille);

/* Asserts that the next order is @what. */
struct dispatch_step *expect(enum dispatch_what what);

/* Reports that the engine has done all of @step after @us more, has suspended it, or has withdrawn it. */
void finish(struct dispatch_step *step, uint32_t us);
void stand(struct dispatch_step *step, uint32_t us);
void take_back(struct dispatch_step *step);

bool has(const struct dispatch_step *step, const struct job *job);

/* Runs @facts (@n of them), each with its own setup. */
int run_facts(const char *name, const TTest *const *facts, size_t n);

#endif
