#include "plant/gpu.h"
#include "base/num.h"
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
    const struct gpu_submission *drawn;
    double gone_ns;
    double base_left;

    if (!gpu->drawn) {
        return;
    }
    /* The compositor's part is drawn first, then the app's. */
    drawn = &gpu->drawn->submissions[gpu->drawn->n_done];
    gone_ns = (double)(now_ns - gpu->since_ns);
    base_left = drawn->base_share * drawn->work_ns - (drawn->work_ns - gpu->work_ns);
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

static void begin_drawing(struct gpu *gpu, struct gpu_screen *screen)
{
    screen->due_ns = UINT64_MAX;
    gpu->drawn = screen;
    gpu->work_ns = screen->submissions[screen->n_done].work_ns;
    gpu->since_ns = gpu->timeline->now_ns;
    gpu->rate = 1.0;
    draw_on(gpu);
}

/* The device is free: gives it to a frame first, and of two to the one that waits for longer. */
static void pass_on(struct gpu *gpu)
{
    struct gpu_screen *first = &gpu->screens[0];

    if (gpu->drawn || gpu->holder) {
        return;
    }
    if (gpu->screens[1].due_ns < first->due_ns) {
        first = &gpu->screens[1];
    }
    if (first->due_ns < UINT64_MAX) {
        begin_drawing(gpu, first);
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

static void on_submit(void *owner)
{
    struct gpu_screen *screen = owner;

    screen->due_ns = screen->gpu->timeline->now_ns;
    screen->made_ns = screen->due_ns;
    pass_on(screen->gpu);
}

/* Makes the next submission of the frame, @gap_ns from now at the earliest. */
static void submit_next(struct gpu_screen *screen, uint64_t gap_ns)
{
    uint64_t at_ns = screen->gpu->timeline->now_ns + gap_ns;

    if (screen->n_done + 1 == screen->n && at_ns < screen->compose_ns) {
        at_ns = screen->compose_ns;
    }
    if (at_ns == screen->gpu->timeline->now_ns) {
        on_submit(screen);
    } else {
        timeline_enter(screen->gpu->timeline, &screen->submit, at_ns);
    }
}

/* A submission is drawn. */
static void on_ready(void *owner)
{
    struct gpu *gpu = owner;
    struct gpu_screen *screen = gpu->drawn;

    draw_on(gpu);
    timeline_cancel(gpu->timeline, &gpu->ready);
    gpu->drawn = NULL;
    if (++screen->n_done == screen->n) {
        screen->took_ns[screen->n_frames++ % GPU_MEASURED] = gpu->timeline->now_ns - screen->made_ns;
        screen->n = 0;
    } else {
        submit_next(screen, (uint64_t)gpu->scenario->screen.gap_us * TIMELINE_US);
    }
    pass_on(gpu);
}

/* ---- frames */

/* The cost of a frame, at the full clock. */
struct work {
    double base_ns; /* the compositor's part */
    double app_ns;
};

/* Returns the cost of the next frame. It is drawn at random at each refresh, whether it is used or not, so both
 * devices draw the same. */
static struct work next_work(struct gpu_screen *screen)
{
    const struct gpu *gpu = screen->gpu;
    uint64_t now_ns = gpu->timeline->now_ns;
    double base = (double)gpu_load_permille(gpu->scenario, now_ns, GPU_BASE);
    double app = (double)gpu_load_permille(gpu->scenario, now_ns, GPU_APP);
    double second = (double)gpu->scenario->screen.second_permille / 1000.0;
    double jitter = (double)gpu->scenario->screen.jitter_permille / 1000.0 * (2.0 * rng_unit(&screen->rng) - 1.0);
    double unit_ns = (double)gpu->period_ns / 1000.0 * (1.0 + jitter);

    if (screen->is_second) {
        return (struct work){ .base_ns = base * second * unit_ns };
    }
    return (struct work){ .base_ns = base * (1.0 - second) * unit_ns, .app_ns = app * unit_ns };
}

/* Cuts @work into submissions: the app's passes and the compositor's, or passes of the compositor alone. */
static void cut(struct gpu_screen *screen, const struct work *work)
{
    double whole_ns = work->base_ns + work->app_ns;

    screen->n = (uint32_t)num_max(1, (uint64_t)screen->gpu->scenario->screen.submissions);
    if (screen->n == 1 || work->app_ns <= 0.0 || work->base_ns <= 0.0) {
        for (uint32_t i = 0; i < screen->n; i++) {
            screen->submissions[i] =
                (struct gpu_submission){ .work_ns = whole_ns / screen->n, .base_share = work->base_ns / whole_ns };
        }
        return;
    }
    for (uint32_t i = 0; i + 1 < screen->n; i++) {
        screen->submissions[i] = (struct gpu_submission){ .work_ns = work->app_ns / (screen->n - 1) };
    }
    screen->submissions[screen->n - 1] = (struct gpu_submission){ .work_ns = work->base_ns, .base_share = 1.0 };
}

/* Returns how long before the scan-out the compositor makes its last submission: a margin and what it will take. It
 * knows what both screens cost, and one that measures knows what its last frames took, with what they waited for. */
static uint64_t window_ns(const struct gpu_screen *screen)
{
    const struct scenario *scenario = screen->gpu->scenario;
    uint64_t now_ns = screen->gpu->timeline->now_ns;
    double work_ns = screen->submissions[screen->n - 1].work_ns;
    uint64_t longest_ns;

    if (scenario->screen.second_permille > 0) {
        work_ns += (double)gpu_load_permille(scenario, now_ns, GPU_BASE) / 1000.0 * (double)screen->gpu->period_ns;
    }
    longest_ns = (uint64_t)(work_ns * 1000.0 / (double)gpu_clock_permille(scenario, now_ns));
    for (size_t i = 0; scenario->screen.measures && i < GPU_MEASURED; i++) {
        longest_ns = num_max(longest_ns, screen->took_ns[i]);
    }
    return (uint64_t)scenario->screen.margin_us * TIMELINE_US + longest_ns;
}

static void begin_frame(struct gpu_screen *screen, const struct work *work)
{
    const struct gpu *gpu = screen->gpu;

    cut(screen, work);
    screen->n_done = 0;
    screen->compose_ns = gpu->timeline->now_ns;
    if (gpu->scenario->screen.margin_us > 0) {
        screen->compose_ns += gpu->period_ns - num_min(gpu->period_ns, window_ns(screen));
    }
    submit_next(screen, 0);
}

static void on_refresh(void *owner)
{
    struct gpu_screen *screen = owner;
    struct gpu *gpu = screen->gpu;
    struct work work = next_work(screen);

    timeline_enter(gpu->timeline, &screen->refresh, gpu->timeline->now_ns + gpu->period_ns);
    if (screen->n > 0) {
        gpu->n_frames++;
        gpu->n_missed++;
        if (gpu->on_missed) {
            gpu->on_missed(gpu->owner);
        }
    } else if (work.base_ns + work.app_ns > 0.0) {
        gpu->n_frames++;
        begin_frame(screen, &work);
    }
}

static void init_screen(struct gpu *gpu, struct gpu_screen *screen, bool is_second)
{
    const struct scenario *scenario = gpu->scenario;
    uint64_t phase = is_second ? (uint64_t)scenario->screen.phase_permille : 0;

    *screen = (struct gpu_screen){ .gpu = gpu, .is_second = is_second, .due_ns = UINT64_MAX };
    rng_init(&screen->rng, (uint64_t)scenario->run.seed, is_second ? RNG_TRAITS : RNG_SCREEN);
    timeline_event_init(&screen->refresh, on_refresh, screen);
    timeline_event_init(&screen->submit, on_submit, screen);
    if (gpu->period_ns > 0 && (!is_second || scenario->screen.second_permille > 0)) {
        timeline_enter(gpu->timeline, &screen->refresh, gpu->period_ns * phase / 1000);
    }
}

void gpu_init(struct gpu *gpu, struct timeline *timeline, const struct scenario *scenario)
{
    *gpu = (struct gpu){ .timeline = timeline, .scenario = scenario };
    if (scenario->screen.hz > 0) {
        gpu->period_ns = TIMELINE_S / (uint64_t)scenario->screen.hz;
    }
    timeline_event_init(&gpu->ready, on_ready, gpu);
    for (uint32_t i = 0; i < GPU_SCREENS; i++) {
        init_screen(gpu, &gpu->screens[i], i > 0);
    }
}

void gpu_finish(struct gpu *gpu)
{
    for (uint32_t i = 0; i < GPU_SCREENS; i++) {
        timeline_cancel(gpu->timeline, &gpu->screens[i].refresh);
        timeline_cancel(gpu->timeline, &gpu->screens[i].submit);
    }
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
