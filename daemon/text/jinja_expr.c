/*
 * Expressions. From the loosest to the tightest: if, or, and, not, comparisons, + -, ~, * / // %, **, signs, then
 * names and constants with what hangs behind them.
 */
#include "base/clean.h"
#include "base/utf8.h"
#include "text/jinja_builtin.h"
#include "text/jinja_parse.h"
#include <stdlib.h>
#include <string.h>

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret);
static int parse_primary(struct jinja_parser *parser, struct jinja_node **ret);
static int parse_postfix(struct jinja_parser *parser, struct jinja_node **ret);

/* *ret becomes a node of @kind over itself. */
static int wrap(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret)
{
    struct jinja_node *inner = *ret;
    int r = jinja_new_node(parser, kind, ret);

    if (!r) {
        (*ret)->a = inner;
    }
    return r;
}

/* ---- operators */

struct binary {
    const char *sign;
    enum jinja_node_kind kind;
};

typedef int (*operand_fn)(struct jinja_parser *parser, struct jinja_node **ret);

/* operand { sign operand }, to the left. @signs ends by a NULL. */
static int parse_binary(struct jinja_parser *parser, const struct binary *signs, operand_fn operand,
                        struct jinja_node **ret)
{
    int r = operand(parser, ret);

    while (!r) {
        const struct binary *found = signs;

        while (found->sign && !jinja_skip(parser, found->sign)) {
            found++;
        }
        if (!found->sign) {
            return JINJA_OK;
        }
        r = wrap(parser, found->kind, ret);
        r = r ? r : operand(parser, &(*ret)->b);
    }
    return r;
}

static int parse_signed(struct jinja_parser *parser, struct jinja_node **ret)
{
    return parse_unary(parser, true, ret);
}

static int parse_pow(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const struct binary signs[] = { { "**", JINJA_POW }, { NULL, JINJA_POW } };

    return parse_binary(parser, signs, parse_signed, ret);
}

static int parse_product(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const struct binary signs[] = {
        { "*", JINJA_MUL }, { "/", JINJA_DIV }, { "//", JINJA_FLOOR_DIV }, { "%", JINJA_MOD }, { NULL, JINJA_MOD },
    };

    return parse_binary(parser, signs, parse_pow, ret);
}

static int parse_concat(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes parts = { NULL };
    struct jinja_node *part;
    int r = parse_product(parser, ret);

    if (r || !jinja_sees(parser, "~")) {
        return r;
    }
    jinja_nodes_add(&parts, *ret);
    while (!r && jinja_skip(parser, "~")) {
        r = parse_product(parser, &part);
        if (!r) {
            jinja_nodes_add(&parts, part);
        }
    }
    r = r ? r : jinja_new_node(parser, JINJA_CONCAT, ret);
    if (!r) {
        (*ret)->list = parts.first;
    }
    return r;
}

static int parse_sum(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const struct binary signs[] = { { "+", JINJA_ADD }, { "-", JINJA_SUB }, { NULL, JINJA_SUB } };

    return parse_binary(parser, signs, parse_concat, ret);
}

/* The comparison that stands here, gone past; or NULL. */
static const char *take_comparison(struct jinja_parser *parser)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };

    for (size_t i = 0; i < COUNTOF(signs); i++) {
        if (jinja_skip(parser, signs[i])) {
            return signs[i];
        }
    }
    if (jinja_skip_word(parser, "in")) {
        return "in";
    }
    if (jinja_sees_word(parser, "not")) {
        parser->at++;
        if (jinja_skip_word(parser, "in")) {
            return "not in";
        }
        parser->at--;
    }
    return NULL;
}

static int parse_comparison(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes operands = { NULL };
    int r = parse_sum(parser, ret);

    while (!r) {
        const char *sign = take_comparison(parser);
        struct jinja_node *operand;

        if (!sign) {
            break;
        }
        r = jinja_new_node(parser, JINJA_OPERAND, &operand);
        r = r ? r : parse_sum(parser, &operand->a);
        if (!r) {
            operand->sign = sign;
            jinja_nodes_add(&operands, operand);
        }
    }
    if (r || !operands.first) {
        return r;
    }
    r = wrap(parser, JINJA_COMPARE, ret);
    if (!r) {
        (*ret)->list = operands.first;
    }
    return r;
}

static int parse_not(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (!jinja_skip_word(parser, "not")) {
        return parse_comparison(parser, ret);
    }
    r = jinja_down(parser);
    r = r ? r : parse_not(parser, ret);
    jinja_up(parser);
    return r ? r : wrap(parser, JINJA_NOT, ret);
}

static int parse_and(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = parse_not(parser, ret);

    while (!r && jinja_skip_word(parser, "and")) {
        r = wrap(parser, JINJA_AND, ret);
        r = r ? r : parse_not(parser, &(*ret)->b);
    }
    return r;
}

static int parse_or(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = parse_and(parser, ret);

    while (!r && jinja_skip_word(parser, "or")) {
        r = wrap(parser, JINJA_OR, ret);
        r = r ? r : parse_and(parser, &(*ret)->b);
    }
    return r;
}

int jinja_expression(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_down(parser);

    r = r ? r : parse_or(parser, ret);
    while (!r && jinja_skip_word(parser, "if")) {
        r = wrap(parser, JINJA_COND, ret);
        r = r ? r : parse_or(parser, &(*ret)->b);
        if (!r && jinja_skip_word(parser, "else")) {
            r = jinja_expression(parser, &(*ret)->c);
        }
    }
    jinja_up(parser);
    return r;
}

/* Does a list of expressions end here? */
static bool is_at_end(const struct jinja_parser *parser, const char *end)
{
    return jinja_token_is(parser, JINJA_TOKEN_PRINT_END) || jinja_token_is(parser, JINJA_TOKEN_TAG_END) ||
           jinja_sees(parser, ")") || (end && jinja_sees_word(parser, end));
}

int jinja_expressions(struct jinja_parser *parser, bool cond, const char *end, struct jinja_node **ret)
{
    struct jinja_nodes items = { NULL };
    bool is_tuple = false;
    int r = JINJA_OK;

    while (!r && !is_at_end(parser, end)) {
        struct jinja_node *item;

        r = cond ? jinja_expression(parser, &item) : parse_or(parser, &item);
        if (r) {
            return r;
        }
        jinja_nodes_add(&items, item);
        if (!jinja_skip(parser, ",")) {
            break;
        }
        is_tuple = true;
    }
    if (!items.first) {
        return jinja_refuse(parser, "an expression");
    }
    if (!is_tuple) {
        *ret = items.first;
        return JINJA_OK;
    }
    r = jinja_new_node(parser, JINJA_TUPLE_OF, ret);
    if (!r) {
        (*ret)->list = items.first;
    }
    return r;
}

/* ---- targets */

static int parse_target_name(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_sees_word(parser, "true") || jinja_sees_word(parser, "false") || jinja_sees_word(parser, "none") ||
        jinja_sees_word(parser, "in")) {
        return jinja_refuse(parser, "a name to assign to");
    }
    r = jinja_new_node(parser, JINJA_NAME, ret);
    return r ? r : jinja_expect_name(parser, &(*ret)->name);
}

static int parse_target_item(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (!jinja_skip(parser, "(")) {
        return parse_target_name(parser, ret);
    }
    r = jinja_down(parser);
    r = r ? r : jinja_target(parser, false, ret);
    jinja_up(parser);
    return r ? r : jinja_expect(parser, ")");
}

int jinja_target(struct jinja_parser *parser, bool attribute, struct jinja_node **ret)
{
    struct jinja_nodes items = { NULL };
    struct jinja_node *item;
    int r = parse_target_item(parser, ret);

    if (r) {
        return r;
    }
    if (attribute && (*ret)->kind == JINJA_NAME && jinja_skip(parser, ".")) {
        r = wrap(parser, JINJA_ATTR, ret);
        return r ? r : jinja_expect_name(parser, &(*ret)->name);
    }
    if (!jinja_sees(parser, ",")) {
        return JINJA_OK;
    }
    jinja_nodes_add(&items, *ret);
    while (!r && jinja_skip(parser, ",")) {
        if (jinja_sees_word(parser, "in") || jinja_sees(parser, "=") || jinja_sees(parser, ")")) {
            break;
        }
        r = parse_target_item(parser, &item);
        if (!r) {
            jinja_nodes_add(&items, item);
        }
    }
    r = r ? r : jinja_new_node(parser, JINJA_TUPLE_OF, ret);
    if (!r) {
        (*ret)->list = items.first;
    }
    return r;
}

/* ---- constants */

/* Writes what an escape behind a backslash stands for; *at is behind it then. 0 bytes: it is none, kept as it is. */
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

/* Appends the text of a string token to the string at @string, whose memory has room. */
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
        if (text[behind] == '\n') { /* a line that goes on */
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

/* Strings one after the other are one. An escape is never shorter than what it stands for. */
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
        return jinja_no_room(parser);
    }
    for (; jinja_token_is(parser, JINJA_TOKEN_STRING); parser->at++) {
        read_string(jinja_token(parser), bytes, &n);
    }
    /* Interned as well, so that equal constants are one. */
    r = jinja_intern(parser, bytes, n, &value.string);
    return r ? r : jinja_new_const(parser, &value, ret);
}

static int parse_number(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_token *token = jinja_token(parser);
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
        return jinja_refuse(parser, "a number of 64 bits");
    }
    digits[n] = 0;
    if (token->kind == JINJA_TOKEN_FLOAT) {
        value = jinja_float(strtod(digits, &end));
    } else {
        const bool is_based = n > 1 && digits[0] == '0' && strchr("xXoObB", digits[1]);
        unsigned long long number;

        base = !is_based ? 10 : (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
        number = strtoull(digits + (is_based ? 2 : 0), &end, base);
        if (number > INT64_MAX || *end != 0 || end == digits) {
            return jinja_refuse(parser, "a number of 64 bits");
        }
        value = jinja_int((int64_t)number);
    }
    parser->at++;
    return jinja_new_const(parser, &value, ret);
}

/* [a, b] up to @close; as nodes of a list. */
static int parse_items(struct jinja_parser *parser, const char *close, struct jinja_node **ret)
{
    struct jinja_nodes items = { NULL };
    int r = JINJA_OK;

    while (!r && !jinja_sees(parser, close)) {
        struct jinja_node *item;

        r = jinja_expression(parser, &item);
        if (!r) {
            jinja_nodes_add(&items, item);
        }
        if (!jinja_skip(parser, ",")) {
            break;
        }
    }
    *ret = items.first;
    return r ? r : jinja_expect(parser, close);
}

static int parse_dict(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes pairs = { NULL };
    int r = jinja_new_node(parser, JINJA_DICT_OF, ret);

    while (!r && !jinja_sees(parser, "}")) {
        struct jinja_node *pair;

        r = jinja_new_node(parser, JINJA_PAIR_OF, &pair);
        r = r ? r : jinja_expression(parser, &pair->a);
        r = r ? r : jinja_expect(parser, ":");
        r = r ? r : jinja_expression(parser, &pair->b);
        if (!r) {
            jinja_nodes_add(&pairs, pair);
        }
        if (!jinja_skip(parser, ",")) {
            break;
        }
    }
    r = r ? r : jinja_expect(parser, "}");
    if (!r) {
        (*ret)->list = pairs.first;
    }
    return r;
}

static int parse_parentheses(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_skip(parser, ")")) {
        return jinja_new_node(parser, JINJA_TUPLE_OF, ret);
    }
    r = jinja_expressions(parser, true, NULL, ret);
    return r ? r : jinja_expect(parser, ")");
}

static int parse_name(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const struct {
        const char *word;
        struct jinja_value value;
    } words[] = {
        { "true", { .kind = JINJA_BOOL, .truth = true } },   { "True", { .kind = JINJA_BOOL, .truth = true } },
        { "false", { .kind = JINJA_BOOL, .truth = false } }, { "False", { .kind = JINJA_BOOL, .truth = false } },
        { "none", { .kind = JINJA_NONE } },                  { "None", { .kind = JINJA_NONE } },
    };
    int r;

    for (size_t i = 0; i < COUNTOF(words); i++) {
        if (jinja_skip_word(parser, words[i].word)) {
            return jinja_new_const(parser, &words[i].value, ret);
        }
    }
    r = jinja_new_node(parser, JINJA_NAME, ret);
    r = r ? r : jinja_expect_name(parser, &(*ret)->name);
    if (!r) {
        (*ret)->builtin = jinja_find_global((*ret)->name);
    }
    return r;
}

static int parse_primary(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_token_is(parser, JINJA_TOKEN_NAME)) {
        return parse_name(parser, ret);
    }
    if (jinja_token_is(parser, JINJA_TOKEN_STRING)) {
        return parse_string(parser, ret);
    }
    if (jinja_token_is(parser, JINJA_TOKEN_INT) || jinja_token_is(parser, JINJA_TOKEN_FLOAT)) {
        return parse_number(parser, ret);
    }
    if (jinja_skip(parser, "(")) {
        return parse_parentheses(parser, ret);
    }
    if (jinja_skip(parser, "[")) {
        r = jinja_new_node(parser, JINJA_LIST_OF, ret);
        return r ? r : parse_items(parser, "]", &(*ret)->list);
    }
    if (jinja_skip(parser, "{")) {
        return parse_dict(parser, ret);
    }
    return jinja_refuse(parser, "an expression");
}

/* ---- what hangs behind */

/* "(a, b=1, *c, **d)", behind the opening parenthesis. */
static int parse_args(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes args = { NULL };
    int r = JINJA_OK;

    while (!r && !jinja_sees(parser, ")")) {
        const struct jinja_token *token = jinja_token(parser);
        struct jinja_node *arg;

        r = jinja_new_node(parser, JINJA_ARG, &arg);
        if (r) {
            return r;
        }
        if (jinja_skip(parser, "**")) {
            arg->n_stars = 2;
        } else if (jinja_skip(parser, "*")) {
            arg->n_stars = 1;
        } else if (token->kind == JINJA_TOKEN_NAME && token[1].kind == JINJA_TOKEN_SIGN && token[1].n == 1 &&
                   token[1].at[0] == '=') {
            r = jinja_expect_name(parser, &arg->name);
            parser->at++;
        }
        r = r ? r : jinja_expression(parser, &arg->a);
        if (!r) {
            jinja_nodes_add(&args, arg);
        }
        if (!jinja_skip(parser, ",")) {
            break;
        }
    }
    *ret = args.first;
    return r ? r : jinja_expect(parser, ")");
}

/* Behind "[": an index, a slice, or several as a tuple. */
static int parse_subscript(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_value none = jinja_none();
    struct jinja_nodes parts = { NULL };
    struct jinja_node *part;
    bool is_slice = false;
    int r = JINJA_OK;

    for (int i = 0; !r; i++) {
        if (jinja_sees(parser, ":") || jinja_sees(parser, "]")) {
            r = jinja_new_const(parser, &none, &part);
        } else {
            r = i == 0 ? jinja_expressions(parser, true, NULL, &part) : jinja_expression(parser, &part);
        }
        if (!r) {
            jinja_nodes_add(&parts, part);
        }
        if (i == 2 || !jinja_skip(parser, ":")) {
            break;
        }
        is_slice = true;
    }
    r = r ? r : jinja_expect(parser, "]");
    r = r ? r : wrap(parser, is_slice ? JINJA_SLICE : JINJA_ITEM, ret);
    if (!r) {
        (*ret)->list = is_slice ? parts.first : NULL;
        (*ret)->b = parts.first;
    }
    return r;
}

static int parse_dot(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_token_is(parser, JINJA_TOKEN_INT)) {
        r = wrap(parser, JINJA_ITEM, ret);
        return r ? r : parse_number(parser, &(*ret)->b);
    }
    r = wrap(parser, JINJA_ATTR, ret);
    return r ? r : jinja_expect_name(parser, &(*ret)->name);
}

static int parse_call(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = wrap(parser, JINJA_CALL, ret);

    return r ? r : parse_args(parser, &(*ret)->list);
}

static int parse_postfix(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = JINJA_OK;

    while (!r) {
        if (jinja_skip(parser, ".")) {
            r = parse_dot(parser, ret);
        } else if (jinja_skip(parser, "[")) {
            r = parse_subscript(parser, ret);
        } else if (jinja_skip(parser, "(")) {
            r = parse_call(parser, ret);
        } else {
            break;
        }
    }
    return r;
}

static int parse_one_filter(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = wrap(parser, JINJA_FILTER, ret);

    r = r ? r : jinja_expect_name(parser, &(*ret)->name);
    if (!r && jinja_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    }
    if (!r) {
        (*ret)->builtin = jinja_find_filter((*ret)->name);
    }
    return r;
}

int jinja_filters(struct jinja_parser *parser, struct jinja_node *subject, bool is_begun,
                  struct jinja_node **ret)
{
    int r = JINJA_OK;

    *ret = subject;
    while (!r && (is_begun || jinja_skip(parser, "|"))) {
        r = parse_one_filter(parser, ret);
        is_begun = false;
    }
    return r;
}

/* Does an argument without parentheses follow the name of a test? */
static bool sees_test_argument(const struct jinja_parser *parser)
{
    switch (jinja_token(parser)->kind) {
    case JINJA_TOKEN_NAME:
        return !jinja_sees_word(parser, "else") && !jinja_sees_word(parser, "or") &&
               !jinja_sees_word(parser, "and") && !jinja_sees_word(parser, "if") &&
               !jinja_sees_word(parser, "is") && !jinja_sees_word(parser, "recursive") &&
               !jinja_sees_word(parser, "in") && !jinja_sees_word(parser, "not");
    case JINJA_TOKEN_STRING:
    case JINJA_TOKEN_INT:
    case JINJA_TOKEN_FLOAT:
        return true;
    case JINJA_TOKEN_SIGN:
        return jinja_sees(parser, "[") || jinja_sees(parser, "{");
    case JINJA_TOKEN_TEXT:
    case JINJA_TOKEN_PRINT_BEGIN:
    case JINJA_TOKEN_PRINT_END:
    case JINJA_TOKEN_TAG_BEGIN:
    case JINJA_TOKEN_TAG_END:
    case JINJA_TOKEN_END:
        break;
    }
    return false;
}

/* Behind "is". */
static int parse_test(struct jinja_parser *parser, struct jinja_node **ret)
{
    const bool is_negated = jinja_skip_word(parser, "not");
    int r = wrap(parser, JINJA_TEST, ret);

    r = r ? r : jinja_expect_name(parser, &(*ret)->name);
    if (!r && jinja_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    } else if (!r && sees_test_argument(parser)) {
        r = jinja_new_node(parser, JINJA_ARG, &(*ret)->list);
        r = r ? r : parse_primary(parser, &(*ret)->list->a);
        r = r ? r : parse_postfix(parser, &(*ret)->list->a);
    }
    if (!r) {
        (*ret)->builtin = jinja_find_test((*ret)->name);
    }
    return r || !is_negated ? r : wrap(parser, JINJA_NOT, ret);
}

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret)
{
    int r = jinja_down(parser);

    if (r) {
        return r;
    }
    if (jinja_skip(parser, "-")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : wrap(parser, JINJA_NEG, ret);
    } else if (jinja_skip(parser, "+")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : wrap(parser, JINJA_POS, ret);
    } else {
        r = parse_primary(parser, ret);
    }
    r = r ? r : parse_postfix(parser, ret);
    while (!r && with_filters) {
        if (jinja_sees(parser, "|")) {
            r = jinja_filters(parser, *ret, false, ret);
        } else if (jinja_skip_word(parser, "is")) {
            r = parse_test(parser, ret);
        } else if (jinja_skip(parser, "(")) {
            r = parse_call(parser, ret);
        } else {
            break;
        }
    }
    jinja_up(parser);
    return r;
}
