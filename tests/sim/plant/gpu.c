#include "plant/gpu.h"
#include <assert.h>

/* Factor for a frame that shares the memory with our work on the cores. */
#define BURDEN 1.25

int64_t gpu_clock_permille(const struct scenario *scenario, uint64_t now_ns)
{
    int64_t permille = 1000;

    for (int64_t i = 0; i < scenario->n_clocks; i++) {
        if ((uint64_t)scenario->clocks[i].at_ms * TIMELINE_MS <= now_ns && scenario->clocks[i].permille > 0) {
            permille = scenario->clocks[i].permille;
        }
    }
    return permille;
}

int64_t gpu_load_permille(const struct scenario *scenario, uint64_t now_ns, enum gpu_client client)
{
    int64_t permille = 0;

    for (int64_t i = 0; i < scenario->n_loads; i++) {
        const struct scenario_load *load = &scenario->loads[i];

        if ((uint64_t)load->at_ms * TIMELINE_MS <= now_ns && now_ns < (uint64_t)scenario->run.lasts_ms * TIMELINE_MS) {
            permille = client == GPU_BASE ? load->base_permille : load->app_permille;
        }
    }
    return permille;
}

/* Brings work and busy times up to now, and goes on at the present rate. */
static void draw_on(struct gpu *gpu)
{
    uint64_t now_ns = gpu->timeline->now_ns;
    double gone_ns;
    double base_left;

    if (!gpu->is_drawn) {
        return;
    }
    /* The compositor's part is drawn first, then the app's. */
    gone_ns = (double)(now_ns - gpu->since_ns);
    base_left = gpu->base_share * gpu->whole_ns - (gpu->whole_ns - gpu->work_ns);
    base_left = base_left > 0.0 ? base_left / gpu->rate : 0.0;
    base_left = base_left < gone_ns ? base_left : gone_ns;
    gpu->busy_ns[GPU_BASE] += base_left;
    gpu->busy_ns[GPU_APP] += gone_ns - base_left;
    gpu->work_ns -= gone_ns * gpu->rate;
    gpu->since_ns = now_ns;
    gpu->rate = (double)gpu_clock_permille(gpu->scenario, now_ns) / 1000.0 / (gpu->is_burdened ? BURDEN : 1.0);
    if (gpu->work_ns > 0.0) {
        timeline_enter(gpu->timeline, &gpu->ready, now_ns + (uint64_t)(gpu->work_ns / gpu->rate) + 1);
    }
}

static void begin_frame(struct gpu *gpu)
{
    gpu->is_due = false;
    gpu->is_drawn = true;
    gpu->since_ns = gpu->timeline->now_ns;
    gpu->rate = 1.0;
    draw_on(gpu);
}

/* The device is free: gives it to a frame first. */
static void pass_on(struct gpu *gpu)
{
    if (gpu->is_drawn || gpu->holder) {
        return;
    }
    if (gpu->is_due) {
        begin_frame(gpu);
    } else if (gpu->n_users > 0) {
        struct gpu_user *user = gpu->users[0];

        gpu->n_users--;
        for (uint32_t i = 0; i < gpu->n_users; i++) {
            gpu->users[i] = gpu->users[i + 1];
        }
        user->waits = false;
        gpu->holder = user;
        user->granted(user->owner);
    }
}

static void on_ready(void *owner)
{
    struct gpu *gpu = owner;

    draw_on(gpu);
    timeline_cancel(gpu->timeline, &gpu->ready);
    gpu->is_drawn = false;
    pass_on(gpu);
}

/* Returns the cost of the next frame. It is drawn at random at each refresh, whether it is used or not, so both
 * devices draw the same. */
static double next_work_ns(struct gpu *gpu, double *ret_base_share)
{
    uint64_t now_ns = gpu->timeline->now_ns;
    double base = (double)gpu_load_permille(gpu->scenario, now_ns, GPU_BASE);
    double app = (double)gpu_load_permille(gpu->scenario, now_ns, GPU_APP);
    double jitter = (double)gpu->scenario->screen.jitter_permille / 1000.0 * (2.0 * rng_unit(&gpu->rng) - 1.0);

    *ret_base_share = base + app > 0.0 ? base / (base + app) : 0.0;
    return (base + app) / 1000.0 * (double)gpu->period_ns * (1.0 + jitter);
}

static void on_refresh(void *owner)
{
    struct gpu *gpu = owner;
    double base_share;
    double work_ns = next_work_ns(gpu, &base_share);

    timeline_enter(gpu->timeline, &gpu->refresh, gpu->timeline->now_ns + gpu->period_ns);
    if (gpu->is_due || gpu->is_drawn) {
        gpu->n_frames++;
        gpu->n_missed++;
        if (gpu->on_missed) {
            gpu->on_missed(gpu->owner);
        }
        return;
    }
    if (work_ns <= 0.0) {
        return;
    }
    gpu->n_frames++;
    gpu->whole_ns = work_ns;
    gpu->work_ns = work_ns;
    gpu->base_share = base_share;
    gpu->is_due = true;
    pass_on(gpu);
}

void gpu_init(struct gpu *gpu, struct timeline *timeline, const struct scenario *scenario)
{
    *gpu = (struct gpu){ .timeline = timeline, .scenario = scenario };
    rng_init(&gpu->rng, (uint64_t)scenario->run.seed, RNG_SCREEN);
    timeline_event_init(&gpu->refresh, on_refresh, gpu);
    timeline_event_init(&gpu->ready, on_ready, gpu);
    if (scenario->screen.hz > 0) {
        gpu->period_ns = TIMELINE_S / (uint64_t)scenario->screen.hz;
        timeline_enter(timeline, &gpu->refresh, 0);
    }
}

void gpu_finish(struct gpu *gpu)
{
    timeline_cancel(gpu->timeline, &gpu->refresh);
    timeline_cancel(gpu->timeline, &gpu->ready);
}

void gpu_ask(struct gpu *gpu, struct gpu_user *user)
{
    assert(!user->waits && gpu->holder != user && gpu->n_users < 4);
    user->waits = true;
    gpu->users[gpu->n_users++] = user;
    pass_on(gpu);
}

void gpu_leave(struct gpu *gpu, struct gpu_user *user)
{
    uint32_t kept = 0;

    if (gpu->holder == user) {
        gpu->holder = NULL;
        pass_on(gpu);
        return;
    }
    for (uint32_t i = 0; i < gpu->n_users; i++) {
        if (gpu->users[i] != user) {
            gpu->users[kept++] = gpu->users[i];
        }
    }
    gpu->n_users = kept;
    user->waits = false;
}

void gpu_burden(struct gpu *gpu, bool is_burdened)
{
    draw_on(gpu);
    gpu->is_burdened = is_burdened;
    draw_on(gpu);
}

double gpu_busy_ns(struct gpu *gpu, enum gpu_client client)
{
    draw_on(gpu);
    return gpu->busy_ns[client];
}
