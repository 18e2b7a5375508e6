#include "plan_fixture.h"

struct queue queue;
struct planner planner;
struct plan plan;
struct engine_queue eq;
struct account *alice;
struct account *bob;
struct plan_input in;

void setup(void)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 10000000, 1000000, 100000, 1 };

    queue_init(&queue);
    planner = (struct planner){ 0 };
    in = (struct plan_input){ 0 };
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        in.limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
    eq = (struct engine_queue){ .n_slots = 64, .n_rows = 128, .page_tokens = 16, .open = true };
    cost_init(&eq.cost, first_ns);
    ck_assert_int_eq(accounts_get(&queue.accounts, 1, &alice), 0);
    ck_assert_int_eq(accounts_get(&queue.accounts, 2, &bob), 0);
}

void teardown(void)
{
    queue_finish(&queue);
}

void add_assigned(struct job *job, struct account *account, enum priority priority, uint32_t n_prompt)
{
    *job =
        (struct job){ .account = account, .priority = priority, .eq = &eq, .n_prompt = n_prompt, .n_known = n_prompt };
    queue_add(&queue, job, in.now_us);
    queue_want(&queue, job, in.now_us);
    job_move(job, JOB_OPENING, in.now_us);
    job_move(job, JOB_ASSIGNED, in.now_us);
}

void add_answering(struct job *job, struct account *account, enum priority priority)
{
    add_assigned(job, account, priority, 10);
    job->n_known = 11;
    job->n_done = 10;
}

uint32_t rows_of(const struct job *job)
{
    for (uint32_t i = 0; i < plan.n_entries; i++) {
        if (plan.entries[i].job == job) {
            return plan.entries[i].n_prefill ? plan.entries[i].n_prefill : 1;
        }
    }
    return 0;
}
