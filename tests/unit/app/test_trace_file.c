/* The trace is valid JSON for a viewer, without texts and tokens. */
#include "app/trace_file.h"
#include "govern/governor.h"
#include "unit.h"
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

static struct buf buf;

static void setup(void)
{
    buf_init(&buf, MEM_MISC, 1u << 20);
}

static void teardown(void)
{
    buf_finish(&buf);
}

static json_t *format(const struct trace_event *events, size_t n)
{
    json_error_t error;
    json_t *root;

    ck_assert_int_eq(trace_file_format(events, n, &buf), 0);
    root = json_loadb((const char *)buf_data(&buf), buf.n, 0, &error);
    ck_assert_msg(root, "%s at line %d", error.text, error.line);
    return root;
}

/* Returns the @i-th event, not counting names of rows. */
static const json_t *event_of(const json_t *root, size_t i)
{
    const json_t *list = json_object_get(root, "traceEvents");

    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *event = json_array_get(list, k);

        if (strcmp(json_string_value(json_object_get(event, "ph")), "M") != 0 && i-- == 0) {
            return event;
        }
    }
    return NULL;
}

static const char *text_of(const json_t *event, const char *key)
{
    return json_string_value(json_object_get(event, key));
}

START_TEST(an_empty_ring_is_a_file_too)
{
    json_t *root = format(NULL, 0);

    ck_assert_ptr_null(event_of(root, 0));
    json_decref(root);
}
END_TEST

START_TEST(a_step_is_a_bar_that_ends_when_it_was_done)
{
    const struct trace_event events[] = { { 5000, 7, 1200, TRACE_STEP_DONE } };
    json_t *root = format(events, 1);
    const json_t *event = event_of(root, 0);

    ck_assert_str_eq(text_of(event, "ph"), "X");
    ck_assert_int_eq(json_integer_value(json_object_get(event, "ts")), 3800);
    ck_assert_int_eq(json_integer_value(json_object_get(event, "dur")), 1200);
    json_decref(root);
}
END_TEST

START_TEST(a_mode_is_a_mark_with_its_cause)
{
    const struct trace_event events[] = { { 5000, PROCESSOR_CPU * 100 + GOVERNOR_SHARED, GOVERNOR_HEAT, TRACE_MODE } };
    json_t *root = format(events, 1);

    ck_assert_str_eq(text_of(event_of(root, 0), "name"), "cores: shared, heat");
    json_decref(root);
}
END_TEST

START_TEST(temperatures_below_zero_are_below_zero)
{
    const struct trace_event events[] = { { 5000, 250, (uint64_t)-30000, TRACE_SENSE } };
    json_t *root = format(events, 1);
    const json_t *args = json_object_get(event_of(root, 0), "args");

    ck_assert_double_eq(json_number_value(json_object_get(args, "hottest, degrees")), -30.0);
    json_decref(root);
}
END_TEST

START_TEST(every_kind_of_event_is_valid_json)
{
    struct trace_event events[TRACE_WHAT_COUNT];
    json_t *root;

    for (int i = 0; i < TRACE_WHAT_COUNT; i++) {
        events[i] = (struct trace_event){ INT64_MAX, INT64_MAX, INT64_MAX, (enum trace_what)i };
    }
    root = format(events, TRACE_WHAT_COUNT);
    json_decref(root);
}
END_TEST

START_TEST(the_file_is_for_its_owner_alone_and_whole)
{
    struct diag diag = DIAG_INIT;
    char path[] = "/tmp/sotto-trace-XXXXXX";
    char file[64];
    struct stat stat_;
    json_t *root;

    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(file, sizeof(file), "%s/t.json", path);
    trace_add(TRACE_TOKEN, 1, 2);

    ck_assert_int_eq(trace_file_write(file, &diag), 0);

    ck_assert_int_eq(stat(file, &stat_), 0);
    ck_assert_uint_eq(stat_.st_mode & 0777, 0600);
    root = json_load_file(file, 0, NULL);
    ck_assert_ptr_nonnull(root);
    json_decref(root);
    unlink(file);
    rmdir(path);
}
END_TEST

START_TEST(a_missing_folder_is_named)
{
    struct diag diag = DIAG_INIT;

    ck_assert_int_gt(trace_file_write("/no/such/folder/t.json", &diag), 0);
    ck_assert_ptr_nonnull(strstr(diag.text, "/no/such/folder/t.json"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trace file");
    TCase *facts = tcase_create("facts");

    tcase_add_checked_fixture(facts, setup, teardown);
    unit_add(facts, an_empty_ring_is_a_file_too, a_step_is_a_bar_that_ends_when_it_was_done,
             a_mode_is_a_mark_with_its_cause, temperatures_below_zero_are_below_zero, every_kind_of_event_is_valid_json,
             the_file_is_for_its_owner_alone_and_whole, a_missing_folder_is_named);
    suite_add_tcase(suite, facts);
    return unit_run(suite);
}
