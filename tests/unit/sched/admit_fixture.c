#include "admit_fixture.h"

struct fixture fixture;
struct admit_verdict verdict;

void setup(void)
{
    fixture_init(&fixture, 16);
    fixture.pipelined = true;
    fixture.eq.cost.n_learnt = COST_YOUNG; /* the machine takes as long as estimated */
}

void teardown(void)
{
    fixture_finish(&fixture);
}

int admit(struct fixture_request *request)
{
    return admit_check(&fixture.queue, &request->job, fixture.in.limits, fixture.in.boot_us, &verdict);
}

void prepare(struct fixture_request *request, uint32_t uid, enum priority priority, uint32_t n_prompt,
             uint32_t n_answer, uint64_t first_us, uint64_t finish_us)
{
    fixture_request(&fixture, request, uid, priority, n_prompt, n_answer);
    fixture_promise(&fixture, request, first_us, finish_us);
}

bool try_arrive(struct fixture_request *request, uint32_t uid, enum priority priority, uint32_t n_prompt,
                uint32_t n_answer, uint64_t first_us, uint64_t finish_us)
{
    prepare(request, uid, priority, n_prompt, n_answer, first_us, finish_us);
    if (admit(request) != ADMIT_OK) {
        return false;
    }
    fixture_arrive(&fixture, request);
    return true;
}
