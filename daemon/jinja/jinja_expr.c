/*
 * Expressions. Operators from the loosest to the tightest: if, or, and, not, comparisons, + -, ~, * / // %, **, signs,
 * and then names and constants with their attributes, subscripts, calls, filters and tests.
 */
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_parse.h"

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret);
static int parse_postfix(struct jinja_parser *parser, struct jinja_node **ret);

/* ---- operators */

/* From the loosest to the tightest. */
enum level {
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARISON,
    LEVEL_SUM,
    LEVEL_CONCAT,
    LEVEL_PRODUCT,
    LEVEL_POWER,
    LEVEL_SIGN
};

static const struct binary {
    enum level level;
    enum jinja_node_kind kind;
    const char *sign;
} operators[] = {
    { LEVEL_OR, JINJA_OR, "or" },
    { LEVEL_AND, JINJA_AND, "and" },
    { LEVEL_SUM, JINJA_ADD, "+" },
    { LEVEL_SUM, JINJA_SUB, "-" },
    { LEVEL_PRODUCT, JINJA_MUL, "*" },
    { LEVEL_PRODUCT, JINJA_DIV, "/" },
    { LEVEL_PRODUCT, JINJA_FLOOR_DIV, "//" },
    { LEVEL_PRODUCT, JINJA_MOD, "%" },
    { LEVEL_POWER, JINJA_POW, "**" },
};

static int parse_level(struct jinja_parser *parser, enum level level, struct jinja_node **ret);

/* Goes past an operator of @level and returns it, or NULL where there is none. */
static const struct binary *take_operator(struct jinja_parser *parser, enum level level)
{
    for (size_t i = 0; i < COUNTOF(operators); i++) {
        const struct binary *op = &operators[i];

        if (op->level == level && (jinja_parser_skip(parser, op->sign) || jinja_parser_skip_word(parser, op->sign))) {
            return op;
        }
    }
    return NULL;
}

/* Parses the operands of a level, joined to the left: a - b - c is (a - b) - c. */
static int parse_binary(struct jinja_parser *parser, enum level level, struct jinja_node **ret)
{
    const struct binary *op;
    int r = parse_level(parser, level + 1, ret);

    while (!r && (op = take_operator(parser, level))) {
        r = jinja_parser_wrap(parser, op->kind, ret);
        r = r ? r : parse_level(parser, level + 1, &(*ret)->b);
    }
    return r;
}

static int parse_concat(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_node *part;
    struct jinja_node **tail;
    int r = parse_level(parser, LEVEL_PRODUCT, &part);

    if (r || !jinja_parser_sees(parser, "~")) {
        *ret = part;
        return r;
    }
    r = jinja_parser_node(parser, JINJA_CONCAT, ret);
    if (r) {
        return r;
    }
    tail = &(*ret)->list;
    jinja_parser_add(&tail, part);
    while (!r && jinja_parser_skip(parser, "~")) {
        r = parse_level(parser, LEVEL_PRODUCT, &part);
        if (!r) {
            jinja_parser_add(&tail, part);
        }
    }
    return r;
}

/* Goes past a comparison and returns its sign, or NULL where there is none. */
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
    struct jinja_node **tail = NULL;
    const char *sign;
    int r = parse_level(parser, LEVEL_SUM, ret);

    while (!r && (sign = take_comparison(parser))) {
        struct jinja_node *operand;

        if (!tail) {
            r = jinja_parser_wrap(parser, JINJA_COMPARE, ret);
            tail = &(*ret)->list;
        }
        r = r ? r : jinja_parser_node(parser, JINJA_OPERAND, &operand);
        r = r ? r : parse_level(parser, LEVEL_SUM, &operand->a);
        if (!r) {
            operand->sign = sign;
            jinja_parser_add(&tail, operand);
        }
    }
    return r;
}

static int parse_not(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (!jinja_parser_skip_word(parser, "not")) {
        return parse_level(parser, LEVEL_COMPARISON, ret);
    }
    r = jinja_parser_down(parser);
    r = r ? r : parse_not(parser, ret);
    jinja_parser_up(parser);
    return r ? r : jinja_parser_wrap(parser, JINJA_NOT, ret);
}

static int parse_level(struct jinja_parser *parser, enum level level, struct jinja_node **ret)
{
    switch ((int)level) {
    case LEVEL_NOT:
        return parse_not(parser, ret);
    case LEVEL_COMPARISON:
        return parse_comparison(parser, ret);
    case LEVEL_CONCAT:
        return parse_concat(parser, ret);
    case LEVEL_SIGN:
        return parse_unary(parser, true, ret);
    }
    return parse_binary(parser, level, ret);
}

int jinja_expr(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_down(parser);

    r = r ? r : parse_level(parser, LEVEL_OR, ret);
    while (!r && jinja_parser_skip_word(parser, "if")) {
        r = jinja_parser_wrap(parser, JINJA_COND, ret);
        r = r ? r : parse_level(parser, LEVEL_OR, &(*ret)->b);
        if (!r && jinja_parser_skip_word(parser, "else")) {
            r = jinja_expr(parser, &(*ret)->c);
        }
    }
    jinja_parser_up(parser);
    return r;
}

/* True where a list of expressions ends. */
static bool is_at_end(const struct jinja_parser *parser, const char *end)
{
    return jinja_parser_is(parser, JINJA_TOKEN_PRINT_END) || jinja_parser_is(parser, JINJA_TOKEN_TAG_END) ||
           jinja_parser_sees(parser, ")") || (end && jinja_parser_sees_word(parser, end));
}

int jinja_expr_list(struct jinja_parser *parser, bool cond, const char *end, struct jinja_node **ret)
{
    struct jinja_node *items = NULL;
    struct jinja_node **tail = &items;
    bool is_tuple = false;
    int r = JINJA_OK;

    while (!r && !is_at_end(parser, end)) {
        struct jinja_node *item;

        r = cond ? jinja_expr(parser, &item) : parse_level(parser, LEVEL_OR, &item);
        if (r) {
            return r;
        }
        jinja_parser_add(&tail, item);
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
        is_tuple = true;
    }
    if (!items) {
        return jinja_parser_refuse(parser, "an expression");
    }
    if (!is_tuple) {
        *ret = items;
        return JINJA_OK;
    }
    r = jinja_parser_node(parser, JINJA_TUPLE_OF, ret);
    if (!r) {
        (*ret)->list = items;
    }
    return r;
}

/* ---- targets */

static int parse_target_name(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const words[] = { "true", "false", "none", "in", NULL };
    int r;

    if (jinja_parser_sees_any(parser, words)) {
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
    struct jinja_node *item;
    struct jinja_node **tail;
    int r = parse_target_item(parser, &item);

    *ret = item;
    if (r) {
        return r;
    }
    if (attribute && item->kind == JINJA_NAME && jinja_parser_skip(parser, ".")) {
        r = jinja_parser_wrap(parser, JINJA_ATTR, ret);
        return r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    }
    if (!jinja_parser_sees(parser, ",")) {
        return JINJA_OK;
    }
    r = jinja_parser_node(parser, JINJA_TUPLE_OF, ret);
    if (r) {
        return r;
    }
    tail = &(*ret)->list;
    jinja_parser_add(&tail, item);
    while (!r && jinja_parser_skip(parser, ",")) {
        if (jinja_parser_sees_word(parser, "in") || jinja_parser_sees(parser, "=") || jinja_parser_sees(parser, ")")) {
            break;
        }
        r = parse_target_item(parser, &item);
        if (!r) {
            jinja_parser_add(&tail, item);
        }
    }
    return r;
}

/* ---- attributes, subscripts, calls, filters and tests */

/* Parses "a, b=1, *c, **d)", behind the opening parenthesis, into the list at @tail. */
static int parse_args(struct jinja_parser *parser, struct jinja_node **tail)
{
    int r = JINJA_OK;

    while (!r && !jinja_parser_sees(parser, ")")) {
        const struct jinja_token *token = jinja_parser_token(parser);
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
            jinja_parser_add(&tail, arg);
        }
        if (!jinja_parser_skip(parser, ",")) {
            break;
        }
    }
    return r ? r : jinja_parser_expect(parser, ")");
}

/* Parses an index, a slice, or several indices as a tuple, behind "[". */
static int parse_subscript(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_value none = jinja_none();
    struct jinja_node *parts = NULL;
    struct jinja_node **tail = &parts;
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
            jinja_parser_add(&tail, part);
        }
        if (i == 2 || !jinja_parser_skip(parser, ":")) {
            break;
        }
        is_slice = true;
    }
    r = r ? r : jinja_parser_expect(parser, "]");
    r = r ? r : jinja_parser_wrap(parser, is_slice ? JINJA_SLICE : JINJA_ITEM, ret);
    if (!r) {
        (*ret)->list = is_slice ? parts : NULL;
        (*ret)->b = parts;
    }
    return r;
}

static int parse_dot(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r;

    if (jinja_parser_is(parser, JINJA_TOKEN_INT)) {
        r = jinja_parser_wrap(parser, JINJA_ITEM, ret);
        return r ? r : jinja_primary_number(parser, &(*ret)->b);
    }
    r = jinja_parser_wrap(parser, JINJA_ATTR, ret);
    return r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
}

static int parse_call(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_wrap(parser, JINJA_CALL, ret);

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
    int r = jinja_parser_wrap(parser, JINJA_FILTER, ret);

    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    if (!r && jinja_parser_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    }
    if (!r) {
        (*ret)->builtin = jinja_builtin_filter(parser->jinja->library, (*ret)->name);
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

/* True if an argument without parentheses follows the name of a test. */
static bool sees_test_argument(const struct jinja_parser *parser)
{
    static const char *const words[] = { "else", "or", "and", "if", "is", "recursive", "in", "not", NULL };

    return (jinja_parser_is(parser, JINJA_TOKEN_NAME) && !jinja_parser_sees_any(parser, words)) ||
           jinja_parser_is(parser, JINJA_TOKEN_STRING) || jinja_parser_is(parser, JINJA_TOKEN_INT) ||
           jinja_parser_is(parser, JINJA_TOKEN_FLOAT) || jinja_parser_sees(parser, "[") ||
           jinja_parser_sees(parser, "{");
}

/* Parses a test behind "is". */
static int parse_test(struct jinja_parser *parser, struct jinja_node **ret)
{
    const bool is_negated = jinja_parser_skip_word(parser, "not");
    int r = jinja_parser_wrap(parser, JINJA_TEST, ret);

    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    if (!r && jinja_parser_skip(parser, "(")) {
        r = parse_args(parser, &(*ret)->list);
    } else if (!r && sees_test_argument(parser)) {
        r = jinja_parser_node(parser, JINJA_ARG, &(*ret)->list);
        r = r ? r : jinja_primary(parser, &(*ret)->list->a);
        r = r ? r : parse_postfix(parser, &(*ret)->list->a);
    }
    if (!r) {
        (*ret)->builtin = jinja_builtin_test(parser->jinja->library, (*ret)->name);
    }
    return r || !is_negated ? r : jinja_parser_wrap(parser, JINJA_NOT, ret);
}

static int parse_unary(struct jinja_parser *parser, bool with_filters, struct jinja_node **ret)
{
    int r = jinja_parser_down(parser);

    if (r) {
        return r;
    }
    if (jinja_parser_skip(parser, "-")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : jinja_parser_wrap(parser, JINJA_NEG, ret);
    } else if (jinja_parser_skip(parser, "+")) {
        r = parse_unary(parser, false, ret);
        r = r ? r : jinja_parser_wrap(parser, JINJA_POS, ret);
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
