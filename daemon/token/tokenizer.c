/*
 * A text is checked and cut at its special entries; the text between them goes to the tokenizer of the vocabulary's
 * kind, word by word. Everything that a text is at lies in struct tokenizer, so it can stop between any two words, and
 * inside of one between two pairs that merge. What is not cut only copies: it takes a few milliseconds for the longest
 * text of a request.
 */
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "base/utf8.h"
#include "token/bpe.h"
#include "token/nfc.h"
#include "token/spm.h"
#include "token/vocab.h"
#include <errno.h>
#include <string.h>

/* Offsets have 32 bits, and SentencePiece's blanks take three bytes. Requests are limited to far less. */
#define TEXT_BYTES_MAX (1u << 30)

/* Bytes that cost a step where they are searched for special entries, or composed, or only looked at. */
#define SEARCH_BYTES  8u
#define COMPOSE_BYTES 4u
#define CHECK_BYTES   256u

enum phase {
    PHASE_BEGIN,
    PHASE_SEARCH,  /* for the next special entry */
    PHASE_COMPOSE, /* the text before it, where the vocabulary needs that */
    PHASE_WORDS,   /* of the text before it */
    PHASE_SPECIAL, /* its id */
    PHASE_END,
};

struct tokenizer {
    const struct vocab *vocab;
    struct tokenizer_text text; /* its bytes are the caller's */
    enum phase phase;
    size_t done;       /* bytes that have their ids */
    size_t at;         /* no special entry begins in front of it, behind @done */
    size_t trusted_to; /* all bytes from the last query up to here are trusted */
    size_t n_special;  /* length of the special entry at @at; 0: there is none, the text ends here */
    uint32_t special;  /* its id */
    bool goes_on;      /* the plain text at @done gets no prefix blank */

    struct buf spelled; /* the plain text: SPM: with U+2581; BPE: composed, where the vocabulary needs it */
    size_t n_composed;  /* bytes of the plain text that are in @spelled */
    size_t n_spelled;   /* SPM: bytes of @spelled in front of the word */
    const uint8_t *word;
    size_t n_word;
    bool is_merging; /* the word is begun */
    struct merge merge;
    struct split_cursor *cursor; /* BPE */
};

static void spend(uint64_t *left, uint64_t n)
{
    *left -= num_min(*left, n);
}

/* ---- plain text */

static bool is_spm(const struct tokenizer *tokenizer)
{
    return tokenizer->vocab->kind == VOCAB_SPM;
}

/* Begins to take words from the text between @done and @at. 0 or -ENOMEM. */
static int begin_plain(struct tokenizer *tokenizer)
{
    const uint8_t *text = (const uint8_t *)tokenizer->text.bytes + tokenizer->done;
    const size_t n = tokenizer->at - tokenizer->done;

    tokenizer->n_spelled = 0;
    tokenizer->n_composed = 0;
    tokenizer->phase = PHASE_WORDS;
    if (is_spm(tokenizer)) {
        return err_up(spm_spell(&tokenizer->spelled, text, n, tokenizer->vocab->prefix_blank && !tokenizer->goes_on));
    }
    if (split_composed(tokenizer->vocab->split)) {
        buf_eat(&tokenizer->spelled, tokenizer->spelled.n);
        tokenizer->phase = PHASE_COMPOSE;
    } else {
        split_begin(tokenizer->cursor, text, n);
    }
    return 0;
}

static int compose(struct tokenizer *tokenizer, uint64_t *left)
{
    const uint8_t *text = (const uint8_t *)tokenizer->text.bytes + tokenizer->done;
    const size_t n = tokenizer->at - tokenizer->done;

    while (tokenizer->n_composed < n) {
        size_t used;
        int r;

        if (*left == 0) {
            return TOKENIZE_MORE;
        }
        r = nfc_append(text + tokenizer->n_composed, n - tokenizer->n_composed, &tokenizer->spelled, &used);
        if (r) {
            return r < 0 ? err_up(r) : TOKENIZE_TOO_MANY;
        }
        spend(left, used / COMPOSE_BYTES + 1);
        tokenizer->n_composed += used;
    }
    split_begin(tokenizer->cursor, buf_data(&tokenizer->spelled), tokenizer->spelled.n);
    tokenizer->phase = PHASE_WORDS;
    return TOKENIZE_OK;
}

/* Finds the next word. SPLIT_OK, SPLIT_END, or a fault. */
static int next_word(struct tokenizer *tokenizer)
{
    if (!is_spm(tokenizer)) {
        int r = split_next(tokenizer->cursor, &tokenizer->word, &tokenizer->n_word);

        return err_pass(r);
    }
    tokenizer->word = buf_data(&tokenizer->spelled) + tokenizer->n_spelled;
    tokenizer->n_word = spm_part(tokenizer->vocab, tokenizer->word, tokenizer->spelled.n - tokenizer->n_spelled);
    tokenizer->n_spelled += tokenizer->n_word;
    return tokenizer->n_word > 0 ? SPLIT_OK : SPLIT_END;
}

static int begin_word(struct tokenizer *tokenizer, struct ids *ids, uint64_t *left)
{
    int r;

    spend(left, tokenizer->n_word + 1);
    if (is_spm(tokenizer)) {
        merge_begin(&tokenizer->merge);
        tokenizer->is_merging = true;
        return TOKENIZE_OK;
    }
    r = bpe_begin(tokenizer->vocab, &tokenizer->merge, tokenizer->word, tokenizer->n_word, ids);
    tokenizer->is_merging = r == TOKENIZE_MORE;
    return r == TOKENIZE_MORE ? TOKENIZE_OK : err_pass(r);
}

static int merge_word(struct tokenizer *tokenizer, struct ids *ids, uint64_t *left)
{
    struct merge *merge = &tokenizer->merge;
    int r = TOKENIZE_OK;

    if (is_spm(tokenizer)) {
        r = spm_fill(tokenizer->vocab, merge, tokenizer->word, tokenizer->n_word, left);
    }
    if (!r) {
        r = merge_run(merge, tokenizer->word, left);
        r = r == MERGE_MORE ? TOKENIZE_MORE : r;
    }
    if (r) {
        return err_pass(r);
    }
    tokenizer->is_merging = false;
    r = is_spm(tokenizer) ? spm_end(tokenizer->vocab, merge, tokenizer->word, ids) : bpe_end(merge, ids);
    return err_pass(r);
}

static int take_words(struct tokenizer *tokenizer, struct ids *ids, uint64_t *left)
{
    int r;

    for (;;) {
        r = tokenizer->is_merging ? merge_word(tokenizer, ids, left) : TOKENIZE_OK;
        if (r) {
            return err_pass(r);
        }
        if (*left == 0) {
            return TOKENIZE_MORE;
        }
        r = next_word(tokenizer);
        if (r == SPLIT_END) {
            tokenizer->phase = PHASE_SPECIAL;
            return TOKENIZE_OK;
        }
        r = r ? r : begin_word(tokenizer, ids, left);
        if (r) {
            return err_pass(r);
        }
    }
}

/* ---- special entries */

/* Returns how many bytes from @at on are trusted. @at never decreases. */
static size_t count_trusted(struct tokenizer *tokenizer, size_t at, size_t n)
{
    if (!tokenizer->text.marks) {
        return n - at;
    }
    if (tokenizer->text.marks[at] != 0) {
        return 0;
    }
    if (tokenizer->trusted_to <= at) {
        const uint8_t *foreign = memchr(tokenizer->text.marks + at, 1, n - at);

        tokenizer->trusted_to = foreign ? (size_t)(foreign - tokenizer->text.marks) : n;
    }
    return tokenizer->trusted_to - at;
}

/* True for a piece that is no control token by its type but would act as one. */
static bool is_like_control(const struct vocab *vocab, uint32_t id)
{
    const struct gguf_text text = vocab_text(vocab, id);

    return vocab_ends(vocab, id) ||
           (text.n > 4 && memcmp(text.bytes, "<|", 2) == 0 && memcmp(text.bytes + text.n - 2, "|>", 2) == 0);
}

/* Returns the length of the special entry that counts at @at, and its id; or 0. */
static size_t match(struct tokenizer *tokenizer, const uint8_t *text, size_t n, size_t at, bool control,
                    uint32_t *ret_id)
{
    const struct special *special = &tokenizer->vocab->special;
    uint32_t id = VOCAB_NO_ID;
    size_t n_trusted;
    size_t n_any;

    if (!tokenizer->text.marks) {
        return special_match(special, text + at, n - at, control, ret_id);
    }
    n_trusted = control ? special_match(special, text + at, count_trusted(tokenizer, at, n), true, ret_id) : 0;
    n_any = special_match(special, text + at, n - at, false, &id);
    if (n_any <= n_trusted || (count_trusted(tokenizer, at, n) < n_any && is_like_control(tokenizer->vocab, id))) {
        return n_trusted;
    }
    *ret_id = id;
    return n_any;
}

/* Finds the place of the next special entry, with its length and id; the end of the text if there is none. */
static int search(struct tokenizer *tokenizer, uint64_t *left)
{
    const uint8_t *text = tokenizer->text.bytes;
    const size_t n = tokenizer->text.n;
    const bool control = (tokenizer->text.flags & TOKENIZE_SPECIAL) != 0;

    tokenizer->n_special = 0;
    for (; tokenizer->at < n; tokenizer->at++) {
        if (tokenizer->at % SEARCH_BYTES == 0) {
            if (*left == 0) {
                return TOKENIZE_MORE;
            }
            --*left;
        }
        tokenizer->n_special = match(tokenizer, text, n, tokenizer->at, control, &tokenizer->special);
        if (tokenizer->n_special > 0) {
            break;
        }
    }
    if (tokenizer->at > tokenizer->done) {
        return err_up(begin_plain(tokenizer));
    }
    tokenizer->phase = PHASE_SPECIAL;
    return TOKENIZE_OK;
}

static int push_special(struct tokenizer *tokenizer, struct ids *ids)
{
    int r = tokenizer->n_special > 0 ? ids_push(ids, tokenizer->special) : TOKENIZE_OK;

    tokenizer->at += tokenizer->n_special;
    tokenizer->done = tokenizer->at;
    tokenizer->goes_on = false;
    tokenizer->phase = tokenizer->done < tokenizer->text.n ? PHASE_SEARCH : PHASE_END;
    return err_pass(r);
}

/* ---- the text */

static int begin(struct tokenizer *tokenizer, struct ids *ids, uint64_t *left, struct diag *diag)
{
    const struct tokenizer_text *text = &tokenizer->text;
    size_t bad_at;
    int r = TOKENIZE_OK;

    if (text->n > TEXT_BYTES_MAX) {
        diag_set(diag, "the text has %zu bytes, more than %u", text->n, TEXT_BYTES_MAX);
        return TOKENIZE_TOO_MANY;
    }
    if (!utf8_is_valid(text->bytes, text->n, &bad_at)) {
        diag_set(diag, "the text is not valid UTF-8: byte %zu (0x%02x) is not allowed there", bad_at,
                 ((const uint8_t *)text->bytes)[bad_at]);
        return TOKENIZE_BAD_TEXT;
    }
    spend(left, text->n / CHECK_BYTES + 1);
    tokenizer->phase = text->n > 0 ? PHASE_SEARCH : PHASE_END;
    if ((text->flags & TOKENIZE_BOS) && tokenizer->vocab->adds_bos) {
        r = ids_push(ids, tokenizer->vocab->bos);
    }
    return err_pass(r);
}

static int go_on(struct tokenizer *tokenizer, struct ids *ids, uint64_t *left, struct diag *diag)
{
    switch (tokenizer->phase) {
    case PHASE_BEGIN:
        return begin(tokenizer, ids, left, diag);
    case PHASE_SEARCH:
        return search(tokenizer, left);
    case PHASE_COMPOSE:
        return compose(tokenizer, left);
    case PHASE_WORDS:
        return take_words(tokenizer, ids, left);
    case PHASE_SPECIAL:
        return push_special(tokenizer, ids);
    case PHASE_END:
        break;
    }
    return TOKENIZE_OK;
}

int tokenizer_run(struct tokenizer *tokenizer, uint64_t *left, struct ids *ids, struct diag *diag)
{
    int r = TOKENIZE_OK;

    while (!r && tokenizer->phase != PHASE_END) {
        r = go_on(tokenizer, ids, left, diag);
    }
    if (!r && (tokenizer->text.flags & TOKENIZE_EOS) && tokenizer->vocab->adds_eos) {
        r = ids_push(ids, tokenizer->vocab->eos);
    }
    return err_pass(r);
}

int tokenizer_create(struct tokenizer **ret_tokenizer, const struct vocab *vocab, const struct tokenizer_text *text)
{
    cleanup(tokenizer_destroyp) struct tokenizer *tokenizer = mem_calloc(MEM_TEXT, 1, sizeof(*tokenizer));

    if (!tokenizer) {
        return err_new(-ENOMEM);
    }
    tokenizer->vocab = vocab;
    tokenizer->text = *text;
    tokenizer->goes_on = (text->flags & TOKENIZE_MIDDLE) != 0;
    merge_init(&tokenizer->merge, is_spm(tokenizer) ? spm_find : bpe_find, vocab);
    buf_init(&tokenizer->spelled, MEM_TEXT, (TEXT_BYTES_MAX + 1ull) * 3);
    if (vocab->kind == VOCAB_BPE && split_cursor_create(&tokenizer->cursor, vocab->split)) {
        return err_new(-ENOMEM);
    }
    *ret_tokenizer = steal(&tokenizer);
    return 0;
}

void tokenizer_destroy(struct tokenizer *tokenizer)
{
    if (!tokenizer) {
        return;
    }
    merge_finish(&tokenizer->merge);
    buf_finish(&tokenizer->spelled);
    split_cursor_destroy(tokenizer->cursor);
    mem_free(tokenizer);
}

void tokenizer_destroyp(struct tokenizer **tokenizer)
{
    tokenizer_destroy(*tokenizer);
    *tokenizer = NULL;
}

/* ---- a text as a whole */

static int tokenize(const struct vocab *vocab, const struct tokenizer_text *text, struct ids *ids, struct diag *diag)
{
    cleanup(tokenizer_destroyp) struct tokenizer *tokenizer = NULL;
    uint64_t left = UINT64_MAX;
    int r = tokenizer_create(&tokenizer, vocab, text);

    r = r ? r : tokenizer_run(tokenizer, &left, ids, diag);
    return err_pass(r);
}

int vocab_tokenize(const struct vocab *vocab, const void *text, size_t n, unsigned flags, struct ids *ids,
                   struct diag *diag)
{
    return tokenize(vocab, &(struct tokenizer_text){ .bytes = text, .n = n, .flags = flags }, ids, diag);
}

int vocab_tokenize_marked(const struct vocab *vocab, const void *text, const uint8_t *marks, size_t n, struct ids *ids,
                          struct diag *diag)
{
    return tokenize(vocab, &(struct tokenizer_text){ .bytes = text, .marks = marks, .n = n, .flags = TOKENIZE_SPECIAL },
                    ids, diag);
}
