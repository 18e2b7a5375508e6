/*
 * tokenizer.json as keys of GGUF
 *
 * Byte-level BPE ("gpt2") keeps its list and its merges. SentencePiece's BPE ("llama") has scores in GGUF in place of
 * the merges of tokenizer.json: the score of a token is the negated rank of the merge that makes it, so that merging by
 * the best score is merging by the lowest rank.
 *
 * Rows of the embedding without a token get unused tokens as padding; added tokens beyond the embedding are left out,
 * since the model cannot read or produce them.
 */
#include "import/vocabulary.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/presplit.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Types of tokens, numbered as in GGUF. */
enum word_type {
    WORD_NORMAL = 1,
    WORD_UNKNOWN = 2,
    WORD_CONTROL = 3,
    WORD_USER = 4,
    WORD_UNUSED = 5,
    WORD_BYTE = 6,
};

#define PAD_BYTES       16u        /* "[PAD4294967295]" and a zero */
#define SCORE_APART     (-1000.0f) /* of tokens that merging never makes, as other writers set it */
#define MERGE_BYTES_MAX 4096u      /* of both sides of a merge */

static int refuse(const struct vocabulary *vocabulary, const char *what)
{
    diag_set(vocabulary->diag, "tokenizer.json: %s", what);
    return IMPORT_REFUSED;
}

static int place(struct vocabulary *vocabulary, uint64_t id, const char *text, size_t n)
{
    int r;

    vocabulary->texts[id] = (struct gguf_text){ .bytes = text, .n = n };
    r = map_put_bytes(&vocabulary->by_text, text, n, (union map_value){ .number = id });
    return r < 0 ? err_up(r) : IMPORT_OK;
}

static bool is_byte_text(const char *text, size_t n)
{
    return n == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' && strchr("0123456789ABCDEF", text[3]) &&
           strchr("0123456789ABCDEF", text[4]);
}

static int place_vocab(struct vocabulary *vocabulary)
{
    json_t *vocab = json_object_get(vocabulary->model, "vocab");
    const char *text;
    json_t *value;
    uint64_t id;
    int r;

    if (!json_is_object(vocab) || json_object_size(vocab) == 0) {
        return refuse(vocabulary, "has no vocabulary in \"model\"");
    }
    json_object_foreach(vocab, text, value)
    {
        const size_t n = strlen(text);

        if (!json_count(value, &id) || id >= vocabulary->n) {
            diag_set(vocabulary->diag,
                     "tokenizer.json: token \"%.40s\" has the id %" JSON_INTEGER_FORMAT
                     ", but the embedding has %" PRIu32 " rows",
                     text, json_integer_value(value), vocabulary->n);
            return IMPORT_REFUSED;
        }
        if (vocabulary->types[id] != WORD_UNUSED) {
            diag_set(vocabulary->diag, "tokenizer.json: id %" PRIu64 " belongs to two tokens", id);
            return IMPORT_REFUSED;
        }
        vocabulary->types[id] = !vocabulary->is_bytes && is_byte_text(text, n) ? WORD_BYTE : WORD_NORMAL;
        r = place(vocabulary, id, text, n);
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

static int place_added(struct vocabulary *vocabulary)
{
    const json_t *added = json_object_get(vocabulary->import->folder->tokenizer, "added_tokens");

    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const json_t *content = json_object_get(token, "content");
        uint64_t id;
        int r;

        if (!json_count(json_object_get(token, "id"), &id) || !json_is_string(content)) {
            return refuse(vocabulary, "an added token lacks its id or content");
        }
        if (id >= vocabulary->n) {
            continue;
        }
        vocabulary->types[id] = json_is_true(json_object_get(token, "special")) ? WORD_CONTROL : WORD_USER;
        r = place(vocabulary, id, json_string_value(content), json_string_length(content));
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

/* Gives the other rows of the embedding a text. */
static int place_pads(struct vocabulary *vocabulary)
{
    vocabulary->pads = mem_alloc(MEM_TEXT, (size_t)vocabulary->n * PAD_BYTES);
    if (!vocabulary->pads) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocabulary->n; id++) {
        char *text = vocabulary->pads + (size_t)id * PAD_BYTES;

        if (vocabulary->types[id] == WORD_UNUSED) {
            vocabulary->texts[id] =
                (struct gguf_text){ .bytes = text, .n = (size_t)snprintf(text, PAD_BYTES, "[PAD%" PRIu32 "]", id) };
        }
    }
    return IMPORT_OK;
}

static void mark_unknown(struct vocabulary *vocabulary)
{
    const char *text = json_string_value(json_object_get(vocabulary->model, "unk_token"));
    const uint32_t id = text ? vocabulary_find(vocabulary, text, strlen(text)) : VOCABULARY_NONE;

    if (id != VOCABULARY_NONE && !vocabulary->is_bytes) {
        vocabulary->types[id] = WORD_UNKNOWN;
    }
}

/* ---- merges ---- */

/* Reads the two sides of merge @i: "a b", or ["a", "b"] since a side may contain a blank. */
static bool merge_at(const json_t *merges, size_t i, struct gguf_text *ret_a, struct gguf_text *ret_b)
{
    const json_t *merge = json_array_get(merges, i);
    const json_t *a = json_array_get(merge, 0);
    const json_t *b = json_array_get(merge, 1);
    const char *blank;

    if (json_is_string(a) && json_is_string(b) && json_array_size(merge) == 2) {
        *ret_a = (struct gguf_text){ json_string_value(a), json_string_length(a) };
        *ret_b = (struct gguf_text){ json_string_value(b), json_string_length(b) };
        return ret_a->n + ret_b->n < MERGE_BYTES_MAX;
    }
    blank = json_is_string(merge) ? strchr(json_string_value(merge) + (json_string_length(merge) > 0), ' ') : NULL;
    if (!blank) {
        return false;
    }
    *ret_a = (struct gguf_text){ json_string_value(merge), (size_t)(blank - json_string_value(merge)) };
    *ret_b = (struct gguf_text){ blank + 1, strlen(blank + 1) };
    return ret_a->n + ret_b->n < MERGE_BYTES_MAX;
}

static int refuse_merge(const struct vocabulary *vocabulary, size_t i)
{
    diag_set(vocabulary->diag, "tokenizer.json: merge %zu is not a pair of texts of at most %u bytes", i,
             MERGE_BYTES_MAX);
    return IMPORT_REFUSED;
}

static int score_merges(struct vocabulary *vocabulary, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    char text[MERGE_BYTES_MAX];
    struct gguf_text a;
    struct gguf_text b;

    vocabulary->scores = mem_alloc(MEM_TEXT, (size_t)vocabulary->n * sizeof(float));
    if (!vocabulary->scores) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocabulary->n; id++) {
        const bool is_plain = vocabulary->types[id] == WORD_NORMAL;

        vocabulary->scores[id] = is_plain ? -(float)(n + id) : vocabulary->types[id] == WORD_BYTE ? 0.0f : SCORE_APART;
    }
    for (size_t i = n; i-- > 0;) {
        uint32_t id;

        if (!merge_at(merges, i, &a, &b)) {
            return refuse_merge(vocabulary, i);
        }
        memcpy(text, a.bytes, a.n);
        memcpy(text + a.n, b.bytes, b.n);
        id = vocabulary_find(vocabulary, text, a.n + b.n);
        /* Going from the last merge to the first, the lowest rank remains. */
        if (id != VOCABULARY_NONE && vocabulary->types[id] == WORD_NORMAL) {
            vocabulary->scores[id] = -(float)i;
        }
    }
    gguf_put_numbers(vocabulary->import->writer, "tokenizer.ggml.scores", GGUF_F32, vocabulary->scores, vocabulary->n);
    return IMPORT_OK;
}

/* Puts the merges with their sides joined by a blank, which no side contains: byte-level spelling has another letter
 * for it. */
static int list_merges(struct vocabulary *vocabulary, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    cleanup(mem_freep) struct gguf_text *list = mem_calloc(MEM_TEXT, n, sizeof(*list));
    cleanup(mem_freep) char *block = NULL;
    struct gguf_text a;
    struct gguf_text b;
    size_t n_bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!merge_at(merges, i, &a, &b) || memchr(a.bytes, ' ', a.n) || memchr(b.bytes, ' ', b.n)) {
            return refuse_merge(vocabulary, i);
        }
        n_bytes += a.n + b.n + 1;
    }
    block = mem_alloc(MEM_TEXT, n_bytes);
    if (!list || !block) {
        return err_new(-ENOMEM);
    }
    n_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        char *at = block + n_bytes;

        merge_at(merges, i, &a, &b);
        memcpy(at, a.bytes, a.n);
        at[a.n] = ' ';
        memcpy(at + a.n + 1, b.bytes, b.n);
        list[i] = (struct gguf_text){ .bytes = at, .n = a.n + b.n + 1 };
        n_bytes += list[i].n;
    }
    gguf_put_texts(vocabulary->import->writer, "tokenizer.ggml.merges", list, n);
    return IMPORT_OK;
}

static int put_merges(struct vocabulary *vocabulary)
{
    const json_t *merges = json_object_get(vocabulary->model, "merges");

    if (!json_is_array(merges)) {
        return refuse(vocabulary, "has no merges in \"model\"");
    }
    return vocabulary->is_bytes ? list_merges(vocabulary, merges) : score_merges(vocabulary, merges);
}

/* ---- all of it ---- */

static int put_kind(struct vocabulary *vocabulary)
{
    struct gguf_writer *writer = vocabulary->import->writer;
    const char *kind = vocabulary->is_bytes ? "gpt2" : "llama";
    const char *pre = "default";

    if (vocabulary->is_bytes) {
        pre = presplit_name(vocabulary->import->folder->tokenizer, vocabulary->diag);
        if (!pre) {
            return IMPORT_REFUSED;
        }
    } else if (!json_is_true(json_object_get(vocabulary->model, "byte_fallback"))) {
        return refuse(vocabulary, "its BPE is neither over bytes nor SentencePiece's with byte fallback");
    }
    gguf_put_text(writer, "tokenizer.ggml.model", kind, strlen(kind));
    gguf_put_text(writer, "tokenizer.ggml.pre", pre, strlen(pre));
    return IMPORT_OK;
}

static int put_list(struct vocabulary *vocabulary)
{
    struct gguf_writer *writer = vocabulary->import->writer;

    mark_unknown(vocabulary);
    gguf_put_texts(writer, "tokenizer.ggml.tokens", vocabulary->texts, vocabulary->n);
    gguf_put_numbers(writer, "tokenizer.ggml.token_type", GGUF_I32, vocabulary->types, vocabulary->n);
    return IMPORT_OK;
}

static int fill(struct vocabulary *vocabulary)
{
    static int (*const steps[])(struct vocabulary *) = {
        put_kind,
        place_vocab,
        place_added,
        place_pads,
        put_list,
        put_merges,
        vocabulary_put_ids,
        vocabulary_put_flags,
        vocabulary_put_templates,
    };
    int r = IMPORT_OK;

    vocabulary->texts = mem_calloc(MEM_TEXT, vocabulary->n, sizeof(*vocabulary->texts));
    vocabulary->types = mem_alloc(MEM_TEXT, (size_t)vocabulary->n * sizeof(*vocabulary->types));
    if (!vocabulary->texts || !vocabulary->types) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < vocabulary->n; id++) {
        vocabulary->types[id] = WORD_UNUSED;
    }
    for (size_t i = 0; !r && i < COUNTOF(steps); i++) {
        r = steps[i](vocabulary);
    }
    return r;
}

int vocabulary_import(struct import *import, struct diag *diag)
{
    struct vocabulary vocabulary = { .import = import, .diag = diag, .n = import->facts.n_rows };
    const json_t *type;
    int r;

    vocabulary.model = json_object_get(import->folder->tokenizer, "model");
    type = json_object_get(vocabulary.model, "type");
    if (!json_says(vocabulary.model, "type", "BPE")) {
        diag_set(diag, "tokenizer.json: its model is of type \"%.40s\", but only BPE is supported",
                 json_is_string(type) ? json_string_value(type) : "");
        return IMPORT_REFUSED;
    }
    vocabulary.is_bytes = presplit_is_bytes(import->folder->tokenizer);
    map_init(&vocabulary.by_text, MEM_TEXT);
    r = fill(&vocabulary);
    map_finish(&vocabulary.by_text);
    mem_free(vocabulary.pads);
    mem_free(vocabulary.scores);
    mem_free(vocabulary.types);
    mem_free(vocabulary.texts);
    return r;
}
