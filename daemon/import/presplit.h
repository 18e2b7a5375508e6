/*
 * Presplit: which of GGUF's named ways of cutting a text into words a tokenizer.json describes; private to this room
 */
#ifndef SOTTO_IMPORT_PRESPLIT_H
#define SOTTO_IMPORT_PRESPLIT_H

#include "base/diag.h"
#include <jansson.h>

/* The name for tokenizer.ggml.pre, or NULL with a sentence: a vocabulary cut otherwise than it was trained is wrong. */
const char *presplit_name(const json_t *tokenizer, struct diag *diag);

/* True if the words are cut and written by bytes (byte-level BPE), false for SentencePiece's kind. */
bool presplit_is_bytes(const json_t *tokenizer);

#endif
