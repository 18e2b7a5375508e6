/*
 * Check: the table of the values that requests may have
 *
 * Each message that a client may send has a list of rows, one for each field. A walker over protobuf-c's descriptors
 * reads the values, so a row consists of the field's name and its rule. A rule about several fields (a contradiction, a
 * sum) is a function beside the list. The walk ends at the first fault.
 */
#include "proto/check.h"
#include "base/clean.h"
#include "base/utf8.h"
#include "proto/limit.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rule_kind {
    RULE_ANY,     /* every value of the type is allowed; a message is walked */
    RULE_RANGE,   /* number from @min to @max, both included */
    RULE_ABOVE,   /* number above @min, at most @max */
    RULE_BIAS,    /* as RULE_RANGE, or minus infinity */
    RULE_ENUM,    /* a value that has a name in the enum */
    RULE_NAME,    /* check_name() */
    RULE_UNNAMED, /* check_name(), or empty */
    RULE_TEXT,    /* @min to @max bytes of whole UTF-8 characters */
    RULE_PATH,    /* empty, or an absolute path */
    RULE_WORD,    /* one of the words in @allowed, with ", " between them */
};

struct rule {
    const char *field;
    enum rule_kind kind;
    double min;
    double max;
    const char *allowed; /* for the message: "0 to 100" */
    uint32_t most;       /* entries of a repeated field; 0: as many as fit a frame */
};

/* The path to the value being checked, for the message. */
struct field_path {
    const struct field_path *up;
    const char *name;
    size_t index;
    bool indexed;
};

struct rule_list {
    const ProtobufCMessageDescriptor *type;
    const struct rule *rules;
    size_t n;
    int (*also)(const void *message, const struct field_path *path, struct diag *diag); /* or NULL */
};

/* Writes "generate.sampling.bias[3]" into @out, truncated to @cap. Returns its length. */
static size_t path_write(const struct field_path *path, char *out, size_t cap)
{
    size_t at = 0;
    int n;

    if (path->up) {
        at = path_write(path->up, out, cap);
    }
    if (path->indexed) {
        n = snprintf(out + at, cap - at, "%s%s[%zu]", at ? "." : "", path->name, path->index);
    } else {
        n = snprintf(out + at, cap - at, "%s%s", at ? "." : "", path->name);
    }
    return n < 0 || (size_t)n >= cap - at ? cap - 1 : at + (size_t)n;
}

/* Fills @diag with the message and the path. Returns CHECK_BAD. */
__attribute__((format(printf, 3, 4))) static int refuse(const struct field_path *path, struct diag *diag,
                                                        const char *format, ...)
{
    char name[sizeof(diag->field)];
    char what[192];
    va_list words;

    va_start(words, format);
    vsnprintf(what, sizeof(what), format, words);
    va_end(words);
    path_write(path, name, sizeof(name));
    diag_blame(diag, name, "%s: %s", name, what);
    return CHECK_BAD;
}

#define PATH_MOST 4095u /* PATH_MAX without its zero */

static const struct rule hello_rules[] = {
    { "version_min", RULE_RANGE, 1, UINT32_MAX, "1 or more" },
    { "version_max", RULE_RANGE, 1, UINT32_MAX, "1 or more" },
    { "client", RULE_UNNAMED },
};

static const struct rule generate_rules[] = {
    { "model", RULE_UNNAMED },
    { "tokens", RULE_ANY },
    { "text", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
    { "chat", RULE_ANY },
    { "sampling", RULE_ANY },
    { "max_tokens", RULE_RANGE, 1, UINT32_MAX, "1 or more" },
    { "stop", RULE_TEXT, 1, LIMIT_STOP, "1 to 256 bytes", LIMIT_STOPS },
    { "priority", RULE_ENUM },
    { "credit", RULE_ANY },
    { "key", RULE_UNNAMED },
    { "ignore_end", RULE_ANY },
    { "first_token_by_ms", RULE_RANGE, 1, LIMIT_DEADLINE_MS, "1 to 3600000 (an hour)" },
    { "finish_by_ms", RULE_RANGE, 1, LIMIT_DEADLINE_MS, "1 to 3600000 (an hour)" },
    { "session", RULE_ANY },
    { "keep_tokens", RULE_ANY },
    { "on_full", RULE_ENUM },
};

static const struct rule token_ids_rules[] = {
    { "ids", RULE_ANY },
};

static const struct rule chat_rules[] = {
    { "messages", RULE_ANY, .most = LIMIT_MESSAGES },
    { "no_generation_prompt", RULE_ANY },
    { "tools", RULE_TEXT, 1, LIMIT_TEXT, "1 byte to 2 MiB", LIMIT_TOOLS },
    { "variables", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
};

static const struct rule message_rules[] = {
    { "role", RULE_WORD, .allowed = "system, user, assistant, tool, developer" },
    { "content", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
    { "fields", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
};

static const struct rule sampling_rules[] = {
    { "temperature", RULE_RANGE, 0, 100, "0 to 100" },
    { "top_k", RULE_RANGE, 1, UINT32_MAX, "1 or more (absent is off)" },
    { "top_p", RULE_ABOVE, 0, 1, "above 0, at most 1" },
    { "min_p", RULE_RANGE, 0, 1, "0 to 1" },
    { "seed", RULE_ANY },
    { "repetition_penalty", RULE_ABOVE, 0, 10, "above 0, at most 10" },
    { "frequency_penalty", RULE_RANGE, -2, 2, "-2 to 2" },
    { "presence_penalty", RULE_RANGE, -2, 2, "-2 to 2" },
    { "penalty_window", RULE_RANGE, 0, LIMIT_PENALTY_WINDOW, "0 to 4096" },
    { "bias", RULE_ANY, .most = LIMIT_BIASES },
    { "logprobs", RULE_ANY },
    { "top_logprobs", RULE_RANGE, 0, LIMIT_TOP_LOGPROBS, "0 to 1024" },
};

static const struct rule bias_rules[] = {
    { "id", RULE_ANY },
    { "bias", RULE_BIAS, -100, 100, "-100 to 100, or minus infinity" },
};

static const struct rule credit_rules[] = {
    { "tokens", RULE_ANY },
    { "have_token", RULE_ANY },
    { "have_byte", RULE_ANY },
};

static const struct rule tokenize_rules[] = {
    { "model", RULE_UNNAMED },
    { "text", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
    { "special", RULE_ANY },
    { "pieces", RULE_ANY },
};

static const struct rule detokenize_rules[] = {
    { "model", RULE_UNNAMED },
    { "ids", RULE_ANY },
    { "special", RULE_ANY },
};

static const struct rule embed_rules[] = {
    { "model", RULE_UNNAMED }, { "tokens", RULE_ANY },    { "text", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
    { "raw", RULE_ANY },       { "priority", RULE_ENUM },
};

static const struct rule open_session_rules[] = {
    { "model", RULE_UNNAMED },
    { "tokens", RULE_ANY },
    { "text", RULE_TEXT, 0, LIMIT_TEXT, "at most 2 MiB" },
    { "chat", RULE_ANY },
    { "idle_ms", RULE_RANGE, 1, UINT32_MAX, "1 or more" },
    { "priority", RULE_ENUM },
    { "on_full", RULE_ENUM },
};

static const struct rule close_session_rules[] = {
    { "session", RULE_RANGE, 1, (double)UINT64_MAX, "the id from SessionOpened" },
};

static const struct rule hint_rules[] = {
    { "frame_budget_us", RULE_RANGE, LIMIT_FRAME_LEAST_US, LIMIT_FRAME_MOST_US, "1000 to 1000000" },
    { "missed_frames", RULE_ANY },
    { "busy_for_us", RULE_RANGE, 0, LIMIT_BUSY_MOST_US, "0 to 60000000 (a minute)" },
};

static const struct rule load_rules[] = {
    { "name", RULE_NAME },
    { "file", RULE_PATH },
};

static const struct rule unload_rules[] = {
    { "name", RULE_NAME },
    { "now", RULE_ANY },
};

static const struct rule watch_rules[] = {
    { "topics", RULE_WORD, .allowed = "model, engine, stream, mode, config, sense, session", .most = LIMIT_TOPICS },
};

/* ---- rules about several fields */

static int check_hello(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__Hello *hello = message;

    if (hello->version_max < hello->version_min) {
        return refuse(&(struct field_path){ .up = path, .name = "version_max" }, diag, "is below version_min");
    }
    return CHECK_OK;
}

static int check_generate(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__Generate *generate = message;

    if (generate->input_case == SOTTO__V1__GENERATE__INPUT__NOT_SET) {
        return refuse(path, diag, "has no input; give one of tokens, text, chat");
    }
    if (generate->opt_keep_tokens_case && generate->on_full != SOTTO__V1__ON_FULL__ON_FULL_SLIDE) {
        return refuse(&(struct field_path){ .up = path, .name = "keep_tokens" }, diag,
                      "has no effect without on_full = ON_FULL_SLIDE; set both or none");
    }
    return CHECK_OK;
}

static int check_embed(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__Embed *embed = message;

    if (embed->input_case == SOTTO__V1__EMBED__INPUT__NOT_SET) {
        return refuse(path, diag, "has no input; give one of tokens, text");
    }
    return CHECK_OK;
}

static int check_token_ids(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__TokenIds *tokens = message;

    if (!tokens->n_ids) {
        return refuse(&(struct field_path){ .up = path, .name = "ids" }, diag,
                      "has 0 tokens; a prompt needs at least 1");
    }
    return CHECK_OK;
}

static int check_chat(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__Chat *chat = message;
    const struct field_path messages = { .up = path, .name = "messages" };
    size_t sum = chat->variables.len;

    if (!chat->n_messages) {
        return refuse(&messages, diag, "has 0 entries; a conversation needs at least 1");
    }
    for (size_t i = 0; i < chat->n_messages; i++) {
        /* The sum can't overflow, since all came in one frame. */
        sum += chat->messages[i]->content.len + chat->messages[i]->fields.len;
    }
    for (size_t i = 0; i < chat->n_tools; i++) {
        sum += chat->tools[i].len;
    }
    if (sum > LIMIT_TEXT) {
        return refuse(&messages, diag, "have more than 2 MiB together, with tools and variables; send less");
    }
    return CHECK_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return (*(const uint64_t *)a > *(const uint64_t *)b) - (*(const uint64_t *)a < *(const uint64_t *)b);
}

/* Returns the first entry with the id of an earlier one, or @n, which is at most LIMIT_BIASES: its row of the table has
 * been checked. Sorting keeps a hostile list as cheap as any. */
static size_t find_repeat(Sotto__V1__LogitBias *const *bias, size_t n)
{
    uint64_t keys[LIMIT_BIASES]; /* the id, then the place in the list */
    size_t first = n;

    for (size_t i = 0; i < n; i++) {
        keys[i] = (uint64_t)bias[i]->id << 32 | i;
    }
    qsort(keys, n, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < n; i++) {
        size_t place = (size_t)(keys[i] & UINT32_MAX);

        if (keys[i] >> 32 == keys[i - 1] >> 32 && place < first) {
            first = place;
        }
    }
    return first;
}

static int check_sampling(const void *message, const struct field_path *path, struct diag *diag)
{
    const Sotto__V1__Sampling *sampling = message;
    struct field_path again = { .up = path, .name = "bias", .indexed = true };

    if (sampling->top_logprobs && !sampling->logprobs) {
        return refuse(&(struct field_path){ .up = path, .name = "top_logprobs" }, diag,
                      "has no effect without logprobs; set logprobs as well");
    }
    again.index = find_repeat(sampling->bias, sampling->n_bias);
    if (again.index < sampling->n_bias) {
        return refuse(&again, diag, "repeats the id of an earlier entry; give each id once");
    }
    return CHECK_OK;
}

/* ---- the table */

#define ROWS(rules) rules, COUNTOF(rules)

/* Every message that a client can send has a list here, an empty one as well. */
static const struct rule_list lists[] = {
    { &sotto__v1__hello__descriptor, ROWS(hello_rules), check_hello },
    { &sotto__v1__generate__descriptor, ROWS(generate_rules), check_generate },
    { &sotto__v1__token_ids__descriptor, ROWS(token_ids_rules), check_token_ids },
    { &sotto__v1__chat__descriptor, ROWS(chat_rules), check_chat },
    { &sotto__v1__chat_message__descriptor, ROWS(message_rules), NULL },
    { &sotto__v1__sampling__descriptor, ROWS(sampling_rules), check_sampling },
    { &sotto__v1__logit_bias__descriptor, ROWS(bias_rules), NULL },
    { &sotto__v1__credit__descriptor, ROWS(credit_rules), NULL },
    { &sotto__v1__cancel__descriptor, NULL, 0, NULL },
    { &sotto__v1__tokenize__descriptor, ROWS(tokenize_rules), NULL },
    { &sotto__v1__detokenize__descriptor, ROWS(detokenize_rules), NULL },
    { &sotto__v1__embed__descriptor, ROWS(embed_rules), check_embed },
    { &sotto__v1__open_session__descriptor, ROWS(open_session_rules), NULL },
    { &sotto__v1__close_session__descriptor, ROWS(close_session_rules), NULL },
    { &sotto__v1__graphics_hint__descriptor, ROWS(hint_rules), NULL },
    { &sotto__v1__list_models__descriptor, NULL, 0, NULL },
    { &sotto__v1__load_model__descriptor, ROWS(load_rules), NULL },
    { &sotto__v1__unload_model__descriptor, ROWS(unload_rules), NULL },
    { &sotto__v1__status__descriptor, NULL, 0, NULL },
    { &sotto__v1__watch__descriptor, ROWS(watch_rules), NULL },
    { &sotto__v1__reload__descriptor, NULL, 0, NULL },
};

#undef ROWS

/* ---- values */

bool check_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-";
    size_t n = strlen(name);

    return n >= 1 && n <= LIMIT_NAME && strspn(name, letters) == n;
}

static int check_a_name(const char *name, const struct field_path *path, struct diag *diag)
{
    if (!check_name(name)) {
        return refuse(path, diag, "is not a name, which has 1 to 64 characters of A-Z a-z 0-9 . _ : / -");
    }
    return CHECK_OK;
}

static int check_path(const char *file, const struct field_path *path, struct diag *diag)
{
    if (!*file || (*file == '/' && strlen(file) <= PATH_MOST && utf8_is_valid(file, strlen(file), NULL))) {
        return CHECK_OK;
    }
    return refuse(path, diag, "must be an absolute path of at most 4,095 bytes in UTF-8, or empty");
}

static bool word_is_in(const char *word, const char *list)
{
    size_t n = strlen(word);

    while (n) {
        size_t here = strcspn(list, ",");

        if (here == n && memcmp(word, list, n) == 0) {
            return true;
        }
        if (!list[here]) {
            break;
        }
        list += here + strlen(", ");
    }
    return false;
}

static int check_word(const char *word, const struct rule *rule, const struct field_path *path, struct diag *diag)
{
    if (word_is_in(word, rule->allowed)) {
        return CHECK_OK;
    }
    return refuse(path, diag, "\"%.64s\" is none of these: %s", word, rule->allowed);
}

static int check_text(const ProtobufCBinaryData *text, const struct rule *rule, const struct field_path *path,
                      struct diag *diag)
{
    size_t bad;

    if (text->len < (size_t)rule->min || text->len > (size_t)rule->max) {
        return refuse(path, diag, "has %zu bytes; allowed: %s", text->len, rule->allowed);
    }
    if (text->len && !utf8_is_valid(text->data, text->len, &bad)) {
        return refuse(path, diag, "is not valid UTF-8 at byte %zu; text must be whole UTF-8 characters", bad);
    }
    return CHECK_OK;
}

static int check_enum(int value, const ProtobufCEnumDescriptor *type, const struct field_path *path, struct diag *diag)
{
    if (protobuf_c_enum_descriptor_get_value(type, value)) {
        return CHECK_OK;
    }
    return refuse(path, diag, "%d is not a value of %s", value, type->short_name);
}

/* NaN fails each of these comparisons. */
static int check_number(double number, const struct rule *rule, const struct field_path *path, struct diag *diag)
{
    bool enough = rule->kind == RULE_ABOVE ? number > rule->min : number >= rule->min;

    if ((enough && number <= rule->max) || (rule->kind == RULE_BIAS && isinf(number) && number < 0)) {
        return CHECK_OK;
    }
    return refuse(path, diag, "%.10g is out of range; allowed: %s", number, rule->allowed);
}

static double read_number(const void *value, ProtobufCType type)
{
    if (type == PROTOBUF_C_TYPE_FLOAT) {
        return *(const float *)value;
    }
    if (type == PROTOBUF_C_TYPE_UINT64) {
        return (double)*(const uint64_t *)value; /* numbers above 2^53 lose their last digits */
    }
    assert(type == PROTOBUF_C_TYPE_UINT32);
    return *(const uint32_t *)value;
}

static int check_message(const ProtobufCMessage *message, const struct field_path *path, struct diag *diag);

static int check_value(const void *value, const ProtobufCFieldDescriptor *field, const struct rule *rule,
                       const struct field_path *path, struct diag *diag)
{
    const char *word;

    switch (rule->kind) {
    case RULE_ANY:
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            return check_message(*(ProtobufCMessage *const *)value, path, diag);
        }
        return CHECK_OK;
    case RULE_RANGE:
    case RULE_ABOVE:
    case RULE_BIAS:
        return check_number(read_number(value, field->type), rule, path, diag);
    case RULE_ENUM:
        return check_enum(*(const int *)value, field->descriptor, path, diag);
    case RULE_NAME:
        return check_a_name(*(char *const *)value, path, diag);
    case RULE_UNNAMED:
        word = *(char *const *)value;
        return *word ? check_a_name(word, path, diag) : CHECK_OK;
    case RULE_TEXT:
        return check_text(value, rule, path, diag);
    case RULE_PATH:
        return check_path(*(char *const *)value, path, diag);
    case RULE_WORD:
        return check_word(*(char *const *)value, rule, path, diag);
    }
    return CHECK_OK;
}

/* ---- the walk */

static size_t size_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(ProtobufCMessage *);
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(char *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default: /* rows of repeated numbers are RULE_ANY */
        return sizeof(uint32_t);
    }
}

static int check_repeated(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                          const struct rule *rule, const struct field_path *up, struct diag *diag)
{
    const char *base = (const char *)message;
    size_t n = *(const size_t *)(const void *)(base + field->quantifier_offset);
    const char *items = *(const char *const *)(const void *)(base + field->offset);
    struct field_path path = { .up = up, .name = field->name };

    if (rule->most && n > rule->most) {
        return refuse(&path, diag, "has %zu entries; at most %" PRIu32 " are allowed", n, rule->most);
    }
    if (rule->kind == RULE_ANY && field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return CHECK_OK;
    }
    path.indexed = true;
    for (path.index = 0; path.index < n; path.index++) {
        if (check_value(items + path.index * size_of(field->type), field, rule, &path, diag)) {
            return CHECK_BAD;
        }
    }
    return CHECK_OK;
}

static int check_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, const struct rule *rule,
                       const struct field_path *up, struct diag *diag)
{
    const char *base = (const char *)message;
    const struct field_path path = { .up = up, .name = field->name };
    const void *value = base + field->offset;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return check_repeated(message, field, rule, up, diag);
    }
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
        *(const uint32_t *)(const void *)(base + field->quantifier_offset) != field->id) {
        return CHECK_OK;
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE && !*(ProtobufCMessage *const *)value) {
        return CHECK_OK;
    }
    return check_value(value, field, rule, &path, diag);
}

static const struct rule_list *find_list(const ProtobufCMessageDescriptor *type)
{
    for (size_t i = 0; i < COUNTOF(lists); i++) {
        if (lists[i].type == type) {
            return &lists[i];
        }
    }
    return NULL;
}

static int check_message(const ProtobufCMessage *message, const struct field_path *path, struct diag *diag)
{
    const struct rule_list *list = find_list(message->descriptor);

    assert(list);
    for (size_t i = 0; i < list->n; i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(list->type, list->rules[i].field);

        assert(field);
        if (check_field(message, field, &list->rules[i], path, diag)) {
            return CHECK_BAD;
        }
    }
    return list->also ? list->also(message, path, diag) : CHECK_OK;
}

int check_client_frame(const Sotto__V1__ClientFrame *frame, struct diag *diag)
{
    const ProtobufCFieldDescriptor *field;
    struct field_path path = { .up = NULL };

    if (frame->body_case == SOTTO__V1__CLIENT_FRAME__BODY__NOT_SET) {
        return CHECK_OK; /* the body of a later version: the caller refuses it */
    }
    field = protobuf_c_message_descriptor_get_field(&sotto__v1__client_frame__descriptor, frame->body_case);
    assert(field && field->type == PROTOBUF_C_TYPE_MESSAGE);
    path.name = field->name;
    return check_message((const ProtobufCMessage *)frame->hello, &path, diag);
}

bool check_has_list(const ProtobufCMessageDescriptor *type)
{
    return find_list(type) != NULL;
}

bool check_has_row(const ProtobufCMessageDescriptor *type, const char *field)
{
    const struct rule_list *list = find_list(type);

    for (size_t i = 0; list && i < list->n; i++) {
        if (strcmp(list->rules[i].field, field) == 0) {
            return true;
        }
    }
    return false;
}
