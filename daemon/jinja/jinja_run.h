/*
 * Jinja run: what one rendering owns, and the few things that all parts of the interpreter ask of it
 *
 * Every function that takes a run gives 0, JINJA_FAILED (then @diag stands), JINJA_CANCELLED or -ENOMEM. The run is
 * over then: nobody undoes anything, all goes with the arena. These outcomes are the room's own and are passed up
 * as they are.
 *
 * The output is one buffer whose end is everybody's scratch: who builds a text (a macro, a join, a repr) remembers
 * how long the output is, writes, and takes what came behind as a value.
 */
#ifndef SOTTO_JINJA_JINJA_RUN_H
#define SOTTO_JINJA_JINJA_RUN_H

#include "base/arena.h"
#include "jinja/jinja_value.h"

struct jinja_node;

/* A variable of a scope. Names are the template's own strings: equal names are one pointer. */
struct jinja_var {
    struct jinja_var *next;
    const struct jinja_string *name;
    struct jinja_value value;
};

/* In the arena: a macro may outlive the loop that it was defined in. */
struct jinja_scope {
    struct jinja_scope *parent;
    struct jinja_var *vars;
};

struct jinja_macro {
    const struct jinja_node *node; /* JINJA_MACRO_DEF or JINJA_CALL_BLOCK */
    struct jinja_scope *scope;     /* where it was defined */
};

struct jinja_loop {
    const struct jinja_list *list; /* what is gone through, filtered already */
    size_t at;
    uint32_t depth0;
    const struct jinja_node *node; /* for recursive loops, else NULL */
    struct jinja_scope *scope;
    struct jinja_value last_changed; /* argument of the last changed() */
};

enum jinja_flow { JINJA_FLOW_ON, JINJA_FLOW_BREAK, JINJA_FLOW_CONTINUE };

struct jinja_run {
    struct arena arena;
    const struct jinja *jinja;
    struct jinja_dict *context; /* variables from outside */
    struct jinja_scope *scope;
    enum jinja_flow flow;
    struct jinja_out out;
    struct jinja_limits limits;
    uint64_t steps;
    uint64_t look_at; /* at so many steps: the ceiling and the cancel flag */
    uint32_t depth;   /* of our own recursion */
    uint32_t line;
    struct tm now;
    bool has_now;
    const atomic_bool *cancel;
    struct diag *diag;
};

/* Our own stack is 8 MiB; a level takes below 1 KiB of it, 3 KiB under a sanitizer. */
#define JINJA_DEPTH_MAX 1200u

/* Says "@kind: sentence" and gives JINJA_FAILED. */
int jinja_fail(struct jinja_run *run, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a value that is not there, in the words that it deserves. */
int jinja_fail_undefined(struct jinja_run *run, const struct jinja_value *value);

/* Counts @n steps. JINJA_FAILED, JINJA_CANCELLED. */
int jinja_run_count(struct jinja_run *run, uint64_t n);

/* Before and after going one level down. JINJA_FAILED: too deep. */
int jinja_run_enter(struct jinja_run *run);
void jinja_run_leave(struct jinja_run *run);

/* NULL: then jinja_fail_full() is what to return. */
void *jinja_run_alloc(struct jinja_run *run, size_t size);
int jinja_fail_full(struct jinja_run *run);

/* ---- the end of the output */

int jinja_out_write(struct jinja_run *run, const void *bytes, size_t n, enum jinja_mark mark);
int jinja_out_text(struct jinja_run *run, const char *text, enum jinja_mark mark);
int jinja_out_part(struct jinja_run *run, const struct jinja_string *string, size_t from, size_t n);
int jinja_out_string(struct jinja_run *run, const struct jinja_string *string);

/* Takes what was written behind @from as a string, off the output. */
int jinja_out_take(struct jinja_run *run, size_t from, struct jinja_value *ret);

/* ---- variables */

/* Sets it in the innermost scope. */
int jinja_run_assign(struct jinja_run *run, const struct jinja_string *name, const struct jinja_value *value);

/* NULL: no scope has it, nor has the context. */
const struct jinja_value *jinja_run_lookup(const struct jinja_run *run, const struct jinja_string *name);

/* A scope in front of @parent; the caller puts the old one back. */
int jinja_run_push_scope(struct jinja_run *run, struct jinja_scope *parent);

#endif
