/*
 * Gpu: a device that the screen and we share
 *
 * One client holds it at a time, without preemption: a frame that is due while our slice runs waits for the end of the
 * slice, and goes first then. At each refresh one frame must be ready. If it is not, the old one is shown again
 * (missed), and the late one is finished before another begins.
 *
 * Two of these run in each world: one that we share, and one that draws the same frames alone. We are to blame for the
 * difference of their missed frames.
 *
 * If our work runs on the cores it does not hold the device, but frames are drawn more slowly while it runs, since both
 * use the same memory.
 */
#ifndef SOTTO_SIM_GPU_H
#define SOTTO_SIM_GPU_H

#include "rng.h"
#include "scenario.h"
#include "timeline.h"

enum gpu_client {
    GPU_BASE, /* the compositor */
    GPU_APP,  /* the app in front */
    GPU_CLIENT_COUNT,
};

/* A client that waits for the device, or has it. */
struct gpu_user {
    timeline_fn granted;
    void *owner;
    bool waits;
};

struct gpu {
    struct timeline *timeline;
    const struct scenario *scenario;
    struct rng rng;
    uint64_t period_ns;

    /* The frame that is being drawn. */
    bool is_due;       /* it waits for the device */
    bool is_drawn;     /* it has the device */
    double work_ns;    /* left, at the rate of 1 */
    double whole_ns;   /* of it, when it began */
    double base_share; /* the compositor's part of the work */
    double rate;       /* at which it is drawn since @since_ns */
    uint64_t since_ns;
    struct timeline_event refresh;
    struct timeline_event ready;

    struct gpu_user *holder; /* our client, or NULL */
    struct gpu_user *users[4];
    uint32_t n_users;
    bool is_burdened; /* our work on the cores reads the memory */

    double busy_ns[GPU_CLIENT_COUNT]; /* by finished frames, and the present one up to @since_ns */
    uint64_t n_frames;                /* refreshes with something to draw */
    uint64_t n_missed;
    void (*on_missed)(void *owner);
    void *owner;
};

void gpu_init(struct gpu *gpu, struct timeline *timeline, const struct scenario *scenario);
void gpu_finish(struct gpu *gpu);

/* Calls @user->granted as soon as the device is free, perhaps before this returns. */
void gpu_ask(struct gpu *gpu, struct gpu_user *user);

/* Gives the device back, or stops waiting for it. */
void gpu_leave(struct gpu *gpu, struct gpu_user *user);

/* Our work on the cores begins or ends. */
void gpu_burden(struct gpu *gpu, bool is_burdened);

/* Returns the time that the device drew for @client so far. */
double gpu_busy_ns(struct gpu *gpu, enum gpu_client client);

/* Returns the highest clock of the scenario's chip now, in permille. */
int64_t gpu_clock_permille(const struct scenario *scenario, uint64_t now_ns);

/* Returns the share of frames at @now_ns, in permille of the period at the full clock; 0 when the run is over. */
int64_t gpu_load_permille(const struct scenario *scenario, uint64_t now_ns, enum gpu_client client);

#define GPU_MAX_HZ 800000000ull

#endif
