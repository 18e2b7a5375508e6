/* Two sources of one measurement, on as many threads. */
#include "failed_alloc.h"
#include "load/pair.h"
#include "unit.h"
#include <pthread.h>

#define MS 1000ull

/* A measurement that counts how often it was made. */
struct body {
    int64_t n_measured;
    bool is_gone;
};

static struct body body;
static struct source *graphics;
static struct source *compute;
static struct reading reading;

static void measure(void *owner, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute)
{
    struct body *counted = owner;

    counted->n_measured++;
    reading_set(ret_graphics, counted->n_measured, now_us);
    reading_set(ret_compute, -counted->n_measured, now_us);
}

static void destroy(void *owner)
{
    struct body *counted = owner;

    counted->is_gone = true;
}

static const struct pair_table table = { .kind = "counted", .measure = measure, .destroy = destroy };

static void make(void)
{
    body = (struct body){ 0 };
    ck_assert_int_eq(pair_open(&graphics, &compute, &table, &body), 0);
    graphics->slow_ms = 50;
    compute->slow_ms = 50;
}

static void end(void)
{
    source_destroy(graphics);
    source_destroy(compute);
}

static int64_t look(struct source *source, uint64_t now_us)
{
    source_read(source, now_us, &reading);
    return reading.value;
}

START_TEST(second_source_returns_the_measurement_of_the_first)
{
    ck_assert_int_eq(look(graphics, 1000 * MS), 1);
    ck_assert_int_eq(look(compute, 1010 * MS), -1);
    ck_assert_uint_eq(reading.at_us, 1000 * MS);
    ck_assert_int_eq(look(compute, 1050 * MS), -2);
    ck_assert_int_eq(look(graphics, 1050 * MS), 2);
    ck_assert_int_eq(body.n_measured, 2);
}
END_TEST

START_TEST(measurement_older_than_a_period_is_repeated)
{
    look(graphics, 1000 * MS);

    ck_assert_int_eq(look(compute, 1050 * MS), -2);
}
END_TEST

START_TEST(source_that_is_read_alone_measures_each_time)
{
    look(graphics, 1000 * MS);

    ck_assert_int_eq(look(graphics, 1010 * MS), 2);
}
END_TEST

START_TEST(quantities_and_kind_are_set)
{
    ck_assert_int_eq(graphics->quantity, READING_GRAPHICS_LOAD);
    ck_assert_int_eq(compute->quantity, READING_COMPUTE_LOAD);
    ck_assert_str_eq(graphics->table->kind, "counted");
    ck_assert(!graphics->table->clients);
    ck_assert_ptr_eq(pair_body(compute), &body);
}
END_TEST

START_TEST(body_goes_with_the_last_of_the_two)
{
    source_destroy(compute);
    compute = NULL;
    ck_assert(!body.is_gone);
    ck_assert_int_eq(look(graphics, 1000 * MS), 1);

    source_destroy(graphics);
    graphics = NULL;

    ck_assert(body.is_gone);
}
END_TEST

static void *read_often(void *source)
{
    struct reading mine;

    for (uint64_t i = 1; i <= 2000; i++) {
        source_read(source, i * 50 * MS, &mine);
    }
    return NULL;
}

START_TEST(two_threads_measure_one_after_the_other)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, read_often, compute), 0);
    read_often(graphics);
    pthread_join(thread, NULL);

    ck_assert_int_ge(body.n_measured, 2000);
    ck_assert_int_le(body.n_measured, 4000);
}
END_TEST

static int open_once(void *data)
{
    int r = pair_open(&graphics, &compute, &table, &body);

    if (!r) {
        source_destroy(graphics);
        source_destroy(compute);
    }
    graphics = NULL;
    compute = NULL;
    ck_assert(body.is_gone == !r);
    body.is_gone = false;
    return r;
}

START_TEST(want_of_memory_destroys_the_body)
{
    end();
    body.is_gone = false;

    for_each_failed_alloc(open_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pair");
    TCase *tcase = tcase_create("pair");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, second_source_returns_the_measurement_of_the_first);
    tcase_add_test(tcase, measurement_older_than_a_period_is_repeated);
    tcase_add_test(tcase, source_that_is_read_alone_measures_each_time);
    tcase_add_test(tcase, quantities_and_kind_are_set);
    tcase_add_test(tcase, body_goes_with_the_last_of_the_two);
    tcase_add_test(tcase, two_threads_measure_one_after_the_other);
    tcase_add_test(tcase, want_of_memory_destroys_the_body);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
