/*
 * Jinja: chat templates as the programs they are
 *
 * The language of Jinja 3.1 as chat templates use it, with the settings that the models' authors have in front of them
 * (trim_blocks, lstrip_blocks, loop controls, the immutable sandbox, tojson without escapes for HTML). A template is
 * compiled once into a tree that nothing changes afterwards, and rendered by a run that owns its memory.
 *
 * A template is a program from a stranger, and so are the messages that it reads. A run counts its steps and bytes and
 * ends with a sentence when a ceiling is reached; it reaches no file, no clock but the one given, and no code.
 * Every byte of the output knows whether it comes from the template or from the request: see struct jinja_out.
 *
 * What Python would say when it refuses ("TypeError: can only concatenate str (not "list") to str") we say in the same
 * words. Missing: inheritance and inclusion (extends, block, include, import), integers beyond 64 bits, automatic
 * escapes, and the filters that make HTML.
 */
#ifndef SOTTO_JINJA_JINJA_H
#define SOTTO_JINJA_JINJA_H

#include "base/diag.h"
#include "base/mem.h"
#include <stdatomic.h>
#include <time.h>

struct jinja; /* read-only once compiled: any thread */
struct jinja_run;
struct jinja_value;

enum jinja_outcome {
    JINJA_OK,
    JINJA_FAILED,    /* the template says no, or a ceiling was reached: @diag */
    JINJA_CANCELLED, /* *cancel became true */
};

/* The largest published template has some 20 KiB. */
#define JINJA_SOURCE_MAX (256u << 10)

/* Compiles @n bytes of source. JINJA_FAILED: no template that can be run, @diag has the line; or -ENOMEM. */
int jinja_compile(struct jinja **ret_jinja, const char *source, size_t n, struct diag *diag);
void jinja_destroy(struct jinja *jinja);
void jinja_destroyp(struct jinja **jinja);
uint64_t jinja_bytes(const struct jinja *jinja); /* memory held */

/* What a run may take. A step is a node of the tree, an element, or 64 bytes of text. */
struct jinja_limits {
    uint64_t steps;
    size_t memory_bytes; /* of values */
    size_t output_bytes; /* of the output, and of every text on the way */
};

/* Some 200 ms of one core; published templates take below a thousand steps a message. */
#define JINJA_STEPS_MAX  4000000u
#define JINJA_MEMORY_MAX (64u << 20)
#define JINJA_OUTPUT_MAX (16u << 20)

#define JINJA_LIMITS                                                                                                   \
    {                                                                                                                  \
        .steps = JINJA_STEPS_MAX, .memory_bytes = JINJA_MEMORY_MAX, .output_bytes = JINJA_OUTPUT_MAX                   \
    }

/* Where a byte of text comes from. */
enum jinja_mark {
    JINJA_SCAFFOLD, /* the template: may spell control tokens */
    JINJA_FOREIGN,  /* messages, tools, variables, or how they are written down: never may */
};

/* The text that was rendered: marks[i] (enum jinja_mark) tells of bytes[i]. */
struct jinja_out {
    uint8_t *bytes; /* owned */
    uint8_t *marks; /* owned */
    size_t n;
    size_t cap;
    size_t max;
};

/*
 * A run: made, given its variables, rendered once, read, destroyed. One thread. @jinja outlives it. @now is what the
 * template takes for the present (NULL: strftime_now() is refused); @cancel may be NULL. -ENOMEM.
 */
int jinja_run_create(struct jinja_run **ret_run, const struct jinja *jinja, const struct jinja_limits *limits,
                     const struct tm *now, const atomic_bool *cancel, struct diag *diag);
void jinja_run_destroy(struct jinja_run *run);
void jinja_run_destroyp(struct jinja_run **run);

/* Variables. @mark says whose text it is. The last one of a name counts. Outcomes as jinja_render(). */
int jinja_set(struct jinja_run *run, const char *name, const struct jinja_value *value);
int jinja_set_text(struct jinja_run *run, const char *name, const char *bytes, size_t n, enum jinja_mark mark);
int jinja_set_none(struct jinja_run *run, const char *name);
int jinja_set_bool(struct jinja_run *run, const char *name, bool truth);

/* Each member of a JSON object becomes a variable. */
int jinja_set_json(struct jinja_run *run, const char *json, size_t n, enum jinja_mark mark);

/* JINJA_FAILED, JINJA_CANCELLED, or -ENOMEM. */
int jinja_render(struct jinja_run *run);
const struct jinja_out *jinja_run_out(const struct jinja_run *run);
uint32_t jinja_run_line(const struct jinja_run *run);  /* of the template, where it stands or has failed */
uint64_t jinja_run_steps(const struct jinja_run *run); /* taken so far */

#endif
