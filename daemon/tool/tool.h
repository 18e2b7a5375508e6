/*
 * Tool: the commands that need no daemon
 *
 * A command is a file with one row; table.c lists the rows and main.c runs one of them. All are one program,
 * sotto-tool, which answers to the names sotto-COMMAND; `sotto COMMAND` runs it from libexec. Options of every
 * command begin with the common ones. Results go to standard output, all else to standard error; with --json one
 * object is on standard output and nothing else.
 *
 * Files are a stranger's: whatever they hold, the answer is a sentence and an exit code.
 */
#ifndef SOTTO_TOOL_TOOL_H
#define SOTTO_TOOL_TOOL_H

#include "base/args.h"
#include <jansson.h>
#include <stdbool.h>

enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1, /* refused or failed; the sentence was said */
    TOOL_USAGE = 2,
};

enum tool_row { /* the first rows of each table of options */
                TOOL_JSON,
                TOOL_HELP,
                TOOL_ROWS_COUNT,
};

#define TOOL_ROWS                                                                                                      \
    { "json", 0, ARG_FLAG, NULL, NULL, "answer in JSON" },                                                             \
    {                                                                                                                  \
        "help", 'h', ARG_FLAG, NULL, NULL, "show this page"                                                            \
    }

struct tool_call;

/* One command. */
struct tool {
    const char *name;
    const char *summary; /* a few words for the list */
    const char *words;   /* what follows the options, for the usage line */
    const char *about;   /* some sentences for its page, lines broken */
    const struct arg_row *rows;
    int (*run)(struct tool_call *call, struct args *args); /* gives an enum tool_exit */
};

/* One run of a command. */
struct tool_call {
    const struct tool *tool;
    bool json;
    bool help; /* the page was shown: nothing more to do */
};

/* All commands, sorted; ends with NULL. */
extern const struct tool *const tools[];

/* The one of that name, or NULL. */
const struct tool *tool_find(const char *name);

void tool_page(const struct tool *tool, FILE *out);

enum tool_next {
    TOOL_NEXT_END,
    TOOL_NEXT_FOUND,
    TOOL_NEXT_STOP, /* end now with tool_end() */
};

/* The next word of the command's own: an option beyond the common ones, or a plain argument. TOOL_NEXT_STOP: a usage
 * error was said, or the help page shown. */
enum tool_next tool_next(struct tool_call *call, struct args *args, struct arg_found *ret_found);

/* The exit code after TOOL_NEXT_STOP. */
int tool_end(const struct tool_call *call);

/* Says "sotto COMMAND: ..." and how to get help; gives TOOL_USAGE. */
int tool_usage(const struct tool_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says what stands in @diag, or what the fault @r (below 0) means, about @what (a path; may be NULL); gives
 * TOOL_FAILED. */
int tool_fail(const struct tool_call *call, const char *what, const struct diag *diag, int r);

/* After output: TOOL_OK, or TOOL_FAILED when standard output could not take it (said, unless its reader has gone). */
int tool_flush(const struct tool_call *call);

/* Prints @object on a line of standard output, frees it, and flushes. NULL: there was no memory for it. */
int tool_print(const struct tool_call *call, json_t *object);

/* A string of bytes that should be UTF-8; what is not becomes U+FFFD. NULL: no memory. */
json_t *tool_text(const char *bytes, size_t n);

/* A number of bytes, elements or tokens. */
json_t *tool_number(uint64_t value);

/* Prints bytes of a stranger on one line of @out: what is no character or a control character becomes U+FFFD. */
void tool_put_text(FILE *out, const char *bytes, size_t n);

#define TOOL_BYTES 16

/* "94.1 MiB" in @text (TOOL_BYTES of room), which it returns. */
const char *tool_bytes(uint64_t bytes, char *text);

/* Progress on standard error, if that is a terminal: "@what 12 of 34". The last call, with @done == @all, wipes it. */
void tool_progress(const char *what, uint64_t done, uint64_t all);

#endif
