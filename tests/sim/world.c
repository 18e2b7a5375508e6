#include "world.h"
#include "base/clean.h"
#include "base/num.h"
#include <assert.h>

/* Time after the clients have left in which everything ends: one step, one part, a restart. */
#define DRAIN_MS 4000

/* The first seconds are for measuring: their tokens are not promised. */
#define COUNTED_FROM_MS 5000

/* A compositor that reports to us does so at least this often, and announces a heavy phase for this long at a time. */
#define HINT_NS (200 * TIMELINE_MS)

/* Load of a screen that is worth a report. */
#define HEAVY_PERMILLE 100

/* Of the unscheduled run's rows and tokens, in percent. */
#define TOKENS_PERCENT 97.0

struct world;

/* A mishap begins or ends. */
struct turning {
    struct world *world;
    const struct scenario_mishap *row;
    struct timeline_event begins;
    struct timeline_event ends;
};

struct world {
    const struct scenario *scenario;
    struct chart *chart;
    struct timeline timeline;
    struct gpu gpu;
    struct gpu alone;
    struct engine engines[SERVER_ENGINES];
    struct thermal thermal;
    struct sensors sensors;
    struct server server;
    struct monitor monitor;
    struct clients clients;
    struct timeline_event tick;
    struct timeline_event hint;
    struct timeline_event change; /* of the load */
    struct turning turnings[SCENARIO_ROWS_MAX];
    double ours_ns; /* at the last tick */
    double screen_ns;
    uint32_t n_missed; /* not reported by the compositor yet */
};

/* ---- every 20 ms */

static double other_mw(const struct scenario *scenario, uint64_t now_ns)
{
    double mw = 0.0;

    for (int64_t i = 0; i < scenario->n_others; i++) {
        if ((uint64_t)scenario->others[i].at_ms * TIMELINE_MS <= now_ns) {
            mw = (double)scenario->others[i].mw;
        }
    }
    return mw;
}

static void on_tick(void *owner)
{
    struct world *world = owner;
    uint64_t now_ns = world->timeline.now_ns;
    const struct scenario_heat *family = &world->scenario->heat;
    double clock = (double)gpu_clock_permille(world->scenario, now_ns) / 1000.0;
    double screen_ns = gpu_busy_ns(&world->gpu, GPU_BASE) + gpu_busy_ns(&world->gpu, GPU_APP);
    double others = other_mw(world->scenario, now_ns);
    double ours_ns = 0.0;
    double drawn = screen_ns - world->screen_ns;
    double ours;

    for (int64_t i = 0; i < world->scenario->n_engines; i++) {
        ours_ns += engine_held_ns(&world->engines[i]);
    }
    ours = (ours_ns - world->ours_ns) * clock;
    thermal_advance(&world->thermal, now_ns, ours, drawn, others);
    sensors_tick(&world->sensors, others + ((double)family->ours_mw * ours + (double)family->screen_mw * drawn) /
                                               (double)SENSORS_TICK_NS);
    world->ours_ns = ours_ns;
    world->screen_ns = screen_ns;
    monitor_heat(&world->monitor);
    monitor_trip(&world->monitor);
    monitor_frames(&world->monitor);
    monitor_serve(&world->monitor);
    chart_heat(world->chart, now_ns, world->thermal.now.die_mc, world->thermal.alone.die_mc, world->sensors.temp_mc);
    chart_load(world->chart, now_ns, drawn / (double)SENSORS_TICK_NS);
    timeline_enter(&world->timeline, &world->tick, now_ns + SENSORS_TICK_NS);
}

/* ---- the compositor's reports */

static bool is_heavy(const struct scenario *scenario, uint64_t now_ns)
{
    return gpu_load_permille(scenario, now_ns, GPU_BASE) + gpu_load_permille(scenario, now_ns, GPU_APP) >=
           HEAVY_PERMILLE;
}

static void take_earlier(uint64_t *next_ns, int64_t at_ms, uint64_t now_ns)
{
    uint64_t at_ns = (uint64_t)at_ms * TIMELINE_MS;

    if (at_ns > now_ns) {
        *next_ns = num_min(*next_ns, at_ns);
    }
}

/* Returns the next time at which frames become longer or shorter, as the load or the clock changes; UINT64_MAX:
 * none. */
static uint64_t next_change_ns(const struct scenario *scenario, uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;

    for (int64_t i = 0; i < scenario->n_loads; i++) {
        take_earlier(&next_ns, scenario->loads[i].at_ms, now_ns);
    }
    for (int64_t i = 0; i < scenario->n_clocks; i++) {
        take_earlier(&next_ns, scenario->clocks[i].at_ms, now_ns);
    }
    return next_ns;
}

static bool has_grown(const struct scenario *scenario, uint64_t now_ns)
{
    for (int64_t i = 1; i < scenario->n_loads; i++) {
        if ((uint64_t)scenario->loads[i].at_ms * TIMELINE_MS == now_ns) {
            return is_heavy(scenario, now_ns);
        }
    }
    return false;
}

/* Frames are counted from exactly this time. */
static void on_change(void *owner)
{
    struct world *world = owner;
    uint64_t next_ns = next_change_ns(world->scenario, world->timeline.now_ns);

    monitor_frames(&world->monitor);
    if (next_ns < UINT64_MAX) {
        timeline_enter(&world->timeline, &world->change, next_ns);
    }
}

/* Reports the length of its frames at once; later, when heavy ones begin, and what it missed. */
static void on_hint(void *owner)
{
    struct world *world = owner;
    uint64_t now_ns = world->timeline.now_ns;
    bool begins = has_grown(world->scenario, now_ns);

    if (now_ns == 0 || begins || world->n_missed > 0) {
        server_hint(&world->server, begins ? now_ns + HINT_NS : 0, world->n_missed);
        world->n_missed = 0;
    }
    timeline_enter(&world->timeline, &world->hint, num_min(now_ns + HINT_NS, next_change_ns(world->scenario, now_ns)));
}

static void on_missed(void *owner)
{
    struct world *world = owner;

    world->n_missed++;
    monitor_log(&world->monitor, "a frame is missed");
    chart_missed(world->chart, world->timeline.now_ns, true);
}

static void on_missed_alone(void *owner)
{
    struct world *world = owner;

    monitor_log(&world->monitor, "a frame is missed without us");
    chart_missed(world->chart, world->timeline.now_ns, false);
}

/* ---- mishaps */

static void on_begins(void *owner)
{
    struct turning *turning = owner;
    struct world *world = turning->world;
    uint32_t engine = (uint32_t)turning->row->engine;
    enum mishap kind = (enum mishap)turning->row->kind;

    switch (kind) {
    case MISHAP_LOST:
        if (world->engines[engine].is_alive) {
            engine_die(&world->engines[engine]);
            server_on_lost(&world->server, engine, (uint64_t)turning->row->lasts_ms * TIMELINE_MS);
        }
        break;
    case MISHAP_STALL:
        engine_stall(&world->engines[engine], true);
        break;
    case MISHAP_HEAT_GONE:
    case MISHAP_HEAT_FROZEN:
    case MISHAP_HEAT_NONSENSE:
    case MISHAP_LOAD_GONE:
    case MISHAP_HEAT_STUCK:
        sensors_mishap(&world->sensors, kind, true);
        break;
    case MISHAP_COUNT:
        break;
    }
}

static void on_ends(void *owner)
{
    struct turning *turning = owner;
    enum mishap kind = (enum mishap)turning->row->kind;

    if (kind == MISHAP_STALL) {
        engine_stall(&turning->world->engines[turning->row->engine], false);
    } else if (kind != MISHAP_LOST) {
        sensors_mishap(&turning->world->sensors, kind, false);
    }
}

static void enter_mishaps(struct world *world)
{
    for (int64_t i = 0; i < world->scenario->n_mishaps; i++) {
        struct turning *turning = &world->turnings[i];

        turning->world = world;
        turning->row = &world->scenario->mishaps[i];
        timeline_event_init(&turning->begins, on_begins, turning);
        timeline_event_init(&turning->ends, on_ends, turning);
        timeline_enter(&world->timeline, &turning->begins, (uint64_t)turning->row->at_ms * TIMELINE_MS);
        timeline_enter(&world->timeline, &turning->ends,
                       (uint64_t)(turning->row->at_ms + turning->row->lasts_ms) * TIMELINE_MS);
    }
}

/* ---- a run */

static void on_engine_run(void *owner, struct engine *engine, uint64_t from_ns, uint64_t to_ns, double part_ns)
{
    struct world *world = owner;

    monitor_on_run(&world->monitor, engine, from_ns, to_ns, part_ns);
}

static void on_engine_answer(void *owner, struct engine *engine, const struct engine_message *answer)
{
    struct world *world = owner;

    server_on_answer(&world->server, engine, answer);
}

static void begin(struct world *world, const struct scenario *scenario, const struct world_view *view)
{
    world->scenario = scenario;
    world->chart = view ? view->chart : NULL;
    timeline_init(&world->timeline);
    gpu_init(&world->gpu, &world->timeline, scenario);
    gpu_init(&world->alone, &world->timeline, scenario);
    world->gpu.on_missed = on_missed;
    world->gpu.owner = world;
    world->alone.on_missed = on_missed_alone;
    world->alone.owner = world;
    for (int64_t i = 0; i < scenario->n_engines; i++) {
        engine_init(&world->engines[i], &world->timeline, scenario, &world->gpu, (uint32_t)i);
        world->engines[i].on_run = on_engine_run;
        world->engines[i].on_answer = on_engine_answer;
        world->engines[i].owner = world;
    }
    thermal_init(&world->thermal, scenario);
    sensors_init(&world->sensors, &world->timeline, scenario, &world->gpu, &world->thermal);
    monitor_init(&world->monitor, &world->timeline, scenario);
    server_init(&world->server, &world->timeline, scenario, world->engines, &world->sensors, &world->monitor);
    world->sensors.told = server_on_sample;
    world->sensors.owner = &world->server;
    world->server.on_token = clients_on_token;
    world->server.on_end = clients_on_end;
    world->monitor.server = &world->server;
    world->monitor.gpu = &world->gpu;
    world->monitor.alone = &world->alone;
    world->monitor.thermal = &world->thermal;
    world->monitor.sensors = &world->sensors;
    world->monitor.chart = world->chart;
    world->monitor.trace = view ? view->trace : NULL;
    clients_init(&world->clients, &world->server, scenario);
    timeline_event_init(&world->tick, on_tick, world);
    timeline_event_init(&world->hint, on_hint, world);
    timeline_event_init(&world->change, on_change, world);
    timeline_enter(&world->timeline, &world->tick, SENSORS_TICK_NS);
    timeline_enter(&world->timeline, &world->change, 0);
    if (scenario->screen.tells && scenario->screen.hz > 0) {
        timeline_enter(&world->timeline, &world->hint, 0);
    }
    enter_mishaps(world);
}

static void finish(struct world *world)
{
    for (int64_t i = 0; i < world->scenario->n_engines; i++) {
        engine_finish(&world->engines[i]);
    }
    clients_finish(&world->clients);
    server_finish(&world->server);
    timeline_finish(&world->timeline);
}

static void collect(const struct world *world, struct world_result *ret_result)
{
    *ret_result = (struct world_result){
        .tallies = world->monitor.tallies,
        .n_events = world->timeline.n_fired,
        .n_asked = world->server.n_asked,
        .n_refused = world->server.n_refused,
        .n_frames = world->gpu.n_frames,
        .n_missed = world->gpu.n_missed,
        .n_missed_alone = world->alone.n_missed,
        .n_mode_changes = world->server.governor.n_changes,
    };
}

/* Returns the rows and tokens computed from when all clients are there and costs are known until they leave. */
static uint64_t run_until_they_leave(struct world *world)
{
    uint64_t n_before;

    timeline_run(&world->timeline, num_min(COUNTED_FROM_MS, (uint64_t)world->scenario->run.lasts_ms) * TIMELINE_MS);
    n_before = world->server.n_rows + world->server.n_tok;
    timeline_run(&world->timeline, (uint64_t)world->scenario->run.lasts_ms * TIMELINE_MS);
    return world->server.n_rows + world->server.n_tok - n_before;
}

/* Returns what the chip gives to the same clients without a scheduler. */
static double unscheduled(const struct scenario *scenario)
{
    struct world *world = mem_calloc(MEM_MISC, 1, sizeof(*world));
    double n;

    assert(world);
    begin(world, scenario, NULL);
    world->server.is_unscheduled = true;
    n = (double)run_until_they_leave(world);
    finish(world);
    mem_free(world);
    return n;
}

/* Returns the part of the unscheduled run's tokens that is promised. Where slices are bounded no step waits behind
 * another, so each slice costs a message and its answer. */
static double least_percent(const struct world *world)
{
    const struct scenario *scenario = world->scenario;
    double messages_ms = (double)world->server.n_runs * 2.0 * (double)scenario->chip.latency_us / 1000.0;
    bool is_bounded = server_limits(&world->server)->slice_us > 0;

    return TOKENS_PERCENT - (is_bounded ? 100.0 * messages_ms / (double)scenario->run.lasts_ms : 0.0);
}

void world_run(const struct scenario *scenario, const struct world_view *view, struct world_result *ret_result)
{
    struct world *world = mem_calloc(MEM_MISC, 1, sizeof(*world));
    struct mem_account before;
    struct mem_account after;
    uint64_t n_served;
    uint64_t n_rows;
    uint64_t n_tok;
    double least;

    assert(world);
    mem_read(MEM_SCHED, &before);
    begin(world, scenario, view);
    n_served = run_until_they_leave(world);
    n_rows = world->server.n_rows;
    n_tok = world->server.n_tok;
    least = least_percent(world);
    world->server.is_closed = true;
    clients_leave(&world->clients);
    timeline_run(&world->timeline, (uint64_t)(scenario->run.lasts_ms + DRAIN_MS) * TIMELINE_MS);
    monitor_end(&world->monitor);
    finish(world);
    mem_read(MEM_SCHED, &after);
    tally_add(&world->monitor.tallies, INVARIANT_LEAK, (double)(after.blocks - before.blocks),
              after.blocks != before.blocks, monitor_now_s(&world->monitor));
    collect(world, ret_result);
    ret_result->n_rows = n_rows;
    ret_result->n_tok = n_tok;
    mem_free(world);
    if (scenario->run.family == FAMILY_IDLE && scenario->n_clocks == 0 && scenario->n_traffic == 0) {
        double percent = 100.0 * (double)n_served / unscheduled(scenario);

        tally_add(&ret_result->tallies, INVARIANT_TOKENS, percent, percent < least,
                  (double)scenario->run.lasts_ms / 1000.0);
    }
}
