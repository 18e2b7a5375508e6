/*
 * Words: tokenizer.json as GGUF has it
 *
 * Byte-level BPE ("gpt2") keeps its list and its merges. SentencePiece's BPE ("llama") has scores in GGUF where
 * tokenizer.json has merges: the score of a token is the negated rank of the merge that makes it, so that merging by
 * the best score is merging by the lowest rank.
 *
 * Rows of the embedding that no token has are padded with unused ones; added tokens beyond the embedding are left out,
 * since no model can see or say them.
 */
#include "import/words.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/presplit.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* As GGUF numbers them. */
enum word_type {
    WORD_NORMAL = 1,
    WORD_UNKNOWN = 2,
    WORD_CONTROL = 3,
    WORD_USER = 4,
    WORD_UNUSED = 5,
    WORD_BYTE = 6,
};

#define PAD_BYTES       16u        /* "[PAD4294967295]" and a zero */
#define SCORE_APART     (-1000.0f) /* of tokens that merging never makes, as other writers have it */
#define MERGE_BYTES_MAX 4096u      /* of both sides of a merge */

uint32_t words_find(const struct words *words, const char *text, size_t n)
{
    const union map_value *value = map_find_bytes(&words->by_text, text, n);

    return value ? (uint32_t)value->number : WORDS_NONE;
}

static int refuse(const struct words *words, const char *what)
{
    diag_set(words->diag, "tokenizer.json: %s", what);
    return IMPORT_REFUSED;
}

static int place(struct words *words, uint64_t id, const char *text, size_t n)
{
    int r;

    words->texts[id] = (struct gguf_text){ .bytes = text, .n = n };
    r = map_put_bytes(&words->by_text, text, n, (union map_value){ .number = id });
    return r < 0 ? err_up(r) : IMPORT_OK;
}

static bool is_byte_text(const char *text, size_t n)
{
    return n == 6 && memcmp(text, "<0x", 3) == 0 && text[5] == '>' && strchr("0123456789ABCDEF", text[3]) &&
           strchr("0123456789ABCDEF", text[4]);
}

static int place_vocab(struct words *words)
{
    json_t *vocab = json_object_get(words->model, "vocab");
    const char *text;
    json_t *value;
    uint64_t id;
    int r;

    if (!json_is_object(vocab) || json_object_size(vocab) == 0) {
        return refuse(words, "has no vocabulary in \"model\"");
    }
    json_object_foreach(vocab, text, value)
    {
        const size_t n = strlen(text);

        if (!json_count(value, &id) || id >= words->n) {
            diag_set(words->diag,
                     "tokenizer.json: token \"%.40s\" has the id %" JSON_INTEGER_FORMAT
                     ", but the embedding has %" PRIu32 " rows",
                     text, json_integer_value(value), words->n);
            return IMPORT_REFUSED;
        }
        if (words->types[id] != WORD_UNUSED) {
            diag_set(words->diag, "tokenizer.json: id %" PRIu64 " is that of two tokens", id);
            return IMPORT_REFUSED;
        }
        words->types[id] = !words->is_bytes && is_byte_text(text, n) ? WORD_BYTE : WORD_NORMAL;
        r = place(words, id, text, n);
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

static int place_added(struct words *words)
{
    const json_t *added = json_object_get(words->import->folder->tokenizer, "added_tokens");

    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const json_t *content = json_object_get(token, "content");
        uint64_t id;
        int r;

        if (!json_count(json_object_get(token, "id"), &id) || !json_is_string(content)) {
            return refuse(words, "an added token lacks its id or content");
        }
        if (id >= words->n) {
            continue;
        }
        words->types[id] = json_is_true(json_object_get(token, "special")) ? WORD_CONTROL : WORD_USER;
        r = place(words, id, json_string_value(content), json_string_length(content));
        if (r) {
            return r;
        }
    }
    return IMPORT_OK;
}

/* The rest of the embedding's rows. */
static int place_pads(struct words *words)
{
    words->pads = mem_alloc(MEM_WORDS, (size_t)words->n * PAD_BYTES);
    if (!words->pads) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < words->n; id++) {
        char *text = words->pads + (size_t)id * PAD_BYTES;

        if (words->types[id] == WORD_UNUSED) {
            words->texts[id] =
                (struct gguf_text){ .bytes = text, .n = (size_t)snprintf(text, PAD_BYTES, "[PAD%" PRIu32 "]", id) };
        }
    }
    return IMPORT_OK;
}

static void mark_unknown(struct words *words)
{
    const char *text = json_string_value(json_object_get(words->model, "unk_token"));
    const uint32_t id = text ? words_find(words, text, strlen(text)) : WORDS_NONE;

    if (id != WORDS_NONE && !words->is_bytes) {
        words->types[id] = WORD_UNKNOWN;
    }
}

/* ---- merges ---- */

/* The two sides of merge @i: "a b", or ["a", "b"] since a side may hold a blank. */
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

static int refuse_merge(const struct words *words, size_t i)
{
    diag_set(words->diag, "tokenizer.json: merge %zu is no pair of texts of at most %u bytes", i, MERGE_BYTES_MAX);
    return IMPORT_REFUSED;
}

static int score_merges(struct words *words, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    char text[MERGE_BYTES_MAX];
    struct gguf_text a;
    struct gguf_text b;

    words->scores = mem_alloc(MEM_WORDS, (size_t)words->n * sizeof(float));
    if (!words->scores) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < words->n; id++) {
        const bool is_plain = words->types[id] == WORD_NORMAL;

        words->scores[id] = is_plain ? -(float)(n + id) : words->types[id] == WORD_BYTE ? 0.0f : SCORE_APART;
    }
    for (size_t i = n; i-- > 0;) {
        uint32_t id;

        if (!merge_at(merges, i, &a, &b)) {
            return refuse_merge(words, i);
        }
        memcpy(text, a.bytes, a.n);
        memcpy(text + a.n, b.bytes, b.n);
        id = words_find(words, text, a.n + b.n);
        /* From the last to the first: the lowest rank stays. */
        if (id != WORDS_NONE && words->types[id] == WORD_NORMAL) {
            words->scores[id] = -(float)i;
        }
    }
    gguf_put_numbers(words->import->writer, "tokenizer.ggml.scores", GGUF_F32, words->scores, words->n);
    return IMPORT_OK;
}

/* Joined by a blank, which no side has: the alphabet of bytes writes it as another letter. */
static int list_merges(struct words *words, const json_t *merges)
{
    const size_t n = json_array_size(merges);
    cleanup(mem_freep) struct gguf_text *list = mem_calloc(MEM_WORDS, n, sizeof(*list));
    cleanup(mem_freep) char *block = NULL;
    struct gguf_text a;
    struct gguf_text b;
    size_t n_bytes = 0;

    for (size_t i = 0; i < n; i++) {
        if (!merge_at(merges, i, &a, &b) || memchr(a.bytes, ' ', a.n) || memchr(b.bytes, ' ', b.n)) {
            return refuse_merge(words, i);
        }
        n_bytes += a.n + b.n + 1;
    }
    block = mem_alloc(MEM_WORDS, n_bytes);
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
    gguf_put_texts(words->import->writer, "tokenizer.ggml.merges", list, n);
    return IMPORT_OK;
}

static int put_merges(struct words *words)
{
    const json_t *merges = json_object_get(words->model, "merges");

    if (!json_is_array(merges)) {
        return refuse(words, "has no merges in \"model\"");
    }
    return words->is_bytes ? list_merges(words, merges) : score_merges(words, merges);
}

/* ---- all of it ---- */

static int put_kind(struct words *words)
{
    struct gguf_writer *writer = words->import->writer;
    const char *kind = words->is_bytes ? "gpt2" : "llama";
    const char *pre = "default";

    if (words->is_bytes) {
        pre = presplit_name(words->import->folder->tokenizer, words->diag);
        if (!pre) {
            return IMPORT_REFUSED;
        }
    } else if (!json_is_true(json_object_get(words->model, "byte_fallback"))) {
        return refuse(words, "its BPE is neither over bytes nor SentencePiece's with bytes to fall back on");
    }
    gguf_put_text(writer, "tokenizer.ggml.model", kind, strlen(kind));
    gguf_put_text(writer, "tokenizer.ggml.pre", pre, strlen(pre));
    return IMPORT_OK;
}

static int put_list(struct words *words)
{
    struct gguf_writer *writer = words->import->writer;

    mark_unknown(words);
    gguf_put_texts(writer, "tokenizer.ggml.tokens", words->texts, words->n);
    gguf_put_numbers(writer, "tokenizer.ggml.token_type", GGUF_I32, words->types, words->n);
    return IMPORT_OK;
}

static int fill(struct words *words)
{
    static int (*const steps[])(struct words *) = {
        put_kind,   place_vocab,   place_added,     place_pads,          put_list,
        put_merges, words_put_ids, words_put_flags, words_put_templates,
    };
    int r = IMPORT_OK;

    words->texts = mem_calloc(MEM_WORDS, words->n, sizeof(*words->texts));
    words->types = mem_alloc(MEM_WORDS, (size_t)words->n * sizeof(*words->types));
    if (!words->texts || !words->types) {
        return err_new(-ENOMEM);
    }
    for (uint32_t id = 0; id < words->n; id++) {
        words->types[id] = WORD_UNUSED;
    }
    for (size_t i = 0; !r && i < COUNTOF(steps); i++) {
        r = steps[i](words);
    }
    return r;
}

int words_import(struct import *import, struct diag *diag)
{
    struct words words = { .import = import, .diag = diag, .n = import->facts.n_rows };
    const json_t *type;
    int r;

    words.model = json_object_get(import->folder->tokenizer, "model");
    type = json_object_get(words.model, "type");
    if (!json_says(words.model, "type", "BPE")) {
        diag_set(diag, "tokenizer.json: its model is of the type \"%.40s\"; only BPE is known",
                 json_is_string(type) ? json_string_value(type) : "");
        return IMPORT_REFUSED;
    }
    words.is_bytes = presplit_is_bytes(import->folder->tokenizer);
    map_init(&words.by_text, MEM_WORDS);
    r = fill(&words);
    map_finish(&words.by_text);
    mem_free(words.pads);
    mem_free(words.scores);
    mem_free(words.types);
    mem_free(words.texts);
    return r;
}
