#include "govern/governor.h"
#include <math.h>
#include <stddef.h>

#define COLDEST_MC       (-60000) /* a car in Siberia; lower values are error codes */
#define HOTTEST_MC       150000   /* no silicon computes above */
#define GRID_VALUES      16u      /* values in a row on a grid that are no coincidence; the first ones count as on it */
#define BELOW_PASSIVE_MC 5000     /* the kernel throttles graphics at the trip point: stay well below */
#define NEAREST_TRIP_MC  2000     /* whatever policy says */
#define USUAL_TARGET_MC  85000    /* for chips without a trip point */
#define NEAR_CRITICAL_MC 10000    /* only realtime works from here on */
#define AT_CRITICAL_MC   5000     /* nothing works from here on */
#define CRITICAL_GAP_MC  3000     /* hysteresis of both */
#define CRITICAL_DUTY    100      /* permille, for realtime near critical */
#define BLIND_DUTY       100      /* permille at most: a chip that was cool enough to work bears this */
#define THROTTLED_DUTY   500      /* permille when the kernel begins to throttle the GPU; less with each state */
#define SWITCH_MC        500      /* another zone must be this much nearer to its target to decide */
#define SLICE_US         10000u   /* a die that follows within a second must not swing with slices and rests */
#define GATED            50       /* permille: with less, background work would hold up the others */
#define VOICE_DEGREES    1.5      /* by which realtime alone may warm a hot chip, of the two that are tolerated */

void heat_init(struct heat *heat)
{
    *heat = (struct heat){ 0 };
    thermostat_init(&heat->thermostat);
    for (size_t i = 0; i < HEAT_ZONES_MAX; i++) {
        stuck_init(&heat->zones[i].stuck);
    }
}

static bool is_plausible(const struct governor_zone *zone)
{
    return zone->temp_mc >= COLDEST_MC && zone->temp_mc <= HOTTEST_MC;
}

/* Finer grids are as good as continuous. */
static const int32_t grids_mc[HEAT_GRIDS] = { 1000, 500, 250, 100 };

static void learn_grid(struct heat_zone *own, int32_t temp_mc)
{
    own->n_seen = own->n_seen < GRID_VALUES ? own->n_seen + 1 : GRID_VALUES;
    for (size_t i = 0; i < HEAT_GRIDS; i++) {
        if (temp_mc % grids_mc[i]) {
            own->n_on[i] = 0;
        } else if (own->n_on[i] < GRID_VALUES) {
            own->n_on[i]++;
        }
    }
}

/* Returns the grid of the sensor in degrees; 0: fine. */
static double step_of(const struct heat_zone *own)
{
    for (size_t i = 0; i < HEAT_GRIDS; i++) {
        if (own->n_on[i] >= own->n_seen) {
            return grids_mc[i] / 1000.0;
        }
    }
    return 0.0;
}

/* Takes in the value of the zone. Returns false if it can't be read and its grace time is over. */
static bool read_zone(struct heat_zone *own, const struct governor_policy *policy, uint64_t now_us,
                      const struct governor_zone *zone)
{
    uint64_t grace_us = policy->heat_grace_ms * UINT64_C(1000);

    if (own->known_us == 0) {
        own->known_us = now_us;
        own->seen_us = now_us;
    }
    if (zone->sight == GOVERNOR_SEEN && is_plausible(zone) && (own->n_seen == 0 || zone->at_us > own->seen_us)) {
        learn_grid(own, zone->temp_mc);
        own->temp_mc = zone->temp_mc;
        own->seen_us = zone->at_us;
    }
    return now_us <= own->seen_us || now_us - own->seen_us <= grace_us;
}

int32_t heat_target_mc(const struct governor_policy *policy, const struct governor_zone *zone)
{
    int32_t target_mc = USUAL_TARGET_MC;

    if (policy->target_mc) {
        target_mc = policy->target_mc;
    } else if (zone->passive_mc != GOVERNOR_NO_TRIP) {
        target_mc = zone->passive_mc - BELOW_PASSIVE_MC;
    }
    if (zone->passive_mc != GOVERNOR_NO_TRIP && target_mc > zone->passive_mc - NEAREST_TRIP_MC) {
        target_mc = zone->passive_mc - NEAREST_TRIP_MC;
    }
    if (zone->critical_mc != GOVERNOR_NO_TRIP && target_mc > zone->critical_mc - NEAR_CRITICAL_MC) {
        target_mc = zone->critical_mc - NEAR_CRITICAL_MC;
    }
    return target_mc;
}

/* Returns by how many degrees a zone is above the value that is held for it. */
static double over_of(const struct heat_zone *own, const struct governor_policy *policy,
                      const struct governor_zone *zone)
{
    return own->temp_mc / 1000.0 - thermostat_aim(heat_target_mc(policy, zone) / 1000.0, step_of(own));
}

/* The result of a look at all zones. */
struct look {
    double elapsed_s;    /* since the last one */
    double used;         /* share of it that our work took */
    double part;         /* of our share that is left while a zone is asked whether it works */
    double over;         /* of the zone that decides, above its aim */
    uint32_t zone;       /* index of that zone */
    bool has_zone;       /* at least one can be read */
    bool is_blind;       /* at least one can't */
    bool is_tripped;     /* a passive trip is reached */
    int32_t critical_mc; /* smallest distance to a critical trip point */
};

static void look_at(struct heat *heat, uint32_t i, const struct governor_policy *policy,
                    const struct governor_input *input, struct look *look)
{
    const struct governor_zone *zone = &input->zones[i];
    struct heat_zone *own = &heat->zones[i];
    double over;

    if (zone->sight == GOVERNOR_NONE) {
        return;
    }
    if (!read_zone(own, policy, input->now_us, zone)) {
        look->is_blind = true;
        return;
    }
    if (own->n_seen == 0) {
        return; /* never read, within the grace time */
    }
    stuck_look(&own->stuck, own->temp_mc, step_of(own), look->used, look->elapsed_s);
    if (own->stuck.is_stuck) {
        look->is_blind = true;
        return;
    }
    look->part = fmin(look->part, stuck_part(&own->stuck));
    over = over_of(own, policy, zone);
    if (heat->has_zone && heat->zone == i) {
        over += SWITCH_MC / 1000.0;
    }
    if (!look->has_zone || over > look->over) {
        look->over = over;
        look->zone = i;
    }
    look->has_zone = true;
    if (zone->passive_mc != GOVERNOR_NO_TRIP && own->temp_mc >= zone->passive_mc) {
        look->is_tripped = true;
    }
    if (zone->critical_mc != GOVERNOR_NO_TRIP && zone->critical_mc - own->temp_mc < look->critical_mc) {
        look->critical_mc = zone->critical_mc - own->temp_mc;
    }
}

static bool is_within(bool was, int32_t distance_mc, int32_t limit_mc)
{
    return distance_mc <= limit_mc + (was ? CRITICAL_GAP_MC : 0);
}

static void bind_duty(struct governor_bound *bound, enum governor_cause cause, uint32_t duty_permille)
{
    if (duty_permille < bound->duty_permille) {
        bound->duty_permille = duty_permille;
        bound->cause = cause;
    }
}

/* Limits the duty where the heat can't be seen. */
static void limit_by_sight(struct heat *heat, const struct governor_policy *policy, const struct look *look,
                           struct governor_bound *bound)
{
    if (look->is_blind && !policy->trusts_blind) {
        double share = 1000.0 * thermostat_blind_share(&heat->thermostat);

        bind_duty(bound, GOVERNOR_BLIND_HEAT, (uint32_t)fmin(share, BLIND_DUTY));
    }
}

/* Leaves a share to realtime alone, however warm the chip is: others may keep it at its target for hours. */
static void leave_voice(const struct heat *heat, const struct governor_policy *policy, const struct look *look,
                        struct governor_bound *bound)
{
    double share = 1000.0 * thermostat_share_of(&heat->thermostat, VOICE_DEGREES);
    uint32_t least = (uint32_t)fmax(share, policy->min_share_permille);

    if (look->is_blind && least > BLIND_DUTY) {
        least = BLIND_DUTY;
    }
    if (bound->duty_permille < least) {
        bound->duty_permille = least;
        bound->class_gate = PRIORITY_REALTIME;
    }
}

/* Limits what the thermostat leaves by the trip points. Beyond them nothing is left to realtime either. */
static void limit_by_trips(struct heat *heat, const struct look *look, struct governor_bound *bound)
{
    heat->is_near_critical = is_within(heat->is_near_critical, look->critical_mc, NEAR_CRITICAL_MC);
    heat->is_at_critical = is_within(heat->is_at_critical, look->critical_mc, AT_CRITICAL_MC);
    if (look->is_tripped || heat->is_at_critical) {
        bound->duty_permille = 0;
        bound->cause = GOVERNOR_TRIP;
    } else if (heat->is_near_critical) {
        bind_duty(bound, GOVERNOR_TRIP, CRITICAL_DUTY);
        bound->class_gate = PRIORITY_REALTIME;
    }
}

/* Limits the duty once the kernel throttles: it is too hot then, whatever the zones say. A throttle state that can't
 * be read any more does not count as cooled down. */
static void limit_by_throttle(const struct governor_policy *policy, const struct governor_input *input,
                              struct governor_bound *bound)
{
    uint64_t state = input->throttle.state;
    uint64_t most = input->throttle.most;

    if (input->throttle.sight == GOVERNOR_NONE || state == 0 ||
        (input->throttle.sight == GOVERNOR_BLIND && policy->trusts_blind)) {
        return;
    }
    most = most > 0 ? most : 2 * state; /* taken to be in the middle */
    state = state < most ? state : most;
    bind_duty(bound, GOVERNOR_TRIP, (uint32_t)(THROTTLED_DUTY * (most - state) / most));
}

void heat_tick(struct heat *heat, const struct governor_policy *policy, const struct governor_input *input,
               double elapsed_s, double used, struct governor_bound *ret_bound)
{
    struct look look = { .elapsed_s = elapsed_s, .used = used, .part = 1.0, .critical_mc = INT32_MAX };
    struct governor_bound bound = { .cause = GOVERNOR_FREE, .duty_permille = 1000 };

    for (uint32_t i = 0; i < input->n_zones && i < HEAT_ZONES_MAX; i++) {
        look_at(heat, i, policy, input, &look);
    }
    if (look.has_zone) {
        const struct heat_zone *own = &heat->zones[look.zone];
        struct thermostat_reading reading = {
            .elapsed_s = fmin(elapsed_s, 1.0),
            .over = over_of(own, policy, &input->zones[look.zone]),
            .step = step_of(own),
            .used = used,
            .is_still = stuck_is_still(&own->stuck),
            .is_fresh = elapsed_s > 1.0 || !heat->has_zone || heat->zone != look.zone,
        };
        double share = thermostat_share(&heat->thermostat, &reading);

        share *= look.part;
        bind_duty(&bound, GOVERNOR_HEAT, (uint32_t)(1000.0 * fmax(share, 0.0)));
        heat->zone = look.zone;
    }
    heat->has_zone = look.has_zone;
    limit_by_sight(heat, policy, &look, &bound);
    leave_voice(heat, policy, &look, &bound);
    limit_by_trips(heat, &look, &bound);
    limit_by_throttle(policy, input, &bound);
    if (bound.duty_permille < GATED && bound.class_gate < PRIORITY_INTERACTIVE) {
        bound.class_gate = PRIORITY_INTERACTIVE;
    }
    if (bound.duty_permille < 1000) {
        bound.slice_us = SLICE_US;
    }
    *ret_bound = bound;
}
