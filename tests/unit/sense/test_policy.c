/* Which sensors are meant: by name, whatever the case, the first pattern first. */
#include "sense/policy.h"
#include "unit.h"

static struct sensor_policy policy;

static void make(void)
{
    policy_init(&policy);
}

START_TEST(first_pattern_that_fits_gives_the_rank)
{
    static const char *const patterns[] = { "gpu*", "*cpu*", "*", NULL };
    const struct policy_list list = { patterns };

    ck_assert_uint_eq(policy_rank(&list, "GPU-thermal"), 0);
    ck_assert_uint_eq(policy_rank(&list, "big-cpu-thermal"), 1);
    ck_assert_uint_eq(policy_rank(&list, "wlan"), 2);
}
END_TEST

START_TEST(name_without_a_pattern_has_no_rank)
{
    static const char *const patterns[] = { NULL };
    const struct policy_list list = { patterns };

    ck_assert_uint_eq(policy_rank(&list, "gpu"), UINT32_MAX);
}
END_TEST

/* Names from public device trees and drivers. */
START_TEST(zones_of_known_boards_are_chosen)
{
    static const char *const types[] = {
        "main0-thermal",    /* TI AM62 */
        "wkup0-thermal",    /* TI J721S2 */
        "sensor1-thermal",  /* Renesas R-Car */
        "gpu-thermal",      /* RK3588 */
        "bigcore0-thermal", /* RK3588 */
        "package-thermal",  /* RK3588 */
        "cpu-thermal",      /* Raspberry Pi */
        "x86_pkg_temp",     /* Intel */
        "gpuss-0-thermal",  /* Qualcomm */
        "cpu0-thermal",     /* Qualcomm */
        "k10temp/Tctl",     /* AMD */
        "amdgpu/edge",
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        ck_assert_msg(policy_rank(&policy.heat, types[i]) != UINT32_MAX, "%s", types[i]);
        ck_assert_msg(policy_rank(&policy.no_heat, types[i]) == UINT32_MAX, "%s", types[i]);
    }
}
END_TEST

START_TEST(multiplier_is_one_unless_a_pattern_matches)
{
    ck_assert_int_eq(policy_scale_permille(&policy, "gpu-thermal"), 1000);
    policy.scales[0] = (struct policy_scale){ "gpu*", 100000 };
    policy.n_scales = 1;
    ck_assert_int_eq(policy_scale_permille(&policy, "gpu-thermal"), 100000);
    ck_assert_int_eq(policy_scale_permille(&policy, "cpu-thermal"), 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tcase = tcase_create("policy");

    tcase_add_checked_fixture(tcase, make, NULL);
    tcase_add_test(tcase, first_pattern_that_fits_gives_the_rank);
    tcase_add_test(tcase, name_without_a_pattern_has_no_rank);
    tcase_add_test(tcase, zones_of_known_boards_are_chosen);
    tcase_add_test(tcase, multiplier_is_one_unless_a_pattern_matches);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
