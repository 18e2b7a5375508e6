/*
 * Jinja parser: what its files share: the tokens, new nodes, interned names
 *
 * Nesting has a ceiling, since each level takes some of the thread's stack. Functions that return int return 0,
 * JINJA_FAILED with @diag set, or -ENOMEM.
 */
#ifndef SOTTO_JINJA_JINJA_PARSER_H
#define SOTTO_JINJA_JINJA_PARSER_H

#include "base/map.h"
#include "jinja/jinja_lex.h"
#include "jinja/jinja_node.h"

/* Published templates nest below 20. A level of parentheses takes about 2 KiB of stack. */
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

/* ---- tokens */

const struct jinja_token *jinja_parser_token(const struct jinja_parser *parser);
bool jinja_parser_is(const struct jinja_parser *parser, enum jinja_token_kind kind);

/* True if the next token is this sign or this name; skip goes past it then. */
bool jinja_parser_sees(const struct jinja_parser *parser, const char *sign);
bool jinja_parser_sees_word(const struct jinja_parser *parser, const char *word);
bool jinja_parser_skip(struct jinja_parser *parser, const char *sign);
bool jinja_parser_skip_word(struct jinja_parser *parser, const char *word);

/* True if the next token is one of the names at @words, which end with NULL. */
bool jinja_parser_sees_any(const struct jinja_parser *parser, const char *const *words);

/* Go past the token, or fail. */
int jinja_parser_expect(struct jinja_parser *parser, const char *sign);
int jinja_parser_expect_word(struct jinja_parser *parser, const char *word);
int jinja_parser_expect_name(struct jinja_parser *parser, const struct jinja_string **ret_name);

/* Fails with "expected @wanted, got ...". */
int jinja_parser_refuse(struct jinja_parser *parser, const char *wanted);

/* Called before and after the parser recurses. */
int jinja_parser_down(struct jinja_parser *parser);
void jinja_parser_up(struct jinja_parser *parser);

/* ---- nodes */

int jinja_parser_node(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret);
int jinja_parser_const(struct jinja_parser *parser, const struct jinja_value *value, struct jinja_node **ret);

/* *ret becomes a node of @kind over itself. */
int jinja_parser_wrap(struct jinja_parser *parser, enum jinja_node_kind kind, struct jinja_node **ret);

/* Appends @node to the list that *tail ends. */
void jinja_parser_add(struct jinja_node ***tail, struct jinja_node *node);

/* The one string with these bytes, which must outlive the tree. */
int jinja_parser_intern(struct jinja_parser *parser, const char *bytes, size_t n, const struct jinja_string **ret);

/* Fails because the arena is full: the template is too large, or -ENOMEM. */
int jinja_parser_no_room(struct jinja_parser *parser);

#endif
