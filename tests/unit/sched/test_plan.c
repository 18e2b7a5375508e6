/* The content of a step, and a small simulation in which every job moves and shares follow weights. */
#include "plan_fixture.h"

/* Runs the plan as an engine would, in the estimated time. */
static void run_plan(void)
{
    in.now_us += (uint64_t)(plan.estimated_ns / 1000.0);
    in.boot_us = in.now_us;
    for (uint32_t i = 0; i < plan.n_entries; i++) {
        struct job *job = plan.entries[i].job;
        uint32_t n = plan.entries[i].n_prefill ? plan.entries[i].n_prefill : 1;

        job->n_done += n;
        job->n_known += job->n_done == job->n_known;
        queue_charge(&queue, job, n, 0, in.now_us, in.boot_us);
    }
}

START_TEST(a_first_token_takes_the_short_rest_of_its_prompt_along)
{
    struct job high;

    add_assigned(&high, alice, PRIORITY_REALTIME, 45); /* 39 fit into 50 ms; one more step would cost 10 */
    plan_make(&planner, &queue, &in, &plan);
    ck_assert_uint_eq(rows_of(&high), 45);
    high.n_prompt = high.n_known = 51; /* 11 would take longer than that */
    plan_make(&planner, &queue, &in, &plan);
    ck_assert_uint_eq(rows_of(&high), 39);
    high.n_prompt = high.n_known = 45;
    high.has_first = true;
    plan_make(&planner, &queue, &in, &plan);
    ck_assert_uint_eq(rows_of(&high), 39);
}
END_TEST

START_TEST(nothing_to_do_is_an_idle_plan)
{
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_ptr_null(plan.eq);
    ck_assert_uint_eq(plan.wake_us, 0);
}
END_TEST

START_TEST(a_step_takes_every_answer_and_fills_up_with_a_prompt)
{
    struct job answers[8];
    struct job prompt;

    for (size_t i = 0; i < 8; i++) {
        add_answering(&answers[i], alice, PRIORITY_INTERACTIVE);
    }
    add_assigned(&prompt, bob, PRIORITY_INTERACTIVE, 1000);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_eq(plan.n_entries, 9);
    /* 50 ms less 10 for the weights and 0.8 for answers: some 39 rows. */
    ck_assert_uint_ge(rows_of(&prompt), 36);
    ck_assert_uint_le(rows_of(&prompt), 39);
    ck_assert_double_le(plan.estimated_ns, PLAN_STEP_US * 1000.0);
}
END_TEST

START_TEST(a_lone_answer_drafts_and_many_do_not)
{
    struct job answers[8];

    eq.n_drafts = 7;
    add_answering(&answers[0], alice, PRIORITY_INTERACTIVE);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_eq(plan.n_entries, 1);
    ck_assert_uint_ge(plan.entries[0].n_drafts, 3); /* 10 ms for the weights, 0.1 for a row */
    ck_assert_uint_eq(plan.n_rows, 1 + plan.entries[0].n_drafts);
    ck_assert_uint_eq(plan.load.n[COST_DECODE_ROW], plan.n_rows);
    ck_assert_double_le(plan.estimated_ns, PLAN_STEP_US * 1000.0);

    eq.cost.ns[COST_DECODE_ROW] = eq.cost.ns[COST_FIXED];
    for (size_t i = 1; i < 8; i++) {
        add_answering(&answers[i], alice, PRIORITY_INTERACTIVE);
    }
    plan_make(&planner, &queue, &in, &plan);
    for (uint32_t i = 0; i < plan.n_entries; i++) {
        ck_assert_uint_eq(plan.entries[i].n_drafts, 0);
    }
}
END_TEST

START_TEST(a_prompt_moves_however_many_answers_run)
{
    struct job answers[128];
    struct job prompt;

    for (size_t i = 0; i < 128; i++) {
        add_answering(&answers[i], alice, PRIORITY_REALTIME);
    }
    add_assigned(&prompt, bob, PRIORITY_BACKGROUND, 1000);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_eq(rows_of(&prompt), PLAN_PIECE_ROWS);
    ck_assert_uint_eq(plan.n_rows, 128);
}
END_TEST

START_TEST(the_last_piece_is_no_larger_than_the_prompt)
{
    struct job prompt;

    add_assigned(&prompt, bob, PRIORITY_BACKGROUND, 5);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_eq(rows_of(&prompt), 5);
}
END_TEST

START_TEST(a_higher_class_prompt_takes_what_is_left_before_a_lower_one)
{
    struct job low;
    struct job high;

    add_assigned(&low, alice, PRIORITY_BACKGROUND, 1000);
    add_assigned(&high, bob, PRIORITY_REALTIME, 1000);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_uint_ge(rows_of(&high), 38);
    ck_assert_uint_le(rows_of(&low), 1);
}
END_TEST

START_TEST(a_parked_job_is_in_no_step)
{
    struct job job;

    add_answering(&job, alice, PRIORITY_REALTIME);
    job.parked = true;
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_ptr_null(plan.eq);
}
END_TEST

START_TEST(a_job_out_of_budget_wakes_the_plan_later)
{
    struct job job;

    add_answering(&job, alice, PRIORITY_REALTIME);
    job.limits.tokens_a_minute = 60;
    account_spend(alice, 60, 60, 0);
    plan_make(&planner, &queue, &in, &plan);

    ck_assert_ptr_null(plan.eq);
    ck_assert_uint_eq(plan.wake_us, 1000000);
}
END_TEST

START_TEST(a_suspect_has_every_other_step_to_itself)
{
    struct job suspect;
    struct job others[2];

    add_answering(&suspect, alice, PRIORITY_INTERACTIVE);
    suspect.alone = true;
    add_answering(&others[0], bob, PRIORITY_INTERACTIVE);
    add_answering(&others[1], bob, PRIORITY_INTERACTIVE);

    for (int i = 0; i < 6; i++) {
        plan_make(&planner, &queue, &in, &plan);
        ck_assert_int_eq(plan.alone, i % 2 == 0);
        ck_assert_uint_eq(plan.n_entries, plan.alone ? 1 : 2);
        ck_assert_uint_eq(rows_of(&suspect), plan.alone);
        run_plan();
    }
}
END_TEST

START_TEST(two_suspects_never_share_a_step)
{
    struct job suspects[2];

    for (size_t i = 0; i < 2; i++) {
        add_answering(&suspects[i], i ? bob : alice, PRIORITY_INTERACTIVE);
        suspects[i].alone = true;
    }

    for (int i = 0; i < 8; i++) {
        plan_make(&planner, &queue, &in, &plan);
        ck_assert_uint_eq(plan.n_entries, 1);
        run_plan();
    }
    ck_assert_uint_eq(suspects[0].n_done, suspects[1].n_done);
}
END_TEST

START_TEST(two_models_alternate)
{
    struct engine_queue other = eq;
    struct job here;
    struct job there;

    add_answering(&here, alice, PRIORITY_INTERACTIVE);
    add_answering(&there, alice, PRIORITY_INTERACTIVE);
    there.eq = &other;

    for (int i = 0; i < 10; i++) {
        plan_make(&planner, &queue, &in, &plan);
        ck_assert_uint_eq(plan.n_entries, 1);
        run_plan();
    }
    ck_assert_uint_eq(here.n_done, there.n_done);
}
END_TEST

START_TEST(background_moves_under_endless_realtime_prompts)
{
    struct job low;
    struct job high;
    uint64_t last_us = 0;
    uint64_t gap_us = 0;

    eq.n_rows = 8; /* too narrow for both */
    add_answering(&low, alice, PRIORITY_BACKGROUND);
    add_assigned(&high, bob, PRIORITY_REALTIME, 1000000);
    for (int i = 0; i < 1000; i++) {
        plan_make(&planner, &queue, &in, &plan);
        run_plan();
        if (rows_of(&low)) {
            gap_us = in.now_us - last_us > gap_us ? in.now_us - last_us : gap_us;
            last_us = in.now_us;
        }
    }

    ck_assert_uint_gt(low.n_done, 11);
    ck_assert_uint_lt(gap_us, 2 * QUEUE_AGE_ASSIGNED_US + 200000);
}
END_TEST

START_TEST(shares_of_prompts_follow_weights)
{
    struct job heavy;
    struct job light;

    add_assigned(&heavy, alice, PRIORITY_INTERACTIVE, 1000000);
    add_assigned(&light, bob, PRIORITY_INTERACTIVE, 1000000);
    heavy.limits.weight = 3000;
    light.limits.weight = 1000;
    for (int i = 0; i < 2000; i++) {
        plan_make(&planner, &queue, &in, &plan);
        run_plan();
    }

    ck_assert_double_eq_tol((double)heavy.n_done / light.n_done, 3.0, 0.3);
}
END_TEST

#define N_MIXED 40u

static uint64_t draw(uint64_t *seed)
{
    /* splitmix64 */
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void check_step(uint64_t seed)
{
    uint32_t n_rows = 0;
    uint32_t n_alone = 0;

    for (uint32_t i = 0; i < plan.n_entries; i++) {
        const struct job *job = plan.entries[i].job;
        uint32_t n = plan.entries[i].n_prefill;

        ck_assert_msg(job->eq == plan.eq && !job->parked && job->state == JOB_ASSIGNED, "seed %lu", seed);
        ck_assert_msg(n <= job->n_known - job->n_done && (n > 0) == !job_decodes(job), "seed %lu", seed);
        for (uint32_t k = 0; k < i; k++) {
            ck_assert_msg(plan.entries[k].job != job, "seed %lu: a job stands twice", seed);
        }
        n_rows += n ? n : 1;
        n_alone += job->alone;
    }
    ck_assert_msg(plan.n_entries > 0 && n_rows == plan.n_rows && n_rows <= plan.eq->n_rows, "seed %lu", seed);
    ck_assert_msg(n_alone == plan.alone && (!plan.alone || plan.n_entries == 1), "seed %lu: a suspect in company",
                  seed);
}

/* Runs a mixture of classes, accounts, prompts, suspects and two engines, until all of it is done. */
static void run_mixture(uint64_t seed)
{
    struct job jobs[N_MIXED];
    struct engine_queue eqs[2] = { eq, eq };
    uint64_t state = seed;
    uint32_t n_left = N_MIXED;

    eqs[0].n_rows = 1 + (uint32_t)(draw(&state) % 64);
    for (uint32_t i = 0; i < N_MIXED; i++) {
        add_assigned(&jobs[i], draw(&state) % 2 ? alice : bob, (enum priority)(draw(&state) % PRIORITY_COUNT),
                     1 + (uint32_t)(draw(&state) % 300));
        jobs[i].eq = &eqs[draw(&state) % 2];
        jobs[i].alone = draw(&state) % 8 == 0;
        jobs[i].limits.weight = 500 + (uint32_t)(draw(&state) % 2000);
    }
    for (uint32_t step = 0; n_left > 0; step++) {
        ck_assert_msg(step < 20000, "seed %lu: a job starves", seed);
        plan_make(&planner, &queue, &in, &plan);
        check_step(seed);
        run_plan();
        for (uint32_t i = 0; i < N_MIXED; i++) {
            if (jobs[i].state == JOB_ASSIGNED && jobs[i].n_known >= jobs[i].n_prompt + 20) {
                queue_remove(&queue, &jobs[i], in.now_us);
                n_left--;
            }
        }
    }
}

START_TEST(any_mixture_keeps_the_rules_and_gets_done)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        run_mixture(seed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-plan");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_first_token_takes_the_short_rest_of_its_prompt_along);
    tcase_add_test(tcase, nothing_to_do_is_an_idle_plan);
    tcase_add_test(tcase, a_step_takes_every_answer_and_fills_up_with_a_prompt);
    tcase_add_test(tcase, a_lone_answer_drafts_and_many_do_not);
    tcase_add_test(tcase, a_prompt_moves_however_many_answers_run);
    tcase_add_test(tcase, the_last_piece_is_no_larger_than_the_prompt);
    tcase_add_test(tcase, a_higher_class_prompt_takes_what_is_left_before_a_lower_one);
    tcase_add_test(tcase, a_parked_job_is_in_no_step);
    tcase_add_test(tcase, a_job_out_of_budget_wakes_the_plan_later);
    tcase_add_test(tcase, a_suspect_has_every_other_step_to_itself);
    tcase_add_test(tcase, two_suspects_never_share_a_step);
    tcase_add_test(tcase, two_models_alternate);
    tcase_add_test(tcase, background_moves_under_endless_realtime_prompts);
    tcase_add_test(tcase, shares_of_prompts_follow_weights);
    tcase_add_test(tcase, any_mixture_keeps_the_rules_and_gets_done);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
