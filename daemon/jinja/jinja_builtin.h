/*
 * Jinja builtins: filters, tests, methods and functions are rows of tables
 *
 * A row names its parameters, the subject (what stands before the bar or the dot) among them; callers by position and
 * by keyword come out alike.
 */
#ifndef SOTTO_JINJA_JINJA_BUILTIN_H
#define SOTTO_JINJA_JINJA_BUILTIN_H

#include "jinja/jinja_value.h"

#define JINJA_PARAMS_MAX 6

struct jinja_args {
    struct jinja_value *values;
    size_t n;
    struct jinja_dict *named; /* by keyword, or NULL */
};

/* Where the row names parameters, args->values has one value for each, absent ones as jinja_absent(), and no @named. */
typedef int (*jinja_builtin_fn)(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret);

struct jinja_builtin {
    const char *name;
    jinja_builtin_fn call;
    uint8_t n_required;
    bool is_free; /* takes arguments as they come */
    const char *params[JINJA_PARAMS_MAX];
};

struct jinja_builtins {
    const struct jinja_builtin *rows;
    size_t n;
};

/* The tables, each in its file. */
extern const struct jinja_builtins jinja_filters_text;   /* jinja_filter_text.c */
extern const struct jinja_builtins jinja_filters_list;   /* jinja_filter_list.c */
extern const struct jinja_builtins jinja_filters_pick;   /* jinja_filter_pick.c */
extern const struct jinja_builtins jinja_tests;          /* jinja_test.c */
extern const struct jinja_builtins jinja_globals;        /* jinja_global.c */
extern const struct jinja_builtins jinja_methods_str;    /* jinja_method_str.c */
extern const struct jinja_builtins jinja_methods_str_is; /* jinja_method_is.c */
extern const struct jinja_builtins jinja_methods_dict;   /* jinja_method.c */
extern const struct jinja_builtins jinja_methods_list;
extern const struct jinja_builtins jinja_methods_loop;

/* NULL: not known. */
const struct jinja_builtin *jinja_builtin_filter(const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_test(const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_global(const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_method(const struct jinja_value *self, const struct jinja_string *name);

/* Brings @args into the order of the row's parameters and calls. */
int jinja_builtin_call(struct jinja_run *run, const struct jinja_builtin *builtin, const struct jinja_args *args,
                       struct jinja_value *ret);

/* Filters and tests by a name that is known only now, as map() and select() take them. */
int jinja_builtin_call_filter(struct jinja_run *run, const struct jinja_string *name, const struct jinja_args *args,
                              struct jinja_value *ret);
int jinja_builtin_call_test(struct jinja_run *run, const struct jinja_string *name, const struct jinja_args *args,
                            bool *ret);

/* ---- what builtins take from their arguments. JINJA_FAILED: a TypeError */

/* @value as a string: itself, or str() of it. */
int jinja_args_text(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret);

/* A string, or NULL where it is absent or none; other kinds are refused. */
int jinja_args_string(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret);

/* An integer, or @fallback where it is absent or none. */
int jinja_args_int(struct jinja_run *run, const struct jinja_value *value, int64_t fallback, int64_t *ret);

#endif
