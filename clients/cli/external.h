/*
 * External: commands that are programs of their own
 *
 * Commands on model files need no daemon, and their code is not a client's: they lie in libexec as sotto-COMMAND. They
 * are listed here for the help page; any other sotto-COMMAND that lies there is run as well.
 */
#ifndef SOTTO_CLI_EXTERNAL_H
#define SOTTO_CLI_EXTERNAL_H

#include "cli.h"

struct external {
    const char *name; /* NULL ends the list */
    const char *summary;
};

extern const struct external cli_external[];

/* True for the names of the list, and for tokenize, which has a program for --file. */
bool external_is_known(const char *name);

/* Runs the program of @name in place of this one with @n arguments, behind --json if that stood before the name.
 * Returns if the program can't be run. */
void external_run(const struct cli *cli, const char *name, int n, char **arguments);

/* Prints that the program of @name is missing, and where it was looked for; returns CLI_FAILED. */
int external_missing(const char *name);

#endif
