/*
 * Jinja library: filters, tests, methods and functions are rows of tables
 *
 * A row names its parameters; the subject (what stands before the bar or the dot) is the first of them. Arguments by
 * position and by keyword are brought into the order of the row before its function is called. The interpreter reaches
 * the tables through struct jinja_library alone, so that a filter may call the interpreter without a circle.
 */
#ifndef SOTTO_JINJA_JINJA_BUILTIN_H
#define SOTTO_JINJA_JINJA_BUILTIN_H

#include "jinja/jinja_value.h"

#define JINJA_PARAMS_MAX 5

struct jinja_args {
    struct jinja_value *values;
    size_t n;
    struct jinja_dict *named; /* by keyword, or NULL */
    int variant;              /* of the row */
};

/* Where the row names parameters, args->values has one value for each, absent ones as jinja_absent(), and @named is
 * NULL. */
typedef int (*jinja_builtin_fn)(struct jinja_run *run, const struct jinja_args *args, struct jinja_value *ret);

struct jinja_builtin {
    const char *name; /* NULL ends a table */
    jinja_builtin_fn call;
    int variant; /* tells rows of one function apart */
    uint8_t n_required;
    const char *params[JINJA_PARAMS_MAX]; /* none: the function takes its arguments as they come */
};

#define JINJA_FILTER_TABLES 3

struct jinja_library {
    const struct jinja_builtin *filters[JINJA_FILTER_TABLES];
    const struct jinja_builtin *tests;
    const struct jinja_builtin *globals;
    const struct jinja_builtin *methods[JINJA_KIND_COUNT]; /* by the kind of the subject, or NULL */
};

extern const struct jinja_library jinja_library_all; /* jinja_library.c */

/* The tables, each in its file. */
extern const struct jinja_builtin jinja_filters_text[];   /* jinja_filter_text.c */
extern const struct jinja_builtin jinja_filters_number[]; /* jinja_filter_number.c */
extern const struct jinja_builtin jinja_filters_list[];   /* jinja_filter_list.c */
extern const struct jinja_builtin jinja_tests[];          /* jinja_test.c */
extern const struct jinja_builtin jinja_globals[];        /* jinja_global.c */
extern const struct jinja_builtin jinja_methods_str[];    /* jinja_method_str.c */
extern const struct jinja_builtin jinja_methods_dict[];   /* jinja_method.c */
extern const struct jinja_builtin jinja_methods_list[];
extern const struct jinja_builtin jinja_methods_loop[];

/* Return the row, or NULL for an unknown name. */
const struct jinja_builtin *jinja_builtin_filter(const struct jinja_library *library, const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_test(const struct jinja_library *library, const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_global(const struct jinja_library *library, const struct jinja_string *name);
const struct jinja_builtin *jinja_builtin_method(const struct jinja_library *library, enum jinja_kind kind,
                                                 const struct jinja_string *name);

/* Brings @args into the order of the row's parameters and calls its function. */
int jinja_builtin_call(struct jinja_run *run, const struct jinja_builtin *builtin, const struct jinja_args *args,
                       struct jinja_value *ret);

/* ---- reading arguments. JINJA_FAILED: a TypeError */

/* @value as a string: itself, or str() of it. */
int jinja_args_text(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret);

/* A string, or NULL where @value is absent or none; other kinds are refused. */
int jinja_args_string(struct jinja_run *run, const struct jinja_value *value, const struct jinja_string **ret);

/* An integer, or @fallback where @value is absent or none. */
int jinja_args_int(struct jinja_run *run, const struct jinja_value *value, int64_t fallback, int64_t *ret);

#endif
