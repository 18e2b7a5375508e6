/*
 * Expressions. From the loosest to the tightest: if, or, and, not, comparisons, + -, ~, * / // %, **, signs, then
 * names and constants with what hangs behind them.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_parse.h"
#include <string.h>

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret);
static int parse_postfix(struct jinja_parser *parser, struct jinja_node **ret);

/* *ret becomes a node of @kind over itself. */
static int wrap(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret)
{
    struct jinja_node *inner = *ret;
    int r = jinja_parser_node(parser, kind, ret);

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

        while (found->sign && !jinja_parser_skip(parser, found->sign)) {
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

    if (r || !jinja_parser_sees(parser, "~")) {
        return r;
    }
    jinja_nodes_add(&parts, *ret);
    while (!r && jinja_parser_skip(parser, "~")) {
        r = parse_product(parser, &part);
        if (!r) {
            jinja_nodes_add(&parts, part);
        }
    }
    r = r ? r : jinja_parser_node(parser, JINJA_CONCAT, ret);
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
        if (jinja_parser_skip(parser, signs[i])) {
            return signs[i];
        }
    }
    if (jinja_parser_skip_word(parser, "in")) {
        return "in";
    }
    if (jinja_parser_sees_word(parser, "not")) {
        parser->at++;
        if (jinja_parser_skip_word(parser, "in")) {
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
        r = jinja_parser_node(parser, JINJA_OPERAND, &operand);
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

    if (!jinja_parser_skip_word(parser, "not")) {
        return parse_comparison(parser, ret);
    }
    r = jinja_parser_down(parser);
    r = r ? r : parse_not(parser, ret);
    jinja_parser_up(parser);
    return r ? r : wrap(parser, JINJA_NOT, ret);
}

static int parse_and(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = parse_not(parser, ret);

    while (!r && jinja_parser_skip_word(parser, "and")) {
        r = wrap(parser, JINJA_AND, ret);
        r = r ? r : parse_not(parser, &(*ret)->b);
    }
    return r;
}

static int parse_or(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = parse_and(parser, ret);

    while (!r && jinja_parser_skip_word(parser, "or")) {
        r = wrap(parser, JINJA_OR, ret);
        r = r ? r : parse_and(parser, &(*ret)->b);
    }
    return r;
}

int jinja_expr(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_down(parser);

    r = r ? r : parse_or(parser, ret);
    while (!r && jinja_parser_skip_word(parser, "if")) {
        r = wrap(parser, JINJA_COND, ret);
        r = r ? r : parse_or(parser, &(*ret)->b);
        if (!r && jinja_parser_skip_word(parser, "else")) {
            r = jinja_expr(parser, &(*ret)->c);
        }
    }
    jinja_parser_up(parser);
    return r;
}

/* Does a list of expressions end here? */
static bool is_at_end(const struct jinja_parser *parser, const char *end)
{
    return jinja_parser_is(parser, JINJA_TOKEN_PRINT_END) || jinja_parser_is(parser, JINJA_TOKEN_TAG_END) ||
           jinja_parser_sees(parser, ")") || (end && jinja_parser_sees_word(parser, end));
}

int jinja_expr_list(struct jinja_parser *parser, bool cond, const char *end, struct jinja_node **ret)
{
    struct jinja_nodes items = { NULL };
    bool is_tuple = false;
    int r = JINJA_OK;

    while (!r && !is_at_end(parser, end)) {
        struct jinja_node *item;

        r = cond ? jinja_expr(parser, &item) : parse_or(parser, &item);
        if (r) {
            return r;
        }
        jinja_nodes_add(&items, item);
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
        is_tuple = true;
    }
    if (!items.first) {
        return jinja_parser_refuse(parser, "an expression");
    }
    if (!is_tuple) {
        *ret = items.first;
        return JINJA_OK;
    }
    r = jinja_parser_node(parser, JINJA_TUPLE_OF, ret);
    if (!r) {
        (*ret)->list = items.first;
    }
    return r;
}

/* ---- targets */

static int parse_target_name(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_parser_sees_word(parser, "true") || jinja_parser_sees_word(parser, "false") ||
        jinja_parser_sees_word(parser, "none") || jinja_parser_sees_word(parser, "in")) {
        return jinja_parser_refuse(parser, "a name to assign to");
    }
    r = jinja_parser_node(parser, JINJA_NAME, ret);
    return r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
}

static int parse_target_item(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (!jinja_parser_skip(parser, "(")) {
        return parse_target_name(parser, ret);
    }
    r = jinja_parser_down(parser);
    r = r ? r : jinja_expr_target(parser, false, ret);
    jinja_parser_up(parser);
    return r ? r : jinja_parser_expect(parser, ")");
}

int jinja_expr_target(struct jinja_parser *parser, bool attribute, struct jinja_node **ret)
{
    struct jinja_nodes items = { NULL };
    struct jinja_node *item;
    int r = parse_target_item(parser, ret);

    if (r) {
        return r;
    }
    if (attribute && (*ret)->kind == JINJA_NAME && jinja_parser_skip(parser, ".")) {
        r = wrap(parser, JINJA_ATTR, ret);
        return r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    }
    if (!jinja_parser_sees(parser, ",")) {
        return JINJA_OK;
    }
    jinja_nodes_add(&items, *ret);
    while (!r && jinja_parser_skip(parser, ",")) {
        if (jinja_parser_sees_word(parser, "in") || jinja_parser_sees(parser, "=") || jinja_parser_sees(parser, ")")) {
            break;
        }
        r = parse_target_item(parser, &item);
        if (!r) {
            jinja_nodes_add(&items, item);
        }
    }
    r = r ? r : jinja_parser_node(parser, JINJA_TUPLE_OF, ret);
    if (!r) {
        (*ret)->list = items.first;
    }
    return r;
}

/* ---- what hangs behind */

/* "(a, b=1, *c, **d)", behind the opening parenthesis. */
static int parse_args(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes args = { NULL };
    int r = JINJA_OK;

    while (!r && !jinja_parser_sees(parser, ")")) {
        const struct jinja_token *token = jinja_token(parser);
        struct jinja_node *arg;

        r = jinja_parser_node(parser, JINJA_ARG, &arg);
        if (r) {
            return r;
        }
        if (jinja_parser_skip(parser, "**")) {
            arg->n_stars = 2;
        } else if (jinja_parser_skip(parser, "*")) {
            arg->n_stars = 1;
        } else if (token->kind == JINJA_TOKEN_NAME && token[1].kind == JINJA_TOKEN_SIGN && token[1].n == 1 &&
                   token[1].at[0] == '=') {
            r = jinja_parser_expect_name(parser, &arg->name);
            parser->at++;
        }
        r = r ? r : jinja_expr(parser, &arg->a);
        if (!r) {
            jinja_nodes_add(&args, arg);
        }
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
    }
    *ret = args.first;
    return r ? r : jinja_parser_expect(parser, ")");
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
        if (jinja_parser_sees(parser, ":") || jinja_parser_sees(parser, "]")) {
            r = jinja_parser_const(parser, &none, &part);
        } else {
            r = i == 0 ? jinja_expr_list(parser, true, NULL, &part) : jinja_expr(parser, &part);
        }
        if (!r) {
            jinja_nodes_add(&parts, part);
        }
        if (i == 2 || !jinja_parser_skip(parser, ":")) {
            break;
        }
        is_slice = true;
    }
    r = r ? r : jinja_parser_expect(parser, "]");
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

    if (jinja_parser_is(parser, JINJA_TOKEN_INT)) {
        r = wrap(parser, JINJA_ITEM, ret);
        return r ? r : jinja_primary_number(parser, &(*ret)->b);
    }
    r = wrap(parser, JINJA_ATTR, ret);
    return r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
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
        if (jinja_parser_skip(parser, ".")) {
            r = parse_dot(parser, ret);
        } else if (jinja_parser_skip(parser, "[")) {
            r = parse_subscript(parser, ret);
        } else if (jinja_parser_skip(parser, "(")) {
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

    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    if (!r && jinja_parser_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    }
    if (!r) {
        (*ret)->builtin = jinja_builtin_filter((*ret)->name);
    }
    return r;
}

int jinja_expr_filters(struct jinja_parser *parser, struct jinja_node *subject, bool is_begun, struct jinja_node **ret)
{
    int r = JINJA_OK;

    *ret = subject;
    while (!r && (is_begun || jinja_parser_skip(parser, "|"))) {
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
        return !jinja_parser_sees_word(parser, "else") && !jinja_parser_sees_word(parser, "or") &&
               !jinja_parser_sees_word(parser, "and") && !jinja_parser_sees_word(parser, "if") &&
               !jinja_parser_sees_word(parser, "is") && !jinja_parser_sees_word(parser, "recursive") &&
               !jinja_parser_sees_word(parser, "in") && !jinja_parser_sees_word(parser, "not");
    case JINJA_TOKEN_STRING:
    case JINJA_TOKEN_INT:
    case JINJA_TOKEN_FLOAT:
        return true;
    case JINJA_TOKEN_SIGN:
        return jinja_parser_sees(parser, "[") || jinja_parser_sees(parser, "{");
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
    const bool is_negated = jinja_parser_skip_word(parser, "not");
    int r = wrap(parser, JINJA_TEST, ret);

    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    if (!r && jinja_parser_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    } else if (!r && sees_test_argument(parser)) {
        r = jinja_parser_node(parser, JINJA_ARG, &(*ret)->list);
        r = r ? r : jinja_primary(parser, &(*ret)->list->a);
        r = r ? r : parse_postfix(parser, &(*ret)->list->a);
    }
    if (!r) {
        (*ret)->builtin = jinja_builtin_test((*ret)->name);
    }
    return r || !is_negated ? r : wrap(parser, JINJA_NOT, ret);
}

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret)
{
    int r = jinja_parser_down(parser);

    if (r) {
        return r;
    }
    if (jinja_parser_skip(parser, "-")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : wrap(parser, JINJA_NEG, ret);
    } else if (jinja_parser_skip(parser, "+")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : wrap(parser, JINJA_POS, ret);
    } else {
        r = jinja_primary(parser, ret);
    }
    r = r ? r : parse_postfix(parser, ret);
    while (!r && with_filters) {
        if (jinja_parser_sees(parser, "|")) {
            r = jinja_expr_filters(parser, *ret, false, ret);
        } else if (jinja_parser_skip_word(parser, "is")) {
            r = parse_test(parser, ret);
        } else if (jinja_parser_skip(parser, "(")) {
            r = parse_call(parser, ret);
        } else {
            break;
        }
    }
    jinja_parser_up(parser);
    return r;
}
