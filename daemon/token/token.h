/*
 * Token: the front door of the tokenizers
 *
 * A vocabulary is built once from a model file's keys, checked as a whole (token list, scores, types, merges,
 * special ids against each other and against the rows of the embedding), and read-only from then on: any
 * number of threads may use it. Everything that a call needs besides lies in a job of its own.
 *
 * Kinds: SentencePiece BPE ("llama") with byte fallback, and byte-level BPE ("gpt2") with the pre-split that the
 * file names. Time is linear in the text up to the logarithm of a word's length.
 */
#ifndef SOTTO_TOKEN_TOKEN_H
#define SOTTO_TOKEN_TOKEN_H

#include "gguf/gguf.h"
#include <stdatomic.h>

struct vocab;

enum vocab_outcome {
    VOCAB_OK,
    VOCAB_REFUSED, /* contradicts itself, or of a kind that is not known: @diag says which key and why */
};

/* Copies what it needs: @gguf may go afterwards. Blocks (hundreds of thousands of strings): call in a pool thread. */
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

/* The text of the vocabulary's entry as the file spells it. @id below vocab_n(). */
struct gguf_text vocab_text(const struct vocab *vocab, uint32_t id);

/*
 * The bytes that @id adds to an answer (decoded: "Ġ" and "▁" are blanks, "<0x0A>" is a newline); control, unknown
 * and unused tokens add none. They may be part of a character. Lives as long as the vocabulary.
 */
struct gguf_text vocab_piece(const struct vocab *vocab, uint32_t id);

#define VOCAB_NO_ID UINT32_MAX
uint32_t vocab_bos(const struct vocab *vocab); /* or VOCAB_NO_ID */
bool vocab_adds_bos(const struct vocab *vocab);
uint32_t vocab_eos(const struct vocab *vocab); /* the one that the file names, or VOCAB_NO_ID */

/* True for each token that ends an answer (eos, and end-of-turn as the file's keys or well-known texts have it). */
bool vocab_ends(const struct vocab *vocab, uint32_t id);

/* Ids that must never be sampled (TOKEN_UNUSED), for Sampler.never. */
const uint32_t *vocab_never(const struct vocab *vocab, size_t *ret_n);

/* The id of the control or user token spelled exactly so, or VOCAB_NO_ID. */
uint32_t vocab_find_special(const struct vocab *vocab, const char *text, size_t n);

/* SentencePiece vocabularies put a blank before the text: the first piece of an answer that follows BOS alone
 * loses it again. True if this one does (used by detokenising of whole texts only, never by a stream). */
bool vocab_has_prefix_blank(const struct vocab *vocab);

/* The model's chat template as the file has it; n 0: none. */
struct gguf_text vocab_chat_template(const struct vocab *vocab);

uint64_t vocab_bytes(const struct vocab *vocab); /* memory held, for Status */

/* Ids that grow; owned by the job. Init with { 0 }, end with ids_finish(). */
struct ids {
    uint32_t *ids;
    size_t n;
    size_t cap;
    size_t max; /* 0: no ceiling; else TOKENIZE_TOO_MANY beyond */
};

void ids_finish(struct ids *ids);
int ids_push(struct ids *ids, uint32_t id);                      /* 0, TOKENIZE_TOO_MANY or -ENOMEM */
int ids_append(struct ids *ids, const uint32_t *more, size_t n); /* likewise; nothing is changed then */

enum tokenize_flag {
    TOKENIZE_BOS = 1,     /* BOS first, if the vocabulary adds one */
    TOKENIZE_SPECIAL = 2, /* control tokens spelled in the text are recognised */
    TOKENIZE_MIDDLE = 4,  /* the text goes on from an earlier part: no prefix blank */
    TOKENIZE_EOS = 8,     /* EOS last, if the vocabulary adds one */
};

enum tokenize_outcome {
    TOKENIZE_OK,
    TOKENIZE_BAD_TEXT,  /* not valid UTF-8: @diag has the byte's offset */
    TOKENIZE_TOO_MANY,  /* ids->max, or (detokenising) the ceiling of the buffer, or a text above 1 GiB */
    TOKENIZE_CANCELLED, /* *cancel became true */
};

/* Appends the ids of @text. User-defined pieces always match; control tokens only with TOKENIZE_SPECIAL; at one place
 * the longest. Bytes that a byte-level vocabulary has no token for are left out, as its own tokenizer does. @cancel
 * may be NULL; it is looked at every few thousand bytes. On anything but TOKENIZE_OK @ids may hold a beginning.
 * -ENOMEM, or -E2BIG: the text drives the pre-split past its limits. Any thread. */
int vocab_tokenize(const struct vocab *vocab, const void *text, size_t n, unsigned flags, const atomic_bool *cancel,
                   struct ids *ids, struct diag *diag);

/*
 * The same for a text of two sides, where marks[i] is 0 if byte i is ours and 1 if it is a stranger's: control tokens
 * are recognised where all of their bytes are ours, and nowhere else. User-defined pieces match everywhere, but for
 * those that end an answer or look like a marker ("<|...|>"). Where no stranger spells such a thing the ids are those
 * of the whole text. Never puts BOS.
 */
int vocab_tokenize_marked(const struct vocab *vocab, const void *text, const uint8_t *marks, size_t n,
                          const atomic_bool *cancel, struct ids *ids, struct diag *diag);

/*
 * Appends the text of @ids to @out as bytes (not yet mended UTF-8), the prefix blank taken off again; @special
 * writes control tokens by their spelling, too. TOKENIZE_BAD_TEXT: an id outside the vocabulary (in @diag).
 */
struct buf;
int vocab_detokenize(const struct vocab *vocab, const uint32_t *ids, size_t n, bool special, struct buf *out,
                     struct diag *diag);

#endif
