/*
 * The normal form: tags without blanks but between two words, strings unescaped between the marks below, joined
 * where two are added, and what stands between tags in marks of its own. Any other byte stands for itself.
 */
#include "text/shape.h"
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>

/* Marks of the normal form; a template that holds them as bytes is none of the known ones. */
#define QUOTE   "\1" /* begins a string */
#define UNQUOTE "\2" /* ends it */
#define TEXT    "\3" /* begins text between tags */
#define UNTEXT  "\4"

#define S(text)     QUOTE text UNQUOTE
#define FIELD(name) "[" S(name) "]"

/* The known templates are a few hundred bytes long. */
#define TEMPLATE_BYTES_MAX 4096

/* clang-format off */
static const char prelude[] =
    "{%if not add_generation_prompt is defined%}{%set add_generation_prompt=false%}{%endif%}";
static const char loop[] = "{%for message in messages%}";
static const char system_begin[] =
    "{%if loop" FIELD("first") "and messages[0]" FIELD("role") "!=" S("system") "%}"
    "{{" QUOTE "<|im_start|>system\n";
static const char system_end[] = "<|im_end|>\n" UNQUOTE "}}{%endif%}";
static const char turn[] =
    "{{" S("<|im_start|>") "+message" FIELD("role") "+" S("\n") "+message" FIELD("content") "+" S("<|im_end|>\n") "}}"
    "{%endfor%}"
    "{%if add_generation_prompt%}{{" S("<|im_start|>assistant\n") "}}{%endif%}";
/* clang-format on */

/* Reading a template, writing its normal form. */
struct reader {
    const char *at;
    const char *end;
    struct buf out;
    bool in_tag;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool begins_with(const struct reader *reader, const char *text)
{
    const size_t n = strlen(text);

    return (size_t)(reader->end - reader->at) >= n && memcmp(reader->at, text, n) == 0;
}

static bool out_ends_with(const struct reader *reader, const char *text)
{
    const size_t n = strlen(text);

    return reader->out.n >= n && memcmp(buf_data(&reader->out) + reader->out.n - n, text, n) == 0;
}

static int put(struct reader *reader, const char *text, size_t n)
{
    const int r = buf_append(&reader->out, text, n);

    return r == BUF_FULL ? SHAPE_UNKNOWN : r;
}

static int put_text(struct reader *reader, const char *text)
{
    return put(reader, text, strlen(text));
}

/* A string from its quote on. Added to a string before it, the two become one. */
static int read_string(struct reader *reader)
{
    const char quote = *reader->at++;
    int r = SHAPE_OK;

    if (out_ends_with(reader, UNQUOTE "+")) {
        reader->out.n -= 2;
    } else {
        r = put_text(reader, QUOTE);
    }
    while (!r && reader->at < reader->end && *reader->at != quote) {
        char c = *reader->at++;

        if (c == '\\') {
            const char *const from = "nt\\'\"";
            const char *found = reader->at < reader->end ? memchr(from, *reader->at, 5) : NULL;

            if (!found) {
                return SHAPE_UNKNOWN;
            }
            c = "\n\t\\'\""[found - from];
            reader->at++;
        }
        r = put(reader, &c, 1);
    }
    if (r || reader->at == reader->end) {
        return r ? r : SHAPE_UNKNOWN;
    }
    reader->at++;
    return put_text(reader, UNQUOTE);
}

/* A word, with a blank before it where another word stands. */
static int read_word(struct reader *reader)
{
    const char *begin = reader->at;
    const char last = reader->out.n > 0 ? (char)buf_data(&reader->out)[reader->out.n - 1] : '\0';
    int r = is_word(last) ? put_text(reader, " ") : SHAPE_OK;

    while (reader->at < reader->end && is_word(*reader->at)) {
        reader->at++;
    }
    return r ? r : put(reader, begin, (size_t)(reader->at - begin));
}

/* ".name", which is ['name']. */
static int read_field(struct reader *reader)
{
    const char *begin = ++reader->at;
    int r = put_text(reader, "[" QUOTE);

    while (reader->at < reader->end && is_word(*reader->at)) {
        reader->at++;
    }
    r = r ? r : put(reader, begin, (size_t)(reader->at - begin));
    return r ? r : put_text(reader, UNQUOTE "]");
}

static int read_tag_end(struct reader *reader)
{
    const bool strips = *reader->at == '-';
    const bool block = reader->at[strips] == '%';
    const int r = put(reader, block ? "%}" : "}}", 2);

    reader->at += strips + 2;
    reader->in_tag = false;
    if (strips) {
        while (reader->at < reader->end && is_blank(*reader->at)) {
            reader->at++;
        }
    } else if (block && reader->at < reader->end && *reader->at == '\n') {
        reader->at++; /* templates are rendered with the first newline behind a block taken off */
    }
    return r;
}

/* The next thing inside a tag. */
static int read_in_tag(struct reader *reader)
{
    const char c = *reader->at;

    if (begins_with(reader, "%}") || begins_with(reader, "}}") || begins_with(reader, "-%}") ||
        begins_with(reader, "-}}")) {
        return read_tag_end(reader);
    }
    if (is_blank(c)) {
        reader->at++;
        return SHAPE_OK;
    }
    if (c == '\'' || c == '"') {
        return read_string(reader);
    }
    if (is_word(c)) {
        return read_word(reader);
    }
    if (c == '.') {
        return read_field(reader);
    }
    reader->at++;
    return put(reader, &c, 1);
}

/* What stands between tags, up to the next one. */
static int read_between(struct reader *reader)
{
    const char *begin = reader->at;
    const char *end;
    int r = SHAPE_OK;

    while (reader->at < reader->end && !begins_with(reader, "{%") && !begins_with(reader, "{{")) {
        reader->at++;
    }
    end = reader->at;
    if (begins_with(reader, "{%-") || begins_with(reader, "{{-")) {
        while (end > begin && is_blank(end[-1])) {
            end--;
        }
    }
    if (end > begin) {
        r = put_text(reader, TEXT);
        r = r ? r : put(reader, begin, (size_t)(end - begin));
        r = r ? r : put_text(reader, UNTEXT);
    }
    if (!r && reader->at < reader->end) {
        r = put(reader, reader->at, 2);
        reader->at += begins_with(reader, "{%-") || begins_with(reader, "{{-") ? 3 : 2;
        reader->in_tag = true;
    }
    return r;
}

/* True and moved on if the normal form goes on with @text. */
static bool take(const char **at, const char *end, const char *text)
{
    const size_t n = strlen(text);

    if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0) {
        return false;
    }
    *at += n;
    return true;
}

/* Compares the normal form; *ret_system is the default system message in it, or has NULL bytes. */
static bool compare(const char *at, size_t n, struct gguf_text *ret_system)
{
    const char *end = at + n;
    struct gguf_text system = { .bytes = NULL };

    if (n == 0) {
        return false;
    }
    take(&at, end, prelude);
    if (!take(&at, end, loop)) {
        return false;
    }
    if (take(&at, end, system_begin)) {
        const char *system_at = at;

        while (at < end && *at != UNQUOTE[0] && *at != '<') {
            at++;
        }
        /* The message ends at the first "<", so no marker can hide in it. */
        system = (struct gguf_text){ .bytes = system_at, .n = (size_t)(at - system_at) };
        if (!take(&at, end, system_end)) {
            return false;
        }
    }
    *ret_system = system;
    return take(&at, end, turn) && at == end;
}

/* False if the template holds the marks of the normal form itself. */
static bool is_free_of_marks(struct gguf_text text)
{
    for (size_t i = 0; i < text.n; i++) {
        if ((uint8_t)text.bytes[i] <= (uint8_t)UNTEXT[0]) {
            return false;
        }
    }
    return true;
}

static void reader_finish(struct reader *reader)
{
    buf_finish(&reader->out);
}

int shape_read(struct gguf_text chat_template, char **ret_system, struct diag *diag)
{
    cleanup(reader_finish) struct reader reader = { .at = chat_template.bytes };
    struct gguf_text system;
    int r = is_free_of_marks(chat_template) ? SHAPE_OK : SHAPE_UNKNOWN;

    reader.end = chat_template.bytes + chat_template.n;
    buf_init(&reader.out, MEM_WORDS, TEMPLATE_BYTES_MAX);
    while (!r && reader.at < reader.end) {
        r = reader.in_tag ? read_in_tag(&reader) : read_between(&reader);
    }
    if (r < 0) {
        return err_up(r);
    }
    if (r || !compare((const char *)buf_data(&reader.out), reader.out.n, &system)) {
        diag_set(diag, "the model's chat template is none of the ChatML ones that can be rendered; send the "
                       "prompt as text");
        return SHAPE_UNKNOWN;
    }
    *ret_system = NULL;
    if (system.bytes) {
        *ret_system = mem_strndup(MEM_WORDS, system.bytes, system.n);
        if (!*ret_system) {
            return err_new(-ENOMEM);
        }
    }
    return SHAPE_OK;
}
