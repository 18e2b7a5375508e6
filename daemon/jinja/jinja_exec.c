/*
 * The execution of statements, and the calls of macros and loops.
 *
 * The bodies of loops and macros have scopes of their own; `if` has none. A scope may outlive its statement, since a
 * macro keeps the one that it was defined in.
 */
#include "jinja/jinja_dict.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_out.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_scope.h"
#include "jinja/jinja_show.h"

/* ---- targets */

static int assign(struct jinja_run *run, const struct jinja_node *target, const struct jinja_value *value);

static int unpack(struct jinja_run *run, const struct jinja_node *target, const struct jinja_value *value)
{
    struct jinja_list *list;
    size_t n = 0;
    int r;

    if (value->kind == JINJA_NONE || jinja_is_number(value)) {
        return jinja_fail(run, "TypeError", "cannot unpack non-iterable %s object", jinja_value_type(value));
    }
    r = jinja_value_elements(run, value, &list);
    for (const struct jinja_node *item = target->list; !r && item; item = item->next) {
        if (n < list->n) {
            r = assign(run, item, &list->items[n]);
        }
        n++;
    }
    if (!r && n < list->n) {
        r = jinja_fail(run, "ValueError", "too many values to unpack (expected %zu)", n);
    }
    if (!r && n > list->n) {
        r = jinja_fail(run, "ValueError", "not enough values to unpack (expected %zu, got %zu)", n, list->n);
    }
    return r;
}

static int assign_attr(struct jinja_run *run, const struct jinja_node *target, const struct jinja_value *value)
{
    const struct jinja_value key = jinja_str(target->name);
    struct jinja_value owner;
    int r = jinja_eval(run, target->a, &owner);

    if (!r && owner.kind != JINJA_NAMESPACE) {
        r = jinja_fail(run, "TemplateRuntimeError", "cannot assign attribute on non-namespace object");
    }
    return r ? r : jinja_dict_put(run, owner.dict, &key, value);
}

static int assign(struct jinja_run *run, const struct jinja_node *target, const struct jinja_value *value)
{
    if (target->kind == JINJA_NAME) {
        return jinja_scope_assign(run, target->name, value);
    }
    return target->kind == JINJA_TUPLE_OF ? unpack(run, target, value) : assign_attr(run, target, value);
}

/* ---- loops */

/* *ret: the elements of @all that pass the loop's own condition. */
static int filter_items(struct jinja_run *run, const struct jinja_node *node, const struct jinja_list *all,
                        struct jinja_list **ret)
{
    struct jinja_scope *outer = run->scope;
    struct jinja_value kept;
    struct jinja_value is_in;
    int r = jinja_list_new(run, all->n, JINJA_FLAVOUR_LIST, &kept);

    for (size_t i = 0; !r && i < all->n; i++) {
        r = jinja_scope_push(run, outer);
        r = r ? r : assign(run, node->a, &all->items[i]);
        r = r ? r : jinja_eval(run, node->c, &is_in);
        if (!r && jinja_value_truth(&is_in)) {
            r = jinja_list_push(run, kept.list, &all->items[i]);
        }
    }
    run->scope = outer;
    if (!r) {
        *ret = kept.list;
    }
    return r;
}

static int loop_over(struct jinja_run *run, const struct jinja_node *node, const struct jinja_value *over,
                     struct jinja_scope *outer, uint32_t depth0)
{
    struct jinja_loop *loop = jinja_run_alloc(run, sizeof(*loop));
    const struct jinja_value value = { .kind = JINJA_LOOP, .loop = loop };
    struct jinja_list *list;
    int r = jinja_value_elements(run, over, &list);

    if (!loop) {
        return jinja_fail_full(run);
    }
    run->scope = outer;
    if (!r && node->c) {
        r = filter_items(run, node, list, &list);
    }
    if (r) {
        return r;
    }
    *loop = (struct jinja_loop){
        .list = list, .depth0 = depth0, .scope = outer, .node = node->flag ? node : NULL, .last_changed = jinja_absent()
    };
    for (; !r && loop->at < list->n && run->flow != JINJA_FLOW_BREAK; loop->at++) {
        run->flow = JINJA_FLOW_ON;
        r = jinja_scope_push(run, outer);
        r = r ? r : jinja_scope_assign(run, run->jinja->loop, &value);
        r = r ? r : assign(run, node->a, &list->items[loop->at]);
        r = r ? r : jinja_run_count(run, 1);
        r = r ? r : jinja_exec(run, node->body);
    }
    run->flow = JINJA_FLOW_ON;
    run->scope = outer;
    return r || list->n > 0 ? r : jinja_exec(run, node->orelse);
}

static int exec_for(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value over;
    int r = jinja_eval(run, node->b, &over);

    return r ? r : loop_over(run, node, &over, run->scope, 0);
}

int jinja_exec_loop(struct jinja_run *run, const struct jinja_loop *loop, const struct jinja_value *over,
                    struct jinja_value *ret)
{
    struct jinja_scope *scope = run->scope;
    const size_t from = run->out.n;
    int r;

    if (!loop->node) {
        return jinja_fail(run, "TypeError", "The loop must have the 'recursive' marker to be called recursively.");
    }
    r = loop_over(run, loop->node, over, loop->scope, loop->depth0 + 1);
    run->scope = scope;
    return r ? r : jinja_out_take(run, from, ret);
}

/* ---- macros */

static int define(struct jinja_run *run, const struct jinja_node *node, struct jinja_value *ret)
{
    struct jinja_macro *macro = jinja_run_alloc(run, sizeof(*macro));

    if (!macro) {
        return jinja_fail_full(run);
    }
    *macro = (struct jinja_macro){ .node = node, .scope = run->scope };
    *ret = (struct jinja_value){ .kind = JINJA_MACRO, .macro = macro };
    return JINJA_OK;
}

/* Sets `varargs` and `kwargs` to the arguments that no parameter has taken, and `caller` if it is among them. */
static int bind_rest(struct jinja_run *run, const struct jinja_args *args, size_t n_used)
{
    const struct jinja *jinja = run->jinja;
    struct jinja_value varargs;
    struct jinja_value kwargs;
    int r = jinja_list_new(run, 0, JINJA_FLAVOUR_TUPLE, &varargs);

    r = r ? r : jinja_dict_new(run, &kwargs);
    r = r ? r : jinja_list_extend(run, varargs.list, args->values + n_used, args->n - n_used);
    for (size_t i = 0; !r && args->named && i < args->named->n; i++) {
        const struct jinja_pair *pair = &args->named->pairs[i];
        bool is_bound = false;

        if (jinja_string_equal(pair->key.string, jinja->caller)) {
            r = jinja_scope_assign(run, jinja->caller, &pair->value);
            continue;
        }
        for (const struct jinja_var *var = run->scope->vars; var; var = var->next) {
            is_bound = is_bound || jinja_string_equal(var->name, pair->key.string);
        }
        if (!is_bound) {
            r = jinja_dict_put(run, kwargs.dict, &pair->key, &pair->value);
        }
    }
    r = r ? r : jinja_scope_assign(run, jinja->varargs, &varargs);
    return r ? r : jinja_scope_assign(run, jinja->kwargs, &kwargs);
}

static int bind(struct jinja_run *run, const struct jinja_node *params, const struct jinja_args *args)
{
    size_t i = 0;
    int r = JINJA_OK;

    for (const struct jinja_node *param = params; !r && param; param = param->next, i++) {
        struct jinja_value value;
        const struct jinja_value *named =
            args->named ? jinja_dict_get(args->named, param->name->bytes, param->name->n) : NULL;

        if (i < args->n) {
            value = args->values[i];
        } else if (named) {
            value = *named;
        } else if (param->a) {
            r = jinja_eval(run, param->a, &value);
        } else {
            r = jinja_value_undefined(run, NULL, param->name, JINJA_WHY_PARAMETER, &value);
        }
        r = r ? r : jinja_scope_assign(run, param->name, &value);
    }
    return r ? r : bind_rest(run, args, i < args->n ? i : args->n);
}

int jinja_exec_macro(struct jinja_run *run, const struct jinja_macro *macro, const struct jinja_args *args,
                     struct jinja_value *ret)
{
    struct jinja_scope *scope = run->scope;
    const enum jinja_flow flow = run->flow;
    const size_t from = run->out.n;
    int r = jinja_scope_push(run, macro->scope);

    r = r ? r : bind(run, macro->node->list, args);
    run->flow = JINJA_FLOW_ON;
    r = r ? r : jinja_exec(run, macro->node->body);
    run->flow = flow;
    run->scope = scope;
    return r ? r : jinja_out_take(run, from, ret);
}

static int exec_macro(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value macro;
    int r = define(run, node, &macro);

    return r ? r : jinja_scope_assign(run, node->name, &macro);
}

/* {% call m() %} calls m with its own body as a macro named `caller`. */
static int exec_call(struct jinja_run *run, const struct jinja_node *node)
{
    const struct jinja_value key = jinja_str(run->jinja->caller);
    struct jinja_value named = { .kind = JINJA_NONE };
    struct jinja_value callee;
    struct jinja_value caller;
    struct jinja_value text;
    struct jinja_args args;
    int r = jinja_eval(run, node->a->a, &callee);

    r = r ? r : jinja_eval_args(run, node->a->list, NULL, &args);
    r = r ? r : define(run, node, &caller);
    if (!r && !args.named) {
        r = jinja_dict_new(run, &named);
        args.named = named.dict;
    }
    r = r ? r : jinja_dict_put(run, args.named, &key, &caller);
    r = r ? r : jinja_eval_call(run, &callee, &args, &text);
    return r ? r : jinja_show_str(run, &text);
}

/* ---- the rest */

static int exec_if(struct jinja_run *run, const struct jinja_node *node)
{
    for (const struct jinja_node *branch = node->list; branch; branch = branch->next) {
        struct jinja_value condition;
        int r = jinja_eval(run, branch->a, &condition);

        if (r) {
            return r;
        }
        if (jinja_value_truth(&condition)) {
            return jinja_exec(run, branch->body);
        }
    }
    return jinja_exec(run, node->orelse);
}

/* *ret: the text that @body writes, through the filters at @filter (or NULL). */
static int capture(struct jinja_run *run, const struct jinja_node *body, const struct jinja_node *filter,
                   struct jinja_value *ret)
{
    struct jinja_scope *scope = run->scope;
    const size_t from = run->out.n;
    struct jinja_value text;
    int r = jinja_scope_push(run, scope);

    r = r ? r : jinja_exec(run, body);
    run->scope = scope;
    r = r ? r : jinja_out_take(run, from, &text);
    if (!r && filter) {
        return jinja_eval_filter(run, filter, &text, ret);
    }
    *ret = text;
    return r;
}

static int exec_set(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value value;
    int r = node->kind == JINJA_SET ? jinja_eval(run, node->b, &value) : capture(run, node->body, node->b, &value);

    run->line = node->line;
    return r ? r : assign(run, node->a, &value);
}

static int exec_filter(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value text;
    int r = capture(run, node->body, node->b, &text);

    return r ? r : jinja_show_str(run, &text);
}

static int exec_with(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_scope *outer = run->scope;
    struct jinja_scope *inner;
    int r = jinja_scope_push(run, outer);

    inner = run->scope;
    for (const struct jinja_node *set = node->list; !r && set; set = set->next) {
        struct jinja_value value;

        /* The values see the outer variables only. */
        run->scope = outer;
        r = jinja_eval(run, set->b, &value);
        run->scope = inner;
        r = r ? r : assign(run, set->a, &value);
    }
    r = r ? r : jinja_exec(run, node->body);
    run->scope = outer;
    return r;
}

static int exec_print(struct jinja_run *run, const struct jinja_node *node)
{
    struct jinja_value value;
    int r = jinja_eval(run, node->a, &value);

    return r ? r : jinja_show_str(run, &value);
}

static int exec_one(struct jinja_run *run, const struct jinja_node *node)
{
    switch ((int)node->kind) {
    case JINJA_TEXT:
        return jinja_out_string(run, node->value.string);
    case JINJA_PRINT:
        return exec_print(run, node);
    case JINJA_IF:
        return exec_if(run, node);
    case JINJA_FOR:
        return exec_for(run, node);
    case JINJA_SET:
    case JINJA_SET_BLOCK:
        return exec_set(run, node);
    case JINJA_MACRO_DEF:
        return exec_macro(run, node);
    case JINJA_CALL_BLOCK:
        return exec_call(run, node);
    case JINJA_FILTER_BLOCK:
        return exec_filter(run, node);
    case JINJA_WITH:
        return exec_with(run, node);
    case JINJA_BREAK:
        run->flow = JINJA_FLOW_BREAK;
        break;
    case JINJA_CONTINUE:
        run->flow = JINJA_FLOW_CONTINUE;
        break;
    case JINJA_GROUP:
        return jinja_exec(run, node->body);
    }
    return JINJA_OK;
}

int jinja_exec(struct jinja_run *run, const struct jinja_node *node)
{
    int r = jinja_run_enter(run);

    for (; !r && node && run->flow == JINJA_FLOW_ON; node = node->next) {
        run->line = node->line;
        r = jinja_run_count(run, 1);
        r = r ? r : exec_one(run, node);
    }
    jinja_run_leave(run);
    return r;
}
