/* A bounded chip: slices, rests, gates, sleep. */
#include "dispatch_fixture.h"

START_TEST(a_slice_is_followed_by_the_rest_that_duty_asks_for)
{
    struct job job;
    struct dispatch_step *step;

    add_prompt(&job, PRIORITY_INTERACTIVE, &eqs[0], 100);
    bound(2 * MS, 250);
    step = expect(DISPATCH_STEP);
    ck_assert_uint_eq(step->slice_us, 2 * MS);
    expect(DISPATCH_NONE); /* and nothing waits behind it */
    stand(step, 2 * MS);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 6 * MS);
    pass(6 * MS - 1);
    expect(DISPATCH_NONE);
    pass(1);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), step);
    ck_assert_uint_eq(step->slice_us, 2 * MS);
    finish(step, 1 * MS);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 3 * MS);
    pass(3 * MS);
    expect(DISPATCH_STEP);
}
END_TEST

START_TEST(an_engine_is_believed_no_more_than_the_clock)
{
    struct job job;
    struct dispatch_step *step;

    add_prompt(&job, PRIORITY_INTERACTIVE, &eqs[0], 100);
    bound(2 * MS, 250);
    step = expect(DISPATCH_STEP);
    pass(3 * MS);
    ck_assert(dispatch_on_suspended(&dispatch, step->eq, step->id, UINT64_MAX / 2, in.now_us));
    expect(DISPATCH_NONE);
    ck_assert_uint_le(order.wake_us, in.now_us + 9 * MS);
}
END_TEST

START_TEST(a_slice_that_waited_rests_by_what_it_held)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    bound(2 * MS, 500);
    step = expect(DISPATCH_STEP);
    pass(22 * MS);
    ck_assert(dispatch_on_suspended(&dispatch, step->eq, step->id, 2 * MS, in.now_us));

    ck_assert_uint_eq(step->held_us, 2 * MS);
    ck_assert_uint_eq(dispatch.processor_held_us[PROCESSOR_CPU], 2 * MS);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 2 * MS);
}
END_TEST

START_TEST(duty_holds_for_the_sum_of_all_engines)
{
    struct job jobs[2];
    struct dispatch_step *step;
    uint64_t from_us = in.now_us;
    uint64_t held_us = 0;

    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    bound(2 * MS, 300);
    while (in.now_us < from_us + 1000 * MS) {
        dispatch_next(&dispatch, &queue, &planner, &in, &order);
        if (order.what == DISPATCH_NONE) {
            ck_assert_uint_gt(order.wake_us, in.now_us);
            pass((uint32_t)(order.wake_us - in.now_us));
            continue;
        }
        step = order.step;
        held_us += 2 * MS;
        if (step->held_us < 8 * MS) {
            stand(step, 2 * MS);
        } else {
            finish(step, 2 * MS);
        }
    }
    ck_assert_uint_ge(held_us, 295 * MS);
    ck_assert_uint_le(held_us, 302 * MS);
    ck_assert_uint_gt(jobs[0].n_known, 15);
    ck_assert_uint_gt(jobs[1].n_known, 15);
}
END_TEST

START_TEST(rest_follows_a_duty_that_changes)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    bound(2 * MS, 500);
    step = expect(DISPATCH_STEP);
    stand(step, 2 * MS);
    bound(2 * MS, 100);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 18 * MS);
    bound(0, 1000);
    expect(DISPATCH_CONTINUE);
}
END_TEST

START_TEST(a_busy_screen_does_not_make_the_cores_rest)
{
    struct job jobs[2];
    struct dispatch_step *step;

    eqs[1].processor = PROCESSOR_GPU;
    in.limits[PROCESSOR_GPU].slice_us = 2 * MS;
    in.limits[PROCESSOR_GPU].duty_permille = 100;
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    step = expect(DISPATCH_STEP);
    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    stand(step, 2 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_STEP)->eq, &eqs[0]);
}
END_TEST

START_TEST(heat_makes_both_processors_rest_for_a_slice_on_one)
{
    struct job jobs[2];
    struct dispatch_step *step;

    eqs[1].processor = PROCESSOR_GPU;
    bound(2 * MS, 500);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    step = expect(DISPATCH_STEP);
    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    stand(step, 2 * MS);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 2 * MS);
}
END_TEST

START_TEST(a_bound_that_comes_stops_what_runs_without)
{
    struct job job;
    struct dispatch_step *first;
    struct dispatch_step *waiter;

    add_prompt(&job, PRIORITY_INTERACTIVE, &eqs[0], 100);
    first = expect(DISPATCH_STEP);
    waiter = expect(DISPATCH_STEP);
    bound(2 * MS, 500);
    ck_assert_ptr_eq(expect(DISPATCH_WITHDRAW), waiter);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), first);
    expect(DISPATCH_NONE);
    take_back(waiter);
    stand(first, 5 * MS);
    pass(5 * MS);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), first);
    ck_assert_uint_eq(first->slice_us, 2 * MS);
}
END_TEST

START_TEST(a_tighter_slice_reaches_a_step_with_a_longer_one)
{
    struct job job;
    struct dispatch_step *step;

    add_prompt(&job, PRIORITY_INTERACTIVE, &eqs[0], 100);
    bound(100 * MS, 1000);
    step = expect(DISPATCH_STEP);
    bound(2 * MS, 1000);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
}
END_TEST

START_TEST(the_class_gate_suspends_what_is_below_and_lets_it_go_on_later)
{
    struct job low;
    struct job high;
    struct dispatch_step *step;

    add_prompt(&low, PRIORITY_BACKGROUND, &eqs[0], 100);
    low.n_left = 1;
    step = expect(DISPATCH_STEP);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_INTERACTIVE;
    while (dispatch_next(&dispatch, &queue, &planner, &in, &order), order.what == DISPATCH_STEP) {
    }
    if (order.what == DISPATCH_WITHDRAW) {
        take_back(order.step);
        dispatch_next(&dispatch, &queue, &planner, &in, &order);
    }
    ck_assert_int_eq(order.what, DISPATCH_SUSPEND);
    stand(step, 1 * MS);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, 0);
    add_answer(&high, PRIORITY_INTERACTIVE, &eqs[0]);
    high.n_left = 1;
    finish(expect(DISPATCH_STEP), 10 * MS);
    expect(DISPATCH_NONE);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_BACKGROUND;
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), step);
}
END_TEST

START_TEST(a_step_whose_requests_ended_passes_the_gate)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_BACKGROUND, &eqs[0]);
    job.n_left = 1;
    step = expect(DISPATCH_STEP);
    in.limits[PROCESSOR_CPU].class_gate = PRIORITY_REALTIME;
    expect(DISPATCH_SUSPEND);
    stand(step, 1 * MS);
    expect(DISPATCH_NONE);
    end_job(&job);
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), step);
}
END_TEST

START_TEST(a_paused_processor_stops_every_class_and_sleep_both_processors)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_REALTIME, &eqs[0]);
    job.n_left = 1;
    step = expect(DISPATCH_STEP);
    in.limits[PROCESSOR_CPU].duty_permille = 0;
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
    stand(step, 1 * MS);
    expect(DISPATCH_NONE);
    in.limits[PROCESSOR_CPU].duty_permille = 1000;
    ck_assert_ptr_eq(expect(DISPATCH_CONTINUE), step);
    in.is_asleep = true;
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
    stand(step, 1 * MS);
    expect(DISPATCH_NONE);
    in.is_asleep = false;
    expect(DISPATCH_CONTINUE);
}
END_TEST

START_TEST(work_does_not_wait_for_a_mode_that_dwells)
{
    struct job job;

    add_answer(&job, PRIORITY_BACKGROUND, &eqs[0]);
    in.limits[PROCESSOR_CPU].mode = GOVERNOR_PAUSED; /* for half a second more */
    in.limits[PROCESSOR_CPU].duty_permille = 600;

    expect(DISPATCH_STEP);
}
END_TEST

START_TEST(what_a_lost_engine_held_is_rested_for)
{
    struct job jobs[2];

    bound(2 * MS, 500);
    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    expect(DISPATCH_STEP);
    pass(3 * MS); /* the slice, and the rest of its last part */
    dispatch_on_lost(&dispatch, &eqs[0], in.now_us);
    job_forget(&jobs[0]);
    end_job(&jobs[0]);
    add_answer(&jobs[1], PRIORITY_INTERACTIVE, &eqs[1]);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 3 * MS);
    pass(3 * MS);
    expect(DISPATCH_STEP);
    pass(2000 * MS); /* it hangs: that is no processor time */
    dispatch_on_lost(&dispatch, &eqs[1], in.now_us);
    add_answer(&jobs[0], PRIORITY_INTERACTIVE, &eqs[0]);
    expect(DISPATCH_NONE);
    ck_assert_uint_eq(order.wake_us, in.now_us + 4 * MS);
}
END_TEST

/* A small model on a busy machine: two thousand times as long on its way as on its processor. */
START_TEST(a_step_that_hardly_holds_its_processor_goes_on)
{
    struct job job;
    struct dispatch_step *step;

    add_answer(&job, PRIORITY_INTERACTIVE, &eqs[0]);
    for (uint32_t i = 0; i < 5; i++) {
        step = expect(DISPATCH_STEP);
        pass(10 * MS);
        dispatch_on_done(&dispatch, step->eq, step->id, 5, in.now_us);
        job.n_done++;
        job.n_known++;
    }
}
END_TEST

/* Runs a step in slices that wait as long for frames as they hold the processor. */
static void meet_frames(struct job *job)
{
    add_answer(job, PRIORITY_INTERACTIVE, &eqs[0]);
    bound(2 * MS, 500);
    for (uint32_t i = 0; i < 8; i++) {
        struct dispatch_step *step = expect(i == 0 ? DISPATCH_STEP : DISPATCH_CONTINUE);

        pass(4 * MS);
        ck_assert(dispatch_on_suspended(&dispatch, step->eq, step->id, 2 * MS, in.now_us));
        pass(2 * MS);
    }
}

static uint32_t effective_permille(void)
{
    struct governor_limits limits[PROCESSOR_COUNT];

    dispatch_effective_limits(&dispatch, in.limits, limits);
    return limits[PROCESSOR_CPU].duty_permille;
}

START_TEST(slices_that_wait_for_frames_achieve_less_than_the_duty)
{
    struct job job;

    meet_frames(&job);

    ck_assert_uint_eq(effective_permille(), 333); /* 2 of 4 + 2 ms */
}
END_TEST

START_TEST(what_steps_of_a_lost_engine_achieved_is_forgotten)
{
    struct job job;

    meet_frames(&job);
    dispatch_on_lost(&dispatch, &eqs[0], in.now_us);

    ck_assert_uint_eq(effective_permille(), 500);
}
END_TEST

START_TEST(what_steps_achieved_beside_a_screen_is_forgotten_with_it)
{
    struct job job;

    meet_frames(&job);
    bound(0, 1000);
    expect(DISPATCH_CONTINUE);

    ck_assert_uint_eq(effective_permille(), 1000);
}
END_TEST

int main(void)
{
    const TTest *const facts[] = {
        a_slice_is_followed_by_the_rest_that_duty_asks_for,
        an_engine_is_believed_no_more_than_the_clock,
        a_slice_that_waited_rests_by_what_it_held,
        duty_holds_for_the_sum_of_all_engines,
        rest_follows_a_duty_that_changes,
        a_busy_screen_does_not_make_the_cores_rest,
        heat_makes_both_processors_rest_for_a_slice_on_one,
        a_bound_that_comes_stops_what_runs_without,
        a_tighter_slice_reaches_a_step_with_a_longer_one,
        the_class_gate_suspends_what_is_below_and_lets_it_go_on_later,
        a_step_whose_requests_ended_passes_the_gate,
        a_paused_processor_stops_every_class_and_sleep_both_processors,
        work_does_not_wait_for_a_mode_that_dwells,
        what_a_lost_engine_held_is_rested_for,
        a_step_that_hardly_holds_its_processor_goes_on,
        slices_that_wait_for_frames_achieve_less_than_the_duty,
        what_steps_of_a_lost_engine_achieved_is_forgotten,
        what_steps_achieved_beside_a_screen_is_forgotten_with_it,
    };

    return run_facts("sched-dispatch-bounds", facts, sizeof(facts) / sizeof(facts[0]));
}
