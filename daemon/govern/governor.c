/*
 * Each cause sets a bound: graphics (yield.c), heat and trip points (heat.c), power (watts.c), sleep, memory. The
 * tightest wins and names the cause. A mode is a name for what is left, with a dwell between changes.
 *
 * Defaults, where policy sets nothing:
 *
 * - frame 16.7 ms: 60 Hz, the usual panel.
 * - slice 0.75 ms: with the part that it is rounded up by it is within the millisecond for which compositors wait
 *   before the scan-out (Mutter's constant).
 * - idle slice 20 ms: a client that begins to draw waits for it once. Longer slices gained nothing measurable.
 * - headroom 100: a tenth, for the time between the submissions of a frame and for the error of a sampled load.
 * - graphics grace 1 s: a slow source counts a new client within two periods.
 * - heat grace 3 s: zones are read each second, and two readings may fail.
 */
#include "govern/governor.h"
#include "base/num.h"
#include <assert.h>

#define FRAME_US          16667u
#define SLICE_US          750u
#define IDLE_SLICE_US     20000u
#define IDLE_SLICE_MOST   100000u /* a fifth of the 500 ms after which drivers call a job hung */
#define HEADROOM_PERMILLE 100u
#define GRAPHICS_GRACE_MS 1000u
#define HEAT_GRACE_MS     3000u

#define GAP_S           1.0
#define USUAL_S         0.5     /* time constant of the usual duty: thirty frames */
#define DWELL_US        500000u /* a freer mode must be possible this long without a break: a flapping load is a load */
#define CAUSE_US        500000u /* between changes of cause within a mode: more than two a second are of no use */
#define FULL_AGAIN      950u    /* permille of duty before a shared processor counts as ours alone */
#define THIN_BELOW      50u     /* permille of duty */
#define THIN_UNTIL      80u
#define TO_SPARE        250u    /* permille that the cores must have left to take over from the GPU */
#define PAUSE_US        200000u /* longest pause between slices: a request may wait for the next one */
#define PAUSED_SLICE_US 2000u   /* shortest slice with such pauses */

/* Memory pressure, as PSI "some" of ten seconds, in permille: pages are given up in steps, and come back one step at
 * a time. */
#define PRESSURE_STEPS   3u
#define PRESSURE_BACK_US 10000000u /* the span of the reading */

static const struct pressure_step {
    uint32_t from_permille;
    uint32_t kv_permille;
    uint32_t n_rows;
} pressure_steps[PRESSURE_STEPS] = {
    { 100, 750, 128 }, /* tasks wait for memory a tenth of the time */
    { 250, 500, 64 },
    { 500, 250, 32 },
};

static const char *const mode_names[] = {
    [GOVERNOR_FULL] = "full", [GOVERNOR_SHARED] = "shared", [GOVERNOR_THIN] = "thin",
    [GOVERNOR_CPU] = "cpu",   [GOVERNOR_PAUSED] = "paused",
};

static const char *const cause_names[] = {
    [GOVERNOR_FREE] = "free",
    [GOVERNOR_GRAPHICS] = "graphics",
    [GOVERNOR_CONTENTION] = "contention",
    [GOVERNOR_HINT] = "hint",
    [GOVERNOR_HEAT] = "heat",
    [GOVERNOR_TRIP] = "trip",
    [GOVERNOR_POWER] = "power",
    [GOVERNOR_PRESSURE] = "pressure",
    [GOVERNOR_SLEEP] = "sleep",
    [GOVERNOR_BLIND_GRAPHICS] = "blind-graphics",
    [GOVERNOR_BLIND_HEAT] = "blind-heat",
};

static void set_default(uint32_t *field, uint32_t value)
{
    if (*field == 0) {
        *field = value;
    }
}

void governor_configure(struct governor *governor, const struct governor_policy *policy)
{
    struct governor_policy *own = &governor->policy;

    *own = *policy;
    set_default(&own->frame_us, FRAME_US);
    set_default(&own->max_slice_us, SLICE_US);
    set_default(&own->idle_slice_us, IDLE_SLICE_US);
    set_default(&own->headroom_permille, HEADROOM_PERMILLE);
    set_default(&own->graphics_grace_ms, GRAPHICS_GRACE_MS);
    set_default(&own->heat_grace_ms, HEAT_GRACE_MS);
    own->idle_slice_us = (uint32_t)num_min(own->idle_slice_us, IDLE_SLICE_MOST);
    own->max_slice_us = (uint32_t)num_min(own->max_slice_us, IDLE_SLICE_MOST);
}

void governor_init(struct governor *governor, const struct governor_policy *policy)
{
    *governor = (struct governor){ .kv_permille = 1000 };
    governor_configure(governor, policy);
    yield_init(&governor->yield);
    heat_init(&governor->heat);
    watts_init(&governor->watts);
    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        governor->limits[i] = (struct governor_limits){ .duty_permille = 1000, .kv_permille = 1000 };
    }
}

/* ---- bounds */

static void tighten(struct governor_bound *bound, const struct governor_bound *other)
{
    if (other->duty_permille < bound->duty_permille) {
        bound->duty_permille = other->duty_permille;
        bound->cause = other->cause;
    }
    if (other->slice_us > 0 && (bound->slice_us == 0 || other->slice_us < bound->slice_us)) {
        bound->slice_us = other->slice_us;
    }
    if (other->class_gate > bound->class_gate) {
        bound->class_gate = other->class_gate;
    }
}

/* With pauses between them, slices are so short that no pause is long. */
static void shorten(struct governor_bound *bound)
{
    uint64_t duty = bound->duty_permille;
    uint64_t slice_us;

    if (duty >= 1000) {
        return;
    }
    slice_us = num_max(PAUSED_SLICE_US, num_min(IDLE_SLICE_MOST, PAUSE_US * duty / (1000 - duty)));
    if (bound->slice_us == 0 || slice_us < bound->slice_us) {
        bound->slice_us = (uint32_t)slice_us;
    }
}

/* ---- memory */

/* Reduces the pages at once, and gives back a step after each ten seconds without pressure. */
static const struct pressure_step *follow_pressure(struct governor *governor, const struct governor_input *input)
{
    const struct pressure_step *found = NULL;
    uint32_t allowed = 1000;

    for (size_t i = 0; i < PRESSURE_STEPS; i++) {
        if (input->pressure_permille >= pressure_steps[i].from_permille) {
            allowed = pressure_steps[i].kv_permille;
        }
    }
    if (allowed <= governor->kv_permille) {
        governor->pressed_us = input->now_us;
        governor->kv_permille = allowed;
    } else if (input->now_us - governor->pressed_us >= PRESSURE_BACK_US) {
        governor->pressed_us = input->now_us;
        governor->kv_permille = (uint32_t)num_min(allowed, governor->kv_permille + 250);
    }
    for (size_t i = 0; i < PRESSURE_STEPS; i++) {
        if (governor->kv_permille <= pressure_steps[i].kv_permille) {
            found = &pressure_steps[i];
        }
    }
    return found;
}

/* ---- modes */

/* Returns the mode that describes @bound. @was is the present mode, for the hysteresis. */
static enum governor_mode mode_of(const struct governor_bound *bound, enum governor_mode was)
{
    if (bound->duty_permille == 0) {
        return GOVERNOR_PAUSED;
    }
    if (bound->class_gate == PRIORITY_REALTIME) {
        return GOVERNOR_THIN;
    }
    if (bound->duty_permille < (was == GOVERNOR_THIN || was == GOVERNOR_PAUSED ? THIN_UNTIL : THIN_BELOW)) {
        return GOVERNOR_THIN;
    }
    if (bound->duty_permille < (was == GOVERNOR_FULL ? FULL_AGAIN : 1000u)) {
        return GOVERNOR_SHARED;
    }
    /* Short slices without a pause belong to a screen that does not change. */
    return GOVERNOR_FULL;
}

/* Returns how little a mode leaves. The last two are entered at once from all others, as what decides on them has a
 * hysteresis of its own. */
static uint32_t strictness(enum governor_mode mode)
{
    switch (mode) {
    case GOVERNOR_FULL:
        return 0;
    case GOVERNOR_SHARED:
        return 1;
    case GOVERNOR_THIN:
        return 2;
    case GOVERNOR_CPU:
    case GOVERNOR_PAUSED:
    case GOVERNOR_MODE_COUNT:
        break;
    }
    return UINT32_MAX;
}

static bool is_at_once(enum governor_mode to, enum governor_mode from)
{
    return strictness(to) == UINT32_MAX || strictness(to) > strictness(from);
}

/* True if a freer mode has been wanted for a dwell without a break. Otherwise a load that swings about a bound would
 * change the mode with each swing, as frames do that last longer than the period of a reading. */
static bool has_dwelt(struct governor *governor, enum processor processor, enum governor_mode mode, uint64_t now_us)
{
    const struct governor_limits *limits = &governor->limits[processor];

    if (mode == limits->mode || is_at_once(mode, limits->mode)) {
        governor->freer_us[processor] = 0;
        return false;
    }
    if (governor->freer_us[processor] == 0) {
        governor->freer_us[processor] = now_us;
    }
    return now_us - governor->freer_us[processor] >= DWELL_US || limits->cause == GOVERNOR_SLEEP;
}

/* Enters a stricter mode at once and a freer one after a dwell. Sleep ends without a dwell. */
static bool move(struct governor *governor, enum processor processor, enum governor_mode mode,
                 enum governor_cause cause, uint64_t now_us)
{
    struct governor_limits *limits = &governor->limits[processor];
    bool may_be_freer = has_dwelt(governor, processor, mode, now_us);
    bool changed = false;

    if (mode != limits->mode && (is_at_once(mode, limits->mode) || may_be_freer)) {
        governor->freer_us[processor] = 0;
        limits->mode = mode;
        governor->since_us[processor] = now_us;
        governor->n_changes++;
        changed = true;
    }
    if (mode != limits->mode) {
        return changed; /* the mode dwells, and so does its cause */
    }
    if (cause != limits->cause && (changed || now_us - governor->cause_us[processor] >= DWELL_US)) {
        limits->cause = cause;
        governor->cause_us[processor] = now_us;
        changed = true;
    }
    return changed;
}

/* Returns the class gate. It closes at once. It opens when the duty is high enough to leave a thin mode, or after a
 * dwell without it being wanted: a load that swings about a bound is a load. */
static enum priority gate_of(struct governor *governor, enum processor processor, const struct governor_bound *bound,
                             uint64_t now_us)
{
    const struct governor_limits *limits = &governor->limits[processor];

    if (bound->class_gate >= limits->class_gate || bound->duty_permille >= THIN_UNTIL) {
        governor->gate_us[processor] = 0;
        return bound->class_gate;
    }
    if (governor->gate_us[processor] == 0) {
        governor->gate_us[processor] = now_us;
    }
    return now_us - governor->gate_us[processor] >= DWELL_US ? bound->class_gate : limits->class_gate;
}

static bool set(struct governor *governor, enum processor processor, const struct governor_bound *bound,
                enum governor_mode mode, const struct pressure_step *pressure, uint64_t now_us)
{
    struct governor_limits *limits = &governor->limits[processor];
    enum governor_cause cause = bound->cause;

    if (pressure && bound->duty_permille >= 1000) {
        cause = GOVERNOR_PRESSURE;
    }
    limits->slice_us = bound->slice_us;
    limits->duty_permille = bound->duty_permille;
    limits->class_gate = gate_of(governor, processor, bound, now_us);
    limits->n_rows = pressure ? pressure->n_rows : 0;
    limits->kv_permille = governor->kv_permille;
    governor->wanted[processor].mode = mode;
    governor->wanted[processor].cause = cause;
    return move(governor, processor, mode, cause, now_us);
}

/* ---- the tick */

static double used_of(const struct governor_input *input, double elapsed_s)
{
    double held_us = 0.0;
    double used;

    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        held_us += (double)input->held_us[i];
    }
    used = elapsed_s > 0.0 ? held_us / (elapsed_s * 1e6) : 0.0;
    return used > 1.0 ? 1.0 : used;
}

/* Updates the usual duty. It predicts the duty of a second better than the present one does, as a load is read by
 * the frame. */
static void follow_usual(struct governor *governor, double elapsed_s)
{
    double part = elapsed_s > GAP_S ? 1.0 : elapsed_s / (elapsed_s + USUAL_S);

    for (size_t i = 0; i < PROCESSOR_COUNT; i++) {
        const struct governor_limits *limits = &governor->limits[i];

        if (limits->busy_until_us == 0) {
            governor->usual[i] += ((double)limits->duty_permille - governor->usual[i]) * part;
        }
        governor->limits[i].usual_permille = (uint32_t)governor->usual[i];
    }
}

void governor_on_slice(struct governor *governor, uint64_t ended_us, uint64_t held_us, uint64_t waited_us)
{
    yield_on_slice(&governor->yield, &governor->policy, ended_us, held_us, waited_us);
}

bool governor_tick(struct governor *governor, const struct governor_input *input)
{
    const struct governor_policy *policy = &governor->policy;
    const struct pressure_step *pressure = follow_pressure(governor, input);
    double elapsed_s = governor->last_us ? (double)(input->now_us - governor->last_us) / 1e6 : GAP_S * 2.0;
    double used = used_of(input, elapsed_s);
    struct governor_bound both = { .cause = GOVERNOR_FREE, .duty_permille = 1000 };
    struct governor_bound one;
    struct governor_bound device;
    enum governor_mode mode;
    uint64_t busy_until_us;
    bool changed;

    governor->last_us = input->now_us;
    watts_tick(&governor->watts, policy, input, elapsed_s, used, &one);
    tighten(&both, &one);
    heat_tick(&governor->heat, policy, input, elapsed_s, used, &one);
    tighten(&both, &one);
    if (input->is_asleep) {
        both.duty_permille = 0;
        both.cause = GOVERNOR_SLEEP;
    }
    device = both;
    yield_tick(&governor->yield, policy, input, elapsed_s, &one);
    tighten(&device, &one);
    busy_until_us = input->hint.busy_until_us > input->now_us ? input->hint.busy_until_us : 0;
    governor->limits[PROCESSOR_GPU].busy_until_us = busy_until_us;
    governor->limits[PROCESSOR_CPU].busy_until_us = policy->cores_share ? busy_until_us : 0;
    if (policy->cores_share) {
        both = device;
    }
    shorten(&both);
    shorten(&device);
    changed = set(governor, PROCESSOR_CPU, &both, mode_of(&both, governor->limits[PROCESSOR_CPU].mode), pressure,
                  input->now_us);
    mode = mode_of(&device, governor->limits[PROCESSOR_GPU].mode);
    if (governor->yield.is_crowded && both.duty_permille >= TO_SPARE && !policy->cores_share) {
        mode = GOVERNOR_CPU;
    }
    changed = set(governor, PROCESSOR_GPU, &device, mode, pressure, input->now_us) || changed;
    follow_usual(governor, elapsed_s);
    return changed;
}

void governor_show(const struct governor *governor, enum processor processor, struct governor_limits *ret_limits,
                   uint64_t *ret_since_us)
{
    uint64_t freer_us = governor->freer_us[processor];

    *ret_limits = governor->limits[processor];
    ret_limits->mode = governor->wanted[processor].mode;
    ret_limits->cause = governor->wanted[processor].cause;
    *ret_since_us = freer_us ? freer_us : governor->since_us[processor];
}

void governor_awake(struct governor *governor)
{
    governor->last_us = 0;
}

const char *governor_mode_name(enum governor_mode mode)
{
    assert(mode < GOVERNOR_MODE_COUNT);
    return mode_names[mode];
}

const char *governor_cause_name(enum governor_cause cause)
{
    assert(cause < GOVERNOR_CAUSE_COUNT);
    return cause_names[cause];
}
