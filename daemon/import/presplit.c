/*
 * tokenizer.json holds the patterns themselves, GGUF only a name for them. Each step of the file is described by one
 * line ("split PATTERN", "digits", "bytes gpt-2"), and a row of the table is a list of such lines.
 */
#include "import/presplit.h"
#include "base/clean.h"

#define STEPS_MAX 8

#define SPLIT  "split "
#define DIGITS "digits one"
#define BYTES  "bytes"       /* only maps bytes to letters */
#define GPT2   "bytes gpt-2" /* cuts by GPT-2's pattern as well */

/* Further properties that a name implies. */
#define WHOLE_WORDS 1u /* a word that is a token by itself is not merged: "ignore_merges" */
#define COMPOSED    2u /* texts are brought to NFC first */

#define WORDS(contractions, letters, digits) SPLIT contractions "|[^\\r\\n\\p{L}\\p{N}]?" letters "|" digits
#define CONTRACTIONS                         "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define MARKS                                "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct presplit_row {
    const char *name;
    unsigned flags;
    const char *steps[STEPS_MAX]; /* up to a NULL */
} rows[] = {
    { "gpt-2", 0, { GPT2 } },
    { "smollm", 0, { DIGITS, GPT2 } },
    { "llama-bpe", WHOLE_WORDS, { WORDS(CONTRACTIONS, "\\p{L}+", "\\p{N}{1,3}") MARKS, BYTES } },
    { "dbrx", 0, { WORDS(CONTRACTIONS, "\\p{L}+", "\\p{N}{1,3}") MARKS, BYTES } },
    { "qwen2", COMPOSED, { WORDS(CONTRACTIONS, "\\p{L}+", "\\p{N}") MARKS, BYTES } },
    { "qwen35",
      COMPOSED,
      { SPLIT CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                           "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        BYTES } },
    { "tekken",
      WHOLE_WORDS,
      { SPLIT "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
              "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}"
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        BYTES } },
    { "gpt-4o",
      0,
      { SPLIT "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
              "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*"
              "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}"
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        BYTES } },
    { "deepseek-v3",
      0,
      { SPLIT "\\p{N}{1,3}", SPLIT "[一-龥぀-ゟ゠-ヿ]+",
        SPLIT "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
              "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
        BYTES } },
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* True if @line describes the @step of the file. */
static bool is_step(const json_t *step, const char *line)
{
    const char *type = text_of(step, "type");

    if (strncmp(line, SPLIT, strlen(SPLIT)) == 0) {
        const json_t *pattern = json_object_get(step, "pattern");

        return strcmp(type, "Split") == 0 && !json_is_true(json_object_get(step, "invert")) &&
               strcmp(text_of(step, "behavior"), "Isolated") == 0 &&
               strcmp(text_of(pattern, "Regex"), line + strlen(SPLIT)) == 0;
    }
    if (strcmp(line, DIGITS) == 0) {
        return strcmp(type, "Digits") == 0 && json_is_true(json_object_get(step, "individual_digits"));
    }
    /* A missing "use_regex" means true, as in older files. */
    return strcmp(type, "ByteLevel") == 0 && !json_is_true(json_object_get(step, "add_prefix_space")) &&
           json_is_false(json_object_get(step, "use_regex")) == (strcmp(line, BYTES) == 0);
}

/* Returns step @i of the pre-tokenizer, which may be a sequence, or NULL. */
static const json_t *step_at(const json_t *tokenizer, size_t i)
{
    const json_t *pre = json_object_get(tokenizer, "pre_tokenizer");
    const json_t *steps = json_object_get(pre, "pretokenizers");

    if (json_is_array(steps)) {
        return json_array_get(steps, i);
    }
    return i == 0 && json_is_object(pre) ? pre : NULL;
}

static unsigned flags_of(const json_t *tokenizer)
{
    const bool is_whole = json_is_true(json_object_get(json_object_get(tokenizer, "model"), "ignore_merges"));
    const bool is_nfc = strcmp(text_of(json_object_get(tokenizer, "normalizer"), "type"), "NFC") == 0;

    return (is_whole ? WHOLE_WORDS : 0) | (is_nfc ? COMPOSED : 0);
}

static bool is_row(const json_t *tokenizer, const struct presplit_row *row)
{
    size_t i = 0;

    if (flags_of(tokenizer) != row->flags) {
        return false;
    }
    while (row->steps[i]) {
        if (!is_step(step_at(tokenizer, i), row->steps[i])) {
            return false;
        }
        i++;
    }
    return !step_at(tokenizer, i);
}

const char *presplit_name(const json_t *tokenizer, struct diag *diag)
{
    const char *pattern;

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        if (is_row(tokenizer, &rows[i])) {
            return rows[i].name;
        }
    }
    pattern = text_of(json_object_get(step_at(tokenizer, 0), "pattern"), "Regex");
    diag_blame(diag, "pre_tokenizer",
               "tokenizer.json: its way of cutting text into words (%s%s%.40s%s%.120s) has no known name",
               flags_of(tokenizer) & COMPOSED ? "NFC, " : "", flags_of(tokenizer) & WHOLE_WORDS ? "whole words, " : "",
               text_of(step_at(tokenizer, 0), "type"), *pattern ? " " : "", pattern);
    return NULL;
}

bool presplit_is_bytes(const json_t *tokenizer)
{
    const json_t *step;

    for (size_t i = 0; (step = step_at(tokenizer, i)); i++) {
        if (strcmp(text_of(step, "type"), "ByteLevel") == 0) {
            return true;
        }
    }
    return strcmp(text_of(json_object_get(tokenizer, "decoder"), "type"), "ByteLevel") == 0;
}
