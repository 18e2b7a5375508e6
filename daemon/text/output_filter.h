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
#ifndef SOTTO_TEXT_OUTPUT_FILTER_H
#define SOTTO_TEXT_OUTPUT_FILTER_H

#include "base/diag.h"
#include "base/mem.h"
#include "token/token.h"

struct output_filter;

struct stop_text {
    const uint8_t *bytes;
    size_t n;
};

/* @stops are copied; each has 1 byte or more (the caller has checked). @vocab outlives the stage. -ENOMEM. */
int output_filter_create(struct output_filter **ret_stage, const struct vocab *vocab, const struct stop_text *stops,
                         size_t n_stops);
void output_filter_destroy(struct output_filter *filter);
void output_filter_destroyp(struct output_filter **filter);

/* What may be shown now. Points into the stage, valid until its next call. */
struct output_filter_out {
    uint32_t first;         /* index in the answer of the first token */
    const uint32_t *tokens; /* whole tokens let go now, n_tokens of them; 0: nothing may be shown yet */
    uint32_t n_tokens;
    const uint8_t *text; /* n_text bytes of whole characters; bad bytes of the model became U+FFFD */
    size_t n_text;
    int stop; /* index of the stop string that was met, or -1; text before it is in @text. The first to end counts,
                 of those that end together the longest, of equal ones the first */
};

enum output_filter_outcome {
    OUTPUT_FILTER_OK,
    OUTPUT_FILTER_STOPPED, /* a stop string is complete: the answer ends, nothing may be pushed any more */
};

/*
 * Takes the next token of the answer. On OUTPUT_FILTER_STOPPED, ret_out holds the rest of the text before the stop string
 * with the tokens that carry it; ids wholly swallowed by the stop are not given. -ENOMEM.
 */
int output_filter_push(struct output_filter *filter, uint32_t id, struct output_filter_out *ret_out);

/* The answer ends for another reason: all that was held back comes out; an unfinished character becomes one U+FFFD. */
void output_filter_flush(struct output_filter *filter, struct output_filter_out *ret_out);

uint32_t output_filter_n_shown(const struct output_filter *filter); /* tokens let go so far */
uint64_t output_filter_n_bytes(const struct output_filter *filter); /* bytes of text let go so far */
uint32_t stage_n_pushed(const struct output_filter *filter);

#endif
