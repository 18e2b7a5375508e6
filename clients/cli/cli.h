/*
 * Cli: what all commands of `sotto` share
 *
 * A command is a row: its arguments, its options, its functions; main.c runs it. The options of every command begin
 * with the common ones, so --socket, --json and --help may stand on either side of the command's name. Results go to
 * standard output, everything else to standard error; with --json standard output carries nothing but JSON.
 */
#ifndef SOTTO_CLI_CLI_H
#define SOTTO_CLI_CLI_H

#include "base/args.h"
#include "sotto.h"
#include <stdbool.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* refused or failed; the message was printed */
    CLI_USAGE = 2,
    CLI_INTERRUPTED = 130, /* 128 + SIGINT, as shells have it */
};

/* The first rows of each table of options. */
enum cli_row {
    CLI_SOCKET,
    CLI_JSON,
    CLI_HELP,
    CLI_ROWS_COUNT,
};

#define CLI_ROWS                                                                                                       \
    { "socket", 0, ARG_TEXT, "PATH", NULL, "the daemon's socket, in place of the default ones" },                      \
        { "json", 0, ARG_FLAG, NULL, NULL, "print JSON" },                                                             \
    {                                                                                                                  \
        "help", 'h', ARG_FLAG, NULL, NULL, "show this help"                                                            \
    }

#define CLI_WORDS_MAX 16 /* plain arguments of a command; `watch` takes most: a name for each topic */

struct command;
struct connection;
struct reply;

struct cli {
    const struct command *command; /* the running one, or NULL */
    const char *socket;            /* NULL: the default places */
    bool json;
    bool help;   /* the command's page was asked for */
    int argc;    /* of what follows the command's name */
    char **argv; /* the same, as on the command line */
    int n_words;
    const char *words[CLI_WORDS_MAX]; /* the plain arguments among them */
};

/* All functions return an enum cli_exit and have printed why, if it is not CLI_OK. One of @run, @talk and @send is set.
 * */
struct command {
    const char *name;
    const char *summary; /* a few words for the list of commands */
    const char *words;   /* the plain arguments, for the usage line */
    const char *about;   /* some sentences for its page, lines broken */
    const struct arg_row *rows;
    int least; /* plain arguments */
    int most;
    const char *advice;          /* what to do about an argument too many, or NULL */
    size_t options_bytes;        /* of the struct that the functions share; it begins as zeros */
    int (*begin)(void *options); /* before the first option, or NULL */
    int (*take)(struct cli *cli, const struct arg_found *found, void *options); /* an option of its own; NULL: none */
    int (*check)(struct cli *cli, void *options);                               /* after the last argument, or NULL */
    int (*run)(struct cli *cli, void *options);                                 /* does everything else itself */
    int (*talk)(struct connection *connection, void *options); /* works over a connection that is open */
    enum sotto_code (*send)(struct sotto *sotto, struct reply *reply, struct sotto_error *error); /* one request */
    void (*show)(const struct reply *reply, const struct sotto_event *event); /* with @send: shows the one answer */
    void (*finish)(void *options);                                            /* at the end, or NULL */
};

extern const struct command cmd_chat, cmd_completion, cmd_detokenize, cmd_embed, cmd_generate, cmd_hint, cmd_load,
    cmd_models, cmd_reload, cmd_session, cmd_status, cmd_tokenize, cmd_unload, cmd_watch;

/* All commands, sorted; ends with NULL. */
extern const struct command *const cli_commands[];

/* The options of `sotto` itself. */
extern const struct arg_row cli_rows[];

/* Prints "sotto COMMAND: ..." and how to get help; returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Checks a number for an option of 32 bits. CLI_OK, or CLI_USAGE (printed). */
int cli_take_u32(const struct cli *cli, const struct arg_found *found, uint32_t *ret_number);

/* Prints the error's sentence, and its field if the sentence does not name it; returns CLI_FAILED. */
int cli_fail(const struct sotto_error *error);

/* Prints that this program has no memory left; returns CLI_FAILED. */
int cli_no_memory(void);

/* Flushes standard output. False: it takes no more, and cli_flush() will print why. */
bool cli_show(void);

/* Flushes standard output at the end. CLI_OK, or CLI_FAILED if it did not take everything (printed, unless its reader
 * has gone). */
int cli_flush(void);

#endif
