/*
 * Plan fixture: one engine, two accounts, and plans that the tests look at
 */
#ifndef SOTTO_SCHED_PLAN_FIXTURE_H
#define SOTTO_SCHED_PLAN_FIXTURE_H

#include "sched/plan.h"
#include "unit.h"

extern struct queue queue;
extern struct planner planner;
extern struct plan plan;
extern struct plan_input in;
extern struct account *alice;
extern struct account *bob;

/* Reading the weights takes 10 ms, a prompt row 1 ms, an answer row 0.1 ms. */
extern struct engine_queue eq;

void setup(void);
void teardown(void);

void add_assigned(struct job *job, struct account *account, enum priority priority, uint32_t n_prompt);
void add_answering(struct job *job, struct account *account, enum priority priority);

/* Returns the rows of @job in the plan. */
uint32_t rows_of(const struct job *job);

#endif
