/* Taking over, and closing at the end of a scope. */
#include "base/clean.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>

START_TEST(steal_takes_and_leaves_nothing)
{
    char object = 'x';
    char *owner = &object;

    ck_assert_ptr_eq(steal(&owner), &object);
    ck_assert_ptr_null(owner);
}
END_TEST

START_TEST(descriptor_is_closed_at_the_end_of_its_scope)
{
    int kept;

    {
        cleanup(fd_closep) int fd = open("/dev/null", O_RDONLY);

        kept = fd;
        ck_assert_int_ge(fcntl(kept, F_GETFD), 0);
    }

    ck_assert_int_eq(fcntl(kept, F_GETFD), -1);
}
END_TEST

START_TEST(stolen_descriptor_stays_open)
{
    int kept;

    {
        cleanup(fd_closep) int fd = open("/dev/null", O_RDONLY);

        kept = fd_steal(&fd);
        ck_assert_int_eq(fd, -1);
    }

    ck_assert_int_ge(fcntl(kept, F_GETFD), 0);
    close(kept);
}
END_TEST

int main(void)
{
    return unit_facts("clean", steal_takes_and_leaves_nothing, descriptor_is_closed_at_the_end_of_its_scope,
                      stolen_descriptor_stays_open);
}
