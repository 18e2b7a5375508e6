/*
 * Vocabulary: a vocabulary under construction; private to this module
 */
#ifndef SOTTO_IMPORT_VOCABULARY_H
#define SOTTO_IMPORT_VOCABULARY_H

#include "base/map.h"
#include "import/draft.h"

#define VOCABULARY_NONE UINT32_MAX

struct vocabulary {
    struct import *import;
    struct diag *diag;
    const json_t *model;     /* of tokenizer.json */
    uint32_t n;              /* number of tokens: rows of the embedding */
    struct gguf_text *texts; /* [n] */
    int32_t *types;          /* [n], as GGUF numbers them */
    float *scores;           /* [n], SentencePiece's kind only */
    struct map by_text;      /* text -> id */
    char *pads;              /* texts of the rows that have no token */
    bool is_bytes;           /* byte-level BPE, "gpt2"; else "llama" */
};

/* Returns the id of the token with this text, or VOCABULARY_NONE. */
uint32_t vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t n);

/* vocabulary_ids.c: put the keys of ids that have a meaning, of tokens added around a text, and of templates.
 * IMPORT_REFUSED, or a fault. */
int vocabulary_put_ids(struct vocabulary *vocabulary);
int vocabulary_put_flags(struct vocabulary *vocabulary);
int vocabulary_put_templates(struct vocabulary *vocabulary);

#endif
