#include "jinja/jinja_scope.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_run.h"

int jinja_scope_assign(struct jinja_run *run, const struct jinja_string *name, const struct jinja_value *value)
{
    struct jinja_var *var = run->scope->vars;

    while (var && var->name != name) {
        var = var->next;
    }
    if (!var) {
        var = jinja_run_alloc(run, sizeof(*var));
        if (!var) {
            return jinja_fail_full(run);
        }
        var->next = run->scope->vars;
        var->name = name;
        run->scope->vars = var;
    }
    var->value = *value;
    return JINJA_OK;
}

const struct jinja_value *jinja_scope_lookup(const struct jinja_run *run, const struct jinja_string *name)
{
    for (const struct jinja_scope *scope = run->scope; scope; scope = scope->parent) {
        for (const struct jinja_var *var = scope->vars; var; var = var->next) {
            if (var->name == name) {
                return &var->value;
            }
        }
    }
    return jinja_dict_get(run->context, name->bytes, name->n);
}

int jinja_scope_push(struct jinja_run *run, struct jinja_scope *parent)
{
    struct jinja_scope *scope = jinja_run_alloc(run, sizeof(*scope));

    if (!scope) {
        return jinja_fail_full(run);
    }
    *scope = (struct jinja_scope){ .parent = parent };
    run->scope = scope;
    return JINJA_OK;
}
