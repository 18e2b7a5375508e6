/*
 * The steps in which a vocabulary is built
 *
 * Everything in which two parts of a file could contradict each other is compared here, at load, so that no request
 * meets a contradiction.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "token/vocab.h"
#include <errno.h>

typedef int (*step_fn)(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);

static const step_fn steps[] = {
    vocab_load_kind,   vocab_load_entries, vocab_load_scores,  vocab_load_pieces,
    vocab_load_merges, vocab_load_marks,   vocab_load_special, vocab_check_rows,
};

int vocab_create(struct vocab **ret_vocab, const struct gguf *gguf, struct diag *diag)
{
    cleanup(vocab_destroyp) struct vocab *vocab = mem_calloc(MEM_TEXT, 1, sizeof(*vocab));
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
