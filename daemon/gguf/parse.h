/*
 * Parse: what the files of this room share while a head is read
 *
 * One cursor goes once through the head, front to back. A read past the bytes that are there has two meanings: the
 * file ends too early (refused), or only the caller's block does (GGUF_MORE). parse_short() tells which.
 */
#ifndef SOTTO_GGUF_PARSE_H
#define SOTTO_GGUF_PARSE_H

#include "base/cursor.h"
#include "base/map.h"
#include "gguf/gguf.h"

/* Published models have some 60 keys and, with every expert by itself, some 50,000 tensors. A directory entry of ours
 * is several times as large as the file's, so a stranger's file could else make us hold a multiple of its size. */
#define GGUF_KEYS_MAX    (1u << 12)
#define GGUF_TENSORS_MAX (1u << 16)

/* Of the format: a key has at most 2^16 - 1 bytes; a tensor's name fits 64 bytes with the zero that C readers add. */
#define GGUF_KEY_NAME_MAX    65535u
#define GGUF_TENSOR_NAME_MAX 63u

/* The format asks for a multiple of 8. Above a large page nothing is gained, and absurd values hide wraps. */
#define GGUF_ALIGN_DEFAULT 32u
#define GGUF_ALIGN_MAX     (1u << 16)

struct gguf {
    void *head; /* owned block that the bytes lie in, or NULL: they are the caller's */
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
    uint64_t n_keys;    /* as claimed by the header, checked against the file's size */
    uint64_t n_tensors; /* likewise */
    uint64_t wanted;    /* with GGUF_MORE */
    struct diag *diag;
};

/* The cursor has failed while reading @what (part @i of it): GGUF_MORE with parse->wanted, or GGUF_REFUSED. */
int parse_short(struct parse *parse, const char *what, uint64_t i);

/* Reads a length and so many bytes; the cursor says whether they were there. */
struct gguf_text parse_text(struct parse *parse);

/* Reads all keys; sets gguf->alignment. Outcomes of gguf_parse(), or -ENOMEM. */
int parse_keys(struct parse *parse);

/* Reads the directory, fixes data_at, and checks the tensors' places. Outcomes of gguf_parse(), or -ENOMEM. */
int parse_tensors(struct parse *parse);

/* Bytes of an element of @type, or 0: it has no fixed size (string, array). */
uint32_t gguf_type_bytes(enum gguf_type type);

#endif
