/*
 * The configuration: errors and their sentences, where settings are stored, comparisons.
 */
#include "base/clean.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/config_keys.h"
#include "unit.h"
#include <string.h>

/* The first sentence, and how many there were. */
struct report {
    char first[DIAG_BYTES];
    char all[8192];
    unsigned n;
};

static void on_sentence(void *owner, const char *sentence)
{
    struct report *report = owner;

    if (!report->n++) {
        snprintf(report->first, sizeof(report->first), "%s", sentence);
    }
    strncat(report->all, sentence, sizeof(report->all) - strlen(report->all) - 1);
    strncat(report->all, "\n", sizeof(report->all) - strlen(report->all) - 1);
}

static struct config *parse(const char *text, struct report *report)
{
    struct config *config = NULL;
    int r;

    memset(report, 0, sizeof(*report));
    r = config_parse(&config, "c.json", text, strlen(text), NULL, on_sentence, report);
    ck_assert_int_eq(r, config ? CONFIG_OK : CONFIG_REFUSED);
    ck_assert_int_eq(config == NULL, report->n > 0);
    return config;
}

/* ---- refusals: each text and what its first sentence must hold */

#define X8   "xxxxxxxx"
#define X64  X8 X8 X8 X8 X8 X8 X8 X8
#define X512 X64 X64 X64 X64 X64 X64 X64 X64

static const struct refusal {
    const char *text;
    const char *expected[4];
} refusals[] = {
    { "", { "c.json: the file is empty", "{}" } },
    { "  \n ", { "the file is empty" } },
    { "{", { "c.json:1:", "not valid JSON" } },
    { "{\n\n\"socket\" 3}", { "c.json:3:", "not valid JSON" } },
    { "{} {}", { "not valid JSON" } },
    { "\xEF\xBB\xBF{}", { "c.json:1:1: begins with a byte order mark; save it as UTF-8 without one" } },
    { "{\n// models\n}", { "c.json:2:", "comments are not allowed in JSON; remove this one" } },
    { "{ # models\n}", { "comments are not allowed" } },
    { "{ /* models */ }", { "comments are not allowed" } },
    { "[]", { "c.json:1: an array is not allowed", "an object" } },
    { "{\"socket\": \"/a\",\n \"socket\": \"/b\"}", { "c.json:2:", "duplicate", "socket" } },
    { "{\n \"sockets\": \"/a\"}", { "c.json:2: sockets: unknown setting", "did you mean \"socket\"?" } },
    { "{\"colour\": 1}", { "c.json:1: colour: unknown setting", "socket, socket_group, models, policy, daemon" } },
    { "{\"socket\": 7}", { "socket: the number 7 is not allowed", "an absolute path" } },
    { "{\"socket\": \"run/s\"}", { "socket: the text \"run/s\" is not allowed", "an absolute path" } },
    { "{\"socket\": null}", { "socket: null is not allowed" } },
    { "{\"daemon\": []}", { "daemon: an array is not allowed" } },
    { "{\"daemon\": {\"stop_grace\": 10}}",
      { "daemon.stop_grace: the number 10 is not allowed", "with a unit (ms, s, min, h)" } },
    { "{\"daemon\": {\"stop_grace\": \"10\"}}", { "daemon.stop_grace: the text \"10\" is not allowed", "unit" } },
    { "{\"daemon\": {\"stop_grace\": \"10 ms\"}}", { "daemon.stop_grace" } },
    { "{\"daemon\": {\"stop_grace\": \"-1s\"}}", { "daemon.stop_grace" } },
    { "{\"daemon\": {\"stop_grace\": \"6s\"}}", { "daemon.stop_grace", "from \"0ms\" to \"5s\"" } },
    { "{\"daemon\": {\"step_watchdog\": \"99999999999999999999s\"}}", { "daemon.step_watchdog" } },
    { "{\"daemon\": {\"wire_bytes_a_uid\": \"16MB\"}}", { "daemon.wire_bytes_a_uid", "KiB, MiB" } },
    { "{\"daemon\": {\"wire_bytes_a_uid\": 16777216}}", { "daemon.wire_bytes_a_uid", "a size" } },
    { "{\"daemon\": {\"restart_pauses\": [\"1s\"]}}", { "daemon.restart_pauses: an array is not allowed", "3 times" } },
    { "{\"daemon\": {\"restart_pauses\": [\"1s\", \"2s\", 3]}}", { "daemon.restart_pauses" } },
    { "{\"sense\": {\"start\": \"always\"}}", { "sense.start", "auto|child|socket|never" } },
    { "{\"sense\": {\"zones\": \"gpu*\"}}", { "sense.zones: the text", "an array of at most 32 texts" } },
    { "{\"sense\": {\"zones\": [\"gpu*\", 3]}}", { "sense.zones: an array is not allowed" } },
    { "{\"sense\": {\"zones\": [\"\"]}}", { "sense.zones" } },
    { "{\"sense\": {\"scales\": [\"batt*=1000\", \"x=0\"]}}",
      { "sense.scales[1]: \"x=0\" is not a scale; expected PATTERN=FACTOR, with a factor from 0.001 to 1e+06" } },
    { "{\"sense\": {\"scales\": [\"=3\"]}}", { "sense.scales[0]" } },
    { "{\"sense\": {\"scales\": [\"x=nan\"]}}", { "sense.scales[0]" } },
    { "{\"sense\": {\"root\": \"/t\", \"socket\": \"/s\"}}", { "sense.root: is for a child" } },
    { "{\"sense\": {\"root\": \"/t\", \"start\": \"socket\"}}", { "sense.root: is for a child" } },
    { "{\"sense\": {\"socket\": \"/s\", \"start\": \"child\"}}", { "sense.socket: is not used" } },
    { "{\"device\": {\"node\": \"/" X512 "\"}}", { "device.node: has 513 bytes; the limit for this path is 511" } },
    { "{\"device\": {\"root\": \"/" X512 "\"}}", { "device.root: has 513 bytes" } },
    { "{\"sense\": {\"root\": \"/" X512 "\"}}", { "sense.root: has 513 bytes" } },
    { "{\"sense\": {\"user\": \"nobody-of-that-name\"}}", { "sense.user: this system has no user" } },
    { "{\"daemon\": {\"connections\": 0}}", { "daemon.connections: the number 0 is not allowed", "from 1 to 4096" } },
    { "{\"daemon\": {\"connections\": 1.5}}", { "daemon.connections: the number 1.5 is not allowed" } },
    { "{\"daemon\": {\"connections\": \"5\"}}", { "daemon.connections: the text \"5\"" } },
    { "{\"daemon\": {\"connections\": 8, \"connections_a_uid\": 9}}", { "daemon: has more connections_a_uid" } },
    { "{\"daemon\": {\"guard_allocations\": 1}}", { "daemon.guard_allocations", "true or false" } },
    { "{\"governor\": {\"target_c\": 20}}", { "governor.target_c: the number 20 is not allowed", "from 30 to 125" } },
    { "{\"governor\": {\"target_c\": \"85\"}}", { "governor.target_c: the text \"85\"" } },
    { "{\"governor\": {\"frame_ms\": 16.66666}}", { "governor.frame_ms", "no finer than 0.001" } },
    { "{\"governor\": {\"headroom\": 10}}", { "governor.headroom", "from 0.001 to 0.9" } },
    { "{\"governor\": {\"heat_grace\": 3}}", { "governor.heat_grace", "a time" } },
    { "{\"governor\": {\"heat_grace\": \"1s\"}}", { "governor.heat_grace", "2s" } },
    { "{\"governor\": {\"slice_ms\": 9, \"idle_slice_ms\": 3}}", { "governor: has a slice_ms above" } },
    { "{\"energy\": {\"idle_w\": 3}}", { "energy: needs an active_w above idle_w" } },
    { "{\"energy\": {\"idle_w\": 3, \"active_w\": 3}}", { "energy: needs an active_w" } },
    { "{\"models\": []}", { "models: an array is not allowed" } },
    { "{\"models\": {\"a b\": {\"file\": \"/m\"}}}", { "models.a b: is not a model name; expected 1 to 64" } },
    { "{\"models\": {\"a\": {}}}", { "models.a: has no \"file\"" } },
    { "{\"models\": {\"a\": 3}}", { "models.a: the number 3 is not allowed" } },
    { "{\"models\":\n {\"a\": {\"file\": \"/m\",\n \"contxt\": 3}}}",
      { "c.json:3: models.a.contxt", "did you mean \"context\"?" } },
    { "{\"models\": {\"a\": {\"file\": \"m.gguf\"}}}", { "models.a.file", "an absolute path" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"context\": -1}}}", { "models.a.context: the number -1" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"kv_bytes\": 4096}}}",
      { "models.a.kv_bytes: the number 4096", "a size" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"backend\": \"gpu\"}}}",
      { "models.a.backend", "one of cpu|truth|fake" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"backend\": \"cpu|truth\"}}}", { "models.a.backend" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"backend\": \"fake\"}}}",
      { "models.a: has the backend \"fake\" but no" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"fake_script\": \"/s\"}}}", { "models.a: has a \"fake_script\"" } },
    { "{\"models\": {\"a\": {\"file\": \"/m\", \"default\": true}, \"b\": {\"file\": \"/m\", \"default\": "
      "true}}}",
      { "models: both a and b are the default" } },
    { "{\"policy\": {}}", { "policy: an object is not allowed" } },
    { "{\"policy\": [3]}", { "policy[0]: the number 3 is not allowed" } },
    { "{\"policy\": [{\"weight\": 3}]}", { "policy[0]: has no condition" } },
    { "{\"policy\": [{\"uid\": 1},\n {\"uid\": -5}]}", { "c.json:2: policy[1].uid: the number -5" } },
    { "{\"policy\": [{\"user\": \"no-such-user-here\"}]}", { "policy[0].user: this system has no user" } },
    { "{\"policy\": [{\"group\": \"no-such-group-here\"}]}", { "policy[0].group: this system has no group" } },
    { "{\"policy\": [{\"uid\": 0, \"user\": \"root\"}]}", { "policy[0]: names one account twice" } },
    { "{\"policy\": [{\"anyone\": true, \"uid\": 7}]}", { "policy[0]: has \"anyone\" beside another condition" } },
    { "{\"policy\": [{\"anyone\": true}, {\"uid\": 7}]}", { "policy[1]: never applies" } },
    { "{\"policy\": [{\"uid\": 7, \"class_ceiling\": \"voice\"}]}",
      { "policy[0].class_ceiling: the text \"voice\"", "background|interactive|realtime" } },
    { "{\"policy\": [{\"uid\": 7, \"class_default\": \"realtime\"}]}", { "policy[0].class_default: is above" } },
    { "{\"policy\": [{\"uid\": 7, \"streams\": 0}]}", { "policy[0].streams" } },
    { "{\"policy\": [{\"uid\": 7, \"admin\": \"yes\"}]}", { "policy[0].admin", "true or false" } },
};

START_TEST(errors_are_reported_with_line_path_value_and_what_is_expected)
{
    struct report report;
    struct config *config = parse(refusals[_i].text, &report);

    ck_assert_msg(!config, "accepted: %s", refusals[_i].text);

    for (size_t k = 0; k < COUNTOF(refusals[_i].expected) && refusals[_i].expected[k]; k++) {
        ck_assert_msg(strstr(report.first, refusals[_i].expected[k]), "%s\nsays: %s\nnot: %s", refusals[_i].text,
                      report.first, refusals[_i].expected[k]);
    }
}
END_TEST

START_TEST(an_empty_object_is_a_complete_configuration)
{
    struct report report;
    struct config *config = parse("{}", &report);

    ck_assert_ptr_nonnull(config);
    ck_assert_ptr_null(config->socket);
    ck_assert_uint_eq(config->n_models, 0);
    ck_assert_uint_eq(config->daemon.n_conns, 256);
    ck_assert_uint_eq(config->daemon.stop_grace_ms, 3000);
    config_destroy(config);
}
END_TEST

START_TEST(every_setting_is_stored_in_its_field)
{
    struct report report;
    struct config *config = parse("{\"socket\": \"/run/x\", \"socket_group\": \"root\","
                                  " \"daemon\": {\"stop_grace\": \"500ms\", \"load_stall\": \"2min\", "
                                  "\"restart_pauses\": [\"1ms\", \"2s\", \"1h\"],"
                                  "  \"connections\": 10, \"connections_a_uid\": 5, \"wire_bytes_a_uid\": "
                                  "\"8MiB\", \"guard_allocations\": true},"
                                  " \"models\": {\"a\": {\"file\": \"/a\"}, \"b\": {\"file\": \"/b\", "
                                  "\"backend\": \"fake\", \"fake_script\": \"/s\","
                                  "  \"kv_format\": \"f32\", \"kv_bytes\": \"2GiB\", \"context\": 2048, "
                                  "\"threads\": 3, \"sequences\": 4,"
                                  "  \"step_rows\": 5, \"share_prefixes\": false, \"load\": true, \"default\": true}}}",
                                  &report);

    ck_assert_msg(config, "%s", report.all);
    ck_assert_str_eq(config->socket, "/run/x");
    ck_assert_str_eq(config->socket_group, "root");
    ck_assert_uint_eq(config->daemon.stop_grace_ms, 500);
    ck_assert_uint_eq(config->daemon.load_stall_ms, 120000);
    ck_assert_uint_eq(config->daemon.restart_pauses_ms[2], 3600000);
    ck_assert_uint_eq(config->daemon.wire_bytes_a_uid, 8u << 20);
    ck_assert(config->daemon.guard_allocations);
    ck_assert_uint_eq(config->n_models, 2);
    ck_assert_str_eq(config->models[0].backend, "cpu");
    ck_assert_str_eq(config->models[0].kv_format, "f16");
    ck_assert(!config->models[0].is_default && config->models[0].share_prefixes);
    ck_assert_str_eq(config->models[1].name, "b");
    ck_assert_uint_eq(config->models[1].kv_bytes, UINT64_C(2) << 30);
    ck_assert_uint_eq(config->models[1].n_step_rows, 5);
    ck_assert(config->models[1].is_default && config->models[1].load_at_start);
    ck_assert(!config->models[1].share_prefixes);
    config_destroy(config);
}
END_TEST

START_TEST(settings_of_the_governor_are_stored_in_thousandths)
{
    struct report report;
    struct config *config =
        parse("{\"governor\": {\"target_c\": 82.5, \"frame_ms\": 16.667, \"slice_ms\": 1.5, \"idle_slice_ms\": 8,"
              " \"headroom\": 0.2, \"min_share\": 0.05, \"power_w\": 6, \"heat_grace\": \"5s\","
              " \"graphics_grace\": \"2s\", \"cores_share\": true, \"trusts_blind\": true},"
              " \"energy\": {\"active_w\": 7.25, \"idle_w\": 2}}",
              &report);

    ck_assert_msg(config, "%s", report.all);
    ck_assert_int_eq(config->governor.target_mc, 82500);
    ck_assert_uint_eq(config->governor.frame_us, 16667);
    ck_assert_uint_eq(config->governor.max_slice_us, 1500);
    ck_assert_uint_eq(config->governor.idle_slice_us, 8000);
    ck_assert_uint_eq(config->governor.headroom_permille, 200);
    ck_assert_uint_eq(config->governor.min_share_permille, 50);
    ck_assert_uint_eq(config->governor.power_mw, 6000);
    ck_assert_uint_eq(config->governor.heat_grace_ms, 5000);
    ck_assert_uint_eq(config->governor.graphics_grace_ms, 2000);
    ck_assert(config->governor.cores_share && config->governor.trusts_blind);
    ck_assert_uint_eq(config->energy.active_mw, 7250);
    ck_assert_uint_eq(config->energy.idle_mw, 2000);
    config_destroy(config);
}
END_TEST

START_TEST(the_first_model_is_the_default_unless_stated)
{
    struct report report;
    struct config *config = parse("{\"models\": {\"z\": {\"file\": \"/z\"}, \"a\": {\"file\": \"/a\"}}}", &report);

    ck_assert(config->models[0].is_default);
    ck_assert_str_eq(config->models[0].name, "z");
    config_destroy(config);
}
END_TEST

START_TEST(all_errors_are_reported)
{
    struct report report;

    ck_assert_ptr_null(parse("{\"x\": 1, \"socket\": 2, \"daemon\": {\"connections\": \"a\"}}", &report));

    ck_assert_uint_eq(report.n, 3);
}
END_TEST

START_TEST(the_command_line_overrides_the_file)
{
    const struct config_extra_model models[] = { { "c", "/c" }, { "a", "/other" } };
    const struct config_extra extra = { .socket = "/from/line", .models = models, .n_models = 2 };
    const char *text =
        "{\"socket\": \"/x\", \"models\": {\"a\": {\"file\": \"/a\", \"default\": true, \"context\": 9}}}";
    struct report report = { .n = 0 };
    struct config *config = NULL;

    ck_assert_int_eq(config_parse(&config, "c.json", text, strlen(text), &extra, on_sentence, &report), CONFIG_OK);

    ck_assert_str_eq(config->socket, "/from/line");
    ck_assert_uint_eq(config->n_models, 2);
    ck_assert_str_eq(config->models[0].file, "/other");
    ck_assert_uint_eq(config->models[0].n_context, 9);
    ck_assert(!config->models[0].is_default);
    ck_assert_str_eq(config->models[1].name, "c");
    ck_assert(config->models[1].is_default && config->models[1].load_at_start);
    config_destroy(config);
}
END_TEST

START_TEST(a_missing_file_is_named)
{
    struct report report = { .n = 0 };
    struct config *config = NULL;

    ck_assert_int_eq(config_read(&config, "/nonexistent/sotto.json", NULL, on_sentence, &report), CONFIG_REFUSED);

    ck_assert_ptr_nonnull(strstr(report.first, "/nonexistent/sotto.json"));
}
END_TEST

START_TEST(a_folder_is_refused)
{
    struct report report = { .n = 0 };
    struct config *config = NULL;

    ck_assert_int_eq(config_read(&config, "/tmp", NULL, on_sentence, &report), CONFIG_REFUSED);

    ck_assert_ptr_nonnull(strstr(report.first, "/tmp: not a regular file"));
}
END_TEST

/* ---- comparing */

struct changes {
    char text[512];
};

static void note_change(void *owner, const char *path, bool restart)
{
    struct changes *changes = owner;
    size_t n = strlen(changes->text);

    snprintf(changes->text + n, sizeof(changes->text) - n, "%s%s%s", n ? " " : "", path, restart ? "!" : "");
}

START_TEST(settings_of_sense_are_stored_and_compared_text_by_text)
{
    struct report report;
    struct changes changes = { .text = "" };
    struct config *from = parse("{\"sense\": {\"zones\": [\"gpu*\", \"soc*\"], \"start\": \"child\","
                                " \"scales\": [\"a=b=10\"], \"user\": \"root\"}}",
                                &report);
    struct config *same = parse("{\"sense\": {\"start\": \"child\", \"zones\": [\"gpu*\", \"soc*\"],"
                                " \"scales\": [\"a=b=10\"], \"user\": \"root\"}}",
                                &report);
    struct config *other = parse("{\"sense\": {\"start\": \"child\", \"zones\": [\"gpu*\", \"cpu*\"],"
                                 " \"scales\": [], \"user\": \"root\"}}",
                                 &report);

    ck_assert_uint_eq(from->sense.zones.n, 2);
    ck_assert_str_eq(from->sense.zones.list[1], "soc*");
    ck_assert_str_eq(from->sense.scales.list[0], "a=b=10");
    ck_assert_uint_eq(from->sense.uid, 0);
    config_compare(from, same, note_change, &changes);
    ck_assert_str_eq(changes.text, "");
    config_compare(from, other, note_change, &changes);
    ck_assert_ptr_nonnull(strstr(changes.text, "sense.zones"));
    ck_assert_ptr_nonnull(strstr(changes.text, "sense.scales"));
    config_destroy(from);
    config_destroy(same);
    config_destroy(other);
}
END_TEST

START_TEST(a_comparison_names_each_setting_that_differs)
{
    struct report report;
    struct changes changes = { .text = "" };
    struct config *from =
        parse("{\"socket\": \"/a\", \"policy\": [{\"uid\": 7}], \"models\": {\"a\": {\"file\": \"/a\"},"
              " \"b\": {\"file\": \"/b\"}}}",
              &report);
    struct config *to = parse("{\"socket\": \"/c\", \"policy\": [{\"uid\": 8}], \"daemon\": {\"connections\": 99},"
                              " \"models\": {\"a\": {\"file\": \"/a\", \"context\": 5}, \"c\": {\"file\": \"/c\"}}}",
                              &report);

    config_compare(from, to, note_change, &changes);

    ck_assert_str_eq(changes.text, "socket! daemon.connections models.a.context models.b models.c policy");
    config_destroy(from);
    config_destroy(to);
}
END_TEST

START_TEST(equal_snapshots_differ_in_nothing)
{
    const char *text = "{\"socket\": \"/a\", \"policy\": [{\"user\": \"root\", \"weight\": 5}], \"models\": "
                       "{\"a\": {\"file\": \"/a\"}}}";
    struct report report;
    struct changes changes = { .text = "" };
    struct config *from = parse(text, &report);
    struct config *to = parse(text, &report);

    config_compare(from, to, note_change, &changes);

    ck_assert_str_eq(changes.text, "");
    config_destroy(from);
    config_destroy(to);
}
END_TEST

/* ---- documents */

static char *read_source(const char *name)
{
    char path[512];
    char *text = NULL;
    size_t n;
    struct diag diag = DIAG_INIT;

    snprintf(path, sizeof(path), "%s/%s", SOURCE_DIR, name);
    ck_assert_msg(file_read(path, MEM_MISC, 1u << 20, &text, &n, &diag) == FILE_OK, "%s", diag.text);
    return text;
}

/* The fake backend and its script are for developers (daemon/engine/script.h). */
START_TEST(the_manual_has_every_setting)
{
    cleanup(mem_freep) char *page = read_source("docs/man/sotto.json.5");

    for (enum config_part part = 0; part < CONFIG_PART_COUNT; part++) {
        const struct config_list *list = config_keys(part);

        for (size_t i = 0; i < list->n; i++) {
            char item[64];

            if (strcmp(list->keys[i].name, "fake_script") == 0) {
                continue;
            }
            snprintf(item, sizeof(item), "Cm %s", list->keys[i].name);
            if (!strstr(page, item)) {
                snprintf(item, sizeof(item), ", %s", list->keys[i].name); /* second of a line */
            }
            ck_assert_msg(strstr(page, item), "%s.%s", list->name, list->keys[i].name);
        }
    }
}
END_TEST

START_TEST(the_example_is_a_configuration)
{
    cleanup(mem_freep) char *example = read_source("systemd/sotto.json");
    struct report report;
    struct config *config = parse(example, &report);

    ck_assert_msg(config, "%s", report.all);
    config_destroy(config);
}
END_TEST

START_TEST(failed_allocations_leak_nothing)
{
    static const char text[] =
        "{\"socket\": \"/a\", \"policy\": [{\"user\": \"root\"}], \"models\": {\"a\": {\"file\": \"/a\"}}}";
    struct mem_account before;
    struct mem_account after;
    int r = -1;

    mem_read(MEM_MISC, &before);
    for (int nth = 0; r != CONFIG_OK; nth++) {
        struct report report = { .n = 0 };
        struct config *config = NULL;

        ck_assert_int_lt(nth, 1000);
        mem_fail_nth(nth);
        r = config_parse(&config, "c.json", text, sizeof(text) - 1, NULL, on_sentence, &report);
        mem_fail_nth(-1);
        config_destroy(config);
    }
    mem_read(MEM_MISC, &after);

    ck_assert_uint_eq(before.bytes, after.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *facts = tcase_create("facts");

    tcase_add_loop_test(facts, errors_are_reported_with_line_path_value_and_what_is_expected, 0,
                        (int)COUNTOF(refusals));
    unit_add(facts, an_empty_object_is_a_complete_configuration, every_setting_is_stored_in_its_field,
             settings_of_the_governor_are_stored_in_thousandths, the_first_model_is_the_default_unless_stated,
             all_errors_are_reported, the_command_line_overrides_the_file, a_missing_file_is_named, a_folder_is_refused,
             settings_of_sense_are_stored_and_compared_text_by_text, a_comparison_names_each_setting_that_differs,
             equal_snapshots_differ_in_nothing, the_manual_has_every_setting, the_example_is_a_configuration,
             failed_allocations_leak_nothing);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
