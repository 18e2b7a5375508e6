/*
 * Pins in the configuration: errors and their sentences, and the pins that are read.
 */
#include "base/clean.h"
#include "config/config.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEFORE "{\"models\": {\"a\": {\"file\": \"/m\", \"pin\": "
#define AFTER  "}}}"

struct report {
    char first[DIAG_BYTES];
    unsigned n;
};

static void on_sentence(void *owner, const char *sentence)
{
    struct report *report = owner;

    if (!report->n++) {
        snprintf(report->first, sizeof(report->first), "%s", sentence);
    }
}

/* Returns a configuration with a model that pins @list, or NULL. */
static struct config *parse(const char *list, struct report *report)
{
    struct config *config = NULL;
    size_t n = strlen(list) + sizeof(BEFORE AFTER);
    char *text = malloc(n);

    snprintf(text, n, BEFORE "%s" AFTER, list);
    memset(report, 0, sizeof(*report));
    ck_assert_int_eq(config_parse(&config, "c.json", text, strlen(text), NULL, on_sentence, report),
                     config ? CONFIG_OK : CONFIG_REFUSED);
    ck_assert_int_eq(config == NULL, report->n > 0);
    free(text);
    return config;
}

static const struct refusal {
    const char *list;
    const char *expected[2];
} refusals[] = {
    { "3", { "models.a.pin: the number 3", "at most 16" } },
    { "[3]", { "models.a.pin[0]: the number 3", "an object such as {" } },
    { "[{\"text\": \"x\"}]", { "models.a.pin[0]: has no \"name\"" } },
    { "[{\"name\": \"a b\", \"text\": \"x\"}]", { "models.a.pin[0].name" } },
    { "[{\"name\": \"p\"}]", { "models.a.pin[0]: has none of \"text\", \"file\" and \"messages\"" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"file\": \"/f\"}]", { "models.a.pin[0]: has several of" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"tools\": []}]", { "has tools or variables, which need" } },
    { "[{\"name\": \"p\", \"txt\": \"x\"}]", { "models.a.pin[0].txt: unknown setting", "\"text\"?" } },
    { "[{\"name\": \"p\", \"text\": 3}]", { "models.a.pin[0].text: the number 3" } },
    { "[{\"name\": \"p\", \"text\": \"\"}]", { "models.a.pin[0].text: has 0 bytes", "1 to 262144" } },
    { "[{\"name\": \"p\", \"text\": \"x\"}, {\"name\": \"p\", \"text\": \"y\"}]",
      { "models.a.pin[1]: has the same name as pin[0]" } },
    { "[{\"name\": \"p\", \"file\": \"f\"}]", { "models.a.pin[0].file: the text \"f\"", "absolute" } },
    { "[{\"name\": \"p\", \"file\": \"/no/such/file\"}]", { "models.a.pin[0].file: no such file" } },
    { "[{\"name\": \"p\", \"file\": \"/\"}]", { "models.a.pin[0].file: ", "regular" } },
    { "[{\"name\": \"p\", \"messages\": []}]", { "models.a.pin[0].messages: an array", "at least one" } },
    { "[{\"name\": \"p\", \"messages\": [3]}]", { "models.a.pin[0].messages[0]: is not a message" } },
    { "[{\"name\": \"p\", \"messages\": [{\"content\": \"x\"}]}]",
      { "models.a.pin[0].messages[0]: is not a message" } },
    { "[{\"name\": \"p\", \"messages\": [{\"role\": \"\", \"content\": \"x\"}]}]",
      { "models.a.pin[0]: messages[0].role" } },
    { "[{\"name\": \"p\", \"messages\": [{\"role\": \"user\"}], \"tools\": {}}]",
      { "models.a.pin[0].tools: an object", "an array of tools" } },
    { "[{\"name\": \"p\", \"messages\": [{\"role\": \"user\"}], \"variables\": []}]",
      { "models.a.pin[0].variables: an array", "an object" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"users\": []}]", { "models.a.pin[0].users: an array", "1 to 64" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"users\": [\"no-such-user-here\"]}]",
      { "models.a.pin[0].users[0]: this system has no user" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"users\": [-1]}]", { "models.a.pin[0].users[0]: the number -1" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"users\": [4294967295]}]", { "models.a.pin[0].users[0]: the num" } },
};

START_TEST(errors_are_reported_with_their_place)
{
    const struct refusal *refusal = &refusals[_i];
    struct report report;

    ck_assert_msg(!parse(refusal->list, &report), "%s was taken", refusal->list);
    for (size_t i = 0; i < 2 && refusal->expected[i]; i++) {
        ck_assert_msg(strstr(report.first, refusal->expected[i]) != NULL, "%s: \"%s\" does not say \"%s\"",
                      refusal->list, report.first, refusal->expected[i]);
    }
}
END_TEST

START_TEST(more_than_sixteen_are_refused)
{
    char list[2048] = "[";
    struct report report;

    for (uint32_t i = 0; i < 17; i++) {
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s{\"name\": \"p%u\", \"text\": \"x\"}",
                 i ? "," : "", i);
    }
    strcat(list, "]");
    ck_assert_ptr_null(parse(list, &report));
    ck_assert_ptr_nonnull(strstr(report.first, "at most 16"));
}
END_TEST

START_TEST(a_text_is_stored_unchanged)
{
    struct report report;
    struct config *config =
        parse("[{\"name\": \"p\", \"text\": \" x\\u00e9\\n\", \"users\": [7, \"root\", 7, 3]}]", &report);
    const struct pin_settings *pin = &config->models[0].pins[0];

    ck_assert_uint_eq(config->models[0].n_pins, 1);
    ck_assert_str_eq(pin->name, "p");
    ck_assert_str_eq(pin->text, " x\xc3\xa9\n");
    ck_assert_uint_eq(pin->n_uids, 3);
    ck_assert_uint_eq(pin->uids[0], 0);
    ck_assert_uint_eq(pin->uids[1], 3);
    ck_assert_uint_eq(pin->uids[2], 7);
    config_destroy(config);
}
END_TEST

static void write_file(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
}

START_TEST(a_file_is_read_and_must_be_text)
{
    static const struct {
        const char *text;
        size_t n;
        const char *expected; /* NULL: it is fine */
    } rows[] = {
        { "You are a car.\n", 15, NULL },
        { "", 0, "has 0 bytes" },
        { "\xff\xfe", 2, "not UTF-8 text" },
        { "a\0b", 3, "not UTF-8 text without zero bytes" },
    };
    char path[] = "/tmp/sotto-pin-XXXXXX";
    char list[128];
    int fd = mkstemp(path);

    close(fd);
    snprintf(list, sizeof(list), "[{\"name\": \"p\", \"file\": \"%s\"}]", path);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        struct report report;
        struct config *config;

        write_file(path, rows[i].text, rows[i].n);
        config = parse(list, &report);
        if (rows[i].expected) {
            ck_assert_ptr_null(config);
            ck_assert_msg(strstr(report.first, rows[i].expected) != NULL, "%s", report.first);
            ck_assert_ptr_nonnull(strstr(report.first, "models.a.pin[0].file"));
        } else {
            ck_assert_msg(config != NULL, "%s", report.first);
            ck_assert_str_eq(config->models[0].pins[0].text, rows[i].text);
            config_destroy(config);
        }
    }
    unlink(path);
}
END_TEST

START_TEST(messages_and_tools_are_what_an_app_would_send)
{
    struct report report;
    struct config *config =
        parse("[{\"name\": \"p\", \"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\", \"name\": "
              "\"n\"},"
              " {\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}], \"tools\": [{\"b\": 1, \"a\": 2}],"
              " \"variables\": {\"enable_thinking\": false}}]",
              &report);
    const struct pin_settings *pin;
    Sotto__V1__Chat *chat;

    ck_assert_msg(config != NULL, "%s", report.first);
    pin = &config->models[0].pins[0];
    chat = sotto__v1__chat__unpack(NULL, pin->n_chat, pin->chat);
    ck_assert_ptr_null(pin->text);
    ck_assert_uint_eq(chat->n_messages, 2);
    ck_assert_str_eq(chat->messages[0]->role, "system");
    ck_assert_uint_eq(chat->messages[0]->content.len, 9);
    ck_assert_mem_eq(chat->messages[0]->content.data, "Be brief.", 9);
    ck_assert_mem_eq(chat->messages[0]->fields.data, "{\"name\":\"n\"}", chat->messages[0]->fields.len);
    ck_assert_uint_eq(chat->messages[1]->content.len, 0);
    ck_assert_mem_eq(chat->messages[1]->fields.data, "{\"content\":[{\"type\":\"text\"}]}",
                     chat->messages[1]->fields.len);
    ck_assert_uint_eq(chat->n_tools, 1);
    ck_assert_mem_eq(chat->tools[0].data, "{\"b\":1,\"a\":2}", chat->tools[0].len);
    ck_assert_mem_eq(chat->variables.data, "{\"enable_thinking\":false}", chat->variables.len);
    sotto__v1__chat__free_unpacked(chat, NULL);
    config_destroy(config);
}
END_TEST

static void note_change(void *owner, const char *path, bool restart)
{
    char *text = owner;

    ck_assert(!restart);
    strcat(text, path);
}

START_TEST(a_comparison_sees_every_part_of_a_pin)
{
    static const char *const lists[] = {
        "[{\"name\": \"p\", \"text\": \"x\"}]",
        "[{\"name\": \"q\", \"text\": \"x\"}]",
        "[{\"name\": \"p\", \"text\": \"y\"}]",
        "[{\"name\": \"p\", \"text\": \"x\", \"users\": [7]}]",
        "[{\"name\": \"p\", \"text\": \"x\", \"users\": [8]}]",
        "[{\"name\": \"p\", \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}]",
        "[{\"name\": \"p\", \"messages\": [{\"role\": \"user\", \"content\": \"y\"}]}]",
        "[{\"name\": \"p\", \"text\": \"x\"}, {\"name\": \"q\", \"text\": \"x\"}]",
        "[]",
    };

    for (size_t i = 0; i < COUNTOF(lists); i++) {
        for (size_t k = 0; k < COUNTOF(lists); k++) {
            struct report report;
            struct config *from = parse(lists[i], &report);
            struct config *to = parse(lists[k], &report);
            char text[256] = "";

            config_compare(from, to, note_change, text);
            ck_assert_str_eq(text, i == k ? "" : "models.a.pin");
            config_destroy(from);
            config_destroy(to);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config-pins");
    TCase *tcase = tcase_create("pins");

    tcase_add_loop_test(tcase, errors_are_reported_with_their_place, 0, (int)COUNTOF(refusals));
    unit_add(tcase, more_than_sixteen_are_refused, a_text_is_stored_unchanged, a_file_is_read_and_must_be_text,
             messages_and_tools_are_what_an_app_would_send, a_comparison_sees_every_part_of_a_pin);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
