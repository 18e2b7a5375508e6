/*
 * Args: a table of options defines parsing, usage errors and the help page
 *
 * There are long options ("--name VALUE", "--name=VALUE") and a few short ones; "--" ends them. The table ends with a
 * row without a name. Pure, except that args_help() writes to a stream.
 */
#ifndef SOTTO_BASE_ARGS_H
#define SOTTO_BASE_ARGS_H

#include "base/diag.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum arg_kind {
    ARG_FLAG,   /* no value */
    ARG_TEXT,   /* any value, also an empty one */
    ARG_UINT,   /* 0 .. 2^64-1 */
    ARG_FLOAT,  /* a finite decimal number */
    ARG_CHOICE, /* one of @choices, "a|b|c" */
};

struct arg_row {
    const char *name; /* "max-tokens", without dashes */
    char letter;      /* 'h', or 0 */
    enum arg_kind kind;
    const char *value;   /* name of the value in the help: "N" */
    const char *choices; /* with ARG_CHOICE */
    const char *help;    /* one sentence */
};

/* One option or argument of the command line. */
struct arg_found {
    int row;          /* index into the table, or -1: a plain argument */
    const char *text; /* value as written, or NULL for a flag */
    uint64_t number;  /* ARG_UINT */
    double real;      /* ARG_FLOAT */
};

struct args {
    const struct arg_row *rows;
    int argc;
    char **argv;
    int at;
    bool plain_only; /* "--" was seen */
};

enum args_outcome {
    ARGS_FOUND,
    ARGS_END,
    ARGS_BAD, /* @diag says why; the exit code is 2 */
};

/* Begins at the first of @argv, which is without the program's (or subcommand's) name. */
void args_init(struct args *args, const struct arg_row *rows, int argc, char **argv);

/* Finds the next option or argument. Returns an args_outcome. */
int args_next(struct args *args, struct arg_found *ret_found, struct diag *diag);

/* Prints the rows, aligned, as the options of a help page. */
void args_help(const struct arg_row *rows, FILE *out);

#endif
