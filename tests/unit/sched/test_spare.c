/* Slots and pages beside steps in progress: what is reserved for realtime, and which preemption helps. */
#include "base/num.h"
#include "dispatch_fixture.h"

#define N_SLOTS 4u
#define N_PAGES 100u

static struct job assigned[N_SLOTS];

/* Fills all slots of the first engine with background answers, which are in a running step. */
static struct dispatch_step *crowd(void)
{
    eqs[0].n_slots = N_SLOTS;
    for (size_t i = 0; i < N_SLOTS; i++) {
        add_answer(&assigned[i], PRIORITY_BACKGROUND, &eqs[0]);
    }
    return expect(DISPATCH_STEP);
}

static void add_waiting(struct job *job, enum priority priority, uint32_t n_prompt)
{
    *job = (struct job){
        .account = account, .priority = priority, .eq = &eqs[0], .n_prompt = n_prompt, .n_known = n_prompt
    };
    queue_add(&queue, job, in.now_us);
    queue_want(&queue, job, in.now_us);
}

/* Preempts as the dispatcher does. */
static void preempt(struct job *job)
{
    dispatch_leave(&dispatch, job);
    dispatch_forget(&dispatch, job);
    eqs[0].n_taken--;
    queue_preempt(&queue, job, in.now_us);
}

static void open_it(struct job *job, uint32_t n_pages)
{
    job_move(job, JOB_OPENING, in.now_us);
    eqs[0].n_taken++;
    job->n_pages = n_pages;
    job_move(job, JOB_ASSIGNED, in.now_us);
    job->n_left = 1000;
}

static struct job *victim(void)
{
    return queue_find_victim(&queue, in.limits, in.now_us, in.boot_us);
}

static struct job *next_slot(void)
{
    return queue_next_slot(&queue, in.limits, in.now_us, in.boot_us);
}

START_TEST(realtime_comes_in_before_the_step_of_the_preempted_job_has_ended)
{
    struct dispatch_step *step = crowd();
    struct job high;

    add_waiting(&high, PRIORITY_REALTIME, 5);
    preempt(victim());
    ck_assert_uint_eq(eqs[0].n_leaving, 1);
    ck_assert_ptr_eq(next_slot(), &high);
    open_it(&high, 0);
    ck_assert_ptr_eq(expect(DISPATCH_SUSPEND), step);
    stand(step, 1 * MS);

    ck_assert(has(expect(DISPATCH_STEP), &high));
}
END_TEST

START_TEST(other_classes_wait_for_the_slot_of_a_closing_sequence)
{
    struct dispatch_step *step = crowd();
    struct job middle;

    add_waiting(&middle, PRIORITY_INTERACTIVE, 5);
    preempt(victim());
    ck_assert_ptr_null(next_slot());
    finish(step, 10 * MS);

    ck_assert_ptr_eq(next_slot(), &middle);
}
END_TEST

START_TEST(there_is_one_sequence_more_than_slots_and_no_other)
{
    struct job high[2];

    crowd();
    add_waiting(&high[0], PRIORITY_REALTIME, 5);
    preempt(victim());
    open_it(next_slot(), 0);
    add_waiting(&high[1], PRIORITY_REALTIME, 5);

    ck_assert_ptr_null(victim()); /* what it freed would come with the end of the step */
    ck_assert_ptr_null(next_slot());
}
END_TEST

START_TEST(barge_in_does_not_wait_for_the_cut_off_answer)
{
    struct job high[2];

    eqs[0].n_slots = N_SLOTS;
    for (size_t i = 0; i < N_SLOTS - 1; i++) {
        add_answer(&assigned[i], PRIORITY_BACKGROUND, &eqs[0]);
    }
    add_answer(&high[0], PRIORITY_REALTIME, &eqs[0]);
    ck_assert(has(expect(DISPATCH_STEP), &high[0]));
    dispatch_leave(&dispatch, &high[0]);
    eqs[0].n_taken--;
    end_job(&high[0]);
    add_waiting(&high[1], PRIORITY_REALTIME, 5);

    ck_assert_ptr_null(victim());
    ck_assert_ptr_eq(next_slot(), &high[1]);
}
END_TEST

START_TEST(a_closing_sequence_holds_its_pages_until_then)
{
    struct dispatch_step *step;

    add_answer(&assigned[0], PRIORITY_BACKGROUND, &eqs[0]);
    assigned[0].n_pages = 7;
    step = expect(DISPATCH_STEP);
    dispatch_leave(&dispatch, &assigned[0]);
    ck_assert_uint_eq(eqs[0].n_pages_leaving, 7);
    dispatch_forget(&dispatch, &assigned[0]);
    finish(step, 10 * MS);

    ck_assert_uint_eq(eqs[0].n_pages_leaving, 0);
}
END_TEST

START_TEST(pages_that_realtime_needed_are_kept_free_of_lower_classes)
{
    struct job high;
    struct job low[2];

    eqs[0].n_pages = N_PAGES;
    add_waiting(&high, PRIORITY_REALTIME, 5);
    open_it(&high, 20);
    end_job(&high);
    eqs[0].n_taken--;
    add_waiting(&low[0], PRIORITY_BACKGROUND, 50 * 16);
    open_it(next_slot(), 50);
    add_waiting(&low[1], PRIORITY_BACKGROUND, 31 * 16);
    ck_assert_ptr_null(next_slot());
    low[1].n_known = 30 * 16;
    ck_assert_ptr_eq(next_slot(), &low[1]);
    low[1].n_known = 31 * 16;
    add_waiting(&high, PRIORITY_REALTIME, 50 * 16);

    ck_assert_ptr_eq(next_slot(), &high); /* not of realtime */
}
END_TEST

START_TEST(pages_of_those_being_opened_are_spoken_for)
{
    struct job high;
    struct job low[2];

    eqs[0].n_pages = N_PAGES;
    add_waiting(&high, PRIORITY_REALTIME, 5);
    open_it(&high, 20);
    end_job(&high);
    for (size_t i = 0; i < 2; i++) {
        add_waiting(&low[i], PRIORITY_BACKGROUND, 50 * 16);
    }
    job_move(next_slot(), JOB_OPENING, in.now_us);
    ck_assert_uint_eq(eqs[0].n_pages_asked, 50);

    ck_assert_ptr_null(next_slot());
    end_job(&low[0]);
    ck_assert_uint_eq(eqs[0].n_pages_asked, 0);
}
END_TEST

START_TEST(the_largest_job_has_its_pages_when_it_is_alone)
{
    struct job high;
    struct job low;

    eqs[0].n_pages = N_PAGES;
    add_waiting(&high, PRIORITY_REALTIME, 5);
    open_it(&high, 20);
    add_waiting(&low, PRIORITY_BACKGROUND, 90 * 16); /* 10 are left to reserve */
    ck_assert_ptr_null(next_slot());
    end_job(&high);
    eqs[0].n_taken--;

    ck_assert_ptr_eq(next_slot(), &low);
}
END_TEST

START_TEST(no_job_is_preempted_for_pages_that_the_last_of_its_class_will_keep)
{
    struct job high;
    struct job low[2];
    struct job middle;

    eqs[0].n_slots = N_SLOTS;
    eqs[0].n_pages = N_PAGES;
    add_waiting(&high, PRIORITY_REALTIME, 5);
    open_it(&high, 50);
    for (size_t i = 0; i < 2; i++) {
        add_waiting(&low[i], PRIORITY_BACKGROUND, 5);
        open_it(&low[i], 15);
    }
    add_waiting(&middle, PRIORITY_INTERACTIVE, 5);
    middle.n_pages = 25;
    ck_assert_ptr_null(victim()); /* 30 are lacking, with the reserve; one of two frees 15 */
    middle.n_pages = 10;

    ck_assert_ptr_nonnull(victim());
}
END_TEST

START_TEST(a_job_that_asks_again_is_not_passed_by_one_behind_a_job_without_room)
{
    struct job low[2];
    struct job middle[2];

    eqs[0].n_pages = N_PAGES;
    add_waiting(&low[0], PRIORITY_BACKGROUND, 5);
    open_it(&low[0], 10);
    add_waiting(&middle[0], PRIORITY_INTERACTIVE, 5);
    middle[0].n_pages = 20;
    job_move(&middle[0], JOB_OPENING, in.now_us); /* was refused before */
    eqs[0].no_room = true;
    add_waiting(&middle[1], PRIORITY_INTERACTIVE, 5);
    middle[1].n_pages = 110;
    add_waiting(&low[1], PRIORITY_BACKGROUND, 5);
    low[1].n_most = 5;

    ck_assert_ptr_null(next_slot());
}
END_TEST

START_TEST(a_job_that_has_computed_nothing_loses_nothing)
{
    struct dispatch_step *step;
    struct job low[2];
    struct job high[2];

    eqs[0].n_slots = 2;
    add_waiting(&low[0], PRIORITY_BACKGROUND, 40);
    open_it(&low[0], 0);
    step = expect(DISPATCH_STEP);
    for (uint32_t i = 0; i < 3; i++) {
        add_waiting(&low[1], PRIORITY_BACKGROUND, 40);
        open_it(&low[1], 0);
        add_waiting(&high[0], PRIORITY_INTERACTIVE, 5);
        ck_assert_ptr_eq(victim(), &low[1]); /* each time: it has not begun */
        preempt(&low[1]);
        ck_assert_uint_eq(low[1].n_preempted, 0);
        end_job(&low[1]);
        end_job(&high[0]);
    }
    add_waiting(&high[0], PRIORITY_REALTIME, 5);
    add_waiting(&high[1], PRIORITY_REALTIME, 5);
    open_it(&high[0], 0);
    ck_assert_ptr_eq(victim(), &low[0]);
    preempt(&low[0]);
    ck_assert_uint_eq(low[0].n_preempted, 1);
    ck_assert_ptr_nonnull(step);
}
END_TEST

START_TEST(what_realtime_needed_once_is_forgotten_after_64_others)
{
    struct job high;

    for (uint32_t i = 0; i <= 2 * ENGINE_QUEUE_SPARE_LAST; i++) {
        ck_assert_uint_eq(num_max(eqs[0].spare.n_pages, eqs[0].spare.n_pages_before), i == 0 ? 0 : 20);
        add_waiting(&high, PRIORITY_REALTIME, 5);
        open_it(&high, i == 0 ? 20 : 3);
        end_job(&high);
    }

    ck_assert_uint_eq(num_max(eqs[0].spare.n_pages, eqs[0].spare.n_pages_before), 3);
}
END_TEST

int main(void)
{
    const TTest *const facts[] = {
        realtime_comes_in_before_the_step_of_the_preempted_job_has_ended,
        other_classes_wait_for_the_slot_of_a_closing_sequence,
        there_is_one_sequence_more_than_slots_and_no_other,
        barge_in_does_not_wait_for_the_cut_off_answer,
        a_closing_sequence_holds_its_pages_until_then,
        pages_that_realtime_needed_are_kept_free_of_lower_classes,
        pages_of_those_being_opened_are_spoken_for,
        the_largest_job_has_its_pages_when_it_is_alone,
        no_job_is_preempted_for_pages_that_the_last_of_its_class_will_keep,
        a_job_that_asks_again_is_not_passed_by_one_behind_a_job_without_room,
        a_job_that_has_computed_nothing_loses_nothing,
        what_realtime_needed_once_is_forgotten_after_64_others,
    };

    return run_facts("sched-spare", facts, sizeof(facts) / sizeof(facts[0]));
}
