/*
 * Jinja run: what one rendering owns, and its ceilings
 */
#ifndef SOTTO_JINJA_JINJA_RUN_H
#define SOTTO_JINJA_JINJA_RUN_H

#include "base/arena.h"
#include "jinja/jinja_value.h"

struct jinja_node;
struct jinja_scope;

struct jinja_macro {
    const struct jinja_node *node; /* JINJA_MACRO_DEF or JINJA_CALL_BLOCK */
    struct jinja_scope *scope;     /* where it was defined */
};

struct jinja_loop {
    const struct jinja_list *list; /* the elements that passed the loop's condition */
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
    uint64_t check_at; /* number of steps at which the ceiling and the cancel flag are checked next */
    uint32_t depth;    /* of the interpreter's own recursion */
    uint32_t line;
    struct tm now;
    bool has_now;
    bool is_over; /* it failed at one of @limits */
    const atomic_bool *cancel;
    struct diag *diag;
};

/* The thread's stack is 8 MiB; a level takes less than 1 KiB of it, 3 KiB under a sanitizer. */
#define JINJA_DEPTH_MAX 1200u

/* Counts @n steps. JINJA_FAILED at the ceiling, or JINJA_CANCELLED. */
int jinja_run_count(struct jinja_run *run, uint64_t n);

/* Called before and after the interpreter recurses. JINJA_FAILED: too deep. */
int jinja_run_enter(struct jinja_run *run);
void jinja_run_leave(struct jinja_run *run);

/* Memory of the arena, or NULL: the caller returns jinja_fail_full(). */
void *jinja_run_alloc(struct jinja_run *run, size_t size);

#endif
