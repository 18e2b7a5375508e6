/*
 * An alarm rings once, at its time, by the clock that also runs during sleep.
 *
 * On a busy machine each line may take long, so these facts compare times that were recorded, and bound no time from
 * above. That an alarm is not late is read from the timer.
 */
#include "base/clock.h"
#include "loop/alarm.h"
#include "unit.h"
#include <sys/timerfd.h>

#define PATIENCE_US 60000000

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

static void run_until_it_rings(void)
{
    uint64_t end_us = clock_mono_us() + PATIENCE_US;

    while (watch.n_rings == 0) {
        ck_assert_msg(clock_mono_us() < end_us, "it has not rung for a minute");
        uv_run(&loop, UV_RUN_NOWAIT);
    }
}

/* Runs the loop until @at_us of the boot clock is past, and at least once after it. */
static void run_past(uint64_t at_us)
{
    bool is_past;

    do {
        is_past = clock_boot_us() > at_us;
        uv_run(&loop, UV_RUN_NOWAIT);
    } while (!is_past);
}

/* Microseconds until the timer expires; 0: it is not armed. */
static uint64_t left_us(void)
{
    struct itimerspec left;

    ck_assert_int_eq(timerfd_gettime(watch.alarm.fd, &left), 0);
    return (uint64_t)left.it_value.tv_sec * 1000000 + (uint64_t)left.it_value.tv_nsec / 1000;
}

START_TEST(it_rings_once_and_not_before_its_time)
{
    uint64_t at_us = clock_boot_us() + 2500;

    alarm_set(&watch.alarm, at_us);
    run_until_it_rings();
    ck_assert_uint_ge(watch.rang_us, at_us);
    run_past(clock_boot_us() + 10000);
    ck_assert_uint_eq(watch.n_rings, 1);
    ck_assert_uint_eq(left_us(), 0);
}
END_TEST

START_TEST(it_is_set_to_the_microsecond)
{
    uint64_t before_us = clock_boot_us();
    uint64_t at_us = before_us + 3600000000 + 777;
    uint64_t left;

    alarm_set(&watch.alarm, at_us);

    left = left_us();
    ck_assert_uint_le(left, at_us - before_us);
    ck_assert_uint_ge(left + 2, at_us - clock_boot_us()); /* each of the two clocks' readings is rounded down */
}
END_TEST

START_TEST(a_time_that_is_past_rings_at_once)
{
    alarm_set(&watch.alarm, clock_boot_us() - 1000);
    run_until_it_rings();
    ck_assert_uint_eq(watch.n_rings, 1);
}
END_TEST

START_TEST(it_can_be_set_to_a_later_time)
{
    uint64_t now_us = clock_boot_us();

    alarm_set(&watch.alarm, now_us + 5000);
    alarm_set(&watch.alarm, now_us + 20000);
    run_until_it_rings();
    ck_assert_uint_ge(watch.rang_us, now_us + 20000);
    ck_assert_uint_eq(watch.n_rings, 1);
}
END_TEST

START_TEST(an_alarm_that_was_taken_back_does_not_ring_and_can_be_set_again)
{
    uint64_t at_us = clock_boot_us() + 5000;

    alarm_set(&watch.alarm, at_us);
    alarm_set(&watch.alarm, 0);
    run_past(at_us + 10000);
    ck_assert_uint_eq(watch.n_rings, 0);
    alarm_set(&watch.alarm, clock_boot_us() + 1000);
    run_until_it_rings();
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
    unit_add(tcase, it_rings_once_and_not_before_its_time, it_is_set_to_the_microsecond,
             a_time_that_is_past_rings_at_once, it_can_be_set_to_a_later_time,
             an_alarm_that_was_taken_back_does_not_ring_and_can_be_set_again,
             an_alarm_that_was_never_started_is_dropped);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
