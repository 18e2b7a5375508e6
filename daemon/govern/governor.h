/*
 * Governor: how much of the chip is ours now
 *
 * What is known of the machine in, limits out: graphics load, a compositor's hints, temperatures, power, pressure
 * and sleep become a mode, the longest slice, the duty, a ceiling for steps and a gate for classes. It is asked
 * every 50 ms while there is work and never else, and it tells its cause with every change.
 *
 * There are two places to compute: the device that draws the screen, and the cores. Heat, power, pressure and sleep
 * bound both. Graphics bound the device, and the cores only where policy says that they cost the screen frames too
 * (one memory for both).
 *
 * Pure: time is an argument. The same object code runs in sottod and under the simulator's virtual clock.
 */
#ifndef SOTTO_GOVERN_GOVERNOR_H
#define SOTTO_GOVERN_GOVERNOR_H

#include "govern/heat.h"
#include "govern/limits.h"
#include "govern/watts.h"
#include "govern/yield.h"

/* How well an input is seen. Unknown is never idle, and never cool. */
enum governor_sight {
    GOVERNOR_NONE,  /* the machine has no such thing and policy names none: nothing to protect */
    GOVERNOR_EARLY, /* of graphics: there is one, and its first reading is on the way: neither idle nor lost */
    GOVERNOR_SEEN,  /* read at at_us */
    GOVERNOR_BLIND, /* there is one, or policy demands one, and it can't be read */
};

#define GOVERNOR_ZONES_MAX HEAT_ZONES_MAX

/* No such trip point. */
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
        uint32_t busy_permille;  /* all other clients of the device, 3D and compute */
        uint32_t blind_permille; /* clients that may not be read: taken for busy */
        uint64_t cur_hz;         /* 0: unknown */
        uint64_t max_hz;
    } graphics;

    struct {
        uint64_t at_us;         /* of the last GraphicsHint; 0: none ever */
        uint32_t frame_us;      /* budget of a frame; 0: not told */
        uint32_t n_missed;      /* frames missed since the last tick */
        uint64_t busy_until_us; /* monotonic; drawing hard until then */
    } hint;

    struct governor_zone zones[GOVERNOR_ZONES_MAX];
    uint32_t n_zones;

    struct {
        enum governor_sight sight;
        uint64_t at_us;
        uint32_t mw; /* of the whole chip, ours included */
    } power;

    struct {
        enum governor_sight sight; /* BLIND: the state is what was read last */
        uint32_t state; /* of the cooling device of the GPU that is in deepest; above 0 the kernel throttles */
        uint32_t most;  /* its deepest; 0: not known */
    } throttle;

    uint32_t pressure_permille;        /* PSI memory "some", ten seconds */
    bool is_asleep;                    /* from PrepareForSleep until awake */
    uint64_t held_us[PROCESSOR_COUNT]; /* time that our work held the place since the last tick */
    uint32_t delay_permille;           /* how long our submissions took, of what was foretold; 0: none ended */
};

/* One reason's share of the limits; the tightest wins. */
struct governor_bound {
    enum governor_cause cause;
    uint32_t duty_permille; /* 1000: no bound */
    uint32_t slice_us;      /* 0: no bound */
    enum priority class_gate;
};

/* Policy. Zero of a field: its default (governor.c says which and why). */
struct governor_policy {
    int32_t target_mc;           /* hold each zone here; 0: 5 degrees below its passive trip, 85 without one */
    uint32_t frame_us;           /* until a compositor tells its own: 16667 */
    uint32_t max_slice_us;       /* while the screen is active: 2000 */
    uint32_t idle_slice_us;      /* while it is not: 100000 at the very most */
    uint32_t headroom_permille;  /* left free beside graphics */
    uint32_t min_share_permille; /* for realtime alone, however busy the screen is */
    uint32_t power_mw;           /* hold the chip's power here; 0: no bound */
    uint32_t heat_grace_ms;      /* a zone that can't be read counts as hot after so long */
    uint32_t graphics_grace_ms;  /* the same for the load */
    bool cores_share;            /* the cores cost the screen frames, too: graphics bound them as the device */
    bool trusts_blind;           /* blind means free, not busy and hot: for machines on a desk */
};

struct governor {
    struct governor_policy policy;                  /* defaults filled in */
    struct governor_limits limits[PROCESSOR_COUNT]; /* in force */
    uint64_t since_us[PROCESSOR_COUNT];             /* of the mode */
    uint64_t n_changes;                             /* of modes, ever */

    /* What it remembers from tick to tick. */
    uint64_t cause_us[PROCESSOR_COUNT]; /* since when the cause stands */
    uint64_t freer_us[PROCESSOR_COUNT]; /* since when a freer mode is wanted; 0: it is not */
    uint64_t gate_us[PROCESSOR_COUNT];  /* since when a lower gate is wanted; 0: it is not */
    struct {
        enum governor_mode mode;
        enum governor_cause cause;
    } wanted[PROCESSOR_COUNT]; /* by the last tick */
    uint64_t last_us;          /* of the last tick; 0: none */
    uint64_t pressed_us;       /* when memory was last under pressure */
    uint32_t kv_permille;
    double usual[PROCESSOR_COUNT]; /* limits[].usual_permille, unrounded */
    struct yield yield;
    struct heat heat;
    struct watts watts;
};

void governor_init(struct governor *governor, const struct governor_policy *policy);

/* A new policy holds from the next tick; what was learnt stays. */
void governor_configure(struct governor *governor, const struct governor_policy *policy);

/* The machine was away (it slept): filters start anew with the next tick, what was learnt of chip and board stays. */
void governor_awake(struct governor *governor);

/* One tick. True if a mode or a cause changed: worth an event. Uneven periods are fine; a gap above a second (sleep,
 * no work) starts the filters anew. */
bool governor_tick(struct governor *governor, const struct governor_input *input);

/*
 * For who looks: the limits in force, with the word and the cause that fit them now, and since when they do. The
 * mode in `limits` is the one to tell of: it stays for a while when it is left, so that nobody hears of each swing.
 */
void governor_show(const struct governor *governor, enum processor processor, struct governor_limits *ret_limits,
                   uint64_t *ret_since_us);

/* Words of the interface: "shared", "graphics". */
const char *governor_mode_name(enum governor_mode mode);
const char *governor_cause_name(enum governor_cause cause);

#endif
