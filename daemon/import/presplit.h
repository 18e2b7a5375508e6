/*
 * Presplit: GGUF's name of the way in which a tokenizer.json cuts a text into words; private to this module
 */
#ifndef SOTTO_IMPORT_PRESPLIT_H
#define SOTTO_IMPORT_PRESPLIT_H

#include "base/diag.h"
#include <jansson.h>

/* Returns the name for tokenizer.ggml.pre, or NULL with a sentence. A vocabulary is wrong with any other way of cutting
 * than that it was trained with. */
const char *presplit_name(const json_t *tokenizer, struct diag *diag);

/* True for byte-level BPE, false for SentencePiece's kind. */
bool presplit_is_bytes(const json_t *tokenizer);

#endif
