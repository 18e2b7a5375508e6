/*
 * Parse: what the files of this module share while a head is read; private to it
 *
 * One cursor goes through the head once, from front to back. A read past the available bytes has two meanings: the file
 * ends too early (refused), or only the caller's block does (GGUF_MORE). parse_short() tells which.
 */
#ifndef SOTTO_GGUF_PARSE_H
#define SOTTO_GGUF_PARSE_H

#include "base/cursor.h"
#include "base/map.h"
#include "gguf/gguf.h"

/* Published models have about 60 keys and, with a tensor for each expert, about 50,000 tensors. A struct
 * gguf_tensor is several times as large as its entry in the file; without a ceiling a file could make us hold a
 * multiple of its size. */
#define GGUF_KEYS_MAX    (1u << 12)
#define GGUF_TENSORS_MAX (1u << 16)

/* Limits of the format: a key has at most 2^16 - 1 bytes; the name of a tensor fits 64 bytes with a zero behind it. */
#define GGUF_KEY_NAME_MAX    65535u
#define GGUF_TENSOR_NAME_MAX 63u

/* The format demands a multiple of 8. More than a large page gains nothing, and absurd values hide wraps. */
#define GGUF_ALIGN_DEFAULT 32u
#define GGUF_ALIGN_MAX     (1u << 16)

struct gguf {
    void *head; /* owned block that holds the bytes, or NULL: the caller owns them */
    uint64_t file_bytes;
    uint64_t data_at; /* where the tensors' data begins */
    uint64_t alignment;
    uint32_t version;
    struct gguf_key *keys; /* owned */
    size_t n_keys;
    struct gguf_tensor *tensors; /* owned */
    size_t n_tensors;
    struct map key_names;    /* to index in keys */
    struct map tensor_names; /* to index in tensors */
};

struct parse {
    struct gguf *gguf; /* under construction */
    struct cursor cursor;
    uint64_t n_keys;    /* claimed by the header, checked against the size of the file */
    uint64_t n_tensors; /* as n_keys */
    uint64_t wanted;    /* with GGUF_MORE */
    struct diag *diag;
};

/* Returns why the cursor failed in @what number @i: GGUF_MORE with parse->wanted, or GGUF_REFUSED. */
int parse_short(struct parse *parse, const char *what, uint64_t i);

/* Reads a length and that many bytes; parse->cursor.failed is set if they are not there. */
struct gguf_text parse_text(struct parse *parse);

/* Reads all keys; sets gguf->alignment. Outcomes of gguf_parse(), or -ENOMEM. */
int parse_keys(struct parse *parse);

/* Reads the directory, sets data_at, and checks the ranges of the tensors. Outcomes of gguf_parse(), or -ENOMEM. */
int parse_tensors(struct parse *parse);

/* Returns the bytes of an element of @type, or 0 for those without a fixed size (string, array). */
uint32_t gguf_type_bytes(enum gguf_type type);

#endif
