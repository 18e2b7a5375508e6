/*
 * Words: a vocabulary in the making; private to this room
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
    uint32_t n;              /* rows of the embedding: so many tokens there are */
    struct gguf_text *texts; /* [n] */
    int32_t *types;          /* [n], as GGUF numbers them */
    float *scores;           /* [n], SentencePiece's kind only */
    struct map by_text;      /* text -> id */
    char *pads;              /* texts of the rows that have no token */
    bool is_bytes;           /* byte-level BPE, "gpt2"; else "llama" */
};

/* The id of the token spelled so, or VOCABULARY_NONE. */
uint32_t vocabulary_find(const struct vocabulary *vocabulary, const char *text, size_t n);

/* vocabulary_ids.c: keys of ids with a meaning, of what stands around a text, of templates. IMPORT_REFUSED, or a fault. */
int vocabulary_put_ids(struct vocabulary *vocabulary);
int vocabulary_put_flags(struct vocabulary *vocabulary);
int vocabulary_put_templates(struct vocabulary *vocabulary);

#endif
