/*
 * Names, constants, and brackets with their contents.
 */
#include "base/clean.h"
#include "base/utf8.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_parse.h"
#include <stdlib.h>
#include <string.h>

/* Writes what an escape behind a backslash stands for, moves *at past it and returns the bytes written. 0: it is no
 * escape, and its text stays. */
static size_t read_escape(const char *text, size_t n, size_t *at, uint8_t *out)
{
    static const char letters[] = "abfnrtv\\'\"";
    static const char meanings[] = "\a\b\f\n\r\t\v\\'\"";
    const char c = text[*at];
    const char *letter = c ? strchr(letters, c) : NULL;
    const size_t n_hex = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t point = 0;
    size_t i = 0;

    if (letter) {
        out[0] = (uint8_t)meanings[letter - letters];
        ++*at;
        return 1;
    }
    if (n_hex > 0) {
        for (i = 0; i < n_hex && *at + 1 + i < n; i++) {
            const char digit[2] = { text[*at + 1 + i], 0 };
            char *end;

            point = point << 4 | (uint32_t)strtoul(digit, &end, 16);
            if (end == digit) {
                return 0;
            }
        }
        *at += 1 + n_hex;
    } else {
        for (; i < 3 && *at + i < n && text[*at + i] >= '0' && text[*at + i] <= '7'; i++) {
            point = point * 8 + (uint32_t)(text[*at + i] - '0');
        }
        *at += i;
    }
    if (i == 0 || i < n_hex || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
        return 0;
    }
    return utf8_write(point, out);
}

/* Appends the text of a string token to the *n bytes at @bytes, which have room. */
static void read_string(const struct jinja_token *token, char *bytes, size_t *n)
{
    const char *text = token->at + 1;
    const size_t n_text = token->n - 2;

    for (size_t at = 0; at < n_text;) {
        size_t behind = at + 1;
        uint8_t out[4];
        size_t n_out;

        if (text[at] != '\\') {
            bytes[(*n)++] = text[at++];
            continue;
        }
        if (text[behind] == '\n') { /* a continued line */
            at += 2;
            continue;
        }
        n_out = read_escape(text, n_text, &behind, out);
        if (n_out > 0) {
            memcpy(bytes + *n, out, n_out);
            *n += n_out;
            at = behind;
        } else {
            bytes[(*n)++] = text[at++];
        }
    }
}

/* Parses adjacent strings as one. No escape is shorter than what it stands for, so the source has room enough. */
static int parse_string(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_value value = { .kind = JINJA_STRING };
    size_t room = 0;
    size_t n = 0;
    char *bytes;
    int r;

    for (size_t i = parser->at; parser->tokens[i].kind == JINJA_TOKEN_STRING; i++) {
        room += parser->tokens[i].n;
    }
    bytes = arena_alloc(&parser->jinja->arena, room);
    if (!bytes) {
        return jinja_parser_no_room(parser);
    }
    for (; jinja_parser_is(parser, JINJA_TOKEN_STRING); parser->at++) {
        read_string(jinja_parser_token(parser), bytes, &n);
    }
    /* Interned, so that equal constants are one object. */
    r = jinja_parser_intern(parser, bytes, n, &value.string);
    return r ? r : jinja_parser_const(parser, &value, ret);
}

int jinja_primary_number(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_token *token = jinja_parser_token(parser);
    struct jinja_value value;
    char digits[64];
    size_t n = 0;
    int base = 10;
    char *end;

    for (size_t i = 0; i < token->n; i++) {
        if (token->at[i] != '_' && n < sizeof(digits)) {
            digits[n++] = token->at[i];
        }
    }
    if (n == sizeof(digits)) {
        return jinja_parser_refuse(parser, "a number of 64 bits");
    }
    digits[n] = 0;
    if (token->kind == JINJA_TOKEN_FLOAT) {
        value = jinja_float(strtod(digits, &end));
    } else {
        const bool is_based = n > 1 && digits[0] == '0' && strchr("xXoObB", digits[1]);
        const char *first = digits + (is_based ? 2 : 0);
        unsigned long long number;

        base = !is_based ? 10 : (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
        number = strtoull(first, &end, base);
        if (number > INT64_MAX || *end != 0 || end == first) {
            return jinja_parser_refuse(parser, "a number of 64 bits");
        }
        value = jinja_int((int64_t)number);
    }
    parser->at++;
    return jinja_parser_const(parser, &value, ret);
}

static int parse_list(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_node **tail;
    int r = jinja_parser_node(parser, JINJA_LIST_OF, ret);

    tail = r ? NULL : &(*ret)->list;
    while (!r && !jinja_parser_sees(parser, "]")) {
        struct jinja_node *item;

        r = jinja_expr(parser, &item);
        if (!r) {
            jinja_parser_add(&tail, item);
        }
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
    }
    return r ? r : jinja_parser_expect(parser, "]");
}

static int parse_dict(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_node **tail;
    int r = jinja_parser_node(parser, JINJA_DICT_OF, ret);

    tail = r ? NULL : &(*ret)->list;
    while (!r && !jinja_parser_sees(parser, "}")) {
        struct jinja_node *pair;

        r = jinja_parser_node(parser, JINJA_PAIR_OF, &pair);
        r = r ? r : jinja_expr(parser, &pair->a);
        r = r ? r : jinja_parser_expect(parser, ":");
        r = r ? r : jinja_expr(parser, &pair->b);
        if (!r) {
            jinja_parser_add(&tail, pair);
        }
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
    }
    return r ? r : jinja_parser_expect(parser, "}");
}

static int parse_parentheses(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_parser_skip(parser, ")")) {
        return jinja_parser_node(parser, JINJA_TUPLE_OF, ret);
    }
    r = jinja_expr_list(parser, true, NULL, ret);
    return r ? r : jinja_parser_expect(parser, ")");
}

static int parse_name(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const struct {
        const char *word;
        struct jinja_value value;
    } words[] = {
        { "true", { .kind = JINJA_BOOL, .truth = true } },
        { "True", { .kind = JINJA_BOOL, .truth = true } },
        { "false", { .kind = JINJA_BOOL, .truth = false } },
        { "False", { .kind = JINJA_BOOL, .truth = false } },
        { "none", { .kind = JINJA_NONE } },
        { "None", { .kind = JINJA_NONE } },
    };
    int r;

    for (size_t i = 0; i < COUNTOF(words); i++) {
        if (jinja_parser_skip_word(parser, words[i].word)) {
            return jinja_parser_const(parser, &words[i].value, ret);
        }
    }
    r = jinja_parser_node(parser, JINJA_NAME, ret);
    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    if (!r) {
        (*ret)->builtin = jinja_builtin_global(parser->jinja->library, (*ret)->name);
    }
    return r;
}

int jinja_primary(struct jinja_parser *parser, struct jinja_node **ret)
{
    if (jinja_parser_is(parser, JINJA_TOKEN_NAME)) {
        return parse_name(parser, ret);
    }
    if (jinja_parser_is(parser, JINJA_TOKEN_STRING)) {
        return parse_string(parser, ret);
    }
    if (jinja_parser_is(parser, JINJA_TOKEN_INT) || jinja_parser_is(parser, JINJA_TOKEN_FLOAT)) {
        return jinja_primary_number(parser, ret);
    }
    if (jinja_parser_skip(parser, "(")) {
        return parse_parentheses(parser, ret);
    }
    if (jinja_parser_skip(parser, "[")) {
        return parse_list(parser, ret);
    }
    if (jinja_parser_skip(parser, "{")) {
        return parse_dict(parser, ret);
    }
    return jinja_parser_refuse(parser, "an expression");
}
