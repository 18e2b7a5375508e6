#include "stream/credit.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/trace.h"
#include "proto/limit.h"

void credit_count_left(struct stream *stream)
{
    const struct stream_request *request = &stream->request;
    uint64_t left = request->max_tok - num_min(stream->answer.n_tok, request->max_tok);
    uint64_t room;

    if (request->pools) {
        stream->job.n_left = 1; /* its last row is the last */
        return;
    }
    left = stream->credit.is_rationed ? num_min(left, stream->credit.n_tok) : left;
    room = UINT32_MAX; /* until its prompt is known, and with it the context */
    if (request->n_context > 0) {
        room = request->n_context - num_min(stream->job.n_known, request->n_context);
    }
    stream->job.n_left = (uint32_t)num_min(left, room);
    stream->job.n_beyond = request->slides ? (uint32_t)num_min(left - stream->job.n_left, UINT32_MAX) : 0;
}

void credit_repark(struct stream *stream)
{
    bool parked = stream->credit.is_stalled || (stream->credit.is_rationed && stream->credit.n_tok == 0);

    if (stream_is_over(stream) || parked == stream->job.parked) {
        return;
    }
    stream->job.parked = parked;
    stream->job.since_us = clock_mono_us();
    trace_add(TRACE_PARK, stream->number, parked);
    if (parked && stream->state == STREAM_RUNNING) {
        stream_move(stream, STREAM_PARKED);
    } else if (!parked && stream->state == STREAM_PARKED) {
        stream_move(stream, STREAM_RUNNING);
    }
    events_poke(stream->streams->events);
}

void credit_spend(struct stream *stream)
{
    if (stream->credit.is_rationed && stream->credit.n_tok > 0) {
        stream->credit.n_tok--;
        credit_count_left(stream);
        credit_repark(stream);
    }
}

void stream_credit(struct stream *stream, const Sotto__V1__Credit *credit)
{
    if (stream_is_over(stream) || !stream->credit.is_rationed) {
        return; /* it crossed the last frame, or nothing is rationed */
    }
    stream->credit.n_tok = (uint32_t)num_saturate(stream->credit.n_tok, credit->tokens, LIMIT_CREDIT);
    credit_count_left(stream);
    credit_repark(stream);
}

void stream_park(struct stream *stream, bool parked)
{
    stream->credit.is_stalled = parked;
    credit_repark(stream);
}
