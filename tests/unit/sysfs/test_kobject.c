/* Numbered things are known by their names, and folders of them are listed in order. */
#include "base/clean.h"
#include "base/mem.h"
#include "failed_alloc.h"
#include "sysfs/folder.h"
#include "sysfs/kobject.h"
#include "tree.h"

static void make(void)
{
    tree_make();
}

static void zone(int number, const char *type)
{
    char path[96];

    snprintf(path, sizeof(path), "/sys/class/thermal/thermal_zone%d/type", number);
    tree_write(path, type);
}

START_TEST(numbers_are_listed_in_their_order)
{
    struct kobject_numbers list;

    tree_folder("/x/hwmon10");
    tree_folder("/x/hwmon2");
    tree_folder("/x/hwmon0");
    tree_folder("/x/hwmon");
    tree_folder("/x/hwmon02");
    tree_folder("/x/hwmon1a");
    tree_folder("/x/hwmon4294967296");
    kobject_numbers_list(&tree_root, "/x", "hwmon", &list);

    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.numbers[0], 0);
    ck_assert_uint_eq(list.numbers[1], 2);
    ck_assert_uint_eq(list.numbers[2], 10);
}
END_TEST

START_TEST(missing_folder_has_no_numbers)
{
    struct kobject_numbers list;

    kobject_numbers_list(&tree_root, "/none", "hwmon", &list);

    ck_assert_uint_eq(list.n, 0);
}
END_TEST

START_TEST(more_than_fit_leave_the_largest_out)
{
    struct kobject_numbers list;

    for (uint32_t i = KOBJECT_NUMBERS_MAX + 10; i-- > 0;) {
        char path[32];

        snprintf(path, sizeof(path), "/x/hwmon%u", i);
        tree_folder(path);
    }
    kobject_numbers_list(&tree_root, "/x", "hwmon", &list);

    ck_assert_uint_eq(list.n, KOBJECT_NUMBERS_MAX);
    for (uint32_t i = 0; i < list.n; i++) {
        ck_assert_uint_eq(list.numbers[i], i);
    }
}
END_TEST

START_TEST(twins_are_counted_by_name)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    uint32_t n;

    zone(1, "a\n");
    zone(2, "b\n");
    zone(5, "a\n");
    zone(6, "\n");
    ck_assert_int_eq(kobject_list(&tree_root, &kobject_zones, &kobjects, &n), 0);

    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(kobjects[0].twin, 0);
    ck_assert_uint_eq(kobjects[1].twin, 0);
    ck_assert_uint_eq(kobjects[2].twin, 1);
}
END_TEST

START_TEST(kobject_is_found_under_its_new_number)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    uint32_t n;

    zone(1, "a\n");
    ck_assert_int_eq(kobject_list(&tree_root, &kobject_zones, &kobjects, &n), 0);
    zone(1, "b\n");
    ck_assert(!kobject_find(&tree_root, &kobjects[0]));
    zone(9, "a\n");

    ck_assert(kobject_find(&tree_root, &kobjects[0]));
    ck_assert_uint_eq(kobjects[0].number, 9);
}
END_TEST

START_TEST(id_is_independent_of_the_number)
{
    cleanup(mem_freep) struct kobject *kobjects = NULL;
    char before[192];
    char after[192];
    uint32_t n;

    zone(1, "a\n");
    ck_assert_int_eq(kobject_list(&tree_root, &kobject_zones, &kobjects, &n), 0);
    kobject_id(&kobjects[0], before, sizeof(before));
    zone(9, "a\n");
    zone(1, "b\n");
    kobject_find(&tree_root, &kobjects[0]);
    kobject_id(&kobjects[0], after, sizeof(after));

    ck_assert_str_eq(before, after);
}
END_TEST

static int list_once(void *data)
{
    struct kobject *kobjects = NULL;
    uint32_t n;
    int r = kobject_list(&tree_root, &kobject_zones, &kobjects, &n);

    mem_free(kobjects);
    return r;
}

START_TEST(list_without_memory_leaks_nothing)
{
    zone(1, "a\n");
    for_each_failed_alloc(list_once, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *tcase = tcase_create("place");

    tcase_add_checked_fixture(tcase, make, tree_remove);
    tcase_add_test(tcase, numbers_are_listed_in_their_order);
    tcase_add_test(tcase, missing_folder_has_no_numbers);
    tcase_add_test(tcase, more_than_fit_leave_the_largest_out);
    tcase_add_test(tcase, twins_are_counted_by_name);
    tcase_add_test(tcase, kobject_is_found_under_its_new_number);
    tcase_add_test(tcase, id_is_independent_of_the_number);
    tcase_add_test(tcase, list_without_memory_leaks_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
