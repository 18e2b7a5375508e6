#include "monitor.h"
#include "base/num.h"
#include "chart.h"
#include <stdarg.h>

/* Rounding of times that sottod and an engine exchange in microseconds. */
#define ROUNDED_NS (3 * TIMELINE_US)

/* In steady load that no driver reports, one of so many frames may be missed because of us. */
#define UNTOLD_FRAMES 200u

/* How many of our slices must meet a growth before it is acted upon: one waits, and its successor may run already. */
#define UNTOLD_SLICES 2u

/* The governor's own filters settle within this after graphics grew. */
#define SETTLED_NS TIMELINE_S

double monitor_now_s(const struct monitor *monitor)
{
    return (double)monitor->timeline->now_ns / 1e9;
}

void monitor_log(const struct monitor *monitor, const char *format, ...)
{
    va_list words;

    if (!monitor->trace) {
        return;
    }
    fprintf(monitor->trace, "%12.3f ", (double)monitor->timeline->now_ns / 1e6);
    va_start(words, format);
    vfprintf(monitor->trace, format, words);
    va_end(words);
    fputc('\n', monitor->trace);
}

void monitor_init(struct monitor *monitor, struct timeline *timeline, const struct scenario *scenario)
{
    *monitor = (struct monitor){
        .timeline = timeline,
        .scenario = scenario,
        .window.judges = scenario->sense.has_load ? INVARIANT_FRAMES : INVARIANT_UNTOLD,
    };
    for (size_t i = 0; i < SERVER_ENGINES; i++) {
        monitor->pace[i] = -1;
    }
}

/* ---- limits */

static bool are_alike(const struct governor_limits *a, const struct governor_limits *b)
{
    return a->mode == b->mode && a->slice_us == b->slice_us && a->duty_permille == b->duty_permille &&
           a->class_gate == b->class_gate;
}

/* Allows as many changes of mode as there may be in ten seconds; one more is a case beyond. */
static void count_mode(struct monitor *monitor)
{
    uint64_t now_ns = monitor->timeline->now_ns;
    uint64_t *oldest = &monitor->modes_ns[monitor->n_modes % MONITOR_MODES];
    uint64_t n = 1;

    for (uint64_t i = 0; i < num_min(monitor->n_modes, MONITOR_MODES); i++) {
        n += now_ns - monitor->modes_ns[i] < 10 * TIMELINE_S;
    }
    tally_add(&monitor->tallies, INVARIANT_FLAP, (double)n, n > MONITOR_MODES, monitor_now_s(monitor));
    *oldest = now_ns;
    monitor->n_modes++;
}

void monitor_on_limits(struct monitor *monitor, const struct governor_limits *limits)
{
    struct monitor_limits *last = &monitor->limits[(monitor->n_limits + MONITOR_LIMITS - 1) % MONITOR_LIMITS];

    chart_limits(monitor->chart, monitor->timeline->now_ns, limits);
    if (monitor->n_limits > 0 && last->limits.mode != limits->mode) {
        count_mode(monitor);
    }
    if (monitor->n_limits > 0 && are_alike(&last->limits, limits)) {
        return;
    }
    monitor_log(monitor, "limits: %s, %s, slice %u us, duty %u, class %d and above", governor_mode_name(limits->mode),
                governor_cause_name(limits->cause), limits->slice_us, limits->duty_permille, (int)limits->class_gate);
    monitor->limits[monitor->n_limits++ % MONITOR_LIMITS] =
        (struct monitor_limits){ .at_ns = monitor->timeline->now_ns, .limits = *limits };
}

static const struct monitor_limits *nth_back(const struct monitor *monitor, uint64_t n)
{
    return &monitor->limits[(monitor->n_limits - 1 - n) % MONITOR_LIMITS];
}

static uint64_t n_kept(const struct monitor *monitor)
{
    return num_min(monitor->n_limits, MONITOR_LIMITS);
}

const struct governor_limits *monitor_limits_at(const struct monitor *monitor, uint64_t at_ns)
{
    static const struct governor_limits none = { .duty_permille = 1000, .kv_permille = 1000 };
    uint64_t n = n_kept(monitor);

    for (uint64_t i = 0; i < n; i++) {
        if (nth_back(monitor, i)->at_ns <= at_ns || (i + 1 == n && monitor->n_limits > MONITOR_LIMITS)) {
            return &nth_back(monitor, i)->limits;
        }
    }
    return &none;
}

/* ---- our time on the processor */

/* Returns how long a message to the engine and its answer may take. */
static uint64_t grace_ns(const struct monitor *monitor)
{
    return 2 * (uint64_t)monitor->scenario->chip.latency_us * TIMELINE_US + ROUNDED_NS;
}

/*
 * Returns until when a run that began at @from_ns may last, apart from its last part. It got its slice at @ordered_ns;
 * a tighter one that came later holds from then on.
 */
static uint64_t end_by_ns(const struct monitor *monitor, const struct monitor_limits *entry, uint64_t ordered_ns,
                          uint64_t from_ns)
{
    uint64_t slice_ns = entry->limits.slice_us * TIMELINE_US;

    if (slice_ns == 0) {
        return UINT64_MAX / 2;
    }
    return entry->at_ns > ordered_ns ? num_max(entry->at_ns, from_ns) + grace_ns(monitor) + slice_ns
                                     : from_ns + slice_ns;
}

static void judge_slice(struct monitor *monitor, uint64_t ordered_ns, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    uint64_t until_ns = to_ns; /* until when the entry held */
    double over_ns = -part_ns;

    for (uint64_t i = 0; i < n_kept(monitor); i++) {
        const struct monitor_limits *entry = nth_back(monitor, i);
        uint64_t by_ns = end_by_ns(monitor, entry, ordered_ns, from_ns);

        if (by_ns < until_ns && (double)(until_ns - by_ns) - part_ns > over_ns) {
            over_ns = (double)(until_ns - by_ns) - part_ns;
        }
        until_ns = entry->at_ns;
        if (entry->at_ns <= ordered_ns) {
            break;
        }
    }
    tally_add(&monitor->tallies, INVARIANT_SLICE, (over_ns + part_ns) / part_ns, over_ns > (double)ROUNDED_NS,
              monitor_now_s(monitor));
}

/* Returns the highest duty between two moments, by which rest is judged. */
static uint32_t highest_duty(const struct monitor *monitor, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t duty = 0;

    for (uint64_t i = 0; i < n_kept(monitor); i++) {
        const struct monitor_limits *entry = nth_back(monitor, i);

        if (entry->at_ns <= to_ns) {
            duty = (uint32_t)num_max(duty, entry->limits.duty_permille);
        }
        if (entry->at_ns <= from_ns) {
            return duty;
        }
    }
    return 1000; /* older than the ring */
}

static void judge_rest(struct monitor *monitor, uint64_t from_ns)
{
    uint64_t held_ns = monitor->run_to_ns - monitor->run_from_ns;
    uint64_t rest_ns = from_ns - monitor->run_to_ns;
    uint64_t told_ns = (uint64_t)monitor->scenario->chip.latency_us * TIMELINE_US + ROUNDED_NS;
    /* A step that waits behind another begins when that ends, and a withdrawal may still be on its way. */
    uint32_t duty = highest_duty(monitor, monitor->run_to_ns - num_min(monitor->run_to_ns, told_ns), from_ns);
    double owed_ns;

    if (duty == 0 || duty >= 1000 || monitor->run_to_ns == 0) {
        return;
    }
    owed_ns = (double)held_ns * (1000.0 / duty - 1.0);
    tally_add(&monitor->tallies, INVARIANT_REST, owed_ns > 0.0 ? 1000.0 * (double)rest_ns / owed_ns : 1000.0,
              (double)rest_ns < owed_ns * 0.99 - (double)ROUNDED_NS * 1000.0 / duty, monitor_now_s(monitor));
}

/* Judges that a gated class runs no longer than until it is told, and its part. */
static void judge_gate(struct monitor *monitor, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    enum priority priority = engine->running->work->priority;
    uint64_t until_ns = to_ns;

    for (uint64_t i = 0; i < n_kept(monitor); i++) {
        const struct monitor_limits *entry = nth_back(monitor, i);
        uint64_t ordered_ns = num_max(from_ns, entry->at_ns + grace_ns(monitor));

        if (!governor_lets_run(&entry->limits, priority) && until_ns > ordered_ns) {
            /* It may end its part. A step sent behind the gate may not run at all, except to end because it has no
             * live request. */
            bool is_new = engine->running->ordered_ns > entry->at_ns && !engine_is_pointless(engine);
            double over_ns = (double)(until_ns - ordered_ns) - (is_new ? 0.0 : part_ns);

            tally_add(&monitor->tallies, INVARIANT_GATE, (over_ns + part_ns) / part_ns, over_ns > (double)ROUNDED_NS,
                      monitor_now_s(monitor));
            return;
        }
        until_ns = entry->at_ns;
        if (entry->at_ns <= from_ns) {
            break;
        }
    }
    tally_add(&monitor->tallies, INVARIANT_GATE, 0.0, false, monitor_now_s(monitor));
}

void monitor_on_run(struct monitor *monitor, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    monitor_log(monitor, "engine %u: step %llu ran for %.3f ms (parts of %.3f ms)", engine->number,
                (unsigned long long)engine->running->work->id, (double)(to_ns - from_ns) / 1e6, part_ns / 1e6);
    chart_run(monitor->chart, from_ns, to_ns, engine->number);
    if (engine->running->work->priority == PRIORITY_BACKGROUND) {
        monitor->starved_s[engine->number] = 0.0;
    }
    judge_slice(monitor, engine->running->ordered_ns, from_ns, to_ns, part_ns);
    judge_rest(monitor, from_ns);
    judge_gate(monitor, engine, from_ns, to_ns, part_ns);
    monitor->run_from_ns = from_ns;
    monitor->run_to_ns = to_ns;
}

/* ---- frames */

/* Returns what frames need of their period at the present clock, in permille. */
static int64_t need_of(const struct scenario *scenario, uint64_t at_ns)
{
    int64_t load = gpu_load_permille(scenario, at_ns, GPU_BASE) + gpu_load_permille(scenario, at_ns, GPU_APP);

    return load * 1000 / gpu_clock_permille(scenario, at_ns);
}

/* Returns how late a growth that begins now is read: for a client that draws, for one that did not, or for a new
 * unannounced one. */
static uint64_t read_within_ns(const struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    uint64_t now_ns = monitor->timeline->now_ns;
    uint64_t before_ns = now_ns - num_min(now_ns, TIMELINE_MS);
    bool app_begins =
        gpu_load_permille(scenario, before_ns, GPU_APP) == 0 && gpu_load_permille(scenario, now_ns, GPU_APP) > 0;
    bool base_begins =
        gpu_load_permille(scenario, before_ns, GPU_BASE) == 0 && gpu_load_permille(scenario, now_ns, GPU_BASE) > 0;

    if (app_begins && (uint64_t)scenario->screen.app_from_ms * TIMELINE_MS == now_ns) {
        return SENSORS_WALK_NS;
    }
    return app_begins || base_begins ? SENSORS_REST_NS : SENSORS_BUSY_NS;
}

/* True if the compositor announces it. It announces growing frames, but knows nothing of a falling clock. */
static bool is_announced(const struct monitor *monitor)
{
    uint64_t at_ms = monitor->timeline->now_ns / TIMELINE_MS;
    bool found = false;

    for (int64_t i = 1; i < monitor->scenario->n_loads; i++) {
        found = found || (uint64_t)monitor->scenario->loads[i].at_ms == at_ms;
    }
    return found && monitor->scenario->screen.tells;
}

/* Returns the misses that a growth of graphics may cost, on each screen: the frames in a slice and a sampling
 * period. */
static uint64_t allowed_misses(const struct monitor *monitor)
{
    const struct governor_limits *limits = monitor_limits_at(monitor, monitor->timeline->now_ns);
    uint64_t n_screens = monitor->scenario->screen.second_permille > 0 ? 2 : 1;
    uint64_t slice_ns = limits->slice_us * TIMELINE_US + (uint64_t)monitor->scenario->chip.part_us * TIMELINE_US;

    if (is_announced(monitor)) {
        return n_screens;
    }
    if (!monitor->scenario->sense.has_load) {
        return n_screens * num_div_up(UNTOLD_SLICES * slice_ns + SENSORS_BUSY_NS, monitor->gpu->period_ns);
    }
    return n_screens * num_div_up(read_within_ns(monitor) + slice_ns, monitor->gpu->period_ns);
}

static void close_window(struct monitor *monitor)
{
    struct monitor_window *window = &monitor->window;
    int64_t ours = (int64_t)(monitor->gpu->n_missed - window->n_ours);
    int64_t theirs = (int64_t)(monitor->alone->n_missed - window->n_theirs);
    int64_t blame = ours - theirs;

    if (window->judges == INVARIANT_UNTOLD) {
        window->n_allowed = 1 + (monitor->gpu->n_frames - window->n_frames) / UNTOLD_FRAMES;
    }
    if (window->judges < INVARIANT_COUNT && monitor->gpu->n_frames > 0) {
        tally_add(&monitor->tallies, window->judges, (double)blame, blame > (int64_t)window->n_allowed,
                  (double)window->from_ns / 1e9);
    }
    *window = (struct monitor_window){
        .judges = monitor->scenario->sense.has_load ? INVARIANT_FRAMES : INVARIANT_UNTOLD,
        .from_ns = monitor->timeline->now_ns,
        .n_frames = monitor->gpu->n_frames,
        .n_ours = monitor->gpu->n_missed,
        .n_theirs = monitor->alone->n_missed,
    };
}

/* True if frames are promised: not when blind, when policy keeps a share for voice whatever the screen needs, or when
 * no load is reported and our work, on the cores, waits for no frame. */
static bool are_promised(const struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;

    return (scenario->sense.has_load || !scenario->chip.cores) && scenario->policy.min_share_permille == 0 &&
           !monitor->sensors->is_gone[MISHAP_LOAD_GONE];
}

void monitor_frames(struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    uint64_t now_ns = monitor->timeline->now_ns;
    int64_t need = need_of(scenario, now_ns);
    bool grows = need > monitor->need && now_ns > 0;

    monitor->need = need;
    if (!are_promised(monitor)) {
        close_window(monitor);
        monitor->window.judges = INVARIANT_COUNT;
        return;
    }
    if (monitor->window.to_ns > 0 && now_ns >= monitor->window.to_ns) {
        close_window(monitor);
    }
    if (grows) {
        close_window(monitor);
        monitor->window.judges = is_announced(monitor) ? INVARIANT_HINT : INVARIANT_STEP;
        monitor->window.n_allowed = allowed_misses(monitor);
        monitor->window.to_ns = now_ns + SENSORS_WALK_NS + SETTLED_NS;
    }
}

/* Returns how many accounts are still charged for rows in progress. */
static uint64_t count_ahead(const struct server *server)
{
    const struct map *by_uid = &server->queue.accounts.by_uid;
    struct map_entry *entry;
    size_t at = 0;
    uint64_t n = 0;

    while ((entry = map_next(by_uid, &at))) {
        const struct account *account = entry->value.pointer;

        for (size_t i = 0; i < PRIORITY_COUNT; i++) {
            n += account->ahead[i] != 0;
        }
    }
    return n;
}

void monitor_end(struct monitor *monitor)
{
    const struct server *server = monitor->server;
    uint64_t n_left = server->n_live + count_ahead(server);

    close_window(monitor);
    monitor_heat_end(monitor);
    monitor_oracle_end(monitor);
    for (int64_t i = 0; i < monitor->scenario->n_engines; i++) {
        n_left += server->engines[i].n_open;
        n_left += server->eqs[i].n_taken;
        n_left += dispatch_is_busy(&server->dispatch, &server->eqs[i]);
        n_left += server->eqs[i].n_pages_promised;
        monitor_log(monitor, "engine %lld at the end: %u open, %u taken, busy %d, %u pages promised", (long long)i,
                    server->engines[i].n_open, server->eqs[i].n_taken,
                    dispatch_is_busy(&server->dispatch, &server->eqs[i]), server->eqs[i].n_pages_promised);
        if (server->engines[i].n_breaches > 0) {
            monitor_log(monitor, "engine %lld: %s", (long long)i, server->engines[i].breach);
        }
        tally_add(&monitor->tallies, INVARIANT_CONTRACT, (double)server->engines[i].n_breaches,
                  server->engines[i].n_breaches > 0, monitor_now_s(monitor));
    }
    n_left += !list_is_empty(&server->requests);
    tally_add(&monitor->tallies, INVARIANT_LEAK, (double)n_left, n_left > 0, monitor_now_s(monitor));
}
