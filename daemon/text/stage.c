/*
 * Held back are the bytes behind the last edge that was shown, and the tokens that brought them. A token's end is
 * an edge if its last character is whole there and no stop string may have begun before it. Room for what comes
 * out is made together with room for what goes in, so that ending an answer never needs memory.
 */
#include "text/stage.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include "text/chars.h"
#include "text/stop.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/* A bad byte becomes the three of U+FFFD. */
#define MENDED_MAX 3u

struct held {
    uint32_t id;
    bool whole;  /* the text is whole characters at its end */
    size_t from; /* its bytes, in stage::bytes */
    size_t to;
};

struct stage {
    const struct vocab *vocab;
    struct stop *stop;
    uint32_t state;
    struct chars chars;
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
    uint32_t n_pushed;
    uint64_t n_text;
};

int stage_create(struct stage **ret_stage, const struct vocab *vocab, const struct stage_text *stops, size_t n_stops)
{
    cleanup(stage_destroyp) struct stage *stage = mem_calloc(MEM_STREAM, 1, sizeof(*stage));
    int r;

    if (!stage) {
        return err_new(-ENOMEM);
    }
    stage->vocab = vocab;
    r = stop_create(&stage->stop, stops, n_stops);
    if (r) {
        return err_up(r);
    }
    *ret_stage = steal(&stage);
    return 0;
}

void stage_destroy(struct stage *stage)
{
    if (!stage) {
        return;
    }
    stop_destroy(stage->stop);
    mem_free(stage->bytes);
    mem_free(stage->tokens);
    mem_free(stage->out_text);
    mem_free(stage->out_tokens);
    mem_free(stage);
}

void stage_destroyp(struct stage **stage)
{
    stage_destroy(*stage);
    *stage = NULL;
}

/* Grows the two blocks of one kind, held and out, to the same number of elements. */
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

/* Room for one more token of @n bytes. */
static int reserve(struct stage *stage, size_t n)
{
    size_t cap = stage->cap_bytes ? stage->cap_bytes : 64;
    int r;

    while (cap < stage->n_bytes + n) {
        cap *= 2;
    }
    if (cap > stage->cap_bytes) {
        r = grow(&stage->bytes, 1, &stage->out_text, MENDED_MAX, cap);
        if (r) {
            return err_up(r);
        }
        stage->cap_bytes = cap;
    }
    if (stage->n_tokens == stage->cap_tokens) {
        cap = stage->cap_tokens ? 2 * stage->cap_tokens : 16;
        r = grow(&stage->tokens, sizeof(*stage->tokens), &stage->out_tokens, sizeof(*stage->out_tokens), cap);
        if (r) {
            return err_up(r);
        }
        stage->cap_tokens = cap;
    }
    return 0;
}

/* Lets go the first @n_tokens tokens and the first @n_bytes bytes, and forgets them. */
static void let_go(struct stage *stage, size_t n_tokens, size_t n_bytes, struct stage_out *out)
{
    for (size_t i = 0; i < n_tokens; i++) {
        stage->out_tokens[i] = stage->tokens[i].id;
    }
    *out = (struct stage_out){
        .first = stage->n_shown,
        .tokens = stage->out_tokens,
        .n_tokens = (uint32_t)n_tokens,
        .text = stage->out_text,
        .n_text = utf8_mend(stage->bytes, n_bytes, stage->out_text, MENDED_MAX * stage->cap_bytes),
        .stop = STOP_NONE,
    };
    stage->n_shown += (uint32_t)n_tokens;
    stage->n_text += out->n_text;

    stage->n_tokens -= n_tokens;
    stage->n_bytes -= n_bytes;
    if (n_tokens > 0) {
        memmove(stage->tokens, stage->tokens + n_tokens, stage->n_tokens * sizeof(*stage->tokens));
    }
    if (n_bytes > 0) {
        memmove(stage->bytes, stage->bytes + n_bytes, stage->n_bytes);
    }
    for (size_t i = 0; i < stage->n_tokens; i++) {
        stage->tokens[i].from -= n_bytes;
        stage->tokens[i].to -= n_bytes;
    }
}

/* A stop string of @n_stop bytes ends with the last byte taken: what stands before it comes out, with the tokens
 * that carry it; the others are swallowed. */
static void end_at_stop(struct stage *stage, int stop, uint32_t n_stop, struct stage_out *out)
{
    const size_t at = stage->n_bytes - n_stop;
    size_t n_tokens = 0;

    assert(n_stop <= stage->n_bytes);
    while (n_tokens < stage->n_tokens) {
        const struct held *token = &stage->tokens[n_tokens];

        if (token->from > at || (token->from == at && token->to > at)) {
            break;
        }
        n_tokens++;
    }
    stage->stopped = true;
    stage->n_bytes = at;
    stage->n_tokens = n_tokens;
    let_go(stage, n_tokens, at, out);
    out->stop = stop;
}

/* Lets go up to the last edge. */
static void let_go_edge(struct stage *stage, struct stage_out *out)
{
    const size_t n_safe = stage->n_bytes - stop_depth(stage->stop, stage->state);
    size_t n_tokens = stage->n_tokens;

    while (n_tokens > 0 && (stage->tokens[n_tokens - 1].to > n_safe || !stage->tokens[n_tokens - 1].whole)) {
        n_tokens--;
    }
    let_go(stage, n_tokens, n_tokens > 0 ? stage->tokens[n_tokens - 1].to : 0, out);
}

int stage_push(struct stage *stage, uint32_t id, struct stage_out *ret_out)
{
    const struct gguf_text piece = vocab_piece(stage->vocab, id);
    struct held *token;
    int r;

    assert(!stage->stopped);
    r = reserve(stage, piece.n);
    if (r) {
        return err_up(r);
    }
    stage->n_pushed++;
    token = &stage->tokens[stage->n_tokens++];
    *token = (struct held){ .id = id, .from = stage->n_bytes, .to = stage->n_bytes + piece.n };

    for (size_t i = 0; i < piece.n; i++) {
        const uint8_t byte = (uint8_t)piece.bytes[i];
        uint32_t n_stop;
        int stop;

        stage->bytes[stage->n_bytes++] = byte;
        chars_push(&stage->chars, byte);
        stage->state = stop_step(stage->stop, stage->state, byte);
        stop = stop_hit(stage->stop, stage->state, &n_stop);
        if (stop != STOP_NONE) {
            end_at_stop(stage, stop, n_stop, ret_out);
            return STAGE_STOPPED;
        }
    }
    token->whole = chars_is_whole(&stage->chars);
    let_go_edge(stage, ret_out);
    return STAGE_OK;
}

void stage_flush(struct stage *stage, struct stage_out *ret_out)
{
    let_go(stage, stage->n_tokens, stage->n_bytes, ret_out);
    stage->chars = (struct chars){ .n = 0 };
    stage->state = STOP_BEGIN;
}

uint32_t stage_n_shown(const struct stage *stage)
{
    return stage->n_shown;
}

uint64_t stage_n_bytes(const struct stage *stage)
{
    return stage->n_text;
}

uint32_t stage_n_pushed(const struct stage *stage)
{
    return stage->n_pushed;
}
