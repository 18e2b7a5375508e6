/* Several compositors, one governor. */
#include "machine/compositor.h"
#include "unit.h"

#define S UINT64_C(1000000)

static struct list all;
static struct compositor one;
static struct compositor two;
static struct governor_input input;

static void setup(void)
{
    list_init(&all);
    one = (struct compositor){ 0 };
    two = (struct compositor){ 0 };
    list_append(&all, &one.link);
    list_append(&all, &two.link);
}

static void say(struct compositor *compositor, uint64_t now_us, uint32_t frame_us, uint32_t busy_us)
{
    Sotto__V1__GraphicsHint hint = SOTTO__V1__GRAPHICS_HINT__INIT;

    if (frame_us) {
        hint.opt_frame_budget_us_case = SOTTO__V1__GRAPHICS_HINT__OPT_FRAME_BUDGET_US_FRAME_BUDGET_US;
        hint.frame_budget_us = frame_us;
    }
    hint.busy_for_us = busy_us;
    compositor_take(compositor, &hint, now_us);
}

START_TEST(without_compositors_there_is_no_hint)
{
    list_init(&all);

    compositors_fill(&all, 10 * S, &input);

    ck_assert_uint_eq(input.hint.at_us, 0);
    ck_assert_uint_eq(input.hint.frame_us, 0);
    ck_assert_uint_eq(input.hint.busy_until_us, 0);
}
END_TEST

START_TEST(the_least_frame_budget_counts)
{
    say(&one, 10 * S, 8333, 0);
    say(&two, 10 * S, 16667, 0);

    compositors_fill(&all, 10 * S, &input);

    ck_assert_uint_eq(input.hint.frame_us, 8333);
}
END_TEST

START_TEST(the_latest_end_of_hard_drawing_counts)
{
    say(&one, 10 * S, 0, 500000);
    say(&two, 10 * S, 0, 100000);

    compositors_fill(&all, 10 * S, &input);

    ck_assert_uint_eq(input.hint.busy_until_us, 10 * S + 500000);
}
END_TEST

START_TEST(a_compositor_that_is_done_drawing_ends_its_own_hint_only)
{
    say(&one, 10 * S, 0, 500000);
    say(&two, 10 * S, 0, 900000);
    say(&two, 11 * S, 0, 0);

    compositors_fill(&all, 11 * S, &input);

    ck_assert_uint_eq(input.hint.at_us, 11 * S);
    ck_assert_uint_eq(input.hint.busy_until_us, 10 * S + 500000);
}
END_TEST

START_TEST(a_frame_budget_is_forgotten_by_itself)
{
    say(&one, 10 * S, 8333, 0);
    say(&two, 10 * S + 500000, 16667, 0);

    compositors_fill(&all, 11 * S, &input);
    ck_assert_uint_eq(input.hint.frame_us, 16667);
    compositors_fill(&all, 12 * S, &input);
    ck_assert_uint_eq(input.hint.frame_us, 0);
}
END_TEST

START_TEST(a_hint_without_a_budget_leaves_the_last_one_and_does_not_renew_it)
{
    say(&one, 10 * S, 8333, 0);
    say(&one, 10 * S + 900000, 0, 0);

    compositors_fill(&all, 10 * S + 950000, &input);
    ck_assert_uint_eq(input.hint.frame_us, 8333);
    compositors_fill(&all, 11 * S, &input);
    ck_assert_uint_eq(input.hint.frame_us, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine-compositor");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, NULL);
    tcase_add_test(facts, without_compositors_there_is_no_hint);
    tcase_add_test(facts, the_least_frame_budget_counts);
    tcase_add_test(facts, the_latest_end_of_hard_drawing_counts);
    tcase_add_test(facts, a_compositor_that_is_done_drawing_ends_its_own_hint_only);
    tcase_add_test(facts, a_frame_budget_is_forgotten_by_itself);
    tcase_add_test(facts, a_hint_without_a_budget_leaves_the_last_one_and_does_not_renew_it);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
