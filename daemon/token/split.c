/*
 * The patterns are those that the vocabularies were published with. Where a tokenizer cuts in stages (first the
 * digits, then the rest), each stage cuts the pieces of the one before it, both matches and gaps.
 *
 * `smollm` and `starcoder` are two stages written as one pattern: digits first, then GPT-2's pattern between them. In
 * front of a digit the text ends for the second stage, hence (?![^\s\p{N}]) in place of (?!\S). A test compares the one
 * pattern with the two stages.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "token/split.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <pcre2.h>
#include <string.h>

#define STAGES_MAX 6

#define ENGLISH_ENDS "'s|'t|'re|'ve|'m|'ll|'d"
#define BLANKS       "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define PATTERN_GPT2         ENGLISH_ENDS "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define PATTERN_DIGITS_FIRST ENGLISH_ENDS "| ?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s+(?![^\\s\\p{N}])|\\s+"

/* OpenAI's cl100k form: runs of digits of limited length, and a word includes one sign in front of it. */
#define PATTERN_CL100K(digits)                                                                                         \
    "(?i:" ENGLISH_ENDS ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" BLANKS
#define PATTERN_LLAMA3 PATTERN_CL100K("\\p{N}{1,3}")
#define PATTERN_QWEN2  PATTERN_CL100K("\\p{N}")

/* Qwen 2's pattern with combining marks counted as letters. */
#define PATTERN_QWEN35                                                                                                 \
    "(?i:" ENGLISH_ENDS ")|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"                                               \
    "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" BLANKS

/* OpenAI's o200k form: a word is upper-case letters followed by lower-case ones. */
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define PATTERN_O200K(ends, digits)                                                                                    \
    "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALL "+" ends "|[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "+" SMALL "*" ends         \
    "|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" BLANKS

#define CJK_DEEPSEEK "[\\x{4e00}-\\x{9fa5}\\x{0800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define PATTERN_DEEPSEEK3                                                                                              \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                \
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" BLANKS

enum split_trait {
    WHOLE_WORDS = 1, /* a word that is an entry is not merged */
    COMPOSED = 2,    /* the text is composed (form C) first */
};

struct split_row {
    const char *name;
    unsigned traits;                      /* of enum split_trait */
    const char *patterns[STAGES_MAX + 1]; /* ended by NULL */
};

/* clang-format off */
static const struct split_row rows[] = {
    { "gpt-2",            0, { PATTERN_GPT2 } },
    { "mpt",              0, { PATTERN_GPT2 } },
    { "olmo",             0, { PATTERN_GPT2 } },
    { "smollm",           0, { PATTERN_DIGITS_FIRST } },
    { "starcoder",        0, { PATTERN_DIGITS_FIRST } },
    { "refact",           0, { PATTERN_DIGITS_FIRST } },
    { "command-r",        0, { PATTERN_DIGITS_FIRST } },
    { "llama-bpe",        WHOLE_WORDS, { PATTERN_LLAMA3 } },
    { "llama3",           WHOLE_WORDS, { PATTERN_LLAMA3 } },
    { "llama-v3",         WHOLE_WORDS, { PATTERN_LLAMA3 } },
    { "smaug-bpe",        0, { PATTERN_LLAMA3 } },
    { "dbrx",             0, { PATTERN_LLAMA3 } },
    { "qwen2",            COMPOSED, { PATTERN_QWEN2 } },
    { "deepseek-r1-qwen", COMPOSED, { PATTERN_QWEN2 } },
    { "qwen35",           COMPOSED, { PATTERN_QWEN35 } },
    { "tekken",           WHOLE_WORDS, { PATTERN_O200K("", "\\p{N}") } },
    { "gpt-4o",           0, { PATTERN_O200K("(?i:" ENGLISH_ENDS ")?", "\\p{N}{1,3}") } },
    { "falcon",           0, { "[\\p{P}\\$\\+<=>\\^~\\|`]+", PATTERN_GPT2, "[0-9][0-9][0-9]" } },
    { "deepseek-coder",   0, { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_DEEPSEEK, "\\p{N}" } },
    { "deepseek-v3",      0, { "\\p{N}{1,3}", "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+",
                               PATTERN_DEEPSEEK3 } },
};
/* clang-format on */

struct split {
    const struct split_row *row;
    pcre2_general_context *memory; /* counts the memory of PCRE2 as ours */
    pcre2_code *codes[STAGES_MAX];
    uint32_t n_stages;
};

/* A piece that a stage cuts. */
struct level {
    const uint8_t *text;
    size_t n;
    size_t done;      /* what is before it went to the next stage */
    size_t match_end; /* above @done: the match that ends here goes next, its gap has gone */
};

struct split_cursor {
    const struct split *split;
    pcre2_match_data *match;
    struct level levels[STAGES_MAX]; /* of the stages, the first one cuts the text */
    uint32_t n_levels;
};

static void *pcre_alloc(size_t size, void *data)
{
    return mem_alloc(MEM_TEXT, size);
}

static void pcre_free(void *block, void *data)
{
    mem_free(block);
}

static const struct split_row *find_row(const char *name, size_t n_name)
{
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        if (strlen(rows[i].name) == n_name && memcmp(rows[i].name, name, n_name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Compiles one stage. The patterns are constants of this file, so only memory can fail. */
static pcre2_code *compile(const struct split *split, const char *pattern)
{
    pcre2_compile_context *context = pcre2_compile_context_create(split->memory);
    pcre2_code *code = NULL;
    PCRE2_SIZE at;
    int error;

    if (context) {
        code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &at, context);
    }
    pcre2_compile_context_free(context);
    if (code) {
        /* This fails where the system forbids memory that is writable and executable; matching is slower then. */
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    }
    return code;
}

static void split_destroyp(struct split **split)
{
    split_destroy(*split);
    *split = NULL;
}

int split_create(struct split **ret_split, const char *name, size_t n_name)
{
    cleanup(split_destroyp) struct split *split = NULL;
    const struct split_row *row = find_row(name, n_name);

    if (!row) {
        return SPLIT_UNKNOWN;
    }
    split = mem_calloc(MEM_TEXT, 1, sizeof(*split));
    if (!split) {
        return err_new(-ENOMEM);
    }
    split->row = row;
    split->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
    if (!split->memory) {
        return err_new(-ENOMEM);
    }
    for (const char *const *pattern = row->patterns; *pattern; pattern++) {
        split->codes[split->n_stages] = compile(split, *pattern);
        if (!split->codes[split->n_stages]) {
            return err_new(-ENOMEM);
        }
        split->n_stages++;
    }
    *ret_split = steal(&split);
    return SPLIT_OK;
}

void split_destroy(struct split *split)
{
    if (!split) {
        return;
    }
    for (uint32_t i = 0; i < split->n_stages; i++) {
        pcre2_code_free(split->codes[i]);
    }
    pcre2_general_context_free(split->memory);
    mem_free(split);
}

bool split_whole_words(const struct split *split)
{
    return (split->row->traits & WHOLE_WORDS) != 0;
}

bool split_composed(const struct split *split)
{
    return (split->row->traits & COMPOSED) != 0;
}

int split_cursor_create(struct split_cursor **ret_cursor, const struct split *split)
{
    cleanup(mem_freep) struct split_cursor *cursor = mem_calloc(MEM_TEXT, 1, sizeof(*cursor));

    if (!cursor) {
        return err_new(-ENOMEM);
    }
    cursor->split = split;
    cursor->match = pcre2_match_data_create(1, split->memory);
    if (!cursor->match) {
        return err_new(-ENOMEM);
    }
    *ret_cursor = steal(&cursor);
    return 0;
}

void split_cursor_destroy(struct split_cursor *cursor)
{
    if (!cursor) {
        return;
    }
    pcre2_match_data_free(cursor->match);
    mem_free(cursor);
}

enum find_outcome {
    FIND_OK,
    FIND_NONE,
};

/* Finds the first match of @code in @text from *at on; *at and *ret_end become its edges. */
static int find(pcre2_match_data *match, const pcre2_code *code, const uint8_t *text, size_t n, size_t *at,
                size_t *ret_end)
{
    /* The text has been checked as a whole; a check at each match would make the walk quadratic. */
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    const PCRE2_SIZE *edges = pcre2_get_ovector_pointer(match);
    int r = pcre2_match(code, text, n, *at, options, match, NULL);

    if (r == PCRE2_ERROR_JIT_STACKLIMIT) {
        r = pcre2_match(code, text, n, *at, options | PCRE2_NO_JIT, match, NULL);
    }
    if (r == PCRE2_ERROR_NOMATCH) {
        return FIND_NONE;
    }
    if (r < 0) {
        return err_new(r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG);
    }
    *at = edges[0];
    *ret_end = edges[1];
    return FIND_OK;
}

void split_begin(struct split_cursor *cursor, const uint8_t *text, size_t n)
{
    cursor->levels[0] = (struct level){ .text = text, .n = n };
    cursor->n_levels = 1;
}

/* *ret: the next piece that the last stage of the cursor cuts off: a match, the gap before one, or the rest. */
static int cut(struct split_cursor *cursor, struct level *ret)
{
    struct level *level = &cursor->levels[cursor->n_levels - 1];
    size_t begin = level->done;
    size_t end = level->match_end;
    int r;

    if (end <= begin) {
        r = find(cursor->match, cursor->split->codes[cursor->n_levels - 1], level->text, level->n, &begin, &end);
        if (r < 0) {
            return err_up(r);
        }
        if (r == FIND_NONE) {
            end = level->n;
        } else if (begin > level->done) {
            level->match_end = end;
            end = begin;
            begin = level->done;
        }
    }
    *ret = (struct level){ .text = level->text + begin, .n = end - begin };
    level->done = end;
    return 0;
}

int split_next(struct split_cursor *cursor, const uint8_t **ret_word, size_t *ret_n)
{
    while (cursor->n_levels > 0) {
        const struct level *level = &cursor->levels[cursor->n_levels - 1];
        struct level piece;
        int r;

        if (level->done == level->n) {
            cursor->n_levels--;
            continue;
        }
        r = cut(cursor, &piece);
        if (r) {
            return err_up(r);
        }
        if (cursor->n_levels == cursor->split->n_stages) {
            *ret_word = piece.text;
            *ret_n = piece.n;
            return SPLIT_OK;
        }
        cursor->levels[cursor->n_levels++] = piece;
    }
    return SPLIT_END;
}
