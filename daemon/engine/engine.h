/*
 * Engine: one model, obeying orders that arrive over one socket
 *
 * A control thread owns the model, its sequences and the socket. It obeys orders in the order of arrival and runs a
 * step when it is told to. Between the parts of a step it peeks at the orders that have arrived since, and obeys the
 * urgent ones. A suspended step (Suspend, or its slice is over) leaves the control thread free for other orders. Where
 * the schema has no outcome (an order that makes no sense, a fault of the system), the engine reports a Fault and ends;
 * sottod starts another one and rebuilds its sequences.
 *
 * engine_run() is the public function; the rest is for the files of this module.
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

/* Serves the socket at @fd until Quit or end of file (returns 0), or until it has reported a Fault (returns 1). Calls
 * @narrow, if not NULL, once the model is loaded: the process may then give up what it no longer needs. */
int engine_run(int fd, void (*narrow)(void));

enum engine_run_state {
    ENGINE_GOES_ON,
    ENGINE_QUIT,    /* by Quit, or because the other end is gone */
    ENGINE_FAULTED, /* a Fault was sent, or could not be */
};

/* A step that the model has begun. */
struct begun {
    bool is_there;
    bool is_fresh; /* it has run no part, so it may be withdrawn */
    bool is_slow;  /* Slow was sent */
    uint64_t id;
    uint32_t slice_us;     /* of Step or Continue; 0: no bound */
    uint32_t estimated_us; /* for all of it; 0: unknown */
    uint64_t held_us;      /* the processor, in all runs before this one */
    uint64_t began_us;     /* this run */
    uint64_t waited_us;    /* in this run, for others to leave the processor */
};

struct engine {
    struct link link;
    void (*narrow)(void);
    struct model *model; /* owned; NULL until Start */
    struct model_facts facts;
    struct model_figures warm; /* counted while warming up; not reported as work */
    struct seq_table seq_table;
    struct step_reply step_reply;
    int fd_memory; /* /proc/self/statm, kept open since nothing is opened later; -1: unknown */
    char kv_format[8];
    bool guards; /* an allocation inside a step aborts */

    enum engine_run_state end;
    struct begun begun[STEP_MAX];
    struct begun *running;       /* one of them, or NULL */
    struct step_entry *entries;  /* owned; room for the largest step */
    struct peeked_order waiting; /* the next Step in the queue; n 0: none */
    bool must_suspend;
    uint32_t limit_slice_us; /* of Limits; 0: no bound */
    uint32_t n_halvings;     /* of the next part, since parts took longer than estimated */
};

/* Id of the measuring sequence, which ends before sottod opens any. */
#define ENGINE_WARM_SEQ UINT32_MAX

/* ---- send.c ---- */

/* Sends @message. Ends the engine if the other end is gone. */
void engine_send(struct engine *engine, const Sotto__Engine__FromEngine *message);

/* Reports to sottod why the engine ends, and ends it. With @hopeless a new start would end the same way. */
void engine_fault(struct engine *engine, bool hopeless, const char *what);

/* Reports a fault (-errno) from below, and ends the engine. */
void engine_fault_of(struct engine *engine, const char *what, int fault);

/* ---- running.c ---- */

/* Runs a begun step until it is done or suspended, and answers. @from_us: when its order was obeyed. */
void engine_run_step(struct engine *engine, struct begun *begun, uint64_t from_us);

/* Returns the begun step @id, or NULL. */
struct begun *engine_find_begun(struct engine *engine, uint64_t id);

/* Withdraws begun step @step if it has run no part, and answers. */
void engine_withdraw(struct engine *engine, uint64_t step);

/* Answers that @step was withdrawn, or (@done false) that it was not. */
void engine_send_withdrawn(struct engine *engine, uint64_t step, bool done);

/* Puts Limits in force: @slice_us of a run (0: no bound), @kv_bytes of pages in use (0: no bound). */
void engine_limit(struct engine *engine, uint32_t slice_us, uint64_t kv_bytes);

/* ---- orders.c, loading.c, cost.c, stats.c ---- */

/* Obeys one order. */
void engine_obey(struct engine *engine, const Sotto__Engine__ToEngine *order);

/* Opens the model that @start names and answers Ready or Fault. */
void engine_load(struct engine *engine, const Sotto__Engine__Start *start);

/* Estimates the cost of steps by running a few small ones. */
void engine_measure(struct engine *engine, Sotto__Engine__Cost *ret_cost);

/* Answers Query. */
void engine_send_stats(struct engine *engine);

/* ---- drm.c ---- */

#define ENGINE_DRM_MOST 16

/* Lists the graphics device clients of this process; none if it has none or cannot know. Returns their number. */
size_t engine_find_drm(Sotto__Engine__DrmClient clients[ENGINE_DRM_MOST]);

/* Reads the client id from the lines of a descriptor's fdinfo. Returns false if there is none. */
bool engine_read_drm_id(const char *info, uint64_t *ret_id);

#endif
