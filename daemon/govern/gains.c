#include "govern/gains.h"

#include "govern/reaction.h"

#include <stdio.h>
#include <string.h>

/* Beyond these a chip would not be worth cooling, or could not be cooled. */
#define WHOLE_LEAST_MC 1000u
#define WHOLE_MOST_MC  1000000u

#define LAG_LEAST_MS ((uint32_t)(REACTION_LAG_LEAST_S * 1000.0))
#define LAG_MOST_MS  ((uint32_t)(REACTION_LAG_MOST_S * 1000.0))

#define FORMAT "sotto gains 1\nboard %s\nwhole_mc %u\nlag_ms %u\n"

static bool is_plausible(const struct gains *gains)
{
    return gains->board[0] != '\0' && gains->whole_mc >= WHOLE_LEAST_MC && gains->whole_mc <= WHOLE_MOST_MC &&
           gains->lag_ms >= LAG_LEAST_MS && gains->lag_ms <= LAG_MOST_MS;
}

void gains_name(const char *bytes, size_t n, char board[GAINS_BOARD_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < n && used + 1 < GAINS_BOARD_MAX; i++) {
        if (bytes[i] >= ' ' && bytes[i] <= '~') {
            board[used++] = bytes[i];
        }
    }
    board[used] = '\0';
}

size_t gains_write(const struct gains *gains, char *text, size_t cap)
{
    int n = is_plausible(gains) ? snprintf(text, cap, FORMAT, gains->board, gains->whole_mc, gains->lag_ms) : 0;

    return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

/* Reads the number after @name, at most seven digits, and the end of its line. Returns where the next line begins, or
 * NULL. */
static const char *number_of(const char *at, const char *name, uint32_t *ret_value)
{
    const size_t n = strlen(name);
    uint32_t value = 0;
    size_t digits = 0;

    if (!at || strncmp(at, name, n) != 0) {
        return NULL;
    }
    for (at += n; *at >= '0' && *at <= '9' && digits < 7; at++, digits++) {
        value = 10 * value + (uint32_t)(*at - '0');
    }
    *ret_value = value;
    return digits > 0 && *at == '\n' ? at + 1 : NULL;
}

bool gains_read(const char *text, size_t n, struct gains *ret_gains, struct diag *diag)
{
    static const char head[] = "sotto gains 1\nboard ";
    char copy[GAINS_FILE_MAX + 1];
    char again[GAINS_FILE_MAX + 1];
    struct gains gains = { .whole_mc = 0 };
    const char *end;
    size_t n_again;

    if (n > GAINS_FILE_MAX || n < sizeof(head)) {
        diag_set(diag, "it has %zu bytes; gains take %zu to %u", n, sizeof(head), GAINS_FILE_MAX);
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    end = strncmp(copy, head, sizeof(head) - 1) == 0 ? strchr(copy + sizeof(head) - 1, '\n') : NULL;
    if (end) {
        gains_name(copy + sizeof(head) - 1, (size_t)(end - copy) - (sizeof(head) - 1), gains.board);
        end = number_of(number_of(end + 1, "whole_mc ", &gains.whole_mc), "lag_ms ", &gains.lag_ms);
    }
    /* Written again it must be the same, to the byte: nothing is guessed. */
    n_again = end ? gains_write(&gains, again, sizeof(again)) : 0;
    if (n_again != n || memcmp(again, text, n) != 0) {
        diag_set(diag, "it is not the text that sottod writes, or its numbers are those of no chip");
        return false;
    }
    *ret_gains = gains;
    return true;
}
