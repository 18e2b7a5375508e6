/*
 * Output filter: from the tokens of an answer to the text that may be shown
 *
 * Before the text of a sampled token is sent, two questions must be settled: may a stop string still claim its bytes,
 * and is its last character whole? The filter releases whole tokens that consist of whole characters and that no stop
 * string can claim any more. So a client can resume at every edge, the joined text equals the unstreamed text byte for
 * byte, and no part of a stop string is ever shown.
 *
 * It holds back at most the bytes of the longest stop string and of the token that it may begin in, and what comes
 * until a token ends with a whole character. Pure: no model, no clock. One thread.
 */
#ifndef SOTTO_TEXT_OUTPUT_FILTER_H
#define SOTTO_TEXT_OUTPUT_FILTER_H

#include "base/diag.h"
#include "base/mem.h"
#include "text/stop.h"
#include "token/token.h"

struct output_filter;

/* Copies @stops, each of 1 byte or more. @vocab outlives the filter. 0 or -ENOMEM. */
int output_filter_create(struct output_filter **ret_filter, const struct vocab *vocab, const struct stop_text *stops,
                         size_t n_stops);
void output_filter_destroy(struct output_filter *filter);
void output_filter_destroyp(struct output_filter **filter);

/* Tokens and text that may be shown now. They lie in the filter and are valid until its next call. */
struct output_filter_out {
    uint32_t first;         /* index in the answer of the first token */
    const uint32_t *tokens; /* whole tokens, n_tokens of them; 0: nothing may be shown yet */
    uint32_t n_tokens;
    const uint8_t *text; /* n_text bytes of whole characters; bad bytes of the model became U+FFFD */
    size_t n_text;
    int stop; /* index of the stop string that was met, or -1; the text before it is in @text. The first to end counts,
                 of those that end together the longest, of equal ones the first */
};

enum output_filter_outcome {
    OUTPUT_FILTER_OK,
    OUTPUT_FILTER_STOPPED, /* a stop string is complete: the answer ends, nothing may be pushed any more */
};

/*
 * Takes the next token of the answer. On OUTPUT_FILTER_STOPPED, ret_out holds the rest of the text before the stop
 * string with the tokens that carry it, without those that lie inside the stop string. An outcome, or -ENOMEM.
 */
int output_filter_push(struct output_filter *filter, uint32_t id, struct output_filter_out *ret_out);

/* Ends the answer for another reason: everything held back is released; an unfinished character becomes U+FFFD. */
void output_filter_flush(struct output_filter *filter, struct output_filter_out *ret_out);

uint32_t output_filter_n_shown(const struct output_filter *filter); /* tokens released so far */
uint64_t output_filter_n_bytes(const struct output_filter *filter); /* bytes of text released so far */

#endif
