/*
 * Jinja: an interpreter for chat templates
 *
 * It runs the language of Jinja 3.1 as chat templates use it, with the settings of the transformers library
 * (trim_blocks, lstrip_blocks, loop controls, the immutable sandbox, tojson without escapes for HTML). A template is
 * compiled once into a read-only tree, and rendered by a run that owns its memory.
 *
 * A template is an untrusted program, and the messages that it reads are untrusted data. A run counts its steps and
 * bytes and fails with a sentence at a ceiling; it reaches no file, no clock but the one it is given, and no code.
 * Every byte of the output is marked as coming from the template or from the request: see struct jinja_out.
 *
 * Failures have the words of Python ("TypeError: can only concatenate str (not "list") to str"). Not supported:
 * inheritance and inclusion (extends, block, include, import), integers beyond 64 bits, automatic escapes, and the
 * filters that make HTML. This header is the only one of the module that other modules include.
 */
#ifndef SOTTO_JINJA_JINJA_H
#define SOTTO_JINJA_JINJA_H

#include "base/diag.h"
#include "base/mem.h"
#include <stdatomic.h>
#include <time.h>

struct jinja; /* read-only once compiled: any thread */
struct jinja_run;
struct jinja_list;
struct jinja_dict;

enum jinja_outcome {
    JINJA_OK,
    JINJA_FAILED,    /* the template is refused, raises an exception or reaches a ceiling: @diag */
    JINJA_CANCELLED, /* *cancel became true */
};

/* The largest published template has about 20 KiB. */
#define JINJA_SOURCE_MAX (256u << 10)

/* Compiles @n bytes of source. JINJA_FAILED: a syntax error, with the line in @diag; or -ENOMEM. */
int jinja_compile(struct jinja **ret_jinja, const char *source, size_t n, struct diag *diag);
void jinja_destroy(struct jinja *jinja);
void jinja_destroyp(struct jinja **jinja);

/* The ceilings of a run. A step is a node of the tree, an element, or 64 bytes of text. */
struct jinja_limits {
    uint64_t steps;
    size_t memory_bytes; /* of values */
    size_t output_bytes; /* of the output, and of every text on the way */
};

/* About 200 ms of one core; published templates take less than a thousand steps a message. */
#define JINJA_STEPS_MAX  4000000u
#define JINJA_MEMORY_MAX (64u << 20)
#define JINJA_OUTPUT_MAX (16u << 20)

#define JINJA_LIMITS                                                                                                   \
    {                                                                                                                  \
        .steps = JINJA_STEPS_MAX, .memory_bytes = JINJA_MEMORY_MAX, .output_bytes = JINJA_OUTPUT_MAX                   \
    }

/* Where a byte of text comes from. */
enum jinja_mark {
    JINJA_SCAFFOLD, /* the template: it may spell control tokens */
    JINJA_FOREIGN,  /* messages, tools, variables, or their punctuation: they may not */
};

/* The rendered text; marks[i] (enum jinja_mark) belongs to bytes[i]. */
struct jinja_out {
    uint8_t *bytes; /* owned */
    uint8_t *marks; /* owned */
    size_t n;
    size_t cap;
    size_t max;
};

/*
 * A run is created, given its variables, rendered once, read and destroyed, all by one thread. @jinja outlives it. @now
 * is the present time of the template (NULL: strftime_now() is refused); @cancel may be NULL. 0 or -ENOMEM.
 */
int jinja_run_create(struct jinja_run **ret_run, const struct jinja *jinja, const struct jinja_limits *limits,
                     const struct tm *now, const atomic_bool *cancel, struct diag *diag);
void jinja_run_destroy(struct jinja_run *run);
void jinja_run_destroyp(struct jinja_run **run);

/* ---- variables. @mark says where the text comes from; a name that is set again has the last value. All of these
 * return JINJA_OK, JINJA_FAILED, JINJA_CANCELLED or -ENOMEM */

int jinja_set_none(struct jinja_run *run, const char *name);
int jinja_set_bool(struct jinja_run *run, const char *name, bool truth);
int jinja_set_text(struct jinja_run *run, const char *name, const char *bytes, size_t n, enum jinja_mark mark);

/* Each member of a JSON object becomes a variable. */
int jinja_set_json(struct jinja_run *run, const char *json, size_t n, enum jinja_mark mark);

/* Each member of the variable @name becomes a variable, if it is a dictionary. */
int jinja_set_members(struct jinja_run *run, const char *name);

/* The variable becomes a new list, which the run owns. */
int jinja_set_list(struct jinja_run *run, const char *name, struct jinja_list **ret_list);

/* Appends a new dictionary, or the value that the JSON text is. */
int jinja_list_add_dict(struct jinja_run *run, struct jinja_list *list, struct jinja_dict **ret_dict);
int jinja_list_add_json(struct jinja_run *run, struct jinja_list *list, const char *json, size_t n,
                        enum jinja_mark mark);

/* Set one member of a dictionary, or all members of a JSON object. */
int jinja_dict_set_text(struct jinja_run *run, struct jinja_dict *dict, const char *name, const char *bytes, size_t n,
                        enum jinja_mark mark);
int jinja_dict_set_json(struct jinja_run *run, struct jinja_dict *dict, const char *json, size_t n,
                        enum jinja_mark mark);

/* ---- rendering */

/* JINJA_OK, JINJA_FAILED, JINJA_CANCELLED, or -ENOMEM. */
int jinja_render(struct jinja_run *run);
const struct jinja_out *jinja_run_out(const struct jinja_run *run);
uint32_t jinja_run_line(const struct jinja_run *run);  /* line of the template that was executed last, from 1 */
uint64_t jinja_run_steps(const struct jinja_run *run); /* taken so far */
bool jinja_run_is_over(const struct jinja_run *run);   /* it failed at a ceiling of its limits */

/* Gives the output away: the caller frees the two arrays of *ret_out. */
void jinja_run_take_out(struct jinja_run *run, struct jinja_out *ret_out);

#endif
