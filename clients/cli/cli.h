/*
 * Cli: what all commands of `sotto` share
 *
 * A command is a row: its words, its options, its function. Options of every command begin with the common ones, so
 * that --socket, --json and --help are understood on either side of the command's name. Text and results go to
 * standard output, all else to standard error; with --json nothing but JSON is on standard output.
 */
#ifndef SOTTO_CLI_CLI_H
#define SOTTO_CLI_CLI_H

#include "base/args.h"
#include "sotto.h"
#include <stdbool.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* refused or failed; the sentence was said */
    CLI_USAGE = 2,
    CLI_INTERRUPTED = 130, /* as shells have it: 128 and SIGINT */
};

enum cli_row { /* the first rows of each table of options */
               CLI_SOCKET,
               CLI_JSON,
               CLI_HELP,
               CLI_ROWS_COUNT,
};

#define CLI_ROWS                                                                                                       \
    { "socket", 0, ARG_TEXT, "PATH", NULL, "the daemon's socket, in place of the usual places" },                      \
        { "json", 0, ARG_FLAG, NULL, NULL, "answer in JSON" },                                                         \
    {                                                                                                                  \
        "help", 'h', ARG_FLAG, NULL, NULL, "show this page"                                                            \
    }

struct command;

struct cli {
    const struct command *command; /* the one that runs, or NULL */
    const char *socket;            /* NULL: the usual places */
    bool json;
    bool help; /* the page was shown: nothing more to do */
};

struct command {
    const char *name;
    const char *summary; /* a few words for the list */
    const char *words;   /* what follows the options, for the usage line */
    const char *about;   /* some sentences for its page, lines broken */
    const struct arg_row *rows;
    int (*run)(struct cli *cli, struct args *args); /* gives an enum cli_exit */
};

extern const struct command cmd_chat, cmd_completion, cmd_detokenize, cmd_embed, cmd_generate, cmd_hint, cmd_load,
    cmd_models, cmd_reload, cmd_session, cmd_status, cmd_tokenize, cmd_unload, cmd_watch;

/* All commands, sorted; ends with NULL. */
extern const struct command *const cli_commands[];

/* The options of `sotto` itself. */
extern const struct arg_row cli_rows[];

enum cli_next {
    CLI_NEXT_END,
    CLI_NEXT_FOUND,
    CLI_NEXT_STOP, /* end now with cli_end() */
};

/* The next word of the command's own: an option beyond the common ones, or a plain argument. CLI_NEXT_STOP: a usage
 * error was said, or the help page shown. */
enum cli_next cli_next(struct cli *cli, struct args *args, struct arg_found *ret_found);

/* The exit code after CLI_NEXT_STOP. */
int cli_end(const struct cli *cli);

/* Says "sotto COMMAND: ..." and how to get help; gives CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says the error's sentence; gives CLI_FAILED. */
int cli_fail(const struct cli *cli, const struct sotto_error *error);

/* Takes the only options that most commands have, and at most @cap plain arguments. Gives the number of these, or a
 * negative exit code less 1 (-1 - CLI_USAGE) if the command is to end now. */
int cli_words(struct cli *cli, struct args *args, const char **words, int cap);

/* Sends what was printed on its way. False: standard output takes no more, and cli_flush() will say why. */
bool cli_show(const struct cli *cli);

/* After output: CLI_OK, or CLI_FAILED when standard output could not take it (said, unless its reader has gone). */
int cli_flush(const struct cli *cli);

void cli_page(const struct command *command, FILE *out);
void cli_main_page(FILE *out);

#endif
