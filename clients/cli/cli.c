#include "cli.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

int cli_usage(const struct cli *cli, const char *format, ...)
{
    const char *space = cli->command ? " " : "";
    const char *name = cli->command ? cli->command->name : "";
    va_list args;

    fprintf(stderr, "sotto%s%s: ", space, name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n\"sotto%s%s --help\" shows how it is used\n", space, name);
    return CLI_USAGE;
}

int cli_take_u32(const struct cli *cli, const struct arg_found *found, uint32_t *ret_number)
{
    if (found->number > UINT32_MAX) {
        return cli_usage(cli, "--%s: %s is above the maximum of 4294967295", cli->command->rows[found->row].name,
                         found->text);
    }
    *ret_number = (uint32_t)found->number;
    return CLI_OK;
}

int cli_fail(const struct sotto_error *error)
{
    bool shows_field = *error->field && !strstr(error->message, error->field);

    fprintf(stderr, "sotto: %s%s%s%s\n", error->message, shows_field ? " (" : "", shows_field ? error->field : "",
            shows_field ? ")" : "");
    return CLI_FAILED;
}

int cli_no_memory(void)
{
    fputs("sotto: this program has no memory left\n", stderr);
    return CLI_FAILED;
}

/* errno of the first write that standard output refused, or 0. */
static int out_fault;

bool cli_show(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    out_fault = out_fault ? out_fault : errno;
    return false;
}

int cli_flush(void)
{
    if (cli_show()) {
        return CLI_OK;
    }
    if (out_fault != EPIPE) {
        fprintf(stderr, "sotto: can't write to standard output: %s\n",
                out_fault ? strerror(out_fault) : "a part of it was lost");
    }
    return CLI_FAILED;
}
