/* Between classes: which step is suspended for which job, and goes on. */
#include "dispatch_fixture.h"

START_TEST(realtime_withdraws_suspends_and_lets_go_on)
{
    struct job low;
    struct job high;
    struct dispatch_step *first;
    struct dispatch_step *waiter;
    struct dispatch_step *urgent;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 200);
    first = expect(DISPATCH_STEP);
    waiter = expect(DISPATCH_STEP);
    pass(5 * MS);
    add_answer(&high, PRIORITY_REALTIME, &eqs[0]);
    high.n_left = 1;
    ck_assert_ptr_eq(expect(DISPATCH_WITHDRAW), waiter);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), first);
    take_back(waiter);
    stand(first, 6 * MS);
    urgent = expect(DISPATCH_STEP);
    ck_assert_int_eq(urgent->priority, PRIORITY_REALTIME);
    ck_assert(has(urgent, &high) && !has(urgent, &low));
    finish(urgent, 10 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    ck_assert_uint_eq(first->slice_us, 0);
    finish(first, 30 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &low));
}
END_TEST

START_TEST(a_realtime_arrival_stops_a_step_so_that_it_can_be_opened)
{
    struct job low;
    struct job high;
    struct dispatch_step *step;

    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    step = expect(DISPATCH_STEP);
    add_opening(&high, PRIORITY_REALTIME, &eqs[0], 5);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
    stand(step, 1 * MS);
    expect(DISPATCH_NONE); /* its sequence is opened at once, and then it goes first */
    job_move(&high, JOB_ASSIGNED, in.now_us);
    high.n_left = 5;
    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(realtime_at_one_engine_stops_background_at_the_other)
{
    struct job low;
    struct job high;
    struct dispatch_step *step;
    struct dispatch_step *urgent;

    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    step = expect(DISPATCH_STEP);
    add_answer(&high, PRIORITY_REALTIME, &eqs[1]);
    high.n_left = 1;
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
    stand(step, 1 * MS);
    urgent = expect(DISPATCH_STEP);
    ck_assert_ptr_eq(urgent->eq, &eqs[1]);
    finish(urgent, 10 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), step);
}
END_TEST

START_TEST(interactive_waits_for_a_step_of_its_own_engine_and_stops_that_of_another)
{
    struct job low;
    struct job high;

    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    expect(DISPATCH_STEP);
    add_answer(&high, PRIORITY_INTERACTIVE, &eqs[0]);
    expect(DISPATCH_NONE);
    end_job(&high);
    add_answer(&high, PRIORITY_INTERACTIVE, &eqs[1]);
    expect(DISPATCH_SUSPEND);
}
END_TEST

START_TEST(a_gated_job_gives_realtime_its_place_at_the_engine)
{
    struct job low;
    struct job middle;
    struct job high;
    struct dispatch_step *first;
    struct dispatch_step *second;

    /* A gate lets interactive pass a background step of its engine; then realtime arrives, and two steps have begun. */
    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    first = expect(DISPATCH_STEP);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_INTERACTIVE;
    expect(DISPATCH_SUSPEND);
    stand(first, 1 * MS);
    add_answer(&middle, PRIORITY_INTERACTIVE, &eqs[0]);
    middle.n_left = 1;
    second = expect(DISPATCH_STEP);
    ck_assert_ptr_null(dispatch_find_victim(&dispatch, &queue, &in));
    add_answer(&high, PRIORITY_REALTIME, &eqs[0]);
    high.n_left = 1;
    expect(DISPATCH_NONE);
    ck_assert_ptr_eq(dispatch_find_victim(&dispatch, &queue, &in), &low);
    dispatch_forget(&dispatch, &low);
    queue_preempt(&queue, &low, in.now_us);
    ck_assert_ptr_null(dispatch_find_victim(&dispatch, &queue, &in));
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), second);
    stand(second, 1 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    finish(first, 100);
    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

/* Adds a job that waits as the next turn of a session does while the one before it is still in a step. */
static void add_behind(struct job *job, enum priority priority, const struct job *earlier)
{
    *job = (struct job){ .account = account, .priority = priority, .eq = earlier->eq, .n_prompt = 4, .n_known = 4 };
    queue_add(&queue, job, in.now_us);
    job->behind = earlier;
}

START_TEST(a_step_that_the_next_turn_of_a_session_waits_for_has_its_class)
{
    struct job earlier;
    struct job beside;
    struct job middle;
    struct job next;
    struct dispatch_step *first;

    bound(2 * MS, 1000);
    add_answer(&earlier, PRIORITY_BACKGROUND, &eqs[0]);
    add_answer(&beside, PRIORITY_BACKGROUND, &eqs[0]);
    first = expect(DISPATCH_STEP);
    ck_assert(has(first, &earlier) && has(first, &beside));
    end_job(&earlier);
    stand(first, 2 * MS);
    add_answer(&middle, PRIORITY_INTERACTIVE, &eqs[1]);
    add_behind(&next, PRIORITY_REALTIME, &earlier);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    finish(first, 2 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &middle));
}
END_TEST

START_TEST(a_gated_job_beside_the_earlier_turn_of_a_session_is_preempted)
{
    struct job earlier;
    struct job beside;
    struct job next;
    struct dispatch_step *first;

    bound(2 * MS, 1000);
    add_answer(&earlier, PRIORITY_BACKGROUND, &eqs[0]);
    add_answer(&beside, PRIORITY_BACKGROUND, &eqs[0]);
    first = expect(DISPATCH_STEP);
    stand(first, 2 * MS);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_INTERACTIVE;
    end_job(&earlier);
    ck_assert_ptr_null(dispatch_find_victim(&dispatch, &queue, &in));
    add_behind(&next, PRIORITY_INTERACTIVE, &earlier);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_REALTIME;
    ck_assert_ptr_null(dispatch_find_victim(&dispatch, &queue, &in)); /* it waits for the gate itself */
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_INTERACTIVE;
    ck_assert_ptr_eq(dispatch_find_victim(&dispatch, &queue, &in), &beside);
    dispatch_forget(&dispatch, &beside);
    queue_preempt(&queue, &beside, in.now_us);
    ck_assert_ptr_null(dispatch_find_victim(&dispatch, &queue, &in));
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
}
END_TEST

START_TEST(a_step_that_waits_with_the_earlier_turn_of_a_session_is_withdrawn)
{
    struct job earlier;
    struct job beside;
    struct job next;
    struct dispatch_step *second;

    add_answer(&earlier, PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&beside, PRIORITY_INTERACTIVE, &eqs[0]);
    expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    ck_assert(has(second, &earlier) && has(second, &beside));
    end_job(&earlier);
    expect(DISPATCH_NONE);
    add_behind(&next, PRIORITY_INTERACTIVE, &earlier);
    ck_assert_ptr_eq(expect(DISPATCH_WITHDRAW), second);
}
END_TEST

START_TEST(a_step_in_the_way_of_a_higher_class_has_its_class)
{
    struct job low;
    struct job middle;
    struct job high;
    struct dispatch_step *first;

    /* The step of a suspect shares its engine with no other, so realtime there is served by letting it end before
     * others. */
    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    low.alone = true;
    bound(2 * MS, 1000);
    first = expect(DISPATCH_STEP);
    ck_assert(first->plan.alone);
    add_answer(&middle, PRIORITY_INTERACTIVE, &eqs[1]);
    add_answer(&high, PRIORITY_REALTIME, &eqs[0]);
    stand(first, 2 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    finish(first, 2 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(a_step_in_the_way_of_a_higher_class_keeps_its_class_while_it_runs)
{
    struct job low;
    struct job middle;
    struct job high;
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    low.n_left = 1;
    first = expect(DISPATCH_STEP);
    add_answer(&middle, PRIORITY_INTERACTIVE, &eqs[1]);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), first);
    stand(first, 1 * MS);
    middle.n_left = 1;
    second = expect(DISPATCH_STEP);
    add_answer(&high, PRIORITY_REALTIME, &eqs[0]);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), second);
    stand(second, 1 * MS);

    high.has_first = true;
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    expect(DISPATCH_NONE); /* it is not stopped for the step that it went before */
    finish(first, 9 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(only_a_first_token_passes_a_step_of_its_own_engine)
{
    struct job low;
    struct job high;
    struct dispatch_step *first;

    bound(2 * MS, 1000);
    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]);
    first = expect(DISPATCH_STEP);
    add_answer(&high, PRIORITY_REALTIME, &eqs[0]);
    high.has_first = true;

    stand(first, 2 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    finish(first, 2 * MS);
    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(a_step_that_starves_gets_a_slice_between_those_of_a_higher_class)
{
    struct job low;
    struct job high;
    struct dispatch_step *step;
    struct dispatch_step *first;
    uint64_t from_us;
    uint32_t n_gifts = 0;

    add_answer(&low, PRIORITY_BACKGROUND, &eqs[0]); /* 10.1 ms */
    low.n_left = 1;
    first = expect(DISPATCH_STEP);
    add_answer(&high, PRIORITY_REALTIME, &eqs[1]);
    high.n_left = 100000;
    expect(DISPATCH_SUSPEND);
    stand(first, 1 * MS);
    from_us = in.now_us;
    while (low.n_steps > 0) {
        ck_assert_uint_lt(in.now_us, from_us + 1000 * MS);
        dispatch_next(&dispatch, &queue, &planner, &in, &order);
        if (order.what != DISPATCH_CONTINUE) {
            step = dispatch.steps[0].state == DISPATCH_RUNNING ? &dispatch.steps[0] : &dispatch.steps[1];
            step = step->state == DISPATCH_RUNNING ? step : &dispatch.steps[2];
            if (order.what == DISPATCH_NONE) {
                finish(step, 10 * MS);
            } else if (order.what == DISPATCH_WITHDRAW) {
                take_back(order.step);
            }
            continue;
        }
        n_gifts++;
        ck_assert_ptr_eq(order.step, first);
        ck_assert_uint_eq(first->slice_us, DISPATCH_BOOST_US);
        expect(DISPATCH_NONE); /* a boost is not taken back */
        if (first->held_us + 5 * MS < 10 * MS) {
            stand(first, 5 * MS);
        } else {
            finish(first, 4 * MS);
        }
    }
    ck_assert_uint_eq(n_gifts, 2);
}
END_TEST

START_TEST(a_boost_that_waited_for_a_frame_is_repeated)
{
    struct job low;
    struct job high;
    struct dispatch_step *first;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 100);
    bound(2 * MS, 500);
    first = expect(DISPATCH_STEP);
    stand(first, 2 * MS);
    add_answer(&high, PRIORITY_REALTIME, &eqs[1]);
    high.has_first = true;
    pass(2 * MS);
    finish(expect(DISPATCH_STEP), 6 * MS); /* three slices of others */
    pass(6 * MS);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
        stand(first, 100);
        pass(1 * MS);
    }
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    stand(first, 1 * MS);
    pass(1 * MS);

    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(a_preempted_job_is_in_no_step)
{
    struct job jobs[2];
    struct dispatch_step *step;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[0]);
    step = expect(DISPATCH_STEP);
    expect(DISPATCH_STEP);
    dispatch_forget(&dispatch, &jobs[0]);
    ck_assert_uint_eq(jobs[0].n_steps + jobs[0].n_sent + jobs[0].n_due, 0);
    ck_assert(!has(step, &jobs[0]) && has(step, &jobs[1]));
    job_forget(&jobs[0]);
    end_job(&jobs[0]);
    finish(step, 10 * MS);
    ck_assert_uint_eq(jobs[1].n_steps, 1);
}
END_TEST

START_TEST(a_lost_engine_takes_its_steps_with_it_and_no_others)
{
    struct job jobs[2];
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_answer(&jobs[0], PRIORITY_BACKGROUND, &eqs[0]);
    jobs[0].n_left = 1;
    first = expect(DISPATCH_STEP);
    add_answer(&jobs[1], PRIORITY_REALTIME, &eqs[1]);
    expect(DISPATCH_SUSPEND);
    stand(first, 1 * MS);
    second = expect(DISPATCH_STEP);
    dispatch_on_lost(&dispatch, &eqs[0], in.now_us);
    ck_assert_uint_eq(jobs[0].n_steps + jobs[0].n_sent + jobs[0].n_due, 0);
    ck_assert_uint_ge(jobs[1].n_steps, 1);
    ck_assert(!dispatch_is_busy(&dispatch, &eqs[0]) && dispatch_is_busy(&dispatch, &eqs[1]));
    eqs[0].open = false;
    finish(second, 1 * MS);
}
END_TEST

START_TEST(only_what_runs_or_waits_is_awaited)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    ck_assert_double_lt(dispatch_awaited_ns(&dispatch, &eqs[0]), 0.0);
    step = expect(DISPATCH_STEP);
    ck_assert_double_ge(dispatch_awaited_ns(&dispatch, &eqs[0]), 10e6);
    expect(DISPATCH_STEP);
    ck_assert_double_ge(dispatch_awaited_ns(&dispatch, &eqs[0]), 20e6);
    bound(2 * MS, 500);
    dispatch_on_withdrawn(&dispatch, &eqs[0], expect(DISPATCH_WITHDRAW)->id, true, in.now_us);
    expect(DISPATCH_SUSPEND);
    stand(step, 2 * MS);
    ck_assert_double_lt(dispatch_awaited_ns(&dispatch, &eqs[0]), 0.0);
}
END_TEST

START_TEST(moves_that_make_no_sense_are_none)
{
    ck_assert(dispatch_may_move(DISPATCH_SUSPENDED, DISPATCH_RUNNING));
    ck_assert(!dispatch_may_move(DISPATCH_SUSPENDED, DISPATCH_SUSPENDING));
    ck_assert(!dispatch_may_move(DISPATCH_WAITING, DISPATCH_SUSPENDED));
    ck_assert(!dispatch_may_move(DISPATCH_ENDED, DISPATCH_RUNNING));
    ck_assert(!dispatch_may_move(DISPATCH_FREE, DISPATCH_SUSPENDED));
}
END_TEST

START_TEST(a_step_counts_as_its_live_requests)
{
    struct job low;
    struct job jobs[2];
    struct dispatch_step *step;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 200);
    add_answer(&jobs[0], PRIORITY_REALTIME, &eqs[0]);
    jobs[0].has_first = true;
    jobs[0].n_left = 1;
    low.n_left = 1;
    step = expect(DISPATCH_STEP);
    ck_assert(has(step, &low) && has(step, &jobs[0]));
    ck_assert_int_eq(step->priority, PRIORITY_REALTIME);
    while (dispatch_next(&dispatch, &queue, &planner, &in, &order), order.what != DISPATCH_NONE) {
    }
    end_job(&jobs[0]);
    add_answer(&jobs[1], PRIORITY_REALTIME, &eqs[0]);
    while (dispatch_next(&dispatch, &queue, &planner, &in, &order), order.what == DISPATCH_WITHDRAW) {
        take_back(order.step);
    }
    ck_assert_int_eq(order.what, DISPATCH_SUSPEND);
    ck_assert_ptr_eq(order.step, step);
}
END_TEST

START_TEST(nothing_lower_is_put_beside_a_first_token)
{
    struct job low;
    struct job high;
    struct dispatch_step *first;
    struct dispatch_step *second;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 200);
    add_prompt(&high, PRIORITY_REALTIME, &eqs[0], 60); /* two steps of prompt */
    high.n_left = 2;
    first = expect(DISPATCH_STEP);
    second = expect(DISPATCH_STEP);
    ck_assert(has(first, &high) && !has(first, &low));
    ck_assert(has(second, &high) && !has(second, &low));
    finish(first, 40 * MS);
    expect(DISPATCH_STEP);
    finish(second, 30 * MS);
    ck_assert(high.has_first);
    while (dispatch_next(&dispatch, &queue, &planner, &in, &order), order.what != DISPATCH_NONE) {
    }
    ck_assert_uint_gt(low.n_steps, 0);
}
END_TEST

START_TEST(a_short_prompt_of_realtime_has_its_step_to_itself)
{
    struct job low;
    struct job high;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 200);
    add_prompt(&high, PRIORITY_REALTIME, &eqs[0], 5);
    ck_assert_uint_eq(expect(DISPATCH_STEP)->plan.n_entries, 1);
    ck_assert_uint_gt(high.n_steps, 0);
}
END_TEST

int main(void)
{
    const TTest *const facts[] = {
        realtime_withdraws_suspends_and_lets_go_on,
        a_realtime_arrival_stops_a_step_so_that_it_can_be_opened,
        realtime_at_one_engine_stops_background_at_the_other,
        interactive_waits_for_a_step_of_its_own_engine_and_stops_that_of_another,
        a_gated_job_gives_realtime_its_place_at_the_engine,
        a_step_that_the_next_turn_of_a_session_waits_for_has_its_class,
        a_gated_job_beside_the_earlier_turn_of_a_session_is_preempted,
        a_step_that_waits_with_the_earlier_turn_of_a_session_is_withdrawn,
        a_step_in_the_way_of_a_higher_class_has_its_class,
        a_step_in_the_way_of_a_higher_class_keeps_its_class_while_it_runs,
        only_a_first_token_passes_a_step_of_its_own_engine,
        a_step_that_starves_gets_a_slice_between_those_of_a_higher_class,
        a_boost_that_waited_for_a_frame_is_repeated,
        a_preempted_job_is_in_no_step,
        a_lost_engine_takes_its_steps_with_it_and_no_others,
        only_what_runs_or_waits_is_awaited,
        moves_that_make_no_sense_are_none,
        a_step_counts_as_its_live_requests,
        nothing_lower_is_put_beside_a_first_token,
        a_short_prompt_of_realtime_has_its_step_to_itself,
    };

    return run_facts("sched-dispatch-priority", facts, sizeof(facts) / sizeof(facts[0]));
}
