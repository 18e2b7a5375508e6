#include "stream/sequence.h"
#include "registry/orders.h"

bool sequence_take(struct stream *stream)
{
    const struct stream_holder *holder = &stream->holder;
    struct stream_sequence *sequence = &stream->sequence;
    struct instance *instance = stream->instance;

    sequence->number = holder->ops->lend ? holder->ops->lend(holder->self, stream) : 0;
    sequence->is_lent = sequence->number != 0;
    if (!sequence->is_lent) {
        sequence->number = ++instance->last_sequence;
        instance->eq.n_taken++;
    }
    if (map_put(&instance->sequences, sequence->number, (union map_value){ .pointer = stream }) == 0) {
        sequence->opened_alone = instance->eq.n_taken == 1 && instance->eq.n_leaving == 0;
        return true;
    }
    if (sequence->is_lent) {
        orders_close(instance, sequence->number, 0, true);
    }
    instance->eq.n_taken--;
    sequence->number = 0;
    return false;
}

void sequence_opened(struct stream *stream)
{
    stream->sequence.is_lent = false;
}

bool sequence_refused(struct stream *stream)
{
    struct stream_sequence *sequence = &stream->sequence;
    bool was_lent = sequence->is_lent;

    map_remove(&stream->instance->sequences, sequence->number);
    if (was_lent) {
        orders_close(stream->instance, sequence->number, 0, true); /* it is still as it was */
    }
    instance_free_slot(stream->instance);
    sequence_lose(stream);
    return was_lent;
}

void sequence_close(struct stream *stream)
{
    struct instance *instance = stream->instance;
    uint32_t number = stream->sequence.number;

    if (number == 0) {
        return;
    }
    map_remove(&instance->sequences, number);
    dispatch_leave(&stream->streams->dispatch, &stream->job);
    instance_free_slot(instance);
    /* Stop reaches it between the parts of a running step; the others wait for the step's end. */
    if (stream->job.n_steps > 0 && instance_takes_orders(instance)) {
        orders_stop(instance, number);
    }
    /* Trimmed: tokens past a stop are no part of any later answer. */
    orders_close(instance, number, stream->job.n_known, stream->end.code == SOTTO__V1__CODE__CODE_OK);
    sequence_lose(stream);
}

void sequence_preempt(struct stream *stream)
{
    sequence_close(stream);
    dispatch_forget(&stream->streams->dispatch, &stream->job);
}

uint32_t sequence_give(struct stream *stream)
{
    uint32_t number = stream->sequence.number;

    map_remove(&stream->instance->sequences, number);
    sequence_lose(stream);
    return number;
}

void sequence_lose(struct stream *stream)
{
    stream->sequence.number = 0;
    stream->sequence.is_lent = false;
}
