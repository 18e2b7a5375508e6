/*
 * Config pins: prompt prefixes that a model keeps computed
 *
 * A pin is a text, a file with one, or messages, and the users that may share it. Files are read here, so that a reload
 * reads them again and errors are reported with their place.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include "config/config_reader.h"
#include "proto/check.h"
#include <errno.h>
#include <pwd.h>
#include <string.h>

#define TEXT_MOST   (256u << 10) /* one pin: more tokens than fit a context */
#define PINNED_MOST (16u << 20)  /* all pins */

static void *copy(struct arena *arena, const void *bytes, size_t n)
{
    void *same = arena_alloc(arena, n + 1); /* with a zero after it: texts end there */

    if (same) {
        memcpy(same, bytes, n);
        ((char *)same)[n] = '\0';
    }
    return same;
}

/* Returns whether @n more bytes may be pinned, and reports why not. */
static bool may_hold(struct config_reader *reader, const struct config_path *where, size_t n)
{
    reader->n_pinned += n;
    if (n == 0 || n > TEXT_MOST) {
        config_complain(reader, where, "has %zu bytes; a pin may have 1 to %u", n, TEXT_MOST);
        return false;
    }
    if (reader->n_pinned > PINNED_MOST) {
        config_complain(reader, where, "makes all pins together longer than %u bytes, the limit", PINNED_MOST);
        return false;
    }
    return true;
}

/* ---- texts */

static int take_text(struct config_reader *reader, const struct config_path *where, const char *text, size_t n,
                     struct pin_settings *pin)
{
    size_t at;

    if (!may_hold(reader, where, n)) {
        return 0;
    }
    if (!utf8_is_valid(text, n, &at) || memchr(text, '\0', n)) {
        config_complain(reader, where, "is not UTF-8 text without zero bytes, as a prompt must be");
        return 0;
    }
    pin->text = copy(&reader->config->arena, text, n);
    return pin->text ? 0 : err_new(-ENOMEM);
}

static int read_text(struct config_reader *reader, const struct config_path *entry, json_t *value,
                     struct pin_settings *pin)
{
    const struct config_path where = { .up = entry, .key = "text" };

    if (!json_is_string(value)) {
        config_complain_value(reader, &where, value, "the text that prompts begin with");
        return 0;
    }
    return take_text(reader, &where, json_string_value(value), json_string_length(value), pin);
}

static int read_file(struct config_reader *reader, const struct config_path *entry, const char *path,
                     struct pin_settings *pin)
{
    const struct config_path where = { .up = entry, .key = "file" };
    cleanup(mem_freep) char *text = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;
    int r = file_read(path, MEM_MISC, TEXT_MOST, &text, &n, &diag);

    if (r == -ENOMEM) {
        return err_up(r);
    }
    if (r) {
        config_complain(reader, &where, "%.150s",
                        r == FILE_ABSENT     ? "no such file"
                        : diag_is_set(&diag) ? diag.text
                                             : strerrordesc_np(-r));
        return 0;
    }
    return take_text(reader, &where, text, n, pin);
}

/* ---- messages */

/* Writes @value as JSON to the arena. Returns 0 or -ENOMEM. */
static int dump(struct arena *arena, const json_t *value, ProtobufCBinaryData *ret_bytes)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY;
    size_t n = json_dumpb(value, NULL, 0, flags);
    char *text = arena_alloc(arena, n + 1);

    if (!text) {
        return err_new(-ENOMEM);
    }
    ret_bytes->len = json_dumpb(value, text, n, flags);
    ret_bytes->data = (uint8_t *)text;
    return 0;
}

/* Reads a message: the protocol has fields for its role and text; all other keys are passed to the template
 * unchanged. */
static int read_message(struct config_reader *reader, const struct config_path *where, json_t *value,
                        Sotto__V1__ChatMessage *message)
{
    json_t *role = json_object_get(value, "role");
    json_t *content = json_object_get(value, "content");
    json_t *rest;
    int r = 0;

    sotto__v1__chat_message__init(message);
    if (!json_is_string(role)) {
        config_complain(reader, where, "is not a message; expected {\"role\": \"system\", \"content\": \"...\"}");
        return 0;
    }
    message->role = copy(&reader->config->arena, json_string_value(role), json_string_length(role));
    if (json_is_string(content)) {
        message->content.len = json_string_length(content);
        message->content.data = copy(&reader->config->arena, json_string_value(content), message->content.len);
    }
    rest = json_copy(value);
    if (!message->role || !rest || (message->content.len > 0 && !message->content.data)) {
        json_decref(rest);
        return err_new(-ENOMEM);
    }
    json_object_del(rest, "role");
    if (json_is_string(content)) {
        json_object_del(rest, "content");
    }
    if (json_object_size(rest) > 0) {
        r = dump(&reader->config->arena, rest, &message->fields);
    }
    json_decref(rest);
    return err_up(r);
}

static int read_messages(struct config_reader *reader, const struct config_path *entry, json_t *value,
                         Sotto__V1__Chat *chat)
{
    const struct config_path where = { .up = entry, .key = "messages" };
    struct arena *arena = &reader->config->arena;
    size_t n = json_array_size(value);
    Sotto__V1__ChatMessage *messages;

    if (n == 0) {
        config_complain_value(reader, &where, value, "an array of at least one message");
        return 0;
    }
    messages = arena_alloc(arena, n * sizeof(*messages));
    chat->messages = arena_alloc(arena, n * sizeof(Sotto__V1__ChatMessage *));
    if (!messages || !chat->messages) {
        return err_new(-ENOMEM);
    }
    chat->n_messages = n;
    for (size_t i = 0; i < n; i++) {
        const struct config_path here = { .up = &where, .index = i, .indexed = true };
        int r = read_message(reader, &here, json_array_get(value, i), &messages[i]);

        if (r) {
            return err_up(r);
        }
        chat->messages[i] = &messages[i];
    }
    return 0;
}

static int read_tools(struct config_reader *reader, const struct config_path *entry, json_t *value,
                      Sotto__V1__Chat *chat)
{
    const struct config_path where = { .up = entry, .key = "tools" };
    struct arena *arena = &reader->config->arena;
    size_t n = json_array_size(value);

    if (!json_is_array(value)) {
        config_complain_value(reader, &where, value, "an array of tools in the form that the template expects");
        return 0;
    }
    chat->tools = arena_alloc(arena, (n + 1) * sizeof(*chat->tools));
    if (!chat->tools) {
        return err_new(-ENOMEM);
    }
    chat->n_tools = n;
    for (size_t i = 0; i < n; i++) {
        int r = dump(arena, json_array_get(value, i), &chat->tools[i]);

        if (r) {
            return err_up(r);
        }
    }
    return 0;
}

static int read_variables(struct config_reader *reader, const struct config_path *entry, json_t *value,
                          Sotto__V1__Chat *chat)
{
    const struct config_path where = { .up = entry, .key = "variables" };

    if (!json_is_object(value)) {
        config_complain_value(reader, &where, value, "an object of variables for the template");
        return 0;
    }
    return err_up(dump(&reader->config->arena, value, &chat->variables));
}

/* Checks the messages as if a client had sent them, and reports the result. */
static bool is_fine(struct config_reader *reader, const struct config_path *entry, Sotto__V1__Chat *chat)
{
    static const char theirs[] = "generate.chat.";
    Sotto__V1__Generate generate = SOTTO__V1__GENERATE__INIT;
    Sotto__V1__ClientFrame frame = SOTTO__V1__CLIENT_FRAME__INIT;
    struct diag diag = DIAG_INIT;
    const char *text = diag.text;

    generate.input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
    generate.chat = chat;
    frame.stream = 1;
    frame.body_case = SOTTO__V1__CLIENT_FRAME__BODY_GENERATE;
    frame.generate = &generate;
    if (check_client_frame(&frame, &diag) == CHECK_OK) {
        return may_hold(reader, entry, sotto__v1__chat__get_packed_size(chat));
    }
    if (strncmp(text, theirs, strlen(theirs)) == 0) {
        text += strlen(theirs);
    }
    config_complain(reader, entry, "%.180s", text);
    return false;
}

static int read_chat(struct config_reader *reader, const struct config_path *entry, json_t *value,
                     struct pin_settings *pin)
{
    Sotto__V1__Chat chat = SOTTO__V1__CHAT__INIT;
    json_t *tools = json_object_get(value, "tools");
    json_t *variables = json_object_get(value, "variables");
    unsigned n_before = reader->n_complaints;
    uint8_t *packed;
    int r;

    r = read_messages(reader, entry, json_object_get(value, "messages"), &chat);
    if (!r && tools) {
        r = read_tools(reader, entry, tools, &chat);
    }
    if (!r && variables) {
        r = read_variables(reader, entry, variables, &chat);
    }
    if (r || reader->n_complaints > n_before || !is_fine(reader, entry, &chat)) {
        return err_up(r);
    }
    packed = arena_alloc(&reader->config->arena, sotto__v1__chat__get_packed_size(&chat) + 1);
    if (!packed) {
        return err_new(-ENOMEM);
    }
    pin->n_chat = sotto__v1__chat__pack(&chat, packed);
    pin->chat = packed;
    return 0;
}

/* ---- users */

static void add_user(struct config_reader *reader, const struct config_path *where, json_t *value, uint32_t *uids,
                     size_t *n)
{
    const char *name = json_string_value(value);
    json_int_t number = json_integer_value(value);
    const struct passwd *user = name ? getpwnam(name) : NULL;
    size_t at = 0;

    if (name && !user) {
        config_complain(reader, where, "this system has no user \"%.40s\"", name);
        return;
    }
    if (!name && (!json_is_integer(value) || number < 0 || number >= UINT32_MAX)) {
        config_complain_value(reader, where, value, "the name or number of a user");
        return;
    }
    number = user ? (json_int_t)user->pw_uid : number;
    while (at < *n && uids[at] < (uint32_t)number) {
        at++;
    }
    if (at < *n && uids[at] == (uint32_t)number) {
        return;
    }
    memmove(uids + at + 1, uids + at, (*n - at) * sizeof(*uids));
    uids[at] = (uint32_t)number;
    (*n)++;
}

static int read_users(struct config_reader *reader, const struct config_path *entry, json_t *value,
                      struct pin_settings *pin)
{
    const struct config_path where = { .up = entry, .key = "users" };
    size_t n = json_array_size(value);
    uint32_t *uids;

    if (n == 0 || n > PIN_USERS_MAX) {
        config_complain_value(reader, &where, value,
                              "an array of 1 to 64 users; to share the pin with everyone, remove it");
        return 0;
    }
    uids = arena_alloc(&reader->config->arena, (n + 1) * sizeof(*uids));
    if (!uids) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        const struct config_path here = { .up = &where, .index = i, .indexed = true };

        add_user(reader, &here, json_array_get(value, i), uids, &pin->n_uids);
    }
    pin->uids = uids;
    return 0;
}

/* ---- the list */

/* Checks that an entry has exactly one prefix, and only settings that belong to it. */
static bool check_entry(struct config_reader *reader, const struct config_path *where, uint64_t present)
{
    bool text = config_is_given(CONFIG_PIN, present, "text");
    bool file = config_is_given(CONFIG_PIN, present, "file");
    bool messages = config_is_given(CONFIG_PIN, present, "messages");
    bool more = config_is_given(CONFIG_PIN, present, "tools") || config_is_given(CONFIG_PIN, present, "variables");

    if (text + file + messages != 1) {
        config_complain(reader, where, "has %s of \"text\", \"file\" and \"messages\"; give one of them",
                        text + file + messages ? "several" : "none");
        return false;
    }
    if (more && !messages) {
        config_complain(reader, where, "has tools or variables, which need \"messages\"");
        return false;
    }
    return true;
}

static int read_entry(struct config_reader *reader, const struct config_path *where, json_t *value,
                      struct pin_settings *pin)
{
    struct config_pin entry = { .name = NULL };
    json_t *users;
    uint64_t present;
    int r;

    if (!json_is_object(value)) {
        config_complain_value(reader, where, value,
                              "an object such as {\"name\": \"assistant\", \"file\": \"/etc/sotto/prompt.txt\"}");
        return 0;
    }
    r = config_read_part(reader, where, value, CONFIG_PIN, &entry, &present);
    if (r) {
        return err_up(r);
    }
    if (!config_is_given(CONFIG_PIN, present, "name")) {
        config_complain(reader, where, "has no \"name\"; give one, under which status reports it");
    }
    pin->name = entry.name ? entry.name : "";
    users = json_object_get(value, "users");
    if (users) {
        r = read_users(reader, where, users, pin);
    }
    if (r || !check_entry(reader, where, present)) {
        return err_up(r);
    }
    if (entry.file) {
        return err_up(read_file(reader, where, entry.file, pin));
    }
    if (json_object_get(value, "text")) {
        return err_up(read_text(reader, where, json_object_get(value, "text"), pin));
    }
    return json_object_get(value, "messages") ? err_up(read_chat(reader, where, value, pin)) : 0;
}

int config_read_pins(struct config_reader *reader, const struct config_path *model, json_t *value,
                     struct model_settings *ret_model)
{
    const struct config_path where = { .up = model, .key = "pin" };
    size_t n = json_array_size(value);
    struct pin_settings *pins;

    if (!value) {
        return 0;
    }
    if (!json_is_array(value) || n > PINS_MAX) {
        config_complain_value(reader, &where, value, "an array of at most 16 pins");
        return 0;
    }
    pins = arena_alloc(&reader->config->arena, (n + 1) * sizeof(*pins));
    if (!pins) {
        return err_new(-ENOMEM);
    }
    memset(pins, 0, (n + 1) * sizeof(*pins));
    for (size_t i = 0; i < n; i++) {
        const struct config_path here = { .up = &where, .index = i, .indexed = true };
        int r = read_entry(reader, &here, json_array_get(value, i), &pins[i]);

        if (r) {
            return err_up(r);
        }
        for (size_t k = 0; k < i; k++) {
            if (pins[i].name[0] && strcmp(pins[k].name, pins[i].name) == 0) {
                config_complain(reader, &here, "has the same name as pin[%zu]; each needs its own", k);
            }
        }
    }
    ret_model->pins = pins;
    ret_model->n_pins = n;
    return 0;
}
