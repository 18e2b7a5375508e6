/*
 * Admit fixture: sixteen slots, a learnt cost model, and requests with deadlines
 */
#ifndef SOTTO_SCHED_ADMIT_FIXTURE_H
#define SOTTO_SCHED_ADMIT_FIXTURE_H

#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u

extern struct fixture fixture;
extern struct admit_verdict verdict;

void setup(void);
void teardown(void);

/* Returns the admit_outcome of @request, and fills in the verdict. */
int admit(struct fixture_request *request);

/* Fills in a request with deadlines in us from now on; 0: none. */
void prepare(struct fixture_request *request, uint32_t uid, enum priority priority, uint32_t n_prompt,
             uint32_t n_answer, uint64_t first_us, uint64_t finish_us);

/* Prepares the request, which arrives if it is admitted. */
bool try_arrive(struct fixture_request *request, uint32_t uid, enum priority priority, uint32_t n_prompt,
                uint32_t n_answer, uint64_t first_us, uint64_t finish_us);

#endif
