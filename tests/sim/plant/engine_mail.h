/*
 * Engine mail: the messages of one direction between the server and an engine
 *
 * They arrive in order, each after the same delay.
 */
#ifndef SOTTO_SIM_ENGINE_MAIL_H
#define SOTTO_SIM_ENGINE_MAIL_H

#include "sched/plan.h"
#include "timeline.h"

struct engine_entry {
    uint32_t sequence;
    uint32_t n_prefill; /* 0: one token more */
    /* in the answer */
    uint32_t n_rows;
    uint32_t n_tok;
};

struct engine_work {
    uint64_t id;
    enum priority priority; /* the highest in it */
    struct cost_load load;
    uint32_t n_entries;
    struct engine_entry entries[PLAN_ENTRIES];
};

enum engine_what {
    ENGINE_OPEN,
    ENGINE_CLOSE,
    ENGINE_STEP,
    ENGINE_CONTINUE,
    ENGINE_SUSPEND,
    ENGINE_WITHDRAW,
    /* answers */
    ENGINE_OPENED,
    ENGINE_REFUSED,
    ENGINE_DONE,
    ENGINE_SUSPENDED,
    ENGINE_WITHDRAWN,
};

struct engine_message {
    struct engine_message *next;
    enum engine_what what;
    uint64_t at_ns; /* when it arrives */
    uint64_t id;    /* of the step */
    uint32_t sequence;
    uint32_t slice_us;
    uint32_t n_known; /* OPEN */
    uint32_t n_cached;
    uint32_t n_reserve;
    uint64_t held_us;         /* the device, since it was last told to run */
    uint64_t waited_us;       /* for it, since then */
    bool done;                /* WITHDRAWN */
    struct engine_work *work; /* STEP and DONE: owned by the message */
};

struct engine_mail {
    struct timeline *timeline;
    uint64_t latency_ns;
    struct engine_message *first; /* owned, with all that follow it */
    struct engine_message *last;
    struct timeline_event due; /* of the first */
};

/* When the first message is due, @on_due is called with @owner; it must collect that message. */
void engine_mail_init(struct engine_mail *mail, struct timeline *timeline, uint64_t latency_ns, timeline_fn on_due,
                      void *owner);

/* Posts a copy of @message. Its work passes to the mail. */
void engine_mail_post(struct engine_mail *mail, const struct engine_message *message);

/* Returns the first message, which is due. It passes to the caller, which frees it. */
struct engine_message *engine_mail_collect(struct engine_mail *mail);

/* Frees @message and its work. */
void engine_mail_free(struct engine_message *message);

/* Frees all messages that have not arrived. */
void engine_mail_discard(struct engine_mail *mail);

#endif
