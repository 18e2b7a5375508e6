#include "jinja/jinja_builtin.h"
#include "base/clean.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_show.h"
#include <string.h>

static const struct jinja_builtin *find(const struct jinja_builtins *table, const struct jinja_string *name)
{
    for (size_t i = 0; i < table->n; i++) {
        if (jinja_string_is(name, table->rows[i].name)) {
            return &table->rows[i];
        }
    }
    return NULL;
}

const struct jinja_builtin *jinja_builtin_filter(const struct jinja_string *name)
{
    const struct jinja_builtin *found = find(&jinja_filters_text, name);

    found = found ? found : find(&jinja_filters_list, name);
    return found ? found : find(&jinja_filters_pick, name);
}

const struct jinja_builtin *jinja_builtin_test(const struct jinja_string *name)
{
    return find(&jinja_tests, name);
}

const struct jinja_builtin *jinja_builtin_global(const struct jinja_string *name)
{
    return find(&jinja_globals, name);
}

const struct jinja_builtin *jinja_builtin_method(const struct jinja_value *self, const struct jinja_string *name)
{
    const struct jinja_builtin *found;

    switch (self->kind) {
    case JINJA_STRING:
        found = find(&jinja_methods_str, name);
        return found ? found : find(&jinja_methods_str_is, name);
    case JINJA_DICT:
        return find(&jinja_methods_dict, name);
    case JINJA_LIST:
        return find(&jinja_methods_list, name);
    case JINJA_LOOP:
        return find(&jinja_methods_loop, name);
    case JINJA_UNDEFINED:
    case JINJA_NONE:
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
    case JINJA_NAMESPACE:
    case JINJA_MACRO:
    case JINJA_BUILTIN:
    case JINJA_METHOD:
    case JINJA_KIND_COUNT:
        break;
    }
    return NULL;
}

static size_t count_params(const struct jinja_builtin *builtin)
{
    size_t n = 0;

    while (n < JINJA_PARAMS_MAX && builtin->params[n]) {
        n++;
    }
    return n;
}

/* Puts arguments by keyword where they belong. */
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
    const size_t n_params = count_params(builtin);
    int r = JINJA_OK;

    if (builtin->is_free) {
        return builtin->call(run, args, ret);
    }
    if (args->n > n_params) {
        return jinja_fail(run, "TypeError", "%s() takes at most %zu arguments (%zu given)", builtin->name, n_params,
                          args->n);
    }
    for (size_t i = 0; i < JINJA_PARAMS_MAX; i++) {
        values[i] = i < args->n ? args->values[i] : jinja_absent();
    }
    if (args->named) {
        r = place_named(run, builtin, args->named, n_params, values);
    }
    for (size_t i = 0; !r && i < builtin->n_required; i++) {
        if (!jinja_is_given(&values[i])) {
            r = jinja_fail(run, "TypeError", "%s() missing required argument '%s'", builtin->name, builtin->params[i]);
        }
    }
    return r ? r : builtin->call(run, &(struct jinja_args){ .values = values, .n = n_params }, ret);
}

int jinja_builtin_call_filter(struct jinja_run *run, const struct jinja_string *name, const struct jinja_args *args,
                              struct jinja_value *ret)
{
    const struct jinja_builtin *filter = jinja_builtin_filter(name);

    if (!filter) {
        return jinja_fail(run, "TemplateRuntimeError", "No filter named '%.*s'.", (int)(name->n < 64 ? name->n : 64),
                          name->bytes);
    }
    return jinja_builtin_call(run, filter, args, ret);
}

int jinja_builtin_call_test(struct jinja_run *run, const struct jinja_string *name, const struct jinja_args *args,
                            bool *ret)
{
    const struct jinja_builtin *test = jinja_builtin_test(name);
    struct jinja_value answer;
    int r;

    if (!test) {
        return jinja_fail(run, "TemplateRuntimeError", "No test named '%.*s'.", (int)(name->n < 64 ? name->n : 64),
                          name->bytes);
    }
    r = jinja_builtin_call(run, test, args, &answer);
    if (!r) {
        *ret = jinja_value_truth(&answer);
    }
    return r;
}

int jinja_args_text(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret)
{
    const size_t from = run->out.n;
    struct jinja_value text;
    int r;

    if (value->kind == JINJA_STRING) {
        *ret = value->string;
        return JINJA_OK;
    }
    r = jinja_show_str(run, value);
    r = r ? r : jinja_out_take(run, from, &text);
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
    if (value->kind == JINJA_NONE || !jinja_is_given(value)) {
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
    if (value->kind == JINJA_NONE || !jinja_is_given(value)) {
        return JINJA_OK;
    }
    if (value->kind == JINJA_UNDEFINED) {
        return jinja_fail_undefined(run, value);
    }
    return jinja_fail(run, "TypeError", "'%s' object cannot be interpreted as an integer", jinja_value_type(value));
}
