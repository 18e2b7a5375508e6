#include "model/ngram.h"

#define MATCH_MOST 8u /* equal tokens beyond which a longer match says no more */

/* Returns how many of the last tokens stand before index @end as well, MATCH_MOST at most. */
static uint32_t match_of(const uint32_t *tokens, uint32_t n_tokens, uint32_t end)
{
    uint32_t n = 0;

    while (n < MATCH_MOST && n < end && tokens[end - 1 - n] == tokens[n_tokens - 1 - n]) {
        n++;
    }
    return n;
}

uint32_t ngram_draft(const uint32_t *tokens, uint32_t n_tokens, uint32_t n_most, uint32_t *ret_tokens)
{
    uint32_t n_longest = NGRAM_LEAST - 1;
    uint32_t from = 0; /* the first guessed token; 0: none */

    for (uint32_t end = n_tokens; end-- > NGRAM_LEAST && n_longest < MATCH_MOST;) {
        uint32_t n = match_of(tokens, n_tokens, end);

        if (n > n_longest) {
            n_longest = n;
            from = end;
        }
    }
    for (uint32_t i = 0; from > 0 && i < n_most; i++) {
        uint32_t at = from + i;

        ret_tokens[i] = at < n_tokens ? tokens[at] : ret_tokens[at - n_tokens];
    }
    return from > 0 ? n_most : 0;
}
