/*
 * sotto completion: scripts for shells, made from the tables by which the command line is parsed
 */
#include "base/clean.h"
#include "cli.h"
#include "external.h"
#include <string.h>

static const struct arg_row rows[] = { CLI_ROWS, { NULL } };

/* Returns true for commands that take the name of a model as their argument. */
static bool takes_model(const struct command *command)
{
    return command == &cmd_load || command == &cmd_unload;
}

static void bash_choices(const struct arg_row *row)
{
    char words[128];

    snprintf(words, sizeof(words), "%s", row->choices);
    for (char *bar = words; (bar = strchr(bar, '|'));) {
        *bar = ' ';
    }
    printf("        --%s) words='%s' ;;\n", row->name, words);
}

/* Writes what may follow each option: choices, names of models, files, or nothing. */
static void bash_values(const struct arg_row *table)
{
    for (const struct arg_row *row = table; row->name; row++) {
        if (row->kind == ARG_CHOICE) {
            bash_choices(row);
        } else if (strcmp(row->name, "model") == 0) {
            printf("        --model|-m) words=$(_sotto_models) ;;\n");
        } else if (row->value && strcmp(row->value, "PATH") == 0) {
            printf("        --%s) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", row->name);
        } else if (row->kind != ARG_FLAG) {
            printf("        --%s) return ;;\n", row->name);
        }
    }
}

static void bash_command(const struct command *command)
{
    printf("    %s)\n        case $previous in\n", command->name);
    bash_values(command->rows);
    printf("        *) words='");
    for (const struct arg_row *row = command->rows; row->name; row++) {
        printf("%s--%s", row == command->rows ? "" : " ", row->name);
    }
    printf("'");
    if (takes_model(command)) {
        printf("\n            [[ $current == -* ]] || words=$(_sotto_models)");
    } else if (command == &cmd_completion) {
        printf("\n            [[ $current == -* ]] || words='bash zsh fish'");
    }
    printf(" ;;\n        esac ;;\n");
}

/* Commands that are programs of their own print their options themselves; their other arguments are files. */
static void bash_external(void)
{
    for (const struct external *external = cli_external; external->name; external++) {
        printf("    %s%s", external->name, external[1].name ? " |" : ")\n");
    }
    puts("        if [[ $current == -* ]]; then words=$(sotto \"$command\" --options 2>/dev/null)\n"
         "        else COMPREPLY=($(compgen -f -- \"$current\")); return; fi ;;");
}

static void bash_script(void)
{
    puts("# bash completion of sotto; made by \"sotto completion bash\"\n"
         "_sotto_models() { sotto \"${socket[@]}\" models --names 2>/dev/null; }\n"
         "_sotto() {\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    local command= words= i socket=()\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        case ${COMP_WORDS[i]} in\n"
         "        --socket) socket=(--socket \"${COMP_WORDS[++i]}\") ;;\n"
         "        -*) ;;\n"
         "        *) [[ $command ]] || command=${COMP_WORDS[i]} ;;\n"
         "        esac\n"
         "    done\n"
         "    case $command in\n"
         "    '')");
    puts("        case $previous in");
    bash_values(cli_rows);
    printf("        *) words='help");
    for (const struct command *const *command = cli_commands; *command; command++) {
        printf(" %s", (*command)->name);
    }
    for (const struct external *external = cli_external; external->name; external++) {
        printf(" %s", external->name);
    }
    for (const struct arg_row *row = cli_rows; row->name; row++) {
        printf(" --%s", row->name);
    }
    puts("' ;;\n        esac ;;");
    for (const struct command *const *command = cli_commands; *command; command++) {
        bash_command(*command);
    }
    bash_external();
    puts("    esac\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _sotto sotto");
}

/* Prints @text for a shell's single quotes. */
static void quoted(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*text);
        }
    }
    putchar('\'');
}

/* zsh can use the completions of bash. */
static void zsh_script(void)
{
    puts("#compdef sotto\nautoload -U +X bashcompinit && bashcompinit");
    bash_script();
}

static void fish_option(const struct arg_row *row, const char *condition)
{
    printf("complete -c sotto -n %s -l %s", condition, row->name);
    if (row->letter) {
        printf(" -s %c", row->letter);
    }
    if (row->kind != ARG_FLAG) {
        printf(" -%s", row->value && strcmp(row->value, "PATH") == 0 ? "rF" : "x");
    }
    if (row->kind == ARG_CHOICE) {
        printf(" -a '");
        for (const char *at = row->choices; *at; at++) {
            putchar(*at == '|' ? ' ' : *at);
        }
        putchar('\'');
    } else if (strcmp(row->name, "model") == 0) {
        printf(" -a '(sotto models --names 2>/dev/null)'");
    }
    printf(" -d ");
    quoted(row->help);
    putchar('\n');
}

static void fish_external(void)
{
    for (const struct external *external = cli_external; external->name; external++) {
        printf("complete -c sotto -n __fish_use_subcommand -a %s -d ", external->name);
        quoted(external->summary);
        printf("\ncomplete -c sotto -n '__fish_seen_subcommand_from %s' -F -a '(sotto %s --options "
               "2>/dev/null)'\n",
               external->name, external->name);
    }
}

static void fish_script(void)
{
    char condition[64];

    puts("# fish completion of sotto; made by \"sotto completion fish\"\ncomplete -c sotto -f");
    for (const struct arg_row *row = cli_rows; row->name; row++) {
        fish_option(row, "__fish_use_subcommand");
    }
    for (const struct command *const *command = cli_commands; *command; command++) {
        printf("complete -c sotto -n __fish_use_subcommand -a %s -d ", (*command)->name);
        quoted((*command)->summary);
        putchar('\n');
        snprintf(condition, sizeof(condition), "'__fish_seen_subcommand_from %s'", (*command)->name);
        for (const struct arg_row *row = (*command)->rows; row->name; row++) {
            fish_option(row, condition);
        }
        if (takes_model(*command)) {
            printf("complete -c sotto -n %s -a '(sotto models --names 2>/dev/null)'\n", condition);
        }
    }
    fish_external();
}

static int run(struct cli *cli, void *owner)
{
    static const struct shell {
        const char *name;
        void (*write)(void);
    } shells[] = { { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };
    const char *name = cli->n_words ? cli->words[0] : NULL;

    (void)owner;
    for (size_t i = 0; name && i < COUNTOF(shells); i++) {
        if (strcmp(shells[i].name, name) == 0) {
            shells[i].write();
            return cli_flush();
        }
    }
    return name ? cli_usage(cli, "\"%s\" is not one of bash, zsh and fish", name)
                : cli_usage(cli, "the name of the shell is missing: bash, zsh or fish");
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "write the completion script of a shell",
    .words = "bash | zsh | fish",
    .about =
        "Writes a script by which the shell completes commands, options and names of models. The package installs\n"
        "it; to use it in one shell only: . <(sotto completion bash)",
    .rows = rows,
    .most = 1,
    .run = run,
};
