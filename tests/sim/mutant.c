#include "mutant.h"
#include "base/clean.h"
#include "base/num.h"
#include "sched/admit.h"

const struct mutant_row mutants[MUTANT_COUNT] = {
    [MUTANT_NONE] = { "none", "sotto as it is", FAMILY_CHAOS, INVARIANT_COUNT },
    [MUTANT_NO_INTEGRAL] = { "no-integral", "the heat controller forgets what it learnt", FAMILY_HEAT,
                             INVARIANT_CYCLE },
    [MUTANT_NO_SLICE] = { "no-slice", "steps run through, whatever their slice", FAMILY_STEADY, INVARIANT_FRAMES },
    [MUTANT_NO_REST] = { "no-rest", "the processor does not rest between slices", FAMILY_STEADY, INVARIANT_REST },
    [MUTANT_NO_SUSPEND] = { "no-suspend", "nothing that runs is interrupted for a higher class", FAMILY_MODELS,
                            INVARIANT_FIRST },
    [MUTANT_NO_AGE] = { "no-age", "no class ages", FAMILY_STARVE, INVARIANT_PROGRESS },
    [MUTANT_NO_WEIGHT] = { "no-weight", "all accounts have the same weight", FAMILY_FAIR, INVARIANT_FAIR },
    [MUTANT_NO_LEARN] = { "no-learn", "the cost model stays as the warm-up left it", FAMILY_IDLE, INVARIANT_COST },
    [MUTANT_NO_ADMIT] = { "no-admit", "every deadline is promised", FAMILY_DEADLINE, INVARIANT_DEADLINE },
    [MUTANT_LATE_RETRY] = { "late-retry", "refused requests are told five minutes", FAMILY_OVERLOAD, INVARIANT_TOLD },
    [MUTANT_BLIND_IDLE] = { "blind-idle", "what can't be read counts as idle", FAMILY_BLIND, INVARIANT_BLIND },
    [MUTANT_DEAF] = { "deaf", "hints are ignored", FAMILY_HINT, INVARIANT_HINT },
    [MUTANT_LEAK] = { "leak", "a cancelled request's sequence stays open", FAMILY_STEADY, INVARIANT_LEAK },
    [MUTANT_LONG_SLICE] = { "long-slice", "slices are a fifth too long", FAMILY_STEADY, INVARIANT_SLICE },
    [MUTANT_SHORT_REST] = { "short-rest", "pauses are a fifth too short", FAMILY_STEADY, INVARIANT_REST },
    [MUTANT_NO_GATE] = { "no-gate", "the class gate is ignored", FAMILY_STEP, INVARIANT_GATE },
    [MUTANT_BY_MODE] = { "by-mode", "work waits for the mode, which dwells", FAMILY_HINT, INVARIANT_FIRST },
    [MUTANT_LATE_HINT] = { "late-hint", "hints arrive a tenth of a second late", FAMILY_HINT, INVARIANT_HINT },
    [MUTANT_NO_DUE] = { "no-due", "deadlines are promised, but do not change the order", FAMILY_DEADLINE,
                        INVARIANT_DEADLINE },
    [MUTANT_SLOW_AGE] = { "slow-age", "classes age four times too slowly", FAMILY_STARVE, INVARIANT_PROGRESS },
    [MUTANT_BY_REQUEST] = { "by-request", "accounts are charged for requests, not for tokens", FAMILY_SHARE,
                            INVARIANT_LEAD },
    [MUTANT_STALE] = { "stale", "old readings count as new", FAMILY_BLIND, INVARIANT_BLIND },
    [MUTANT_WIND_UP] = { "wind-up", "the heat controller's integral grows while nothing runs", FAMILY_BURSTS,
                         INVARIANT_HEAT, 30 },
    [MUTANT_EARLY_RETRY] = { "early-retry", "refused requests are told the least time", FAMILY_OVERLOAD,
                             INVARIANT_TOLD },
    [MUTANT_NO_HEADROOM] = { "no-headroom", "nothing is left unused beside graphics", FAMILY_STEADY, INVARIANT_FRAMES },
    [MUTANT_LOST_SLOT] = { "lost-slot", "a lost engine takes one of its slots with it", FAMILY_FAULT, INVARIANT_LEAK },
    [MUTANT_WALL] = { "wall", "waiting for frames counts as work", FAMILY_STEADY, INVARIANT_FIRST },
    [MUTANT_NUMB] = { "numb", "waiting for frames is not noticed", FAMILY_UNTOLD, INVARIANT_UNTOLD, 41 },
    [MUTANT_REFUSE_ALL] = { "refuse-all", "every deadline is refused", FAMILY_DEADLINE, INVARIANT_REFUSED },
    [MUTANT_HALF_LEFT] = { "half-left", "half of the duty is given", FAMILY_STEADY, INVARIANT_LEFT },
    [MUTANT_HALF_USED] = { "half-used", "half of the duty given is used", FAMILY_STEADY, INVARIANT_USED },
    [MUTANT_LONG_HINT] = { "long-hint", "hints hold 5 s longer", FAMILY_HINT, INVARIANT_LEFT },
    [MUTANT_NO_REFUND] = { "no-refund", "rows of a lost or preempted sequence stay charged", FAMILY_LOSSES,
                           INVARIANT_LEAD, 40 },
    [MUTANT_NO_TENURE] = { "no-tenure", "a slot that was got by age may be taken at once", FAMILY_STARVE,
                           INVARIANT_PROGRESS, 185 },
    [MUTANT_LONG_ESTIMATE] = { "long-estimate", "deadlines are admitted as if all took three times as long",
                               FAMILY_DEADLINE, INVARIANT_ESTIMATE },
    [MUTANT_HALF_BUDGET] = { "half-budget", "accounts get half of their tokens a minute", FAMILY_CHAOS,
                             INVARIANT_BUDGET, 50 },
    [MUTANT_NO_QUANTUM] = { "no-quantum", "a request keeps its slot to the end of its answer", FAMILY_ENDLESS,
                            INVARIANT_STREAM },
    [MUTANT_NO_STUCK] = { "no-stuck", "a zone that stands still is never asked", FAMILY_STUCK, INVARIANT_BLIND },
    [MUTANT_NO_TRIP] = { "no-trip", "trip points are ignored", FAMILY_HOT, INVARIANT_TRIP },
    [MUTANT_LONG_TRIP] = { "long-trip", "a trip point that was reached stays reached", FAMILY_HOT, INVARIANT_COOLED },
    [MUTANT_NO_VOICE] = { "no-voice", "heat leaves realtime no more than the others", FAMILY_HOT, INVARIANT_VOICE },
};

/* A shorter pause, as the share of time that it leaves. */
#define FIFTH_SHORT(duty) ((duty)*1000u / ((duty) + (1000u - (duty)) * 8u / 10u))

/* Charge for a request, in tokens; and the growth of the integral at a tick at which it is not used. */
#define REQUEST_TOK  100u
#define WIND_UP_TICK 0.02
#define LATE_US      100000u
#define LONG_HINT_US 5000000u
#define MISJUDGED    3.0

static void move_trips(enum mutant mutant, const struct governor *governor, struct governor_input *input)
{
    for (uint32_t i = 0; i < input->n_zones; i++) {
        struct governor_zone *zone = &input->zones[i];

        if (mutant == MUTANT_NO_TRIP) {
            zone->passive_mc = GOVERNOR_NO_TRIP;
            zone->critical_mc = GOVERNOR_NO_TRIP;
        } else if (mutant == MUTANT_LONG_TRIP && governor->wanted[PROCESSOR_CPU].cause == GOVERNOR_TRIP) {
            zone->temp_mc = zone->temp_mc > zone->passive_mc ? zone->temp_mc : zone->passive_mc;
        }
    }
}

void mutant_blinds(enum mutant mutant, const struct governor *governor, struct governor_input *input)
{
    move_trips(mutant, governor, input);
    if (mutant == MUTANT_LATE_HINT && input->now_us < input->hint.at_us + LATE_US) {
        input->hint.busy_until_us = 0;
    }
    if (mutant == MUTANT_LONG_HINT && input->hint.busy_until_us > 0) {
        input->hint.busy_until_us += LONG_HINT_US;
    }
    if (mutant == MUTANT_STALE) {
        for (uint32_t i = 0; i < input->n_zones; i++) {
            input->zones[i].at_us = input->now_us;
        }
    }
    if (mutant != MUTANT_BLIND_IDLE) {
        return;
    }
    for (uint32_t i = 0; i < input->n_zones; i++) {
        if (input->zones[i].sight == GOVERNOR_BLIND || input->zones[i].temp_mc < -50000) {
            input->zones[i].sight = GOVERNOR_NONE;
        }
        input->zones[i].at_us = input->now_us;
    }
    if (input->graphics.sight == GOVERNOR_BLIND) {
        input->graphics.sight = GOVERNOR_NONE;
    }
}

void mutant_forgets(enum mutant mutant, struct governor *governor)
{
    struct thermostat *thermostat = &governor->heat.thermostat;

    if (mutant == MUTANT_NO_HEADROOM) {
        governor->policy.headroom_permille = 0;
    } else if (mutant == MUTANT_NO_VOICE && governor->limits[PROCESSOR_CPU].class_gate == PRIORITY_REALTIME) {
        governor->limits[PROCESSOR_CPU].duty_permille = 0;
        governor->limits[PROCESSOR_GPU].duty_permille = 0;
    } else if (mutant == MUTANT_NO_STUCK) {
        stuck_init(&governor->heat.zones[0].stuck);
    } else if (mutant == MUTANT_NO_INTEGRAL) {
        thermostat->integral = 1.0;
    } else if (mutant == MUTANT_WIND_UP && thermostat->used < thermostat->integral / 2.0) {
        thermostat->integral += WIND_UP_TICK;
        thermostat->integral = thermostat->integral < 1.0 ? thermostat->integral : 1.0;
    }
    for (size_t i = 0; i < PROCESSOR_COUNT && mutant == MUTANT_HALF_LEFT; i++) {
        governor->limits[i].duty_permille /= 2;
    }
}

void mutant_limits(enum mutant mutant, struct governor_limits *limits)
{
    switch (mutant) {
    case MUTANT_NO_REST:
        limits->duty_permille = limits->duty_permille > 0 ? 1000 : 0;
        break;
    case MUTANT_SHORT_REST:
        limits->duty_permille = limits->duty_permille > 0 ? FIFTH_SHORT(limits->duty_permille) : 0;
        break;
    case MUTANT_HALF_USED:
        limits->duty_permille = (limits->duty_permille + 1) / 2;
        break;
    case MUTANT_NO_GATE:
        limits->class_gate = PRIORITY_BACKGROUND;
        break;
    case MUTANT_BY_MODE:
        limits->duty_permille = limits->mode == GOVERNOR_PAUSED ? 0 : limits->duty_permille;
        break;
    default: /* the others affect something else */
        break;
    }
}

uint64_t mutant_holds(enum mutant mutant, uint64_t held_us, uint64_t waited_us)
{
    return mutant == MUTANT_WALL ? held_us + waited_us : held_us;
}

uint64_t mutant_feels(enum mutant mutant, uint64_t waited_us)
{
    return mutant == MUTANT_NUMB ? 0 : waited_us;
}

uint64_t mutant_tells(enum mutant mutant, uint64_t retry_us)
{
    if (mutant == MUTANT_LATE_RETRY) {
        return QUEUE_RETRY_MOST_US;
    }
    return mutant == MUTANT_EARLY_RETRY ? QUEUE_RETRY_LEAST_US : retry_us;
}

void mutant_charges(enum mutant mutant, struct job *job, uint64_t served)
{
    bool has_ended = job->n_left <= 1; /* with the token that was just sampled */

    if (mutant == MUTANT_BY_REQUEST) {
        job->account->served[job->priority] = served + has_ended * REQUEST_TOK * account_unit(&job->limits);
    }
}

int mutant_admits(enum mutant mutant, const struct job *job, int verdict)
{
    if (mutant == MUTANT_NO_ADMIT && verdict == ADMIT_LATE) {
        return ADMIT_OK;
    }
    return mutant == MUTANT_REFUSE_ALL && queue_deadline_us(job) > 0 ? ADMIT_LATE : verdict;
}

void mutant_refunds(enum mutant mutant, struct job *job, uint64_t before)
{
    if (mutant == MUTANT_NO_REFUND) {
        job->account->ahead[job->priority] = before;
    }
}

void mutant_evicts(enum mutant mutant, struct queue *queue)
{
    if (mutant != MUTANT_NO_TENURE) {
        return;
    }
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        job->assigned_us = 0;
    }
}

double mutant_misjudges(enum mutant mutant)
{
    return mutant == MUTANT_LONG_ESTIMATE ? MISJUDGED : 1.0;
}

void mutant_prolongs(enum mutant mutant, struct queue *queue, uint64_t now_us)
{
    for (struct job *job = queue_first(queue); mutant == MUTANT_NO_QUANTUM && job; job = queue_next(queue, job)) {
        job->assigned_us = now_us;
        job->went_on_us = 0;
    }
}

static void age_less(uint64_t *since_us, uint64_t gone_us, uint64_t now_us, uint64_t slowness)
{
    *since_us = slowness == 0 ? now_us : num_min(now_us, *since_us + gone_us - gone_us / slowness);
}

void mutant_rejuvenates(struct queue *queue, uint64_t gone_us, uint64_t now_us, uint64_t slowness)
{
    struct engine_queue *eq = NULL;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        struct list *link;

        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);

            age_less(&job->since_us, gone_us, now_us, slowness);
            if (job->eq != eq) {
                eq = job->eq;
                age_less(&eq->asked_us[i], gone_us, now_us, slowness);
                age_less(&eq->served_us[i], gone_us, now_us, slowness);
            }
        }
        eq = NULL;
    }
}
