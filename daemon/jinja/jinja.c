#include "jinja/jinja.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include "jinja/jinja_dict.h"
#include "jinja/jinja_eval.h"
#include "jinja/jinja_fail.h"
#include "jinja/jinja_json.h"
#include "jinja/jinja_lex.h"
#include "jinja/jinja_node.h"
#include "jinja/jinja_parse.h"
#include "jinja/jinja_run.h"
#include "jinja/jinja_scope.h"
#include <errno.h>
#include <string.h>

/* A node has about 150 bytes and stands for at least 3 bytes of source. */
#define TREE_BYTES_MAX (24u << 20)

/* Copies the source into the arena as Jinja reads it: with newlines as the only line ends, and without the last one. */
static int copy_source(struct jinja *jinja, const char *source, size_t n, const char **ret, size_t *ret_n)
{
    char *copy = arena_alloc(&jinja->arena, n);
    size_t n_copy = 0;

    if (!copy) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        copy[n_copy++] = source[i] == '\r' ? '\n' : source[i];
        i += source[i] == '\r' && i + 1 < n && source[i + 1] == '\n';
    }
    n_copy -= n_copy > 0 && copy[n_copy - 1] == '\n';
    *ret = copy;
    *ret_n = n_copy;
    return JINJA_OK;
}

static int compile(struct jinja *jinja, const char *source, size_t n, struct diag *diag)
{
    cleanup(mem_freep) struct jinja_token *tokens = NULL;
    const char *copy = NULL;
    size_t n_copy = 0;
    int r = copy_source(jinja, source, n, &copy, &n_copy);

    r = r ? r : jinja_lex(&tokens, copy, n_copy, diag);
    return r ? r : jinja_parse(jinja, tokens, diag);
}

int jinja_compile(struct jinja **ret_jinja, const char *source, size_t n, struct diag *diag)
{
    cleanup(jinja_destroyp) struct jinja *jinja = NULL;
    size_t bad_at;
    int r;

    if (n > JINJA_SOURCE_MAX) {
        diag_set(diag, "TemplateSyntaxError: the template has %zu bytes, more than %u", n, JINJA_SOURCE_MAX);
        return JINJA_FAILED;
    }
    if (!utf8_is_valid(source, n, &bad_at)) {
        diag_set(diag, "TemplateSyntaxError: the template is not valid UTF-8 at byte %zu", bad_at);
        return JINJA_FAILED;
    }
    jinja = mem_calloc(MEM_TEXT, 1, sizeof(*jinja));
    if (!jinja) {
        return err_new(-ENOMEM);
    }
    arena_init(&jinja->arena, MEM_TEXT, TREE_BYTES_MAX);
    jinja->library = &jinja_library_all;
    r = compile(jinja, source, n, diag);
    if (!r) {
        *ret_jinja = steal(&jinja);
    }
    return r;
}

void jinja_destroy(struct jinja *jinja)
{
    if (!jinja) {
        return;
    }
    arena_finish(&jinja->arena);
    mem_free(jinja);
}

void jinja_destroyp(struct jinja **jinja)
{
    jinja_destroy(*jinja);
    *jinja = NULL;
}

/* ---- runs */

int jinja_run_create(struct jinja_run **ret_run, const struct jinja *jinja, const struct jinja_limits *limits,
                     const struct tm *now, const atomic_bool *cancel, struct diag *diag)
{
    cleanup(jinja_run_destroyp) struct jinja_run *run = mem_calloc(MEM_TEXT, 1, sizeof(*run));
    struct jinja_value context;
    int r;

    if (!run) {
        return err_new(-ENOMEM);
    }
    arena_init(&run->arena, MEM_TEXT, limits->memory_bytes);
    run->jinja = jinja;
    run->limits = *limits;
    run->out.max = limits->output_bytes;
    run->cancel = cancel;
    run->diag = diag;
    run->has_now = now != NULL;
    if (now) {
        run->now = *now;
    }
    r = jinja_dict_new(run, &context);
    r = r ? r : jinja_scope_push(run, NULL);
    if (r) {
        return r;
    }
    run->context = context.dict;
    *ret_run = steal(&run);
    return JINJA_OK;
}

void jinja_run_destroy(struct jinja_run *run)
{
    if (!run) {
        return;
    }
    arena_finish(&run->arena);
    mem_free(run->out.bytes);
    mem_free(run->out.marks);
    mem_free(run);
}

void jinja_run_destroyp(struct jinja_run **run)
{
    jinja_run_destroy(*run);
    *run = NULL;
}

/* ---- variables */

static int set(struct jinja_run *run, struct jinja_dict *dict, const char *name, const struct jinja_value *value)
{
    struct jinja_value key;
    int r = jinja_string_word(run, name, &key);

    return r ? r : jinja_dict_put(run, dict, &key, value);
}

int jinja_set_none(struct jinja_run *run, const char *name)
{
    const struct jinja_value none = jinja_none();

    return set(run, run->context, name, &none);
}

int jinja_set_bool(struct jinja_run *run, const char *name, bool truth)
{
    const struct jinja_value value = jinja_bool(truth);

    return set(run, run->context, name, &value);
}

int jinja_set_text(struct jinja_run *run, const char *name, const char *bytes, size_t n, enum jinja_mark mark)
{
    return jinja_dict_set_text(run, run->context, name, bytes, n, mark);
}

int jinja_set_json(struct jinja_run *run, const char *json, size_t n, enum jinja_mark mark)
{
    return jinja_dict_set_json(run, run->context, json, n, mark);
}

int jinja_set_members(struct jinja_run *run, const char *name)
{
    const struct jinja_value *value = jinja_dict_get(run->context, name, strlen(name));

    return value && value->kind == JINJA_DICT ? jinja_dict_update(run, run->context, value->dict) : JINJA_OK;
}

int jinja_set_list(struct jinja_run *run, const char *name, struct jinja_list **ret_list)
{
    struct jinja_value value;
    int r = jinja_list_new(run, 0, JINJA_FLAVOUR_LIST, &value);

    r = r ? r : set(run, run->context, name, &value);
    if (!r) {
        *ret_list = value.list;
    }
    return r;
}

int jinja_list_add_dict(struct jinja_run *run, struct jinja_list *list, struct jinja_dict **ret_dict)
{
    struct jinja_value value;
    int r = jinja_dict_new(run, &value);

    r = r ? r : jinja_list_push(run, list, &value);
    if (!r) {
        *ret_dict = value.dict;
    }
    return r;
}

int jinja_list_add_json(struct jinja_run *run, struct jinja_list *list, const char *json, size_t n,
                        enum jinja_mark mark)
{
    struct jinja_value value;
    int r = jinja_json_read(run, json, n, mark, &value);

    return r ? r : jinja_list_push(run, list, &value);
}

int jinja_dict_set_text(struct jinja_run *run, struct jinja_dict *dict, const char *name, const char *bytes, size_t n,
                        enum jinja_mark mark)
{
    struct jinja_value value;
    int r = jinja_string_new(run, bytes, n, mark, &value);

    return r ? r : set(run, dict, name, &value);
}

int jinja_dict_set_json(struct jinja_run *run, struct jinja_dict *dict, const char *json, size_t n,
                        enum jinja_mark mark)
{
    struct jinja_value object;
    int r = jinja_json_read(run, json, n, mark, &object);

    if (!r && object.kind != JINJA_DICT) {
        r = jinja_fail(run, "JSON", "expected an object, got '%s'", jinja_value_type(&object));
    }
    return r ? r : jinja_dict_update(run, dict, object.dict);
}

/* ---- rendering */

int jinja_render(struct jinja_run *run)
{
    return jinja_exec(run, run->jinja->body);
}

const struct jinja_out *jinja_run_out(const struct jinja_run *run)
{
    return &run->out;
}

uint32_t jinja_run_line(const struct jinja_run *run)
{
    return run->line;
}

uint64_t jinja_run_steps(const struct jinja_run *run)
{
    return run->steps;
}

bool jinja_run_is_over(const struct jinja_run *run)
{
    return run->is_over;
}

void jinja_run_take_out(struct jinja_run *run, struct jinja_out *ret_out)
{
    *ret_out = run->out;
    run->out = (struct jinja_out){ .max = ret_out->max };
}
