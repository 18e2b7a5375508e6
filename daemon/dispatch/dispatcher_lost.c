/*
 * The end of an engine: which request is to blame, and what becomes of the streams.
 */
#include "base/clock.h"
#include "base/log.h"
#include "dispatch/dispatcher_part.h"
#include "registry/model_entry.h"
#include "session/pins.h"
#include "stream/slot.h"

/* The entries of two begun steps, and as many sequences as are opened at once. */
#define MARKS_MAX (3 * PLAN_ENTRIES)

static bool has_begun(const struct dispatch_step *step)
{
    return step->state == DISPATCH_RUNNING || step->state == DISPATCH_SUSPENDING || step->state == DISPATCH_SUSPENDED;
}

/* Gathers the marks of all that was under way: entries of begun steps, and sequences being opened. */
static size_t gather_marks(const struct dispatch *dispatch, struct instance *instance, struct blame_mark **ret_marks,
                           size_t cap)
{
    struct list *link;
    size_t n = 0;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        for (uint32_t k = 0; step->eq == &instance->eq && has_begun(step) && k < step->plan.n_entries && n < cap; k++) {
            if (step->plan.entries[k].job) {
                ret_marks[n++] = &stream_of(step->plan.entries[k].job)->mark;
            }
        }
    }
    list_for_each (link, &instance->streams) {
        struct stream *stream = container_of(link, struct stream, instance_link);

        if (stream->job.state == JOB_OPENING && n < cap) {
            ret_marks[n++] = &stream->mark;
        }
    }
    return n;
}

/* Charges the account of a guilty request: its requests here and those to come run alone, and later each time. */
static void charge(struct instance *instance, struct account *account, uint64_t now_us)
{
    struct list *link;

    account->n_guilty = account->suspect_us > now_us ? account->n_guilty + 1 : 1;
    account->suspect_us = now_us + BLAME_ACCOUNT_US;
    account->barred_us = clock_boot_us() + blame_bar_us(account->n_guilty);
    list_for_each (link, &instance->streams) {
        struct stream *stream = container_of(link, struct stream, instance_link);

        if (stream->job.account == account && !stream->mark.suspect) {
            blame_suspect(&stream->mark);
            stream->job.alone = true;
        }
    }
}

static void strike_out(struct stream *stream, uint64_t now_us)
{
    charge(stream->instance, stream->job.account, now_us);
    log_warn("stream", "event: request-guilty, stream: %llu, uid: %u, model: %s", (unsigned long long)stream->number,
             stream->grant.uid, stream->instance->model->settings.name);
    stream_fail(stream, SOTTO__V1__CODE__CODE_INTERNAL,
                "the engine was lost twice while it worked on this request alone: it is not tried again");
}

static uint32_t lay_blame(const struct dispatch *dispatch, struct instance *instance, const struct engine_end *end)
{
    struct blame_mark *marks[MARKS_MAX];
    struct blame_verdict verdict;
    size_t n = gather_marks(dispatch, instance, marks, COUNTOF(marks));
    uint64_t now_us = clock_mono_us();

    blame_crash(&instance->blame, marks, n, end->stranger, now_us, &verdict);
    for (size_t i = 0; i < n; i++) {
        struct stream *stream = container_of(marks[i], struct stream, mark);

        stream->job.alone = stream->mark.suspect;
        if (marks[i] == verdict.charged && verdict.fails && !stream_is_over(stream)) {
            strike_out(stream, now_us);
        }
    }
    if (verdict.device) {
        log_error("stream", "event: device-troubled, model: %s, crashes: %u", instance->model->settings.name,
                  verdict.n_recent);
        events_tell(instance->registry->events, EVENTS_NO_UID, "engine", "device-troubled", "model",
                    instance->model->settings.name, NULL);
    }
    return verdict.n_recent;
}

/* Forgets the steps of @instance. A stream that has ended was kept by them alone. */
static void forget_steps(struct dispatch *dispatch, const struct instance *instance)
{
    dispatch_on_lost(dispatch, &instance->eq, clock_mono_us());
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        for (uint32_t k = 0; step->eq == &instance->eq && step->state == DISPATCH_ENDED && k < step->plan.n_entries;
             k++) {
            struct job *job = step->plan.entries[k].job;

            if (job && stream_is_over(stream_of(job))) {
                stream_soon(stream_of(job));
            }
        }
    }
}

uint32_t dispatcher_on_lost(struct dispatcher *dispatcher, struct instance *instance, const struct engine_end *end)
{
    struct dispatch *dispatch = &dispatcher->streams->dispatch;
    struct list *link;
    struct list *after;
    uint32_t n_recent = 0;

    if (end->was_ready && !end->wanted) {
        n_recent = lay_blame(dispatch, instance, end);
    }
    instance->eq.n_taken = 0; /* only now: the guilty request has given a slot back */
    instance->eq.no_room = false;
    sessions_lose(dispatcher->sessions, instance);
    pins_lose(instance);
    forget_steps(dispatch, instance);
    instance->n_opening = 0;
    instance->opening_alone = false;
    list_for_each_safe (link, after, &instance->streams) {
        struct stream *stream = container_of(link, struct stream, instance_link);

        if (!stream_is_over(stream)) {
            slot_lost(stream);
        }
    }
    map_finish(&instance->sequences);
    map_init(&instance->sequences, MEM_STREAM);
    return n_recent;
}
