/*
 * Statements, and what both files of the parser stand on.
 */
#include "jinja/jinja_parse.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>

typedef int (*statement_fn)(struct jinja_parser *parser, struct jinja_node **ret);

static const char *const no_ends[] = { NULL };

/* ---- tokens */

const struct jinja_token *jinja_token(const struct jinja_parser *parser)
{
    return &parser->tokens[parser->at];
}

bool jinja_parser_is(const struct jinja_parser *parser, enum jinja_token_kind kind)
{
    return jinja_token(parser)->kind == kind;
}

static bool spells(const struct jinja_token *token, enum jinja_token_kind kind, const char *text)
{
    return token->kind == kind && token->n == strlen(text) && memcmp(token->at, text, token->n) == 0;
}

bool jinja_parser_sees(const struct jinja_parser *parser, const char *sign)
{
    return spells(jinja_token(parser), JINJA_TOKEN_SIGN, sign);
}

bool jinja_parser_sees_word(const struct jinja_parser *parser, const char *word)
{
    return spells(jinja_token(parser), JINJA_TOKEN_NAME, word);
}

bool jinja_parser_skip(struct jinja_parser *parser, const char *sign)
{
    const bool is_it = jinja_parser_sees(parser, sign);

    parser->at += is_it;
    return is_it;
}

bool jinja_parser_skip_word(struct jinja_parser *parser, const char *word)
{
    const bool is_it = jinja_parser_sees_word(parser, word);

    parser->at += is_it;
    return is_it;
}

int jinja_parser_refuse(struct jinja_parser *parser, const char *wanted)
{
    const struct jinja_token *token = jinja_token(parser);
    const int n = (int)(token->n < 40 ? token->n : 40);

    switch (token->kind) {
    case JINJA_TOKEN_END:
        diag_set(parser->diag, "TemplateSyntaxError: line %u: expected %s, got the end of the template", token->line,
                 wanted);
        break;
    case JINJA_TOKEN_PRINT_END:
    case JINJA_TOKEN_TAG_END:
        diag_set(parser->diag, "TemplateSyntaxError: line %u: expected %s, got the end of the tag", token->line,
                 wanted);
        break;
    case JINJA_TOKEN_TEXT:
    case JINJA_TOKEN_PRINT_BEGIN:
    case JINJA_TOKEN_TAG_BEGIN:
    case JINJA_TOKEN_NAME:
    case JINJA_TOKEN_STRING:
    case JINJA_TOKEN_INT:
    case JINJA_TOKEN_FLOAT:
    case JINJA_TOKEN_SIGN:
        diag_set(parser->diag, "TemplateSyntaxError: line %u: expected %s, got '%.*s'", token->line, wanted, n,
                 token->at);
        break;
    }
    return JINJA_FAILED;
}

int jinja_parser_expect(struct jinja_parser *parser, const char *sign)
{
    return jinja_parser_skip(parser, sign) ? JINJA_OK : jinja_parser_refuse(parser, sign);
}

int jinja_parser_expect_word(struct jinja_parser *parser, const char *word)
{
    return jinja_parser_skip_word(parser, word) ? JINJA_OK : jinja_parser_refuse(parser, word);
}

int jinja_parser_expect_name(struct jinja_parser *parser, const struct jinja_string **ret_name)
{
    const struct jinja_token *token = jinja_token(parser);

    if (token->kind != JINJA_TOKEN_NAME) {
        return jinja_parser_refuse(parser, "a name");
    }
    parser->at++;
    return jinja_parser_intern(parser, token->at, token->n, ret_name);
}

static int expect_kind(struct jinja_parser *parser, enum jinja_token_kind kind, const char *wanted)
{
    if (!jinja_parser_is(parser, kind)) {
        return jinja_parser_refuse(parser, wanted);
    }
    parser->at++;
    return JINJA_OK;
}

int jinja_parser_down(struct jinja_parser *parser)
{
    if (parser->depth >= JINJA_NESTING_MAX) {
        diag_set(parser->diag, "TemplateSyntaxError: line %u: nested deeper than %u levels", jinja_token(parser)->line,
                 JINJA_NESTING_MAX);
        return JINJA_FAILED;
    }
    parser->depth++;
    return JINJA_OK;
}

void jinja_parser_up(struct jinja_parser *parser)
{
    parser->depth--;
}

/* ---- nodes */

int jinja_parser_no_room(struct jinja_parser *parser)
{
    if (!parser->jinja->arena.exceeded) {
        return err_new(-ENOMEM);
    }
    diag_set(parser->diag, "TemplateSyntaxError: the template is too large");
    return JINJA_FAILED;
}

int jinja_parser_node(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret)
{
    struct jinja_node *node = arena_alloc(&parser->jinja->arena, sizeof(*node));

    if (!node) {
        return jinja_parser_no_room(parser);
    }
    *node = (struct jinja_node){ .kind = kind, .line = jinja_token(parser)->line };
    *ret = node;
    return JINJA_OK;
}

int jinja_parser_const(struct jinja_parser *parser, const struct jinja_value *value, struct jinja_node **ret)
{
    int r = jinja_parser_node(parser, JINJA_CONST, ret);

    if (!r) {
        (*ret)->value = *value;
    }
    return r;
}

int jinja_parser_intern(struct jinja_parser *parser, const char *bytes, size_t n, const struct jinja_string **ret)
{
    union map_value *known = map_find_bytes(&parser->names, bytes, n);
    struct jinja_string *string;
    int r;

    if (known) {
        *ret = known->pointer;
        return JINJA_OK;
    }
    string = arena_alloc(&parser->jinja->arena, sizeof(*string));
    if (!string) {
        return jinja_parser_no_room(parser);
    }
    *string = (struct jinja_string){ .bytes = bytes, .n = n };
    r = map_put_bytes(&parser->names, bytes, n, (union map_value){ .pointer = string });
    if (r) {
        return err_up(r);
    }
    *ret = string;
    return JINJA_OK;
}

void jinja_nodes_add(struct jinja_nodes *nodes, struct jinja_node *node)
{
    if (nodes->last) {
        nodes->last->next = node;
    } else {
        nodes->first = node;
    }
    nodes->last = node;
}

/* ---- statements */

static int parse_body(struct jinja_parser *parser, const char *const *ends, struct jinja_node **ret);

/* The end of this tag, then all up to a tag that begins by one of @ends; stops at that word. */
static int parse_block(struct jinja_parser *parser, const char *const *ends, struct jinja_node **ret)
{
    int r = expect_kind(parser, JINJA_TOKEN_TAG_END, "the end of the tag");

    return r ? r : parse_body(parser, ends, ret);
}

static int parse_if(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    static const char *const last[] = { "endif", NULL };
    struct jinja_nodes branches = { NULL };
    struct jinja_node *branch;
    int r = jinja_parser_node(parser, JINJA_IF, ret);

    while (!r) {
        r = jinja_parser_node(parser, JINJA_BRANCH, &branch);
        r = r ? r : jinja_expr_list(parser, false, NULL, &branch->a);
        r = r ? r : parse_block(parser, ends, &branch->body);
        if (r) {
            return r;
        }
        jinja_nodes_add(&branches, branch);
        if (!jinja_parser_skip_word(parser, "elif")) {
            break;
        }
    }
    if (!r && jinja_parser_skip_word(parser, "else")) {
        r = parse_block(parser, last, &(*ret)->orelse);
    }
    r = r ? r : jinja_parser_expect_word(parser, "endif");
    if (!r) {
        (*ret)->list = branches.first;
    }
    return r;
}

static int parse_for(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "else", "endfor", NULL };
    static const char *const last[] = { "endfor", NULL };
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
        r = parse_block(parser, last, &node->orelse);
    }
    return r ? r : jinja_parser_expect_word(parser, "endfor");
}

static int parse_set(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endset", NULL };
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
    r = r ? r : parse_block(parser, ends, &node->body);
    return r ? r : jinja_parser_expect_word(parser, "endset");
}

/* "(a, b=1)" */
static int parse_params(struct jinja_parser *parser, struct jinja_node **ret)
{
    struct jinja_nodes params = { NULL };
    int r = jinja_parser_expect(parser, "(");

    while (!r && !jinja_parser_sees(parser, ")")) {
        struct jinja_node *param;

        r = params.first ? jinja_parser_expect(parser, ",") : JINJA_OK;
        r = r ? r : jinja_parser_node(parser, JINJA_PARAM, &param);
        r = r ? r : jinja_parser_expect_name(parser, &param->name);
        if (!r && jinja_parser_skip(parser, "=")) {
            r = jinja_expr(parser, &param->a);
        } else if (!r && params.last && params.last->a) {
            r = jinja_parser_refuse(parser, "a default, as the parameter before has one");
        }
        if (!r) {
            jinja_nodes_add(&params, param);
        }
    }
    *ret = params.first;
    return r ? r : jinja_parser_expect(parser, ")");
}

static int parse_macro(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endmacro", NULL };
    struct jinja_node *node;
    int r = jinja_parser_node(parser, JINJA_MACRO_DEF, ret);

    if (r) {
        return r;
    }
    node = *ret;
    r = jinja_parser_expect_name(parser, &node->name);
    r = r ? r : parse_params(parser, &node->list);
    r = r ? r : parse_block(parser, ends, &node->body);
    return r ? r : jinja_parser_expect_word(parser, "endmacro");
}

static int parse_call(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endcall", NULL };
    struct jinja_node *node;
    int r = jinja_parser_node(parser, JINJA_CALL_BLOCK, ret);

    if (r) {
        return r;
    }
    node = *ret;
    r = jinja_parser_sees(parser, "(") ? parse_params(parser, &node->list) : JINJA_OK;
    r = r ? r : jinja_expr(parser, &node->a);
    if (!r && node->a->kind != JINJA_CALL) {
        r = jinja_parser_refuse(parser, "a call");
    }
    r = r ? r : parse_block(parser, ends, &node->body);
    return r ? r : jinja_parser_expect_word(parser, "endcall");
}

static int parse_filter(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endfilter", NULL };
    int r = jinja_parser_node(parser, JINJA_FILTER_BLOCK, ret);

    r = r ? r : jinja_expr_filters(parser, NULL, true, &(*ret)->b);
    r = r ? r : parse_block(parser, ends, &(*ret)->body);
    return r ? r : jinja_parser_expect_word(parser, "endfilter");
}

static int parse_with(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endwith", NULL };
    struct jinja_nodes sets = { NULL };
    int r = jinja_parser_node(parser, JINJA_WITH, ret);

    while (!r && !jinja_parser_is(parser, JINJA_TOKEN_TAG_END)) {
        struct jinja_node *set;

        r = sets.first ? jinja_parser_expect(parser, ",") : JINJA_OK;
        r = r ? r : jinja_parser_node(parser, JINJA_SET, &set);
        r = r ? r : jinja_expr_target(parser, false, &set->a);
        r = r ? r : jinja_parser_expect(parser, "=");
        r = r ? r : jinja_expr(parser, &set->b);
        if (!r) {
            jinja_nodes_add(&sets, set);
        }
    }
    r = r ? r : parse_block(parser, ends, &(*ret)->body);
    r = r ? r : jinja_parser_expect_word(parser, "endwith");
    if (!r) {
        (*ret)->list = sets.first;
    }
    return r;
}

/* {% generation %} marks what an assistant said, for training; here it is a group. */
static int parse_generation(struct jinja_parser *parser, struct jinja_node **ret)
{
    static const char *const ends[] = { "endgeneration", NULL };
    int r = jinja_parser_node(parser, JINJA_GROUP, ret);

    r = r ? r : parse_block(parser, ends, &(*ret)->body);
    return r ? r : jinja_parser_expect_word(parser, "endgeneration");
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

/* Behind "{%": one statement with its end. */
static int parse_statement(struct jinja_parser *parser, struct jinja_node **ret)
{
    int r = jinja_parser_down(parser);

    for (size_t i = 0; !r && i < COUNTOF(statements); i++) {
        if (jinja_parser_skip_word(parser, statements[i].name)) {
            r = statements[i].parse(parser, ret);
            r = r ? r : expect_kind(parser, JINJA_TOKEN_TAG_END, "the end of the tag");
            jinja_parser_up(parser);
            return r;
        }
    }
    if (r) {
        return r;
    }
    if (!jinja_parser_is(parser, JINJA_TOKEN_NAME)) {
        return jinja_parser_refuse(parser, "the name of a tag");
    }
    diag_set(parser->diag, "TemplateSyntaxError: line %u: Encountered unknown tag '%.*s'.", jinja_token(parser)->line,
             (int)(jinja_token(parser)->n < 40 ? jinja_token(parser)->n : 40), jinja_token(parser)->at);
    return JINJA_FAILED;
}

static bool sees_one_of(const struct jinja_parser *parser, const char *const *words)
{
    for (; *words; words++) {
        if (jinja_parser_sees_word(parser, *words)) {
            return true;
        }
    }
    return false;
}

static int parse_text(struct jinja_parser *parser, struct jinja_node **ret)
{
    const struct jinja_token *token = jinja_token(parser);
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
    struct jinja_nodes nodes = { NULL };
    struct jinja_node *node;
    int r = JINJA_OK;

    while (!r && !jinja_parser_is(parser, JINJA_TOKEN_END)) {
        if (jinja_parser_is(parser, JINJA_TOKEN_TEXT)) {
            r = parse_text(parser, &node);
        } else if (jinja_parser_is(parser, JINJA_TOKEN_PRINT_BEGIN)) {
            parser->at++;
            r = parse_print(parser, &node);
            r = r ? r : expect_kind(parser, JINJA_TOKEN_PRINT_END, "the end of the print tag");
        } else {
            parser->at++;
            if (sees_one_of(parser, ends)) {
                *ret = nodes.first;
                return JINJA_OK;
            }
            r = parse_statement(parser, &node);
        }
        if (!r) {
            jinja_nodes_add(&nodes, node);
        }
    }
    if (!r && *ends) {
        while (ends[1]) { /* the last is the one that must come */
            ends++;
        }
        r = jinja_parser_refuse(parser, *ends);
    }
    *ret = nodes.first;
    return r;
}

static void parser_finish(struct jinja_parser *parser)
{
    map_finish(&parser->names);
}

int jinja_parse(struct jinja *jinja, const struct jinja_token *tokens, struct diag *diag)
{
    cleanup(parser_finish) struct jinja_parser parser = { .tokens = tokens, .jinja = jinja, .diag = diag };
    int r;

    map_init(&parser.names, MEM_WORDS);
    r = jinja_parser_intern(&parser, "caller", 6, &jinja->caller);
    r = r ? r : jinja_parser_intern(&parser, "loop", 4, &jinja->loop);
    r = r ? r : jinja_parser_intern(&parser, "varargs", 7, &jinja->varargs);
    r = r ? r : jinja_parser_intern(&parser, "kwargs", 6, &jinja->kwargs);
    return r ? r : parse_body(&parser, no_ends, &jinja->body);
}
