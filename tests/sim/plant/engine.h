/*
 * Engine: computes nothing, in the time that computing would take
 *
 * It keeps the contract of proto/sotto/engine.proto towards the dispatch. There are at most two begun steps, of which
 * one runs, and one that waits behind it. A step is cut into parts and looks at its orders between them. It is
 * suspended when its slice is used up or by order, and goes on from there. Orders and answers are delayed and never
 * overtake each other, so a withdrawal may come too late and a suspension may find the step ended.
 *
 * What it is asked is checked against what it knows of its sequences: a prompt row that it does not have, or a token
 * after a missing one, counts as a breach of the contract.
 */
#ifndef SOTTO_SIM_ENGINE_H
#define SOTTO_SIM_ENGINE_H

#include "plant/engine_mail.h"
#include "plant/gpu.h"

#define ENGINE_PAGE_TOKENS 16u
#define ENGINE_BEGUN       2u
#define ENGINE_STEPS       (ENGINE_BEGUN + 1u)
#define ENGINE_SEQUENCES   128u
#define ENGINE_REFUSALS    8u /* their Close may still be on the way */

struct engine_sequence {
    uint32_t number; /* the server's; 0: free */
    uint32_t n_known;
    uint32_t n_done;
    uint32_t n_pages; /* promised */
    bool is_closed;   /* and held, since a step names it */
};

struct engine_step {
    struct engine_work *work; /* NULL: unused */
    double left_ns;           /* of work at the full clock */
    uint32_t slice_us;
    uint64_t ordered_ns; /* when the order was sent by which it runs */
    bool begun;
};

struct engine {
    struct timeline *timeline;
    const struct scenario *scenario;
    const struct scenario_engine *family;
    struct gpu *gpu;
    struct rng rng;
    struct rng rng_submit; /* of submissions and slow steps */
    uint32_t number;

    struct engine_mail orders;
    struct engine_mail answers;

    struct engine_step steps[ENGINE_STEPS];
    struct engine_step *running; /* NULL: nothing runs or waits for the device */
    struct gpu_user user;
    struct timeline_event run_end;
    uint64_t asked_ns;  /* for the device */
    uint64_t waits_ns;  /* since when it waits for it, a stall left out */
    uint64_t waited_ns; /* in the present run */
    uint64_t worked_ns; /* in the present run, before a stall */
    uint64_t run_from_ns;
    uint64_t run_to_ns;
    double submit_ns; /* of the present run, before its first part */
    double run_rate;
    double part_ns; /* of the present run, by the clock */
    bool is_told_to_stop;
    double held_ns; /* by all runs */

    struct engine_sequence sequences[ENGINE_SEQUENCES];
    uint32_t refused[ENGINE_REFUSALS]; /* the last ones */
    uint32_t n_refused;
    uint32_t n_pages_free;
    uint32_t n_open;
    bool is_alive;
    bool is_stalled;
    uint64_t n_breaches;
    const char *breach; /* of the last */

    /* Passes an answer to sottod. */
    void (*on_answer)(void *owner, struct engine *engine, const struct engine_message *answer);
    void (*on_run)(void *owner, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns);
    void *owner;
};

void engine_init(struct engine *engine, struct timeline *timeline, const struct scenario *scenario, struct gpu *gpu,
                 uint32_t number);
void engine_finish(struct engine *engine);

/* Sends an order. @work passes to the engine. */
void engine_send(struct engine *engine, const struct engine_message *order);

/* The engine dies with all it has. */
void engine_die(struct engine *engine);
void engine_restart(struct engine *engine);

/* Stalls the engine with its device, or lets it go on. */
void engine_stall(struct engine *engine, bool is_stalled);

/* Returns the time that its work had the device or the cores, including the present run. */
double engine_held_ns(const struct engine *engine);

/* True if all sequences of what it runs are closed, so that it ends with its part. */
bool engine_is_pointless(struct engine *engine);

/*
 * Returns the true time of @load at the full clock, without noise. Of several steps together, load->n[COST_FIXED] of
 * them, it is what they take at most.
 */
double engine_true_ns(const struct scenario_engine *family, const struct cost_load *load);

#endif
