/*
 * Statements.
 */
#include "jinja/jinja_parse.h"
#include "base/clean.h"

typedef int (*statement_fn)(struct jinja_parser *parser, struct jinja_node **ret);

static int expect_kind(struct jinja_parser *parser, enum jinja_token_kind kind, const char *wanted)
{
    if (!jinja_parser_is(parser, kind)) {
        return jinja_parser_refuse(parser, wanted);
    }
    parser->at++;
    return JINJA_OK;
}

static int parse_body(struct jinja_parser *parser, const char *const *ends, struct jinja_node **ret);

/* Parses the end of this tag and all up to a tag that begins with one of @ends, and stops at that word. */
static int parse_block(struct jinja_parser *parser, const char *const *ends, struct jinja_node **ret)
{
    int r = expect_kind(parser, JINJA_TOKEN_TAG_END, "the end of the tag");

    return r ? r : parse_body(parser, ends, ret);
}

/* Parses a block up to the word @end, and goes past it. */
static int parse_last_block(struct jinja_parser *parser, const char *end, struct jinja_node **ret)
{
    const char *const ends[] = { end, NULL };
    int r = parse_block(parser, ends, ret);

    return r ? r : jinja_parser_expect_word(parser, end);
}

static int parse_if(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    struct jinja_node **tail;
    struct jinja_node *branch;
    int r = jinja_parser_node(parser, JINJA_IF, ret);

    if (r) {
        return r;
    }
    tail = &(*ret)->list;
    do {
        r = jinja_parser_node(parser, JINJA_BRANCH, &branch);
        r = r ? r : jinja_expr_list(parser, false, NULL, &branch->a);
        r = r ? r : parse_block(parser, ends, &branch->body);
        if (r) {
            return r;
        }
        jinja_parser_add(&tail, branch);
    } while (jinja_parser_skip_word(parser, "elif"));
    if (jinja_parser_skip_word(parser, "else")) {
        return parse_last_block(parser, "endif", &(*ret)->orelse);
    }
    return jinja_parser_expect_word(parser, "endif");
}

static int parse_for(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "else", "endfor", NULL };
    struct jinja_node *node;
    int r = jinja_parser_node(parser, JINJA_FOR, ret);

    if (r) {
        return r;
    }
    node = *ret;
    r = jinja_expr_target(parser, false, &node->a);
    r = r ? r : jinja_parser_expect_word(parser, "in");
    r = r ? r : jinja_expr_list(parser, false, "recursive", &node->b);
    if (!r && jinja_parser_skip_word(parser, "if")) {
        r = jinja_expr(parser, &node->c);
    }
    node->flag = !r && jinja_parser_skip_word(parser, "recursive");
    parser->n_loops++;
    r = r ? r : parse_block(parser, ends, &node->body);
    parser->n_loops--;
    if (!r && jinja_parser_skip_word(parser, "else")) {
        return parse_last_block(parser, "endfor", &node->orelse);
    }
    return r ? r : jinja_parser_expect_word(parser, "endfor");
}

static int parse_set(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_node *node;
    int r = jinja_parser_node(parser, JINJA_SET, ret);

    if (r) {
        return r;
    }
    node = *ret;
    r = jinja_expr_target(parser, true, &node->a);
    if (!r && jinja_parser_skip(parser, "=")) {
        return jinja_expr_list(parser, true, NULL, &node->b);
    }
    node->kind = JINJA_SET_BLOCK;
    if (!r && jinja_parser_skip(parser, "|")) {
        r = jinja_expr_filters(parser, NULL, true, &node->b);
    }
    return r ? r : parse_last_block(parser, "endset", &node->body);
}

/* "(a, b=1)" */
static int parse_params(struct jinja_parser *parser, struct jinja_node **tail)
{
    bool has_default = false;
    int r = jinja_parser_expect(parser, "(");

    for (bool is_first = true; !r && !jinja_parser_sees(parser, ")"); is_first = false) {
        struct jinja_node *param;

        r = is_first ? JINJA_OK : jinja_parser_expect(parser, ",");
        r = r ? r : jinja_parser_node(parser, JINJA_PARAM, &param);
        r = r ? r : jinja_parser_expect_name(parser, &param->name);
        if (!r && jinja_parser_skip(parser, "=")) {
            has_default = true;
            r = jinja_expr(parser, &param->a);
        } else if (!r && has_default) {
            r = jinja_parser_refuse(parser, "a default, as the parameter before has one");
        }
        if (!r) {
            jinja_parser_add(&tail, param);
        }
    }
    return r ? r : jinja_parser_expect(parser, ")");
}

static int parse_macro(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_MACRO_DEF, ret);

    r = r ? r : jinja_parser_expect_name(parser, &(*ret)->name);
    r = r ? r : parse_params(parser, &(*ret)->list);
    return r ? r : parse_last_block(parser, "endmacro", &(*ret)->body);
}

static int parse_call(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_CALL_BLOCK, ret);

    if (!r && jinja_parser_sees(parser, "(")) {
        r = parse_params(parser, &(*ret)->list);
    }
    r = r ? r : jinja_expr(parser, &(*ret)->a);
    if (!r && (*ret)->a->kind != JINJA_CALL) {
        r = jinja_parser_refuse(parser, "a call");
    }
    return r ? r : parse_last_block(parser, "endcall", &(*ret)->body);
}

static int parse_filter(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_FILTER_BLOCK, ret);

    r = r ? r : jinja_expr_filters(parser, NULL, true, &(*ret)->b);
    return r ? r : parse_last_block(parser, "endfilter", &(*ret)->body);
}

static int parse_with(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_node **tail;
    int r = jinja_parser_node(parser, JINJA_WITH, ret);

    tail = r ? NULL : &(*ret)->list;
    for (bool is_first = true; !r && !jinja_parser_is(parser, JINJA_TOKEN_TAG_END); is_first = false) {
        struct jinja_node *set;

        r = is_first ? JINJA_OK : jinja_parser_expect(parser, ",");
        r = r ? r : jinja_parser_node(parser, JINJA_SET, &set);
        r = r ? r : jinja_expr_target(parser, false, &set->a);
        r = r ? r : jinja_parser_expect(parser, "=");
        r = r ? r : jinja_expr(parser, &set->b);
        if (!r) {
            jinja_parser_add(&tail, set);
        }
    }
    return r ? r : parse_last_block(parser, "endwith", &(*ret)->body);
}

/* {% generation %} marks the assistant's text for training; here it is a group. */
static int parse_generation(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_GROUP, ret);

    return r ? r : parse_last_block(parser, "endgeneration", &(*ret)->body);
}

static int parse_leaving(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret)
{
    if (parser->n_loops == 0) {
        parser->at--;
        return jinja_parser_refuse(parser, "a loop around it");
    }
    return jinja_parser_node(parser, kind, ret);
}

static int parse_break(struct jinja_parser *parser, struct jinja_node **ret)
{
    return parse_leaving(parser, JINJA_BREAK, ret);
}

static int parse_continue(struct jinja_parser *parser, struct jinja_node **ret)
{
    return parse_leaving(parser, JINJA_CONTINUE, ret);
}

static int parse_print(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_PRINT, ret);

    return r ? r : jinja_expr_list(parser, true, NULL, &(*ret)->a);
}

static const struct {
    const char *name;
    statement_fn parse;
} statements[] = {
    { "if", parse_if },
    { "for", parse_for },
    { "set", parse_set },
    { "macro", parse_macro },
    { "call", parse_call },
    { "filter", parse_filter },
    { "with", parse_with },
    { "break", parse_break },
    { "continue", parse_continue },
    { "print", parse_print },
    { "generation", parse_generation },
};

/* Parses one statement behind "{%", with its end. */
static int parse_statement(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_token *token = jinja_parser_token(parser);
    int r = jinja_parser_down(parser);

    if (r) {
        return r;
    }
    for (size_t i = 0; i < COUNTOF(statements); i++) {
        if (jinja_parser_skip_word(parser, statements[i].name)) {
            r = statements[i].parse(parser, ret);
            r = r ? r : expect_kind(parser, JINJA_TOKEN_TAG_END, "the end of the tag");
            jinja_parser_up(parser);
            return r;
        }
    }
    if (token->kind != JINJA_TOKEN_NAME) {
        return jinja_parser_refuse(parser, "the name of a tag");
    }
    diag_set(parser->diag, "TemplateSyntaxError: line %u: Encountered unknown tag '%.*s'.", token->line,
             (int)(token->n < 40 ? token->n : 40), token->at);
    return JINJA_FAILED;
}

static int parse_text(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_token *token = jinja_parser_token(parser);
    struct jinja_value value = { .kind = JINJA_STRING };
    int r = jinja_parser_intern(parser, token->at, token->n, &value.string);

    parser->at++;
    r = r ? r : jinja_parser_node(parser, JINJA_TEXT, ret);
    if (!r) {
        (*ret)->value = value;
    }
    return r;
}

static int parse_body(struct jinja_parser *parser, const char *const *ends, struct jinja_node **ret)
{
    struct jinja_node **tail = ret;
    struct jinja_node *node;
    int r = JINJA_OK;

    *ret = NULL;
    while (!r && !jinja_parser_is(parser, JINJA_TOKEN_END)) {
        if (jinja_parser_is(parser, JINJA_TOKEN_TEXT)) {
            r = parse_text(parser, &node);
        } else if (jinja_parser_is(parser, JINJA_TOKEN_PRINT_BEGIN)) {
            parser->at++;
            r = parse_print(parser, &node);
            r = r ? r : expect_kind(parser, JINJA_TOKEN_PRINT_END, "the end of the print tag");
        } else {
            parser->at++;
            if (jinja_parser_sees_any(parser, ends)) {
                return JINJA_OK;
            }
            r = parse_statement(parser, &node);
        }
        if (!r) {
            jinja_parser_add(&tail, node);
        }
    }
    if (!r && *ends) {
        while (ends[1]) { /* the last one is required */
            ends++;
        }
        r = jinja_parser_refuse(parser, *ends);
    }
    return r;
}

static void parser_finish(struct jinja_parser *parser)
{
    map_finish(&parser->names);
}

int jinja_parse(struct jinja *jinja, const struct jinja_token *tokens, struct diag *diag)
{
    static const char *const no_ends[] = { NULL };
    cleanup(parser_finish) struct jinja_parser parser = { .tokens = tokens, .jinja = jinja, .diag = diag };
    int r;

    map_init(&parser.names, MEM_TEXT);
    r = jinja_parser_intern(&parser, "caller", 6, &jinja->caller);
    r = r ? r : jinja_parser_intern(&parser, "loop", 4, &jinja->loop);
    r = r ? r : jinja_parser_intern(&parser, "varargs", 7, &jinja->varargs);
    r = r ? r : jinja_parser_intern(&parser, "kwargs", 6, &jinja->kwargs);
    return r ? r : parse_body(&parser, no_ends, &jinja->body);
}
