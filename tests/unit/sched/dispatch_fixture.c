#include "dispatch_fixture.h"

struct queue queue;
struct planner planner;
struct dispatch dispatch;
struct dispatch_input in;
struct dispatch_order order;
struct account *account;
struct engine_queue eqs[2];

void setup(void)
{
    const uint64_t first_ns[COST_PART_COUNT] = { 10000000, 1000000, 100000, 1 };

    queue_init(&queue);
    planner = (struct planner){ 0 };
    dispatch_init(&dispatch);
    in = (struct dispatch_input){ .now_us = 1000 * MS, .boot_us = 1000 * MS };
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        in.limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
    for (size_t i = 0; i < 2; i++) {
        eqs[i] = (struct engine_queue){
            .processor = PROCESSOR_CPU, .n_slots = 64, .n_rows = 128, .page_tokens = 16, .open = true
        };
        cost_init(&eqs[i].cost, first_ns);
    }
    ck_assert_int_eq(accounts_get(&queue.accounts, 1, &account), 0);
}

void teardown(void)
{
    queue_finish(&queue);
}

void add_opening(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt)
{
    *job =
        (struct job){ .account = account, .priority = priority, .eq = eq, .n_prompt = n_prompt, .n_known = n_prompt };
    queue_add(&queue, job, in.now_us);
    queue_want(&queue, job, in.now_us);
    job_move(job, JOB_OPENING, in.now_us);
    eq->n_taken++;
}

void add_prompt(struct job *job, enum priority priority, struct engine_queue *eq, uint32_t n_prompt)
{
    add_opening(job, priority, eq, n_prompt);
    job_move(job, JOB_ASSIGNED, in.now_us);
    job->n_left = 1000;
}

void add_answer(struct job *job, enum priority priority, struct engine_queue *eq)
{
    add_prompt(job, priority, eq, 10);
    job->n_known = 11;
    job->n_done = 10;
}

void pass(uint32_t us)
{
    in.now_us += us;
    in.boot_us += us;
}

struct dispatch_step *expect(enum dispatch_what what)
{
    dispatch_next(&dispatch, &queue, &planner, &in, &order);
    ck_assert_int_eq(order.what, what);
    return order.step;
}

void bound(uint32_t slice_us, uint32_t duty_permille)
{
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        in.limits[i].slice_us = slice_us;
        in.limits[i].duty_permille = duty_permille;
    }
}

void finish(struct dispatch_step *step, uint32_t us)
{
    pass(us);
    ck_assert_ptr_eq(dispatch_on_done(&dispatch, step->eq, step->id, us, in.now_us), step);
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct plan_entry *entry = &step->plan.entries[i];

        if (entry->job && entry->job->state == JOB_ASSIGNED) {
            entry->job->n_done += entry->n_rows;
            entry->job->n_known += entry->n_tok;
            entry->job->n_left -= entry->n_tok;
            queue_charge(&queue, entry->job, entry->n_rows, entry->n_tok, in.now_us, in.boot_us);
        }
    }
}

void stand(struct dispatch_step *step, uint32_t us)
{
    pass(us);
    ck_assert(dispatch_on_suspended(&dispatch, step->eq, step->id, us, in.now_us));
    ck_assert_int_eq(step->state, DISPATCH_SUSPENDED);
}

void end_job(struct job *job)
{
    queue_remove(&queue, job, in.now_us);
}

bool has(const struct dispatch_step *step, const struct job *job)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job == job) {
            return true;
        }
    }
    return false;
}

void take_back(struct dispatch_step *step)
{
    ck_assert(dispatch_on_withdrawn(&dispatch, step->eq, step->id, true, in.now_us));
}

int run_facts(const char *name, const TTest *const *facts, size_t n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    for (size_t i = 0; i < n; i++) {
        tcase_add_test(tcase, facts[i]);
    }
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
