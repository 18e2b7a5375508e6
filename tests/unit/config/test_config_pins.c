/*
 * What a model pins, as the configuration says it: what is refused and in which words, and what comes of it.
 */
#include "base/clean.h"
#include "config/config.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEFORE "{\"models\": {\"a\": {\"file\": \"/m\", \"pin\": "
#define BEHIND "}}}"

struct heard {
    char first[DIAG_BYTES];
    unsigned n;
};

static void hear(void *owner, const char *sentence)
{
    struct heard *heard = owner;

    if (!heard->n++) {
        snprintf(heard->first, sizeof(heard->first), "%s", sentence);
    }
}

/* The configuration whose model pins @list, or NULL. */
static struct config *parse(const char *list, struct heard *heard)
{
    struct config *config = NULL;
    size_t n = strlen(list) + sizeof(BEFORE BEHIND);
    char *text = malloc(n);

    snprintf(text, n, BEFORE "%s" BEHIND, list);
    memset(heard, 0, sizeof(*heard));
    ck_assert_int_eq(config_parse(&config, "c.json", text, strlen(text), NULL, hear, heard),
                     config ? CONFIG_OK : CONFIG_REFUSED);
    ck_assert_int_eq(config == NULL, heard->n > 0);
    free(text);
    return config;
}

static const struct refusal {
    const char *list;
    const char *says[2];
} refusals[] = {
    { "3", { "models.a.pin: the number 3", "at most 16" } },
    { "[3]", { "models.a.pin[0]: the number 3", "an object, as {" } },
    { "[{\"text\": \"x\"}]", { "models.a.pin[0]: has no \"name\"" } },
    { "[{\"name\": \"a b\", \"text\": \"x\"}]", { "models.a.pin[0].name" } },
    { "[{\"name\": \"p\"}]", { "models.a.pin[0]: has none of \"text\", \"file\" and \"messages\"" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"file\": \"/f\"}]", { "models.a.pin[0]: has several of" } },
    { "[{\"name\": \"p\", \"text\": \"x\", \"tools\": []}]", { "has tools or variables, which belong to" } },
    { "[{\"name\": \"p\", \"txt\": \"x\"}]", { "models.a.pin[0].txt: there is no such", "\"text\"?" } },
    { "[{\"name\": \"p\", \"text\": 3}]", { "models.a.pin[0].text: the number 3" } },
    { "[{\"name\": \"p\", \"text\": \"\"}]", { "models.a.pin[0].text: has 0 bytes", "1 to 262144" } },
    { "[{\"name\": \"p\", \"text\": \"x\"}, {\"name\": \"p\", \"text\": \"y\"}]",
      { "models.a.pin[1]: has the name of pin[0]" } },
    { "[{\"name\": \"p\", \"file\": \"f\"}]", { "models.a.pin[0].file: the text \"f\"", "absolute" } },
    { "[{\"name\": \"p\", \"file\": \"/no/such/file\"}]", { "models.a.pin[0].file: there is no such file" } },
    { "[{\"name\": \"p\", \"file\": \"/\"}]", { "models.a.pin[0].file: ", "regular" } },
    { "[{\"name\": \"p\", \"messages\": []}]", { "models.a.pin[0].messages: an array", "one at least" } },
    { "[{\"name\": \"p\", \"messages\": [3]}]", { "models.a.pin[0].messages[0]: is no message" } },
    { "[{\"name\": \"p\", \"messages\": [{\"content\": \"x\"}]}]", { "models.a.pin[0].messages[0]: is no message" } },
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

START_TEST(what_is_wrong_is_refused_with_its_place)
{
    const struct refusal *refusal = &refusals[_i];
    struct heard heard;

    ck_assert_msg(!parse(refusal->list, &heard), "%s was taken", refusal->list);
    for (size_t i = 0; i < 2 && refusal->says[i]; i++) {
        ck_assert_msg(strstr(heard.first, refusal->says[i]) != NULL, "%s: \"%s\" does not say \"%s\"", refusal->list,
                      heard.first, refusal->says[i]);
    }
}
END_TEST

START_TEST(more_than_sixteen_are_refused)
{
    char list[2048] = "[";
    struct heard heard;

    for (uint32_t i = 0; i < 17; i++) {
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s{\"name\": \"p%u\", \"text\": \"x\"}",
                 i ? "," : "", i);
    }
    strcat(list, "]");
    ck_assert_ptr_null(parse(list, &heard));
    ck_assert_ptr_nonnull(strstr(heard.first, "at most 16"));
}
END_TEST

START_TEST(a_text_is_taken_as_it_stands)
{
    struct heard heard;
    struct config *config =
        parse("[{\"name\": \"p\", \"text\": \" x\\u00e9\\n\", \"users\": [7, \"root\", 7, 3]}]", &heard);
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
        const char *says; /* NULL: it is fine */
    } rows[] = {
        { "You are a car.\n", 15, NULL },
        { "", 0, "has 0 bytes" },
        { "\xff\xfe", 2, "no UTF-8 text" },
        { "a\0b", 3, "no UTF-8 text without zeros" },
    };
    char path[] = "/tmp/sotto-pin-XXXXXX";
    char list[128];
    int fd = mkstemp(path);

    close(fd);
    snprintf(list, sizeof(list), "[{\"name\": \"p\", \"file\": \"%s\"}]", path);
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        struct heard heard;
        struct config *config;

        write_file(path, rows[i].text, rows[i].n);
        config = parse(list, &heard);
        if (rows[i].says) {
            ck_assert_ptr_null(config);
            ck_assert_msg(strstr(heard.first, rows[i].says) != NULL, "%s", heard.first);
            ck_assert_ptr_nonnull(strstr(heard.first, "models.a.pin[0].file"));
        } else {
            ck_assert_msg(config != NULL, "%s", heard.first);
            ck_assert_str_eq(config->models[0].pins[0].text, rows[i].text);
            config_destroy(config);
        }
    }
    unlink(path);
}
END_TEST

START_TEST(messages_and_tools_are_what_an_app_would_send)
{
    struct heard heard;
    struct config *config =
        parse("[{\"name\": \"p\", \"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\", \"name\": "
              "\"n\"},"
              " {\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}], \"tools\": [{\"b\": 1, \"a\": 2}],"
              " \"variables\": {\"enable_thinking\": false}}]",
              &heard);
    const struct pin_settings *pin;
    Sotto__V1__Chat *chat;

    ck_assert_msg(config != NULL, "%s", heard.first);
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
            struct heard heard;
            struct config *from = parse(lists[i], &heard);
            struct config *to = parse(lists[k], &heard);
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
    Suite *suite = suite_create("app-config-pins");
    TCase *tcase = tcase_create("pins");

    tcase_add_loop_test(tcase, what_is_wrong_is_refused_with_its_place, 0, (int)COUNTOF(refusals));
    tcase_add_test(tcase, more_than_sixteen_are_refused);
    tcase_add_test(tcase, a_text_is_taken_as_it_stands);
    tcase_add_test(tcase, a_file_is_read_and_must_be_text);
    tcase_add_test(tcase, messages_and_tools_are_what_an_app_would_send);
    tcase_add_test(tcase, a_comparison_sees_every_part_of_a_pin);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
