/* An alarm rings once, at its time, by the clock that also runs during sleep. */
#include "base/clock.h"
#include "loop/alarm.h"
#include "unit.h"

struct watch {
    struct alarm alarm;
    uint32_t n_rings;
    uint64_t rang_us;
    bool is_closed;
};

static uv_loop_t loop;
static struct watch watch;

static void on_ring(void *owner)
{
    struct watch *at = owner;

    at->n_rings++;
    at->rang_us = clock_boot_us();
}

static void on_closed(void *owner)
{
    ((struct watch *)owner)->is_closed = true;
}

static void setup(void)
{
    watch = (struct watch){ 0 };
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(alarm_open(&watch.alarm), 0);
    alarm_start(&watch.alarm, &loop, on_ring, &watch);
}

static void teardown(void)
{
    alarm_close(&watch.alarm, on_closed, &watch);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(watch.is_closed);
    ck_assert_int_eq(watch.alarm.fd, -1);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
}

static void run(uint32_t ms)
{
    uint64_t end_us = clock_mono_us() + ms * 1000ull;

    while (clock_mono_us() < end_us) {
        uv_run(&loop, UV_RUN_NOWAIT);
    }
}

START_TEST(it_rings_once_and_not_before_its_time)
{
    uint64_t at_us = clock_boot_us() + 2500;

    alarm_set(&watch.alarm, at_us);
    run(30);
    ck_assert_uint_eq(watch.n_rings, 1);
    ck_assert_uint_ge(watch.rang_us, at_us);
    ck_assert_uint_lt(watch.rang_us, at_us + 20000);
}
END_TEST

START_TEST(a_time_that_is_past_rings_at_once)
{
    alarm_set(&watch.alarm, clock_boot_us() - 1000);
    run(5);
    ck_assert_uint_eq(watch.n_rings, 1);
}
END_TEST

START_TEST(it_can_be_set_anew_and_taken_back)
{
    uint64_t now_us = clock_boot_us();

    alarm_set(&watch.alarm, now_us + 5000);
    alarm_set(&watch.alarm, now_us + 20000);
    run(12);
    ck_assert_uint_eq(watch.n_rings, 0);
    alarm_set(&watch.alarm, 0);
    run(20);
    ck_assert_uint_eq(watch.n_rings, 0);
    alarm_set(&watch.alarm, clock_boot_us() + 1000);
    run(10);
    ck_assert_uint_eq(watch.n_rings, 1);
}
END_TEST

START_TEST(an_alarm_that_was_never_started_is_dropped)
{
    struct alarm other = { .fd = -1 };

    alarm_drop(&other);
    ck_assert_int_eq(alarm_open(&other), 0);
    alarm_drop(&other);
    ck_assert_int_eq(other.fd, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop-alarm");
    TCase *tcase = tcase_create("all");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, it_rings_once_and_not_before_its_time);
    tcase_add_test(tcase, a_time_that_is_past_rings_at_once);
    tcase_add_test(tcase, it_can_be_set_anew_and_taken_back);
    tcase_add_test(tcase, an_alarm_that_was_never_started_is_dropped);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
