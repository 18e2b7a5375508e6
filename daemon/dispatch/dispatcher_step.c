/*
 * Steps: from an order of sched to a message, and from an engine's answer to the streams.
 */
#include "base/clock.h"
#include "base/num.h"
#include "base/trace.h"
#include "dispatch/dispatcher_part.h"
#include "dispatch/metering.h"
#include "stream/answer.h"

void dispatcher_watch(const struct dispatcher *dispatcher, struct instance *instance)
{
    double awaited_ns = dispatch_awaited_ns(&dispatcher->streams->dispatch, &instance->eq);

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

/* ---- to the engine */

static void tell_step(struct instance *instance, const struct dispatch_step *dispatch_step)
{
    const struct plan *plan = &dispatch_step->plan;
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;
    Sotto__Engine__Entry entries[PLAN_ENTRIES];
    Sotto__Engine__Entry *list[PLAN_ENTRIES];

    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct plan_entry *entry = &plan->entries[i];

        entries[i] = (Sotto__Engine__Entry)SOTTO__ENGINE__ENTRY__INIT;
        entries[i].sequence = stream_of(entry->job)->sequence.number;
        if (entry->n_prefill > 0) {
            entries[i].work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
            entries[i].prefill = entry->n_prefill;
        } else {
            entries[i].work_case = SOTTO__ENGINE__ENTRY__WORK_DECODE;
            entries[i].decode = 1 + entry->n_drafts;
        }
        list[i] = &entries[i];
    }
    step.id = dispatch_step->id;
    step.entries = list;
    step.n_entries = plan->n_entries;
    step.slice_us = dispatch_step->slice_us;
    step.estimated_us = (uint32_t)num_min((uint64_t)(plan->estimated_ns / 1000.0), UINT32_MAX);
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_STEP;
    order.step = &step;
    engine_tell(instance->engine, &order);
    trace_add(TRACE_STEP_SENT, dispatch_step->id, plan->n_rows);
}

static void tell_continue(struct instance *instance, const struct dispatch_step *step)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Continue on = SOTTO__ENGINE__CONTINUE__INIT;

    on.step = step->id;
    on.slice_us = step->slice_us;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_CONTINUE;
    order.continue_ = &on;
    engine_tell(instance->engine, &order);
}

static void tell_suspend(struct instance *instance, const struct dispatch_step *step)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Suspend suspend = SOTTO__ENGINE__SUSPEND__INIT;

    suspend.step = step->id;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND;
    order.suspend = &suspend;
    engine_tell(instance->engine, &order);
}

static void tell_withdraw(struct instance *instance, const struct dispatch_step *step)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Withdraw withdraw = SOTTO__ENGINE__WITHDRAW__INIT;

    withdraw.step = step->id;
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW;
    order.withdraw = &withdraw;
    engine_tell(instance->engine, &order);
}

void dispatcher_tell(struct dispatcher *dispatcher, const struct dispatch_order *order)
{
    struct instance *instance = instance_of(order->step->eq);
    uint64_t *counts = dispatcher->streams->events->counts;

    switch (order->what) {
    case DISPATCH_STEP:
        tell_step(instance, order->step);
        break;
    case DISPATCH_CONTINUE:
        tell_continue(instance, order->step);
        break;
    case DISPATCH_SUSPEND:
        tell_suspend(instance, order->step);
        counts[COUNT_SUSPENDS]++;
        break;
    case DISPATCH_WITHDRAW:
        tell_withdraw(instance, order->step);
        counts[COUNT_WITHDRAWS]++;
        break;
    case DISPATCH_NONE:
        break;
    }
    dispatcher_watch(dispatcher, instance);
}

/* ---- from the engine */

/* True if the sampled tokens are of the vocabulary. */
static bool are_in(const struct instance *instance, const Sotto__Engine__EntryDone *done)
{
    for (size_t i = 0; i < done->n_tokens; i++) {
        if (done->tokens[i] >= instance->facts.n_vocab) {
            return false;
        }
    }
    return true;
}

/* Returns false if the answer for one job contradicts what was asked. */
static bool is_plausible(const struct instance *instance, const struct plan_entry *entry,
                         const Sotto__Engine__EntryDone *done)
{
    const struct job *job = entry->job;
    uint32_t sequence = stream_of(entry->job)->sequence.number;

    if ((uint64_t)done->rows + done->drafts > entry->n_rows + entry->n_drafts || done->n_tokens > 1 + entry->n_drafts ||
        (done->n_logprobs != 0 && done->n_logprobs != done->n_tokens) ||
        (sequence != 0 && done->sequence != sequence)) {
        return false;
    }
    if (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_UNSPECIFIED ||
        (done->outcome == SOTTO__ENGINE__OUTCOME__OUTCOME_UNKNOWN && sequence != 0)) {
        return false;
    }
    return sequence == 0 || done->n_tokens == 0 ||
           (job->n_done + done->rows + 1 == job->n_known + done->n_tokens && are_in(instance, done));
}

/* Returns whether the answers for the streams that are not over fit what was asked. */
static bool fits(const struct instance *instance, const struct dispatch_step *step, const Sotto__Engine__StepDone *done)
{
    if (done->n_entries != step->plan.n_entries) {
        return false;
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct plan_entry *entry = &step->plan.entries[i];

        if (entry->job && (!is_plausible(instance, entry, done->entries[i]) ||
                           !answer_is_plausible(stream_of(entry->job), done->entries[i]))) {
            return false;
        }
    }
    return true;
}

/* Takes what a step computed for one job. Of several tokens all but the last have their rows already. */
static void take_result(const struct dispatcher *dispatcher, struct job *job, bool alone,
                        const Sotto__Engine__EntryDone *done, uint64_t now_us, uint64_t boot_us)
{
    struct streams *streams = dispatcher->streams;
    struct stream *stream = stream_of(job);

    if (stream_is_over(stream)) {
        stream_soon(stream);
        return;
    }
    job->n_done += done->rows;
    queue_charge(&streams->queue, job, done->rows, done->n_tokens > 0 ? 1 : 0, now_us, boot_us);
    job_drafted(job, done->n_tokens > 1 ? (uint32_t)done->n_tokens - 1 : 0, done->drafts);
    metering_count(stream, done->rows);
    if (done->n_tokens > 0 && blame_served(&stream->mark, (uint32_t)done->n_tokens, alone)) {
        job->alone = false;
    }
    answer_take(stream, done);
}

/* Writes to @ret_load what the step held: the plan counts more drafts than the text may have suggested. Returns false
 * if it held less than was planned otherwise. */
static bool load_of(const struct plan *plan, const Sotto__Engine__StepDone *done, struct cost_load *ret_load)
{
    *ret_load = plan->load;
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct plan_entry *entry = &plan->entries[i];
        uint64_t n_rows = (uint64_t)done->entries[i]->rows + done->entries[i]->drafts;
        uint32_t n_less = entry->n_rows + entry->n_drafts - (uint32_t)n_rows;

        if (n_rows < entry->n_rows || n_rows > entry->n_rows + entry->n_drafts) {
            return false;
        }
        ret_load->n[COST_DECODE_ROW] -= n_less;
        ret_load->n[COST_ATTEND_PAGE] -= n_less * entry->row_pages;
    }
    return true;
}

/* Counts rows, tokens and passes for Status, and lets the cost model learn from a step that was done as it was planned:
 * the time that it held its processor, without rests, without waiting for others and without standing still. */
static void count_step(struct instance *instance, const struct dispatch_step *step, const Sotto__Engine__StepDone *done)
{
    struct instance_figures *figures = &instance->figures;
    struct cost_load load;
    uint32_t n_pages;

    for (size_t i = 0; i < done->n_entries; i++) {
        const Sotto__Engine__EntryDone *entry = done->entries[i];
        uint32_t n_accepted = entry->n_tokens > 1 ? (uint32_t)entry->n_tokens - 1 : 0;

        figures->n_rows += entry->rows;
        figures->n_tok += entry->n_tokens;
        figures->n_drafts += n_accepted + entry->drafts;
        figures->n_drafts_accepted += n_accepted;
    }
    figures->n_steps++;
    figures->n_weight_passes += done->weight_passes;
    figures->n_step_allocs += done->allocations;
    figures->n_pages_free = done->pages_free;
    figures->n_pages_cached = done->pages_cached;
    figures->n_pages_held = done->pages_held;
    n_pages = instance->eq.n_pages_promised + instance->eq.n_pages_leaving;
    instance->eq.n_pages_shared = n_pages - (uint32_t)num_min(n_pages, done->pages_held);
    instance->registry->events->counts[COUNT_STEPS]++;
    if (load_of(&step->plan, done, &load) && step->held_us > 0) {
        cost_learn(&instance->eq.cost, &load, step->held_us * 1000);
    }
}

void dispatcher_on_step_done(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__StepDone *done)
{
    struct dispatch *dispatch = &dispatcher->streams->dispatch;
    struct dispatch_step *step = dispatch_find(dispatch, &instance->eq, done->id);
    uint64_t now_us = clock_mono_us();
    uint64_t boot_us = clock_boot_us();

    if (!step || (step->state != DISPATCH_RUNNING && step->state != DISPATCH_SUSPENDING &&
                  step->state != DISPATCH_WITHDRAWING)) {
        engine_kill(instance->engine, "it finished a step that it was not asked for");
        return;
    }
    if (!fits(instance, step, done)) {
        engine_kill(instance->engine, "its answer to a step contradicts what it was asked");
        return; /* the step is still under way: the end of the engine finds what was in it */
    }
    dispatch_on_done(dispatch, &instance->eq, done->id, done->held_us, now_us);
    governor_loop_slice_ended(dispatcher->governor_loop, step, done->held_us, done->waited_us, true);
    trace_add(TRACE_STEP_DONE, done->id, now_us - step->sent_us);
    count_step(instance, step, done);
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job) {
            take_result(dispatcher, step->plan.entries[i].job, step->plan.alone, done->entries[i], now_us, boot_us);
        }
    }
    dispatcher_watch(dispatcher, instance);
}

void dispatcher_on_suspended(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__Suspended *suspended)
{
    struct dispatch *dispatch = &dispatcher->streams->dispatch;

    if (!dispatch_on_suspended(dispatch, &instance->eq, suspended->step, suspended->held_us, clock_mono_us())) {
        engine_kill(instance->engine, "it suspended a step that did not run");
        return;
    }
    governor_loop_slice_ended(dispatcher->governor_loop, dispatch_find(dispatch, &instance->eq, suspended->step),
                              suspended->held_us, suspended->waited_us, false);
    dispatcher_watch(dispatcher, instance);
}

void dispatcher_on_withdrawn(struct dispatcher *dispatcher, struct instance *instance,
                             const Sotto__Engine__Withdrawn *withdrawn)
{
    struct dispatch *dispatch = &dispatcher->streams->dispatch;
    struct dispatch_step *step = dispatch_find(dispatch, &instance->eq, withdrawn->step);

    if (!dispatch_on_withdrawn(dispatch, &instance->eq, withdrawn->step, withdrawn->done, clock_mono_us())) {
        engine_kill(instance->engine, "it gave back a step that it was not asked for");
        return;
    }
    for (uint32_t i = 0; withdrawn->done && step && i < step->plan.n_entries; i++) {
        struct job *job = step->plan.entries[i].job;

        if (job && stream_is_over(stream_of(job))) {
            stream_soon(stream_of(job)); /* that step alone has kept it */
        }
    }
    dispatcher_watch(dispatcher, instance);
}
