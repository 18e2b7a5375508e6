/* Steps that are planned while others are in progress, and how long a step is. */
#include "plan_fixture.h"

/* ---- steps behind steps, and before them */

/* Counts the plan as sent. */
static void send_plan(void)
{
    for (uint32_t i = 0; i < plan.n_entries; i++) {
        job_send(plan.entries[i].job, plan.entries[i].n_rows, plan.entries[i].n_tok, plan.entries[i].n_drafts);
    }
}

static void plan_of_kind(enum plan_kind kind, const struct engine_queue *of_engine)
{
    in.kind = kind;
    in.eq = of_engine;
    plan_make(&planner, &queue, &in, &plan);
}

START_TEST(an_entry_says_what_it_counts_for)
{
    struct job answer;
    struct job prompt;

    add_answering(&answer, alice, PRIORITY_INTERACTIVE);
    add_assigned(&prompt, bob, PRIORITY_INTERACTIVE, 20);
    plan_make(&planner, &queue, &in, &plan);

    for (uint32_t i = 0; i < plan.n_entries; i++) {
        bool is_prompt = plan.entries[i].job == &prompt;

        ck_assert_uint_eq(plan.entries[i].n_prefill, is_prompt ? 20 : 0);
        ck_assert_uint_eq(plan.entries[i].n_rows, is_prompt ? 20 : 1);
        ck_assert_uint_eq(plan.entries[i].n_tok, 1);
    }
}
END_TEST

START_TEST(behind_a_step_a_prompt_goes_on_where_that_one_ends)
{
    struct job prompt;
    uint32_t n_first;

    add_assigned(&prompt, alice, PRIORITY_INTERACTIVE, 60);
    plan_of_kind(PLAN_NEXT, NULL);
    send_plan();
    n_first = plan.entries[0].n_rows;
    ck_assert_uint_eq(plan.entries[0].n_tok, 0);
    plan_of_kind(PLAN_BEHIND, &eq);

    ck_assert_uint_eq(rows_of(&prompt), 60 - n_first);
    ck_assert_uint_eq(plan.entries[0].n_tok, 1);
    ck_assert_uint_eq(plan_pages(&prompt, 1, 16), n_first / 16);
}
END_TEST

START_TEST(behind_a_step_an_answer_takes_the_token_that_is_due)
{
    struct job answer;

    add_answering(&answer, alice, PRIORITY_INTERACTIVE);
    plan_of_kind(PLAN_NEXT, NULL);
    send_plan();
    plan_of_kind(PLAN_BEHIND, &eq);
    ck_assert_uint_eq(rows_of(&answer), 1);
    send_plan();
    plan_of_kind(PLAN_BEHIND, &eq);

    ck_assert_ptr_null(plan.eq); /* an engine holds two steps at most */
}
END_TEST

START_TEST(nothing_is_planned_past_the_last_token)
{
    struct job answer;

    add_answering(&answer, alice, PRIORITY_INTERACTIVE);
    answer.n_left = 1;
    plan_of_kind(PLAN_NEXT, NULL);
    send_plan();
    plan_of_kind(PLAN_BEHIND, &eq);

    ck_assert_ptr_null(plan.eq);
}
END_TEST

START_TEST(nothing_waits_behind_or_before_a_suspect)
{
    struct job suspect;
    struct job other;

    add_answering(&suspect, alice, PRIORITY_INTERACTIVE);
    suspect.alone = true;
    add_answering(&other, bob, PRIORITY_INTERACTIVE);
    plan_of_kind(PLAN_NEXT, NULL);
    ck_assert(plan.alone);
    send_plan();
    plan_of_kind(PLAN_BEHIND, &eq);
    ck_assert_ptr_null(plan.eq);
    job_settle(&suspect, 1, 1, 0);
    plan_of_kind(PLAN_NEXT, NULL);
    ck_assert_uint_eq(rows_of(&other), 1);
    send_plan();
    plan_of_kind(PLAN_BEHIND, &eq);

    ck_assert_ptr_null(plan.eq); /* the suspect is next */
}
END_TEST

START_TEST(a_suspect_does_not_go_before_a_higher_class)
{
    struct job suspect;
    struct job high;

    add_answering(&suspect, alice, PRIORITY_BACKGROUND);
    suspect.alone = true;
    add_answering(&high, bob, PRIORITY_REALTIME);
    plan_of_kind(PLAN_NEXT, NULL);

    ck_assert_uint_eq(rows_of(&high), 1);
    ck_assert_uint_eq(rows_of(&suspect), 0);
}
END_TEST

START_TEST(nothing_waits_behind_a_step_if_another_engine_is_next)
{
    struct engine_queue other = eq;
    struct job here;
    struct job there;

    add_answering(&here, alice, PRIORITY_INTERACTIVE);
    plan_of_kind(PLAN_NEXT, NULL);
    send_plan();
    add_answering(&there, alice, PRIORITY_REALTIME);
    there.eq = &other;
    plan_of_kind(PLAN_BEHIND, &eq);

    ck_assert_ptr_null(plan.eq);
}
END_TEST

START_TEST(an_overtaking_job_is_in_no_step_and_of_the_class)
{
    struct job under_way;
    struct job low;
    struct job high;

    add_answering(&under_way, alice, PRIORITY_REALTIME);
    plan_of_kind(PLAN_NEXT, NULL);
    send_plan();
    add_answering(&low, alice, PRIORITY_BACKGROUND);
    add_answering(&high, bob, PRIORITY_REALTIME);
    in.min_priority = PRIORITY_REALTIME;
    plan_of_kind(PLAN_OVERTAKE, NULL);

    ck_assert_uint_eq(plan.n_entries, 1);
    ck_assert_uint_eq(rows_of(&high), 1);
}
END_TEST

START_TEST(a_stopped_engine_is_left_out)
{
    struct job job;

    add_answering(&job, alice, PRIORITY_INTERACTIVE);
    eq.stopped = true;
    plan_of_kind(PLAN_NEXT, NULL);

    ck_assert_ptr_null(plan.eq);
}
END_TEST

START_TEST(each_processor_has_its_own_gate)
{
    struct engine_queue cores = eq;
    struct job on_device;
    struct job on_cores;

    cores.processor = PROCESSOR_CPU;
    add_answering(&on_device, alice, PRIORITY_INTERACTIVE);
    add_answering(&on_cores, bob, PRIORITY_INTERACTIVE);
    on_cores.eq = &cores;
    in.limits[PROCESSOR_GPU].class_gate = PRIORITY_REALTIME;
    plan_of_kind(PLAN_NEXT, NULL);
    ck_assert_ptr_eq(plan.eq, &cores);
    in.limits[PROCESSOR_CPU].duty_permille = 0;
    plan_of_kind(PLAN_NEXT, NULL);

    ck_assert_ptr_null(plan.eq);
}
END_TEST

/* ---- how long a step is */

START_TEST(a_step_takes_its_time_on_the_clock_not_on_the_chip)
{
    struct governor_limits limits = { .duty_permille = 1000 };

    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 50e6, 1.0);
    limits.duty_permille = 500;
    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 25e6, 1.0);
    limits.duty_permille = 100;

    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 20e6, 1.0); /* twice the weights */
}
END_TEST

START_TEST(a_step_fits_a_slice_that_can_hold_one)
{
    struct governor_limits limits = { .duty_permille = 900, .slice_us = 30000 };

    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 30e6, 1.0);
    limits.slice_us = 2000;
    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 45e6, 1.0); /* it is cut in any case */
    limits = (struct governor_limits){ .duty_permille = 1000, .slice_us = 30000 };

    ck_assert_double_eq_tol(plan_target_ns(&eq, &limits), 50e6, 1.0); /* no one else wants the processor */
}
END_TEST

START_TEST(aged_jobs_get_an_eighth_of_a_step)
{
    struct job low;
    struct job high;

    eq.n_rows = 1000;
    add_assigned(&low, alice, PRIORITY_BACKGROUND, 10000);
    in.now_us += 3 * QUEUE_AGE_ASSIGNED_US;
    add_assigned(&high, bob, PRIORITY_REALTIME, 10000);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_eq(rows_of(&low), PLAN_PIECE_ROWS);
    ck_assert_uint_ge(rows_of(&high), 20);
}
END_TEST

START_TEST(accounts_share_a_step_by_weight)
{
    struct job heavy;
    struct job light;

    eq.n_rows = 1000;
    add_assigned(&heavy, alice, PRIORITY_INTERACTIVE, 10000);
    add_assigned(&light, bob, PRIORITY_INTERACTIVE, 10000);
    heavy.limits.weight = 3000;
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_ge(rows_of(&heavy), 28);
    ck_assert_uint_ge(rows_of(&light), 9);
    ck_assert_uint_le(rows_of(&light), 11);
    ck_assert_double_le(plan.estimated_ns, PLAN_STEP_US * 1000.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-behind");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, an_entry_says_what_it_counts_for);
    tcase_add_test(tcase, behind_a_step_a_prompt_goes_on_where_that_one_ends);
    tcase_add_test(tcase, behind_a_step_an_answer_takes_the_token_that_is_due);
    tcase_add_test(tcase, nothing_is_planned_past_the_last_token);
    tcase_add_test(tcase, nothing_waits_behind_or_before_a_suspect);
    tcase_add_test(tcase, a_suspect_does_not_go_before_a_higher_class);
    tcase_add_test(tcase, nothing_waits_behind_a_step_if_another_engine_is_next);
    tcase_add_test(tcase, an_overtaking_job_is_in_no_step_and_of_the_class);
    tcase_add_test(tcase, a_stopped_engine_is_left_out);
    tcase_add_test(tcase, each_processor_has_its_own_gate);
    tcase_add_test(tcase, a_step_takes_its_time_on_the_clock_not_on_the_chip);
    tcase_add_test(tcase, a_step_fits_a_slice_that_can_hold_one);
    tcase_add_test(tcase, aged_jobs_get_an_eighth_of_a_step);
    tcase_add_test(tcase, accounts_share_a_step_by_weight);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
