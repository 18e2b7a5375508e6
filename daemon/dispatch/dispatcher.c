#include "dispatch/dispatcher.h"
#include "base/clock.h"
#include "base/num.h"
#include "dispatch/dispatcher_part.h"
#include "hub/hub_status.h"
#include "registry/models.h"
#include "sched/admit.h"
#include "session/session.h"
#include <stdio.h>
#include <string.h>

/* ---- life */

static void on_wake(void *owner)
{
    hub_poke(owner);
}

void dispatcher_start(struct hub *hub)
{
    dispatch_init(&hub->dispatcher.dispatch);
    alarm_start(&hub->dispatcher.alarm, hub->loop, on_wake, hub);
}

void dispatcher_watch(struct instance *instance)
{
    double awaited_ns = dispatch_awaited_ns(&instance->hub->dispatcher.dispatch, &instance->eq);

    if (!instance->engine) {
        return;
    }
    if (awaited_ns >= 0.0) {
        engine_await(instance->engine, awaited_ns);
    } else if (instance->n_opening > 0) {
        engine_await(instance->engine, 0.0);
    } else {
        engine_rest(instance->engine);
    }
}

/* ---- answers */

static void on_stats(struct instance *instance, const Sotto__Engine__Stats *stats)
{
    struct instance_figures *figures = &instance->figures;

    figures->n_steps = stats->steps;
    figures->n_rows = stats->rows;
    figures->n_tok = stats->tokens;
    figures->n_weight_passes = stats->weight_passes;
    figures->n_step_allocs = stats->step_allocations;
    figures->n_sequences = stats->sequences;
    figures->n_pages_free = stats->pages_free;
    figures->n_pages_cached = stats->pages_cached;
    figures->n_pages_held = stats->pages_held;
    figures->n_pages_evicted = stats->pages_evicted;
    figures->rss_bytes = stats->rss_bytes;
    figures->rss_file_bytes = stats->rss_file_bytes;
    figures->n_memory = 0;
    for (size_t i = 0; i < stats->n_memory && figures->n_memory < COUNTOF(figures->memory); i++) {
        const Sotto__Engine__MemoryRow *row = stats->memory[i];

        snprintf(figures->memory[i].kind, sizeof(figures->memory[i].kind), "%s", row->kind);
        figures->memory[i].bytes = row->bytes;
        figures->memory[i].peak_bytes = row->peak_bytes;
        figures->n_memory++;
    }
    instance->owes_figures = false;
    status_figures(instance->hub);
}

void dispatcher_query(struct instance *instance)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Query query = SOTTO__ENGINE__QUERY__INIT;

    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_QUERY;
    order.query = &query;
    instance->owes_figures = true;
    engine_tell(instance->engine, &order);
}

void dispatcher_on_answer(struct instance *instance, const Sotto__Engine__FromEngine *answer)
{
    switch (answer->body_case) {
    case SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED:
        dispatcher_on_opened(instance, answer->opened);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED:
        dispatcher_on_refused(instance, answer->refused);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE:
        dispatcher_on_step_done(instance, answer->step_done);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STATS:
        on_stats(instance, answer->stats);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED:
        dispatcher_on_suspended(instance, answer->suspended);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN:
        dispatcher_on_withdrawn(instance, answer->withdrawn);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW:
        break; /* the step's own answer has the times that costs are fitted to */
    case SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_READY:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_LOG:
    case SOTTO__ENGINE__FROM_ENGINE__BODY__NOT_SET:
        break; /* the link's own */
    }
    hub_poke(instance->hub);
}

/* ---- once a turn */

static void end_the_late(struct hub *hub, uint64_t boot_us)
{
    struct job *job;

    while ((job = queue_next_expired(&hub->queue, boot_us))) {
        stream_too_late(dispatcher_stream_of(job));
    }
}

/* Somebody waits for a budget: says so to those who were running. */
static void tell_throttled(struct hub *hub, uint64_t boot_us)
{
    struct list *link;

    list_for_each (link, &hub->streams) {
        struct stream *stream = container_of(link, struct stream, link);

        if (stream->state == STREAM_RUNNING && stream->job.n_steps == 0 &&
            account_wait_us(stream->job.account, stream->grant.tokens_a_minute, boot_us) > 0) {
            stream_throttled(stream);
        }
    }
}

/* The earlier of two times, 0 being never. */
static uint64_t earlier(uint64_t a_us, uint64_t b_us)
{
    return a_us == 0 || b_us == 0 ? num_max(a_us, b_us) : num_min(a_us, b_us);
}

void dispatcher_run(struct hub *hub)
{
    struct dispatch_input in = { .now_us = clock_mono_us(), .boot_us = clock_boot_us() };
    struct governor_limits real[PROCESSOR_COUNT];
    struct dispatch_order order;
    uint64_t wake_us;

    memcpy(in.limits, hub->governor.limits, sizeof(in.limits));
    in.is_asleep = hub->governor_loop.is_asleep;
    end_the_late(hub, in.boot_us);
    sessions_end_idle(hub, in.boot_us);
    dispatch_real_limits(&hub->dispatcher.dispatch, in.limits, real);
    admit_mark_urgent(&hub->queue, real, in.boot_us);
    dispatcher_seat(hub, &in);
    dispatch_next(&hub->dispatcher.dispatch, &hub->queue, &hub->planner, &in, &order);
    while (order.what != DISPATCH_NONE) {
        dispatcher_tell(hub, &order);
        dispatch_next(&hub->dispatcher.dispatch, &hub->queue, &hub->planner, &in, &order);
    }
    if (order.wake_boot_us > 0) {
        tell_throttled(hub, in.boot_us);
    }
    wake_us = earlier(order.wake_boot_us, queue_next_deadline_us(&hub->queue));
    wake_us = earlier(wake_us, sessions_next_us(hub));
    if (order.wake_us > 0) {
        wake_us = earlier(wake_us, in.boot_us + (order.wake_us - num_min(order.wake_us, in.now_us)));
    }
    alarm_set(&hub->dispatcher.alarm, wake_us);
}
