/*
 * The credentials of a peer, from the kernel.
 */
#include "ipc/peer.h"
#include "unit.h"
#include <grp.h>
#include <string.h>
#include <sys/socket.h>

static int pair[2];
static struct peer peer;

static void setup(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
}

static void teardown(void)
{
    peer_finish(&peer);
    close(pair[0]);
    close(pair[1]);
}

START_TEST(a_peer_has_the_users_groups_and_process)
{
    ck_assert_int_eq(peer_read(&peer, pair[0]), 0);

    ck_assert_uint_eq(peer.uid, geteuid());
    ck_assert_uint_eq(peer.gid, getegid());
    ck_assert_int_eq(peer.pid, getpid());
    ck_assert(peer_is_in(&peer, getegid()));
    ck_assert(!peer_is_in(&peer, 123456));
}
END_TEST

/* These are more groups than the first call has room for. */
START_TEST(a_hundred_groups_are_all_known)
{
    gid_t gids[100];

    for (size_t i = 0; i < 100; i++) {
        gids[i] = (gid_t)(5000 + i);
    }
    if (setgroups(100, gids) < 0) {
        return; /* only root may */
    }
    teardown();
    setup();

    ck_assert_int_eq(peer_read(&peer, pair[0]), 0);

    ck_assert_uint_eq(peer.n_gids, 100);
    ck_assert(peer_is_in(&peer, 5000) && peer_is_in(&peer, 5099));
    ck_assert(!peer_is_in(&peer, 5100));
}
END_TEST

START_TEST(a_descriptor_that_is_not_a_socket_is_a_fault)
{
    ck_assert_int_lt(peer_read(&peer, STDIN_FILENO), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    tcase_add_test(facts, a_peer_has_the_users_groups_and_process);
    tcase_add_test(facts, a_hundred_groups_are_all_known);
    tcase_add_test(facts, a_descriptor_that_is_not_a_socket_is_a_fault);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
