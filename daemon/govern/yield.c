#include "base/num.h"
#include "govern/governor.h"
#include <math.h>

#define FALL_S         0.1     /* time constant of a falling load: six frames at 60 Hz */
#define MOVES          0.01    /* a load below that is a clock's hand */
#define ACTIVE_US      1000000 /* after its last movement the screen counts as active: animations come in runs */
#define CROWDED        0.95
#define ROOMY          0.85
#define CROWDED_US     200000 /* design: so long without room and new streams go elsewhere */
#define COURAGE_LEAST  0.125  /* an eighth: 0.25 ms of 2 */
#define COURAGE_S      10.0   /* it comes back with this time constant */
#define SLICE_LEAST_US 250    /* a submission costs tens of us; below this nothing but those is done */
#define GATED          50     /* permille: so little is kept for the highest class */
#define DELAY_NOISE    1.25   /* our own submissions take up to so much longer without anybody there */
#define DELAY_FALL_S   1.0    /* a delay is seen only when we submit */
#define MISSES_MOST    3u     /* at once: courage is at its least then */
#define TOLD_S         2.0    /* what a told phase leaves behind is seen by then: walks for new clients are 2 s apart */

void yield_init(struct yield *yield)
{
    *yield = (struct yield){ .courage = 1.0 };
}

static double clamp(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

/* Others' share of what the device could do at its highest clock, which is what it will do for us. */
static double load_seen(const struct governor_input *input)
{
    double busy = input->graphics.busy_permille / 1000.0;

    if (input->graphics.cur_hz > 0 && input->graphics.max_hz > input->graphics.cur_hz) {
        busy *= (double)input->graphics.cur_hz / (double)input->graphics.max_hz;
    }
    return clamp(busy + input->graphics.blind_permille / 1000.0);
}

/* Where no load is told, our own submissions tell: what took twice its time shared the device with an
 * equal. */
static double load_felt(const struct governor_input *input)
{
    double delay = input->delay_permille / 1000.0;

    return delay > DELAY_NOISE ? clamp(1.0 - 1.0 / delay) : 0.0;
}

static double load_of(struct yield *yield, const struct governor_policy *policy, const struct governor_input *input,
                      bool *ret_blind)
{
    uint64_t grace_us = policy->graphics_grace_ms * UINT64_C(1000);
    uint64_t seen_us = input->graphics.at_us > 0 ? input->graphics.at_us : yield->known_us;
    bool is_old = input->now_us > seen_us && input->now_us - seen_us > grace_us;

    *ret_blind = false;
    if (input->graphics.sight == GOVERNOR_NONE) {
        return load_felt(input);
    }
    if (input->graphics.sight == GOVERNOR_SEEN && !is_old) {
        yield->has_seen = true;
        yield->seen = load_seen(input);
        return yield->seen;
    }
    if (input->graphics.sight == GOVERNOR_EARLY || policy->trusts_blind) {
        return load_felt(input);
    }
    if (!is_old) {
        return yield->seen; /* within the grace time the last one holds */
    }
    *ret_blind = true;
    return 1.0;
}

static void follow(struct yield *yield, const struct governor_input *input, double load, double elapsed_s)
{
    double fall_s = input->graphics.sight == GOVERNOR_NONE ? DELAY_FALL_S : FALL_S;

    if (!yield->is_started || load >= yield->load || elapsed_s > 1.0) {
        yield->load = load;
    } else {
        yield->load = load + (yield->load - load) * exp(-elapsed_s / fall_s);
    }
    yield->is_started = true;
    if (load > MOVES) {
        yield->active_us = input->now_us;
    }
}

/* A missed frame halves slice and duty at once. */
static void heed_misses(struct yield *yield, const struct governor_input *input, double elapsed_s)
{
    uint32_t n = input->hint.n_missed < MISSES_MOST ? input->hint.n_missed : MISSES_MOST;

    if (n > 0) {
        yield->courage = fmax(COURAGE_LEAST, yield->courage / (double)(1u << n));
        yield->active_us = input->now_us;
    } else {
        yield->courage += (1.0 - yield->courage) * (1.0 - exp(-elapsed_s / COURAGE_S));
        yield->courage = yield->courage > 0.99 ? 1.0 : yield->courage;
    }
}

static void heed_crowd(struct yield *yield, const struct governor_input *input, double load)
{
    if (load < (yield->is_crowded ? ROOMY : CROWDED)) {
        yield->crowded_us = 0;
        yield->is_crowded = false;
    } else if (yield->crowded_us == 0) {
        yield->crowded_us = input->now_us;
    } else if (input->now_us - yield->crowded_us >= CROWDED_US) {
        yield->is_crowded = true;
    }
}

/* The part of its time that a frame is drawn for, at the clock of now: on a chip that is throttled the same
 * load leaves a slice less room. */
static double drawn_of(const struct governor_input *input, double load)
{
    if (input->graphics.cur_hz == 0 || input->graphics.max_hz <= input->graphics.cur_hz) {
        return load;
    }
    return clamp(load * (double)input->graphics.max_hz / (double)input->graphics.cur_hz);
}

static double frame_of(const struct governor_policy *policy, const struct governor_input *input)
{
    return input->hint.frame_us > 0 ? input->hint.frame_us : policy->frame_us;
}

/* Nobody draws: longer slices. With a compositor that speaks to us half a frame, so that the first frame of
 * what comes waits for no more than that; without one up to what policy allows. */
static void bound_idle(const struct governor_policy *policy, const struct governor_input *input,
                       struct governor_bound *ret_bound)
{
    bool has_compositor = input->hint.at_us > 0;

    *ret_bound = (struct governor_bound){ .cause = GOVERNOR_FREE, .duty_permille = 1000 };
    if (input->graphics.sight == GOVERNOR_NONE && !has_compositor) {
        return; /* there is no screen, as far as anybody can tell */
    }
    ret_bound->slice_us = policy->idle_slice_us;
    if (has_compositor) {
        ret_bound->slice_us = (uint32_t)fmin(ret_bound->slice_us, frame_of(policy, input) / 2.0);
    }
}

/* What a compositor told of comes back by and by: a client that began then may not be seen yet, and be what it
 * told of. */
static double trust_of(const struct yield *yield, const struct governor_input *input)
{
    double past_s = ((double)input->now_us - (double)yield->told_us) / 1e6;

    return yield->told_us == 0 ? 1.0 : clamp(past_s / TOLD_S);
}

static void bound_active(const struct yield *yield, const struct governor_policy *policy,
                         const struct governor_input *input, bool is_blind, struct governor_bound *ret_bound)
{
    bool is_hinted = input->hint.busy_until_us > input->now_us;
    double load = is_hinted ? 1.0 : yield->load;
    double courage = yield->courage * trust_of(yield, input);
    double duty = clamp(1.0 - load - policy->headroom_permille / 1000.0) * courage;
    double room_us = (1.0 - drawn_of(input, load)) * frame_of(policy, input);
    double slice = fmin(policy->max_slice_us, room_us / 2.0) * courage;

    *ret_bound = (struct governor_bound){ .cause = GOVERNOR_GRAPHICS };
    if (is_blind) {
        ret_bound->cause = GOVERNOR_BLIND_GRAPHICS;
    } else if (is_hinted || courage < 1.0) {
        ret_bound->cause = GOVERNOR_HINT;
    }
    ret_bound->duty_permille = (uint32_t)(1000.0 * duty);
    if (ret_bound->duty_permille < policy->min_share_permille) {
        ret_bound->duty_permille = policy->min_share_permille;
        ret_bound->class_gate = PRIORITY_REALTIME;
    } else if (ret_bound->duty_permille < GATED) {
        ret_bound->class_gate = PRIORITY_REALTIME;
    }
    ret_bound->slice_us = (uint32_t)fmax(SLICE_LEAST_US, slice);
}

void yield_tick(struct yield *yield, const struct governor_policy *policy, const struct governor_input *input,
                double elapsed_s, struct governor_bound *ret_bound)
{
    bool is_blind;
    double load;
    bool is_active;

    if (yield->known_us == 0) {
        yield->known_us = input->now_us;
    }
    load = load_of(yield, policy, input, &is_blind);
    follow(yield, input, load, elapsed_s);
    heed_misses(yield, input, elapsed_s);
    if (input->hint.busy_until_us > input->now_us) {
        yield->told_us = input->hint.busy_until_us;
    } else {
        yield->told_us = num_min(yield->told_us, input->now_us); /* void before its time: its compositor has gone */
    }
    heed_crowd(yield, input, load);
    /* Not known yet is not idle: short slices, as beside a screen that moves. */
    is_active = (input->graphics.sight != GOVERNOR_NONE && !yield->has_seen && !policy->trusts_blind) || is_blind ||
                yield->load > MOVES || input->hint.busy_until_us > input->now_us || trust_of(yield, input) < 1.0 ||
                (yield->active_us > 0 && input->now_us - yield->active_us < ACTIVE_US);
    if (is_active) {
        bound_active(yield, policy, input, is_blind, ret_bound);
    } else {
        bound_idle(policy, input, ret_bound);
    }
}
