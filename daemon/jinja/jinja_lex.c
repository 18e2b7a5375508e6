/*
 * The lexer is between tags or inside one. The end of a tag is recognised only while no bracket is open, so that the
 * braces of a dictionary do not end it.
 */
#include "jinja/jinja_lex.h"
#include "base/clean.h"
#include "base/err.h"
#include "jinja/jinja_char.h"
#include <errno.h>
#include <string.h>

/* Brackets open at once; the parser refuses as many (JINJA_NESTING_MAX). */
#define BRACKETS_MAX 256u

struct lexer {
    const char *source;
    size_t n;
    size_t at;
    uint32_t line;
    size_t counted;             /* @line is that of this offset */
    struct jinja_token *tokens; /* owned */
    size_t n_tokens;
    size_t cap;
    char brackets[BRACKETS_MAX]; /* the closing ones that are expected */
    size_t n_brackets;
    struct diag *diag;
};

static bool is_space(char c)
{
    return jinja_char_is_space((uint8_t)c) && (uint8_t)c < 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || (uint8_t)c >= 0x80;
}

static bool is_here(const struct lexer *lexer, size_t at, const char *text)
{
    const size_t n = strlen(text);

    return at <= lexer->n && lexer->n - at >= n && memcmp(lexer->source + at, text, n) == 0;
}

static uint32_t line_of(struct lexer *lexer, size_t at)
{
    for (; lexer->counted < at; lexer->counted++) {
        lexer->line += lexer->source[lexer->counted] == '\n';
    }
    return lexer->line;
}

static int refuse(struct lexer *lexer, const char *sentence)
{
    diag_set(lexer->diag, "TemplateSyntaxError: line %u: %s", line_of(lexer, lexer->at), sentence);
    return JINJA_FAILED;
}

static int push(struct lexer *lexer, enum jinja_token_kind kind, size_t from, size_t n)
{
    if (lexer->n_tokens == lexer->cap) {
        const size_t cap = lexer->cap ? 2 * lexer->cap : 256;
        struct jinja_token *tokens = mem_realloc(MEM_TEXT, lexer->tokens, cap * sizeof(*tokens));

        if (!tokens) {
            return err_new(-ENOMEM);
        }
        lexer->tokens = tokens;
        lexer->cap = cap;
    }
    lexer->tokens[lexer->n_tokens++] =
        (struct jinja_token){ .kind = kind, .line = line_of(lexer, from), .at = lexer->source + from, .n = n };
    return JINJA_OK;
}

static void skip_space(struct lexer *lexer)
{
    while (lexer->at < lexer->n && is_space(lexer->source[lexer->at])) {
        lexer->at++;
    }
}

/* Pushes the text before a tag at @at, without the blanks that its sign or lstrip_blocks strips. */
static int push_text(struct lexer *lexer, size_t from, size_t at, char sign, bool is_print)
{
    const struct jinja_string text = { .bytes = lexer->source + from, .n = at - from };
    size_t skipped;
    size_t n = text.n;

    if (sign == '-') {
        jinja_char_strip(&text, NULL, JINJA_RIGHT, &skipped, &n);
    } else if (sign != '+' && !is_print) {
        size_t start = text.n;

        while (start > 0 && text.bytes[start - 1] != '\n' && is_space(text.bytes[start - 1])) {
            start--;
        }
        if (start > 0 ? text.bytes[start - 1] == '\n' : from == 0 || lexer->source[from - 1] == '\n') {
            n = start;
        }
    }
    return n > 0 ? push(lexer, JINJA_TOKEN_TEXT, from, n) : JINJA_OK;
}

/* Goes past the end of a tag ("%}" with its sign) and the blanks that are trimmed behind it. False: there is none. */
static bool take_end(struct lexer *lexer, const char *end, bool trims)
{
    const char c = lexer->at < lexer->n ? lexer->source[lexer->at] : 0;
    const bool is_signed = c == '-' || (c == '+' && trims);

    if (!is_here(lexer, lexer->at + is_signed, end)) {
        return false;
    }
    lexer->at += is_signed + strlen(end);
    if (c == '-') {
        skip_space(lexer);
    } else if (c != '+' && trims && is_here(lexer, lexer->at, "\n")) {
        lexer->at++;
    }
    return true;
}

static int skip_comment(struct lexer *lexer)
{
    for (size_t at = lexer->at; at < lexer->n; at++) {
        const char c = lexer->source[at];

        if (!is_here(lexer, at + (c == '-' || c == '+'), "#}")) {
            continue;
        }
        lexer->at = at;
        take_end(lexer, "#}", true);
        return JINJA_OK;
    }
    return refuse(lexer, "Missing end of comment tag");
}

/* Goes past a tag with @word alone inside, from @at on. False: it is another tag. */
static bool take_word_tag(struct lexer *lexer, size_t at, const char *word, bool trims)
{
    const size_t before = lexer->at;

    lexer->at = at;
    skip_space(lexer);
    if (is_here(lexer, lexer->at, word)) {
        lexer->at += strlen(word);
        skip_space(lexer);
        if (take_end(lexer, "%}", trims)) {
            return true;
        }
    }
    lexer->at = before;
    return false;
}

/* Takes the text behind {% raw %}, up to {% endraw %}. */
static int take_raw(struct lexer *lexer)
{
    const size_t from = lexer->at;

    for (size_t at = from; at < lexer->n; at++) {
        char sign;

        if (!is_here(lexer, at, "{%")) {
            continue;
        }
        sign = at + 2 < lexer->n ? lexer->source[at + 2] : 0;
        if (take_word_tag(lexer, at + 2 + (sign == '-' || sign == '+'), "endraw", true)) {
            return push_text(lexer, from, at, sign, false);
        }
    }
    return refuse(lexer, "Missing end of raw directive");
}

static int take_string(struct lexer *lexer)
{
    const char quote = lexer->source[lexer->at];

    for (size_t at = lexer->at + 1; at < lexer->n; at++) {
        if (lexer->source[at] == '\\') {
            at++;
        } else if (lexer->source[at] == quote) {
            const size_t from = lexer->at;

            lexer->at = at + 1;
            return push(lexer, JINJA_TOKEN_STRING, from, at + 1 - from);
        }
    }
    return refuse(lexer, "a string is not terminated");
}

/* Returns the end of the digits at @at, which may have single underscores between them. */
static size_t skip_digits(const struct lexer *lexer, size_t at)
{
    while (at < lexer->n && (is_digit(lexer->source[at]) ||
                             (lexer->source[at] == '_' && at + 1 < lexer->n && is_digit(lexer->source[at + 1])))) {
        at++;
    }
    return at;
}

static int take_number(struct lexer *lexer)
{
    const size_t from = lexer->at;
    const bool is_behind_dot = from > 0 && lexer->source[from - 1] == '.';
    size_t at = skip_digits(lexer, from);
    enum jinja_token_kind kind = JINJA_TOKEN_INT;

    if (lexer->source[from] == '0' && from + 1 < lexer->n && strchr("xXoObB", lexer->source[from + 1])) {
        for (at = from + 2; at < lexer->n && is_word(lexer->source[at]); at++) {
        }
        lexer->at = at;
        return push(lexer, kind, from, at - from);
    }
    if (!is_behind_dot && at + 1 < lexer->n && lexer->source[at] == '.' && is_digit(lexer->source[at + 1])) {
        at = skip_digits(lexer, at + 1);
        kind = JINJA_TOKEN_FLOAT;
    }
    if (!is_behind_dot && at < lexer->n && (lexer->source[at] | 0x20) == 'e') {
        size_t digits = at + 1;

        digits += digits < lexer->n && (lexer->source[digits] == '+' || lexer->source[digits] == '-');
        if (digits < lexer->n && is_digit(lexer->source[digits])) {
            at = skip_digits(lexer, digits);
            kind = JINJA_TOKEN_FLOAT;
        }
    }
    lexer->at = at;
    return push(lexer, kind, from, at - from);
}

static int follow_brackets(struct lexer *lexer, char c)
{
    const char *place = strchr("()[]{}", c);

    if (!place) {
        return JINJA_OK;
    }
    if (strchr("([{", c)) {
        if (lexer->n_brackets == BRACKETS_MAX) {
            return refuse(lexer, "brackets are nested too deeply");
        }
        lexer->brackets[lexer->n_brackets++] = place[1];
        return JINJA_OK;
    }
    if (lexer->n_brackets == 0 || lexer->brackets[--lexer->n_brackets] != c) {
        return refuse(lexer, "a closing bracket has no opening one");
    }
    return JINJA_OK;
}

static int take_sign(struct lexer *lexer)
{
    static const char *const signs[] = { "//", "**", "==", "!=", ">=", "<=" };
    const size_t from = lexer->at;
    size_t n = 1;
    int r;

    for (size_t i = 0; i < COUNTOF(signs); i++) {
        if (is_here(lexer, from, signs[i])) {
            n = 2;
        }
    }
    if (n == 1 && !strchr("+-/*%~[](){}<>=.:|,;", lexer->source[from])) {
        return refuse(lexer, "a character is not allowed in a tag");
    }
    r = follow_brackets(lexer, lexer->source[from]);
    if (r) {
        return r;
    }
    lexer->at += n;
    return push(lexer, JINJA_TOKEN_SIGN, from, n);
}

/* Takes one token inside a tag. */
static int take_token(struct lexer *lexer)
{
    const size_t from = lexer->at;
    const char c = lexer->source[from];

    if (c == 0) {
        return refuse(lexer, "a zero byte is not allowed in a tag");
    }
    if (c == '"' || c == '\'') {
        return take_string(lexer);
    }
    if (is_digit(c)) {
        return take_number(lexer);
    }
    if (is_word(c)) {
        while (lexer->at < lexer->n && is_word(lexer->source[lexer->at])) {
            lexer->at++;
        }
        return push(lexer, JINJA_TOKEN_NAME, from, lexer->at - from);
    }
    return take_sign(lexer);
}

/* Takes the tokens of a tag and its end. */
static int take_tag(struct lexer *lexer, bool is_print)
{
    const char *end = is_print ? "}}" : "%}";
    int r = JINJA_OK;

    lexer->n_brackets = 0;
    while (!r) {
        skip_space(lexer);
        if (lexer->at == lexer->n) {
            return refuse(lexer, is_print ? "{{ is not closed by }}" : "{% is not closed by %}");
        }
        if (lexer->n_brackets == 0 && take_end(lexer, end, !is_print)) {
            return push(lexer, is_print ? JINJA_TOKEN_PRINT_END : JINJA_TOKEN_TAG_END, lexer->at, 0);
        }
        r = take_token(lexer);
    }
    return r;
}

/* Takes the text up to the next tag, and the tag. */
static int take_next(struct lexer *lexer)
{
    const size_t from = lexer->at;
    size_t at = from;
    char kind = 0;
    char sign;
    int r;

    for (; at + 1 < lexer->n; at++) {
        kind = lexer->source[at] == '{' ? lexer->source[at + 1] : 0;
        if (kind == '{' || kind == '%' || kind == '#') {
            break;
        }
    }
    if (at + 1 >= lexer->n) {
        lexer->at = lexer->n;
        return push(lexer, JINJA_TOKEN_TEXT, from, lexer->n - from);
    }
    sign = at + 2 < lexer->n ? lexer->source[at + 2] : 0;
    r = push_text(lexer, from, at, sign, kind == '{');
    lexer->at = at + 2 + (sign == '-' || sign == '+');
    if (r) {
        return r;
    }
    if (kind == '#') {
        /* "{#-#}" is a whole comment: the sign belongs to both ends. */
        lexer->at = at + 2;
        return skip_comment(lexer);
    }
    if (kind == '%' && take_word_tag(lexer, lexer->at, "raw", false)) {
        return take_raw(lexer);
    }
    r = push(lexer, kind == '{' ? JINJA_TOKEN_PRINT_BEGIN : JINJA_TOKEN_TAG_BEGIN, at, 2);
    return r ? r : take_tag(lexer, kind == '{');
}

static void lexer_finish(struct lexer *lexer)
{
    mem_free(lexer->tokens);
}

int jinja_lex(struct jinja_token **ret_tokens, const char *source, size_t n, struct diag *diag)
{
    cleanup(lexer_finish) struct lexer lexer = { .source = source, .n = n, .line = 1, .diag = diag };
    int r = JINJA_OK;

    while (!r && lexer.at < n) {
        r = take_next(&lexer);
    }
    r = r ? r : push(&lexer, JINJA_TOKEN_END, n, 0);
    if (!r) {
        *ret_tokens = steal(&lexer.tokens);
    }
    return r;
}
