/*
 * The filter holds back the bytes behind the last edge that was shown, and the tokens that they came with. The end of a
 * token is an edge if its last character is whole there and no stop string may have begun before it. Room for the
 * output is allocated together with room for the input, so that ending an answer never needs memory.
 */
#include "text/output_filter.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* A bad byte becomes the three of U+FFFD. */
#define MENDED_MAX 3u

struct held {
    uint32_t id;
    bool whole;  /* the text is whole characters at its end */
    size_t from; /* its bytes, in output_filter::bytes */
    size_t to;
};

struct output_filter {
    const struct vocab *vocab;
    struct stop *stop;
    uint32_t state;        /* of the automaton of stop strings */
    uint8_t unfinished[4]; /* the beginning of a character; none is longer than 3 */
    uint8_t n_unfinished;
    bool stopped;

    uint8_t *bytes; /* held back */
    size_t n_bytes;
    size_t cap_bytes;
    struct held *tokens; /* held back */
    size_t n_tokens;
    size_t cap_tokens;

    uint8_t *out_text;    /* MENDED_MAX * cap_bytes */
    uint32_t *out_tokens; /* cap_tokens */

    uint32_t n_shown;
    uint64_t n_text;
};

int output_filter_create(struct output_filter **ret_stage, const struct vocab *vocab, const struct stop_text *stops,
                         size_t n_stops)
{
    cleanup(output_filter_destroyp) struct output_filter *filter = mem_calloc(MEM_STREAM, 1, sizeof(*filter));
    int r;

    if (!filter) {
        return err_new(-ENOMEM);
    }
    filter->vocab = vocab;
    r = stop_create(&filter->stop, stops, n_stops);
    if (r) {
        return err_up(r);
    }
    *ret_stage = steal(&filter);
    return 0;
}

void output_filter_destroy(struct output_filter *filter)
{
    if (!filter) {
        return;
    }
    stop_destroy(filter->stop);
    mem_free(filter->bytes);
    mem_free(filter->tokens);
    mem_free(filter->out_text);
    mem_free(filter->out_tokens);
    mem_free(filter);
}

void output_filter_destroyp(struct output_filter **filter)
{
    output_filter_destroy(*filter);
    *filter = NULL;
}

/* Grows the input and the output block of one kind to @cap elements. The slots are pointers to pointers. */
static int grow(void *held_slot, size_t held_size, void *out_slot, size_t out_size, size_t cap)
{
    void *block;

    memcpy(&block, held_slot, sizeof(block));
    block = mem_realloc(MEM_STREAM, block, cap * held_size);
    if (!block) {
        return err_new(-ENOMEM);
    }
    memcpy(held_slot, &block, sizeof(block));

    memcpy(&block, out_slot, sizeof(block));
    block = mem_realloc(MEM_STREAM, block, cap * out_size);
    if (!block) {
        return err_new(-ENOMEM);
    }
    memcpy(out_slot, &block, sizeof(block));
    return 0;
}

/* Makes room for one more token of @n bytes. */
static int reserve(struct output_filter *filter, size_t n)
{
    size_t cap = filter->cap_bytes ? filter->cap_bytes : 64;
    int r;

    while (cap < filter->n_bytes + n) {
        cap *= 2;
    }
    if (cap > filter->cap_bytes) {
        r = grow(&filter->bytes, 1, &filter->out_text, MENDED_MAX, cap);
        if (r) {
            return err_up(r);
        }
        filter->cap_bytes = cap;
    }
    if (filter->n_tokens == filter->cap_tokens) {
        cap = filter->cap_tokens ? 2 * filter->cap_tokens : 16;
        r = grow(&filter->tokens, sizeof(*filter->tokens), &filter->out_tokens, sizeof(*filter->out_tokens), cap);
        if (r) {
            return err_up(r);
        }
        filter->cap_tokens = cap;
    }
    return 0;
}

/* Moves the first @n_tokens tokens and the first @n_bytes bytes to the output. */
static void release(struct output_filter *filter, size_t n_tokens, size_t n_bytes, struct output_filter_out *out)
{
    for (size_t i = 0; i < n_tokens; i++) {
        filter->out_tokens[i] = filter->tokens[i].id;
    }
    *out = (struct output_filter_out){
        .first = filter->n_shown,
        .tokens = filter->out_tokens,
        .n_tokens = (uint32_t)n_tokens,
        .text = filter->out_text,
        .n_text = utf8_mend(filter->bytes, n_bytes, filter->out_text, MENDED_MAX * filter->cap_bytes),
        .stop = STOP_NONE,
    };
    filter->n_shown += (uint32_t)n_tokens;
    filter->n_text += out->n_text;

    filter->n_tokens -= n_tokens;
    filter->n_bytes -= n_bytes;
    if (n_tokens > 0) {
        memmove(filter->tokens, filter->tokens + n_tokens, filter->n_tokens * sizeof(*filter->tokens));
    }
    if (n_bytes > 0) {
        memmove(filter->bytes, filter->bytes + n_bytes, filter->n_bytes);
    }
    for (size_t i = 0; i < filter->n_tokens; i++) {
        filter->tokens[i].from -= n_bytes;
        filter->tokens[i].to -= n_bytes;
    }
}

/* Ends the answer at a stop string of @n_stop bytes, which ends with the last byte taken. The text before it and the
 * tokens that carry this text are released; the others are dropped. */
static void end_at_stop(struct output_filter *filter, int stop, uint32_t n_stop, struct output_filter_out *out)
{
    const size_t at = filter->n_bytes - n_stop;
    size_t n_tokens = 0;

    assert(n_stop <= filter->n_bytes);
    while (n_tokens < filter->n_tokens) {
        const struct held *token = &filter->tokens[n_tokens];

        if (token->from > at || (token->from == at && token->to > at)) {
            break;
        }
        n_tokens++;
    }
    filter->stopped = true;
    filter->n_bytes = at;
    filter->n_tokens = n_tokens;
    release(filter, n_tokens, at, out);
    out->stop = stop;
}

/* Releases everything up to the last edge. */
static void release_edge(struct output_filter *filter, struct output_filter_out *out)
{
    const size_t n_safe = filter->n_bytes - stop_depth(filter->stop, filter->state);
    size_t n_tokens = filter->n_tokens;

    while (n_tokens > 0 && (filter->tokens[n_tokens - 1].to > n_safe || !filter->tokens[n_tokens - 1].whole)) {
        n_tokens--;
    }
    release(filter, n_tokens, n_tokens > 0 ? filter->tokens[n_tokens - 1].to : 0, out);
}

/* Takes a byte of a character. A byte that cannot continue the unfinished one ends it as a bad character and begins
 * another, exactly where utf8_mend() cuts. */
static void follow_characters(struct output_filter *filter, uint8_t byte)
{
    size_t used;

    filter->unfinished[filter->n_unfinished++] = byte;
    while (filter->n_unfinished > 0 && utf8_step(filter->unfinished, filter->n_unfinished, &used, NULL) != UTF8_MORE) {
        filter->n_unfinished = (uint8_t)(filter->n_unfinished - used);
        memmove(filter->unfinished, filter->unfinished + used, filter->n_unfinished);
    }
}

int output_filter_push(struct output_filter *filter, uint32_t id, struct output_filter_out *ret_out)
{
    const struct gguf_text piece = vocab_piece(filter->vocab, id);
    struct held *token;
    int r;

    assert(!filter->stopped);
    r = reserve(filter, piece.n);
    if (r) {
        return err_up(r);
    }
    token = &filter->tokens[filter->n_tokens++];
    *token = (struct held){ .id = id, .from = filter->n_bytes, .to = filter->n_bytes + piece.n };

    for (size_t i = 0; i < piece.n; i++) {
        const uint8_t byte = (uint8_t)piece.bytes[i];
        uint32_t n_stop;
        int stop;

        filter->bytes[filter->n_bytes++] = byte;
        follow_characters(filter, byte);
        filter->state = stop_step(filter->stop, filter->state, byte);
        stop = stop_hit(filter->stop, filter->state, &n_stop);
        if (stop != STOP_NONE) {
            end_at_stop(filter, stop, n_stop, ret_out);
            return OUTPUT_FILTER_STOPPED;
        }
    }
    token->whole = filter->n_unfinished == 0;
    release_edge(filter, ret_out);
    return OUTPUT_FILTER_OK;
}

void output_filter_flush(struct output_filter *filter, struct output_filter_out *ret_out)
{
    release(filter, filter->n_tokens, filter->n_bytes, ret_out);
    filter->n_unfinished = 0;
    filter->state = STOP_BEGIN;
}

uint32_t output_filter_n_shown(const struct output_filter *filter)
{
    return filter->n_shown;
}

uint64_t output_filter_n_bytes(const struct output_filter *filter)
{
    return filter->n_text;
}
