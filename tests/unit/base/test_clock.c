/* Clocks run forwards, and random bytes differ. */
#include "base/clock.h"
#include "unit.h"
#include <string.h>

START_TEST(monotonic_clock_never_goes_back)
{
    uint64_t last = clock_mono_us();

    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_mono_us();

        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

START_TEST(boot_clock_is_not_behind_the_monotonic_one)
{
    uint64_t mono = clock_mono_us();

    ck_assert_uint_ge(clock_boot_us(), mono);
}
END_TEST

START_TEST(real_clock_counts_microseconds_since_1970)
{
    ck_assert_uint_gt(clock_real_us(), 1700000000u * (uint64_t)1000000);
    ck_assert_uint_lt(clock_real_us(), 7000000000u * (uint64_t)1000000);
}
END_TEST

START_TEST(random_bytes_fill_all_and_differ)
{
    uint8_t a[300] = { 0 };
    uint8_t b[300] = { 0 };

    clock_entropy(a, sizeof(a));
    clock_entropy(b, sizeof(b));

    ck_assert_int_ne(memcmp(a, b, sizeof(a)), 0);
    ck_assert_int_ne(memcmp(a + 256, b + 256, 44), 0);
}
END_TEST

int main(void)
{
    return unit_facts("clock", monotonic_clock_never_goes_back, boot_clock_is_not_behind_the_monotonic_one,
                      real_clock_counts_microseconds_since_1970, random_bytes_fill_all_and_differ);
}
