/* A request is refused for want of room; what is told then, and what is open afterwards. */
#include "hub_fixture.h"
#include "stream/stream.h"

#define QUOTA_N 64u /* streams of a user (hub_fixture.c) */

static struct fixture fixture;
static struct client clients[2 * QUOTA_N];
static uint32_t longest_ms; /* told to a refused one */

static void setup(void)
{
    fixture_begin(&fixture, "when 202 do slow 5\n");
    fixture_until_ready(&fixture);
    longest_ms = 0;
}

static void teardown(void)
{
    fixture_end(&fixture);
}

/* Makes @n requests, all different. Returns how many were taken in. */
static uint32_t ask(uint32_t n)
{
    uint32_t n_in = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct diag diag = DIAG_INIT;
        uint32_t retry_ms = 0;
        int r;

        client_init(&clients[i], 202, 5, 10 + i);
        r = hub_generate(fixture.hub, &clients[i].generate, &fixture.grant, clients[i].sink, &clients[i],
                         &clients[i].stream, &retry_ms, &diag);
        ck_assert(r == 0 || r == SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED);
        ck_assert(r == 0 || retry_ms > 0);
        longest_ms = retry_ms > longest_ms ? retry_ms : longest_ms;
        n_in += r == 0;
    }
    return n_in;
}

static bool all_have_left(void *owner)
{
    (void)owner;
    return list_is_empty(&fixture.hub->streams.all);
}

static void leave(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (clients[i].stream) {
            stream_cancel(clients[i].stream);
        }
    }
    fixture_until(&fixture, all_have_left, NULL);
    for (uint32_t i = 0; i < n; i++) {
        client_finish(&clients[i]);
    }
}

START_TEST(after_a_storm_the_whole_quota_is_open_at_once)
{
    ck_assert_uint_eq(ask(2 * QUOTA_N), QUOTA_N);
    leave(2 * QUOTA_N);

    ck_assert_uint_eq(ask(QUOTA_N), QUOTA_N);
    leave(QUOTA_N);
}
END_TEST

/* 64 answers of 10 to 73 tokens, 5 ms each if computed one by one, are 13 s. */
START_TEST(a_refused_request_is_told_no_more_than_twice_what_draining_takes)
{
    ck_assert_uint_eq(ask(2 * QUOTA_N), QUOTA_N);

    ck_assert_uint_le(longest_ms, 2 * 13000);
    leave(2 * QUOTA_N);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream-quota");
    TCase *tcase = tcase_create("quota");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, after_a_storm_the_whole_quota_is_open_at_once);
    tcase_add_test(tcase, a_refused_request_is_told_no_more_than_twice_what_draining_takes);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
