/*
 * The sequence of a session: kept open between its turns, lent to the next one, given up when somebody wants the room.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/num.h"
#include "dispatch/dispatcher.h"
#include "registry/models.h"
#include "session/session.h"
#include <stdio.h>

/* Its Extend is not answered. Whatever the answer is, the sequence goes on to be there. */
static bool is_extending(const struct stream *stream)
{
    return stream->extends && stream->job.state == JOB_OPENING;
}

/* One that slid can't be extended, one that is being opened for the first time holds nothing, and another instance's
 * would be of no use. */
static bool may_keep(const struct session *session, const struct stream *stream)
{
    return stream->sequence != 0 && (stream->job.state == JOB_ASSIGNED || is_extending(stream)) &&
           stream->journal.n_slid == 0 && !session->is_ending && instance_takes_orders(stream->instance) &&
           models_pick(session->model) == stream->instance;
}

static void hold_pages(struct session *session, uint32_t n_pages)
{
    session->kept = (struct job){ .eq = &session->instance->eq, .n_pages = n_pages };
    queue_retain(&session->hub->queue, &session->kept);
}

void session_keep(struct session *session, struct stream *stream)
{
    struct instance *instance = stream->instance;

    if (!may_keep(session, stream)) {
        return;
    }
    map_remove(&instance->sequences, stream->sequence);
    session->instance = instance;
    session->sequence = stream->sequence;
    session->is_asked = is_extending(stream);
    stream->sequence = 0;
    stream->extends = false;
    hold_pages(session, job_pages(&stream->job));
    if (stream->job.n_steps > 0) {
        /* Nothing more is computed for it; it may be extended when that step has ended. */
        session->leaver = stream;
        dispatcher_tell_stop(instance, session->sequence);
    }
}

/* It has none any more; who had counted on it waits for a seat as others do. */
static void forget_sequence(struct session *session)
{
    queue_release(&session->kept);
    session->instance = NULL;
    session->sequence = 0;
    session->leaver = NULL;
    session->is_asked = false;
    if (session->turn && session->turn->job.owns_slot) {
        session->turn->job.behind = NULL;
        session->turn->job.owns_slot = false;
        session->turn->job.n_done = 0;
        if (session->turn->job.state == JOB_HELD && instance_is_ready(session->turn->instance)) {
            queue_want(&session->hub->queue, &session->turn->job, clock_mono_us());
        }
    }
}

void session_prepare(struct stream *stream)
{
    struct session *session = stream->session;
    uint32_t n_most = stream->job.n_known - 1;

    if (!session || session->sequence == 0) {
        return;
    }
    if (session->instance != stream->instance) {
        session_give_up(session);
        return;
    }
    stream->job.owns_slot = true;
    stream->job.behind = session->leaver ? &session->leaver->job : NULL;
    stream->job.n_done = (uint32_t)num_min(n_most, session->n_tok > 0 ? session->n_tok - 1 : 0);
    list_remove(&session->kept.link); /* it is about to be used: others go before it */
    list_append(&session->hub->queue.retained, &session->kept.link);
}

uint32_t session_lend(struct session *session, const struct stream *stream)
{
    uint32_t sequence = session->sequence;

    if (sequence == 0 || !stream->job.owns_slot) {
        return 0;
    }
    queue_release(&session->kept);
    session->instance = NULL;
    session->sequence = 0;
    return sequence;
}

void session_give_up(struct session *session)
{
    struct instance *instance = session->instance;

    if (session->sequence == 0) {
        return;
    }
    if (session->leaver) {
        dispatch_leave(&session->hub->dispatcher.dispatch, &session->leaver->job);
    }
    dispatcher_tell_close(instance, session->sequence, 0, true);
    instance->eq.n_taken--;
    instance->eq.no_room = false;
    instance->figures.n_sequences = instance->eq.n_taken;
    session->hub->counts[HUB_SESSIONS_GIVEN_UP]++;
    forget_sequence(session);
}

void session_answered(struct instance *instance, uint32_t sequence, uint32_t n_pages)
{
    struct list *link;

    list_for_each (link, &instance->hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (!session->is_asked || session->instance != instance || session->sequence != sequence) {
            continue;
        }
        session->is_asked = false;
        if (n_pages > 0) {
            queue_release(&session->kept);
            hold_pages(session, n_pages);
        }
        session_go_on(session);
        return;
    }
}

void sessions_lose(struct instance *instance)
{
    struct list *link;

    list_for_each (link, &instance->hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (session->sequence != 0 && session->instance == instance) {
            forget_sequence(session);
        }
    }
}
