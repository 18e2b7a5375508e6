#include "base/num.h"
#include "govern/governor.h"
#include <math.h>

#define FALL_S        0.1  /* time constant of a falling load: six frames at 60 Hz */
#define UNTOLD_FALL_S 0.25 /* where our own waiting shows it: samples are few beside a full screen */
#define UNTOLD_HITS                                                                                                    \
    10.0 /* slices in a frame, which may meet one unseen before each of eight submissions, and a margin */
#define DITHER_US      50000   /* a tick */
#define MOVES          0.01    /* a lower load is only the hand of a clock */
#define ACTIVE_US      1000000 /* the screen counts as active this long after a change, as animations come in runs */
#define CROWDED        0.95
#define ROOMY          0.85
#define CROWDED_US     200000 /* from the design: without room for this long, new streams go elsewhere */
#define COURAGE_LEAST  0.125  /* an eighth: 0.25 ms of 2 */
#define COURAGE_S      10.0   /* time constant of its recovery */
#define SLICE_LEAST_US 250    /* a submission costs tens of us; with shorter slices there would be nothing else */
#define GATED          50     /* permille: this little is left to realtime only */
#define MISSES_MOST    3u     /* in one tick: courage is at its least then */
#define GROWS          0.1    /* a rise by more than this above the recent peak is a new load */
#define PEAK_S         0.3    /* time constant of that peak: at 30 Hz every other reading of 50 ms has a frame less */
#define OPENING_LEAST  0.5    /* of slice and duty, beside a new load */
#define OPENING_S      0.3    /* six readings: late frames have caught up by then */
#define HITS           6.0    /* slices that fit into the room of a frame: each of its submissions may wait for one */
#define ANNOUNCED_S    2.0    /* clients of an announced phase are seen by then: walks for new ones are 2 s apart */

void yield_init(struct yield *yield)
{
    *yield = (struct yield){ .courage = 1.0 };
}

static double clamp(double x)
{
    return x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
}

/* Returns the share of others in what the GPU could do at its highest clock, which it will reach for us. */
static double load_seen(const struct governor_input *input)
{
    double busy = input->graphics.busy_permille / 1000.0;

    if (input->graphics.cur_hz > 0 && input->graphics.max_hz > input->graphics.cur_hz) {
        busy *= (double)input->graphics.cur_hz / (double)input->graphics.max_hz;
    }
    return clamp(busy + input->graphics.blind_permille / 1000.0);
}

/* True if our own work shows the load: no driver reports it, or not yet, or policy says that nothing hangs on it. */
static bool is_untold(const struct governor_policy *policy, const struct governor_input *input)
{
    return input->graphics.sight == GOVERNOR_UNTOLD || input->graphics.sight == GOVERNOR_EARLY ||
           (input->graphics.sight == GOVERNOR_BLIND && policy->trusts_blind);
}

static double load_of(struct yield *yield, const struct governor_policy *policy, const struct governor_input *input,
                      bool *ret_blind)
{
    uint64_t grace_us = policy->graphics_grace_ms * UINT64_C(1000);
    uint64_t seen_us = input->graphics.at_us > 0 ? input->graphics.at_us : yield->known_us;
    bool is_old = input->now_us > seen_us && input->now_us - seen_us > grace_us;

    *ret_blind = false;
    if (input->graphics.sight == GOVERNOR_NONE) {
        return 0.0;
    }
    if (input->graphics.sight == GOVERNOR_SEEN && !is_old) {
        yield->has_seen = true;
        yield->seen = load_seen(input);
        return yield->seen;
    }
    if (is_untold(policy, input)) {
        return contention_load(&yield->contention, yield->frame_us, input->now_us);
    }
    if (!is_old) {
        return yield->seen; /* within the grace time the last reading holds */
    }
    *ret_blind = true;
    return 1.0;
}

static void follow(struct yield *yield, const struct governor_input *input, double load, double elapsed_s)
{
    double fall_s = input->graphics.sight == GOVERNOR_UNTOLD ? UNTOLD_FALL_S : FALL_S;

    if (yield->is_started && load > yield->peak + GROWS) {
        yield->grown_us = input->now_us;
    }
    yield->peak = fmax(load, load + (yield->peak - load) * exp(-elapsed_s / PEAK_S));
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

/* Halves slice and duty at once for a missed frame. */
static void follow_misses(struct yield *yield, const struct governor_input *input, double elapsed_s)
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

static void follow_crowd(struct yield *yield, const struct governor_input *input, double load)
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

/* Returns the part of its time that a frame is drawn for at the present clock: on a throttled chip the same load
 * leaves less room. A clock that is low for want of work rises as we work. */
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

/* Sets the bound while nothing draws: longer slices. A compositor that reports to us gets half a frame, so its first
 * frame waits no longer than that; without one it is what policy allows. Where no load is told, small frames may be
 * drawn that no slice of ours meets: each of their submissions has room for a slice. Frames that were missed keep it
 * shorter, though the screen stands still. */
static void bound_idle(const struct yield *yield, const struct governor_policy *policy,
                       const struct governor_input *input, struct governor_bound *ret_bound)
{
    bool has_compositor = input->hint.at_us > 0;
    double frame_us = yield->frame_us;
    double slice_us = policy->idle_slice_us;

    *ret_bound = (struct governor_bound){ .cause = GOVERNOR_FREE, .duty_permille = 1000 };
    if (input->graphics.sight == GOVERNOR_NONE && !has_compositor) {
        return; /* there is no screen, as far as is known */
    }
    if (input->graphics.sight == GOVERNOR_UNTOLD) {
        slice_us = fmin(slice_us, frame_us / UNTOLD_HITS);
    } else if (has_compositor) {
        slice_us = fmin(slice_us, frame_us / 2.0);
    }
    ret_bound->slice_us = (uint32_t)fmax(SLICE_LEAST_US, slice_us * yield->courage);
}

/* Returns the part of the duty that is ours after an announced phase. It comes back gradually, as a client that
 * began then may not be seen yet. */
static double trust_of(const struct yield *yield, const struct governor_input *input)
{
    double past_s = ((double)input->now_us - (double)yield->announced_us) / 1e6;

    return yield->announced_us == 0 ? 1.0 : clamp(past_s / ANNOUNCED_S);
}

/* Returns the part of slice and duty that is ours after the load grew. Frames that met more may be late at first. Then
 * they are drawn every other period, which looks like half of their load, and what half the load leaves would keep them
 * late. So we take less until they have caught up. */
static double opening_of(const struct yield *yield, const struct governor_input *input)
{
    double past_s = ((double)input->now_us - (double)yield->grown_us) / 1e6;

    return yield->grown_us == 0 ? 1.0 : clamp(fmax(OPENING_LEAST, past_s / OPENING_S));
}

/* Returns the part of a slice that holds now. Where our own waits show the load it is all, three quarters or half, in
 * turn. Otherwise pauses may fall into step with the submissions of others: each begins when a slice of ours ends, and
 * is over, unseen, just before the next. */
static double dither_of(const struct governor_input *input)
{
    return input->graphics.sight == GOVERNOR_UNTOLD ? 1.0 - (double)(input->now_us / DITHER_US % 3) / 4.0 : 1.0;
}

static void bound_active(const struct yield *yield, const struct governor_policy *policy,
                         const struct governor_input *input, bool is_blind, struct governor_bound *ret_bound)
{
    bool is_hinted = input->hint.busy_until_us > input->now_us;
    double load = is_hinted ? 1.0 : yield->load;
    double courage = yield->courage * trust_of(yield, input) * opening_of(yield, input);
    double room = 1.0 - drawn_of(input, load);
    double duty = clamp(room - policy->headroom_permille / 1000.0) * courage;
    double slice = fmin(policy->max_slice_us, room * frame_of(policy, input) / HITS) * courage * dither_of(input);

    *ret_bound = (struct governor_bound){
        .cause = input->graphics.sight == GOVERNOR_UNTOLD ? GOVERNOR_CONTENTION : GOVERNOR_GRAPHICS,
    };
    if (is_blind) {
        ret_bound->cause = GOVERNOR_BLIND_GRAPHICS;
    } else if (is_hinted || yield->courage * trust_of(yield, input) < 1.0) {
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

/* True if it is not known yet whether the screen moves: no load was ever read, or too little was submitted of late. */
static bool is_not_known(const struct yield *yield, const struct governor_policy *policy,
                         const struct governor_input *input)
{
    switch (input->graphics.sight) {
    case GOVERNOR_NONE:
        return false;
    case GOVERNOR_UNTOLD:
        return !contention_is_known(&yield->contention, yield->frame_us, input->now_us);
    case GOVERNOR_EARLY:
    case GOVERNOR_SEEN:
    case GOVERNOR_BLIND:
        break;
    }
    return !yield->has_seen && !policy->trusts_blind;
}

void yield_on_slice(struct yield *yield, const struct governor_policy *policy, uint64_t ended_us, uint64_t held_us,
                    uint64_t waited_us)
{
    double frame_us = yield->frame_us > 0.0 ? yield->frame_us : policy->frame_us;

    contention_sample(&yield->contention, frame_us, ended_us, held_us, waited_us);
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
    yield->frame_us = frame_of(policy, input);
    load = load_of(yield, policy, input, &is_blind);
    follow(yield, input, load, elapsed_s);
    follow_misses(yield, input, elapsed_s);
    if (input->hint.busy_until_us > input->now_us) {
        yield->announced_us = input->hint.busy_until_us;
    } else {
        yield->announced_us = num_min(yield->announced_us, input->now_us); /* ended early: its compositor has gone */
    }
    follow_crowd(yield, input, load);
    /* A load that is not known yet is not idle: slices are short, as beside a changing screen. */
    is_active = is_not_known(yield, policy, input) || is_blind || yield->load > MOVES ||
                input->hint.busy_until_us > input->now_us || trust_of(yield, input) < 1.0 ||
                (yield->active_us > 0 && input->now_us - yield->active_us < ACTIVE_US);
    if (is_active) {
        bound_active(yield, policy, input, is_blind, ret_bound);
    } else {
        bound_idle(yield, policy, input, ret_bound);
    }
}
