/* A message of sotto-sense is believed if it can be true, and refused whole if not. */
#include "base/clean.h"
#include "reported.h"
#include "unit.h"
#include <string.h>

static const struct reported_source zones[] = { { 1, HEAT, "zone gpu" }, { 2, HEAT, "zone cpu" } };

/* Makes a machine state with two zones, of which the first was read. */
static void begin(struct reported *reported)
{
    reported_init(reported);
    ck_assert_int_eq(reported_inventory(reported, zones, 2, 0), MACHINE_TAKEN);
    ck_assert_int_eq(reported_reading(reported, 1, 45000), MACHINE_TAKEN);
}

static void is_lie(const struct reported *reported, int outcome, const char *words)
{
    ck_assert_int_eq(outcome, MACHINE_LIE);
    ck_assert_msg(strstr(reported->diag.text, words) != NULL, "\"%s\" is not in \"%s\"", words, reported->diag.text);
}

START_TEST(a_reading_is_kept_with_its_time)
{
    static struct reported reported;

    begin(&reported);

    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.value, 45000);
    ck_assert_uint_eq(reported_find(&reported, "zone gpu")->now.at_us, reported.now_us);
    ck_assert(!reported_find(&reported, "zone cpu")->was_read);
}
END_TEST

START_TEST(another_build_is_refused)
{
    static struct reported reported;
    Sotto__Sense__Inventory inventory = SOTTO__SENSE__INVENTORY__INIT;

    reported_init(&reported);

    is_lie(&reported, machine_state_inventory(&reported.machine, &inventory, REPORTED_BUILD, &reported.diag),
           "install both of one");
    ck_assert(!reported.machine.has_inventory);
}
END_TEST

START_TEST(an_inventory_that_can_not_be_changes_nothing)
{
    static struct reported reported;
    static struct reported_source many[129];

    begin(&reported);
    for (uint32_t i = 0; i < COUNTOF(many); i++) {
        many[i] = (struct reported_source){ i + 10, HEAT, "zone" };
    }

    is_lie(&reported, reported_inventory(&reported, &(struct reported_source){ 0, HEAT, "x" }, 1, 0), "by no number");
    is_lie(&reported, reported_inventory(&reported, &(struct reported_source){ 9, 99, "x" }, 1, 0), "quantity");
    is_lie(&reported, reported_inventory(&reported, &(struct reported_source){ 1, POWER, "x" }, 1, 0), "another one");
    is_lie(&reported,
           reported_inventory(&reported, (struct reported_source[]){ { 9, HEAT, "x" }, { 9, HEAT, "y" } }, 2, 0),
           "twice");
    is_lie(&reported, reported_inventory(&reported, many, COUNTOF(many), 0), "more sources");
    ck_assert_uint_eq(reported.machine.n_sources, 2);
    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.value, 45000);
}
END_TEST

START_TEST(a_number_that_was_given_up_is_not_used_again)
{
    static struct reported reported;

    begin(&reported);
    ck_assert_int_eq(reported_inventory(&reported, &zones[0], 1, 0), MACHINE_TAKEN);

    is_lie(&reported, reported_inventory(&reported, zones, 2, 0), "another one");
}
END_TEST

START_TEST(a_sample_that_can_not_be_changes_nothing)
{
    static struct reported reported;
    uint64_t now_us;

    begin(&reported);
    now_us = reported.now_us;

    is_lie(&reported, reported_reading(&reported, 7, 1), "has not named");
    is_lie(&reported, reported_reading(&reported, 0, 1), "has not named");
    is_lie(&reported, reported_state(&reported, 1, 9, 1), "a state that there is not");
    is_lie(&reported, reported_reading(&reported, 1, INT64_MIN), "can't be");
    reported.now_us = now_us - 5000;
    is_lie(&reported, reported_reading(&reported, 2, 1), "time is not ours");
    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.value, 45000);
    ck_assert(!reported_find(&reported, "zone cpu")->was_read);
}
END_TEST

START_TEST(every_quantity_of_the_schema_is_known)
{
    for (unsigned i = 0; i < sotto__sense__quantity__descriptor.n_values; i++) {
        const ProtobufCEnumValue *value = &sotto__sense__quantity__descriptor.values[i];

        ck_assert_msg(strcmp(machine_quantity_name((Sotto__Sense__Quantity)value->value), "unknown") != 0,
                      "machine_state.c has no row for %s", value->name);
    }
}
END_TEST

START_TEST(every_quantity_has_its_bounds)
{
    static const struct {
        int quantity;
        int64_t good;
        int64_t bad;
    } rows[] = {
        { LOAD, 1000, 1001 },   { HEAT, -30000, -273151 }, { POWER, 20000, -1 },
        { CLOCK, 1000000, -1 }, { PRESSURE, 0, 1001 },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        static struct reported reported;

        reported_init(&reported);
        reported_inventory(&reported, &(struct reported_source){ 1, rows[i].quantity, "x" }, 1, 0);

        ck_assert_int_eq(reported_reading(&reported, 1, rows[i].good), MACHINE_TAKEN);
        is_lie(&reported, reported_reading(&reported, 1, rows[i].bad), "can't be");
    }
}
END_TEST

START_TEST(readings_from_the_future_repeated_or_backward_are_refused)
{
    static struct reported reported;
    Sotto__Sense__Sample sample = SOTTO__SENSE__SAMPLE__INIT;
    Sotto__Sense__Reading reading = SOTTO__SENSE__READING__INIT;
    Sotto__Sense__Reading *readings[] = { &reading, &reading };

    begin(&reported);
    reading.source = 1;
    sample.at_us = reported.now_us;
    sample.readings = readings;
    sample.n_readings = 1;

    reading.at_us = reported.now_us + 1;
    is_lie(&reported, machine_state_sample(&reported.machine, &sample, reported.now_us, &reported.diag), "future");
    diag_clear(&reported.diag);
    reading.at_us = reported.now_us - 1;
    is_lie(&reported, machine_state_sample(&reported.machine, &sample, reported.now_us, &reported.diag), "backward");
    diag_clear(&reported.diag);
    reading.at_us = reported.now_us;
    sample.n_readings = 2;
    is_lie(&reported, machine_state_sample(&reported.machine, &sample, reported.now_us, &reported.diag), "twice");
    diag_clear(&reported.diag);
    sample.at_us = reported.now_us + 1;
    is_lie(&reported, machine_state_sample(&reported.machine, &sample, reported.now_us, &reported.diag), "not ours");
}
END_TEST

START_TEST(clients_are_bounded_in_number_and_share)
{
    static struct reported reported;
    static struct reported_client many[65];

    begin(&reported);

    is_lie(&reported, reported_clients(&reported, many, 65), "more clients");
    is_lie(&reported, reported_clients(&reported, &(struct reported_client){ .graphics = 1001 }, 1), "more than all");
    ck_assert_int_eq(reported_clients(&reported, many, 64), MACHINE_TAKEN);
}
END_TEST

START_TEST(what_was_reported_before_the_inventory_is_a_lie)
{
    static struct reported reported;

    reported_init(&reported);

    is_lie(&reported, reported_reading(&reported, 1, 1), "before it has named");
}
END_TEST

START_TEST(a_source_that_counted_is_remembered_when_it_goes_and_goes_on_when_it_comes_back)
{
    static struct reported reported;

    begin(&reported);
    ck_assert_int_eq(reported_inventory(&reported, &zones[1], 1, 0), MACHINE_TAKEN);
    machine_state_sweep(&reported.machine, false);
    ck_assert_ptr_nonnull(reported_find(&reported, "zone gpu"));
    ck_assert_uint_eq(reported_find(&reported, "zone gpu")->id, 0);
    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.state, SOTTO__SENSE__STATE__STATE_ABSENT);

    ck_assert_int_eq(reported_inventory(&reported, (struct reported_source[]){ zones[1], { 3, HEAT, "zone gpu" } }, 2,
                                        0),
                     MACHINE_TAKEN);

    ck_assert_uint_eq(reported_find(&reported, "zone gpu")->id, 3);
    ck_assert(reported_find(&reported, "zone gpu")->was_ok);
    ck_assert_uint_eq(reported.machine.n_sources, 2);
}
END_TEST

START_TEST(a_source_that_never_counted_is_forgotten_and_all_are_on_demand)
{
    static struct reported reported;

    begin(&reported);
    reported_inventory(&reported, &zones[0], 1, 0);
    machine_state_sweep(&reported.machine, false);
    ck_assert_ptr_null(reported_find(&reported, "zone cpu"));
    reported_inventory(&reported, NULL, 0, 0);

    machine_state_sweep(&reported.machine, true);

    ck_assert_uint_eq(reported.machine.n_sources, 0);
}
END_TEST

START_TEST(a_new_connection_begins_its_numbers_anew_and_keeps_what_is_known)
{
    static struct reported reported;

    begin(&reported);
    machine_state_restart(&reported.machine);

    ck_assert_int_eq(reported_inventory(&reported,
                                        (struct reported_source[]){ { 1, HEAT, "zone cpu" }, { 2, HEAT, "zone gpu" } },
                                        2, 0),
                     MACHINE_TAKEN);

    ck_assert_uint_eq(reported_find(&reported, "zone gpu")->id, 2);
    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.value, 45000);
    ck_assert_int_eq(reported_reading(&reported, 2, 46000), MACHINE_TAKEN);
    ck_assert_int_eq(reported_find(&reported, "zone gpu")->now.value, 46000);
}
END_TEST

START_TEST(a_reading_grows_stale_with_time_and_with_the_link)
{
    static struct reported reported;
    const struct machine_source *zone;

    begin(&reported);
    zone = reported_find(&reported, "zone gpu");

    ck_assert_int_eq(machine_state_state(zone, reported.now_us, MACHINE_OLD_US, true), SOTTO__SENSE__STATE__STATE_OK);
    ck_assert_int_eq(machine_state_state(zone, reported.now_us + MACHINE_OLD_US + 1, MACHINE_OLD_US, true),
                     SOTTO__SENSE__STATE__STATE_STALE);
    ck_assert_int_eq(machine_state_state(zone, reported.now_us, MACHINE_OLD_US, false),
                     SOTTO__SENSE__STATE__STATE_STALE);
}
END_TEST

START_TEST(the_history_holds_the_last_two_minutes_of_good_values)
{
    static struct reported reported;
    const struct machine_source *zone;

    begin(&reported);
    zone = reported_find(&reported, "zone gpu");
    for (int i = 0; i < 130; i++) {
        reported_reading(&reported, 1, 40000 + i);
        machine_state_tick(&reported.machine, reported.now_us, true);
    }
    machine_state_tick(&reported.machine, reported.now_us, false);

    ck_assert_uint_eq(zone->n_history, MACHINE_HISTORY);
    ck_assert_int_eq(zone->history[zone->history_at], 40010);
    ck_assert_int_eq(zone->history[(zone->history_at + MACHINE_HISTORY - 1) % MACHINE_HISTORY], 40129);
}
END_TEST

START_TEST(strange_bytes_of_a_name_are_mended)
{
    static struct reported reported;

    reported_init(&reported);
    reported_inventory(&reported, &(struct reported_source){ 1, HEAT, "a\n\x1b[31m\xff" }, 1, 0);

    ck_assert_str_eq(reported.machine.sources[0].name, "a\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd");
}
END_TEST

START_TEST(devices_that_change_are_counted)
{
    static struct reported reported;

    reported_init(&reported);
    reported_inventory(&reported, NULL, 0, 128);
    ck_assert_uint_eq(reported.machine.n_device_changes, 0);
    reported_inventory(&reported, NULL, 0, 128);
    ck_assert_uint_eq(reported.machine.n_device_changes, 0);

    reported_inventory(&reported, NULL, 0, 129);
    reported_inventory(&reported, NULL, 0, 0);

    ck_assert_uint_eq(reported.machine.n_device_changes, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("machine-state");
    TCase *facts = tcase_create("facts");

    tcase_add_test(facts, a_reading_is_kept_with_its_time);
    tcase_add_test(facts, another_build_is_refused);
    tcase_add_test(facts, an_inventory_that_can_not_be_changes_nothing);
    tcase_add_test(facts, a_number_that_was_given_up_is_not_used_again);
    tcase_add_test(facts, a_sample_that_can_not_be_changes_nothing);
    tcase_add_test(facts, every_quantity_of_the_schema_is_known);
    tcase_add_test(facts, every_quantity_has_its_bounds);
    tcase_add_test(facts, readings_from_the_future_repeated_or_backward_are_refused);
    tcase_add_test(facts, clients_are_bounded_in_number_and_share);
    tcase_add_test(facts, what_was_reported_before_the_inventory_is_a_lie);
    tcase_add_test(facts, a_source_that_counted_is_remembered_when_it_goes_and_goes_on_when_it_comes_back);
    tcase_add_test(facts, a_source_that_never_counted_is_forgotten_and_all_are_on_demand);
    tcase_add_test(facts, a_new_connection_begins_its_numbers_anew_and_keeps_what_is_known);
    tcase_add_test(facts, a_reading_grows_stale_with_time_and_with_the_link);
    tcase_add_test(facts, the_history_holds_the_last_two_minutes_of_good_values);
    tcase_add_test(facts, strange_bytes_of_a_name_are_mended);
    tcase_add_test(facts, devices_that_change_are_counted);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
