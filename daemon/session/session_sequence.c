/*
 * The sequence of a session: retained between its turns, lent to the next one, given up when another request wants the
 * room.
 */
#include "base/clock.h"
#include "base/num.h"
#include "registry/model_entry.h"
#include "registry/orders.h"
#include "session/session.h"
#include "stream/sequence.h"

/* Returns whether an Extend is in flight; the sequence survives either answer. */
static bool is_extending(const struct stream *stream)
{
    return stream->sequence.is_lent && stream->job.state == JOB_OPENING;
}

/* A sequence that slid can't be extended, one that is being opened for the first time holds nothing, and one of another
 * instance would be of no use. */
static bool may_retain(const struct session *session, const struct stream *stream)
{
    return stream->sequence.number != 0 && (stream->job.state == JOB_ASSIGNED || is_extending(stream)) &&
           stream->journal.n_slid == 0 && !session->is_ending && instance_takes_orders(stream->instance) &&
           model_entry_pick(session->model) == stream->instance;
}

static void hold_pages(struct session *session, uint32_t n_pages)
{
    session->retained = (struct job){ .eq = &session->instance->eq, .n_pages = n_pages };
    queue_retain(&session->sessions->streams->queue, &session->retained);
}

void session_sequence_retain(struct session *session, struct stream *stream)
{
    struct instance *instance = stream->instance;

    if (!may_retain(session, stream)) {
        return;
    }
    session->is_extending = is_extending(stream);
    session->instance = instance;
    session->sequence = sequence_give(stream);
    hold_pages(session, job_pages(&stream->job));
    if (stream->job.n_steps > 0) {
        /* Nothing more is computed for it; it may be extended when that step has ended. */
        session->leaver = stream;
        orders_stop(instance, session->sequence);
    }
}

/* Forgets the sequence; a turn that had counted on it waits for a slot as others do. */
static void forget_sequence(struct session *session)
{
    queue_release(&session->retained);
    session->instance = NULL;
    session->sequence = 0;
    session->leaver = NULL;
    session->is_extending = false;
    if (session->turn && session->turn->job.owns_slot) {
        session->turn->job.behind = NULL;
        session->turn->job.owns_slot = false;
        session->turn->job.n_done = 0;
        if (session->turn->job.state == JOB_HELD && instance_is_ready(session->turn->instance)) {
            queue_want(&session->sessions->streams->queue, &session->turn->job, clock_mono_us());
        }
    }
}

void session_sequence_reserve(struct session *session, struct stream *stream)
{
    uint32_t n_most = stream->job.n_known - 1;

    if (session->sequence == 0) {
        return;
    }
    if (session->instance != stream->instance) {
        session_sequence_give_up(session);
        return;
    }
    stream->job.owns_slot = true;
    stream->job.behind = session->leaver ? &session->leaver->job : NULL;
    stream->job.n_done = (uint32_t)num_min(n_most, session->n_tok > 0 ? session->n_tok - 1 : 0);
    list_remove(&session->retained.link); /* it is about to be used: others go before it */
    list_append(&session->sessions->streams->queue.retained, &session->retained.link);
}

uint32_t session_sequence_lend(struct session *session, const struct stream *stream)
{
    uint32_t sequence = session->sequence;

    if (sequence == 0 || !stream->job.owns_slot) {
        return 0;
    }
    queue_release(&session->retained);
    session->instance = NULL;
    session->sequence = 0;
    return sequence;
}

void session_sequence_give_up(struct session *session)
{
    struct instance *instance = session->instance;

    if (session->sequence == 0) {
        return;
    }
    if (session->leaver) {
        dispatch_leave(&session->sessions->streams->dispatch, &session->leaver->job);
    }
    orders_close(instance, session->sequence, 0, true);
    instance_free_slot(instance);
    session->sessions->events->counts[COUNT_SESSIONS_GIVEN_UP]++;
    forget_sequence(session);
}

bool session_sequence_is_free(const struct session *session)
{
    return !session->leaver && !session->is_extending;
}

void session_sequence_go_on(struct session *session)
{
    struct stream *next = session->turn;

    if (next && next->state == STREAM_WAITING && next->job.state == JOB_HELD && session_sequence_is_free(session) &&
        instance_is_ready(next->instance)) {
        queue_want(&session->sessions->streams->queue, &next->job, clock_mono_us());
    }
}

void sessions_answered(struct sessions *sessions, struct instance *instance, uint32_t sequence, uint32_t n_pages)
{
    struct list *link;

    list_for_each (link, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (!session->is_extending || session->instance != instance || session->sequence != sequence) {
            continue;
        }
        session->is_extending = false;
        if (n_pages > 0) {
            queue_release(&session->retained);
            hold_pages(session, n_pages);
        }
        session_sequence_go_on(session);
        return;
    }
}

void sessions_lose(struct sessions *sessions, struct instance *instance)
{
    struct list *link;

    list_for_each (link, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (session->sequence != 0 && session->instance == instance) {
            forget_sequence(session);
        }
    }
}
