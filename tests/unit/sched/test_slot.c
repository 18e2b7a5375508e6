/* Slots and pages: which job takes them from which, and all of them are done in the end. */
#include "base/num.h"
#include "fixture.h"
#include "unit.h"

#define SECOND_US 1000000u
#define N_SLOTS   4u

static struct fixture fixture;

static void setup(void)
{
    fixture_init(&fixture, N_SLOTS);
}

static void teardown(void)
{
    fixture_finish(&fixture);
}

static void add_assigned(struct fixture_request *request, uint32_t uid, enum priority priority)
{
    fixture_add(&fixture, request, uid, 0, priority, 10, 100);
    fixture_assign(&fixture, request);
}

START_TEST(a_higher_class_takes_a_slot_of_the_lowest)
{
    struct fixture_request low[3];
    struct fixture_request middle;
    struct fixture_request high;

    add_assigned(&middle, 1, PRIORITY_INTERACTIVE);
    for (size_t i = 0; i < 3; i++) {
        add_assigned(&low[i], 1, PRIORITY_BACKGROUND);
        low[i].job.n_done = 8;
    }
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);

    ck_assert_ptr_eq(fixture_victim(&fixture), &low[2].job);
    fixture_preempt(&fixture, &low[2].job);
    ck_assert_ptr_null(fixture_victim(&fixture));
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &high.job);
}
END_TEST

START_TEST(the_job_that_has_computed_least_loses_its_slot)
{
    struct fixture_request low[N_SLOTS];
    struct fixture_request high;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&low[i], 1, PRIORITY_BACKGROUND);
        low[i].job.n_known = 1000;
        low[i].job.n_done = 900;
    }
    low[1].job.n_done = 100;
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);

    ck_assert_ptr_eq(fixture_victim(&fixture), &low[1].job);
}
END_TEST

START_TEST(no_job_is_always_the_preempted_one)
{
    struct fixture_request low[N_SLOTS];
    struct fixture_request high;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&low[i], 1, PRIORITY_BACKGROUND);
        low[i].job.n_known = 1000;
        low[i].job.n_done = 900;
    }
    low[1].job.n_done = 100;
    low[1].job.n_preempted = 10;
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);

    ck_assert_ptr_eq(fixture_victim(&fixture), &low[3].job);
}
END_TEST

START_TEST(a_parked_job_goes_before_a_running_one)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request high;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&assigned[i], 1, i == 2 ? PRIORITY_REALTIME : PRIORITY_BACKGROUND);
    }
    assigned[2].job.parked = true;
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);

    ck_assert_ptr_eq(fixture_victim(&fixture), &assigned[2].job);
    fixture_preempt(&fixture, &assigned[2].job);
    ck_assert_uint_eq(assigned[2].job.n_preempted, 0);
}
END_TEST

START_TEST(equals_do_not_take_each_others_slots)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request late;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&assigned[i], 1 + (uint32_t)i, PRIORITY_INTERACTIVE);
    }
    fixture_add(&fixture, &late, 7, 0, PRIORITY_INTERACTIVE, 10, 10);
    fixture.in.now_us += 60 * SECOND_US;

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(an_account_without_a_slot_is_patient_first)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request late;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&assigned[i], 1, PRIORITY_INTERACTIVE);
    }
    fixture_add(&fixture, &late, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture.in.now_us += QUEUE_PATIENCE_US;

    ck_assert_ptr_eq(fixture_victim(&fixture), &assigned[3].job);
    fixture_preempt(&fixture, &assigned[3].job);
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &late.job);
}
END_TEST

START_TEST(an_account_that_had_more_takes_no_slot)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request late;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&assigned[i], 1, PRIORITY_INTERACTIVE);
    }
    fixture_add(&fixture, &late, 2, 0, PRIORITY_INTERACTIVE, 10, 10);
    fixture.accounts[2]->served[PRIORITY_INTERACTIVE] += 1;
    fixture.in.now_us += QUEUE_PATIENCE_US;

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(a_class_without_a_slot_takes_one_when_it_has_waited_long)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request low;

    for (size_t i = 0; i < N_SLOTS; i++) {
        add_assigned(&assigned[i], 1, PRIORITY_REALTIME);
        assigned[i].job.has_first = i < 2;
    }
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 10, 10);
    fixture.in.now_us += 2 * QUEUE_AGE_WAITING_US - 1;
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture.in.now_us += 1;

    /* Among the jobs that have begun to answer. */
    ck_assert_ptr_eq(fixture_victim(&fixture), &assigned[1].job);
    fixture_preempt(&fixture, &assigned[1].job);
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &low.job);
}
END_TEST

START_TEST(a_slot_got_by_age_is_kept_until_the_job_got_further)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request low;
    struct fixture_request high;

    fixture.eq.n_slots = QUEUE_MANY_SLOTS - 1;
    for (size_t i = 0; i < QUEUE_MANY_SLOTS - 2; i++) {
        add_assigned(&assigned[i], 1, PRIORITY_REALTIME);
    }
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 10, 10);
    fixture.in.now_us += 2 * QUEUE_AGE_WAITING_US;
    job_move(&low.job, JOB_OPENING, fixture.in.now_us);
    job_move(&low.job, JOB_ASSIGNED, fixture.in.now_us);
    fixture.eq.n_taken++;
    fixture_add(&fixture, &high, 3, 0, PRIORITY_REALTIME, 10, 10);
    ck_assert_ptr_null(fixture_victim(&fixture));
    low.job.n_done = 4;
    queue_charge(&fixture.queue, &low.job, 4, 0, fixture.in.now_us, fixture.in.boot_us);

    ck_assert_ptr_eq(fixture_victim(&fixture), &low.job);
}
END_TEST

START_TEST(tenure_ends)
{
    struct fixture_request assigned[N_SLOTS];
    struct fixture_request low;
    struct fixture_request high;

    fixture.eq.n_slots = QUEUE_MANY_SLOTS - 1;
    for (size_t i = 0; i < QUEUE_MANY_SLOTS - 2; i++) {
        add_assigned(&assigned[i], 1, PRIORITY_REALTIME);
    }
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 10, 10);
    fixture.in.now_us += 2 * QUEUE_AGE_WAITING_US;
    job_move(&low.job, JOB_OPENING, fixture.in.now_us);
    job_move(&low.job, JOB_ASSIGNED, fixture.in.now_us);
    fixture.eq.n_taken++;
    fixture_add(&fixture, &high, 3, 0, PRIORITY_REALTIME, 10, 10);
    fixture.in.now_us += QUEUE_TENURE_US;

    ck_assert_ptr_eq(fixture_victim(&fixture), &low.job);
}
END_TEST

START_TEST(of_many_slots_each_class_keeps_its_last)
{
    struct fixture_request low[2];
    struct fixture_request assigned[2];
    struct fixture_request another;
    struct fixture_request high;

    for (size_t i = 0; i < 2; i++) {
        add_assigned(&low[i], 1, PRIORITY_BACKGROUND);
        add_assigned(&assigned[i], 1, PRIORITY_REALTIME);
    }
    fixture_add(&fixture, &high, 3, 0, PRIORITY_REALTIME, 10, 10);
    ck_assert_ptr_eq(fixture_victim(&fixture), &low[1].job);
    fixture_preempt(&fixture, &low[1].job);
    add_assigned(&another, 1, PRIORITY_REALTIME);

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

/* ---- pages */

static void hold_pages(struct fixture_request *request, uint32_t uid, enum priority priority, uint32_t n_pages)
{
    fixture_add(&fixture, request, uid, 0, priority, 10, 100);
    job_move(&request->job, JOB_OPENING, fixture.in.now_us);
    request->job.n_pages = n_pages;
    job_move(&request->job, JOB_ASSIGNED, fixture.in.now_us);
    fixture.eq.n_taken++;
}

START_TEST(pages_are_given_up_only_if_that_helps)
{
    struct fixture_request low;
    struct fixture_request middle;
    struct fixture_request high;

    fixture.eq.n_pages = 100;
    hold_pages(&low, 1, PRIORITY_BACKGROUND, 30);
    hold_pages(&middle, 1, PRIORITY_REALTIME, 60);
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);
    high.job.n_pages = 50; /* as the engine reported; 10 are free */
    fixture.eq.no_room = true;
    ck_assert_ptr_null(fixture_victim(&fixture));
    high.job.n_pages = 40;

    ck_assert_ptr_eq(fixture_victim(&fixture), &low.job);
}
END_TEST

START_TEST(the_last_slot_of_a_class_may_hold_its_part_of_the_pages)
{
    struct fixture_request low;
    struct fixture_request middle;
    struct fixture_request high;

    fixture.eq.n_pages = 100;
    hold_pages(&low, 1, PRIORITY_BACKGROUND, 100 / QUEUE_LAST_PART);
    hold_pages(&middle, 1, PRIORITY_REALTIME, 70);
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);
    high.job.n_pages = 30;
    fixture.eq.no_room = true;

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(idle_sessions_go_first_and_their_next_turn_needs_no_room)
{
    struct job retained[2] = { { .eq = &fixture.eq, .n_pages = 30 }, { .eq = &fixture.eq, .n_pages = 5 } };
    struct fixture_request low;
    struct fixture_request high;
    struct fixture_request dispatch;

    fixture.eq.n_pages = 100;
    queue_retain(&fixture.queue, &retained[0]);
    queue_retain(&fixture.queue, &retained[1]);
    fixture.eq.n_taken += 2;
    hold_pages(&low, 1, PRIORITY_BACKGROUND, 60);
    ck_assert_uint_eq(fixture.eq.n_pages_promised, 95);
    ck_assert_ptr_null(fixture_victim(&fixture)); /* no job wants it */
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);
    high.job.n_pages = 20;
    fixture.eq.no_room = true;
    ck_assert_ptr_eq(fixture_victim(&fixture), &retained[0]);

    fixture_add(&fixture, &dispatch, 3, 0, PRIORITY_BACKGROUND, 10, 10);
    dispatch.job.owns_slot = true;
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &dispatch.job);
    dispatch.job.passed_over = true;
    ck_assert_ptr_null(fixture_next_slot(&fixture));
    queue_release(&retained[0]);
    queue_release(&retained[1]);
    ck_assert_uint_eq(fixture.eq.n_pages_promised, 60);
}
END_TEST

START_TEST(no_job_takes_pages_that_are_freed_for_one_before_it)
{
    struct fixture_request low[2];
    struct fixture_request high;

    fixture.eq.n_pages = 100;
    hold_pages(&low[0], 1, PRIORITY_BACKGROUND, 40);
    hold_pages(&low[1], 1, PRIORITY_BACKGROUND, 40);
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 10, 10);
    high.job.n_pages = 90;
    fixture.eq.no_room = true;

    fixture_preempt(&fixture, fixture_victim(&fixture));
    fixture.eq.no_room = false; /* as one was closed: it may ask again */
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &high.job);
    job_move(&high.job, JOB_OPENING, fixture.in.now_us);
    ck_assert_ptr_null(fixture_next_slot(&fixture));
    job_move(&high.job, JOB_WAITING, fixture.in.now_us); /* refused once more */
    fixture.eq.no_room = true;
    fixture_preempt(&fixture, fixture_victim(&fixture));
    fixture.eq.no_room = false;
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &high.job);
}
END_TEST

START_TEST(shared_pages_are_counted_once_and_preempt_no_job)
{
    struct fixture_request assigned[2];

    fixture.eq.n_pages = 100;
    hold_pages(&assigned[0], 1, PRIORITY_BACKGROUND, 70);
    hold_pages(&assigned[1], 1, PRIORITY_BACKGROUND, 70);
    ck_assert_ptr_null(fixture_victim(&fixture)); /* the engine has opened both: it has room */
    fixture.in.limits[fixture.eq.processor].kv_permille = 900;
    ck_assert_ptr_nonnull(fixture_victim(&fixture));
    fixture.eq.n_pages_shared = 50;

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

START_TEST(pages_that_the_governor_takes_back_are_the_lowest_class_s)
{
    struct fixture_request low;
    struct fixture_request high;

    fixture.eq.n_pages = 100;
    hold_pages(&high, 1, PRIORITY_REALTIME, 40);
    hold_pages(&low, 1, PRIORITY_BACKGROUND, 30);
    ck_assert_ptr_null(fixture_victim(&fixture));
    fixture.in.limits[fixture.eq.processor].kv_permille = 500;

    ck_assert_ptr_eq(fixture_victim(&fixture), &low.job);
    fixture_preempt(&fixture, &low.job);
    ck_assert_ptr_null(fixture_victim(&fixture));
    ck_assert_ptr_null(fixture_next_slot(&fixture)); /* its thirty don't fit beside the other's */
    fixture.in.limits[fixture.eq.processor].kv_permille = 1000;
    ck_assert_ptr_eq(fixture_next_slot(&fixture), &low.job);
}
END_TEST

START_TEST(the_last_sequence_stays_however_few_pages_there_are)
{
    struct fixture_request low;

    fixture.eq.n_pages = 100;
    hold_pages(&low, 1, PRIORITY_BACKGROUND, 80);
    fixture.in.limits[fixture.eq.processor].kv_permille = 100;

    ck_assert_ptr_null(fixture_victim(&fixture));
}
END_TEST

/* ---- simulated: what users see */

START_TEST(an_urgent_request_does_not_wait_for_a_slot)
{
    struct fixture_request low[8];
    struct fixture_request high;

    for (size_t i = 0; i < 8; i++) {
        fixture_add(&fixture, &low[i], 1, 0, PRIORITY_BACKGROUND, 2000, 2000);
    }
    fixture_until(&fixture, 10 * SECOND_US);
    fixture_add(&fixture, &high, 2, 0, PRIORITY_REALTIME, 100, 20);
    fixture_until(&fixture, fixture.in.now_us + SECOND_US);

    /* 100 rows are three steps of 50 ms. */
    ck_assert(high.first_us > 0);
    ck_assert_uint_le(high.first_us - high.asked_us, 200000);
}
END_TEST

/* Keeps as many urgent requests live as there are slots, each of @n_answer tokens. */
static void press(struct fixture_request *urgent, uint32_t n_answer)
{
    for (uint32_t i = 0; i < 2 * N_SLOTS; i++) {
        if (urgent[i].asked_us == 0 || fixture_is_over(&urgent[i])) {
            fixture_add(&fixture, &urgent[i], 1, 0, PRIORITY_REALTIME, 60, n_answer);
        }
    }
}

/* Runs until @low ends. Returns the longest time without a token or a row for it. */
static uint64_t longest_wait_us(struct fixture_request *low, struct fixture_request *urgent, uint32_t n_answer)
{
    uint64_t since_us = fixture.in.now_us;
    uint64_t longest_us = 0;
    uint32_t n_paid = 0;

    while (!fixture_is_over(low)) {
        press(urgent, n_answer);
        fixture_step(&fixture);
        longest_us = num_max(longest_us, fixture.in.now_us - since_us);
        if (low->job.n_paid > n_paid) {
            n_paid = low->job.n_paid;
            since_us = fixture.in.now_us;
        }
        ck_assert_uint_lt(fixture.in.now_us, 3600u * (uint64_t)SECOND_US);
    }
    return longest_us;
}

START_TEST(background_moves_every_five_seconds_beside_endless_urgent_requests)
{
    struct fixture_request urgent[2 * N_SLOTS] = { 0 };
    struct fixture_request low;

    press(urgent, 50);
    fixture_step(&fixture);
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 300, 20);

    ck_assert_uint_le(longest_wait_us(&low, urgent, 50), 5 * SECOND_US);
}
END_TEST

START_TEST(background_moves_beside_urgent_answers_that_never_end)
{
    struct fixture_request urgent[2 * N_SLOTS] = { 0 };
    struct fixture_request low;

    press(urgent, 1000000);
    fixture_step(&fixture);
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 300, 20);

    ck_assert_uint_le(longest_wait_us(&low, urgent, 1000000), 5 * SECOND_US);
}
END_TEST

START_TEST(a_job_that_loses_all_with_each_preemption_still_ends)
{
    struct fixture_request urgent[2 * N_SLOTS] = { 0 };
    struct fixture_request low;

    fixture.eq.n_slots = QUEUE_MANY_SLOTS - 1;
    fixture.n_slot_cached = 0; /* no page stays cached */
    press(urgent, 1000000);
    fixture_step(&fixture);
    fixture_add(&fixture, &low, 2, 0, PRIORITY_BACKGROUND, 40, 30);
    longest_wait_us(&low, urgent, 1000000);

    ck_assert_uint_ge(low.job.n_preempted, 20);
    ck_assert_uint_eq(low.job.n_known, 70);
}
END_TEST

START_TEST(a_preempted_job_is_not_passed_by_newer_work_of_its_account)
{
    struct fixture_request low[8];
    struct fixture_request high[4];

    for (size_t i = 0; i < 4; i++) {
        fixture_add(&fixture, &low[i], 1, 0, PRIORITY_BACKGROUND, 200, 500);
    }
    fixture_until(&fixture, 4 * SECOND_US);
    for (size_t i = 0; i < 4; i++) {
        fixture_add(&fixture, &high[i], 2, 0, PRIORITY_REALTIME, 60, 20);
        fixture_step(&fixture);
        fixture_add(&fixture, &low[4 + i], 1, 0, PRIORITY_BACKGROUND, 20, 20);
        fixture_until(&fixture, fixture.in.now_us + 3 * SECOND_US);
    }
    fixture_until(&fixture, 120 * SECOND_US);

    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 4; k < 8; k++) {
            ck_assert(fixture_is_over(&low[i]) && fixture_is_over(&low[k]));
            ck_assert_uint_le(low[i].first_us, low[k].first_us);
        }
    }
}
END_TEST

START_TEST(an_answer_goes_on_while_a_long_prompt_comes_in)
{
    struct fixture_request speaks;
    struct fixture_request requests;

    fixture.pipelined = true;
    fixture_add(&fixture, &speaks, 1, 0, PRIORITY_INTERACTIVE, 20, 200);
    fixture_until(&fixture, 2 * SECOND_US);
    fixture_add(&fixture, &requests, 2, 0, PRIORITY_INTERACTIVE, 4000, 10);
    fixture_until(&fixture, 30 * SECOND_US);

    /* Each step takes it along, and none is longer than that. */
    ck_assert(fixture_is_over(&speaks) && fixture_is_over(&requests));
    ck_assert_uint_le(speaks.gap_us, PLAN_STEP_US + 1000);
}
END_TEST

/* Takes and gives slots until none changes hands. Returns how many were taken. */
static uint32_t hand_out(void)
{
    uint32_t n = 0;
    struct job *job;

    do {
        while ((job = fixture_victim(&fixture))) {
            fixture_preempt(&fixture, job);
            n++;
        }
        job = fixture_next_slot(&fixture);
        if (job) {
            fixture_assign(&fixture, container_of(job, struct fixture_request, job));
        }
    } while (job && n < 10000);
    return n;
}

/* Requests that come faster than steps end must not take slots from each other again and again. */
START_TEST(without_steps_each_request_takes_one_slot_at_most)
{
    struct fixture_request flood[200];
    uint32_t n = 0;

    for (uint32_t i = 0; i < COUNTOF(flood); i++) {
        fixture_add(&fixture, &flood[i], 1 + i * 5 % 8, 0, (enum priority)(i * 7 % 11 % PRIORITY_COUNT), 10, 10);
        n += hand_out();
        fixture.in.now_us += 1000;
    }
    for (uint32_t i = 0; i < 200; i++) {
        n += hand_out();
        fixture.in.now_us += SECOND_US / 10;
    }

    ck_assert_uint_gt(n, 0);
    ck_assert_uint_le(n, COUNTOF(flood));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-slot");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_higher_class_takes_a_slot_of_the_lowest);
    tcase_add_test(tcase, the_job_that_has_computed_least_loses_its_slot);
    tcase_add_test(tcase, no_job_is_always_the_preempted_one);
    tcase_add_test(tcase, a_parked_job_goes_before_a_running_one);
    tcase_add_test(tcase, equals_do_not_take_each_others_slots);
    tcase_add_test(tcase, an_account_without_a_slot_is_patient_first);
    tcase_add_test(tcase, an_account_that_had_more_takes_no_slot);
    tcase_add_test(tcase, a_class_without_a_slot_takes_one_when_it_has_waited_long);
    tcase_add_test(tcase, a_slot_got_by_age_is_kept_until_the_job_got_further);
    tcase_add_test(tcase, tenure_ends);
    tcase_add_test(tcase, of_many_slots_each_class_keeps_its_last);
    tcase_add_test(tcase, pages_are_given_up_only_if_that_helps);
    tcase_add_test(tcase, the_last_slot_of_a_class_may_hold_its_part_of_the_pages);
    tcase_add_test(tcase, idle_sessions_go_first_and_their_next_turn_needs_no_room);
    tcase_add_test(tcase, no_job_takes_pages_that_are_freed_for_one_before_it);
    tcase_add_test(tcase, shared_pages_are_counted_once_and_preempt_no_job);
    tcase_add_test(tcase, pages_that_the_governor_takes_back_are_the_lowest_class_s);
    tcase_add_test(tcase, the_last_sequence_stays_however_few_pages_there_are);
    tcase_add_test(tcase, an_urgent_request_does_not_wait_for_a_slot);
    tcase_add_test(tcase, background_moves_every_five_seconds_beside_endless_urgent_requests);
    tcase_add_test(tcase, background_moves_beside_urgent_answers_that_never_end);
    tcase_add_test(tcase, a_job_that_loses_all_with_each_preemption_still_ends);
    tcase_add_test(tcase, a_preempted_job_is_not_passed_by_newer_work_of_its_account);
    tcase_add_test(tcase, an_answer_goes_on_while_a_long_prompt_comes_in);
    tcase_add_test(tcase, without_steps_each_request_takes_one_slot_at_most);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
