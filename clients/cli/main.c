/*
 * sotto: the command line of the daemon
 *
 * `sotto [--socket PATH] COMMAND ...` runs a row of the table below. A command that is not in the table but lies as
 * sotto-COMMAND in libexec (those that need no daemon) is run from there.
 */
#include "base/file.h"
#include "base/mem.h"
#include "cli.h"
#include "connection.h"
#include "external.h"
#include "suggest.h"
#include <string.h>

const struct command *const cli_commands[] = {
    &cmd_chat,   &cmd_completion, &cmd_detokenize, &cmd_embed,    &cmd_generate, &cmd_hint,  &cmd_load, &cmd_models,
    &cmd_reload, &cmd_session,    &cmd_status,     &cmd_tokenize, &cmd_unload,   &cmd_watch, NULL,
};

enum main_row {
    MAIN_VERSION = CLI_ROWS_COUNT,
};

const struct arg_row cli_rows[] = {
    CLI_ROWS,
    [MAIN_VERSION] = { "version", 0, ARG_FLAG, NULL, NULL, "show the version" },
    { NULL },
};

static void print_page(const struct command *command, FILE *out)
{
    fprintf(out, "usage: sotto %s [OPTION]...%s%s\n\n%s\n\n", command->name, *command->words ? " " : "", command->words,
            command->about);
    args_help(command->rows, out);
}

static void print_main_page(FILE *out)
{
    fputs("usage: sotto [--socket PATH] COMMAND [OPTION]... [ARGUMENT]...\n\n"
          "Talks to sottod, the daemon that runs this computer's language model.\n\n",
          out);
    for (const struct command *const *command = cli_commands; *command; command++) {
        fprintf(out, "  %-12s %s\n", (*command)->name, (*command)->summary);
    }
    fputs("\nCommands on model files, which work without a daemon (as does tokenize --file):\n\n", out);
    for (const struct external *external = cli_external; external->name; external++) {
        fprintf(out, "  %-12s %s\n", external->name, external->summary);
    }
    fputs("\n\"sotto COMMAND --help\" shows the arguments and options of a command.\n\n", out);
    args_help(cli_rows, out);
}

/* Takes a common option. Returns false for everything else. */
static bool take_common(struct cli *cli, const struct arg_found *found)
{
    switch (found->row) {
    case CLI_SOCKET:
        cli->socket = found->text;
        return true;
    case CLI_JSON:
        cli->json = true;
        return true;
    case CLI_HELP:
        cli->help = true;
        return true;
    default:
        return false; /* an option of one command only, or a plain argument */
    }
}

static int take_word(struct cli *cli, const char *word)
{
    const char *advice = cli->command->advice;

    if (cli->n_words == cli->command->most) {
        return cli_usage(cli, "unexpected argument \"%s\"%s%s", word, advice ? ": " : "", advice ? advice : "");
    }
    cli->words[cli->n_words++] = word;
    return CLI_OK;
}

/* Takes everything behind the command's name. With cli->help set the rest was not looked at. */
static int take_arguments(struct cli *cli, const struct command *command, void *options)
{
    struct diag diag = DIAG_INIT;
    struct arg_found found;
    struct args args;
    int r;

    args_init(&args, command->rows, cli->argc, cli->argv);
    while ((r = args_next(&args, &found, &diag)) == ARGS_FOUND) {
        if (take_common(cli, &found)) {
            if (cli->help) {
                return CLI_OK;
            }
            continue;
        }
        r = found.row < 0 ? take_word(cli, found.text) : command->take(cli, &found, options);
        if (r) {
            return r;
        }
    }
    if (r == ARGS_BAD) {
        return cli_usage(cli, "%s", diag.text);
    }
    if (cli->n_words < command->least) {
        return cli_usage(cli, "%s is missing", command->words);
    }
    return command->check ? command->check(cli, options) : CLI_OK;
}

static int run_with(struct cli *cli, const struct command *command, void *options)
{
    int r = command->begin ? command->begin(options) : CLI_OK;

    r = r ? r : take_arguments(cli, command, options);
    if (r) {
        return r;
    }
    if (cli->help) {
        print_page(command, stdout);
        return cli_flush();
    }
    if (command->run) {
        return command->run(cli, options);
    }
    return connection_run(cli, options);
}

static int run_row(struct cli *cli, const struct command *command)
{
    void *options = mem_calloc(MEM_MISC, 1, command->options_bytes + 1);
    int r;

    if (!options) {
        return cli_no_memory();
    }
    cli->command = command;
    r = run_with(cli, command, options);
    if (command->finish) {
        command->finish(options);
    }
    mem_free(options);
    return r;
}

static const struct command *find_command(const char *name)
{
    for (const struct command *const *command = cli_commands; *command; command++) {
        if (strcmp((*command)->name, name) == 0) {
            return *command;
        }
    }
    return NULL;
}

/* Runs a program of its own in place of this one; returns if there is none of that name. */
static int run_unknown(const struct cli *cli, const char *name, int n, char **arguments)
{
    const char *meant;

    external_run(cli, name, n, arguments);
    if (external_is_known(name)) {
        return external_missing(name);
    }
    meant = suggest_command(name);
    if (meant) {
        return cli_usage(cli, "unknown command \"%s\"; did you mean \"%s\"?", name, meant);
    }
    return cli_usage(cli, "unknown command \"%s\"", name);
}

/* "sotto help", "sotto help COMMAND", "sotto --help". */
static int show_help(const struct cli *cli, const char *name)
{
    static char help[] = "--help";
    char *page[] = { help };
    const struct command *command = name ? find_command(name) : NULL;

    if (name && !command) {
        return run_unknown(cli, name, 1, page);
    }
    if (command) {
        print_page(command, stdout);
    } else {
        print_main_page(stdout);
    }
    return cli_flush();
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    const struct command *command = find_command(argv[0]);

    if (strcmp(argv[0], "help") == 0) {
        return show_help(cli, argc > 1 ? argv[1] : NULL);
    }
    if (!command) {
        return run_unknown(cli, argv[0], argc - 1, argv + 1);
    }
    cli->argc = argc - 1;
    cli->argv = argv + 1;
    return run_row(cli, command);
}

int main(int argc, char **argv)
{
    struct cli cli = { .socket = NULL };
    struct diag diag = DIAG_INIT;
    struct arg_found found;
    struct args args;
    int r;

    if (file_hold_std()) {
        return CLI_FAILED;
    }
    args_init(&args, cli_rows, argc - 1, argv + 1);
    while ((r = args_next(&args, &found, &diag)) == ARGS_FOUND) {
        if (found.row < 0) {
            return run_command(&cli, argc - args.at, argv + args.at);
        }
        if (found.row == MAIN_VERSION) {
            printf("sotto %s (libsotto %s)\n", SOTTO_VERSION, sotto_version());
            return cli_flush();
        }
        take_common(&cli, &found);
        if (cli.help) {
            return show_help(&cli, NULL);
        }
    }
    if (r == ARGS_BAD) {
        return cli_usage(&cli, "%s", diag.text);
    }
    print_main_page(stderr);
    return CLI_USAGE;
}
