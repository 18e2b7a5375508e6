/*
 * Engine: one model, obeying the orders that come over one socket
 *
 * A control thread owns model, sequences and socket. It takes orders in the order of their coming and runs a step
 * when it is told to; between the parts of a step it looks at what has come since and obeys what can't wait. A step
 * that stands still (Suspend, or its slice is over) leaves the control thread free for other orders. What can't be
 * answered by an outcome of the schema (an order that makes no sense, a fault of the system) is told as Fault, and
 * the engine ends: sottod starts another and rebuilds its sequences.
 *
 * The door is engine_run(); the rest is for the files of this room.
 */
#ifndef SOTTO_ENGINE_ENGINE_H
#define SOTTO_ENGINE_ENGINE_H

#include "engine/link.h"
#include "engine/seq_table.h"
#include "engine/step_reply.h"
#include "model/step.h"

/* Both ends of the socket must be of one build. */
#ifndef SOTTO_BUILD
#define SOTTO_BUILD SOTTO_VERSION
#endif

/* Serves the socket at @fd until Quit or end of file (returns 0), or until a Fault was told (returns 1). @narrow is
 * called once the model is loaded: the process may give up what it needs no more. NULL: nothing. */
int engine_run(int fd, void (*narrow)(void));

enum engine_state {
    ENGINE_GOES_ON,
    ENGINE_QUIT,    /* told so, or nobody is there */
    ENGINE_FAULTED, /* Fault was sent, or could not be */
};

/* A step that the model has begun. */
struct begun {
    bool is_there;
    bool is_fresh; /* it has run no part: it may be withdrawn */
    bool is_slow;  /* and that was told */
    uint64_t id;
    uint32_t slice_us;     /* of Step or Continue; 0: no bound */
    uint32_t estimated_us; /* the whole of it; 0: nobody knows */
    uint64_t held_us;      /* in all runs before this one */
    uint64_t began_us;     /* this run */
};

struct engine {
    struct link link;
    void (*narrow)(void);
    struct model *model; /* owned; NULL until Start */
    struct model_facts facts;
    struct model_figures warm; /* what warming up counted; not told as work */
    struct seq_table seq_table;
    struct step_reply step_reply;
    int fd_memory; /* of /proc/self/statm, kept: nothing is opened later; -1: unknown */
    char kv_format[8];
    bool guards; /* an allocation inside a step aborts */

    enum engine_state end;
    struct begun begun[STEP_MAX];
    struct begun *running;       /* one of them, or NULL */
    struct step_entry *entries;  /* owned; room for the largest step */
    struct peeked_order waiting; /* the next Step, seen behind the running one; n 0: none was */
    bool must_suspend;
    uint32_t limit_slice_us; /* of Limits; 0: no bound */
    uint32_t n_halvings;     /* of the next part, since parts took longer than foretold */
};

/* The sequence that measures, before any of sottod's. */
#define ENGINE_WARM_SEQ UINT32_MAX

/* Tells sottod why the engine ends, and ends it. */
void engine_fault(struct engine *engine, bool hopeless, const char *what);

/* The same for a fault (-errno) that came up from below. */
void engine_fault_of(struct engine *engine, const char *what, int fault);

/* Sends, and ends the engine where nobody is there. */
void engine_send(struct engine *engine, const Sotto__Engine__FromEngine *message);

/* orders.c: obeys one order; and what an urgent one does between parts. */
void engine_obey(struct engine *engine, const Sotto__Engine__ToEngine *order);
void engine_limit(struct engine *engine, uint32_t slice_us, uint64_t kv_bytes);
void engine_withdraw(struct engine *engine, uint64_t step);
void engine_send_withdrawn(struct engine *engine, uint64_t step, bool done);

/* loading.c: opens the model that @start names and answers Ready or Fault. */
void engine_load(struct engine *engine, const Sotto__Engine__Start *start);

/* cost.c: foretells steps by running a few small ones. */
void engine_measure(struct engine *engine, Sotto__Engine__Cost *ret_cost);

/* running.c: runs a begun step until it is done or stands still, and answers. @from_us: when the order for it was
 * obeyed. */
void engine_run_step(struct engine *engine, struct begun *begun, uint64_t from_us);
struct begun *engine_find_begun(struct engine *engine, uint64_t id); /* or NULL */

/* drm.c: what this process has open of graphics devices. Empty, if it has none or can't know. */
#define ENGINE_DRM_MOST 16
size_t engine_find_drm(Sotto__Engine__DrmClient clients[ENGINE_DRM_MOST]);
bool engine_read_drm_id(const char *info, uint64_t *ret_id); /* from the lines of a descriptor; false: it has none */

/* stats.c: answers Query. */
void engine_send_stats(struct engine *engine);

#endif
