/* The counters of a job while steps are in progress. */
#include "sched/queue.h"
#include "unit.h"

static struct engine_queue eq;
static struct account account;
static struct job job;

static void setup(void)
{
    eq = (struct engine_queue){ .n_slots = 4, .n_rows = 64, .page_tokens = 16, .n_pages = 100, .open = true };
    account = (struct account){ .uid = 1 };
    job = (struct job){
        .account = &account,
        .eq = &eq,
        .priority = PRIORITY_INTERACTIVE,
        .n_prompt = 10,
        .n_known = 10,
        .n_left = JOB_NO_END,
    };
}

START_TEST(a_prompt_has_its_rows_left)
{
    ck_assert_uint_eq(job_rows_left(&job), 10);
    ck_assert(!job_decodes(&job));
    job_send(&job, 4, 0, 0);

    ck_assert_uint_eq(job_rows_left(&job), 6);
    ck_assert(!job_decodes(&job));
}
END_TEST

START_TEST(behind_the_last_piece_of_a_prompt_comes_an_answer)
{
    job_send(&job, 10, 1, 0);

    ck_assert_uint_eq(job_rows_left(&job), 1);
    ck_assert(job_decodes(&job));
}
END_TEST

START_TEST(the_last_row_of_a_prompt_is_no_answer)
{
    job.n_done = 9;

    ck_assert_uint_eq(job_rows_left(&job), 1);
    ck_assert(!job_decodes(&job));
}
END_TEST

START_TEST(no_more_than_two_steps_name_it)
{
    job_send(&job, 2, 0, 0);
    ck_assert(job_may_step(&job));
    job_send(&job, 2, 0, 0);

    ck_assert(!job_may_step(&job));
    job_settle(&job, 2, 0, 0);
    ck_assert(job_may_step(&job));
}
END_TEST

START_TEST(nothing_is_planned_past_its_last_token)
{
    job.n_left = 1;
    job_send(&job, 10, 1, 0);

    ck_assert(!job_may_step(&job));
    job.n_left = 2;
    ck_assert(job_may_step(&job));
}
END_TEST

START_TEST(a_withdrawn_step_leaves_no_trace)
{
    job_send(&job, 4, 0, 0);
    job_send(&job, 6, 1, 0);
    job_settle(&job, 6, 1, 0);
    job_settle(&job, 4, 0, 0);

    ck_assert_uint_eq(job_rows_left(&job), 10);
    ck_assert_uint_eq(job.n_due, 0);
    ck_assert_uint_eq(account.ahead[PRIORITY_INTERACTIVE], 0);
}
END_TEST

START_TEST(what_is_under_way_counts_as_served)
{
    job_send(&job, 4, 0, 0);

    ck_assert_uint_eq(job_start(&job), 4 * ACCOUNT_TOKEN / ACCOUNT_WEIGHT_USUAL);
    job_forget(&job);
    ck_assert_uint_eq(job_start(&job), 0);
}
END_TEST

START_TEST(a_slot_holds_its_pages)
{
    job.state = JOB_WAITING;
    job_move(&job, JOB_OPENING, 0);
    job.n_pages = 7;
    ck_assert_uint_eq(eq.n_held[PRIORITY_INTERACTIVE], 1);
    ck_assert_uint_eq(eq.n_pages_promised, 0);
    job_move(&job, JOB_ASSIGNED, 0);
    ck_assert_uint_eq(eq.n_pages_promised, 7);
    job_move(&job, JOB_WAITING, 0);

    ck_assert_uint_eq(eq.n_pages_promised, 0);
    ck_assert_uint_eq(eq.n_held[PRIORITY_INTERACTIVE], 0);
    ck_assert_uint_eq(account.n_held[PRIORITY_INTERACTIVE], 0);
}
END_TEST

START_TEST(tokens_left_are_the_lesser_of_credit_and_longest_answer)
{
    ck_assert_uint_eq(job_tokens_left(&job), JOB_NO_END);
    job.n_most = 30;
    ck_assert_uint_eq(job_tokens_left(&job), 20);
    job.n_left = 0; /* not set yet */
    ck_assert_uint_eq(job_tokens_left(&job), 20);
    job.n_left = 5;
    ck_assert_uint_eq(job_tokens_left(&job), 5);
    job.n_known = 40;

    ck_assert_uint_eq(job_tokens_left(&job), 0);
}
END_TEST

START_TEST(tokens_behind_slides_are_left_too)
{
    job.n_most = 30;
    job.n_left = 20;
    job.n_beyond = 300;
    ck_assert_uint_eq(job_tokens_left(&job), 320);
    job.n_beyond = UINT32_MAX;

    ck_assert_uint_eq(job_tokens_left(&job), JOB_NO_END - 1);
}
END_TEST

START_TEST(drafts_are_as_many_as_pay)
{
    job.n_known = 20;
    job.n_left = 100;
    ck_assert_uint_eq(job_drafts(&job, 10.0, 10.0, 7), 0); /* rows are all that a step costs */
    ck_assert_uint_eq(job_drafts(&job, 10.0, 19.0, 7), 0); /* half of the first drafts are right */
    ck_assert_uint_eq(job_drafts(&job, 10.0, 21.0, 7), 1); /* and a quarter of the second ones */
    ck_assert_uint_eq(job_drafts(&job, 10.0, 41.0, 7), 2);
    ck_assert_uint_eq(job_drafts(&job, 10.0, 10000.0, 7), 7);
    ck_assert_uint_eq(job_drafts(&job, 10.0, 10000.0, 0), 0);
}
END_TEST

START_TEST(drafts_never_go_past_the_last_token)
{
    job.n_known = 20;
    job.n_done = 19;
    job.n_left = 5;
    ck_assert_uint_eq(job_drafts(&job, 1.0, 1e6, 7), 4);
    job_send(&job, 1, 1, 2);
    ck_assert_uint_eq(job_drafts(&job, 1.0, 1e6, 7), 1);
    ck_assert(job_may_step(&job));
    job_send(&job, 1, 1, 1);
    ck_assert_uint_eq(job.n_due + job.n_drafts, 5);
    job_settle(&job, 1, 1, 2);
    ck_assert_uint_eq(job_drafts(&job, 1.0, 1e6, 7), 2);
    job.n_left = 2;
    ck_assert(!job_may_step(&job));
    job_forget(&job);
    ck_assert_uint_eq(job.n_drafts, 0);
}
END_TEST

START_TEST(wrong_drafts_stop_drafting_and_time_begins_it_again)
{
    uint32_t n = 0;

    job.n_left = 100;
    for (int i = 0; i < 10; i++) {
        job_drafted(&job, 0, 3);
    }
    ck_assert_uint_eq(job_drafts(&job, 10.0, 40.0, 7), 0);
    while (job_drafts(&job, 10.0, 40.0, 7) == 0 && n < 1000) {
        job_drafted(&job, 0, 0);
        n++;
    }
    ck_assert_uint_ge(n, 10);
    ck_assert_uint_lt(n, 200);
    for (int i = 0; i < 10; i++) {
        job_drafted(&job, 7, 0);
    }
    ck_assert_uint_eq(job_drafts(&job, 10.0, 40.0, 7), 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched-job");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, a_prompt_has_its_rows_left);
    tcase_add_test(tcase, behind_the_last_piece_of_a_prompt_comes_an_answer);
    tcase_add_test(tcase, the_last_row_of_a_prompt_is_no_answer);
    tcase_add_test(tcase, no_more_than_two_steps_name_it);
    tcase_add_test(tcase, nothing_is_planned_past_its_last_token);
    tcase_add_test(tcase, a_withdrawn_step_leaves_no_trace);
    tcase_add_test(tcase, what_is_under_way_counts_as_served);
    tcase_add_test(tcase, a_slot_holds_its_pages);
    tcase_add_test(tcase, tokens_left_are_the_lesser_of_credit_and_longest_answer);
    tcase_add_test(tcase, tokens_behind_slides_are_left_too);
    tcase_add_test(tcase, drafts_are_as_many_as_pay);
    tcase_add_test(tcase, drafts_never_go_past_the_last_token);
    tcase_add_test(tcase, wrong_drafts_stop_drafting_and_time_begins_it_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
