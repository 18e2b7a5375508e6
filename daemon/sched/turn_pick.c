/*
 * Everything is a walk over at most TURN_STEPS steps, or over the jobs of the higher classes.
 */
#include "sched/turn_pick.h"
#include "base/num.h"

static bool has_begun(const struct turn_step *step)
{
    return step->state == TURN_RUNNING || step->state == TURN_SUSPENDING || step->state == TURN_STANDING;
}

/* ---- places */

static uint64_t rest_of(uint64_t held_us, uint32_t duty_permille)
{
    uint64_t duty = duty_permille < 1 ? 1 : num_min(duty_permille, 1000);

    return held_us * (1000 - duty) / duty;
}

uint64_t turn_rested_at_us(const struct turn *turn, enum governor_place place)
{
    enum governor_place other = place == GOVERNOR_DEVICE ? GOVERNOR_CORES : GOVERNOR_DEVICE;
    const struct turn_rest *rest = &turn->rests[place];
    uint32_t duty = turn->limits[place].duty_permille;
    uint32_t common = (uint32_t)num_max(duty, turn->limits[other].duty_permille);
    uint64_t rest_us = rest_of(rest->own_us, duty) + rest_of(rest->other_us, common);

    return rest_us > 0 ? rest->from_us + rest_us : 0;
}

bool turn_is_rested(const struct turn_view *view, enum governor_place place)
{
    return turn_rested_at_us(view->turn, place) <= view->in->now_us;
}

bool turn_is_free(const struct turn_view *view, enum governor_place place)
{
    const struct governor_limits *limits = &view->in->limits[place];

    return limits->slice_us == 0 && limits->duty_permille >= 1000;
}

uint32_t turn_patience_us(const struct turn_view *view, enum governor_place place)
{
    uint32_t slice_us = view->in->limits[place].slice_us;

    return slice_us > 0 ? (uint32_t)num_min(slice_us, TURN_PATIENCE_US) : TURN_PATIENCE_US;
}

static bool is_open(const struct turn_view *view, enum governor_place place, enum sched_class class)
{
    return !view->in->is_asleep && governor_lets_run(&view->in->limits[place], class);
}

/* ---- steps */

struct turn_step *turn_runner(const struct turn *turn)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->state == TURN_RUNNING || step->state == TURN_SUSPENDING) {
            return (struct turn_step *)step;
        }
    }
    return NULL;
}

struct turn_step *turn_waiter(const struct turn *turn)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->state == TURN_WAITING || step->state == TURN_WITHDRAWING) {
            return (struct turn_step *)step;
        }
    }
    return NULL;
}

struct turn_step *turn_slot(struct turn *turn)
{
    for (size_t i = 0; i < TURN_STEPS; i++) {
        if (turn->steps[i].state == TURN_FREE) {
            return &turn->steps[i];
        }
    }
    return NULL;
}

bool turn_is_pointless(const struct turn_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        const struct job *job = step->plan.entries[i].job;

        if (job && job->state != JOB_ENDED) {
            return false;
        }
    }
    return true;
}

bool turn_is_gated(const struct turn_view *view, const struct turn_step *step)
{
    enum governor_place place = step->lane->place;

    if (!is_open(view, place, SCHED_REALTIME)) {
        return true;
    }
    /* A suspect's step would keep everybody out of its lane. */
    return !is_open(view, place, step->class) && !step->plan.alone && !turn_is_pointless(step);
}

int64_t turn_left_us(const struct turn_step *step, uint64_t now_us)
{
    int64_t ran_us = (int64_t)step->held_us;

    if (step->state == TURN_RUNNING || step->state == TURN_SUSPENDING) {
        ran_us += (int64_t)(now_us - num_min(now_us, step->from_us));
    }
    return (int64_t)(step->plan.foretold_ns / 1000.0) - ran_us;
}

/* ---- jobs */

int turn_highest(const struct turn_view *view, int above, turn_fits_fn fits, const struct turn_step *step)
{
    for (int class = SCHED_CLASS_COUNT - 1; class > above; class --) {
        const struct list *jobs = &view->queue->jobs[class];

        for (const struct list *link = jobs->next; link != jobs; link = link->next) {
            if (fits(view, container_of(link, struct job, link), step)) {
                return class;
            }
        }
    }
    return above;
}

bool turn_wants(const struct turn_view *view, const struct job *job)
{
    return job->state == JOB_SEATED && job->n_steps == 0 && job_may_step(job) && !job->parked && job->lane->open &&
           is_open(view, job->lane->place, job->class) &&
           account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us) == 0;
}

bool turn_is_opening(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    (void)step;
    return job->state == JOB_OPENING && job->lane->open && is_open(view, job->lane->place, job->class);
}

/* The begun steps of its lane let it in: none is there, or one that it may pass and that is no suspect's. */
static bool lane_lets_in(const struct turn_view *view, const struct job *job)
{
    uint32_t n = 0;

    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &view->turn->steps[i];

        if (step->lane != job->lane || !has_begun(step)) {
            continue;
        }
        if (++n > 1 || step->plan.alone || job->alone) {
            return false;
        }
        if (!turn_is_gated(view, step) &&
            (job->class < SCHED_REALTIME || job->class <= step->class || job->has_first)) {
            return false;
        }
    }
    return true;
}

bool turn_is_in_line(const struct turn_view *view, const struct job *job)
{
    return (turn_wants(view, job) || turn_is_opening(view, job, NULL)) && turn_is_rested(view, job->lane->place) &&
           lane_lets_in(view, job);
}

bool turn_begins(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    (void)step;
    return turn_wants(view, job) && turn_is_in_line(view, job) && !queue_is_opening(view->queue, job->lane);
}

bool turn_overtakes(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    if (!turn_begins(view, job, step)) {
        return false;
    }
    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *other = &view->turn->steps[i];

        if (other->state == TURN_STANDING && other->lane == job->lane) {
            return true;
        }
    }
    return false;
}

bool turn_has_aged(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    (void)step;
    return job->class < SCHED_REALTIME && job->state == JOB_SEATED && job_may_step(job) && !job->parked &&
           is_open(view, job->lane->place, job->class) && queue_rank(job, view->in->now_us) == SCHED_REALTIME;
}

bool turn_is_first(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    if (job->class < SCHED_REALTIME || job->has_first) {
        return false;
    }
    if (!step) {
        return turn_begins(view, job, NULL);
    }
    return job->lane == step->lane && job->state == JOB_SEATED && job_may_step(job);
}

bool turn_preempts(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    return job->class > step->class && (turn_wants(view, job) || turn_is_opening(view, job, step)) &&
           lane_lets_in(view, job);
}

/* Neither its client, nor the gate, nor its account's budget holds it back. */
static bool is_let(const struct turn_view *view, const struct job *job)
{
    return !job->parked && is_open(view, job->lane->place, job->class) &&
           account_wait_us(job->account, job->limits.tokens_a_minute, view->in->boot_us) == 0;
}

/* Waits for a seat of a lane whose steps must end before one can be taken from somebody. */
static bool seeks_seat(const struct turn_view *view, const struct job *job, const struct lane *lane)
{
    return job->state == JOB_WAITING && job->lane == lane && is_let(view, job);
}

/* Waits for the end of @step, in which the earlier turn of its session still stands. */
static bool seeks_end(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    if (!job->behind || job->lane != step->lane || !is_let(view, job)) {
        return false;
    }
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        if (step->plan.entries[i].job == job->behind) {
            return true;
        }
    }
    return false;
}

bool turn_is_blocked(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    if (step->n_leaving > 0 && seeks_seat(view, job, step->lane)) {
        return true; /* for the seat of one that leaves with the step */
    }
    if (seeks_end(view, job, step)) {
        return true;
    }
    return job->lane == step->lane && (turn_wants(view, job) || turn_is_opening(view, job, step)) &&
           !lane_lets_in(view, job);
}

bool turn_displaces(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    if ((job->class > step->class && seeks_seat(view, job, step->lane)) || seeks_end(view, job, step)) {
        return true;
    }
    if (!turn_wants(view, job) && !turn_is_opening(view, job, step)) {
        return false;
    }
    if (job->lane == step->lane) {
        return job->class > step->class || job->alone;
    }
    return queue_rank(job, view->in->now_us) >= step->class;
}

/* A realtime request whose first token somebody waits for. */
static bool is_awaited(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    (void)step;
    return job->class == SCHED_REALTIME && !job->has_first && job->state == JOB_SEATED && !job->parked &&
           is_open(view, job->lane->place, job->class);
}

bool turn_is_starving(const struct turn_view *view, const struct turn_step *step)
{
    uint64_t others_us = view->turn->held_us - step->stood_at_us;
    uint64_t n =
        turn_highest(view, TURN_NOBODY, is_awaited, NULL) > TURN_NOBODY ? TURN_STARVE_FIRST : TURN_STARVE_SLICES;

    return others_us >= n * turn_patience_us(view, step->lane->place);
}

int turn_class_of(const struct turn_view *view, const struct turn_step *step)
{
    if (turn_is_pointless(step)) {
        return SCHED_REALTIME;
    }
    return turn_highest(view, step->class, turn_is_blocked, step);
}

/* ---- who gives way */

/* It waits for its first token at the lane of @step, whose begun steps keep it out; or for its session's sequence,
 * which nobody else can give it. */
static bool is_kept_out(const struct turn_view *view, const struct job *job, const struct turn_step *step)
{
    return (job->class == SCHED_REALTIME && !job->has_first && turn_is_blocked(view, job, step)) ||
           seeks_end(view, job, step);
}

/* Of those in it that still ask. */
static struct job *first_of(const struct turn_step *step)
{
    for (uint32_t i = 0; i < step->plan.n_entries; i++) {
        struct job *job = step->plan.entries[i].job;

        if (job && job->state == JOB_SEATED) {
            return job;
        }
    }
    return NULL;
}

struct job *turn_find_victim(const struct turn *turn, struct queue *queue, const struct turn_input *in)
{
    const struct turn_view view = { .turn = turn, .queue = queue, .in = in };

    for (size_t i = 0; i < TURN_STEPS; i++) {
        const struct turn_step *step = &turn->steps[i];

        if (step->state == TURN_STANDING && turn_is_gated(&view, step) &&
            turn_highest(&view, TURN_NOBODY, is_kept_out, step) > TURN_NOBODY) {
            return first_of(step);
        }
    }
    return NULL;
}
