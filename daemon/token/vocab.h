/*
 * Vocab: the inside of a vocabulary; private to this module
 *
 * It is built in the steps of vocab_create.c, each of which may refuse, and is read-only afterwards. Texts lie in two
 * blocks (as the file spells them, and as an answer shows them), so that a vocabulary takes a dozen allocations instead
 * of hundreds of thousands.
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

/* Tokens that end an answer: the keys name up to three, the known texts a few more. */
#define VOCAB_ENDS_MAX 16

struct vocab {
    enum vocab_kind kind;
    uint32_t n;
    uint8_t *types;      /* [n] of enum token_type */
    char *texts;         /* all texts, as the file spells them */
    struct span *text;   /* [n] into texts */
    char *pieces;        /* all texts, decoded */
    struct span *piece;  /* [n] into pieces */
    uint32_t *orders;    /* SPM [n]: the order of merging by score, the best lowest */
    struct index index;  /* entries that merging may produce: by spelling (SPM), by decoded bytes (BPE) */
    size_t n_longest;    /* bytes of the longest entry in the index */
    struct pairs pairs;  /* BPE */
    struct split *split; /* BPE */
    struct special special;
    uint32_t byte_ids[256]; /* VOCAB_NO_ID: the byte has no token */
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
};

/* The steps of vocab_create() and the members that they fill. VOCAB_REFUSED with @diag, or -ENOMEM. */
int vocab_load_kind(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);    /* kind */
int vocab_load_entries(struct vocab *vocab, const struct gguf *gguf, struct diag *diag); /* n, types, texts */
int vocab_load_scores(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* orders */
int vocab_load_pieces(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* pieces, index, byte_ids */
int vocab_load_merges(struct vocab *vocab, const struct gguf *gguf, struct diag *diag);  /* split, pairs */
int vocab_load_marks(struct vocab *vocab, const struct gguf *gguf,
                     struct diag *diag); /* bos to n_ends, chat_template */
int vocab_load_special(struct vocab *vocab, const struct gguf *gguf, struct diag *diag); /* special, never */
int vocab_check_rows(struct vocab *vocab, const struct gguf *gguf,
                     struct diag *diag); /* none: compares with the tensors */

#endif
