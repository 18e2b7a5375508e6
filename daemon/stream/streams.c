#include "stream/streams.h"
#include "base/clock.h"
#include "stream/prompt.h"
#include "stream/report.h"
#include "stream/stream.h"

void streams_init(struct streams *streams, struct registry *registry, const struct governor_limits *limits)
{
    *streams = (struct streams){ .registry = registry, .events = registry->events, .limits = limits };
    list_init(&streams->all);
    list_init(&streams->soon);
    map_init(&streams->keys, MEM_STREAM);
    queue_init(&streams->queue);
    usage_table_init(&streams->usage_table);
    dispatch_init(&streams->dispatch);
}

void streams_finish(struct streams *streams)
{
    map_finish(&streams->keys);
    queue_finish(&streams->queue);
    usage_table_finish(&streams->usage_table);
}

/* Each report may end the stream, so each step looks. */
static void attend_tokenizing(struct stream *stream)
{
    if (!instance_is_ready(stream->instance)) {
        report_accepted(stream);
        if (!stream_is_over(stream)) {
            report_loading(stream);
        }
        return;
    }
    report_numerics(stream);
    if (!stream_is_over(stream)) {
        report_loaded(stream);
    }
    if (!stream_is_over(stream)) {
        prompt_begin(stream);
    }
}

static void attend(struct stream *stream)
{
    switch (stream->state) {
    case STREAM_TOKENIZING:
        attend_tokenizing(stream);
        break;
    case STREAM_WAITING:
    case STREAM_RUNNING:
    case STREAM_PARKED:
        report_accepted(stream);
        break;
    case STREAM_ENDING:
        stream_move(stream, STREAM_ENDED);
        report_end(stream);
        stream->is_forgotten = true;
        if (stream->job.n_steps == 0) {
            stream_free(stream);
        }
        break;
    case STREAM_ENDED:
        if (stream->job.n_steps == 0) {
            stream_free(stream);
        }
        break;
    case STREAM_STATE_COUNT:
        break;
    }
}

void streams_attend(struct streams *streams)
{
    struct list now;
    struct list *link;

    list_init(&now);
    while ((link = list_first(&streams->soon))) {
        list_remove(link);
        list_append(&now, link);
    }
    while ((link = list_first(&now))) {
        list_remove(link);
        attend(container_of(link, struct stream, soon));
    }
}

void streams_go_on(struct streams *streams, struct instance *instance)
{
    struct list *link;

    list_for_each (link, &instance->streams) {
        struct stream *stream = container_of(link, struct stream, instance_link);

        if (stream->state == STREAM_TOKENIZING) {
            stream_soon(stream);
        } else if (stream->job.state == JOB_HELD && stream->state == STREAM_WAITING) {
            queue_want(&streams->queue, &stream->job, clock_mono_us());
        }
    }
}

void streams_fail_all(struct instance *instance, Sotto__V1__Code code, const char *sentence)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &instance->streams) {
        stream_fail(container_of(link, struct stream, instance_link), code, sentence);
    }
}

uint32_t streams_count_live(const struct streams *streams, uint32_t uid)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &streams->all) {
        const struct stream *stream = container_of(link, struct stream, link);

        n += stream->grant.uid == uid && !stream_is_over(stream);
    }
    return n;
}
