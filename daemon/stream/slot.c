#include "stream/slot.h"
#include "base/clock.h"
#include "base/num.h"
#include "stream/credit.h"
#include "stream/report.h"
#include "stream/sequence.h"
#include <stdio.h>

void slot_gained(struct stream *stream, uint32_t n_cached)
{
    uint64_t *counts = stream->streams->events->counts;
    uint64_t now_us = clock_mono_us();

    stream->job.n_done = n_cached;
    job_move(&stream->job, JOB_ASSIGNED, now_us);
    stream->job.owns_slot = false;
    counts[COUNT_SESSION_KEPT_TOK] += stream->sequence.is_lent ? n_cached : 0;
    sequence_opened(stream);
    stream->job.n_paid = (uint32_t)num_max(stream->job.n_paid, n_cached); /* what was found costs nothing */
    if (stream->usage.started_us == 0) {
        stream->usage.started_us = now_us;
        stream->usage.n_cached = n_cached;
        counts[COUNT_CACHED_TOK] += n_cached;
        counts[COUNT_PREFIX_HITS] += n_cached > 0;
    }
    stream_move(stream, STREAM_RUNNING);
    if (stream->job.parked) {
        stream_move(stream, STREAM_PARKED);
    }
    report_resumed(stream); /* last: the client may end the stream */
}

void slot_lost(struct stream *stream)
{
    bool had = stream->state == STREAM_RUNNING || stream->state == STREAM_PARKED;

    if (stream->state == STREAM_TOKENIZING) {
        return;
    }
    sequence_lose(stream);
    job_forget(&stream->job);
    if (stream->job.state != JOB_HELD) {
        job_move(&stream->job, JOB_HELD, clock_mono_us());
    }
    if (!had) {
        return;
    }
    stream_move(stream, STREAM_WAITING);
    stream->usage.n_rebuilds++;
    stream->streams->events->counts[COUNT_REBUILDS]++;
    report_rebuilding(stream);
}

void slot_preempt(struct stream *stream)
{
    bool parked = stream->job.parked;

    sequence_preempt(stream);
    queue_preempt(&stream->streams->queue, &stream->job, clock_mono_us());
    stream_move(stream, STREAM_WAITING);
    stream->streams->events->counts[COUNT_PREEMPTIONS]++;
    report_preempted(stream, parked);
}

void slot_slide(struct stream *stream)
{
    struct job *job = &stream->job;
    uint32_t n_keep = stream->request.n_keep;
    uint32_t n_free = job->n_known - n_keep; /* to go or to stay */
    uint32_t n_gone = n_free - n_free / 2;
    char text[128];

    if (journal_slide(&stream->journal, n_keep, n_gone)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for the answer's journal");
        return;
    }
    snprintf(text, sizeof(text), "of %u tokens in a full context the first %u and the last %u stay", job->n_known,
             n_keep, n_free / 2);
    sequence_preempt(stream);
    job_forget(job);
    job->n_known -= n_gone;
    job->n_prompt = (uint32_t)num_min(job->n_prompt, job->n_known - 1); /* what is left is decoded on */
    job->n_paid = 0; /* the request asked for it, so its account pays for computing the rest again */
    credit_count_left(stream);
    queue_want(&stream->streams->queue, job, clock_mono_us());
    stream_move(stream, STREAM_WAITING);
    stream->streams->events->counts[COUNT_SLIDES]++;
    report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_SLID, text);
}
