/*
 * Suggest: the edit distance to each command, and a bound on what still counts as a slip
 */
#include "suggest.h"

#include "cli.h"
#include "outside.h"
#include <string.h>

#define WORD_MAX 24 /* longer than any command and a slip */
#define SLIPS    2  /* letters put in, left out, or changed */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned two = a < b ? a : b;

    return two < c ? two : c;
}

/* Levenshtein's distance; one row of the table at a time. */
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

const char *suggest_command(const char *word)
{
    const char *best = NULL;
    unsigned best_distance = SLIPS + 1;

    if (strlen(word) > WORD_MAX) {
        return NULL;
    }
    for (const struct command *const *command = cli_commands; *command; command++) {
        unsigned d = distance(word, (*command)->name);

        if (d < best_distance) {
            best = (*command)->name;
            best_distance = d;
        }
    }
    for (const struct outside *outside = cli_outside; outside->name; outside++) {
        unsigned d = distance(word, outside->name);

        if (d < best_distance) {
            best = outside->name;
            best_distance = d;
        }
    }
    return best;
}
