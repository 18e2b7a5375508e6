/*
 * Sequences: who is let in, and how each is opened and given back.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/num.h"
#include "dispatch/dispatcher_part.h"
#include "registry/models.h"
#include "session/pins.h"
#include "session/session.h"
#include <stdio.h>

/* Lanes whose next request may be held back while those of others are opened. */
#define SLOT_ENGINES 16u

/* Whom it shares with: inside one account, as the kernel names it; nothing that a client says widens that. */
static size_t own_salt(const struct stream *stream, uint8_t *salt)
{
    if (stream->pin) {
        return pins_own_salt(stream, salt);
    }
    if (!stream->instance->settings.share_prefixes) {
        return 0;
    }
    for (size_t i = 0; i < 4; i++) {
        salt[i] = (uint8_t)(stream->grant.uid >> (8 * i));
    }
    return 4;
}

static void tell_open(struct stream *stream, const struct ids *known)
{
    struct instance *instance = stream->instance;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Open open = SOTTO__ENGINE__OPEN__INIT;
    Sotto__Engine__Sampler sampler;
    struct pin_salts pins;
    uint8_t salt[PIN_SALT_BYTES];

    stream_sampler(stream, &sampler);
    open.sequence = stream->sequence;
    open.tokens = known->ids;
    open.n_tokens = known->n;
    open.n_prompt = stream->journal.n_prompt;
    open.slid_tokens = stream->journal.n_slid;
    open.reserve_tokens = (uint32_t)num_min(stream->max_tok - stream->n_answer, stream->n_context - known->n);
    open.sampler = &sampler;
    open.hidden = stream->embeds;
    if (stream->journal.n_slid == 0 && !stream->embeds) {
        open.salt = (ProtobufCBinaryData){ .data = salt, .len = own_salt(stream, salt) };
        pins_salts(stream, &pins);
        open.pins = pins.list;
        open.n_pins = pins.n;
    }
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_OPEN;
    order.open = &open;
    engine_tell(instance->engine, &order);
}

/* The sequence of its session goes on with these tokens. */
static void tell_extend(struct stream *stream, const struct ids *known)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Extend extend = SOTTO__ENGINE__EXTEND__INIT;
    Sotto__Engine__Sampler sampler;

    stream_sampler(stream, &sampler);
    extend.sequence = stream->sequence;
    extend.tokens = known->ids;
    extend.n_tokens = known->n;
    extend.n_prompt = stream->journal.n_prompt;
    extend.reserve_tokens = (uint32_t)num_min(stream->max_tok - stream->n_answer, stream->n_context - known->n);
    extend.sampler = &sampler;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND;
    order.extend = &extend;
    engine_tell(stream->instance->engine, &order);
}

/* A sequence of its own, or its session's, which has its seat already. False: no memory. */
static bool take_sequence(struct stream *stream)
{
    struct instance *instance = stream->instance;

    stream->sequence = stream->session ? session_lend(stream->session, stream) : 0;
    stream->extends = stream->sequence != 0;
    if (!stream->extends) {
        stream->sequence = ++instance->last_sequence;
        instance->eq.n_taken++;
    }
    if (map_put(&instance->sequences, stream->sequence, (union map_value){ .pointer = stream }) == 0) {
        return true;
    }
    if (stream->extends) {
        dispatcher_tell_close(instance, stream->sequence, 0, true);
    }
    instance->eq.n_taken--;
    stream->sequence = 0;
    return false;
}

/* Asks the engine for a sequence with all that the journal knows. */
static void open_sequence(struct stream *stream)
{
    struct instance *instance = stream->instance;
    cleanup(ids_finish) struct ids known = { 0 };

    if (journal_known(&stream->journal, &known)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_DATA_LOSS, "the answer's journal could not be read back");
        return;
    }
    if (!take_sequence(stream)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED, "there is no memory for one more sequence");
        return;
    }
    stream->looks_like = pins_match(stream, known.ids, known.n);
    stream->opens_alone = instance->eq.n_taken == 1 && instance->eq.n_leaving == 0;
    job_move(&stream->job, JOB_OPENING, clock_mono_us());
    instance->n_opening++;
    instance->opening_alone = stream->mark.suspect;
    instance->figures.n_sequences = instance->eq.n_taken;
    if (stream->extends) {
        tell_extend(stream, &known);
    } else {
        tell_open(stream, &known);
    }
    dispatcher_watch(instance);
}

void dispatcher_tell_stop(struct instance *instance, uint32_t sequence)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Stop stop = SOTTO__ENGINE__STOP__INIT;

    stop.sequence = sequence;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STOP;
    order.stop = &stop;
    engine_tell(instance->engine, &order);
}

void dispatcher_tell_close(struct instance *instance, uint32_t sequence, uint32_t n_known, bool keep)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Trim trim = SOTTO__ENGINE__TRIM__INIT;
    Sotto__Engine__Close close = SOTTO__ENGINE__CLOSE__INIT;

    if (!instance_takes_orders(instance)) {
        return;
    }
    if (n_known > 0) {
        trim.sequence = sequence;
        trim.n_tokens = n_known;
        order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_TRIM;
        order.trim = &trim;
        engine_tell(instance->engine, &order);
    }
    close.sequence = sequence;
    close.keep = keep;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE;
    order.close = &close;
    engine_tell(instance->engine, &order);
}

void dispatcher_close(struct stream *stream)
{
    struct instance *instance = stream->instance;

    if (stream->sequence == 0) {
        return;
    }
    map_remove(&instance->sequences, stream->sequence);
    dispatch_leave(&instance->hub->dispatcher.dispatch, &stream->job);
    instance->eq.n_taken--;
    instance->eq.no_room = false;
    instance->figures.n_sequences = instance->eq.n_taken;
    /* Stop reaches it between the parts of a running step; the others wait for the step's end. */
    if (stream->job.n_steps > 0 && instance_takes_orders(instance)) {
        dispatcher_tell_stop(instance, stream->sequence);
    }
    /* What lies past a stop is no part of any later answer. */
    dispatcher_tell_close(instance, stream->sequence, stream->job.n_known,
                          stream->end.code == SOTTO__V1__CODE__CODE_OK);
    stream->sequence = 0;
    stream->extends = false;
}

void dispatcher_tell_pin(struct instance *instance, uint32_t number, uint32_t sequence)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Pin pin = SOTTO__ENGINE__PIN__INIT;

    if (!instance_takes_orders(instance)) {
        return;
    }
    pin.pin = number;
    pin.sequence = sequence;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_PIN;
    order.pin = &pin;
    engine_tell(instance->engine, &order);
}

void dispatcher_pin(struct stream *stream, uint32_t number)
{
    struct instance *instance = stream->instance;

    dispatcher_tell_pin(instance, number, stream->sequence);
    map_remove(&instance->sequences, stream->sequence);
    instance->eq.n_taken--;
    instance->eq.no_room = false;
    instance->figures.n_sequences = instance->eq.n_taken;
    stream->sequence = 0;
}

void dispatcher_put_aside(struct stream *stream)
{
    dispatcher_close(stream);
    dispatch_forget(&stream->hub->dispatcher.dispatch, &stream->job);
}

static struct stream *find(struct instance *instance, uint32_t sequence)
{
    union map_value *found = map_find(&instance->sequences, sequence);

    return found ? found->pointer : NULL;
}

static void answered_open(struct instance *instance)
{
    if (instance->n_opening == 0) {
        engine_kill(instance->engine, "it answered an Open that nobody sent");
        return;
    }
    instance->n_opening--;
    instance->opening_alone = false;
    dispatcher_watch(instance);
}

/* What is promised and not held is shared. Sequences may have been given back since the engine counted, so it may be
 * more than that; a step's end tells exactly. */
static void learn_shared(struct engine_queue *eq, uint32_t n_free)
{
    uint32_t n_held = eq->n_pages - (uint32_t)num_min(eq->n_pages, n_free);
    uint32_t n_counted = eq->n_pages_promised + eq->n_pages_leaving;
    uint32_t n_shared = n_counted - (uint32_t)num_min(n_counted, n_held);

    eq->n_pages_shared = (uint32_t)num_max(eq->n_pages_shared, n_shared);
}

void dispatcher_on_opened(struct instance *instance, const Sotto__Engine__Opened *opened)
{
    struct stream *stream = find(instance, opened->sequence);

    answered_open(instance);
    if (!stream) { /* it ended meanwhile: Close is on its way, or its session has the sequence */
        session_answered(instance, opened->sequence, opened->pages_held);
        return;
    }
    if (opened->cached_tokens >= stream->job.n_known || opened->pinned_tokens > opened->cached_tokens) {
        engine_kill(instance->engine, "it says that it has computed more than there is");
        return;
    }
    stream->job.n_pages = opened->pages_held;
    stream_seated(stream, opened->cached_tokens, opened->pinned_tokens);
    learn_shared(&instance->eq, opened->pages_free);
}

/* A session's sequence that could not go on is closed: true if its turn asks for another, as others do. */
static bool refused_extend(struct stream *stream, const Sotto__Engine__Refused *refused)
{
    bool may_open = refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES ||
                    refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY ||
                    refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED;

    if (!stream->extends) {
        return false;
    }
    stream->extends = false;
    stream->job.owns_slot = false;
    stream->job.n_done = 0;
    if (!may_open) {
        return false;
    }
    stream->job.n_pages = refused->pages_needed;
    job_move(&stream->job, JOB_WAITING, clock_mono_us());
    return true;
}

/* It may find room later. Who had the room when the engine looked may be gone by now, so it is not asked who is there
 * now. */
static bool may_wait(const struct stream *stream, const struct instance *instance,
                     const Sotto__Engine__Refused *refused)
{
    bool is_full = refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES ||
                   refused->why == SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY;

    return is_full && (!stream->opens_alone || instance->eq.n_taken > 0);
}

void dispatcher_on_refused(struct instance *instance, const Sotto__Engine__Refused *refused)
{
    struct stream *stream = find(instance, refused->sequence);
    bool waits = instance->eq.n_leaving > 0; /* for who leaves with a step */

    answered_open(instance);
    if (!stream) {
        session_answered(instance, refused->sequence, 0);
        return;
    }
    map_remove(&instance->sequences, stream->sequence);
    if (stream->extends) {
        dispatcher_tell_close(instance, stream->sequence, 0, true); /* it is still as it was */
    }
    stream->sequence = 0;
    instance->eq.n_taken--;
    instance->eq.no_room = false; /* unless this very answer says so, and somebody is there to make room */
    instance->figures.n_sequences = instance->eq.n_taken;
    if (refused_extend(stream, refused)) {
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

/* ---- seats */

/* A suspect is opened when nothing else is under way at its engine, and nothing else then. */
static bool may_open(const struct hub *hub, const struct stream *stream)
{
    const struct instance *instance = stream->instance;
    const struct engine_queue *eq = &instance->eq;
    const struct dispatch *dispatch = &hub->dispatcher.dispatch;

    if (instance->opening_alone || dispatch_is_alone(dispatch, eq)) {
        return false;
    }
    return !stream->mark.suspect || (!dispatch_is_busy(dispatch, eq) && instance->n_opening == 0);
}

/* Takes seats, one after the other where a step must end first. */
static void take_seats(struct hub *hub, const struct dispatch_input *in)
{
    uint64_t now_us = in->now_us;
    uint64_t boot_us = in->boot_us;
    struct job *job;

    while ((job = dispatch_find_victim(&hub->dispatcher.dispatch, &hub->queue, in))) {
        stream_preempt(dispatcher_stream_of(job));
    }
    while ((job = queue_find_victim(&hub->queue, hub->governor.limits, now_us, boot_us))) {
        if (job->retained) {
            session_give_up(session_of_kept(job));
        } else {
            stream_preempt(dispatcher_stream_of(job));
        }
    }
}

void dispatcher_seat(struct hub *hub, const struct dispatch_input *in)
{
    struct engine_queue *held[SLOT_ENGINES];
    struct job *passed[SLOT_ENGINES];
    uint32_t n_held = 0;
    uint32_t n_passed = 0;
    struct job *job;

    take_seats(hub, in);
    while (n_held < SLOT_ENGINES && n_passed < SLOT_ENGINES &&
           (job = queue_next_slot(&hub->queue, hub->governor.limits, in->now_us, in->boot_us))) {
        struct stream *stream = dispatcher_stream_of(job);

        if (may_open(hub, stream)) {
            open_sequence(stream);
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
