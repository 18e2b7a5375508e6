/* The ring keeps the newest events in order, whichever threads write. */
#include "base/clean.h"
#include "base/trace.h"
#include "unit.h"
#include <pthread.h>

static struct trace_event events[8192];

START_TEST(fresh_ring_is_empty)
{
    ck_assert_uint_eq(trace_copy(events, 10), 0);
}
END_TEST

START_TEST(events_come_oldest_first)
{
    trace_add(TRACE_STEP_SENT, 1, 10);
    trace_add(TRACE_STEP_DONE, 1, 20);

    ck_assert_uint_eq(trace_copy(events, 10), 2);
    ck_assert_int_eq(events[0].what, TRACE_STEP_SENT);
    ck_assert_uint_eq(events[1].b, 20);
    ck_assert_uint_ge(events[1].at_us, events[0].at_us);
}
END_TEST

START_TEST(small_copy_gives_the_newest)
{
    for (uint64_t i = 0; i < 100; i++) {
        trace_add(TRACE_TOKEN, i, 0);
    }

    ck_assert_uint_eq(trace_copy(events, 3), 3);
    ck_assert_uint_eq(events[0].a, 97);
    ck_assert_uint_eq(events[2].a, 99);
}
END_TEST

START_TEST(full_ring_forgets_the_oldest)
{
    size_t n;

    for (uint64_t i = 0; i < 10000; i++) {
        trace_add(TRACE_TOKEN, i, i);
    }
    n = trace_copy(events, COUNTOF(events));

    ck_assert_uint_eq(n, 4096);
    ck_assert_uint_eq(events[0].a, 10000 - 4096);
    ck_assert_uint_eq(events[n - 1].a, 9999);
}
END_TEST

static void *add_many(void *arg)
{
    for (uint64_t i = 0; i < 500; i++) {
        trace_add(TRACE_TOKEN, i, i);
    }
    return NULL;
}

START_TEST(events_of_several_threads_are_whole)
{
    pthread_t threads[4];
    size_t n;

    for (size_t i = 0; i < COUNTOF(threads); i++) {
        pthread_create(&threads[i], NULL, add_many, NULL);
    }
    for (int turn = 0; turn < 20; turn++) {
        n = trace_copy(events, COUNTOF(events));
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(events[i].a, events[i].b);
        }
    }
    for (size_t i = 0; i < COUNTOF(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(trace_copy(events, COUNTOF(events)), 2000);
}
END_TEST

START_TEST(every_event_has_a_name)
{
    for (int what = 0; what < TRACE_WHAT_COUNT; what++) {
        ck_assert_ptr_nonnull(trace_what_name((enum trace_what)what));
    }
}
END_TEST

int main(void)
{
    return unit_facts("trace", fresh_ring_is_empty, events_come_oldest_first, small_copy_gives_the_newest,
                      full_ring_forgets_the_oldest, events_of_several_threads_are_whole, every_event_has_a_name);
}
