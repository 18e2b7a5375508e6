/*
 * Governor: how much of the chip is ours now
 *
 * It turns what is known of the machine (graphics load, a compositor's hints, temperatures, power, memory pressure,
 * sleep) into limits: a mode, the longest slice, the duty, a ceiling for steps and a gate for classes. It is called
 * every 50 ms while there is work, and never otherwise, and gives the cause with every change.
 *
 * There are two processors: the GPU, which draws the screen, and the CPU cores. Heat, power, pressure and sleep bound
 * both. Graphics bound the GPU, and the cores only where policy says that they cost the screen frames too (one memory
 * for both).
 *
 * Pure: time is an argument. The same object code runs in sottod and under the simulator's virtual clock.
 */
#ifndef SOTTO_GOVERN_GOVERNOR_H
#define SOTTO_GOVERN_GOVERNOR_H

#include "govern/heat.h"
#include "govern/limits.h"
#include "govern/watts.h"
#include "govern/yield.h"

/* How well an input is seen. An unknown input is never taken for idle or cool. */
enum governor_sight {
    GOVERNOR_NONE,   /* the machine has none and policy names none: nothing to protect */
    GOVERNOR_EARLY,  /* graphics only: it exists and its first reading is on the way: neither idle nor lost */
    GOVERNOR_UNTOLD, /* graphics only: its driver reports no load; the delay of our own work shows it (contention.h) */
    GOVERNOR_SEEN,   /* read at at_us */
    GOVERNOR_BLIND,  /* it exists, or policy demands it, and it can't be read */
};

#define GOVERNOR_ZONES_MAX HEAT_ZONES_MAX

/* The zone has no such trip point. */
#define GOVERNOR_NO_TRIP INT32_MAX

struct governor_zone {
    enum governor_sight sight;
    uint64_t at_us;
    int32_t temp_mc;
    int32_t passive_mc;  /* the kernel begins to throttle; GOVERNOR_NO_TRIP */
    int32_t critical_mc; /* the kernel switches off; GOVERNOR_NO_TRIP */
};

struct governor_input {
    uint64_t now_us; /* monotonic */

    struct {
        enum governor_sight sight;
        uint64_t at_us;
        uint32_t busy_permille;  /* by all other clients of the GPU, 3D and compute */
        uint32_t blind_permille; /* by clients that may not be read: taken for busy */
        uint64_t cur_hz;         /* 0: unknown */
        uint64_t max_hz;
    } graphics;

    struct {
        uint64_t at_us;         /* of the last GraphicsHint; 0: none ever */
        uint32_t frame_us;      /* time budget of a frame; 0: not known */
        uint32_t n_missed;      /* frames missed since the last tick */
        uint64_t busy_until_us; /* monotonic; the compositor draws hard until then */
    } hint;

    struct governor_zone zones[GOVERNOR_ZONES_MAX];
    uint32_t n_zones;

    struct {
        enum governor_sight sight;
        uint64_t at_us;
        uint32_t mw; /* of the whole chip, including ours */
    } power;

    struct {
        enum governor_sight sight; /* BLIND: @state is the last one that was read */
        uint32_t state;            /* the deepest of the GPU's cooling devices; above 0 the kernel throttles */
        uint32_t most;             /* the deepest possible; 0: not known */
    } throttle;

    uint32_t pressure_permille;        /* PSI memory "some" of ten seconds */
    bool is_asleep;                    /* from PrepareForSleep until the system is awake */
    uint64_t held_us[PROCESSOR_COUNT]; /* our work since the last tick */
};

/* The bound that one cause sets. The tightest of all wins. */
struct governor_bound {
    enum governor_cause cause;
    uint32_t duty_permille; /* 1000: no bound */
    uint32_t slice_us;      /* 0: no bound */
    enum priority class_gate;
};

/* Policy. A field of 0 stands for its default (governor.c has them with reasons). */
struct governor_policy {
    int32_t target_mc;           /* target of each zone; 0: 5 degrees below its passive trip, 85 without one */
    uint32_t frame_us;           /* until a compositor reports its own: 16667 */
    uint32_t max_slice_us;       /* while the screen is active: 750 */
    uint32_t idle_slice_us;      /* while it is not: at most 100000 */
    uint32_t headroom_permille;  /* left unused beside graphics */
    uint32_t min_share_permille; /* for realtime alone, however busy the screen is, and warm the chip below its trips */
    uint32_t power_mw;           /* target of the chip's power; 0: no bound */
    uint32_t heat_grace_ms;      /* a zone that can't be read counts as hot after this */
    uint32_t graphics_grace_ms;  /* a load that can't be read counts as full after this */
    bool cores_share;            /* the cores cost the screen frames too: graphics bound them like the GPU */
    bool trusts_blind;           /* blind inputs count as free, not as busy and hot: for machines on a desk */
};

struct governor {
    struct governor_policy policy;                  /* with defaults filled in */
    struct governor_limits limits[PROCESSOR_COUNT]; /* in force */
    uint64_t since_us[PROCESSOR_COUNT];             /* when the mode began */
    uint64_t n_changes;                             /* of modes, since the start */

    /* State from tick to tick. */
    uint64_t cause_us[PROCESSOR_COUNT]; /* when the cause began */
    uint64_t freer_us[PROCESSOR_COUNT]; /* since when a freer mode is wanted; 0: none is */
    uint64_t gate_us[PROCESSOR_COUNT];  /* since when a lower gate is wanted; 0: none is */
    struct {
        enum governor_mode mode;
        enum governor_cause cause;
    } wanted[PROCESSOR_COUNT]; /* as of the last tick */
    uint64_t last_us;          /* last tick; 0: none */
    uint64_t pressed_us;       /* when memory was last under pressure */
    uint32_t kv_permille;
    double usual[PROCESSOR_COUNT]; /* limits[].usual_permille, unrounded */
    struct yield yield;
    struct heat heat;
    struct watts watts;
};

void governor_init(struct governor *governor, const struct governor_policy *policy);

/* Sets a new policy, which holds from the next tick. What was learnt stays. */
void governor_configure(struct governor *governor, const struct governor_policy *policy);

/* To be called after the system slept: filters start afresh with the next tick, and what was learnt of chip and
 * board stays. */
void governor_awake(struct governor *governor);

/* Takes in a slice on the GPU that has ended at @ended_us: it waited @waited_us for others to leave the GPU, then held
 * it for @held_us. */
void governor_on_slice(struct governor *governor, uint64_t ended_us, uint64_t held_us, uint64_t waited_us);

/* Makes one tick. Returns true if a mode or a cause changed, which is worth an event. Uneven periods are allowed;
 * after a gap above a second (sleep, no work) the filters start afresh. */
bool governor_tick(struct governor *governor, const struct governor_input *input);

/*
 * Fills in the limits in force for display, with the mode and cause that fit them at this moment, and since when they
 * do. The mode in `limits` is the one for events: it is left only after a while, so that swings cause no events.
 */
void governor_show(const struct governor *governor, enum processor processor, struct governor_limits *ret_limits,
                   uint64_t *ret_since_us);

/* Names as in the protocol: "shared", "graphics". */
const char *governor_mode_name(enum governor_mode mode);
const char *governor_cause_name(enum governor_cause cause);

#endif
