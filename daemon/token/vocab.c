/*
 * A vocabulary: built in steps, asked afterwards
 *
 * Everything that two parts of a file could contradict each other in is compared here, at load, and never found out
 * at request time.
 */
#include "token/vocab.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include <assert.h>
#include <errno.h>

typedef int (*step_fn)(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);

static const step_fn steps[] = {
    vocab_load_kind,   vocab_load_entries, vocab_load_scores,  vocab_load_pieces,
    vocab_load_merges, vocab_load_marks,   vocab_load_special, vocab_check_rows,
};

void *vocab_alloc(struct vocab *vocab, size_t n, size_t size)
{
    void *block = mem_calloc(MEM_WORDS, n, size);

    if (block) {
        vocab->n_bytes += n * size;
    }
    return block;
}

int vocab_create(struct vocab **ret_vocab, const struct gguf *gguf, struct diag *diag)
{
    cleanup(vocab_destroyp) struct vocab *vocab = mem_calloc(MEM_WORDS, 1, sizeof(*vocab));
    int r;

    if (!vocab) {
        return err_new(-ENOMEM);
    }
    special_init(&vocab->special);
    for (size_t i = 0; i < COUNTOF(steps); i++) {
        r = steps[i](vocab, gguf, diag);
        if (r) {
            return r < 0 ? err_up(r) : VOCAB_REFUSED;
        }
    }
    vocab->n_bytes +=
        sizeof(*vocab) + index_bytes(&vocab->index) + pairs_bytes(&vocab->pairs) + special_bytes(&vocab->special);
    *ret_vocab = steal(&vocab);
    return VOCAB_OK;
}

void vocab_destroy(struct vocab *vocab)
{
    if (!vocab) {
        return;
    }
    mem_free(vocab->types);
    mem_free(vocab->texts);
    mem_free(vocab->text);
    mem_free(vocab->pieces);
    mem_free(vocab->piece);
    mem_free(vocab->orders);
    index_finish(&vocab->index);
    pairs_finish(&vocab->pairs);
    split_destroy(vocab->split);
    special_finish(&vocab->special);
    mem_free(vocab->never);
    mem_free(vocab->chat_template);
    mem_free(vocab);
}

void vocab_destroyp(struct vocab **vocab)
{
    vocab_destroy(*vocab);
    *vocab = NULL;
}

uint32_t vocab_n(const struct vocab *vocab)
{
    return vocab->n;
}

enum token_type vocab_type(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (enum token_type)vocab->types[id];
}

struct gguf_text vocab_text(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (struct gguf_text){ .bytes = vocab->texts + vocab->text[id].at, .n = vocab->text[id].n };
}

struct gguf_text vocab_piece(const struct vocab *vocab, uint32_t id)
{
    assert(id < vocab->n);
    return (struct gguf_text){ .bytes = vocab->pieces + vocab->piece[id].at, .n = vocab->piece[id].n };
}

uint32_t vocab_bos(const struct vocab *vocab)
{
    return vocab->bos;
}

bool vocab_adds_bos(const struct vocab *vocab)
{
    return vocab->adds_bos;
}

uint32_t vocab_eos(const struct vocab *vocab)
{
    return vocab->eos;
}

bool vocab_ends(const struct vocab *vocab, uint32_t id)
{
    for (size_t i = 0; i < vocab->n_ends; i++) {
        if (vocab->ends[i] == id) {
            return true;
        }
    }
    return false;
}

const uint32_t *vocab_never(const struct vocab *vocab, size_t *ret_n)
{
    *ret_n = vocab->n_never;
    return vocab->never;
}

uint32_t vocab_find_special(const struct vocab *vocab, const char *text, size_t n)
{
    uint32_t id = VOCAB_NO_ID;

    if (special_match(&vocab->special, (const uint8_t *)text, n, true, &id) == n) {
        return id;
    }
    return VOCAB_NO_ID;
}

bool vocab_has_prefix_blank(const struct vocab *vocab)
{
    return vocab->prefix_blank;
}

struct gguf_text vocab_chat_template(const struct vocab *vocab)
{
    return (struct gguf_text){ .bytes = vocab->chat_template, .n = vocab->n_chat_template };
}

uint64_t vocab_bytes(const struct vocab *vocab)
{
    return vocab->n_bytes;
}
