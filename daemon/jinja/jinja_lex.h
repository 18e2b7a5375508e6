/*
 * Jinja lexer: from source to tokens
 *
 * The text between two tags is one token, stripped as signs, trim_blocks and lstrip_blocks demand; comments are
 * dropped, and raw blocks become text. Pure.
 */
#ifndef SOTTO_JINJA_JINJA_LEX_H
#define SOTTO_JINJA_JINJA_LEX_H

#include "jinja/jinja.h"

enum jinja_token_kind {
    JINJA_TOKEN_TEXT,
    JINJA_TOKEN_PRINT_BEGIN, /* {{ */
    JINJA_TOKEN_PRINT_END,
    JINJA_TOKEN_TAG_BEGIN, /* {% */
    JINJA_TOKEN_TAG_END,
    JINJA_TOKEN_NAME,
    JINJA_TOKEN_STRING, /* with its quotes and escapes */
    JINJA_TOKEN_INT,
    JINJA_TOKEN_FLOAT,
    JINJA_TOKEN_SIGN,
    JINJA_TOKEN_END
};

struct jinja_token {
    enum jinja_token_kind kind;
    uint32_t line;
    const char *at; /* into the source */
    size_t n;
};

/* *ret_tokens: the tokens of @source, a block of MEM_TEXT that the caller frees; the last one is JINJA_TOKEN_END. They
 * point into @source, which has newlines as its only line ends. JINJA_FAILED with @diag, or -ENOMEM. */
int jinja_lex(struct jinja_token **ret_tokens, const char *source, size_t n, struct diag *diag);

#endif
