/*
 * Everything is a walk over DISPATCH_STEPS steps, or over the jobs of the higher classes.
 */
#include "sched/dispatch_pick.h"
#include "base/num.h"

static bool has_begun(const struct dispatch_step *step)
{
    return step->state == DISPATCH_RUNNING || step->state == DISPATCH_SUSPENDING || step->state == DISPATCH_SUSPENDED;
}

/* ---- processors */

static uint64_t rest_of(uint64_t held_us, uint32_t duty_permille)
{
    uint64_t duty = duty_permille < 1 ? 1 : num_min(duty_permille, 1000);

    return held_us * (1000 - duty) / duty;
}

uint64_t dispatch_rested_at_us(const struct dispatch *dispatch, enum processor processor)
{
    enum processor other = processor == PROCESSOR_GPU ? PROCESSOR_CPU : PROCESSOR_GPU;
    const struct dispatch_rest *rest = &dispatch->rests[processor];
    uint32_t duty = dispatch->limits[processor].duty_permille;
    uint32_t common = (uint32_t)num_max(duty, dispatch->limits[other].duty_permille);
    uint64_t rest_us = rest_of(rest->own_us, duty) + rest_of(rest->other_us, common);

    return rest_us > 0 ? rest->from_us + rest_us : 0;
}

bool dispatch_is_rested(const struct dispatch_view *view, enum processor processor)
{
    return dispatch_rested_at_us(view->dispatch, processor) <= view->in->now_us;
}

uint32_t dispatch_boost_us(const struct dispatch_view *view, enum processor processor)
{
    uint32_t slice_us = view->in->limits[processor].slice_us;

    return slice_us > 0 ? (uint32_t)num_min(slice_us, DISPATCH_BOOST_US) : DISPATCH_BOOST_US;
}

static bool is_open(const struct dispatch_view *view, enum processor processor, enum priority priority)
{
    return !view->in->is_asleep && governor_lets_run(&view->in->limits[processor], priority);
}

/* ---- steps */

static struct dispatch_step *find_in(const struct dispatch *dispatch, enum dispatch_state a, enum dispatch_state b)
{
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if (step->state == a || step->state == b) {
            return (struct dispatch_step *)step;
        }
    }
    return NULL;
}

struct dispatch_step *dispatch_runner(const struct dispatch *dispatch)
{
    return find_in(dispatch, DISPATCH_RUNNING, DISPATCH_SUSPENDING);
}

struct dispatch_step *dispatch_waiter(const struct dispatch *dispatch)
{
    return find_in(dispatch, DISPATCH_WAITING, DISPATCH_WITHDRAWING);
}

struct dispatch_step *dispatch_free_step(struct dispatch *dispatch)
{
    return find_in(dispatch, DISPATCH_FREE, DISPATCH_FREE);
}

bool dispatch_is_pointless(const struct dispatch_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct job *job = step->plan.entries[i].job;

        if (job && job->state != JOB_ENDED) {
            return false;
        }
    }
    return true;
}

bool dispatch_is_gated(const struct dispatch_view *view, const struct dispatch_step *step)
{
    enum processor processor = step->eq->processor;

    if (!is_open(view, processor, PRIORITY_REALTIME)) {
        return true;
    }
    /* The step of a suspect would keep all other jobs out of its engine. */
    return !is_open(view, processor, step->priority) && !step->plan.alone && !dispatch_is_pointless(step);
}

/* ---- jobs */

int dispatch_highest(const struct dispatch_view *view, int above, dispatch_fits_fn fits,
                     const struct dispatch_step *step)
{
    for (int priority = PRIORITY_COUNT - 1; priority > above; priority--) {
        const struct list *jobs = &view->queue->jobs[priority];

        for (const struct list *link = jobs->next; link != jobs; link = link->next) {
            if (fits(view, container_of(link, struct job, link), step)) {
                return priority;
            }
        }
    }
    return above;
}

bool dispatch_wants(const struct dispatch_view *view, const struct job *job)
{
    return job->state == JOB_ASSIGNED && job->n_steps == 0 && job_may_step(job) && !job->parked && job->eq->open &&
           is_open(view, job->eq->processor, job->priority) &&
           account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us) == 0;
}

bool dispatch_is_opening(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    (void)step;
    return job->state == JOB_OPENING && job->eq->open && is_open(view, job->eq->processor, job->priority);
}

/* True if the begun steps of its engine admit @job: there is none, or one that it may pass and that is no suspect's. */
static bool engine_lets_in(const struct dispatch_view *view, const struct job *job)
{
    uint32_t n = 0;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &view->dispatch->steps[i];

        if (step->eq != job->eq || !has_begun(step)) {
            continue;
        }
        if (++n > 1 || step->plan.alone || job->alone) {
            return false;
        }
        if (!dispatch_is_gated(view, step) &&
            (job->priority < PRIORITY_REALTIME || job->priority <= step->priority || job->has_first)) {
            return false;
        }
    }
    return true;
}

bool dispatch_is_in_line(const struct dispatch_view *view, const struct job *job)
{
    return (dispatch_wants(view, job) || dispatch_is_opening(view, job, NULL)) &&
           dispatch_is_rested(view, job->eq->processor) && engine_lets_in(view, job);
}

bool dispatch_begins(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    (void)step;
    return dispatch_wants(view, job) && dispatch_is_in_line(view, job) && !queue_is_opening(view->queue, job->eq);
}

bool dispatch_overtakes(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    if (!dispatch_begins(view, job, step)) {
        return false;
    }
    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *other = &view->dispatch->steps[i];

        if (other->state == DISPATCH_SUSPENDED && other->eq == job->eq) {
            return true;
        }
    }
    return false;
}

bool dispatch_has_aged(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    (void)step;
    return job->priority < PRIORITY_REALTIME && job->state == JOB_ASSIGNED && job_may_step(job) && !job->parked &&
           is_open(view, job->eq->processor, job->priority) && queue_rank(job, view->in->now_us) == PRIORITY_REALTIME;
}

bool dispatch_is_first(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    if (job->priority < PRIORITY_REALTIME || job->has_first) {
        return false;
    }
    if (!step) {
        return dispatch_begins(view, job, NULL);
    }
    return job->eq == step->eq && job->state == JOB_ASSIGNED && job_may_step(job);
}

bool dispatch_preempts(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    return job->priority > step->priority && (dispatch_wants(view, job) || dispatch_is_opening(view, job, step)) &&
           engine_lets_in(view, job);
}

/* True if its client, the gate and its account's budget all let @job run. */
static bool is_let(const struct dispatch_view *view, const struct job *job)
{
    return !job->parked && is_open(view, job->eq->processor, job->priority) &&
           account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us) == 0;
}

/* True if @job waits for a slot of an engine, and its steps must end before one comes free. */
static bool seeks_slot(const struct dispatch_view *view, const struct job *job, const struct engine_queue *eq)
{
    return job->state == JOB_WAITING && job->eq == eq && is_let(view, job);
}

/* True if @job waits for the end of @step, which holds the earlier turn of its session. */
static bool seeks_end(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    if (!job->behind || job->eq != step->eq || !is_let(view, job)) {
        return false;
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job == job->behind) {
            return true;
        }
    }
    return false;
}

/* True if @job belongs to the engine of @step and can't begin because of suspended steps there, or before @step has
 * ended. */
static bool is_blocked(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    if (step->n_leaving > 0 && seeks_slot(view, job, step->eq)) {
        return true; /* for the slot of a sequence that leaves with the step */
    }
    if (seeks_end(view, job, step)) {
        return true;
    }
    return job->eq == step->eq && (dispatch_wants(view, job) || dispatch_is_opening(view, job, step)) &&
           !engine_lets_in(view, job);
}

bool dispatch_displaces(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    if ((job->priority > step->priority && seeks_slot(view, job, step->eq)) || seeks_end(view, job, step)) {
        return true;
    }
    if (!dispatch_wants(view, job) && !dispatch_is_opening(view, job, step)) {
        return false;
    }
    if (job->eq == step->eq) {
        return job->priority > step->priority || job->alone;
    }
    return queue_rank(job, view->in->now_us) >= step->priority;
}

/* True if @job is realtime and a client waits for its first token. */
static bool is_awaited(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    (void)step;
    return job->priority == PRIORITY_REALTIME && !job->has_first && job->state == JOB_ASSIGNED && !job->parked &&
           is_open(view, job->eq->processor, job->priority);
}

bool dispatch_is_starving(const struct dispatch_view *view, const struct dispatch_step *step)
{
    uint64_t others_us = view->dispatch->held_us - step->suspended_at_us;
    uint64_t n = dispatch_highest(view, DISPATCH_NO_PRIORITY, is_awaited, NULL) > DISPATCH_NO_PRIORITY
                     ? DISPATCH_STARVE_FIRST
                     : DISPATCH_STARVE_SLICES;

    return others_us >= n * dispatch_boost_us(view, step->eq->processor);
}

int dispatch_priority_of(const struct dispatch_view *view, const struct dispatch_step *step)
{
    if (dispatch_is_pointless(step)) {
        return PRIORITY_REALTIME;
    }
    return dispatch_highest(view, step->priority, is_blocked, step);
}

/* ---- preemption */

/* True if @job waits for its first token and the begun steps of its engine keep it out, or if it waits for the
 * sequence of its session, which nothing else can give it. */
static bool is_kept_out(const struct dispatch_view *view, const struct job *job, const struct dispatch_step *step)
{
    return (job->priority == PRIORITY_REALTIME && !job->has_first && is_blocked(view, job, step)) ||
           seeks_end(view, job, step);
}

/* Returns the first live request of @step, or NULL. */
static struct job *first_of(const struct dispatch_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct job *job = step->plan.entries[i].job;

        if (job && job->state == JOB_ASSIGNED) {
            return job;
        }
    }
    return NULL;
}

struct job *dispatch_find_victim(const struct dispatch *dispatch, struct queue *queue, const struct dispatch_input *in)
{
    const struct dispatch_view view = { .dispatch = dispatch, .queue = queue, .in = in };

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        const struct dispatch_step *step = &dispatch->steps[i];

        if (step->state == DISPATCH_SUSPENDED && dispatch_is_gated(&view, step) &&
            dispatch_highest(&view, DISPATCH_NO_PRIORITY, is_kept_out, step) > DISPATCH_NO_PRIORITY) {
            return first_of(step);
        }
    }
    return NULL;
}
