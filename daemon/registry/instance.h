/*
 * Instance: one model file as it was opened, and the engine that serves it
 *
 * The descriptor is opened once; every engine that is started for the instance reads the same file, whatever lies at
 * the path by then. An engine that is lost is started again, after the pauses that blame asks for, and the streams go
 * on. What the loader refuses ends the instance; what crashes the loader is tried three times. An instance that is told
 * to end does not wait for its streams: the caller ends them.
 *
 * The loop's thread. Freed when its engine is gone and no reference is left.
 */
#ifndef SOTTO_REGISTRY_INSTANCE_H
#define SOTTO_REGISTRY_INSTANCE_H

#include "base/map.h"
#include "child/engine_link.h"
#include "loop/text_pool.h"
#include "registry/blame.h"
#include "registry/identity.h"
#include "registry/pin.h"
#include "registry/registry.h"
#include "sched/queue.h"

enum instance_state {
    INSTANCE_LOADING,    /* its first engine loads, or rests before the next try */
    INSTANCE_READY,      /* serves */
    INSTANCE_RECOVERING, /* its engine was lost; the next one rests or loads */
    INSTANCE_ENDING,     /* its engine is told to quit, or has failed for good */
    INSTANCE_STATE_COUNT,
};

/* Open descriptors of devices that an engine reports, at most. */
#define INSTANCE_DRM_CLIENTS 16u

struct instance_drm_client {
    uint32_t minor;
    uint64_t id;
};

/* The engine's last Ready; strings are cut where they are longer than anything known. */
struct instance_facts {
    char architecture[32];
    char format[32];
    char backend[32];
    char numerics[64];
    uint64_t n_parameters;
    uint32_t n_vocab; /* rows of the output */
    uint32_t n_context;
    uint32_t n_trained;
    uint32_t n_hidden;    /* values of an embedding; 0: not made for it */
    bool shares_prefixes; /* false: its sequences have a state that no prefix gives back */
    uint32_t n_page_tok;
    uint32_t kv_token_bytes;
    uint32_t n_pages;
    uint64_t load_us;
    struct instance_drm_client drm_clients[INSTANCE_DRM_CLIENTS]; /* the engine's, as the kernel numbers them */
    uint32_t n_drm_clients;
};

/* The figures of the engine that runs now, as last reported. */
struct instance_figures {
    uint64_t n_steps;
    uint64_t n_tok;
    uint64_t n_rows;
    uint64_t n_weight_passes;
    uint64_t n_step_allocs;
    uint64_t n_drafts; /* tokens drafted */
    uint64_t n_drafts_accepted;
    uint32_t n_sequences;
    uint32_t n_pages_free;
    uint32_t n_pages_cached;
    uint32_t n_pages_held;
    uint64_t n_pages_evicted; /* cached ones that had to go */
    uint64_t rss_bytes;
    uint64_t rss_file_bytes;
    struct {
        char kind[24];
        uint64_t bytes;
        uint64_t peak_bytes;
    } memory[MEM_KIND_COUNT];
    uint32_t n_memory;
};

/* Tells the model that opened the instance. */
struct instance_sink {
    void (*on_progress)(struct instance *instance);
    void (*on_ready)(struct instance *instance);
    /* The instance has failed for good, and @sentence says why. @by_file: the file is not tried again before it is
     * another or an administrator asks; else (no memory, no descriptors, engines that were lost) a request may try it
     * again after the longest of the pauses between starts. */
    void (*on_failed)(struct instance *instance, bool by_file, const char *sentence);
    /* The last stream or job of the instance has left. */
    void (*on_idle)(struct instance *instance);
    /* It is about to be freed. */
    void (*on_gone)(struct instance *instance);
};

struct instance {
    struct list link;    /* model::instances */
    struct list streams; /* stream::instance_link */
    struct registry *registry;
    struct model_entry *model; /* outlives it */
    const struct instance_sink *sink;
    enum instance_state state;
    uint32_t n_refs; /* streams and jobs that use the vocabulary */

    struct model_settings settings; /* those that it was opened with: a reload changes the next one only */
    char *strings;                  /* owned, of the settings */
    int fd;
    struct identity identity;
    struct engine_link *engine; /* NULL between two engines */
    uv_timer_t rest;            /* the pause before the next start */
    struct engine_queue eq;
    struct blame blame;
    uint32_t n_tries;     /* crashes while loading, in a row */
    bool is_closed;       /* rest is closed or being closed */
    uint64_t troubled_us; /* when crashes that no request is to blame for became too many; 0: never */

    struct vocab *vocab; /* NULL until it is read, which happens while the first engine loads */
    struct chat *chat;   /* NULL: chat_diag has the reason */
    struct diag chat_diag;
    struct text_job *head_job; /* reads the vocabulary; NULL: not begun, or done */
    struct diag head_diag;     /* the sentence of a refused vocabulary, for when the engine has accepted the file */
    uint32_t *never;           /* owned; ids that must not be sampled */
    size_t n_never;

    struct instance_facts facts;
    struct instance_figures figures;
    float load_fraction;
    char load_phase[32];

    struct map sequences;   /* number to stream */
    uint32_t last_sequence; /* numbers are never used again, not even by the next engine */
    uint32_t n_opening;     /* Open sent and not answered */
    bool opening_alone;     /* the sequence that is being opened is a suspect's */
    bool owes_figures;      /* was asked for Stats */
    bool is_pressed;        /* its engine was told to use fewer pages than it has */

    struct list pins; /* pin::link, in the settings' order */
    bool pins_due;    /* the next tick looks after them */
};

/*
 * Opens the model's configured file and starts its first engine. Above 0: refused (no such file, not a regular one),
 * with the reason in @diag; below: a fault.
 */
int instance_open(struct instance **ret_instance, struct model_entry *model, const struct instance_sink *sink,
                  struct diag *diag);

/* Ends the instance: its engine quits (or is killed, with @now); no other is started. Its streams must be gone, or be
 * ended. */
void instance_end(struct instance *instance, bool now);

void instance_ref(struct instance *instance);
void instance_unref(void *instance); /* of a text_job, too */

bool instance_is_ready(const struct instance *instance);

/* Returns whether within the last minute more of its engines were lost than any request is to blame for. */
bool instance_is_troubled(const struct instance *instance);

/* Returns whether its engine takes orders now. */
static inline bool instance_takes_orders(const struct instance *instance)
{
    return instance->engine && instance->eq.open;
}

/* Gives a sequence slot back: another request may get it. */
void instance_free_slot(struct instance *instance);

/* Lends the vocabulary to @job, which holds a reference until it is freed. */
void instance_lend_text(struct instance *instance, struct text_job *job);

/* Returns whether a client of a device is the instance's engine: by the kernel's number of the descriptor if the engine
 * has reported it, which is certain, else by the process. */
bool instance_has_client(const struct instance *instance, uint32_t minor, uint64_t client, uint32_t pid);

#endif
