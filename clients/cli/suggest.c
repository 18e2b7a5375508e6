/*
 * The command with the smallest edit distance is suggested, if it is no more than SLIPS away.
 */
#include "suggest.h"
#include "cli.h"
#include "external.h"
#include <string.h>

#define WORD_MAX 24 /* longer than any misspelt command */
#define SLIPS    2  /* letters put in, left out, or changed */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned two = a < b ? a : b;

    return two < c ? two : c;
}

/* Returns Levenshtein's distance, computed one row of the table at a time. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[WORD_MAX + 1];
    size_t n = strlen(b);

    for (size_t j = 0; j <= n; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 0; a[i]; i++) {
        unsigned corner = row[0];

        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < n; j++) {
            unsigned above = row[j + 1];

            row[j + 1] = least(above + 1, row[j] + 1, corner + (a[i] != b[j]));
            corner = above;
        }
    }
    return row[n];
}

/* Puts @name in place of *best if it is nearer to @word. */
static void consider(const char *word, const char *name, const char **best, unsigned *best_distance)
{
    unsigned d = distance(word, name);

    if (d < *best_distance) {
        *best = name;
        *best_distance = d;
    }
}

const char *suggest_command(const char *word)
{
    const char *best = NULL;
    unsigned best_distance = SLIPS + 1;

    if (strlen(word) > WORD_MAX) {
        return NULL;
    }
    for (const struct command *const *command = cli_commands; *command; command++) {
        consider(word, (*command)->name, &best, &best_distance);
    }
    for (const struct external *external = cli_external; external->name; external++) {
        consider(word, external->name, &best, &best_distance);
    }
    return best;
}
