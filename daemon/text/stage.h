/*
 * Stage: tokens in, text that may be shown out
 *
 * Between a sampled token and a Delta stand two questions: may a stop string still claim these bytes, and is the
 * last character whole? A Delta is whole tokens whose bytes are whole characters and that no stop string can
 * still claim; ids wait with their text. So every edge of a Delta is a place to resume at, joined text equals the
 * unstreamed text byte for byte, and no stop string is ever shown. Matching runs on bytes with proper fall-back
 * (Knuth, Morris, Pratt 1977, one automaton for all stops: Aho, Corasick 1975).
 *
 * Pure: no model, no clock. Held back are at most the bytes of the longest stop string and of the token that it may
 * begin in, and what it takes until a token ends with a whole character. One thread.
 */
#ifndef SOTTO_TEXT_STAGE_H
#define SOTTO_TEXT_STAGE_H

#include "base/diag.h"
#include "base/mem.h"
#include "token/token.h"

struct stage;

struct stage_text {
    const uint8_t *bytes;
    size_t n;
};

/* @stops are copied; each has 1 byte or more (the caller has checked). @vocab outlives the stage. -ENOMEM. */
int stage_create(struct stage **ret_stage, const struct vocab *vocab, const struct stage_text *stops, size_t n_stops);
void stage_destroy(struct stage *stage);
void stage_destroyp(struct stage **stage);

/* What may be shown now. Points into the stage, valid until its next call. */
struct stage_out {
    uint32_t first;         /* index in the answer of the first token */
    const uint32_t *tokens; /* whole tokens let go now, n_tokens of them; 0: nothing may be shown yet */
    uint32_t n_tokens;
    const uint8_t *text; /* n_text bytes of whole characters; bad bytes of the model became U+FFFD */
    size_t n_text;
    int stop; /* index of the stop string that was met, or -1; text before it is in @text. The first to end counts,
                 of those that end together the longest, of equal ones the first */
};

enum stage_outcome {
    STAGE_OK,
    STAGE_STOPPED, /* a stop string is complete: the answer ends, nothing may be pushed any more */
};

/*
 * Takes the next token of the answer. On STAGE_STOPPED, ret_out holds the rest of the text before the stop string
 * with the tokens that carry it; ids wholly swallowed by the stop are not given. -ENOMEM.
 */
int stage_push(struct stage *stage, uint32_t id, struct stage_out *ret_out);

/* The answer ends for another reason: all that was held back comes out; an unfinished character becomes one U+FFFD. */
void stage_flush(struct stage *stage, struct stage_out *ret_out);

uint32_t stage_n_shown(const struct stage *stage); /* tokens let go so far */
uint64_t stage_n_bytes(const struct stage *stage); /* bytes of text let go so far */
uint32_t stage_n_pushed(const struct stage *stage);

#endif
