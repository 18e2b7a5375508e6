/*
 * What stands behind a dot or in brackets: attributes, keys, indices. The sandbox is here: what would change a value or
 * lead to the insides of the interpreter that Python has, is undefined in a way that says so.
 */
#include "jinja/jinja_char.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"

/* What Python has but its sandbox keeps from templates: all that changes a list or dictionary. */
static bool is_forbidden(const struct jinja_value *value, const struct jinja_string *name)
{
    static const char *const changing[] = { "append", "clear",   "extend",     "insert", "pop",   "popitem",
                                            "remove", "reverse", "setdefault", "sort",   "update" };

    if (name->n >= 2 && name->bytes[0] == '_' && name->bytes[1] == '_') {
        return true;
    }
    for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
        if (value->kind == JINJA_LIST && value->list->flavour == JINJA_FLAVOUR_LIST &&
            jinja_string_is(name, changing[i])) {
            return true;
        }
        if (value->kind == JINJA_DICT && jinja_string_is(name, changing[i]) && changing[i][0] != 'a' &&
            changing[i][0] != 'e' && changing[i][0] != 'i' && changing[i][0] != 'r') {
            return i != 9; /* dictionaries have no sort() */
        }
    }
    return false;
}

static int get_loop_field(struct jinja_run *run, struct jinja_loop *loop, const struct jinja_string *name,
                          bool *ret_found, struct jinja_value *ret)
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
    size_t other;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (jinja_string_is(name, fields[i].name)) {
            *ret_found = true;
            *ret = fields[i].value;
            return JINJA_OK;
        }
    }
    if (!jinja_string_is(name, "previtem") && !jinja_string_is(name, "nextitem")) {
        return JINJA_OK;
    }
    *ret_found = true;
    other = name->bytes[0] == 'p' ? loop->at - 1 : loop->at + 1; /* wraps before the first: not within */
    if (other < loop->list->n) {
        *ret = loop->list->items[other];
        return JINJA_OK;
    }
    return jinja_value_undefined(run, name->bytes[0] == 'p' ? "there is no previous item" : "there is no next item",
                                 NULL, JINJA_WHY_TEXT, ret);
}

static int get_method(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                      bool *ret_found, struct jinja_value *ret)
{
    const struct jinja_builtin *builtin = jinja_builtin_method(value, name);
    struct jinja_method *method;

    if (!builtin) {
        return JINJA_OK;
    }
    method = jinja_run_alloc(run, sizeof(*method));
    if (!method) {
        return jinja_fail_full(run);
    }
    *method = (struct jinja_method){ .builtin = builtin, .self = *value };
    *ret = (struct jinja_value){ .kind = JINJA_METHOD, .method = method };
    *ret_found = true;
    return JINJA_OK;
}

/* Python's getattr(). */
static int find_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                     bool *ret_found, struct jinja_value *ret)
{
    if (value->kind == JINJA_LOOP) {
        int r = get_loop_field(run, value->loop, name, ret_found, ret);

        if (r || *ret_found) {
            return r;
        }
    }
    if (value->kind == JINJA_NAMESPACE) {
        const struct jinja_value *found = jinja_dict_get(value->dict, name->bytes, name->n);

        *ret_found = found != NULL;
        if (found) {
            *ret = *found;
        }
        return JINJA_OK;
    }
    return get_method(run, value, name, ret_found, ret);
}

static int find_in_dict(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                        bool *ret_found, struct jinja_value *ret)
{
    struct jinja_value *found = NULL;
    int r = JINJA_OK;

    if (value->kind == JINJA_DICT) {
        r = jinja_dict_find(run, value->dict, key, &found);
    }
    *ret_found = found != NULL;
    if (found) {
        *ret = *found;
    }
    return r;
}

int jinja_get_attr(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string *name,
                   struct jinja_value *ret)
{
    const struct jinja_value key = { .kind = JINJA_STRING, .string = name };
    bool found = false;
    int r;

    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    r = find_attr(run, value, name, &found, ret);
    if (!r && !found) {
        if (is_forbidden(value, name)) {
            return jinja_value_undefined(run, jinja_value_type(value), name, JINJA_WHY_UNSAFE, ret);
        }
        r = find_in_dict(run, value, &key, &found, ret);
    }
    if (r || found) {
        return r;
    }
    return jinja_value_undefined(run, jinja_value_owner(value), name, JINJA_WHY_NAME, ret);
}

int jinja_get_index(struct jinja_run *run, const struct jinja_value *value, int64_t i, bool *ret_found,
                    struct jinja_value *ret)
{
    int64_t n;
    size_t at;

    *ret_found = false;
    if (value->kind == JINJA_LIST) {
        n = (int64_t)value->list->n;
        i += i < 0 ? n : 0;
        if (i >= 0 && i < n) {
            *ret_found = true;
            *ret = value->list->items[i];
        }
        return JINJA_OK;
    }
    if (value->kind != JINJA_STRING) {
        return JINJA_OK;
    }
    n = (int64_t)jinja_char_count(value->string);
    i += i < 0 ? n : 0;
    if (i >= 0 && i < n) {
        *ret_found = true;
        at = jinja_char_offset(value->string, (size_t)i);
        return jinja_string_cut(run, value->string, at, jinja_char_bytes(value->string, at), ret);
    }
    return jinja_run_count(run, value->string->n / 64);
}

int jinja_get_item(struct jinja_run *run, const struct jinja_value *value, const struct jinja_value *key,
                   struct jinja_value *ret)
{
    struct jinja_value name;
    const size_t from = run->out.n;
    bool found = false;
    int r;

    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    if (jinja_is_int(key) && value->kind != JINJA_DICT) {
        r = jinja_get_index(run, value, jinja_int_of(key), &found, ret);
    } else {
        r = find_in_dict(run, value, key, &found, ret);
    }
    if (!r && !found && key->kind == JINJA_STRING) {
        if (is_forbidden(value, key->string)) {
            return jinja_value_undefined(run, jinja_value_type(value), key->string, JINJA_WHY_UNSAFE, ret);
        }
        r = find_attr(run, value, key->string, &found, ret);
        if (!r && !found) {
            r = jinja_value_undefined(run, jinja_value_owner(value), key->string, JINJA_WHY_NAME, ret);
        }
        return r;
    }
    if (r || found) {
        return r;
    }
    r = jinja_show_repr(run, key);
    r = r ? r : jinja_out_take(run, from, &name);
    return r ? r : jinja_value_undefined(run, jinja_value_owner(value), name.string, JINJA_WHY_ELEMENT, ret);
}
