/*
 * Registry: the configured models and the instances that serve them
 *
 * A model is a row of the configuration; an instance is one opened file with its engine and vocabulary. The registry
 * knows nothing of streams, sessions or the dispatcher: it tells them by its sink.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_REGISTRY_H
#define SOTTO_REGISTRY_REGISTRY_H

#include "base/list.h"
#include "child/engine_link.h"
#include "loop/events.h"
#include "loop/text_pool.h"
#include "registry/ticket.h"

struct instance;
struct model_entry;

struct registry_sink {
    /* The instance is new: makes its pins. 0 or -ENOMEM. */
    int (*on_open)(void *owner, struct instance *instance);
    /* The instance's engine takes orders, for the first time or again. */
    void (*on_ready)(void *owner, struct instance *instance);
    /* The instance gets no new request any more; it serves those that it has. */
    void (*on_retire)(void *owner, struct instance *instance);
    /* The instance's requests all end with @code. */
    void (*on_refuse)(void *owner, struct instance *instance, Sotto__V1__Code code, const char *sentence);
    /* The instance gives up its engine, and with that all sequences. */
    void (*on_ending)(void *owner, struct instance *instance);
    /* The engine is gone. Returns the crashes of the last minute that no request is to blame for. */
    uint32_t (*on_lost)(void *owner, struct instance *instance, const struct engine_end *end);
    /* The engine answers an order: all answers but Stats. */
    void (*on_answer)(void *owner, struct instance *instance, const Sotto__Engine__FromEngine *answer);
    /* Figures of an engine have come, or will not come any more. */
    void (*on_figures)(void *owner);
    /* The model is being unloaded. */
    void (*on_unload)(void *owner, struct model_entry *model);
};

/* The limits of engines; zeros are replaced by the defaults. */
struct registry_limits {
    bool guard_allocations; /* tests: engines abort on an allocation inside a step */
    uint32_t pause_ms[3];   /* between restarts of a crashing engine; 0: 100, 1000, 10000 */
    uint32_t load_stall_ms; /* a load without progress is given up; 0: 30000 */
    uint32_t step_floor_ms; /* shortest watchdog of a step; 0: 2000 */
};

struct registry {
    struct events *events;
    struct text_pool *pool;
    struct tickets *tickets;
    const struct registry_sink *sink;
    void *owner;
    struct list models; /* model::link, in the configuration's order */
    char *engine_path;  /* owned */
    char *cpu_mask;     /* owned */
    struct registry_limits limits;
    uint32_t kv_permille; /* share of the pages that engines may use now */
};

/* Copies the strings; the rest is borrowed. 0, or -ENOMEM: registry_finish() is still due. */
int registry_init(struct registry *registry, struct events *events, struct text_pool *pool, struct tickets *tickets,
                  const char *engine_path, const char *cpu_mask);

/* Frees what the registry owns; all instances must be gone. */
void registry_finish(struct registry *registry);

/* Puts @limits in force for engines that start from now on. */
void registry_configure(struct registry *registry, const struct registry_limits *limits);

/* Returns the instance after @instance in the order of the models (NULL: the first one), or NULL behind the last. */
struct instance *registry_next(const struct registry *registry, const struct instance *instance);

/* Tells all engines to use @permille of their pages, and those that start later. */
void registry_limit_pages(struct registry *registry, uint32_t permille);

#endif
