#include "dispatch/dispatcher.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "dispatch/dispatcher_part.h"
#include "sched/admit.h"
#include "stream/report.h"
#include <string.h>

/* ---- life */

static void on_alarm(void *owner)
{
    const struct dispatcher *dispatcher = owner;

    events_poke(dispatcher->streams->events);
}

int dispatcher_init(struct dispatcher *dispatcher, struct streams *streams, struct sessions *sessions,
                    struct governor_loop *governor_loop)
{
    dispatcher->streams = streams;
    dispatcher->sessions = sessions;
    dispatcher->governor_loop = governor_loop;
    return err_up(alarm_open(&dispatcher->alarm));
}

void dispatcher_drop(struct dispatcher *dispatcher)
{
    alarm_drop(&dispatcher->alarm);
}

void dispatcher_start(struct dispatcher *dispatcher)
{
    alarm_start(&dispatcher->alarm, dispatcher->streams->events->loop, on_alarm, dispatcher);
}

void dispatcher_close(struct dispatcher *dispatcher, void (*closed)(void *owner), void *owner)
{
    alarm_close(&dispatcher->alarm, closed, owner);
}

bool dispatcher_is_still(const struct dispatcher *dispatcher)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        enum dispatch_state state = dispatcher->streams->dispatch.steps[i].state;

        if (state != DISPATCH_FREE && state != DISPATCH_ENDED && state != DISPATCH_SUSPENDED) {
            return false;
        }
    }
    return true;
}

/* ---- answers */

void dispatcher_on_answer(struct dispatcher *dispatcher, struct instance *instance,
                          const Sotto__Engine__FromEngine *answer)
{
    switch (answer->body_case) {
    case SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED:
        dispatcher_on_opened(dispatcher, instance, answer->opened);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED:
        dispatcher_on_refused(dispatcher, instance, answer->refused);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE:
        dispatcher_on_step_done(dispatcher, instance, answer->step_done);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED:
        dispatcher_on_suspended(dispatcher, instance, answer->suspended);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN:
        dispatcher_on_withdrawn(dispatcher, instance, answer->withdrawn);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW:
        break; /* the step's own answer has the times that costs are fitted to */
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STATS:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_READY:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_LOG:
    case SOTTO__ENGINE__FROM_ENGINE__BODY__NOT_SET:
        break; /* taken by the instance or its link */
    }
}

/* ---- once a tick */

static void end_the_late(struct queue *queue, uint64_t boot_us)
{
    struct job *job;

    while ((job = queue_next_expired(queue, boot_us))) {
        stream_too_late(stream_of(job));
    }
}

/* Reports to the streams that were running that their budget is spent. */
static void report_budgets(struct streams *streams, uint64_t boot_us)
{
    struct list *link;

    list_for_each (link, &streams->all) {
        struct stream *stream = container_of(link, struct stream, link);

        if (stream->state == STREAM_RUNNING && stream->job.n_steps == 0 &&
            account_wait_us(stream->job.account, stream->grant.tokens_a_minute, boot_us) > 0) {
            report_throttled(stream);
        }
    }
}

/* Returns the earlier of two times, 0 being never. */
static uint64_t earlier(uint64_t a_us, uint64_t b_us)
{
    return a_us == 0 || b_us == 0 ? num_max(a_us, b_us) : num_min(a_us, b_us);
}

void dispatcher_run(struct dispatcher *dispatcher)
{
    struct streams *streams = dispatcher->streams;
    struct dispatch_input in = { .now_us = clock_mono_us(), .boot_us = clock_boot_us() };
    struct governor_limits real[PROCESSOR_COUNT];
    struct dispatch_order order;
    uint64_t wake_us;

    memcpy(in.limits, streams->limits, sizeof(in.limits));
    in.is_asleep = dispatcher->governor_loop->is_asleep;
    end_the_late(&streams->queue, in.boot_us);
    sessions_end_idle(dispatcher->sessions, in.boot_us);
    dispatch_effective_limits(&streams->dispatch, in.limits, real);
    admit_mark_urgent(&streams->queue, real, in.boot_us);
    dispatcher_assign_slots(dispatcher, &in);
    dispatch_next(&streams->dispatch, &streams->queue, &dispatcher->planner, &in, &order);
    while (order.what != DISPATCH_NONE) {
        dispatcher_tell(dispatcher, &order);
        dispatch_next(&streams->dispatch, &streams->queue, &dispatcher->planner, &in, &order);
    }
    if (order.wake_boot_us > 0) {
        report_budgets(streams, in.boot_us);
    }
    wake_us = earlier(order.wake_boot_us, queue_next_deadline_us(&streams->queue));
    wake_us = earlier(wake_us, sessions_next_us(dispatcher->sessions));
    if (order.wake_us > 0) {
        wake_us = earlier(wake_us, in.boot_us + (order.wake_us - num_min(order.wake_us, in.now_us)));
    }
    alarm_set(&dispatcher->alarm, wake_us);
}
