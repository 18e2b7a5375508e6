/* Counters become shares of time; and the schedule of reading them. */
#include "base/clean.h"
#include "load/clients.h"
#include "load/walk.h"
#include "sense/source.h"
#include "unit.h"
#include <errno.h>
#include <string.h>

#define MS 1000ull

static struct clients clients;
static struct fdinfo fdinfo;
static struct client *client;

static void make(void)
{
    clients_init(&clients);
    clients_begin(&clients);
}

static void end(void)
{
    clients_finish(&clients);
}

/* Makes a file of client @id with one engine without counters yet. */
static struct fdinfo_engine *say(uint64_t id, const char *engine)
{
    fdinfo = (struct fdinfo){ .has_client = true, .client = id, .n_engines = 1 };
    snprintf(fdinfo.engines[0].name, sizeof(fdinfo.engines[0].name), "%s", engine);
    fdinfo.engines[0].capacity = 1;
    return &fdinfo.engines[0];
}

static void say_ns(uint64_t id, const char *engine, uint64_t ns)
{
    struct fdinfo_engine *entry = say(id, engine);

    entry->has_ns = true;
    entry->ns = ns;
}

/* Makes one walk that finds only the last file. */
static void walk(uint64_t now_us)
{
    clients_begin(&clients);
    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, now_us, &client), CLIENTS_OK);
    clients_end(&clients);
}

static struct clients_sum add_up(void)
{
    struct clients_sum sum;

    clients_add_up(&clients, &sum);
    return sum;
}

static uint32_t graphics(void)
{
    return add_up().permille[ENGINE_GRAPHICS];
}

/* Makes one walk in which the only client has @ns, and returns the graphics share. */
static uint32_t share(uint64_t ns, uint64_t at_ms)
{
    say_ns(1, "render", ns);
    walk(at_ms * MS);
    return graphics();
}

START_TEST(first_reading_is_no_interval)
{
    ck_assert_uint_eq(share(5000000000, 100), 0);

    ck_assert_uint_eq(add_up().n_new, 1);
    ck_assert_uint_eq(add_up().n_timed, 0);
}
END_TEST

START_TEST(share_is_busy_time_over_time)
{
    share(1000, 100);

    ck_assert_uint_eq(share(1000 + 25000000, 200), 250);
    ck_assert_uint_eq(add_up().permille[ENGINE_COMPUTE], 0);
    ck_assert_uint_eq(add_up().n_timed, 1);
}
END_TEST

START_TEST(capacity_divides)
{
    for (uint64_t i = 0; i <= 1; i++) {
        say_ns(1, "render", i * 100000000);
        fdinfo.engines[0].capacity = 4;
        walk((i + 1) * 100 * MS);
    }

    ck_assert_uint_eq(graphics(), 250);
}
END_TEST

START_TEST(compute_and_copies_are_separate)
{
    say_ns(1, "csd", 0);
    fdinfo.n_engines = 3;
    fdinfo.engines[1] = fdinfo.engines[0];
    fdinfo.engines[2] = fdinfo.engines[0];
    snprintf(fdinfo.engines[1].name, 32, "render");
    snprintf(fdinfo.engines[2].name, 32, "copy");
    walk(100 * MS);
    fdinfo.engines[0].ns = 30000000;
    fdinfo.engines[1].ns = 10000000;
    fdinfo.engines[2].ns = 90000000;
    walk(200 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_COMPUTE], 300);
    ck_assert_uint_eq(graphics(), 100);
    ck_assert_uint_eq(add_up().permille[ENGINE_OTHER], 900);
}
END_TEST

START_TEST(side_is_as_busy_as_its_busiest_engine)
{
    say_ns(1, "bin", 0);
    fdinfo.n_engines = 2;
    fdinfo.engines[1] = fdinfo.engines[0];
    snprintf(fdinfo.engines[1].name, 32, "render");
    walk(100 * MS);
    fdinfo.engines[0].ns = 60000000;
    fdinfo.engines[1].ns = 70000000;
    walk(200 * MS);

    ck_assert_uint_eq(graphics(), 700);
}
END_TEST

START_TEST(same_client_on_three_descriptors_counts_once)
{
    say_ns(1, "render", 0);
    walk(100 * MS);
    say_ns(1, "render", 20000000);
    clients_begin(&clients);

    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 200 * MS, &client), CLIENTS_OK);
    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 200 * MS, &client), CLIENTS_REPEATED);
    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 200 * MS, &client), CLIENTS_REPEATED);
    clients_end(&clients);
    ck_assert_uint_eq(clients.n, 1);
    ck_assert_uint_eq(graphics(), 200);
}
END_TEST

START_TEST(same_id_on_two_devices_is_two_clients)
{
    say_ns(1, "render", 0);

    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 100 * MS, &client), CLIENTS_OK);
    ck_assert_int_eq(clients_update(&clients, 129, &fdinfo, 100 * MS, &client), CLIENTS_OK);
    ck_assert_uint_eq(clients.n, 2);
}
END_TEST

START_TEST(clients_add_up_to_the_whole_at_most)
{
    for (uint64_t step = 1; step <= 2; step++) {
        clients_begin(&clients);
        for (uint64_t id = 1; id <= 3; id++) {
            say_ns(id, "render", step * 40000000);
            ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, step * 100 * MS, &client), CLIENTS_OK);
            ck_assert_uint_eq(client->permille[ENGINE_GRAPHICS], step == 1 ? 0 : 400);
        }
    }

    ck_assert_uint_eq(graphics(), 1000);
}
END_TEST

/* The client works 30 ms of each 100, and from the 10th reading on its counter is @back_ms behind: the driver has mixed
 * up two readings, or has reset it. Returns the lowest and the highest share that 50 readings then tell. */
static void share_behind(uint64_t back_ms, uint32_t *ret_least, uint32_t *ret_most)
{
    *ret_least = UINT32_MAX;
    *ret_most = 0;
    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t done_ms = 5000 + 30 * i - (i < 10 ? 0 : back_ms);
        const uint32_t permille = share(done_ms * 1000000, 100 + 100 * i);

        if (i >= 10) {
            *ret_least = permille < *ret_least ? permille : *ret_least;
            *ret_most = permille > *ret_most ? permille : *ret_most;
        }
    }
}

START_TEST(last_share_stands_until_a_counter_that_ran_back_passes_its_mark)
{
    uint32_t least, most;

    share_behind(300, &least, &most); /* back for a second */

    ck_assert_uint_eq(least, 300);
    ck_assert_uint_eq(most, 300);
}
END_TEST

START_TEST(last_share_stands_until_a_counter_that_stays_back_counts_again)
{
    uint32_t least, most;

    share_behind(3000, &least, &most);

    ck_assert_uint_eq(least, 300);
    ck_assert_uint_eq(most, 300);
}
END_TEST

START_TEST(work_while_a_counter_was_behind_is_divided_by_all_of_that_time)
{
    share(100000000, 100);
    share(150000000, 200);

    ck_assert_uint_eq(share(140000000, 300), 500);
    ck_assert_uint_eq(share(330000000, 400), 900);
}
END_TEST

START_TEST(counter_that_runs_back_at_once_has_no_interval)
{
    share(5000000000, 100);
    share(4000000000, 200);

    ck_assert_uint_eq(add_up().n_new, 1);
    ck_assert_uint_eq(add_up().n_timed, 0);
    ck_assert_uint_eq(share(5010000000, 300), 50); /* since the first reading */
    ck_assert_uint_eq(add_up().n_timed, 1);
}
END_TEST

START_TEST(vanished_client_is_zero_and_not_negative)
{
    share(900000000, 100);
    share(950000000, 200);
    clients_begin(&clients);
    say_ns(2, "render", 5000000);
    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 300 * MS, &client), CLIENTS_OK);

    clients_end(&clients);

    ck_assert_uint_eq(clients.n, 1);
    ck_assert_uint_eq(graphics(), 0);
}
END_TEST

START_TEST(lost_client_is_idle_until_it_is_seen_again)
{
    share(0, 100);
    share(50000000, 200);
    clients_lose(client);

    ck_assert_uint_eq(graphics(), 0);
    ck_assert(!walk_is_due(client, 10000 * MS));
    ck_assert_uint_eq(share(150000000, 400), 500);
}
END_TEST

START_TEST(time_that_does_not_fit_an_interval_is_carried_into_the_next)
{
    share(0, 100);

    /* A job of 80 ms, counted at its end. */
    ck_assert_uint_eq(share(80000000, 150), 1000);
    ck_assert_uint_eq(share(80000000, 200), 600);
    ck_assert_uint_eq(share(80000000, 250), 0);
}
END_TEST

START_TEST(jump_of_hours_is_busy_for_two_intervals_only)
{
    share(0, 100);
    share(36000000000000, 200);

    ck_assert_uint_eq(share(36000000000000, 300), 1000);
    ck_assert_uint_eq(share(36000000000000, 400), 0);
}
END_TEST

static const struct {
    uint64_t cycles;
    bool has_total;
    uint64_t total;
    uint64_t max_hz;
    uint64_t cur_hz;
    uint64_t device_hz;
    uint32_t permille;
    uint32_t n_unmeasured;
} cycle_rows[] = {
    { 300, true, 1000, 0, 0, 0, 300, 0 },                    /* a share of the total, whatever the time */
    { 0, true, 0, 0, 0, 0, 0, 0 },                           /* total stands still, too: idle and not full */
    { 10, true, 0, 0, 0, 0, 0, 1 },                          /* total stands still */
    { 20000000, false, 0, 800000000, 100000000, 0, 250, 0 }, /* the highest clock */
    { 20000000, false, 0, 0, 0, 400000000, 500, 0 },         /* the device's clock */
    { 20000000, false, 0, 0, 200000000, 0, 1000, 0 },        /* the present clock only */
    { 20000000, false, 0, 0, 0, 0, 0, 1 },                   /* an unknown clock is not idle */
};

START_TEST(cycles_are_a_share_of_what_is_known_of_their_clock)
{
    clients.clock_hz = cycle_rows[_i].device_hz;
    for (uint64_t i = 0; i <= 1; i++) {
        struct fdinfo_engine *engine = say(1, "rcs");

        engine->has_cycles = true;
        engine->cycles = 1000 + i * cycle_rows[_i].cycles;
        engine->has_total = cycle_rows[_i].has_total;
        engine->total_cycles = engine->has_total ? 50000 + i * cycle_rows[_i].total : 0;
        engine->max_hz = cycle_rows[_i].max_hz;
        engine->cur_hz = cycle_rows[_i].cur_hz;
        walk((i + 1) * 100 * MS);
    }

    ck_assert_uint_eq(graphics(), cycle_rows[_i].permille);
    ck_assert_uint_eq(add_up().n_unmeasured, cycle_rows[_i].n_unmeasured);
}
END_TEST

START_TEST(of_both_kinds_the_one_that_moves_is_believed)
{
    for (uint64_t step = 0; step <= 1; step++) {
        say_ns(1, "panthor", 0);
        fdinfo.engines[0].has_cycles = true;
        fdinfo.engines[0].cycles = step * 20000000;
        fdinfo.engines[0].max_hz = 400000000;
        walk((step + 1) * 100 * MS);
    }
    ck_assert_uint_eq(graphics(), 500);

    say_ns(1, "panthor", 70000000);
    fdinfo.engines[0].has_cycles = true;
    fdinfo.engines[0].cycles = 20000000 + 20000000;
    fdinfo.engines[0].max_hz = 400000000;
    walk(300 * MS);

    ck_assert_uint_eq(graphics(), 700);
}
END_TEST

START_TEST(engine_that_appears_later_begins_to_count_then)
{
    say_ns(1, "render", 0);
    walk(100 * MS);
    fdinfo.n_engines = 2;
    fdinfo.engines[1] = fdinfo.engines[0];
    fdinfo.engines[1].ns = 77000000000;
    snprintf(fdinfo.engines[1].name, 32, "never-seen");
    walk(200 * MS);
    ck_assert_uint_eq(graphics(), 0);

    fdinfo.engines[1].ns += 10000000;
    walk(300 * MS);

    ck_assert_uint_eq(graphics(), 100);
}
END_TEST

START_TEST(file_with_malformed_lines_is_unmeasured)
{
    fdinfo = (struct fdinfo){ .has_client = true, .client = 1, .n_unparsed = 2 };
    walk(100 * MS);
    ck_assert_uint_eq(add_up().n_unmeasured, 1);

    fdinfo.n_unparsed = 0;
    walk(200 * MS);
    ck_assert_uint_eq(add_up().n_unmeasured, 0);
    ck_assert_uint_eq(add_up().n_timeless, 1);
}
END_TEST

START_TEST(reading_too_soon_after_the_last_is_ignored)
{
    share(0, 100);
    share(10000000, 105);
    ck_assert_uint_eq(add_up().n_new, 1);

    ck_assert_uint_eq(share(50000000, 200), 500);
}
END_TEST

START_TEST(time_of_the_last_move_is_known)
{
    share(7, 100);
    share(7, 200);
    ck_assert_uint_eq(clients.moved_us, 100 * MS);

    share(8, 300);

    ck_assert_uint_eq(clients.moved_us, 300 * MS);
}
END_TEST

START_TEST(more_clients_than_the_table_takes_are_counted)
{
    for (uint64_t id = 0; id < CLIENTS_MAX; id++) {
        say_ns(id, "render", 0);
        ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 100 * MS, &client), CLIENTS_OK);
    }
    say_ns(CLIENTS_MAX, "render", 0);

    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 100 * MS, &client), CLIENTS_FULL);
    ck_assert_uint_eq(clients.n_over, 1);
    clients_begin(&clients);
    ck_assert_uint_eq(clients.n_over, 0);
}
END_TEST

START_TEST(want_of_memory_is_reported)
{
    say_ns(1, "render", 0);
    mem_fail_nth(0);

    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 100 * MS, &client), -ENOMEM);
    ck_assert_uint_eq(clients.n, 0);
}
END_TEST

START_TEST(list_has_the_busiest_first_and_the_rest_in_the_last)
{
    struct source_client list[3];

    for (uint64_t step = 0; step <= 1; step++) {
        clients_begin(&clients);
        for (uint64_t id = 1; id <= 5; id++) {
            say_ns(id, id == 5 ? "csd" : "render", step * id * 10000000);
            fdinfo.memory_kb = 100;
            ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, (step + 1) * 100 * MS, &client), CLIENTS_OK);
        }
    }

    ck_assert_uint_eq(clients_list(&clients, list, 3), 3);
    ck_assert_uint_eq(list[0].id, 5);
    ck_assert_uint_eq(list[0].compute_permille, 500);
    ck_assert_uint_eq(list[0].graphics_permille, 0);
    ck_assert_uint_eq(list[1].id, 4);
    ck_assert_uint_eq(list[2].id, 0);
    ck_assert_uint_eq(list[2].graphics_permille, 100 + 200 + 300);
    ck_assert_uint_eq(list[2].memory_kb, 300);
    ck_assert_str_eq(list[2].name, "others");
}
END_TEST

START_TEST(list_of_few_has_each_and_no_sum)
{
    struct source_client list[3];

    say_ns(9, "render", 0);
    walk(100 * MS);

    ck_assert_uint_eq(clients_list(&clients, list, 3), 1);
    ck_assert_uint_eq(list[0].id, 9);
    ck_assert_uint_eq(list[0].minor, 128);
    ck_assert_uint_eq(clients_list(&clients, list, 0), 0);
}
END_TEST

START_TEST(walk_is_due_every_two_seconds)
{
    struct walk state = { 0 };

    ck_assert_int_eq(walk_step(&state, 7 * MS), WALK_STEP_BEGIN);
    walk_begin(&state, 7 * MS);
    ck_assert_int_eq(walk_step(&state, 57 * MS), WALK_STEP_CONTINUE);
    walk_end(&state);
    ck_assert_int_eq(walk_step(&state, 57 * MS), WALK_STEP_KNOWN);
    ck_assert_int_eq(walk_step(&state, 1900 * MS), WALK_STEP_KNOWN);
    ck_assert_int_eq(walk_step(&state, 2005 * MS), WALK_STEP_BEGIN);
}
END_TEST

START_TEST(walk_on_demand_comes_soon_but_not_at_once_again)
{
    struct walk state = { 0 };

    walk_begin(&state, 1000 * MS);
    walk_end(&state);
    state.is_wanted = true;

    ck_assert_int_eq(walk_step(&state, 1100 * MS), WALK_STEP_KNOWN);
    ck_assert_int_eq(walk_step(&state, 1250 * MS), WALK_STEP_BEGIN);
    walk_begin(&state, 1250 * MS);
    ck_assert(!state.is_wanted);
}
END_TEST

START_TEST(busy_client_is_due_after_50_ms_and_an_idle_one_after_250)
{
    share(0, 100);
    ck_assert(!walk_is_due(client, 140 * MS));
    ck_assert(walk_is_due(client, 149 * MS)); /* read once: its share is unknown */
    share(0, 150);
    ck_assert(!walk_is_due(client, 200 * MS));
    ck_assert(!walk_is_due(client, 350 * MS));
    ck_assert(walk_is_due(client, 400 * MS));

    share(100000000, 400);

    ck_assert(!walk_is_due(client, 440 * MS));
    ck_assert(walk_is_due(client, 450 * MS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clients");
    TCase *tcase = tcase_create("clients");

    tcase_add_checked_fixture(tcase, make, end);
    tcase_add_test(tcase, first_reading_is_no_interval);
    tcase_add_test(tcase, share_is_busy_time_over_time);
    tcase_add_test(tcase, capacity_divides);
    tcase_add_test(tcase, compute_and_copies_are_separate);
    tcase_add_test(tcase, side_is_as_busy_as_its_busiest_engine);
    tcase_add_test(tcase, same_client_on_three_descriptors_counts_once);
    tcase_add_test(tcase, same_id_on_two_devices_is_two_clients);
    tcase_add_test(tcase, clients_add_up_to_the_whole_at_most);
    tcase_add_test(tcase, last_share_stands_until_a_counter_that_ran_back_passes_its_mark);
    tcase_add_test(tcase, last_share_stands_until_a_counter_that_stays_back_counts_again);
    tcase_add_test(tcase, work_while_a_counter_was_behind_is_divided_by_all_of_that_time);
    tcase_add_test(tcase, counter_that_runs_back_at_once_has_no_interval);
    tcase_add_test(tcase, vanished_client_is_zero_and_not_negative);
    tcase_add_test(tcase, lost_client_is_idle_until_it_is_seen_again);
    tcase_add_test(tcase, time_that_does_not_fit_an_interval_is_carried_into_the_next);
    tcase_add_test(tcase, jump_of_hours_is_busy_for_two_intervals_only);
    tcase_add_loop_test(tcase, cycles_are_a_share_of_what_is_known_of_their_clock, 0, (int)COUNTOF(cycle_rows));
    tcase_add_test(tcase, of_both_kinds_the_one_that_moves_is_believed);
    tcase_add_test(tcase, engine_that_appears_later_begins_to_count_then);
    tcase_add_test(tcase, file_with_malformed_lines_is_unmeasured);
    tcase_add_test(tcase, reading_too_soon_after_the_last_is_ignored);
    tcase_add_test(tcase, time_of_the_last_move_is_known);
    tcase_add_test(tcase, more_clients_than_the_table_takes_are_counted);
    tcase_add_test(tcase, want_of_memory_is_reported);
    tcase_add_test(tcase, list_has_the_busiest_first_and_the_rest_in_the_last);
    tcase_add_test(tcase, list_of_few_has_each_and_no_sum);
    tcase_add_test(tcase, walk_is_due_every_two_seconds);
    tcase_add_test(tcase, walk_on_demand_comes_soon_but_not_at_once_again);
    tcase_add_test(tcase, busy_client_is_due_after_50_ms_and_an_idle_one_after_250);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
