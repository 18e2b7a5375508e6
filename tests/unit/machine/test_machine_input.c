/* Unknown is never idle and never cool; nothing is protected only where nothing is there. */
#include "reported.h"
#include "unit.h"
#include <stdio.h>

static void fill(const struct reported *reported, const struct machine_view *view, struct governor_input *ret_input)
{
    *ret_input = (struct governor_input){ 0 };
    machine_input_fill(&reported->machine, view, ret_input);
}

START_TEST(without_protection_every_quantity_is_none)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, HEAT, "zone gpu" }, 1, 128);
    view = reported_view(&reported);
    view.is_wanted = false;

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_NONE);
    ck_assert_int_eq(input.power.sight, GOVERNOR_NONE);
    ck_assert_uint_eq(input.n_zones, 0);
}
END_TEST

START_TEST(a_machine_that_has_nothing_has_nothing_to_protect)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, NULL, 0, 0);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_NONE);
    ck_assert_int_eq(input.power.sight, GOVERNOR_NONE);
    ck_assert_uint_eq(input.n_zones, 0);
}
END_TEST

START_TEST(before_sotto_sense_is_there_everything_is_blind_since_it_was_wanted)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    view = reported_view(&reported);
    view.is_alive = false;
    view.since_us = 777;
    view.now_us = 777 + MACHINE_OLD_US;

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.graphics.at_us, 777);
    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.zones[0].at_us, 777);
}
END_TEST

static enum governor_sight sight_at(struct reported *reported, uint64_t after_us)
{
    struct machine_view view = reported_view(reported);
    struct governor_input input;

    view.since_us = 1000000;
    view.now_us = view.since_us + after_us;
    fill(reported, &view, &input);
    return input.graphics.sight;
}

START_TEST(a_load_is_early_until_its_first_reading_and_lost_if_that_does_not_come)
{
    static const struct reported_source sources[] = { { 1, LOAD, "load", .tells_clients = false } };
    static struct reported reported;

    reported_init(&reported);
    ck_assert_int_eq(sight_at(&reported, 1500000), GOVERNOR_EARLY);
    reported_inventory(&reported, sources, 1, 128);
    ck_assert_int_eq(sight_at(&reported, 1500000), GOVERNOR_EARLY);
    reported_early(&reported, 1);
    ck_assert_int_eq(sight_at(&reported, 1500000), GOVERNOR_EARLY);
    ck_assert_int_eq(sight_at(&reported, MACHINE_OLD_US), GOVERNOR_BLIND);

    reported_state(&reported, 1, SOTTO__SENSE__STATE__STATE_FORBIDDEN, 0);
    ck_assert_int_eq(sight_at(&reported, 1500000), GOVERNOR_BLIND);
}
END_TEST

START_TEST(a_load_that_was_read_once_is_not_early_again)
{
    static const struct reported_source sources[] = { { 1, LOAD, "load", .tells_clients = false } };
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, sources, 1, 128);
    reported_reading(&reported, 1, 300);
    reported_early(&reported, 1);
    view = reported_view(&reported);
    view.since_us = view.now_us;

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.graphics.at_us, reported_find(&reported, "load")->now.at_us);
    ck_assert_uint_gt(input.graphics.at_us, 0);
}
END_TEST

START_TEST(a_gpu_without_a_source_of_load_is_untold)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, NULL, 0, 128);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_UNTOLD);
}
END_TEST

START_TEST(a_machine_whose_only_device_shows_pictures_has_no_graphics_to_stay_underneath)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, NULL, 0, 1);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_NONE);
}
END_TEST

static bool is_77(void *owner, uint32_t minor, uint64_t client, uint32_t pid)
{
    return pid == 77;
}

START_TEST(load_is_the_sum_of_all_others_on_our_device)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ .id = 1, LOAD, "fdinfo", .tells_clients = true }, 1, 128);
    reported_clients(&reported,
                     (struct reported_client[]){ { 128, 1, 10, 300, 50 },
                                                 { 128, 2, 11, 100, 0 },
                                                 { 128, 3, 77, 0, 500 }, /* an engine of ours */
                                                 { 129, 1, 12, 900, 0 } },
                     4);
    reported_reading(&reported, 1, 900);
    view = reported_view(&reported);
    view.is_ours = is_77;

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_SEEN);
    ck_assert_uint_eq(input.graphics.busy_permille, 450);
}
END_TEST

START_TEST(the_sum_is_never_more_than_the_whole)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ .id = 1, LOAD, "fdinfo", .tells_clients = true }, 1, 128);
    reported_clients(&reported, (struct reported_client[]){ { 128, 1, 10, 900, 900 }, { 128, 2, 11, 900, 0 } }, 2);
    reported_reading(&reported, 1, 900);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.graphics.busy_permille, 1000);
}
END_TEST

START_TEST(where_clients_are_not_reported_apart_the_value_stands)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, LOAD, "pvr status" }, 1, 128);
    reported_reading(&reported, 1, 620);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.graphics.busy_permille, 620);
}
END_TEST

START_TEST(a_load_that_has_stopped_is_blind_from_its_last_moment_on)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, LOAD, "pvr status" }, 1, 128);
    reported_reading(&reported, 1, 0);
    view = reported_view(&reported);
    view.now_us += 500001;

    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.graphics.at_us, reported.now_us);
}
END_TEST

START_TEST(the_clock_is_scaled_by_the_highest_that_was_seen)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, CLOCK, "devfreq" }, 1, 128);
    reported_reading(&reported, 1, 800000);
    reported_reading(&reported, 1, 200000);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.graphics.cur_hz, 200000000);
    ck_assert_uint_eq(input.graphics.max_hz, 800000000);
}
END_TEST

START_TEST(zones_in_use_are_seen_with_their_trips)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported,
                       (struct reported_source[]){ { .id = 1, HEAT, "zone gpu", .passive_mc = 85000 },
                                                   { .id = 2, HEAT, "zone battery", .is_spare = true } },
                       2, 0);
    reported_reading(&reported, 1, 61000);
    reported_reading(&reported, 2, 30000);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_SEEN);
    ck_assert_int_eq(input.zones[0].temp_mc, 61000);
    ck_assert_int_eq(input.zones[0].passive_mc, 85000);
    ck_assert_int_eq(input.zones[0].critical_mc, GOVERNOR_NO_TRIP);
}
END_TEST

START_TEST(zones_that_the_configuration_names_count_and_no_others)
{
    static const char *const patterns[] = { "GPU*" };
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported,
                       (struct reported_source[]){ { .id = 1, HEAT, "zone gpu-thermal", .is_spare = true },
                                                   { .id = 2, HEAT, "zone cpu-thermal" } },
                       2, 0);
    reported_reading(&reported, 1, 61000);
    reported_reading(&reported, 2, 70000);
    view = reported_view(&reported);
    view.zones = patterns;
    view.n_zones = 1;

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].temp_mc, 61000);
}
END_TEST

START_TEST(of_too_many_zones_those_with_the_lowest_limits_count)
{
    static struct reported_source sources[40];
    static char names[40][16];
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    for (uint32_t i = 0; i < 40; i++) { /* the last ones are nearest to their limits; the first has none */
        snprintf(names[i], sizeof(names[i]), "zone %u", i);
        sources[i] = (struct reported_source){ .id = i + 1, .quantity = HEAT, .name = names[i] };
        sources[i].passive_mc = i == 0 ? 0 : 110000 - 1000 * (int32_t)i;
    }
    reported_init(&reported);
    reported_inventory(&reported, sources, 40, 128);
    for (uint32_t i = 0; i < 40; i++) {
        reported_reading(&reported, i + 1, 40000);
    }
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, GOVERNOR_ZONES_MAX);
    ck_assert_int_eq(input.zones[0].passive_mc, 86000);
    ck_assert_int_eq(input.zones[GOVERNOR_ZONES_MAX - 1].passive_mc, 71000);
}
END_TEST

START_TEST(a_zone_that_is_demanded_and_not_there_is_blind)
{
    static const char *const patterns[] = { "npu*" };
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, HEAT, "zone gpu" }, 1, 0);
    reported_reading(&reported, 1, 61000);
    view = reported_view(&reported);
    view.zones = patterns;
    view.n_zones = 1;

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_BLIND);
}
END_TEST

START_TEST(a_zone_that_never_spoke_counts_only_where_no_other_does)
{
    static const struct reported_source zones[] = { { 1, HEAT, "zone wifi" }, { 2, HEAT, "zone gpu" } };
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, zones, 2, 0);
    reported_state(&reported, 1, SOTTO__SENSE__STATE__STATE_ABSENT, 0);
    view = reported_view(&reported);
    fill(&reported, &view, &input);
    ck_assert_uint_eq(input.n_zones, 2);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_BLIND);

    reported_reading(&reported, 2, 50000);
    view = reported_view(&reported);
    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].temp_mc, 50000);
}
END_TEST

START_TEST(what_was_there_and_is_gone_is_blind)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;
    uint64_t seen_us;

    reported_init(&reported);
    reported_inventory(&reported, (struct reported_source[]){ { 1, HEAT, "zone gpu" }, { 2, LOAD, "fdinfo" } }, 2, 0);
    reported_reading(&reported, 1, 61000);
    seen_us = reported.now_us;
    reported_reading(&reported, 2, 100);
    reported_inventory(&reported, NULL, 0, 0);
    machine_state_sweep(&reported.machine, false);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.n_zones, 1);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.zones[0].at_us, seen_us);
    ck_assert_int_eq(input.graphics.sight, GOVERNOR_BLIND);
}
END_TEST

START_TEST(a_dead_link_blinds_everything_that_was_seen)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported,
                       (struct reported_source[]){ { 1, HEAT, "zone" }, { 2, LOAD, "load" }, { 3, POWER, "power" } }, 3,
                       128);
    reported_reading(&reported, 1, 50000);
    reported_reading(&reported, 2, 0);
    reported_reading(&reported, 3, 5000);
    view = reported_view(&reported);
    fill(&reported, &view, &input);
    ck_assert_int_eq(input.power.sight, GOVERNOR_SEEN);
    ck_assert_uint_eq(input.power.mw, 5000);

    view.is_alive = false;
    fill(&reported, &view, &input);

    ck_assert_int_eq(input.graphics.sight, GOVERNOR_BLIND);
    ck_assert_int_eq(input.zones[0].sight, GOVERNOR_BLIND);
    ck_assert_int_eq(input.power.sight, GOVERNOR_BLIND);
}
END_TEST

START_TEST(the_device_is_the_one_that_the_inventory_marks_as_ours)
{
    static struct reported reported;

    reported_init(&reported);
    reported.machine.n_devices = 2;
    reported.machine.devices[0] = (struct machine_device){ .minor = 0, .has_display = true };
    reported.machine.devices[1] = (struct machine_device){ .minor = 128 };

    ck_assert_uint_eq(machine_input_minor(&reported.machine), UINT32_MAX);
    reported.machine.devices[1].is_ours = true;
    ck_assert_uint_eq(machine_input_minor(&reported.machine), 128);
    reported.machine.n_devices = 0;
    ck_assert_uint_eq(machine_input_minor(&reported.machine), UINT32_MAX);
}
END_TEST

START_TEST(the_cooling_device_that_is_in_deepest_tells_of_the_throttle)
{
    static const struct reported_source cooling[] = { { .id = 1, THROTTLE, "cooling gpu0", .most = 10 },
                                                      { .id = 2, THROTTLE, "cooling gpu1", .most = 3 },
                                                      { .id = 3, THROTTLE, "cooling other", .is_spare = true } };
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, cooling, 3, 0);
    view = reported_view(&reported);
    fill(&reported, &view, &input);
    ck_assert_int_eq(input.throttle.sight, GOVERNOR_NONE);

    reported_reading(&reported, 1, 4);
    reported_reading(&reported, 2, 2);
    reported_reading(&reported, 3, 9);
    view = reported_view(&reported);
    fill(&reported, &view, &input);

    ck_assert_int_eq(input.throttle.sight, GOVERNOR_SEEN);
    ck_assert_uint_eq(input.throttle.state, 2);
    ck_assert_uint_eq(input.throttle.most, 3);
}
END_TEST

START_TEST(a_cooling_device_of_unknown_depth_is_not_as_deep_as_it_was_seen)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, THROTTLE, "cooling gpu" }, 1, 0);
    reported_reading(&reported, 1, 5);
    view = reported_view(&reported);

    fill(&reported, &view, &input);

    ck_assert_uint_eq(input.throttle.state, 5);
    ck_assert_uint_eq(input.throttle.most, 0);
}
END_TEST

START_TEST(a_throttle_that_fails_to_be_read_is_blind_with_its_last_state)
{
    static struct reported reported;
    struct governor_input input;
    struct machine_view view;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ .id = 1, THROTTLE, "cooling gpu", .most = 3 }, 1, 0);
    reported_reading(&reported, 1, 2);
    reported_state(&reported, 1, SOTTO__SENSE__STATE__STATE_ABSENT, 0);
    view = reported_view(&reported);
    fill(&reported, &view, &input);
    ck_assert_int_eq(input.throttle.sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.throttle.state, 2);

    reported_inventory(&reported, NULL, 0, 0);
    machine_state_sweep(&reported.machine, false);
    fill(&reported, &view, &input);
    ck_assert_int_eq(input.throttle.sight, GOVERNOR_BLIND);
    ck_assert_uint_eq(input.throttle.state, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine-input");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, without_protection_every_quantity_is_none);
    tcase_add_test(facts, a_machine_that_has_nothing_has_nothing_to_protect);
    tcase_add_test(facts, before_sotto_sense_is_there_everything_is_blind_since_it_was_wanted);
    tcase_add_test(facts, a_load_is_early_until_its_first_reading_and_lost_if_that_does_not_come);
    tcase_add_test(facts, a_load_that_was_read_once_is_not_early_again);
    tcase_add_test(facts, a_gpu_without_a_source_of_load_is_untold);
    tcase_add_test(facts, a_machine_whose_only_device_shows_pictures_has_no_graphics_to_stay_underneath);
    tcase_add_test(facts, load_is_the_sum_of_all_others_on_our_device);
    tcase_add_test(facts, the_sum_is_never_more_than_the_whole);
    tcase_add_test(facts, where_clients_are_not_reported_apart_the_value_stands);
    tcase_add_test(facts, a_load_that_has_stopped_is_blind_from_its_last_moment_on);
    tcase_add_test(facts, the_clock_is_scaled_by_the_highest_that_was_seen);
    tcase_add_test(facts, zones_in_use_are_seen_with_their_trips);
    tcase_add_test(facts, zones_that_the_configuration_names_count_and_no_others);
    tcase_add_test(facts, of_too_many_zones_those_with_the_lowest_limits_count);
    tcase_add_test(facts, a_zone_that_is_demanded_and_not_there_is_blind);
    tcase_add_test(facts, a_zone_that_never_spoke_counts_only_where_no_other_does);
    tcase_add_test(facts, what_was_there_and_is_gone_is_blind);
    tcase_add_test(facts, a_dead_link_blinds_everything_that_was_seen);
    tcase_add_test(facts, the_device_is_the_one_that_the_inventory_marks_as_ours);
    tcase_add_test(facts, the_cooling_device_that_is_in_deepest_tells_of_the_throttle);
    tcase_add_test(facts, a_cooling_device_of_unknown_depth_is_not_as_deep_as_it_was_seen);
    tcase_add_test(facts, a_throttle_that_fails_to_be_read_is_blind_with_its_last_state);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
