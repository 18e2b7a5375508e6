#include "watch.h"
#include "base/num.h"
#include "drawing.h"
#include <stdarg.h>

/* Rounding of times that pass between sottod and an engine in microseconds. */
#define ROUNDED_NS (3 * AGENDA_US)

/* After graphics grew, the governor's own filters settle within this. */
#define SETTLED_NS AGENDA_S

double watch_now_s(const struct watch *watch)
{
    return (double)watch->agenda->now_ns / 1e9;
}

void watch_say(const struct watch *watch, const char *format, ...)
{
    va_list words;

    if (!watch->trace) {
        return;
    }
    fprintf(watch->trace, "%12.3f ", (double)watch->agenda->now_ns / 1e6);
    va_start(words, format);
    vfprintf(watch->trace, format, words);
    va_end(words);
    fputc('\n', watch->trace);
}

void watch_init(struct watch *watch, struct agenda *agenda, const struct scenario *scenario)
{
    *watch = (struct watch){
        .agenda = agenda,
        .scenario = scenario,
        .window.judges = INVARIANT_FRAMES,
        .second_is_ours = true,
    };
    for (size_t i = 0; i < DESK_LANES; i++) {
        watch->pace[i] = -1;
    }
}

/* ---- limits */

static bool are_alike(const struct governor_limits *a, const struct governor_limits *b)
{
    return a->mode == b->mode && a->slice_us == b->slice_us && a->duty_permille == b->duty_permille &&
           a->class_gate == b->class_gate;
}

/* As many changes of mode as may be in ten seconds, and then one more. */
static void count_mode(struct watch *watch)
{
    uint64_t now_ns = watch->agenda->now_ns;
    uint64_t *oldest = &watch->modes_ns[watch->n_modes % WATCH_MODES];
    uint64_t n = 1;

    for (uint64_t i = 0; i < num_min(watch->n_modes, WATCH_MODES); i++) {
        n += now_ns - watch->modes_ns[i] < 10 * AGENDA_S;
    }
    tally_add(&watch->tallies, INVARIANT_FLAP, (double)n, n > WATCH_MODES, watch_now_s(watch));
    *oldest = now_ns;
    watch->n_modes++;
}

void watch_on_limits(struct watch *watch, const struct governor_limits *limits)
{
    struct watch_limits *last = &watch->limits[(watch->n_limits + WATCH_LIMITS - 1) % WATCH_LIMITS];

    drawing_limits(watch->drawing, watch->agenda->now_ns, limits);
    if (limits->slice_us > 0 || limits->duty_permille < 1000 || limits->class_gate > PRIORITY_BACKGROUND) {
        watch->second_is_ours = false;
    }
    if (watch->n_limits > 0 && last->limits.mode != limits->mode) {
        count_mode(watch);
    }
    if (watch->n_limits > 0 && are_alike(&last->limits, limits)) {
        return;
    }
    watch_say(watch, "limits: %s, %s, slice %u us, duty %u, class %d and above", governor_mode_name(limits->mode),
              governor_cause_name(limits->cause), limits->slice_us, limits->duty_permille, (int)limits->class_gate);
    watch->limits[watch->n_limits++ % WATCH_LIMITS] =
        (struct watch_limits){ .at_ns = watch->agenda->now_ns, .limits = *limits };
}

static const struct watch_limits *nth_back(const struct watch *watch, uint64_t n)
{
    return &watch->limits[(watch->n_limits - 1 - n) % WATCH_LIMITS];
}

static uint64_t n_kept(const struct watch *watch)
{
    return num_min(watch->n_limits, WATCH_LIMITS);
}

const struct governor_limits *watch_limits_at(const struct watch *watch, uint64_t at_ns)
{
    static const struct governor_limits none = { .duty_permille = 1000, .kv_permille = 1000 };
    uint64_t n = n_kept(watch);

    for (uint64_t i = 0; i < n; i++) {
        if (nth_back(watch, i)->at_ns <= at_ns || (i + 1 == n && watch->n_limits > WATCH_LIMITS)) {
            return &nth_back(watch, i)->limits;
        }
    }
    return &none;
}

/* ---- our time on the place */

/* How long a word to the engine and its answer may take. */
static uint64_t grace_ns(const struct watch *watch)
{
    return 2 * (uint64_t)watch->scenario->chip.latency_us * AGENDA_US + ROUNDED_NS;
}

/*
 * Until when a run that began at @from_ns may last, apart from its last part. It was told its slice at @told_ns; a
 * tighter one that came later holds from when it came.
 */
static uint64_t end_by_ns(const struct watch *watch, const struct watch_limits *entry, uint64_t told_ns,
                          uint64_t from_ns)
{
    uint64_t slice_ns = entry->limits.slice_us * AGENDA_US;

    if (slice_ns == 0) {
        return UINT64_MAX / 2;
    }
    return entry->at_ns > told_ns ? num_max(entry->at_ns, from_ns) + grace_ns(watch) + slice_ns : from_ns + slice_ns;
}

static void judge_slice(struct watch *watch, uint64_t told_ns, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    uint64_t until_ns = to_ns; /* until when the entry held */
    double over_ns = -part_ns;

    for (uint64_t i = 0; i < n_kept(watch); i++) {
        const struct watch_limits *entry = nth_back(watch, i);
        uint64_t by_ns = end_by_ns(watch, entry, told_ns, from_ns);

        if (by_ns < until_ns && (double)(until_ns - by_ns) - part_ns > over_ns) {
            over_ns = (double)(until_ns - by_ns) - part_ns;
        }
        until_ns = entry->at_ns;
        if (entry->at_ns <= told_ns) {
            break;
        }
    }
    tally_add(&watch->tallies, INVARIANT_SLICE, (over_ns + part_ns) / part_ns, over_ns > (double)ROUNDED_NS,
              watch_now_s(watch));
}

/* The most that held between two moments: the duty that rest is judged by. */
static uint32_t highest_duty(const struct watch *watch, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t duty = 0;

    for (uint64_t i = 0; i < n_kept(watch); i++) {
        const struct watch_limits *entry = nth_back(watch, i);

        if (entry->at_ns <= to_ns) {
            duty = (uint32_t)num_max(duty, entry->limits.duty_permille);
        }
        if (entry->at_ns <= from_ns) {
            return duty;
        }
    }
    return 1000; /* older than what is remembered */
}

static void judge_rest(struct watch *watch, uint64_t from_ns)
{
    uint64_t held_ns = watch->run_to_ns - watch->run_from_ns;
    uint64_t rest_ns = from_ns - watch->run_to_ns;
    uint32_t duty = highest_duty(watch, watch->run_to_ns, from_ns);
    double owed_ns;

    if (duty == 0 || duty >= 1000 || watch->run_to_ns == 0) {
        return;
    }
    owed_ns = (double)held_ns * (1000.0 / duty - 1.0);
    tally_add(&watch->tallies, INVARIANT_REST, owed_ns > 0.0 ? 1000.0 * (double)rest_ns / owed_ns : 1000.0,
              (double)rest_ns < owed_ns * 0.99 - (double)ROUNDED_NS * 1000.0 / duty, watch_now_s(watch));
}

/* Nothing of a class that is shut out runs longer than until it is told, and its part. */
static void judge_gate(struct watch *watch, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    enum priority priority = engine->running->work->priority;
    uint64_t until_ns = to_ns;

    for (uint64_t i = 0; i < n_kept(watch); i++) {
        const struct watch_limits *entry = nth_back(watch, i);
        uint64_t told_ns = num_max(from_ns, entry->at_ns + grace_ns(watch));

        if (!governor_lets_run(&entry->limits, priority) && until_ns > told_ns) {
            /* It may end its part; but what was told to run behind the gate may run not at all, unless it is told to
             * end because nobody waits for it any more. */
            bool is_new = engine->running->told_ns > entry->at_ns && !engine_runs_for_nobody(engine);
            double over_ns = (double)(until_ns - told_ns) - (is_new ? 0.0 : part_ns);

            tally_add(&watch->tallies, INVARIANT_GATE, (over_ns + part_ns) / part_ns, over_ns > (double)ROUNDED_NS,
                      watch_now_s(watch));
            return;
        }
        until_ns = entry->at_ns;
        if (entry->at_ns <= from_ns) {
            break;
        }
    }
    tally_add(&watch->tallies, INVARIANT_GATE, 0.0, false, watch_now_s(watch));
}

void watch_on_run(struct watch *watch, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    watch_say(watch, "engine %u: step %llu ran for %.3f ms (parts of %.3f ms)", engine->number,
              (unsigned long long)engine->running->work->id, (double)(to_ns - from_ns) / 1e6, part_ns / 1e6);
    drawing_run(watch->drawing, from_ns, to_ns, engine->number);
    if (engine->running->work->priority == PRIORITY_BACKGROUND) {
        watch->starved_s[engine->number] = 0.0;
    }
    judge_slice(watch, engine->running->told_ns, from_ns, to_ns, part_ns);
    judge_rest(watch, from_ns);
    judge_gate(watch, engine, from_ns, to_ns, part_ns);
    watch->run_from_ns = from_ns;
    watch->run_to_ns = to_ns;
}

/* ---- frames */

/* What frames need of their period at the clock of now, in permille. */
static int64_t need_of(const struct scenario *scenario, uint64_t at_ns)
{
    int64_t load = gpu_load_permille(scenario, at_ns, GPU_BASE) + gpu_load_permille(scenario, at_ns, GPU_APP);

    return load * 1000 / gpu_clock_permille(scenario, at_ns);
}

/* How late a growth that begins now is read: at the pace of a client that draws, of one that did not, or of a new one
 * that nobody tells of. */
static uint64_t read_within_ns(const struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    uint64_t now_ns = watch->agenda->now_ns;
    uint64_t before_ns = now_ns - num_min(now_ns, AGENDA_MS);
    bool app_begins =
        gpu_load_permille(scenario, before_ns, GPU_APP) == 0 && gpu_load_permille(scenario, now_ns, GPU_APP) > 0;
    bool base_begins =
        gpu_load_permille(scenario, before_ns, GPU_BASE) == 0 && gpu_load_permille(scenario, now_ns, GPU_BASE) > 0;

    if (app_begins && (uint64_t)scenario->screen.app_from_ms * AGENDA_MS == now_ns) {
        return SENSORS_WALK_NS;
    }
    return app_begins || base_begins ? SENSORS_REST_NS : SENSORS_BUSY_NS;
}

/* The compositor tells of growing frames; of a clock that falls it knows nothing. */
static bool is_told(const struct watch *watch)
{
    uint64_t at_ms = watch->agenda->now_ns / AGENDA_MS;
    bool found = false;

    for (int64_t i = 1; i < watch->scenario->n_loads; i++) {
        found = found || (uint64_t)watch->scenario->loads[i].at_ms == at_ms;
    }
    return found && watch->scenario->screen.tells;
}

/* Misses that a growth of graphics may cost: what a slice and a sampling period hold of frames. */
static uint64_t allowed_misses(const struct watch *watch)
{
    const struct governor_limits *limits = watch_limits_at(watch, watch->agenda->now_ns);

    if (is_told(watch)) {
        return 1;
    }
    return num_div_up(read_within_ns(watch) + limits->slice_us * AGENDA_US +
                          (uint64_t)watch->scenario->chip.part_us * AGENDA_US,
                      watch->gpu->period_ns);
}

static void close_window(struct watch *watch)
{
    struct watch_window *window = &watch->window;
    int64_t ours = (int64_t)(watch->gpu->n_missed - window->n_ours);
    int64_t theirs = (int64_t)(watch->alone->n_missed - window->n_theirs);
    int64_t blame = ours - theirs;

    if (window->judges < INVARIANT_COUNT && watch->gpu->n_frames > 0) {
        tally_add(&watch->tallies, window->judges, (double)blame, blame > (int64_t)window->n_allowed,
                  (double)window->from_ns / 1e9);
    }
    *window = (struct watch_window){
        .judges = INVARIANT_FRAMES,
        .from_ns = watch->agenda->now_ns,
        .n_ours = watch->gpu->n_missed,
        .n_theirs = watch->alone->n_missed,
    };
}

/* Blind, or with a share that policy keeps for voice whatever the screen wants, frames are not promised. */
static bool are_promised(const struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;

    return scenario->sense.has_load && scenario->policy.min_share_permille == 0 &&
           !watch->sensors->is_gone[MISHAP_LOAD_GONE];
}

void watch_frames(struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    uint64_t now_ns = watch->agenda->now_ns;
    int64_t need = need_of(scenario, now_ns);
    bool grows = need > watch->need && now_ns > 0;

    watch->need = need;
    if (!are_promised(watch)) {
        close_window(watch);
        watch->window.judges = INVARIANT_COUNT;
        return;
    }
    if (watch->window.to_ns > 0 && now_ns >= watch->window.to_ns) {
        close_window(watch);
    }
    if (grows) {
        close_window(watch);
        watch->window.judges = is_told(watch) ? INVARIANT_HINT : INVARIANT_STEP;
        watch->window.n_allowed = allowed_misses(watch);
        watch->window.to_ns = now_ns + SENSORS_WALK_NS + SETTLED_NS;
    }
}

void watch_end(struct watch *watch)
{
    const struct desk *desk = watch->desk;
    uint64_t n_left = desk->n_live;

    close_window(watch);
    watch_heat_end(watch);
    for (int64_t i = 0; i < watch->scenario->n_engines; i++) {
        n_left += desk->engines[i].n_open;
        n_left += desk->lanes[i].n_taken;
        n_left += dispatch_is_busy(&desk->dispatch, &desk->lanes[i]);
        n_left += desk->lanes[i].n_pages_promised;
        watch_say(watch, "engine %lld at the end: %u open, %u taken, busy %d, %u pages promised", (long long)i,
                  desk->engines[i].n_open, desk->lanes[i].n_taken, dispatch_is_busy(&desk->dispatch, &desk->lanes[i]),
                  desk->lanes[i].n_pages_promised);
        if (desk->engines[i].n_breaches > 0) {
            watch_say(watch, "engine %lld: %s", (long long)i, desk->engines[i].breach);
        }
        tally_add(&watch->tallies, INVARIANT_CONTRACT, (double)desk->engines[i].n_breaches,
                  desk->engines[i].n_breaches > 0, watch_now_s(watch));
    }
    n_left += !list_is_empty(&desk->requests);
    tally_add(&watch->tallies, INVARIANT_LEAK, (double)n_left, n_left > 0, watch_now_s(watch));
}
