/*
 * Suggest: the command that a misspelt one was meant to be
 */
#ifndef SOTTO_CLI_SUGGEST_H
#define SOTTO_CLI_SUGGEST_H

/* Returns the most similar command, or NULL if none is similar enough. */
const char *suggest_command(const char *word);

#endif
