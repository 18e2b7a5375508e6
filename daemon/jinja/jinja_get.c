/*
 * Attributes, keys and indices. The sandbox is here: a method that would change a value, and a name that would lead to
 * the internals which Python's objects have, is undefined and says that it is unsafe.
 */
#include "jinja/jinja_get.h"
#include "base/clean.h"
#include "jinja/jinja_builtin.h"
#include "jinja/jinja_char.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_node.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"

/* The methods that the immutable sandbox of Jinja (jinja2.sandbox) keeps from templates. */
static bool is_forbidden(const struct jinja_value *value, const struct jinja_string *name)
{
    static const char *const of_lists[] = { "append", "clear",   "extend", "insert", "pop",
                                            "remove", "reverse", "sort",   NULL };
    static const char *const of_dicts[] = { "clear", "pop", "popitem", "setdefault", "update", NULL };
    static const char *const none[] = { NULL };
    const char *const *names = value->kind == JINJA_DICT                            ? of_dicts
                               : jinja_is_sequence(value) && !jinja_is_tuple(value) ? of_lists
                                                                                    : none;

    for (; *names; names++) {
        if (jinja_string_is(name, *names)) {
            return true;
        }
    }
    return name->n >= 2 && name->bytes[0] == '_' && name->bytes[1] == '_';
}

/* The functions below set *ret to jinja_absent() where they find nothing. */

static int find_loop_field(struct jinja_run *run, const struct jinja_loop *loop, const struct jinja_string *name,
                           struct jinja_value *ret)
{
    const int64_t at = (int64_t)loop->at;
    const int64_t n = (int64_t)loop->list->n;
    const struct {
        const char *name;
        struct jinja_value value;
    } fields[] = {
        { "index", jinja_int(at + 1) },
        { "index0", jinja_int(at) },
        { "revindex", jinja_int(n - at) },
        { "revindex0", jinja_int(n - at - 1) },
        { "first", jinja_bool(at == 0) },
        { "last", jinja_bool(at == n - 1) },
        { "length", jinja_int(n) },
        { "depth", jinja_int(loop->depth0 + 1) },
        { "depth0", jinja_int(loop->depth0) },
    };
    const bool is_previous = jinja_string_is(name, "previtem");
    const size_t other = is_previous ? loop->at - 1 : loop->at + 1; /* wraps to SIZE_MAX before the first */

    *ret = jinja_absent();
    for (size_t i = 0; i < COUNTOF(fields); i++) {
        if (jinja_string_is(name, fields[i].name)) {
            *ret = fields[i].value;
        }
    }
    if (!is_previous && !jinja_string_is(name, "nextitem")) {
        return JINJA_OK;
    }
    if (other < loop->list->n) {
        *ret = loop->list->items[other];
        return JINJA_OK;
    }
    return jinja_value_undefined(run, is_previous ? "there is no previous item" : "there is no next item", NULL,
                                 JINJA_WHY_TEXT, ret);
}

static int find_method(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                       struct jinja_value *ret)
{
    const struct jinja_builtin *builtin = jinja_builtin_method(run->jinja->library, value->kind, name);
    struct jinja_method *method;

    *ret = jinja_absent();
    if (!builtin) {
        return JINJA_OK;
    }
    method = jinja_run_alloc(run, sizeof(*method));
    if (!method) {
        return jinja_fail_full(run);
    }
    *method = (struct jinja_method){ .builtin = builtin, .self = *value };
    *ret = (struct jinja_value){ .kind = JINJA_METHOD, .method = method };
    return JINJA_OK;
}

/* Python's getattr(). */
static int find_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                     struct jinja_value *ret)
{
    int r = JINJA_OK;

    *ret = jinja_absent();
    if (value->kind == JINJA_NAMESPACE) {
        const struct jinja_value *found = jinja_dict_get(value->dict, name->bytes, name->n);

        *ret = found ? *found : *ret;
        return JINJA_OK;
    }
    if (value->kind == JINJA_LOOP) {
        r = find_loop_field(run, value->loop, name, ret);
    }
    return r || jinja_is_given(ret) ? r : find_method(run, value, name, ret);
}

static int find_key(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                    struct jinja_value *ret)
{
    struct jinja_value *found = NULL;
    int r = value->kind == JINJA_DICT ? jinja_dict_find(run, value->dict, key, &found) : JINJA_OK;

    *ret = found ? *found : jinja_absent();
    return r;
}

/* *ret: element @i (negative: from the end) of a list or string. */
static int find_index(struct jinja_run *run, const struct jinja_value *value, int64_t i, struct jinja_value *ret)
{
    const struct jinja_string *string = value->kind == JINJA_STRING ? value->string : NULL;
    const int64_t n = string                      ? (int64_t)jinja_char_count(string)
                      : value->kind == JINJA_LIST ? (int64_t)value->list->n
                                                  : 0;
    size_t at;

    *ret = jinja_absent();
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n) {
        return string ? jinja_run_count(run, string->n / 64) : JINJA_OK;
    }
    if (!string) {
        *ret = value->list->items[i];
        return JINJA_OK;
    }
    at = jinja_char_offset(string, (size_t)i);
    return jinja_string_cut(run, string, at, jinja_char_bytes(string, at), ret);
}

/* ---- access: what was not found becomes undefined */

/* *ret: attribute @name, or with @keys the value of the key @name. In brackets (no @keys) the sandbox comes first,
 * behind a dot the attributes of a namespace. */
static int get_named(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name, bool keys,
                     struct jinja_value *ret)
{
    const struct jinja_value key = jinja_str(name);
    const bool forbidden = is_forbidden(value, name);
    int r;

    *ret = jinja_absent();
    r = keys || !forbidden ? find_attr(run, value, name, ret) : JINJA_OK;
    if (r || jinja_is_given(ret)) {
        return r;
    }
    if (forbidden) {
        return jinja_value_undefined(run, jinja_value_type(value), name, JINJA_WHY_UNSAFE, ret);
    }
    r = keys ? find_key(run, value, &key, ret) : JINJA_OK;
    if (r || jinja_is_given(ret)) {
        return r;
    }
    return jinja_value_undefined(run, jinja_value_name(value), name, JINJA_WHY_NAME, ret);
}

int jinja_get_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                   struct jinja_value *ret)
{
    const struct jinja_value owner = *value; /* *ret may be *value */

    return owner.kind == JINJA_UNDEFINED ? jinja_fail_undefined(run, &owner) : get_named(run, &owner, name, true, ret);
}

int jinja_get_item(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                   struct jinja_value *ret)
{
    const struct jinja_value owner = *value; /* *ret may be *value */
    const size_t from = run->out.n;
    struct jinja_value name;
    int r;

    if (owner.kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, &owner);
    }
    r = jinja_is_int(key) && owner.kind != JINJA_DICT ? find_index(run, &owner, jinja_int_of(key), ret)
                                                      : find_key(run, &owner, key, ret);
    if (r || jinja_is_given(ret)) {
        return r;
    }
    if (key->kind == JINJA_STRING) {
        return get_named(run, &owner, key->string, false, ret);
    }
    r = jinja_show_repr(run, key);
    r = r ? r : jinja_out_take(run, from, &name);
    return r ? r : jinja_value_undefined(run, jinja_value_name(&owner), name.string, JINJA_WHY_ELEMENT, ret);
}

/* *value becomes its member @part. */
static int step_into(struct jinja_run *run, const struct jinja_string *part, struct jinja_value *value)
{
    struct jinja_value key = jinja_str(part);
    int64_t number = 0;
    bool is_number = part->n > 0 && part->n < 10;

    for (size_t i = 0; i < part->n && is_number; i++) {
        is_number = part->bytes[i] >= '0' && part->bytes[i] <= '9';
        number = number * 10 + (part->bytes[i] - '0');
    }
    if (is_number) {
        key = jinja_int(number);
    }
    return jinja_get_item(run, value, &key, value);
}

int jinja_get_path(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *path,
                   struct jinja_value *ret)
{
    struct jinja_value at = *value;
    size_t from = 0;
    int r = JINJA_OK;

    if (path->kind != JINJA_STRING) {
        return jinja_get_item(run, value, path, ret);
    }
    for (size_t i = 0; !r && i <= path->string->n; i++) {
        struct jinja_value part;

        if (i < path->string->n && path->string->bytes[i] != '.') {
            continue;
        }
        r = jinja_string_cut(run, path->string, from, i - from, &part);
        r = r ? r : step_into(run, part.string, &at);
        from = i + 1;
    }
    *ret = at;
    return r;
}
