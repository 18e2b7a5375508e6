/*
 * A text is checked and cut at its special entries; the text between them goes to the tokenizer of the vocabulary's
 * kind.
 */
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include "token/bpe.h"
#include "token/nfc.h"
#include "token/spm.h"
#include "token/vocab.h"
#include <errno.h>
#include <string.h>

/* Offsets have 32 bits, and SentencePiece's blanks take three bytes. Requests are limited to far less. */
#define TEXT_BYTES_MAX (1u << 30)

/* Bytes searched for special entries between two checks of the cancel flag. */
#define CANCEL_EVERY 8192u

/* The state of one call. */
struct job {
    const struct vocab *vocab;
    const atomic_bool *cancel;
    struct ids *ids;
    const uint8_t *marks; /* of the bytes of the text, or NULL: all are trusted */
    size_t trusted_to;    /* all bytes from the last query up to here are trusted */
    struct merge merge;
    struct buf spelled;            /* SPM: with U+2581; BPE: composed, where the vocabulary needs it */
    struct split_scratch *scratch; /* BPE */
};

static bool is_cancelled(const struct job *job)
{
    return job->cancel && atomic_load_explicit(job->cancel, memory_order_relaxed);
}

static int on_word(void *owner, const uint8_t *word, size_t n)
{
    struct job *job = owner;

    if (is_cancelled(job)) {
        return TOKENIZE_CANCELLED;
    }
    return bpe_word(job->vocab, &job->merge, word, n, job->ids);
}

static int push_words(struct job *job, const uint8_t *text, size_t n)
{
    int r;

    if (!split_composed(job->vocab->split)) {
        return split_walk(job->vocab->split, job->scratch, text, n, on_word, job);
    }
    buf_eat(&job->spelled, job->spelled.n);
    r = nfc_append(text, n, &job->spelled);
    if (r) {
        return r < 0 ? err_up(r) : TOKENIZE_TOO_MANY;
    }
    return split_walk(job->vocab->split, job->scratch, buf_data(&job->spelled), job->spelled.n, on_word, job);
}

/* Pushes text without special entries. @goes_on: no prefix blank in front of it. */
static int push_plain(struct job *job, const uint8_t *text, size_t n, bool goes_on)
{
    if (n == 0) {
        return TOKENIZE_OK;
    }
    if (is_cancelled(job)) {
        return TOKENIZE_CANCELLED;
    }
    if (job->vocab->kind == VOCAB_SPM) {
        return spm_text(job->vocab, &job->merge, &job->spelled, text, n, job->vocab->prefix_blank && !goes_on,
                        job->ids);
    }
    return push_words(job, text, n);
}

/* Returns how many bytes from @at on are trusted. @at never decreases. */
static size_t count_trusted(struct job *job, size_t at, size_t n)
{
    if (!job->marks) {
        return n - at;
    }
    if (job->marks[at] != 0) {
        return 0;
    }
    if (job->trusted_to <= at) {
        const uint8_t *foreign = memchr(job->marks + at, 1, n - at);

        job->trusted_to = foreign ? (size_t)(foreign - job->marks) : n;
    }
    return job->trusted_to - at;
}

/* True for a piece that is no control token by its type but would act as one. */
static bool is_like_control(const struct vocab *vocab, uint32_t id)
{
    const struct gguf_text text = vocab_text(vocab, id);

    return vocab_ends(vocab, id) ||
           (text.n > 4 && memcmp(text.bytes, "<|", 2) == 0 && memcmp(text.bytes + text.n - 2, "|>", 2) == 0);
}

/* Returns the length of the special entry that counts at @at, and its id; or 0. */
static size_t match(struct job *job, const uint8_t *text, size_t n, size_t at, bool control, uint32_t *ret_id)
{
    const struct special *special = &job->vocab->special;
    uint32_t id = VOCAB_NO_ID;
    size_t n_trusted;
    size_t n_any;

    if (!job->marks) {
        return special_match(special, text + at, n - at, control, ret_id);
    }
    n_trusted = control ? special_match(special, text + at, count_trusted(job, at, n), true, ret_id) : 0;
    n_any = special_match(special, text + at, n - at, false, &id);
    if (n_any <= n_trusted || (count_trusted(job, at, n) < n_any && is_like_control(job->vocab, id))) {
        return n_trusted;
    }
    *ret_id = id;
    return n_any;
}

/* *at: the place of the next special entry from *at on, with its length and id; @n if there is none. */
static int find_special(struct job *job, const uint8_t *text, size_t n, bool control, size_t *at, size_t *ret_n,
                        uint32_t *ret_id)
{
    *ret_n = 0;
    for (; *at < n; (*at)++) {
        *ret_n = match(job, text, n, *at, control, ret_id);
        if (*ret_n > 0) {
            break;
        }
        if (*at % CANCEL_EVERY == 0 && is_cancelled(job)) {
            return TOKENIZE_CANCELLED;
        }
    }
    return TOKENIZE_OK;
}

static int push_text(struct job *job, const uint8_t *text, size_t n, unsigned flags)
{
    bool goes_on = (flags & TOKENIZE_MIDDLE) != 0;
    size_t done = 0;
    int r;

    while (done < n) {
        size_t at = done;
        size_t n_special;
        uint32_t id = VOCAB_NO_ID;

        r = find_special(job, text, n, (flags & TOKENIZE_SPECIAL) != 0, &at, &n_special, &id);
        if (r) {
            return r;
        }
        r = push_plain(job, text + done, at - done, goes_on);
        if (r) {
            return r;
        }
        if (n_special > 0) {
            r = ids_push(job->ids, id);
            if (r) {
                return r;
            }
        }
        goes_on = false;
        done = at + n_special;
    }
    return TOKENIZE_OK;
}

static void job_finish(struct job *job)
{
    merge_finish(&job->merge);
    buf_finish(&job->spelled);
    split_scratch_destroy(job->scratch);
}

static int tokenize(const struct vocab *vocab, const void *text, const uint8_t *marks, size_t n, unsigned flags,
                    const atomic_bool *cancel, struct ids *ids, struct diag *diag)
{
    cleanup(job_finish) struct job job = { .vocab = vocab, .cancel = cancel, .ids = ids, .marks = marks };
    size_t bad_at;
    int r;

    if (n > TEXT_BYTES_MAX) {
        diag_set(diag, "the text has %zu bytes, more than %u", n, TEXT_BYTES_MAX);
        return TOKENIZE_TOO_MANY;
    }
    if (!utf8_is_valid(text, n, &bad_at)) {
        diag_set(diag, "the text is not valid UTF-8: byte %zu (0x%02x) is not allowed there", bad_at,
                 ((const uint8_t *)text)[bad_at]);
        return TOKENIZE_BAD_TEXT;
    }
    merge_init(&job.merge, vocab->kind == VOCAB_SPM ? spm_find : bpe_find, vocab, cancel);
    buf_init(&job.spelled, MEM_TEXT, (TEXT_BYTES_MAX + 1ull) * 3);
    if (vocab->kind == VOCAB_BPE) {
        r = split_scratch_create(&job.scratch, vocab->split);
        if (r) {
            return err_up(r);
        }
    }
    if ((flags & TOKENIZE_BOS) && vocab->adds_bos) {
        r = ids_push(ids, vocab->bos);
        if (r) {
            return err_pass(r);
        }
    }
    r = push_text(&job, text, n, flags);
    if (r == TOKENIZE_OK && (flags & TOKENIZE_EOS) && vocab->adds_eos) {
        r = ids_push(ids, vocab->eos);
    }
    return err_pass(r);
}

int vocab_tokenize(const struct vocab *vocab, const void *text, size_t n, unsigned flags, const atomic_bool *cancel,
                   struct ids *ids, struct diag *diag)
{
    return tokenize(vocab, text, NULL, n, flags, cancel, ids, diag);
}

int vocab_tokenize_marked(const struct vocab *vocab, const void *text, const uint8_t *marks, size_t n,
                          const atomic_bool *cancel, struct ids *ids, struct diag *diag)
{
    return tokenize(vocab, text, marks, n, TOKENIZE_SPECIAL, cancel, ids, diag);
}
