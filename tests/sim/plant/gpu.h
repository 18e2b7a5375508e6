/*
 * Gpu: a device that screens and we share
 *
 * One client holds it at a time, without preemption: a submission of a frame that is due while our slice runs waits
 * for the end of the slice, and goes first then. At each refresh one frame must be ready. If it is not, the old one is
 * shown again (missed), and the late one is finished before another begins.
 *
 * A frame is one submission, made at the refresh, or several: the app's passes with time on the cores between them, and
 * at last the compositor's, which it makes as late as it dares before the scan-out. Each of them may meet a slice of
 * ours. A second screen refreshes out of phase with the first, and has only the compositor's work.
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

#define GPU_SUBMISSIONS_MAX 8u
#define GPU_SCREENS         2u
#define GPU_MEASURED        16u /* frames that a compositor remembers: Mutter's frame clock */

struct gpu_submission {
    double work_ns;    /* at the rate of 1 */
    double base_share; /* the compositor's part of the work */
};

/* A screen and its present frame. */
struct gpu_screen {
    struct gpu *gpu;
    struct rng rng;
    bool is_second;
    struct timeline_event refresh;
    struct timeline_event submit; /* of the next submission */

    struct gpu_submission submissions[GPU_SUBMISSIONS_MAX];
    uint32_t n; /* submissions of the frame; 0: none is being made */
    uint32_t n_done;
    uint64_t compose_ns;            /* the last one is made no earlier */
    uint64_t due_ns;                /* since when one waits for the device; UINT64_MAX: none does */
    uint64_t made_ns;               /* when the last one was made */
    uint64_t took_ns[GPU_MEASURED]; /* from the last submission of a frame to its end */
    uint64_t n_frames;
};

struct gpu {
    struct timeline *timeline;
    const struct scenario *scenario;
    uint64_t period_ns;
    struct gpu_screen screens[GPU_SCREENS];

    /* The submission that is being drawn. */
    struct gpu_screen *drawn; /* its screen; NULL: nothing is drawn */
    double work_ns;           /* left, at the rate of 1 */
    double rate;              /* at which it is drawn since @since_ns */
    uint64_t since_ns;
    struct timeline_event ready;

    struct gpu_user *holder; /* our client, or NULL */
    struct gpu_user *users[4];
    uint32_t n_users;
    bool is_burdened; /* our work on the cores reads the memory */

    double busy_ns[GPU_CLIENT_COUNT]; /* by finished submissions, and the present one up to @since_ns */
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
