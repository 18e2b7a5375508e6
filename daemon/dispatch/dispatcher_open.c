/*
 * Sequences: which streams get a slot, and how each sequence is opened.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/num.h"
#include "dispatch/dispatcher_part.h"
#include "session/pins.h"
#include "stream/prompt.h"
#include "stream/sequence.h"
#include "stream/slot.h"

/* The most engine queues with a request that is held back while those of others are opened. */
#define HELD_MAX 16u

/* Writes the salt that the sequence is cached under: the pin's audience, or the account as the kernel names it; nothing
 * that a client sends widens that. Returns its length. */
static size_t own_salt(const struct stream *stream, const struct pin *own, uint8_t *salt)
{
    if (own) {
        return pin_salt(own, salt);
    }
    if (!stream->instance->settings.share_prefixes) {
        return 0;
    }
    for (size_t i = 0; i < 4; i++) {
        salt[i] = (uint8_t)(stream->grant.uid >> (8 * i));
    }
    return 4;
}

/* Returns how many tokens the sequence may grow by. */
static uint32_t tokens_to_reserve(const struct stream *stream, size_t n_known)
{
    const struct stream_request *request = &stream->request;

    return (uint32_t)num_min(request->max_tok - stream->answer.n_tok, request->n_context - n_known);
}

static void tell_open(struct stream *stream, const struct ids *known)
{
    struct instance *instance = stream->instance;
    const struct pin *own = pins_computed_by(stream);
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Open open = SOTTO__ENGINE__OPEN__INIT;
    Sotto__Engine__Sampler sampler;
    struct pin_salts pins;
    uint8_t salt[PIN_SALT_BYTES];

    prompt_sampler(stream, &sampler);
    open.sequence = stream->sequence.number;
    open.tokens = known->ids;
    open.n_tokens = known->n;
    open.n_prompt = stream->journal.n_prompt;
    open.slid_tokens = stream->journal.n_slid;
    open.reserve_tokens = tokens_to_reserve(stream, known->n);
    open.sampler = &sampler;
    open.hidden = stream->request.pools;
    if (stream->journal.n_slid == 0 && !stream->request.pools) {
        open.salt = (ProtobufCBinaryData){ .data = salt, .len = own_salt(stream, own, salt) };
        pin_find_salts(instance, own, stream->grant.uid, &pins);
        open.pins = pins.list;
        open.n_pins = pins.n;
    }
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_OPEN;
    order.open = &open;
    engine_tell(instance->engine, &order);
}

/* Tells the engine to go on with the lent sequence. */
static void tell_extend(struct stream *stream, const struct ids *known)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Extend extend = SOTTO__ENGINE__EXTEND__INIT;
    Sotto__Engine__Sampler sampler;

    prompt_sampler(stream, &sampler);
    extend.sequence = stream->sequence.number;
    extend.tokens = known->ids;
    extend.n_tokens = known->n;
    extend.n_prompt = stream->journal.n_prompt;
    extend.reserve_tokens = tokens_to_reserve(stream, known->n);
    extend.sampler = &sampler;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND;
    order.extend = &extend;
    engine_tell(stream->instance->engine, &order);
}

/* Asks the engine for a sequence with all that the journal knows. */
static void open_sequence(const struct dispatcher *dispatcher, struct stream *stream)
{
    struct instance *instance = stream->instance;
    cleanup(ids_finish) struct ids known = { 0 };

    if (journal_known(&stream->journal, &known)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_DATA_LOSS, "the answer's journal could not be read back");
        return;
    }
    if (!sequence_take(stream)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for one more sequence");
        return;
    }
    stream->sequence.pin_number = pin_match(instance, pins_computed_by(stream), stream->grant.uid, known.ids, known.n);
    job_move(&stream->job, JOB_OPENING, clock_mono_us());
    instance->n_opening++;
    instance->opening_alone = stream->mark.suspect;
    instance->figures.n_sequences = instance->eq.n_taken;
    if (stream->sequence.is_lent) {
        tell_extend(stream, &known);
    } else {
        tell_open(stream, &known);
    }
    dispatcher_watch(dispatcher, instance);
}

/* ---- answers */

static struct stream *find(struct instance *instance, uint32_t sequence)
{
    union map_value *found = map_find(&instance->sequences, sequence);

    return found ? found->pointer : NULL;
}

static void answered_open(const struct dispatcher *dispatcher, struct instance *instance)
{
    if (instance->n_opening == 0) {
        engine_kill(instance->engine, "it answered an Open that was not sent");
        return;
    }
    instance->n_opening--;
    instance->opening_alone = false;
    dispatcher_watch(dispatcher, instance);
}

/* Learns how many pages are shared: those that are promised and not held. Sequences may have been given back since the
 * engine counted, so it may be more than that; a step's end tells exactly. */
static void learn_shared(struct engine_queue *eq, uint32_t n_free)
{
    uint32_t n_held = eq->n_pages - (uint32_t)num_min(eq->n_pages, n_free);
    uint32_t n_counted = eq->n_pages_promised + eq->n_pages_leaving;
    uint32_t n_shared = n_counted - (uint32_t)num_min(n_counted, n_held);

    eq->n_pages_shared = (uint32_t)num_max(eq->n_pages_shared, n_shared);
}

void dispatcher_on_opened(struct dispatcher *dispatcher, struct instance *instance, const Sotto__Engine__Opened *opened)
{
    struct stream *stream = find(instance, opened->sequence);

    answered_open(dispatcher, instance);
    if (!stream) { /* it ended meanwhile: Close is on its way, or its session has the sequence */
        sessions_answered(dispatcher->sessions, instance, opened->sequence, opened->pages_held);
        return;
    }
    if (opened->cached_tokens >= stream->job.n_known || opened->pinned_tokens > opened->cached_tokens) {
        engine_kill(instance->engine, "it says that it has computed more than there is");
        return;
    }
    if (stream->usage.started_us == 0 && !pins_computed_by(stream)) {
        pin_count(instance, stream->sequence.pin_number, opened->pinned_tokens);
    }
    stream->job.n_pages = opened->pages_held;
    slot_gained(stream, opened->cached_tokens);
    learn_shared(&instance->eq, opened->pages_free);
}

/* Lets a stream wait for a sequence of its own after the lent one could not go on. Returns false if none would do
 * either. */
static bool try_another(struct stream *stream, const Sotto__Engine__Refused *refused)
{
    bool may_open = refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES ||
                    refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY ||
                    refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED;

    stream->job.owns_slot = false;
    stream->job.n_done = 0;
    if (!may_open) {
        return false;
    }
    stream->job.n_pages = refused->pages_needed;
    job_move(&stream->job, JOB_WAITING, clock_mono_us());
    return true;
}

/* Returns whether the stream may find room later. The sequences that had the room when the engine looked may be gone by
 * now, so their number now does not decide alone. */
static bool may_wait(const struct stream *stream, const struct instance *instance,
                     const Sotto__Engine__Refused *refused)
{
    bool is_full = refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES ||
                   refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY;

    return is_full && (!stream->sequence.opened_alone || instance->eq.n_taken > 0);
}

void dispatcher_on_refused(struct dispatcher *dispatcher, struct instance *instance,
                           const Sotto__Engine__Refused *refused)
{
    struct stream *stream = find(instance, refused->sequence);
    bool waits = instance->eq.n_leaving > 0; /* for a sequence that leaves with a step */

    answered_open(dispatcher, instance);
    if (!stream) {
        sessions_answered(dispatcher->sessions, instance, refused->sequence, 0);
        return;
    }
    if (sequence_refused(stream) && try_another(stream, refused)) {
        return;
    }
    if (may_wait(stream, instance, refused)) {
        instance->eq.no_room = !waits && instance->eq.n_taken > 0 && !stream->job.yields;
        stream->job.n_pages = refused->pages_needed;
        job_move(&stream->job, JOB_WAITING, clock_mono_us());
        return;
    }
    if (refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED ||
        refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_BAD_TOKEN) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_INVALID_ARGUMENT, "the model's engine does not take these tokens");
        return;
    }
    stream_never_fits(stream, refused->pages_needed);
}

/* ---- slots */

/* Returns whether the stream's sequence may be opened now: a suspect is opened when nothing else is under way at its
 * engine, and nothing else is opened then. */
static bool may_open(const struct stream *stream)
{
    const struct instance *instance = stream->instance;
    const struct engine_queue *eq = &instance->eq;
    const struct dispatch *dispatch = &stream->streams->dispatch;

    if (instance->opening_alone || dispatch_is_alone(dispatch, eq)) {
        return false;
    }
    return !stream->mark.suspect || (!dispatch_is_busy(dispatch, eq) && instance->n_opening == 0);
}

/* Takes slots, one after the other where a step must end first. */
static void take_slots(struct streams *streams, const struct dispatch_input *in)
{
    struct job *job;

    while ((job = dispatch_find_victim(&streams->dispatch, &streams->queue, in))) {
        slot_preempt(stream_of(job));
    }
    while ((job = queue_find_victim(&streams->queue, streams->limits, in->now_us, in->boot_us))) {
        if (job->retained) {
            session_sequence_give_up(session_of_retained(job));
        } else {
            slot_preempt(stream_of(job));
        }
    }
}

void dispatcher_assign_slots(struct dispatcher *dispatcher, const struct dispatch_input *in)
{
    struct streams *streams = dispatcher->streams;
    struct engine_queue *held[HELD_MAX];
    struct job *passed[HELD_MAX];
    uint32_t n_held = 0;
    uint32_t n_passed = 0;
    struct job *job;

    take_slots(streams, in);
    while (n_held < HELD_MAX && n_passed < HELD_MAX &&
           (job = queue_next_slot(&streams->queue, streams->limits, in->now_us, in->boot_us))) {
        if (may_open(stream_of(job))) {
            open_sequence(dispatcher, stream_of(job));
        } else if (job->owns_slot) {
            job->passed_over = true;
            passed[n_passed++] = job;
        } else {
            job->eq->no_room = true; /* for now: others are looked at */
            held[n_held++] = job->eq;
        }
    }
    for (uint32_t i = 0; i < n_held; i++) {
        held[i]->no_room = false;
    }
    for (uint32_t i = 0; i < n_passed; i++) {
        passed[i]->passed_over = false;
    }
}
