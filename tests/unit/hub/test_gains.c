/* The chip's gains between two runs: written once when they are known, taken at the next start of the same board. */
#include "base/clean.h"
#include "hub/hub_gains.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[96];
static char root[96];
static uv_loop_t loop;
static struct governor governor;
static struct hub_gains gains;

static void put(const char *file, const char *text)
{
    FILE *stream = fopen(file, "w");

    ck_assert_ptr_nonnull(stream);
    fputs(text, stream);
    fclose(stream);
}

static void name_board(const char *name)
{
    char file[256];

    snprintf(file, sizeof(file), "mkdir -p %s/sys/class/dmi/id", root);
    ck_assert_int_eq(system(file), 0);
    snprintf(file, sizeof(file), "%s/sys/class/dmi/id/board_name", root);
    put(file, name);
}

static void setup(void)
{
    strcpy(folder, "/tmp/sotto-gains-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/gains", folder);
    snprintf(root, sizeof(root), "%s/root", folder);
    name_board("Acme\n");
    gains = (struct hub_gains){ .is_written = false };
    governor_init(&governor, &(struct governor_policy){ .max_slice_us = 0 });
    ck_assert_int_eq(uv_loop_init(&loop), 0);
}

static void teardown(void)
{
    char command[128];

    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void begin(void)
{
    hub_gains_begin(&gains, folder, root, &governor);
}

static const struct reaction *reaction(void)
{
    return &governor.heat.thermostat.reaction;
}

/* Lets the governor know its chip, as after a first warm-up. */
static void learn(double whole, double lag_s)
{
    governor.heat.thermostat.reaction.whole = whole;
    governor.heat.thermostat.reaction.lag_s = lag_s;
    governor.heat.thermostat.reaction.is_known = true;
    governor.heat.thermostat.reaction.is_kept = false;
}

static void write_what_is_learnt(void)
{
    hub_gains_run(&gains, &loop, &governor);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert(!gains.is_writing);
}

START_TEST(what_a_run_has_learnt_the_next_one_knows)
{
    begin();
    hub_gains_run(&gains, &loop, &governor); /* nothing is known yet */
    ck_assert_int_ne(access(path, F_OK), 0);
    learn(40.0, 12.5);
    write_what_is_learnt();

    gains = (struct hub_gains){ .is_written = false };
    governor_init(&governor, &(struct governor_policy){ .max_slice_us = 0 });
    begin();

    ck_assert(reaction()->is_known && reaction()->is_kept);
    ck_assert(reaction()->whole > 40.0 && reaction()->whole < 80.0); /* with a margin */
    ck_assert(reaction()->lag_s > 12.4 && reaction()->lag_s < 12.6);
}
END_TEST

START_TEST(kept_gains_are_not_written_again_and_new_ones_once)
{
    begin();
    learn(40.0, 12.5);
    governor.heat.thermostat.reaction.is_kept = true;
    write_what_is_learnt();
    ck_assert_int_ne(access(path, F_OK), 0);

    learn(40.0, 12.5);
    write_what_is_learnt();
    ck_assert_int_eq(unlink(path), 0);
    learn(50.0, 10.0);
    write_what_is_learnt();

    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(gains_of_another_board_are_left_alone_until_this_one_is_known)
{
    put(path, "sotto gains 1\nboard Other\nwhole_mc 20000\nlag_ms 5000\n");

    begin();

    ck_assert(!reaction()->is_known);
    learn(40.0, 12.5);
    write_what_is_learnt();
    gains = (struct hub_gains){ .is_written = false };
    governor_init(&governor, &(struct governor_policy){ .max_slice_us = 0 });
    begin();
    ck_assert(reaction()->is_known);
}
END_TEST

START_TEST(a_strangers_file_makes_an_unknown_chip)
{
    static const char *const texts[] = { "", "{}", "sotto gains 1\nboard Acme\nwhole_mc 1\nlag_ms 5000\n" };

    for (size_t i = 0; i < COUNTOF(texts); i++) {
        put(path, texts[i]);
        begin();
        ck_assert(!reaction()->is_known);
    }
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* is not waited for */
    begin();
    ck_assert(!reaction()->is_known);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    begin();
    ck_assert(!reaction()->is_known);
    learn(40.0, 12.5);
    write_what_is_learnt(); /* in vain, and once */
    ck_assert(gains.is_written);
}
END_TEST

START_TEST(without_a_folder_or_a_name_nothing_is_kept)
{
    hub_gains_begin(&gains, NULL, root, &governor);
    learn(40.0, 12.5);
    write_what_is_learnt();
    ck_assert_int_ne(access(path, F_OK), 0);

    name_board("\n");
    begin();
    write_what_is_learnt();
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hub-gains");
    TCase *tcase = tcase_create("gains");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_a_run_has_learnt_the_next_one_knows);
    tcase_add_test(tcase, kept_gains_are_not_written_again_and_new_ones_once);
    tcase_add_test(tcase, gains_of_another_board_are_left_alone_until_this_one_is_known);
    tcase_add_test(tcase, a_strangers_file_makes_an_unknown_chip);
    tcase_add_test(tcase, without_a_folder_or_a_name_nothing_is_kept);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
