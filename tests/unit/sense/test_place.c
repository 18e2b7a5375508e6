/* Numbered things are known by their names, and folders of them are listed in order. */
#include "base/clean.h"
#include "base/mem.h"
#include "failed_alloc.h"
#include "sense/folder.h"
#include "sense/place.h"
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
    struct folder_numbers list;

    tree_folder("/x/hwmon10");
    tree_folder("/x/hwmon2");
    tree_folder("/x/hwmon0");
    tree_folder("/x/hwmon");
    tree_folder("/x/hwmon02");
    tree_folder("/x/hwmon1a");
    tree_folder("/x/hwmon4294967296");
    folder_list(&tree_root, "/x", "hwmon", &list);

    ck_assert_uint_eq(list.n, 3);
    ck_assert_uint_eq(list.numbers[0], 0);
    ck_assert_uint_eq(list.numbers[1], 2);
    ck_assert_uint_eq(list.numbers[2], 10);
}
END_TEST

START_TEST(folder_that_is_not_there_has_no_numbers)
{
    struct folder_numbers list;

    folder_list(&tree_root, "/none", "hwmon", &list);

    ck_assert_uint_eq(list.n, 0);
}
END_TEST

START_TEST(more_than_fit_leave_the_largest_out)
{
    struct folder_numbers list;

    for (uint32_t i = FOLDER_NUMBERS_MAX + 10; i-- > 0;) {
        char path[32];

        snprintf(path, sizeof(path), "/x/hwmon%u", i);
        tree_folder(path);
    }
    folder_list(&tree_root, "/x", "hwmon", &list);

    ck_assert_uint_eq(list.n, FOLDER_NUMBERS_MAX);
    for (uint32_t i = 0; i < list.n; i++) {
        ck_assert_uint_eq(list.numbers[i], i);
    }
}
END_TEST

START_TEST(twins_are_counted_by_name)
{
    cleanup(mem_freep) struct place *places = NULL;
    uint32_t n;

    zone(1, "a\n");
    zone(2, "b\n");
    zone(5, "a\n");
    zone(6, "\n");
    ck_assert_int_eq(place_list(&tree_root, &place_zones, &places, &n), 0);

    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(places[0].twin, 0);
    ck_assert_uint_eq(places[1].twin, 0);
    ck_assert_uint_eq(places[2].twin, 1);
}
END_TEST

START_TEST(place_is_found_where_it_went)
{
    cleanup(mem_freep) struct place *places = NULL;
    uint32_t n;

    zone(1, "a\n");
    ck_assert_int_eq(place_list(&tree_root, &place_zones, &places, &n), 0);
    zone(1, "b\n");
    ck_assert(!place_find(&tree_root, &places[0]));
    zone(9, "a\n");

    ck_assert(place_find(&tree_root, &places[0]));
    ck_assert_uint_eq(places[0].number, 9);
}
END_TEST

START_TEST(id_does_not_know_the_number)
{
    cleanup(mem_freep) struct place *places = NULL;
    char before[192];
    char after[192];
    uint32_t n;

    zone(1, "a\n");
    ck_assert_int_eq(place_list(&tree_root, &place_zones, &places, &n), 0);
    place_id(&places[0], before, sizeof(before));
    zone(9, "a\n");
    zone(1, "b\n");
    place_find(&tree_root, &places[0]);
    place_id(&places[0], after, sizeof(after));

    ck_assert_str_eq(before, after);
}
END_TEST

static int list_once(void *data)
{
    struct place *places = NULL;
    uint32_t n;
    int r = place_list(&tree_root, &place_zones, &places, &n);

    mem_free(places);
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
    tcase_add_test(tcase, folder_that_is_not_there_has_no_numbers);
    tcase_add_test(tcase, more_than_fit_leave_the_largest_out);
    tcase_add_test(tcase, twins_are_counted_by_name);
    tcase_add_test(tcase, place_is_found_where_it_went);
    tcase_add_test(tcase, id_does_not_know_the_number);
    tcase_add_test(tcase, list_without_memory_leaks_nothing);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
