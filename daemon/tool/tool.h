/*
 * Tool: the commands that need no daemon
 *
 * A command is a file with one row; table.c lists the rows and main.c runs one of them. All are one program,
 * sotto-tool, with links named sotto-COMMAND, which `sotto COMMAND` runs from libexec. The options of every command
 * begin with the common ones. Results go to standard output, everything else to standard error; with --json standard
 * output is one object and nothing else.
 *
 * Files are untrusted: whatever they contain, the result is a sentence and an exit code.
 */
#ifndef SOTTO_TOOL_TOOL_H
#define SOTTO_TOOL_TOOL_H

#include "base/args.h"
#include <jansson.h>
#include <stdbool.h>

enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1, /* refused or failed; a sentence was printed */
    TOOL_USAGE = 2,
};

enum tool_row { /* the first rows of each table of options */
                TOOL_JSON,
                TOOL_HELP,
                TOOL_ROWS_COUNT,
};

#define TOOL_ROWS                                                                                                      \
    { "json", 0, ARG_FLAG, NULL, NULL, "print JSON" },                                                                 \
    {                                                                                                                  \
        "help", 'h', ARG_FLAG, NULL, NULL, "show this help"                                                            \
    }

struct tool_call;

/* One command. */
struct tool {
    const char *name;
    const char *summary;  /* a few words for the list */
    const char *operands; /* what follows the options, for the usage line */
    const char *about;    /* some sentences for its help, with line breaks */
    const struct arg_row *rows;
    int (*run)(struct tool_call *call, struct args *args); /* returns an enum tool_exit */
};

/* One run of a command. */
struct tool_call {
    const struct tool *tool;
    bool json;
};

/* All commands, sorted; ends with NULL. */
extern const struct tool *const tools[];

/* Returns the command of that name, or NULL. */
const struct tool *tool_find(const char *name);

/* Prints the help of @tool. */
void tool_page(const struct tool *tool, FILE *out);

#define TOOL_OPERANDS 16

/* Operands of a command that takes any number of them. */
struct tool_operands {
    const char *texts[TOOL_OPERANDS];
    size_t n;
};

/* Where the value of an option, or an operand, is stored: at one of @text, @number, @flag and @operands. */
struct tool_value {
    int row;          /* of the option, or TOOL_OPERAND: the next operand */
    const char *name; /* of an operand, for messages; operands are required */
    const char **text;
    uint64_t *number;
    bool *flag;
    struct tool_operands *operands; /* all that are left */
    bool is_required;
};

#define TOOL_OPERAND (-1)

#define TOOL_READ (-1) /* the command line is complete: run the command */

/* Reads the command line into the @n @values. Returns TOOL_READ, or the exit code after it has printed the help or a
 * usage error. */
int tool_read(struct tool_call *call, struct args *args, const struct tool_value *values, size_t n);

/* Prints "sotto COMMAND: ..." and how to get help; returns TOOL_USAGE. */
int tool_usage(const struct tool_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the sentence of @diag, or else the meaning of the fault @r (below 0), after @what (a path, or NULL); returns
 * TOOL_FAILED. */
int tool_fail(const struct tool_call *call, const char *what, const struct diag *diag, int r);

/* Flushes standard output. Returns TOOL_OK, or TOOL_FAILED if that failed, which is reported unless its reader has
 * gone. */
int tool_flush(const struct tool_call *call);

/* Prints @object (NULL: no memory) on a line of standard output, frees it, and flushes. Returns as tool_flush(). */
int tool_print(const struct tool_call *call, json_t *object);

/* Returns a string of bytes that should be UTF-8, in which ill-formed parts become U+FFFD; NULL: no memory. */
json_t *tool_text(const char *bytes, size_t n);

/* Returns a number of bytes, elements or tokens. */
json_t *tool_number(uint64_t value);

/* Prints untrusted bytes on one line of @out: ill-formed parts and control characters become U+FFFD. */
void tool_put_text(FILE *out, const char *bytes, size_t n);

#define TOOL_BYTES 16

/* Writes "94.1 MiB" to @text (TOOL_BYTES), which it returns. */
const char *tool_bytes(uint64_t bytes, char *text);

/* Shows progress, "@what 12 of 34", on standard error if that is a terminal. The last call, with @done == @all, clears
 * it. */
void tool_progress(const char *what, uint64_t done, uint64_t all);

#endif
