#include "jinja/jinja_out.h"
#include "base/err.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"
#include <errno.h>
#include <string.h>

/* Bytes of text that cost a step. */
#define STEP_BYTES 64u

static int grow(struct jinja_out *out, size_t n)
{
    size_t cap = out->cap < 1024 ? 1024 : out->cap;
    uint8_t *bytes;
    uint8_t *marks;

    while (cap < out->n + n) {
        cap *= 2;
    }
    bytes = mem_realloc(MEM_TEXT, out->bytes, cap);
    if (!bytes) {
        return err_new(-ENOMEM);
    }
    out->bytes = bytes;
    marks = mem_realloc(MEM_TEXT, out->marks, cap);
    if (!marks) {
        return err_new(-ENOMEM);
    }
    out->marks = marks;
    out->cap = cap;
    return JINJA_OK;
}

/* Makes room for @n bytes and counts their steps. */
static int make_room(struct jinja_run *run, size_t n)
{
    struct jinja_out *out = &run->out;
    int r;

    if (n > out->max - out->n) {
        run->is_over = true;
        return jinja_fail(run, "MemoryError", "the template writes more than %zu bytes", out->max);
    }
    if (out->n + n > out->cap) {
        r = grow(out, n);
        if (r) {
            return r;
        }
    }
    return jinja_run_count(run, n / STEP_BYTES);
}

int jinja_out_write(struct jinja_run *run, const void *bytes, size_t n, enum jinja_mark mark)
{
    struct jinja_out *out = &run->out;
    int r = make_room(run, n);

    if (r || n == 0) {
        return r;
    }
    memcpy(out->bytes + out->n, bytes, n);
    memset(out->marks + out->n, mark, n);
    out->n += n;
    return JINJA_OK;
}

int jinja_out_text(struct jinja_run *run, const char *text, enum jinja_mark mark)
{
    return jinja_out_write(run, text, strlen(text), mark);
}

int jinja_out_part(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n)
{
    struct jinja_out *out = &run->out;
    int r;

    if (!string->marks) {
        return jinja_out_write(run, string->bytes + from, n, string->mark);
    }
    r = make_room(run, n);
    if (r || n == 0) {
        return r;
    }
    memcpy(out->bytes + out->n, string->bytes + from, n);
    memcpy(out->marks + out->n, string->marks + from, n);
    out->n += n;
    return JINJA_OK;
}

int jinja_out_string(struct jinja_run *run, const struct jinja_string *string)
{
    return jinja_out_part(run, string, 0, string->n);
}

int jinja_out_take(struct jinja_run *run, size_t from, struct jinja_value *ret)
{
    struct jinja_out *out = &run->out;
    const size_t n = out->n - from;
    const uint8_t *marks = n > 0 ? out->marks + from : NULL;
    struct jinja_string *string = jinja_run_alloc(run, sizeof(*string));
    char *bytes = jinja_run_alloc(run, n);
    bool is_mixed = false;

    if (!string || !bytes) {
        return jinja_fail_full(run);
    }
    *string = (struct jinja_string){ .bytes = bytes, .n = n };
    if (n > 0) {
        memcpy(bytes, out->bytes + from, n);
        string->mark = (enum jinja_mark)marks[0];
        is_mixed = memchr(marks, !marks[0], n) != NULL;
    }
    if (is_mixed) {
        uint8_t *copy = jinja_run_alloc(run, n);

        if (!copy) {
            return jinja_fail_full(run);
        }
        memcpy(copy, marks, n);
        string->marks = copy;
    }
    out->n = from;
    *ret = jinja_str(string);
    return JINJA_OK;
}
