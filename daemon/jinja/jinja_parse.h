/*
 * Jinja parser: from tokens to the tree, by recursive descent along Jinja's own grammar
 *
 * Statements are in jinja_parse.c, expressions in jinja_expr.c, and names, constants and brackets in jinja_primary.c.
 * Outcomes as in jinja_parser.h.
 */
#ifndef SOTTO_JINJA_JINJA_PARSE_H
#define SOTTO_JINJA_JINJA_PARSE_H

#include "jinja/jinja_parser.h"

/* Parses all tokens into jinja->body. */
int jinja_parse(struct jinja *jinja, const struct jinja_token *tokens, struct diag *diag);

int jinja_expr(struct jinja_parser *parser, struct jinja_node **ret);

/* One expression, or several with commas as a tuple; ends before the end of the tag and before the word @end (or NULL).
 * @cond: `a if b` is an expression here. */
int jinja_expr_list(struct jinja_parser *parser, bool cond, const char *end, struct jinja_node **ret);

/* The target of an assignment: names, in tuples, or with @attribute one `name.name`. */
int jinja_expr_target(struct jinja_parser *parser, bool attribute, struct jinja_node **ret);

/* `| name(...)`, repeated, behind @subject; with @is_begun the first bar has been consumed. */
int jinja_expr_filters(struct jinja_parser *parser, struct jinja_node *subject, bool is_begun, struct jinja_node **ret);

/* A name, a constant, or a bracket with its contents; and a number alone. */
int jinja_primary(struct jinja_parser *parser, struct jinja_node **ret);
int jinja_primary_number(struct jinja_parser *parser, struct jinja_node **ret);

#endif
