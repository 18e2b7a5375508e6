/*
 * Streams: all live requests, and what they share
 *
 * The loop's thread.
 */
#ifndef SOTTO_STREAM_STREAMS_H
#define SOTTO_STREAM_STREAMS_H

#include "base/map.h"
#include "govern/usage.h"
#include "registry/registry.h"
#include "sched/dispatch.h"

/* The last estimate of when to try again; it holds for a millisecond. */
struct streams_retry {
    uint64_t at_ms;
    const struct account *account; /* for comparing only */
    enum priority priority;
    uint32_t retry_ms;
};

struct streams {
    struct list all;  /* stream::link */
    struct list soon; /* stream::soon: to be attended to in the next tick */
    uint64_t n_made;  /* ever; numbers them in lines and events */
    struct map keys;  /* uid and key of a live stream to the stream */
    struct queue queue;
    struct dispatch dispatch;       /* steps under way */
    struct usage_table usage_table; /* use by user */
    struct registry *registry;
    struct events *events;
    const struct governor_limits *limits; /* in force now, PROCESSOR_COUNT of them */
    struct streams_retry retry;
};

/* Borrows @registry and @limits, which outlive the streams. */
void streams_init(struct streams *streams, struct registry *registry, const struct governor_limits *limits);
void streams_finish(struct streams *streams);

/* Attends to the streams that asked for it; those that ask again meanwhile wait for the next tick. */
void streams_attend(struct streams *streams);

/* Lets the streams of @instance go on: its engine takes orders. */
void streams_go_on(struct streams *streams, struct instance *instance);

/* Ends all streams of @instance with @code. */
void streams_fail_all(struct instance *instance, Sotto__V1__Code code, const char *sentence);

/* Returns how many streams of user @uid are not over. */
uint32_t streams_count_live(const struct streams *streams, uint32_t uid);

#endif
