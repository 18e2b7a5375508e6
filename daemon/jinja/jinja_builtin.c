#include "jinja/jinja_builtin.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"

static const struct jinja_builtin *find(const struct jinja_builtin *table, const struct jinja_string *name)
{
    for (; table && table->name; table++) {
        if (jinja_string_is(name, table->name)) {
            return table;
        }
    }
    return NULL;
}

const struct jinja_builtin *jinja_builtin_filter(const struct jinja_library *library, const struct jinja_string *name)
{
    const struct jinja_builtin *found = NULL;

    for (size_t i = 0; !found && i < JINJA_FILTER_TABLES; i++) {
        found = find(library->filters[i], name);
    }
    return found;
}

const struct jinja_builtin *jinja_builtin_test(const struct jinja_library *library, const struct jinja_string *name)
{
    return find(library->tests, name);
}

const struct jinja_builtin *jinja_builtin_global(const struct jinja_library *library, const struct jinja_string *name)
{
    return find(library->globals, name);
}

const struct jinja_builtin *jinja_builtin_method(const struct jinja_library *library, enum jinja_kind kind,
                                                 const struct jinja_string *name)
{
    return find(library->methods[kind], name);
}

/* Puts arguments by keyword where their parameters stand. */
static int place_named(struct jinja_run *run, const struct jinja_builtin *builtin, const struct jinja_dict *named,
                       size_t n_params, struct jinja_value *values)
{
    for (size_t i = 0; i < named->n; i++) {
        const struct jinja_string *name = named->pairs[i].key.string;
        size_t k = 0;

        while (k < n_params && !jinja_string_is(name, builtin->params[k])) {
            k++;
        }
        if (k == n_params) {
            return jinja_fail(run, "TypeError", "%s() got an unexpected keyword argument '%.*s'", builtin->name,
                              (int)(name->n < 64 ? name->n : 64), name->bytes);
        }
        values[k] = named->pairs[i].value;
    }
    return JINJA_OK;
}

int jinja_builtin_call(struct jinja_run *run, const struct jinja_builtin *builtin, const struct jinja_args *args,
                       struct jinja_value *ret)
{
    struct jinja_value values[JINJA_PARAMS_MAX];
    struct jinja_args ordered = { .values = values, .variant = builtin->variant };
    int r = JINJA_OK;

    if (!builtin->params[0]) {
        ordered = *args;
        ordered.variant = builtin->variant;
        return builtin->call(run, &ordered, ret);
    }
    while (ordered.n < JINJA_PARAMS_MAX && builtin->params[ordered.n]) {
        ordered.n++;
    }
    if (args->n > ordered.n) {
        return jinja_fail(run, "TypeError", "%s() takes at most %zu arguments (%zu given)", builtin->name, ordered.n,
                          args->n);
    }
    for (size_t i = 0; i < JINJA_PARAMS_MAX; i++) {
        values[i] = i < args->n ? args->values[i] : jinja_absent();
    }
    if (args->named) {
        r = place_named(run, builtin, args->named, ordered.n, values);
    }
    for (size_t i = 0; !r && i < builtin->n_required; i++) {
        if (!jinja_is_given(&values[i])) {
            r = jinja_fail(run, "TypeError", "%s() missing required argument '%s'", builtin->name, builtin->params[i]);
        }
    }
    return r ? r : builtin->call(run, &ordered, ret);
}

int jinja_args_text(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret)
{
    const size_t from = run->out.n;
    struct jinja_value text = *value;
    int r = JINJA_OK;

    if (value->kind != JINJA_STRING) {
        r = jinja_show_str(run, value);
        r = r ? r : jinja_out_take(run, from, &text);
    }
    if (!r) {
        *ret = text.string;
    }
    return r;
}

int jinja_args_string(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret)
{
    *ret = NULL;
    if (value->kind == JINJA_STRING) {
        *ret = value->string;
        return JINJA_OK;
    }
    if (!jinja_is_set(value)) {
        return JINJA_OK;
    }
    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    return jinja_fail(run, "TypeError", "must be str, not %s", jinja_value_type(value));
}

int jinja_args_int(struct jinja_run *run, const struct jinja_value *value, int64_t fallback, int64_t *ret)
{
    *ret = fallback;
    if (jinja_is_int(value)) {
        *ret = jinja_int_of(value);
        return JINJA_OK;
    }
    if (!jinja_is_set(value)) {
        return JINJA_OK;
    }
    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    return jinja_fail(run, "TypeError", "'%s' object cannot be interpreted as an integer", jinja_value_type(value));
}
