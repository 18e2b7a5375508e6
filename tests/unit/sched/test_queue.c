/* The order of jobs, and which one gives a slot up. */
#include "sched/queue.h"
#include "unit.h"

#define SECOND_US 1000000ull

static struct queue queue;
static struct engine_queue eq;
static struct account *alice;
static struct account *bob;
static struct governor_limits limits[PROCESSOR_COUNT];

static void setup(void)
{
    queue_init(&queue);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
    eq = (struct engine_queue){ .n_slots = 1, .n_rows = 64, .page_tokens = 16, .open = true };
    ck_assert_int_eq(accounts_get(&queue.accounts, 1, &alice), 0);
    ck_assert_int_eq(accounts_get(&queue.accounts, 2, &bob), 0);
}

static void teardown(void)
{
    queue_finish(&queue);
}

static void add_waiting(struct job *job, struct account *account, enum priority priority, uint64_t now_us)
{
    *job = (struct job){ .account = account, .priority = priority, .eq = &eq, .n_prompt = 4, .n_known = 4 };
    queue_add(&queue, job, now_us);
    queue_want(&queue, job, now_us);
}

static void slot(struct job *job, uint64_t now_us)
{
    job_move(job, JOB_OPENING, now_us);
    job_move(job, JOB_ASSIGNED, now_us);
    job->eq->n_taken++;
}

START_TEST(a_higher_class_gets_a_slot_first)
{
    struct job low;
    struct job high;

    add_waiting(&low, alice, PRIORITY_BACKGROUND, 0);
    add_waiting(&high, bob, PRIORITY_REALTIME, 1);

    ck_assert_ptr_eq(queue_next_slot(&queue, limits, 2, 2), &high);
    ck_assert_uint_eq(queue_position(&queue, &low, 2), 1);
    ck_assert_uint_eq(queue_position(&queue, &high, 2), 0);
}
END_TEST

START_TEST(long_waiting_background_comes_before_fresh_realtime)
{
    struct job low;
    struct job high;

    add_waiting(&low, alice, PRIORITY_BACKGROUND, 0);
    add_waiting(&high, bob, PRIORITY_REALTIME, 2 * QUEUE_AGE_WAITING_US);

    ck_assert_ptr_eq(queue_next_slot(&queue, limits, 2 * QUEUE_AGE_WAITING_US, 0), &low);
}
END_TEST

START_TEST(the_account_that_was_served_less_comes_first)
{
    struct job first;
    struct job second;

    add_waiting(&first, alice, PRIORITY_INTERACTIVE, 0);
    add_waiting(&second, bob, PRIORITY_INTERACTIVE, 0);
    alice->served[PRIORITY_INTERACTIVE] = 10;

    ck_assert_ptr_eq(queue_next_slot(&queue, limits, 0, 0), &second);
}
END_TEST

START_TEST(a_heavier_account_pays_less_for_the_same)
{
    struct job job;

    add_waiting(&job, alice, PRIORITY_INTERACTIVE, 0);
    job.limits.weight = 2 * ACCOUNT_WEIGHT_USUAL;
    job.n_done = 4;
    queue_charge(&queue, &job, 4, 0, 0, 0);

    ck_assert_uint_eq(alice->served[PRIORITY_INTERACTIVE], 4 * ACCOUNT_TOKEN / ACCOUNT_WEIGHT_USUAL / 2);
}
END_TEST

START_TEST(idling_saves_no_share_up)
{
    struct job job;

    queue.virtual_time[PRIORITY_INTERACTIVE] = 5000;
    add_waiting(&job, alice, PRIORITY_INTERACTIVE, 0);

    ck_assert_uint_eq(alice->served[PRIORITY_INTERACTIVE], 5000);
}
END_TEST

START_TEST(a_rebuild_is_not_charged_again)
{
    struct job job;

    add_waiting(&job, alice, PRIORITY_INTERACTIVE, 0);
    job.n_done = 4;
    queue_charge(&queue, &job, 4, 0, 0, 0);
    job_forget(&job);
    job.n_done = 4;
    queue_charge(&queue, &job, 4, 0, 0, 0);

    ck_assert_uint_eq(alice->served[PRIORITY_INTERACTIVE], 4 * ACCOUNT_TOKEN / ACCOUNT_WEIGHT_USUAL);
}
END_TEST

START_TEST(a_rebuild_is_no_service)
{
    struct job job;

    add_waiting(&job, alice, PRIORITY_INTERACTIVE, 0);
    job.n_done = 4;
    queue_charge(&queue, &job, 4, 0, 10, 10);
    job_forget(&job);
    job.n_done = 4;
    queue_charge(&queue, &job, 4, 0, 20, 20);
    ck_assert_uint_eq(job.since_us, 10);
    ck_assert_uint_eq(eq.served_us[PRIORITY_INTERACTIVE], 10);
    job.n_done = 5;
    queue_charge(&queue, &job, 1, 0, 30, 30);
    ck_assert_uint_eq(eq.served_us[PRIORITY_INTERACTIVE], 30);
}
END_TEST

START_TEST(a_full_engine_gives_no_slot)
{
    struct job job;

    add_waiting(&job, alice, PRIORITY_INTERACTIVE, 0);
    eq.n_taken = eq.n_slots;
    ck_assert_ptr_null(queue_next_slot(&queue, limits, 0, 0));
    eq.n_taken = 0;
    eq.no_room = true;
    ck_assert_ptr_null(queue_next_slot(&queue, limits, 0, 0));
    eq.no_room = false;
    eq.open = false;
    ck_assert_ptr_null(queue_next_slot(&queue, limits, 0, 0));
}
END_TEST

START_TEST(a_parked_job_gives_its_slot_to_a_waiting_one)
{
    struct job parked;
    struct job waiting;

    add_waiting(&parked, alice, PRIORITY_REALTIME, 0);
    slot(&parked, 0);
    parked.parked = true;
    ck_assert_ptr_null(queue_find_victim(&queue, limits, 1, 1));
    add_waiting(&waiting, bob, PRIORITY_BACKGROUND, 1);

    ck_assert_ptr_eq(queue_find_victim(&queue, limits, 1, 1), &parked);
}
END_TEST

START_TEST(a_running_job_keeps_its_slot_against_its_own_class_and_account)
{
    struct job running;
    struct job waiting;

    add_waiting(&running, alice, PRIORITY_BACKGROUND, 0);
    slot(&running, 0);
    add_waiting(&waiting, alice, PRIORITY_BACKGROUND, 1);

    ck_assert_ptr_null(queue_find_victim(&queue, limits, 1, 1));
}
END_TEST

START_TEST(a_job_out_of_budget_or_gated_waits)
{
    struct job job;

    add_waiting(&job, alice, PRIORITY_BACKGROUND, 0);
    limits[eq.processor].class_gate = PRIORITY_INTERACTIVE;
    ck_assert_ptr_null(queue_next_slot(&queue, limits, 0, 0));
    limits[eq.processor].class_gate = PRIORITY_BACKGROUND;
    job.limits.tokens_a_minute = 60;
    account_spend(alice, 60, 60, SECOND_US);

    ck_assert_ptr_null(queue_next_slot(&queue, limits, 0, SECOND_US));
    ck_assert_ptr_eq(queue_next_slot(&queue, limits, 0, 3 * SECOND_US), &job);
}
END_TEST

START_TEST(counts_of_an_account_follow_its_jobs)
{
    struct job jobs[3];

    for (size_t i = 0; i < 3; i++) {
        add_waiting(&jobs[i], alice, PRIORITY_INTERACTIVE, 0);
    }
    slot(&jobs[0], 0);

    ck_assert_uint_eq(alice->n_waiting, 2);
    queue_remove(&queue, &jobs[2], 0);
    ck_assert_uint_eq(alice->n_live, 2);
    ck_assert_uint_eq(alice->n_waiting, 1);
}
END_TEST

START_TEST(only_legal_moves_are_allowed)
{
    struct job job = { .state = JOB_HELD };

    ck_assert(job_may_move(&job, JOB_WAITING));
    ck_assert(!job_may_move(&job, JOB_ASSIGNED));
    job.state = JOB_ENDED;
    for (int to = 0; to < JOB_STATE_COUNT; to++) {
        ck_assert(!job_may_move(&job, (enum job_state)to));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-queue");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_higher_class_gets_a_slot_first);
    tcase_add_test(tcase, long_waiting_background_comes_before_fresh_realtime);
    tcase_add_test(tcase, the_account_that_was_served_less_comes_first);
    tcase_add_test(tcase, a_heavier_account_pays_less_for_the_same);
    tcase_add_test(tcase, idling_saves_no_share_up);
    tcase_add_test(tcase, a_rebuild_is_not_charged_again);
    tcase_add_test(tcase, a_rebuild_is_no_service);
    tcase_add_test(tcase, a_full_engine_gives_no_slot);
    tcase_add_test(tcase, a_parked_job_gives_its_slot_to_a_waiting_one);
    tcase_add_test(tcase, a_running_job_keeps_its_slot_against_its_own_class_and_account);
    tcase_add_test(tcase, a_job_out_of_budget_or_gated_waits);
    tcase_add_test(tcase, counts_of_an_account_follow_its_jobs);
    tcase_add_test(tcase, only_legal_moves_are_allowed);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
