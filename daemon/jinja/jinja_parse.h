/*
 * Jinja parser: from tokens to the tree, by recursive descent as Jinja's own grammar goes
 *
 * What the two files of the parser share. Nesting has a ceiling, since each level is some of our own stack.
 */
#ifndef SOTTO_JINJA_JINJA_PARSE_H
#define SOTTO_JINJA_JINJA_PARSE_H

#include "base/map.h"
#include "jinja/jinja_lex.h"
#include "jinja/jinja_node.h"

/* Published templates nest below 20. A level of parentheses is some 2 KiB of stack. */
#define JINJA_NESTING_MAX 200u

struct jinja_parser {
    const struct jinja_token *tokens;
    size_t at;
    struct jinja *jinja;
    struct map names; /* of bytes, to the one string of each name */
    uint32_t depth;
    uint32_t n_loops; /* around this place */
    struct diag *diag;
};

/* A list of nodes under construction. */
struct jinja_nodes {
    struct jinja_node *first;
    struct jinja_node *last;
};

void jinja_nodes_add(struct jinja_nodes *nodes, struct jinja_node *node);

/* Parses all tokens into jinja->body. JINJA_FAILED with @diag, or -ENOMEM, as all below. */
int jinja_parse(struct jinja *jinja, const struct jinja_token *tokens, struct diag *diag);

/* ---- tokens */

const struct jinja_token *jinja_token(const struct jinja_parser *parser);
bool jinja_parser_is(const struct jinja_parser *parser, enum jinja_token_kind kind);
bool jinja_parser_sees(const struct jinja_parser *parser, const char *sign);      /* is the next token this sign? */
bool jinja_parser_sees_word(const struct jinja_parser *parser, const char *word); /* this name? */
bool jinja_parser_skip(struct jinja_parser *parser, const char *sign);            /* goes past it if so */
bool jinja_parser_skip_word(struct jinja_parser *parser, const char *word);
int jinja_parser_expect(struct jinja_parser *parser, const char *sign);
int jinja_parser_expect_word(struct jinja_parser *parser, const char *word);
int jinja_parser_expect_name(struct jinja_parser *parser, const struct jinja_string **ret_name);
int jinja_parser_refuse(struct jinja_parser *parser, const char *wanted); /* "expected @wanted, got ..." */

int jinja_parser_no_room(struct jinja_parser *parser); /* the arena gave nothing: too large, or -ENOMEM */

int jinja_parser_down(struct jinja_parser *parser); /* one level deeper */
void jinja_parser_up(struct jinja_parser *parser);

/* ---- nodes */

int jinja_parser_node(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret);
int jinja_parser_const(struct jinja_parser *parser, const struct jinja_value *value, struct jinja_node **ret);
int jinja_parser_intern(struct jinja_parser *parser, const char *bytes, size_t n, const struct jinja_string **ret);

/* ---- expressions (jinja_expr.c) */

int jinja_expr(struct jinja_parser *parser, struct jinja_node **ret);

/* One expression, or several with commas as a tuple; ends before the words "in", "recursive" and @end (or NULL).
 * @cond: `a if b` is an expression here. */
int jinja_expr_list(struct jinja_parser *parser, bool cond, const char *end, struct jinja_node **ret);

/* What may be assigned to: names, in tuples, or with @attribute one `name.name`. */
int jinja_expr_target(struct jinja_parser *parser, bool attribute, struct jinja_node **ret);

/* `| name(…)`, repeated, behind @subject; with @is_begun the first bar has been gone past. */
int jinja_expr_filters(struct jinja_parser *parser, struct jinja_node *subject, bool is_begun, struct jinja_node **ret);

/* A name, a constant, or what stands in brackets; and a number alone (jinja_primary.c). */
int jinja_primary(struct jinja_parser *parser, struct jinja_node **ret);
int jinja_primary_number(struct jinja_parser *parser, struct jinja_node **ret);

#endif
