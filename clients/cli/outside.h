/*
 * Outside: commands that are programs of their own
 *
 * Those that look at model files need no daemon, and their code is not a client's: they lie in libexec as
 * sotto-COMMAND. Here they are listed for the pages; any other sotto-COMMAND there is run as well.
 */
#ifndef SOTTO_CLI_OUTSIDE_H
#define SOTTO_CLI_OUTSIDE_H

#include "cli.h"

struct outside {
    const char *name; /* NULL ends the list */
    const char *summary;
};

extern const struct outside cli_outside[];

/* Runs the program of @name in place of this one with @n arguments, and --json if that was said before the name.
 * Comes back if there is none. */
void outside_run(const struct cli *cli, const char *name, int n, char **arguments);

#endif
