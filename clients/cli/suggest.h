/*
 * Suggest: what a misspelt command was meant to be
 */
#ifndef SOTTO_CLI_SUGGEST_H
#define SOTTO_CLI_SUGGEST_H

/* The nearest command if it is near enough, or NULL. */
const char *suggest_command(const char *word);

#endif
