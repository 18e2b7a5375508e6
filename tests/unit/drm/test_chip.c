/*
 * Chip: rows are found by what a device says of itself, and the most telling row wins.
 */
#include "drm/chip.h"
#include "unit.h"
#include <string.h>

START_TEST(a_core_names_its_chip)
{
    const struct pvr_core core = { .branch = 36, .version = 53, .cores = 104, .config = 796 };
    const struct chip_signs signs = { .driver = "powervr", .compatible = "", .core = &core };

    ck_assert_str_eq(chip_find(&signs)->name, "PowerVR BXS-4-64");
}
END_TEST

START_TEST(the_device_tree_is_more_specific_than_the_driver)
{
    const struct chip_signs signs = { .driver = "powervr",
                                      .compatible = "ti,am62-gpu img,img-axe-1-16m img,img-rogue" };
    const struct chip *chip = chip_find(&signs);

    ck_assert_ptr_nonnull(strstr(chip->name, "AM62"));
    ck_assert(chip_has(chip, CHIP_NO_LOAD));
    ck_assert(chip_has(chip, CHIP_NO_OVERLAP));
    ck_assert_uint_eq(chip->hang_ms, 500);
}
END_TEST

START_TEST(a_compatible_is_a_whole_word)
{
    const struct chip_signs signs = { .driver = "powervr", .compatible = "ti,am62-gpu2" };

    ck_assert_str_eq(chip_find(&signs)->name, "PowerVR");
}
END_TEST

START_TEST(a_chip_without_a_driver_is_known_by_its_device_tree)
{
    const struct chip_signs signs = { .compatible = "renesas,r8a7796-gpu img,img-gx6250 img,img-rogue" };

    ck_assert(chip_has(chip_find(&signs), CHIP_EXPERIMENTAL));
}
END_TEST

START_TEST(a_chip_in_no_row_is_unknown)
{
    const struct chip_signs signs = { .driver = "novelty", .compatible = "acme,gpu" };

    ck_assert_ptr_null(chip_find(&signs));
    ck_assert(!chip_has(NULL, CHIP_NO_LOAD));
}
END_TEST

START_TEST(each_quirk_has_its_number)
{
    for (int i = 0; i < CHIP_QUIRK_COUNT; i++) {
        char number[8];

        snprintf(number, sizeof(number), "Q%d: ", i + 1);
        ck_assert_int_eq(strncmp(chip_quirk_text((enum chip_quirk)i), number, strlen(number)), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chip");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, a_core_names_its_chip);
    tcase_add_test(facts, the_device_tree_is_more_specific_than_the_driver);
    tcase_add_test(facts, a_compatible_is_a_whole_word);
    tcase_add_test(facts, a_chip_without_a_driver_is_known_by_its_device_tree);
    tcase_add_test(facts, a_chip_in_no_row_is_unknown);
    tcase_add_test(facts, each_quirk_has_its_number);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
