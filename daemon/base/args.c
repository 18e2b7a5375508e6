/*
 * Args: one word of the command line at a time, an option with its value or a plain argument
 */
#include "base/args.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 30 /* where the sentences begin; longer options get a line of their own */

void args_init(struct args *args, const struct arg_row *rows, int argc, char **argv)
{
    *args = (struct args){ .rows = rows, .argc = argc, .argv = argv };
}

static int row_by_name(const struct args *args, const char *name, size_t n)
{
    for (int i = 0; args->rows[i].name; i++) {
        if (strlen(args->rows[i].name) == n && memcmp(args->rows[i].name, name, n) == 0) {
            return i;
        }
    }
    return -1;
}

static int row_by_letter(const struct args *args, char letter)
{
    for (int i = 0; args->rows[i].name; i++) {
        if (args->rows[i].letter && args->rows[i].letter == letter) {
            return i;
        }
    }
    return -1;
}

static bool read_uint(const char *text, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (!*text) {
        return false;
    }
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(unsigned char)*text - '0';

        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}

static bool read_real(const char *text, double *ret_real)
{
    char *end;
    double real;

    /* strtod() would also accept blanks, hexadecimal numbers, "inf" and "nan". */
    if (!*text || strspn(text, "+-.0123456789eE") != strlen(text)) {
        return false;
    }
    real = strtod(text, &end);
    if (*end || !isfinite(real)) {
        return false;
    }
    *ret_real = real;
    return true;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t n_text = strlen(text);

    while (*choices) {
        size_t n = strcspn(choices, "|");

        if (n == n_text && memcmp(choices, text, n) == 0) {
            return true;
        }
        choices += n + (choices[n] == '|');
    }
    return false;
}

/* Checks @text as the value of @row and stores it. */
static int take_value(const struct arg_row *row, const char *text, struct arg_found *found, struct diag *diag)
{
    found->text = text;
    switch (row->kind) {
    case ARG_FLAG:
    case ARG_TEXT:
        return ARGS_FOUND;
    case ARG_UINT:
        if (read_uint(text, &found->number)) {
            return ARGS_FOUND;
        }
        diag_blame(diag, row->name, "--%s: \"%s\" is not a whole number from 0 to 18446744073709551615", row->name,
                   text);
        return ARGS_BAD;
    case ARG_FLOAT:
        if (read_real(text, &found->real)) {
            return ARGS_FOUND;
        }
        diag_blame(diag, row->name, "--%s: \"%s\" is not a decimal number", row->name, text);
        return ARGS_BAD;
    case ARG_CHOICE:
        if (is_choice(row->choices, text)) {
            return ARGS_FOUND;
        }
        diag_blame(diag, row->name, "--%s: \"%s\" is not one of %s", row->name, text, row->choices);
        return ARGS_BAD;
    }
    return ARGS_BAD;
}

/* Handles option row @i; @joined is the value behind "=", or NULL. */
static int take_option(struct args *args, int i, const char *joined, struct arg_found *found, struct diag *diag)
{
    const struct arg_row *row = &args->rows[i];

    found->row = i;
    if (row->kind == ARG_FLAG) {
        if (joined) {
            diag_blame(diag, row->name, "--%s takes no value", row->name);
            return ARGS_BAD;
        }
        return ARGS_FOUND;
    }
    if (!joined) {
        if (args->at == args->argc) {
            diag_blame(diag, row->name, "--%s needs a value: --%s %s", row->name, row->name,
                       row->value ? row->value : "VALUE");
            return ARGS_BAD;
        }
        joined = args->argv[args->at++];
    }
    return take_value(row, joined, found, diag);
}

static int take_long(struct args *args, const char *word, struct arg_found *found, struct diag *diag)
{
    size_t n = strcspn(word, "=");
    int i = row_by_name(args, word, n);

    if (i < 0) {
        diag_set(diag, "unknown option --%.*s; --help lists the options", (int)n, word);
        return ARGS_BAD;
    }
    return take_option(args, i, word[n] == '=' ? word + n + 1 : NULL, found, diag);
}

int args_next(struct args *args, struct arg_found *ret_found, struct diag *diag)
{
    struct arg_found found = { .row = -1 };
    const char *word;
    int r = ARGS_FOUND;

    if (args->at < args->argc && !args->plain_only && strcmp(args->argv[args->at], "--") == 0) {
        args->plain_only = true;
        args->at++;
    }
    if (args->at == args->argc) {
        return ARGS_END;
    }
    word = args->argv[args->at++];
    if (args->plain_only || word[0] != '-' || word[1] == '\0') {
        found.text = word;
    } else if (word[1] == '-') {
        r = take_long(args, word + 2, &found, diag);
    } else {
        int i = word[2] == '\0' ? row_by_letter(args, word[1]) : -1;

        if (i < 0) {
            diag_set(diag, "unknown option %s; --help lists the options", word);
            return ARGS_BAD;
        }
        r = take_option(args, i, NULL, &found, diag);
    }
    if (r == ARGS_FOUND) {
        *ret_found = found;
    }
    return r;
}

void args_help(const struct arg_row *rows, FILE *out)
{
    for (; rows->name; rows++) {
        char left[128];
        int n = rows->letter ? snprintf(left, sizeof(left), "  -%c, --%s", rows->letter, rows->name)
                             : snprintf(left, sizeof(left), "      --%s", rows->name);
        const char *value = rows->value ? rows->value : rows->choices;

        if (rows->kind != ARG_FLAG && value) {
            n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", value);
        }
        if (n < HELP_COLUMN) {
            fprintf(out, "%-*s%s\n", HELP_COLUMN, left, rows->help);
        } else {
            fprintf(out, "%s\n%*s%s\n", left, HELP_COLUMN, "", rows->help);
        }
    }
}
