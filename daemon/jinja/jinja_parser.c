#include "jinja/jinja_parser.h"
#include "base/err.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct jinja_token *jinja_parser_token(const struct jinja_parser *parser)
{
    return &parser->tokens[parser->at];
}

bool jinja_parser_is(const struct jinja_parser *parser, enum jinja_token_kind kind)
{
    return jinja_parser_token(parser)->kind == kind;
}

static bool spells(const struct jinja_token *token, enum jinja_token_kind kind, const char *text)
{
    return token->kind == kind && token->n == strlen(text) && memcmp(token->at, text, token->n) == 0;
}

bool jinja_parser_sees(const struct jinja_parser *parser, const char *sign)
{
    return spells(jinja_parser_token(parser), JINJA_TOKEN_SIGN, sign);
}

bool jinja_parser_sees_word(const struct jinja_parser *parser, const char *word)
{
    return spells(jinja_parser_token(parser), JINJA_TOKEN_NAME, word);
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

bool jinja_parser_sees_any(const struct jinja_parser *parser, const char *const *words)
{
    while (*words && !jinja_parser_sees_word(parser, *words)) {
        words++;
    }
    return *words != NULL;
}

int jinja_parser_refuse(struct jinja_parser *parser, const char *wanted)
{
    const struct jinja_token *token = jinja_parser_token(parser);
    const int n = (int)(token->n < 40 ? token->n : 40);
    char got[48];

    if (token->kind == JINJA_TOKEN_END) {
        snprintf(got, sizeof(got), "the end of the template");
    } else if (token->kind == JINJA_TOKEN_PRINT_END || token->kind == JINJA_TOKEN_TAG_END) {
        snprintf(got, sizeof(got), "the end of the tag");
    } else {
        snprintf(got, sizeof(got), "'%.*s'", n, token->at);
    }
    diag_set(parser->diag, "TemplateSyntaxError: line %u: expected %s, got %s", token->line, wanted, got);
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
    const struct jinja_token *token = jinja_parser_token(parser);

    if (token->kind != JINJA_TOKEN_NAME) {
        return jinja_parser_refuse(parser, "a name");
    }
    parser->at++;
    return jinja_parser_intern(parser, token->at, token->n, ret_name);
}

int jinja_parser_down(struct jinja_parser *parser)
{
    if (parser->depth >= JINJA_NESTING_MAX) {
        diag_set(parser->diag, "TemplateSyntaxError: line %u: nested deeper than %u levels",
                 jinja_parser_token(parser)->line, JINJA_NESTING_MAX);
        return JINJA_FAILED;
    }
    parser->depth++;
    return JINJA_OK;
}

void jinja_parser_up(struct jinja_parser *parser)
{
    parser->depth--;
}

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
    *node = (struct jinja_node){ .kind = kind, .line = jinja_parser_token(parser)->line };
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

int jinja_parser_wrap(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret)
{
    struct jinja_node *inner = *ret;
    int r = jinja_parser_node(parser, kind, ret);

    if (!r) {
        (*ret)->a = inner;
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

void jinja_parser_add(struct jinja_node ***tail, struct jinja_node *node)
{
    **tail = node;
    *tail = &node->next;
}
