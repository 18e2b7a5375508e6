/* Counters looked at again and again become shares of time; and when to look. */
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

/* A file of client @id with one engine of no counters yet. */
static struct fdinfo_engine *say(uint64_t id, const char *engine)
{
    fdinfo = (struct fdinfo){ .has_client = true, .client = id, .n_engines = 1 };
    snprintf(fdinfo.engines[0].name, sizeof(fdinfo.engines[0].name), "%s", engine);
    fdinfo.engines[0].capacity = 1;
    return &fdinfo.engines[0];
}

static void say_ns(uint64_t id, const char *engine, uint64_t ns)
{
    struct fdinfo_engine *said = say(id, engine);

    said->has_ns = true;
    said->ns = ns;
}

/* One walk in which only what was said last is seen. */
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

START_TEST(first_reading_is_no_interval)
{
    say_ns(1, "render", 5000000000);
    walk(100 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
    ck_assert_uint_eq(add_up().n_new, 1);
    ck_assert_uint_eq(add_up().n_timed, 0);
}
END_TEST

START_TEST(share_is_busy_time_over_time)
{
    say_ns(1, "render", 1000);
    walk(100 * MS);
    say_ns(1, "render", 1000 + 25000000);
    walk(200 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 250);
    ck_assert_uint_eq(add_up().permille[ENGINE_COMPUTE], 0);
    ck_assert_uint_eq(add_up().n_timed, 1);
}
END_TEST

START_TEST(capacity_divides)
{
    say_ns(1, "render", 0);
    fdinfo.engines[0].capacity = 4;
    walk(100 * MS);
    say_ns(1, "render", 100000000);
    fdinfo.engines[0].capacity = 4;
    walk(200 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 250);
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
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 100);
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

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 700);
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
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 200);
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
    for (uint64_t turn = 1; turn <= 2; turn++) {
        clients_begin(&clients);
        for (uint64_t id = 1; id <= 3; id++) {
            say_ns(id, "render", turn * 40000000);
            ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, turn * 100 * MS, &client), CLIENTS_OK);
            ck_assert_uint_eq(client->permille[ENGINE_GRAPHICS], turn == 1 ? 0 : 400);
        }
    }

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 1000);
}
END_TEST

START_TEST(counter_that_runs_back_keeps_the_larger_until_it_catches_up)
{
    say_ns(1, "render", 100000000);
    walk(100 * MS);
    say_ns(1, "render", 90000000);
    walk(200 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
    say_ns(1, "render", 100000000);
    walk(300 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);

    say_ns(1, "render", 150000000);
    walk(400 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);
}
END_TEST

START_TEST(counter_that_stays_back_was_reset_and_counts_again)
{
    say_ns(1, "render", 100000000000);
    walk(100 * MS);
    for (uint64_t i = 1; i <= 21; i++) {
        say_ns(1, "render", i * 50000000);
        walk((100 + 100 * i) * MS);
        ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
    }

    say_ns(1, "render", 22 * 50000000ull);
    walk(2300 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);
}
END_TEST

START_TEST(vanished_client_is_zero_and_not_negative)
{
    say_ns(1, "render", 900000000);
    walk(100 * MS);
    say_ns(1, "render", 950000000);
    walk(200 * MS);
    clients_begin(&clients);
    say_ns(2, "render", 5000000);
    ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, 300 * MS, &client), CLIENTS_OK);

    clients_end(&clients);

    ck_assert_uint_eq(clients.n, 1);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
}
END_TEST

START_TEST(lost_client_is_idle_until_it_is_seen_again)
{
    say_ns(1, "render", 0);
    walk(100 * MS);
    say_ns(1, "render", 50000000);
    walk(200 * MS);
    clients_lose(client);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
    ck_assert(!walk_is_due(client, 10000 * MS));

    say_ns(1, "render", 150000000);
    walk(400 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);
}
END_TEST

START_TEST(time_that_does_not_fit_an_interval_is_carried_into_the_next)
{
    say_ns(1, "render", 0);
    walk(100 * MS);
    /* A job of 80 ms whose time is told at its end. */
    say_ns(1, "render", 80000000);
    walk(150 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 1000);

    walk(200 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 600);
    walk(250 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
}
END_TEST

START_TEST(jump_of_hours_is_busy_for_two_intervals_only)
{
    say_ns(1, "render", 0);
    walk(100 * MS);
    say_ns(1, "render", 36000000000000);
    walk(200 * MS);
    walk(300 * MS);
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 1000);

    walk(400 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
}
END_TEST

/* Two looks, 100 ms apart, at a client that counts cycles. */
static void look_at_cycles(uint64_t cycles, bool has_total, uint64_t total, uint64_t max_hz, uint64_t cur_hz)
{
    for (uint64_t turn = 0; turn <= 1; turn++) {
        struct fdinfo_engine *said = say(1, "rcs");

        said->has_cycles = true;
        said->cycles = 1000 + turn * cycles;
        said->has_total = has_total;
        said->total_cycles = has_total ? 50000 + turn * total : 0;
        said->max_hz = max_hz;
        said->cur_hz = cur_hz;
        walk((turn + 1) * 100 * MS);
    }
}

START_TEST(cycles_are_a_share_of_the_total_whatever_the_time)
{
    look_at_cycles(300, true, 1000, 0, 0);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 300);
}
END_TEST

START_TEST(total_that_stands_still_with_the_cycles_is_idle_and_not_full)
{
    look_at_cycles(0, true, 0, 0, 0);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);
    ck_assert_uint_eq(add_up().n_unmeasured, 0);
}
END_TEST

START_TEST(cycles_against_a_total_that_stands_still_are_unmeasured)
{
    look_at_cycles(10, true, 0, 0, 0);

    ck_assert_uint_eq(add_up().n_unmeasured, 1);
}
END_TEST

START_TEST(cycles_with_a_highest_clock_are_a_share_of_it)
{
    look_at_cycles(20000000, false, 0, 800000000, 100000000);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 250);
}
END_TEST

START_TEST(cycles_without_a_clock_take_the_device_s)
{
    clients.clock_hz = 400000000;
    look_at_cycles(20000000, false, 0, 0, 0);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);
}
END_TEST

START_TEST(cycles_with_the_present_clock_only_take_that)
{
    look_at_cycles(20000000, false, 0, 0, 200000000);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 1000);
}
END_TEST

START_TEST(cycles_of_an_unknown_clock_are_unmeasured_and_not_idle)
{
    look_at_cycles(20000000, false, 0, 0, 0);

    ck_assert_uint_eq(add_up().n_unmeasured, 1);
}
END_TEST

START_TEST(of_both_kinds_the_one_that_moves_is_believed)
{
    for (uint64_t turn = 0; turn <= 1; turn++) {
        say_ns(1, "panthor", 0);
        fdinfo.engines[0].has_cycles = true;
        fdinfo.engines[0].cycles = turn * 20000000;
        fdinfo.engines[0].max_hz = 400000000;
        walk((turn + 1) * 100 * MS);
    }
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);

    say_ns(1, "panthor", 70000000);
    fdinfo.engines[0].has_cycles = true;
    fdinfo.engines[0].cycles = 20000000 + 20000000;
    fdinfo.engines[0].max_hz = 400000000;
    walk(300 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 700);
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
    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 0);

    fdinfo.engines[1].ns += 10000000;
    walk(300 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 100);
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
    say_ns(1, "render", 0);
    walk(100 * MS);
    say_ns(1, "render", 10000000);
    walk(105 * MS);
    ck_assert_uint_eq(add_up().n_new, 1);

    say_ns(1, "render", 50000000);
    walk(200 * MS);

    ck_assert_uint_eq(add_up().permille[ENGINE_GRAPHICS], 500);
}
END_TEST

START_TEST(time_of_the_last_move_is_known)
{
    say_ns(1, "render", 7);
    walk(100 * MS);
    ck_assert_uint_eq(clients.moved_us, 100 * MS);
    walk(200 * MS);
    ck_assert_uint_eq(clients.moved_us, 100 * MS);
    say_ns(1, "render", 8);

    walk(300 * MS);

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

    for (uint64_t turn = 0; turn <= 1; turn++) {
        clients_begin(&clients);
        for (uint64_t id = 1; id <= 5; id++) {
            say_ns(id, id == 5 ? "csd" : "render", turn * id * 10000000);
            fdinfo.memory_kb = 100;
            ck_assert_int_eq(clients_update(&clients, 128, &fdinfo, (turn + 1) * 100 * MS, &client), CLIENTS_OK);
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
    say_ns(1, "render", 0);
    walk(100 * MS);
    ck_assert(!walk_is_due(client, 140 * MS));
    ck_assert(walk_is_due(client, 149 * MS)); /* seen once: its share is not known */
    walk(150 * MS);
    ck_assert(!walk_is_due(client, 200 * MS));
    ck_assert(!walk_is_due(client, 350 * MS));
    ck_assert(walk_is_due(client, 400 * MS));
    say_ns(1, "render", 100000000);

    walk(400 * MS);

    ck_assert(!walk_is_due(client, 440 * MS));
    ck_assert(walk_is_due(client, 450 * MS));
}
END_TEST

static void add_walk(TCase *tcase)
{
    tcase_add_test(tcase, walk_is_due_every_two_seconds);
    tcase_add_test(tcase, walk_on_demand_comes_soon_but_not_at_once_again);
    tcase_add_test(tcase, busy_client_is_due_after_50_ms_and_an_idle_one_after_250);
}

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
    tcase_add_test(tcase, counter_that_runs_back_keeps_the_larger_until_it_catches_up);
    tcase_add_test(tcase, counter_that_stays_back_was_reset_and_counts_again);
    tcase_add_test(tcase, vanished_client_is_zero_and_not_negative);
    tcase_add_test(tcase, lost_client_is_idle_until_it_is_seen_again);
    tcase_add_test(tcase, time_that_does_not_fit_an_interval_is_carried_into_the_next);
    tcase_add_test(tcase, jump_of_hours_is_busy_for_two_intervals_only);
    tcase_add_test(tcase, cycles_are_a_share_of_the_total_whatever_the_time);
    tcase_add_test(tcase, total_that_stands_still_with_the_cycles_is_idle_and_not_full);
    tcase_add_test(tcase, cycles_against_a_total_that_stands_still_are_unmeasured);
    tcase_add_test(tcase, cycles_with_a_highest_clock_are_a_share_of_it);
    tcase_add_test(tcase, cycles_without_a_clock_take_the_device_s);
    tcase_add_test(tcase, cycles_with_the_present_clock_only_take_that);
    tcase_add_test(tcase, cycles_of_an_unknown_clock_are_unmeasured_and_not_idle);
    tcase_add_test(tcase, of_both_kinds_the_one_that_moves_is_believed);
    tcase_add_test(tcase, engine_that_appears_later_begins_to_count_then);
    tcase_add_test(tcase, file_with_malformed_lines_is_unmeasured);
    tcase_add_test(tcase, reading_too_soon_after_the_last_is_ignored);
    tcase_add_test(tcase, time_of_the_last_move_is_known);
    tcase_add_test(tcase, more_clients_than_the_table_takes_are_counted);
    tcase_add_test(tcase, want_of_memory_is_reported);
    tcase_add_test(tcase, list_has_the_busiest_first_and_the_rest_in_the_last);
    tcase_add_test(tcase, list_of_few_has_each_and_no_sum);
    add_walk(tcase);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
