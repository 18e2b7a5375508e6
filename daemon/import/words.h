/*
 * Words: a vocabulary in the making; private to this room
 */
#ifndef SOTTO_IMPORT_WORDS_H
#define SOTTO_IMPORT_WORDS_H

#include "base/map.h"
#include "import/inside.h"

#define WORDS_NONE UINT32_MAX

struct words {
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

/* The id of the token spelled so, or WORDS_NONE. */
uint32_t words_find(const struct words *words, const char *text, size_t n);

/* words_ids.c: keys of ids with a meaning, of what stands around a text, of templates. IMPORT_REFUSED, or a fault. */
int words_put_ids(struct words *words);
int words_put_flags(struct words *words);
int words_put_templates(struct words *words);

#endif
