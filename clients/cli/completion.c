/*
 * sotto completion: what shells complete, written from the tables that the commands are parsed by
 */
#include "base/clean.h"
#include "cli.h"
#include "outside.h"
#include <string.h>

static const struct arg_row rows[] = { CLI_ROWS, { NULL } };

/* Commands that take a model's name as their argument. */
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

/* What follows an option: choices, a model's name, a file; or nothing that can be known. */
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

/* Programs of their own tell their options themselves; all else that they take is files. */
static void bash_outside(void)
{
    for (const struct outside *outside = cli_outside; outside->name; outside++) {
        printf("    %s%s", outside->name, outside[1].name ? " |" : ")\n");
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
    for (const struct outside *outside = cli_outside; outside->name; outside++) {
        printf(" %s", outside->name);
    }
    for (const struct arg_row *row = cli_rows; row->name; row++) {
        printf(" --%s", row->name);
    }
    puts("' ;;\n        esac ;;");
    for (const struct command *const *command = cli_commands; *command; command++) {
        bash_command(*command);
    }
    bash_outside();
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

/* zsh reads bash's completions. */
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

static void fish_outside(void)
{
    for (const struct outside *outside = cli_outside; outside->name; outside++) {
        printf("complete -c sotto -n __fish_use_subcommand -a %s -d ", outside->name);
        quoted(outside->summary);
        printf("\ncomplete -c sotto -n '__fish_seen_subcommand_from %s' -F -a '(sotto %s --options "
               "2>/dev/null)'\n",
               outside->name, outside->name);
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
    fish_outside();
}

static int run(struct cli *cli, struct args *args)
{
    static const struct shell {
        const char *name;
        void (*write)(void);
    } shells[] = { { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };
    const char *name;
    int n = cli_words(cli, args, &name, 1);

    if (n < 0) {
        return -1 - n;
    }
    for (size_t i = 0; n == 1 && i < COUNTOF(shells); i++) {
        if (strcmp(shells[i].name, name) == 0) {
            shells[i].write();
            return cli_flush(cli);
        }
    }
    return cli_usage(cli, n ? "\"%s\" is none of bash, zsh, fish" : "the shell is missing", name);
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "write a script that completes these words",
    .words = "bash | zsh | fish",
    .about = "Writes what the shell needs to complete commands, options and names of models. The package "
             "installs\n"
             "it; for one shell alone: . <(sotto completion bash)",
    .rows = rows,
    .run = run,
};
