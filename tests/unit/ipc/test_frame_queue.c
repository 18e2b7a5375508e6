/*
 * The frame that is handled next, counted in frames. Other users take root: without it these facts are left out.
 */
#include "fixture.h"
#include "ipc/frame_queue.h"
#include <string.h>
#include <sys/socket.h>

#define N_CROWD 60u
#define UID     20001

/* Handled in one round at most, of the cheapest frames. */
#define FRAMES_A_ROUND (FRAME_QUEUE_BUDGET / FRAME_QUEUE_FRAME_COST)

static struct fixture fixture;
static struct client crowd[N_CROWD];
static struct client other;

static void setup(void)
{
    fixture_open(&fixture);
    for (unsigned i = 0; i < N_CROWD; i++) {
        client_connect(&fixture, &crowd[i]);
        client_hello(&fixture, &crowd[i]);
    }
    client_connect_as(&fixture, &other, UID);
    client_hello(&fixture, &other);
}

static void teardown(void)
{
    for (unsigned i = 0; i < N_CROWD; i++) {
        client_close(&crowd[i]);
    }
    client_close(&other);
    fixture_close(&fixture);
}

/* Sends up to @n_most Credit frames on a stream that does not exist, which are ignored. Returns how many. */
static unsigned fill(const struct client *client, unsigned n_most)
{
    static const uint8_t credit[] = { 0x06, 0, 0, 0, 0x08, 0x63, 0x22, 0x02, 0x08, 0x01 };
    uint8_t many[100 * sizeof(credit)];
    unsigned n = 0;

    for (size_t i = 0; i < sizeof(many); i++) {
        many[i] = credit[i % sizeof(credit)];
    }
    while (n < n_most && send(client->fd, many, sizeof(many), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(many)) {
        n += 100;
    }
    return n;
}

static const struct tenant *other_tenant(void)
{
    const struct tenant *tenant = container_of(list_first(&fixture.ipc->tenants)->next, struct tenant, link);

    ck_assert_uint_eq(tenant->uid, UID);
    return tenant;
}

static void ask(const struct client *client)
{
    static const uint8_t generate[] = { 0x08, 0, 0, 0, 0x08, 0x01, 0x1a, 0x04, 0x12, 0x02, 'h', 'i' };

    ck_assert_int_eq(send(client->fd, generate, sizeof(generate), MSG_NOSIGNAL), sizeof(generate));
}

START_TEST(a_frame_passes_a_crowd_of_full_connections)
{
    uint64_t before;
    unsigned n = 0;

    for (unsigned i = 0; i < N_CROWD; i++) {
        n += fill(&crowd[i], 200);
    }
    ck_assert_uint_gt(n, 50 * FRAMES_A_ROUND);
    while (!fixture.ipc->is_pausing) {
        fixture_iterate(&fixture);
    }
    before = fixture.ipc->counts.n_frames_in;
    ask(&other);
    fixture_iterate(&fixture);
    ck_assert_uint_eq(fixture.hub.n_opened, 1);
    ck_assert_uint_le(fixture.ipc->counts.n_frames_in - before, FRAMES_A_ROUND);
    ck_assert_uint_gt(other_tenant()->cost, FRAME_QUEUE_BUDGET); /* it gets no credit for the time before */
}
END_TEST

START_TEST(a_round_is_bounded_and_the_rest_goes_on)
{
    uint64_t before = fixture.ipc->counts.n_frames_in;
    unsigned n = 0;

    for (unsigned i = 0; i < N_CROWD; i++) {
        n += fill(&crowd[i], 200);
    }
    while (fixture.ipc->counts.n_frames_in < before + n) {
        uint64_t last = fixture.ipc->counts.n_frames_in;

        fixture_iterate(&fixture);
        ck_assert_uint_le(fixture.ipc->counts.n_frames_in - last, FRAMES_A_ROUND);
    }
}
END_TEST

/* The test holds the clock of the pause. */
START_TEST(in_the_pause_behind_a_round_the_rest_waits)
{
    uint64_t before;

    for (unsigned i = 0; i < N_CROWD; i++) {
        fill(&crowd[i], 200);
    }
    while (!fixture.ipc->is_pausing) {
        fixture_iterate(&fixture);
    }
    uv_timer_stop(&fixture.ipc->round_timer);
    before = fixture.ipc->counts.n_frames_in;
    for (unsigned i = 0; i < 5; i++) {
        fixture_iterate(&fixture);
    }
    ck_assert_uint_eq(fixture.ipc->counts.n_frames_in, before);
    fixture.ipc->is_pausing = false;
    fixture_iterate(&fixture);
    ck_assert_uint_gt(fixture.ipc->counts.n_frames_in, before);
}
END_TEST

/* Both users have more than a round can hold. */
START_TEST(two_users_get_on_alike_whatever_their_connections)
{
    uint64_t before = fixture.ipc->counts.n_frames_in;
    unsigned n;

    for (unsigned i = 0; i < N_CROWD; i++) {
        fill(&crowd[i], 200);
    }
    n = fill(&other, 1000);
    ck_assert_uint_ge(n, 5 * FRAMES_A_ROUND);
    while (list_is_empty(&other_tenant()->due)) {
        fixture_iterate(&fixture);
    }
    while (!list_is_empty(&other_tenant()->due)) {
        fixture_iterate(&fixture);
    }
    ck_assert(!list_is_empty(&fixture.ipc->due)); /* the crowd is not done */
    ck_assert_uint_le(fixture.ipc->counts.n_frames_in - before, 2 * n + 4 * FRAMES_A_ROUND);
}
END_TEST

/* What is sent to a user is charged to it, too. */
START_TEST(answers_count)
{
    const struct tenant *tenant;
    uint64_t before;

    fixture.hub.hold = false;
    ask(&other);
    while (fixture.hub.n_opened == 0) {
        fixture_iterate(&fixture);
    }
    tenant = other_tenant();
    before = tenant->cost;
    fake_delta(fake_stream(&fixture.hub, 0), 1, 30000);

    ck_assert_uint_gt(tenant->cost, before + 30000);
    ask(&other); /* on a stream that is in use: refused */
    while (tenant->cost < before + 32000) {
        fixture_iterate(&fixture);
    }
    ck_assert_uint_gt(tenant->cost, before + 30000); /* and it is not forgotten */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ipc-frame-queue");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    if (geteuid() == 0) {
        tcase_add_test(facts, a_frame_passes_a_crowd_of_full_connections);
        tcase_add_test(facts, a_round_is_bounded_and_the_rest_goes_on);
        tcase_add_test(facts, in_the_pause_behind_a_round_the_rest_waits);
        tcase_add_test(facts, two_users_get_on_alike_whatever_their_connections);
        tcase_add_test(facts, answers_count);
    }
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
