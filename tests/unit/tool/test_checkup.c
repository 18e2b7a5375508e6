/*
 * Advice about a processor.
 */
#include "kern/cpu.h"
#include "tool/checkup.h"
#include "unit.h"
#include <string.h>

START_TEST(a_processor_without_avx2_is_named_and_what_it_costs)
{
    const char *advice = checkup_processor("x86_64", 0);

    ck_assert_ptr_nonnull(advice);
    ck_assert_ptr_nonnull(strstr(advice, "no AVX2"));
    ck_assert_ptr_nonnull(strstr(advice, "twenty times slower"));
    ck_assert_uint_lt(strlen(advice), DIAG_BYTES);
}
END_TEST

START_TEST(avx2_alone_is_not_enough)
{
    ck_assert_ptr_nonnull(checkup_processor("x86_64", CPU_AVX2 | CPU_FMA));
    ck_assert_ptr_null(checkup_processor("x86_64", CPU_AVX2 | CPU_FMA | CPU_F16C));
}
END_TEST

START_TEST(other_architectures_have_no_avx2_and_need_none)
{
    ck_assert_ptr_null(checkup_processor("aarch64", 0));
}
END_TEST

int main(void)
{
    return unit_facts("tool-checkup", a_processor_without_avx2_is_named_and_what_it_costs, avx2_alone_is_not_enough,
                      other_architectures_have_no_avx2_and_need_none);
}
