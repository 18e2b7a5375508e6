/*
 * Token: the public interface of the tokenizers
 *
 * A vocabulary is built once from the keys of a model file, checked as a whole (token list, scores, types, merges and
 * special ids against each other and against the rows of the embedding), and read-only from then on: any number of
 * threads may use it. Each call has scratch memory of its own.
 *
 * Kinds: SentencePiece BPE ("llama") with byte fallback, and byte-level BPE ("gpt2") with the pre-split that the
 * file names. Time is linear in the text up to the logarithm of a word's length.
 */
#ifndef SOTTO_TOKEN_TOKEN_H
#define SOTTO_TOKEN_TOKEN_H

#include "gguf/gguf.h"

struct vocab;

enum vocab_outcome {
    VOCAB_OK,
    VOCAB_REFUSED, /* it contradicts itself or is of an unknown kind: @diag names the key and the reason */
};

/* Copies all that it needs of @gguf. Blocks (hundreds of thousands of strings): call it in a pool thread.
 * VOCAB_REFUSED, or -ENOMEM. */
int vocab_create(struct vocab **ret_vocab, const struct gguf *gguf, struct diag *diag);
void vocab_destroy(struct vocab *vocab);
void vocab_destroyp(struct vocab **vocab);

enum token_type {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER = 4,
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

uint32_t vocab_n(const struct vocab *vocab);
enum token_type vocab_type(const struct vocab *vocab, uint32_t id);

/* Returns the text of the entry @id (below vocab_n()) as the file spells it. */
struct gguf_text vocab_text(const struct vocab *vocab, uint32_t id);

/*
 * Returns the bytes that @id adds to an answer (decoded: "Ġ" and "▁" are blanks, "<0x0A>" is a newline); control,
 * unknown and unused tokens add none. They may be part of a character. They live as long as the vocabulary.
 */
struct gguf_text vocab_piece(const struct vocab *vocab, uint32_t id);

#define VOCAB_NO_ID UINT32_MAX
uint32_t vocab_bos(const struct vocab *vocab); /* or VOCAB_NO_ID */
bool vocab_adds_bos(const struct vocab *vocab);
uint32_t vocab_eos(const struct vocab *vocab); /* of the key eos_token_id, or VOCAB_NO_ID */

/* True for each token that ends an answer: eos, and the ends of a turn by their keys or well-known texts. */
bool vocab_ends(const struct vocab *vocab, uint32_t id);

/* Returns the ids that must never be sampled (TOKEN_UNUSED), for Sampler.never. */
const uint32_t *vocab_never(const struct vocab *vocab, size_t *ret_n);

/* Returns the chat template of the file; n 0: none. */
struct gguf_text vocab_chat_template(const struct vocab *vocab);

/* A growing array of ids. Initialised with { 0 }, ended with ids_finish(). */
struct ids {
    uint32_t *ids;
    size_t n;
    size_t cap;
    size_t max; /* ceiling of @n; 0: none */
};

void ids_finish(struct ids *ids);
int ids_push(struct ids *ids, uint32_t id);                      /* TOKENIZE_OK, TOKENIZE_TOO_MANY or -ENOMEM */
int ids_append(struct ids *ids, const uint32_t *more, size_t n); /* all or none; outcomes as above */

enum tokenize_flag {
    TOKENIZE_BOS = 1,     /* BOS first, if the vocabulary adds one */
    TOKENIZE_SPECIAL = 2, /* control tokens spelled in the text are recognised */
    TOKENIZE_MIDDLE = 4,  /* the text continues an earlier part: no prefix blank */
    TOKENIZE_EOS = 8,     /* EOS last, if the vocabulary adds one */
};

enum tokenize_outcome {
    TOKENIZE_OK,
    TOKENIZE_BAD_TEXT, /* no valid UTF-8: @diag has the offset of the byte */
    TOKENIZE_TOO_MANY, /* ids->max, or (detokenising) the ceiling of the buffer, or a text above 1 GiB */
    TOKENIZE_MORE,     /* of a piece: the text is not at its end */
};

/* The text of a tokenizer. User-defined pieces always match; control tokens only with TOKENIZE_SPECIAL; of those that
 * match at one place the longest counts. Bytes without a token in a byte-level vocabulary are left out, as its own
 * tokenizer does.
 *
 * @marks are for a text of two origins: marks[i] is 0 if byte i is trusted and 1 if it is foreign. Then a control token
 * is recognised only where all of its bytes are trusted. User-defined pieces match everywhere, except those that end an
 * answer or look like a marker ("<|...|>"), which need trusted bytes too. Where foreign text spells no such thing, the
 * ids are those of the text without marks. */
struct tokenizer_text {
    const void *bytes;
    const uint8_t *marks; /* or NULL: all bytes are trusted */
    size_t n;
    unsigned flags; /* enum tokenize_flag */
};

/* A text on its way to ids. It goes on in pieces, so that no text holds up its thread; how it is cut changes no id. Any
 * thread, one at a time. */
struct tokenizer;

/* @text is copied; the bytes and marks that it points to are not. 0 or -ENOMEM. */
int tokenizer_create(struct tokenizer **ret_tokenizer, const struct vocab *vocab, const struct tokenizer_text *text);
void tokenizer_destroy(struct tokenizer *tokenizer);
void tokenizer_destroyp(struct tokenizer **tokenizer);

/* Goes on for about *left steps, which take about 50 ns each and are taken off it, and appends the ids that it comes
 * to. TOKENIZE_MORE: call again; anything else is the last outcome: -ENOMEM, -E2BIG (the text exceeds the limits of the
 * pre-split), or another one of the enum. On anything but TOKENIZE_OK @ids may hold the beginning. */
int tokenizer_run(struct tokenizer *tokenizer, uint64_t *left, struct ids *ids, struct diag *diag);

/* Appends the ids of a whole text. Outcomes of tokenizer_run(), but for TOKENIZE_MORE. */
int vocab_tokenize(const struct vocab *vocab, const void *text, size_t n, unsigned flags, struct ids *ids,
                   struct diag *diag);

/* Like vocab_tokenize() with TOKENIZE_SPECIAL, for a text of two origins. */
int vocab_tokenize_marked(const struct vocab *vocab, const void *text, const uint8_t *marks, size_t n, struct ids *ids,
                          struct diag *diag);

/* How far detokenising is; zeroed at the beginning. */
struct detokenize_at {
    size_t i;       /* the next id */
    bool has_begun; /* the first piece with text is behind */
};

/*
 * Appends the bytes of the ids from @at to before @upto to @out (not necessarily valid UTF-8), without the prefix
 * blank; with @special also control tokens, as they are spelled. TOKENIZE_BAD_TEXT: an id is outside the vocabulary (in
 * @diag); TOKENIZE_TOO_MANY: @out is full; or -ENOMEM.
 */
struct buf;
int vocab_detokenize_some(const struct vocab *vocab, const uint32_t *ids, size_t upto, bool special,
                          struct detokenize_at *at, struct buf *out, struct diag *diag);

/* Works as vocab_detokenize_some() for all of the @n ids. */
int vocab_detokenize(const struct vocab *vocab, const uint32_t *ids, size_t n, bool special, struct buf *out,
                     struct diag *diag);

#endif
