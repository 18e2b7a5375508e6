/*
 * Vocab: what the files of this room know of a vocabulary
 *
 * Built in the order of the steps in vocab.c, each of which may refuse; nothing changes afterwards. Texts lie in two
 * blocks (as the file spells them, and as an answer shows them), so a vocabulary is a dozen allocations, not
 * hundreds of thousands.
 */
#ifndef SOTTO_TOKEN_VOCAB_H
#define SOTTO_TOKEN_VOCAB_H

#include "token/index.h"
#include "token/pairs.h"
#include "token/special.h"
#include "token/split.h"
#include "token/token.h"

/* The largest published vocabularies have 262,145 entries. */
#define VOCAB_N_MAX (1u << 22)

enum vocab_kind {
    VOCAB_SPM, /* SentencePiece BPE: merges by score */
    VOCAB_BPE, /* byte-level BPE: merges by rank */
};

/* End tokens: the keys name three, the known texts a few more. */
#define VOCAB_ENDS_MAX 16

struct vocab {
    enum vocab_kind kind;
    uint32_t n;
    uint8_t *types;      /* [n] of enum token_type */
    char *texts;         /* all texts, as the file spells them */
    struct span *text;   /* [n] into texts */
    char *pieces;        /* all texts, decoded */
    struct span *piece;  /* [n] into pieces */
    uint32_t *orders;    /* SPM [n]: scores turned into numbers, the best lowest */
    struct index index;  /* what merging may become: by spelling (SPM), by decoded bytes (BPE) */
    size_t n_longest;    /* bytes of the longest entry in the index */
    struct pairs pairs;  /* BPE */
    struct split *split; /* BPE */
    struct special special;
    uint32_t byte_ids[256]; /* VOCAB_NO_ID: it has no token */
    bool breaks_at_blanks;  /* SPM: no entry has a blank behind another character, so no merge crosses there */

    uint32_t bos; /* or VOCAB_NO_ID, as the next two */
    uint32_t eos;
    uint32_t unknown;
    bool adds_bos;
    bool adds_eos;
    bool prefix_blank;
    uint32_t ends[VOCAB_ENDS_MAX];
    size_t n_ends;
    uint32_t *never; /* [n_never] */
    size_t n_never;
    char *chat_template; /* owned, or NULL */
    size_t n_chat_template;
    uint64_t n_bytes; /* held by all of this */
};

/* Zeroed memory that counts into n_bytes, or NULL. */
void *vocab_alloc(struct vocab *vocab, size_t n, size_t size);

/* The steps of vocab_create(). Each: VOCAB_REFUSED with @diag, or -ENOMEM. */
int vocab_load_kind(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);    /* kind */
int vocab_load_entries(struct vocab *vocab, const struct gguf *gguf, struct diag *diag); /* n, types, texts */
int vocab_load_scores(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* orders */
int vocab_load_pieces(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* pieces, index, byte_ids */
int vocab_load_merges(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* split, pairs */
int vocab_load_marks(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);   /* ids with a meaning */
int vocab_load_special(struct vocab *vocab, const struct gguf *gguf, struct diag *diag); /* special, never */
int vocab_check_rows(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);   /* against the tensors */

#endif
