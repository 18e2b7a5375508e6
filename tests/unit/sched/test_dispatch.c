/* An unbounded chip: steps wait behind each other, and engines alternate. */
#include "dispatch_fixture.h"

START_TEST(nothing_to_do_is_no_order)
{
    expect(DISPATCH_NONE);

    ck_assert_uint_eq(order.wake_us, 0);
    ck_assert_uint_eq(order.wake_boot_us, 0);
}
END_TEST

START_TEST(the_next_step_waits_behind_the_one_that_runs)
{
    struct job job;
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    ck_assert_int_eq(first->state, DISPATCH_RUNNING);
    ck_assert_uint_eq(first->slice_us, 0);
    second = expect(DISPATCH_STEP);
    ck_assert_int_eq(second->state, DISPATCH_WAITING);
    ck_assert_uint_eq(second->id, first->id + 1);
    ck_assert_uint_eq(job.n_steps, 2);
    ck_assert_uint_eq(job.n_due, 2);
    expect(DISPATCH_NONE);

    finish(first, 10 * MS);
    ck_assert_int_eq(second->state, DISPATCH_RUNNING);
    ck_assert_uint_eq(job.n_steps, 1);
    ck_assert_int_eq(expect(DISPATCH_STEP)->state, DISPATCH_WAITING);
}
END_TEST

START_TEST(nothing_waits_past_the_last_token)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    job.n_left = 1;
    step = expect(DISPATCH_STEP);
    expect(DISPATCH_NONE);
    finish(step, 10 * MS);
    expect(DISPATCH_NONE);
}
END_TEST

START_TEST(a_waiting_step_without_live_requests_is_withdrawn)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    expect(DISPATCH_STEP);
    step = expect(DISPATCH_STEP);
    end_job(&job);

    ck_assert_ptr_eq(expect(DISPATCH_WITHDRAW), step);
    expect(DISPATCH_NONE);
    ck_assert(dispatch_on_withdrawn(&dispatch, &eqs[0], step->id, true, in.now_us));
    ck_assert_uint_eq(job.n_steps, 1);
    ck_assert_uint_eq(job.n_sent, 1);
}
END_TEST

START_TEST(what_had_begun_before_it_was_asked_back_runs)
{
    struct job job;
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    end_job(&job);
    expect(DISPATCH_WITHDRAW);
    ck_assert(!dispatch_on_withdrawn(&dispatch, &eqs[0], second->id, false, in.now_us)); /* the first still runs */
    finish(first, 10 * MS);
    expect(DISPATCH_NONE);
    ck_assert(dispatch_on_withdrawn(&dispatch, &eqs[0], second->id, false, in.now_us));
    ck_assert_int_eq(second->state, DISPATCH_RUNNING);
    finish(second, 10 * MS);
    ck_assert_uint_eq(job.n_steps, 0);
}
END_TEST

START_TEST(an_answer_to_withdraw_may_come_after_the_steps_own)
{
    struct job job;
    struct dispatch_step *first;
    struct dispatch_step *second;
    uint64_t id;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    id = second->id;
    end_job(&job);
    expect(DISPATCH_WITHDRAW);
    finish(first, 10 * MS);
    finish(second, 10 * MS);
    ck_assert(dispatch_on_withdrawn(&dispatch, &eqs[0], id, false, in.now_us));
    ck_assert(!dispatch_on_withdrawn(&dispatch, &eqs[0], id, true, in.now_us));
    ck_assert(!dispatch_on_withdrawn(&dispatch, &eqs[0], id + 1, false, in.now_us));
}
END_TEST

START_TEST(a_step_that_could_not_be_begun_is_as_if_it_had_not_been_sent)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    job.n_left = 1;
    step = expect(DISPATCH_STEP);
    ck_assert(dispatch_on_withdrawn(&dispatch, &eqs[0], step->id, true, in.now_us));
    ck_assert_uint_eq(job.n_steps + job.n_sent + job.n_due, 0);
    ck_assert_int_eq(expect(DISPATCH_STEP)->state, DISPATCH_RUNNING);
}
END_TEST

START_TEST(answers_that_fit_no_step_are_nonsense)
{
    struct job job;
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    ck_assert_ptr_null(dispatch_on_done(&dispatch, &eqs[0], second->id, 1, in.now_us));
    ck_assert_ptr_null(dispatch_on_done(&dispatch, &eqs[1], first->id, 1, in.now_us));
    ck_assert_ptr_null(dispatch_on_done(&dispatch, &eqs[0], 77, 1, in.now_us));
    ck_assert(!dispatch_on_suspended(&dispatch, &eqs[0], second->id, 1, in.now_us));
    ck_assert(!dispatch_on_withdrawn(&dispatch, &eqs[0], 77, false, in.now_us));
    stand(first, 1 * MS);
    ck_assert_ptr_null(dispatch_on_done(&dispatch, &eqs[0], first->id, 1, in.now_us));
    ck_assert(!dispatch_on_suspended(&dispatch, &eqs[0], first->id, 1, in.now_us));
}
END_TEST

START_TEST(while_a_sequence_is_opened_its_engine_begins_nothing)
{
    struct job opening;
    struct job job;
    struct job other;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    add_opening(&opening, PRIORITY_INTERACTIVE, &eqs[0], 5);
    expect(DISPATCH_NONE);
    account->served[PRIORITY_INTERACTIVE] += 100 * account_unit(&job.limits);
    ck_assert_int_eq(accounts_get(&queue.accounts, 2, &account), 0);
    add_answer(&other, PRIORITY_INTERACTIVE, &eqs[1]); /* its account has had less */
    ck_assert_ptr_eq(expect(DISPATCH_STEP)->eq, &eqs[1]);
    job_move(&opening, JOB_ASSIGNED, in.now_us);
    opening.n_left = 10;
    finish(dispatch_find(&dispatch, &eqs[1], dispatch.last_id), 10 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &opening));
}
END_TEST

START_TEST(an_engine_that_opens_a_sequence_keeps_its_turn)
{
    struct job opening;
    struct job job;
    struct job other;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    ck_assert_int_eq(accounts_get(&queue.accounts, 2, &account), 0);
    add_answer(&other, PRIORITY_INTERACTIVE, &eqs[1]);
    account->served[PRIORITY_INTERACTIVE] += 100 * account_unit(&other.limits);
    ck_assert_int_eq(accounts_get(&queue.accounts, 1, &account), 0);
    add_opening(&opening, PRIORITY_INTERACTIVE, &eqs[0], 5);
    expect(DISPATCH_NONE);

    job_move(&opening, JOB_ASSIGNED, in.now_us);
    opening.n_left = 10;
    ck_assert_ptr_eq(expect(DISPATCH_STEP)->eq, &eqs[0]);
}
END_TEST

START_TEST(a_job_opened_at_an_idle_engine_has_its_position_in_line)
{
    struct job opening;
    struct job other;

    add_answer(&other, PRIORITY_BACKGROUND, &eqs[1]);
    account->served[PRIORITY_BACKGROUND] += 100 * account_unit(&other.limits);
    ck_assert_int_eq(accounts_get(&queue.accounts, 2, &account), 0);
    add_opening(&opening, PRIORITY_BACKGROUND, &eqs[0], 5);
    expect(DISPATCH_NONE);

    job_move(&opening, JOB_WAITING, in.now_us); /* refused for want of pages */
    eqs[0].n_taken--;
    ck_assert_ptr_eq(expect(DISPATCH_STEP)->eq, &eqs[1]);
}
END_TEST

START_TEST(a_lower_class_begins_nothing_while_a_higher_one_is_opened_anywhere)
{
    struct job opening;
    struct job job;

    add_answer(&job, PRIORITY_BACKGROUND, &eqs[1]);
    add_opening(&opening, PRIORITY_REALTIME, &eqs[0], 5);
    expect(DISPATCH_NONE);
    end_job(&opening);
    expect(DISPATCH_STEP);
}
END_TEST

START_TEST(engines_of_one_class_alternate_and_nothing_waits_behind_them)
{
    struct job jobs[2];
    struct dispatch_step *step;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    step = expect(DISPATCH_STEP);
    for (size_t i = 0; i < 6; i++) {
        const struct engine_queue *before = step->eq;

        expect(DISPATCH_NONE);
        finish(step, 10 * MS);
        step = expect(DISPATCH_STEP);
        ck_assert_int_eq(step->state, DISPATCH_RUNNING);
        ck_assert_ptr_ne(step->eq, before);
    }
}
END_TEST

START_TEST(a_waiting_step_is_withdrawn_when_another_engine_gets_work)
{
    struct job jobs[2];
    struct dispatch_step *first;
    struct dispatch_step *waiter;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    waiter = expect(DISPATCH_STEP);
    add_answer(&jobs[1], PRIORITY_BACKGROUND, &eqs[1]);
    expect(DISPATCH_NONE); /* it waits for the higher class */
    end_job(&jobs[1]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    ck_assert_ptr_eq(expect(DISPATCH_WITHDRAW), waiter);
    take_back(waiter);
    expect(DISPATCH_NONE);
    finish(first, 10 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_STEP)->eq, &eqs[1]);
}
END_TEST

START_TEST(a_sequence_that_leaves_with_a_step_is_counted_until_it_ends)
{
    struct job jobs[2];
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    dispatch_leave(&dispatch, &jobs[0]);
    dispatch_forget(&dispatch, &jobs[0]);
    dispatch_leave(&dispatch, &jobs[0]); /* in no step any more */
    ck_assert_uint_eq(eqs[0].n_leaving, 1);
    ck_assert_uint_eq(eqs[1].n_leaving, 0);
    finish(first, 10 * MS);
    ck_assert_uint_eq(eqs[0].n_leaving, 1);
    finish(second, 10 * MS);
    ck_assert_uint_eq(eqs[0].n_leaving, 0);
    end_job(&jobs[0]);
}
END_TEST

START_TEST(a_sequence_in_two_steps_is_held_by_the_first_when_the_second_is_withdrawn)
{
    struct job jobs[2];
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[0]);
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    for (size_t i = 0; i < 2; i++) {
        dispatch_leave(&dispatch, &jobs[i]);
        dispatch_forget(&dispatch, &jobs[i]);
        end_job(&jobs[i]);
    }
    expect(DISPATCH_WITHDRAW);
    ck_assert_uint_eq(eqs[0].n_leaving, 2);
    take_back(second);

    ck_assert_uint_eq(eqs[0].n_leaving, 2);
    finish(first, 10 * MS);
    ck_assert_uint_eq(eqs[0].n_leaving, 0);
}
END_TEST

int main(void)
{
    const TTest *const facts[] = {
        nothing_to_do_is_no_order,
        the_next_step_waits_behind_the_one_that_runs,
        nothing_waits_past_the_last_token,
        a_waiting_step_without_live_requests_is_withdrawn,
        what_had_begun_before_it_was_asked_back_runs,
        an_answer_to_withdraw_may_come_after_the_steps_own,
        a_step_that_could_not_be_begun_is_as_if_it_had_not_been_sent,
        answers_that_fit_no_step_are_nonsense,
        while_a_sequence_is_opened_its_engine_begins_nothing,
        an_engine_that_opens_a_sequence_keeps_its_turn,
        a_job_opened_at_an_idle_engine_has_its_position_in_line,
        a_lower_class_begins_nothing_while_a_higher_one_is_opened_anywhere,
        engines_of_one_class_alternate_and_nothing_waits_behind_them,
        a_waiting_step_is_withdrawn_when_another_engine_gets_work,
        a_sequence_that_leaves_with_a_step_is_counted_until_it_ends,
        a_sequence_in_two_steps_is_held_by_the_first_when_the_second_is_withdrawn,
    };

    return run_facts("sched-dispatch", facts, sizeof(facts) / sizeof(facts[0]));
}
