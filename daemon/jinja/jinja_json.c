#include "jinja/jinja_json.h"
#include "base/utf8.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct jinja_run *run;
    const char *bytes;
    size_t n;
    size_t at;
    enum jinja_mark mark;
};

static int read_value(struct reader *reader, struct jinja_value *ret);

static int refuse(struct reader *reader, const char *what)
{
    return jinja_fail(reader->run, "JSON", "%s at byte %zu", what, reader->at);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->n && reader->bytes[reader->at] && strchr(" \t\r\n", reader->bytes[reader->at])) {
        reader->at++;
    }
}

/* Returns the next byte behind blanks, or 0. */
static char peek(struct reader *reader)
{
    skip_blanks(reader);
    return reader->at < reader->n ? reader->bytes[reader->at] : 0;
}

static bool take(struct reader *reader, char c)
{
    const bool is_it = peek(reader) == c;

    reader->at += is_it;
    return is_it;
}

/* Reads four hexadecimal digits. False: other characters stand there. */
static bool read_hex(struct reader *reader, uint32_t *ret)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++, reader->at++) {
        const char c = reader->at < reader->n ? reader->bytes[reader->at] : 0;
        const char low = (char)(c | 0x20);

        if (c >= '0' && c <= '9') {
            unit = unit << 4 | (uint32_t)(c - '0');
        } else if (low >= 'a' && low <= 'f') {
            unit = unit << 4 | (uint32_t)(low - 'a' + 10);
        } else {
            return false;
        }
    }
    *ret = unit;
    return true;
}

/* Reads the unit behind "\u", or the two units of a surrogate pair. False: they are no character. */
static bool read_point(struct reader *reader, uint32_t *ret)
{
    uint32_t low;

    if (!read_hex(reader, ret) || (*ret >= 0xdc00 && *ret < 0xe000)) {
        return false;
    }
    if (*ret < 0xd800 || *ret >= 0xe000) {
        return true;
    }
    if (reader->n - reader->at < 2 || memcmp(reader->bytes + reader->at, "\\u", 2) != 0) {
        return false;
    }
    reader->at += 2;
    if (!read_hex(reader, &low) || low < 0xdc00 || low >= 0xe000) {
        return false;
    }
    *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* Writes the meaning of the escape behind a backslash to @out and returns its bytes, or 0 for an unknown escape. */
static size_t read_escape(struct reader *reader, char *out)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    const char c = reader->at < reader->n ? reader->bytes[reader->at] : 0;
    const char *place = c ? strchr(letters, c) : NULL;
    uint32_t point;

    reader->at++;
    if (place) {
        out[0] = meanings[place - letters];
        return 1;
    }
    return c == 'u' && read_point(reader, &point) ? utf8_write(point, (uint8_t *)out) : 0;
}

/* Reads a string behind its opening quote. No escape is shorter than its meaning, so the source has room enough. */
static int read_string(struct reader *reader, struct jinja_value *ret)
{
    struct jinja_string *string = jinja_run_alloc(reader->run, sizeof(*string));
    size_t end = reader->at;
    size_t n = 0;
    char *out;

    while (end < reader->n && reader->bytes[end] != '"') {
        end += reader->bytes[end] == '\\' ? 2 : 1;
    }
    if (end >= reader->n) {
        return refuse(reader, "a string is not terminated");
    }
    out = jinja_run_alloc(reader->run, end - reader->at);
    if (!string || !out) {
        return jinja_fail_full(reader->run);
    }
    while (reader->at < end) {
        const char c = reader->bytes[reader->at++];
        size_t n_out;

        if ((uint8_t)c < 0x20) {
            return refuse(reader, "a string contains a control character");
        }
        if (c != '\\') {
            out[n++] = c;
            continue;
        }
        n_out = read_escape(reader, out + n);
        if (n_out == 0) {
            return refuse(reader, "a string has an unknown escape");
        }
        n += n_out;
    }
    reader->at = end + 1;
    *string = (struct jinja_string){ .bytes = out, .n = n, .mark = reader->mark };
    *ret = jinja_str(string);
    return jinja_run_count(reader->run, n / 64);
}

/* Returns the bytes of the number at @at, or 0. JSON is stricter than strtod(): no leading zeros, and digits on both
 * sides of a point. */
static size_t number_bytes(const char *at, size_t n, bool *ret_is_real)
{
    size_t i = n > 0 && at[0] == '-';
    const size_t first = i;

    while (i < n && at[i] >= '0' && at[i] <= '9') {
        i++;
    }
    if (i == first || (at[first] == '0' && i > first + 1)) {
        return 0;
    }
    *ret_is_real = false;
    if (i + 1 < n && at[i] == '.' && at[i + 1] >= '0' && at[i + 1] <= '9') {
        *ret_is_real = true;
        for (i++; i < n && at[i] >= '0' && at[i] <= '9'; i++) {
        }
    }
    if (i < n && (at[i] | 0x20) == 'e') {
        size_t k = i + 1;

        k += k < n && (at[k] == '+' || at[k] == '-');
        if (k < n && at[k] >= '0' && at[k] <= '9') {
            *ret_is_real = true;
            for (i = k; i < n && at[i] >= '0' && at[i] <= '9'; i++) {
            }
        }
    }
    return i;
}

static int read_number(struct reader *reader, struct jinja_value *ret)
{
    bool is_real = false;
    const size_t n = number_bytes(reader->bytes + reader->at, reader->n - reader->at, &is_real);
    char *digits;

    if (n == 0) {
        return refuse(reader, "a value is expected");
    }
    digits = jinja_run_alloc(reader->run, n + 1);
    if (!digits) {
        return jinja_fail_full(reader->run);
    }
    memcpy(digits, reader->bytes + reader->at, n);
    digits[n] = 0;
    if (is_real) {
        *ret = jinja_float(strtod(digits, NULL));
    } else {
        errno = 0;
        *ret = jinja_int(strtoll(digits, NULL, 10));
        if (errno == ERANGE) {
            return refuse(reader, "an integer does not fit into 64 bits");
        }
    }
    ret->foreign = reader->mark == JINJA_FOREIGN;
    reader->at += n;
    return JINJA_OK;
}

static int read_word(struct reader *reader, struct jinja_value *ret)
{
    static const struct {
        const char *word;
        struct jinja_value value;
    } words[] = {
        { "true", { .kind = JINJA_BOOL, .truth = true } },
        { "false", { .kind = JINJA_BOOL } },
        { "null", { .kind = JINJA_NONE } },
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t n = strlen(words[i].word);

        if (reader->n - reader->at >= n && memcmp(reader->bytes + reader->at, words[i].word, n) == 0) {
            reader->at += n;
            *ret = words[i].value;
            ret->foreign = ret->kind == JINJA_BOOL && reader->mark == JINJA_FOREIGN;
            return JINJA_OK;
        }
    }
    return refuse(reader, "a value is expected");
}

static int read_list(struct reader *reader, struct jinja_value *ret)
{
    struct jinja_value item;
    int r = jinja_list_new(reader->run, 0, JINJA_FLAVOUR_LIST, ret);

    if (r || take(reader, ']')) {
        return r;
    }
    do {
        r = read_value(reader, &item);
        r = r ? r : jinja_list_push(reader->run, ret->list, &item);
    } while (!r && take(reader, ','));
    if (!r && !take(reader, ']')) {
        r = refuse(reader, "expected , or ] in a list");
    }
    return r;
}

static int read_dict(struct reader *reader, struct jinja_value *ret)
{
    struct jinja_value key;
    struct jinja_value value;
    int r = jinja_dict_new(reader->run, ret);

    if (r || take(reader, '}')) {
        return r;
    }
    do {
        if (!take(reader, '"')) {
            return refuse(reader, "expected a key in an object");
        }
        r = read_string(reader, &key);
        if (!r && !take(reader, ':')) {
            r = refuse(reader, "expected : in an object");
        }
        r = r ? r : read_value(reader, &value);
        r = r ? r : jinja_dict_put(reader->run, ret->dict, &key, &value);
    } while (!r && take(reader, ','));
    if (!r && !take(reader, '}')) {
        r = refuse(reader, "expected , or } in an object");
    }
    return r;
}

static int read_value(struct reader *reader, struct jinja_value *ret)
{
    int r = jinja_run_enter(reader->run);

    r = r ? r : jinja_run_count(reader->run, 1);
    if (r) {
        return r;
    }
    switch (peek(reader)) {
    case '{':
        reader->at++;
        r = read_dict(reader, ret);
        break;
    case '[':
        reader->at++;
        r = read_list(reader, ret);
        break;
    case '"':
        reader->at++;
        r = read_string(reader, ret);
        break;
    case 't':
    case 'f':
    case 'n':
        r = read_word(reader, ret);
        break;
    default: /* a byte */
        r = read_number(reader, ret);
        break;
    }
    jinja_run_leave(reader->run);
    return r;
}

int jinja_json_read(struct jinja_run *run, const char *bytes, size_t n, enum jinja_mark mark, struct jinja_value *ret)
{
    struct reader reader = { .run = run, .bytes = bytes, .n = n, .mark = mark };
    size_t bad_at;
    int r;

    if (!utf8_is_valid(bytes, n, &bad_at)) {
        return jinja_fail(run, "JSON", "invalid UTF-8 at byte %zu", bad_at);
    }
    r = read_value(&reader, ret);
    if (!r && peek(&reader) != 0) {
        r = refuse(&reader, "the text goes on behind the value");
    }
    return r || reader.at == n ? r : refuse(&reader, "the text goes on behind the value");
}
