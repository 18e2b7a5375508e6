/*
 * Families: the kinds of worlds
 *
 * They were written before the controllers, from what chips, screens and apps do, and are wider than anything that
 * daemon/sched and daemon/govern assume: thermal resistance over a factor of four, time constants of 1 to 60 s, sensors
 * in whole degrees and up to 2 s late, others' heat up to 80 % of what the target allows, steps of 3 to 80 ms, cost
 * models that begin 30 % off.
 */
#include "families_internal.h"
#include "traits.h"

static void add_everybody(struct scenario *scenario, struct rng *rng)
{
    family_add_voice(scenario, rng, 1);
    if (rng_chance(rng, 700)) {
        family_add_chat(scenario, rng, rng_between(rng, 1, 3));
    }
    family_add_documents(scenario, rng, rng_between(rng, 1, 4));
    if (rng_chance(rng, 300)) {
        struct scenario_clients *slow = family_add_chat(scenario, rng, 1);

        slow->pattern = PATTERN_SLOW;
        slow->think_ms = rng_between(rng, 200, 2000);
    }
}

/* ---- graphics */

static void make_steady(struct scenario *scenario, struct rng *rng)
{
    family_make_screen(scenario, rng, 850);
    if (rng_chance(rng, 300)) {
        scenario->n_loads = 0;
        family_make_screen(scenario, rng, 500);
        scenario->clocks[scenario->n_clocks++] =
            (struct scenario_clock){ .at_ms = 0, .permille = rng_between(rng, 600, 1000) };
    }
    add_everybody(scenario, rng);
    scenario->run.lasts_ms = rng_between(rng, 5000, 12000);
}

static void make_step(struct scenario *scenario, struct rng *rng)
{
    int64_t at_ms = rng_between(rng, 3000, 5000);
    int64_t base = rng_chance(rng, 400) ? 0 : rng_between(rng, 50, 300);

    scenario->screen.hz = family_refresh_hz(rng);
    scenario->screen.jitter_permille = rng_between(rng, 0, 50);
    family_add_load(scenario, 0, base, 0);
    family_add_load(scenario, at_ms, base > 0 ? base : rng_between(rng, 100, 300), rng_between(rng, 200, 550));
    if (rng_chance(rng, 300)) {
        scenario->screen.app_from_ms = at_ms;
    }
    if (rng_chance(rng, 500)) {
        family_add_load(scenario, at_ms + 4000, base, 0);
    }
    add_everybody(scenario, rng);
    scenario->run.lasts_ms = at_ms + 6000;
}

static void make_hint(struct scenario *scenario, struct rng *rng)
{
    make_step(scenario, rng);
    scenario->screen.tells = 1;
}

/* Makes a screen on a GPU that reports no load. */
static void make_untold(struct scenario *scenario, struct rng *rng)
{
    static void (*const makers_of[])(struct scenario *, struct rng *) = { make_steady, make_step, make_hint };

    makers_of[rng_next(rng) % 3](scenario, rng);
    scenario->sense.has_load = 0;
}

static void make_blind(struct scenario *scenario, struct rng *rng)
{
    enum mishap kind = (enum mishap)rng_between(rng, MISHAP_HEAT_GONE, MISHAP_LOAD_GONE);

    family_make_screen(scenario, rng, 700);
    add_everybody(scenario, rng);
    scenario->sense.temp_period_ms = rng_between(rng, 100, 500);
    scenario->mishaps[scenario->n_mishaps++] = (struct scenario_mishap){
        .kind = kind,
        .at_ms = rng_between(rng, 3000, 5000),
        .lasts_ms = rng_between(rng, 6000, 9000),
    };
    scenario->run.lasts_ms = 20000;
}

/* ---- many */

static void make_overload(struct scenario *scenario, struct rng *rng)
{
    for (int i = 0; i < 7; i++) {
        enum priority priority = (enum priority)rng_between(rng, PRIORITY_BACKGROUND, PRIORITY_INTERACTIVE);
        struct scenario_clients *storm = family_add_clients(scenario, PATTERN_STORM, 28, priority);

        storm->prompt = rng_spread(rng, 50, 2000);
        storm->answer = rng_between(rng, 20, 200);
        storm->weight = 1000;
    }
    family_add_voice(scenario, rng, 4);
    scenario->run.lasts_ms = rng_between(rng, 10000, 20000);
}

static void make_models(struct scenario *scenario, struct rng *rng)
{
    family_add_engine(scenario, rng);
    if (rng_chance(rng, 500)) {
        family_make_screen(scenario, rng, 600);
    } else {
        /* Without a GPU no slice is bounded. */
        scenario->sense.has_load = rng_chance(rng, 300);
        scenario->chip.cores = !scenario->sense.has_load;
    }
    family_add_voice(scenario, rng, 1);
    family_add_documents(scenario, rng, rng_between(rng, 1, 4))->engine = 1;
    if (rng_chance(rng, 300)) {
        family_add_chat(scenario, rng, 2)->engine = 1;
    }
    scenario->run.lasts_ms = rng_between(rng, 6000, 12000);
}

/* Gives each request a slot all the time: a share of less than one slot can't be cut finer than whole requests. */
static void make_roomy(struct scenario_engine *engine, struct rng *rng)
{
    engine->fixed_us = rng_spread(rng, 3000, 12000);
    engine->prefill_ns = rng_spread(rng, 20000, 80000);
    engine->slots = rng_between(rng, 12, 16);
    engine->pages = 4096;
}

static void make_fair(struct scenario *scenario, struct rng *rng)
{
    static const int64_t weights[] = { 1000, 1000, 2000, 4000 };
    int64_t n = rng_between(rng, 2, 4);
    enum priority priority = (enum priority)rng_between(rng, PRIORITY_BACKGROUND, PRIORITY_INTERACTIVE);

    make_roomy(&scenario->engines[0], rng);
    for (int64_t i = 0; i < n; i++) {
        struct scenario_clients *clients = family_add_clients(scenario, PATTERN_DOCUMENT, 2, priority);

        /* More prompts than any share of any step, so there is always work. */
        clients->prompt = rng_spread(rng, 400, 1500);
        clients->answer = rng_between(rng, 1, 6);
        clients->at_once = 8;
        clients->weight = rng_one_of(rng, weights, 4);
    }
    if (rng_chance(rng, 300)) {
        family_make_screen(scenario, rng, 400);
    }
    scenario->run.lasts_ms = 30000;
}

/* Gives the second model its own accounts, alternating. */
static void make_twins(struct scenario *scenario, struct rng *rng)
{
    make_fair(scenario, rng);
    family_add_engine(scenario, rng);
    make_roomy(&scenario->engines[1], rng);
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        scenario->clients[i].engine = i % 2;
    }
}

/* Makes few slots, and requests of any length. What can't be cut is long, and still no account gets ahead for good. */
static void make_share(struct scenario *scenario, struct rng *rng)
{
    static const int64_t weights[] = { 1000, 1000, 2000, 4000 };
    int64_t n = rng_between(rng, 2, 4);
    enum priority priority = (enum priority)rng_between(rng, PRIORITY_BACKGROUND, PRIORITY_INTERACTIVE);

    if (rng_chance(rng, 300)) {
        family_add_engine(scenario, rng);
    }
    for (int64_t i = 0; i < scenario->n_engines; i++) {
        scenario->engines[i].slots = rng_between(rng, 1, 4);
        scenario->engines[i].pages = 4096;
    }
    for (int64_t i = 0; i < n; i++) {
        struct scenario_clients *clients = family_add_clients(scenario, PATTERN_DOCUMENT, 2, priority);

        clients->prompt = rng_spread(rng, 50, 3000);
        clients->answer = rng_spread(rng, 1, 300);
        clients->at_once = 8;
        clients->weight = rng_one_of(rng, weights, 4);
        clients->engine = rng_between(rng, 0, scenario->n_engines - 1);
    }
    scenario->run.lasts_ms = 60000;
}

static void make_losses(struct scenario *scenario, struct rng *rng)
{
    make_share(scenario, rng);
    for (int64_t i = 0; i < (int64_t)SCENARIO_ROWS_MAX; i++) {
        scenario->mishaps[scenario->n_mishaps++] = (struct scenario_mishap){
            .kind = MISHAP_LOST,
            .at_ms = 5000 + 6000 * i + rng_between(rng, 0, 5000),
            .lasts_ms = rng_between(rng, 50, 1000),
            .engine = rng_between(rng, 0, scenario->n_engines - 1),
        };
    }
}

static void make_deadline(struct scenario *scenario, struct rng *rng)
{
    int64_t n = rng_between(rng, 1, 3);

    for (int64_t i = 0; i < n; i++) {
        struct scenario_clients *clients = family_add_chat(scenario, rng, rng_between(rng, 1, 3));

        clients->priority = rng_between(rng, PRIORITY_BACKGROUND, PRIORITY_REALTIME);
        clients->think_ms = rng_between(rng, 200, 2000);
        if (rng_chance(rng, 700)) {
            clients->first_by_ms = rng_spread(rng, 100, 5000);
        }
        if (clients->first_by_ms == 0 || rng_chance(rng, 500)) {
            clients->finish_by_ms = clients->first_by_ms + rng_spread(rng, 500, 10000);
        }
    }
    family_add_documents(scenario, rng, rng_between(rng, 1, 4));
    if (rng_chance(rng, 400)) {
        family_make_screen(scenario, rng, 600);
    }
    scenario->run.lasts_ms = rng_between(rng, 10000, 20000);
}

static void make_idle(struct scenario *scenario, struct rng *rng)
{
    struct scenario_clients *clients;

    scenario->sense.has_load = rng_chance(rng, 500);
    scenario->chip.cores = rng_chance(rng, 300);
    clients = family_add_documents(scenario, rng, rng_between(rng, 2, 6));
    clients->at_once = 2;
    clients->n_uids = 1; /* in order of arrival, also when they are scheduled: the same work */
    if (rng_chance(rng, 300)) {
        scenario->clocks[scenario->n_clocks++] =
            (struct scenario_clock){ .at_ms = 10000, .permille = rng_chance(rng, 500) ? 500 : 750 };
        scenario->clocks[scenario->n_clocks++] = (struct scenario_clock){ .at_ms = 15000, .permille = 1000 };
    } else if (rng_chance(rng, 300)) {
        scenario->traffic[scenario->n_traffic++] =
            (struct scenario_traffic){ .at_ms = 10000, .permille = rng_between(rng, 100, 600) };
    }
    scenario->run.lasts_ms = 20000;
}

static void make_starve(struct scenario *scenario, struct rng *rng)
{
    enum priority priority = (enum priority)rng_between(rng, PRIORITY_INTERACTIVE, PRIORITY_REALTIME);
    struct scenario_clients *storm = family_add_clients(scenario, PATTERN_STORM, 6, priority);

    storm->prompt = rng_between(rng, 50, 800);
    storm->answer = rng_between(rng, 20, 200);
    storm->n_uids = rng_between(rng, 1, 3);
    storm->at_once = rng_between(rng, 1, 4);
    family_add_documents(scenario, rng, rng_between(rng, 1, 3));
    if (rng_chance(rng, 300)) {
        family_make_screen(scenario, rng, 500);
    }
    scenario->run.lasts_ms = 20000;
}

static void make_fault(struct scenario *scenario, struct rng *rng)
{
    int64_t n = rng_between(rng, 1, 4);

    if (rng_chance(rng, 300)) {
        family_add_engine(scenario, rng);
    }
    if (rng_chance(rng, 500)) {
        family_make_screen(scenario, rng, 500);
    }
    add_everybody(scenario, rng);
    for (int64_t i = 0; i < n; i++) {
        scenario->mishaps[scenario->n_mishaps++] = (struct scenario_mishap){
            .kind = rng_chance(rng, 600) ? MISHAP_LOST : MISHAP_STALL,
            .at_ms = 2000 + 2000 * i + rng_between(rng, 0, 500),
            .lasts_ms = rng_between(rng, 50, 1000),
            .engine = rng_between(rng, 0, scenario->n_engines - 1),
        };
    }
    for (int64_t i = 0; scenario->n_engines > 1 && i < scenario->n_clients; i++) {
        scenario->clients[i].engine = i % 2;
    }
    scenario->run.lasts_ms = 12000;
}

static void make_chaos(struct scenario *scenario, struct rng *rng)
{
    make_fault(scenario, rng);
    scenario->policy.min_share_permille = rng_chance(rng, 300) ? rng_between(rng, 20, 200) : 0;
    scenario->chip.cores = rng_chance(rng, 200);
    scenario->sense.has_load = rng_chance(rng, 800);
    scenario->sense.has_heat = rng_chance(rng, 900);
    for (int64_t i = 1; i < 4 && scenario->n_loads > 0; i++) {
        family_add_load(scenario, 3000 * i, rng_between(rng, 0, 300), rng_between(rng, 0, 250));
    }
    for (int64_t i = 0; i < 3; i++) {
        scenario->clocks[scenario->n_clocks++] =
            (struct scenario_clock){ .at_ms = 1000 + 3000 * i, .permille = rng_between(rng, 700, 1000) };
        scenario->traffic[scenario->n_traffic++] =
            (struct scenario_traffic){ .at_ms = 2000 + 3000 * i, .permille = rng_between(rng, 0, 500) };
    }
    scenario->mishaps[scenario->n_mishaps++] = (struct scenario_mishap){
        .kind = rng_between(rng, MISHAP_HEAT_GONE, MISHAP_LOAD_GONE),
        .at_ms = rng_between(rng, 1000, 9000),
        .lasts_ms = rng_between(rng, 100, 4000),
    };
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        if (rng_chance(rng, 200)) {
            scenario->clients[i].tokens_a_minute = rng_between(rng, 500, 20000);
        }
        if (rng_chance(rng, 200)) {
            scenario->clients[i].first_by_ms = rng_spread(rng, 200, 5000);
        }
    }
}

/* Makes clocks that halve and recover, beside a screen with room at either, or on a chip that our own work warms. */
static void make_clocks(struct scenario *scenario, struct rng *rng)
{
    int64_t at_ms;

    if (rng_chance(rng, 500)) {
        family_make_screen(scenario, rng, 420);
        scenario->screen.tells = rng_chance(rng, 300);
        add_everybody(scenario, rng);
        scenario->run.lasts_ms = 15000;
    } else {
        family_make_heat(scenario, rng);
        scenario->run.settle_ms = 0;
    }
    at_ms = scenario->run.lasts_ms / 3 + rng_between(rng, 0, 500);
    for (int64_t i = 0; i < 2; i++) {
        scenario->clocks[scenario->n_clocks++] = (struct scenario_clock){ .at_ms = at_ms, .permille = 500 };
        scenario->clocks[scenario->n_clocks++] =
            (struct scenario_clock){ .at_ms = at_ms + scenario->run.lasts_ms / 6, .permille = 1000 };
        at_ms += scenario->run.lasts_ms / 3;
    }
}

/* Makes answers that go on for longer than the run, more of them than slots, of one user or of several. */
static void make_endless(struct scenario *scenario, struct rng *rng)
{
    struct scenario_engine *engine = &scenario->engines[0];
    enum priority priority = (enum priority)rng_between(rng, PRIORITY_INTERACTIVE, PRIORITY_REALTIME);

    engine->slots = rng_between(rng, 2, 10);
    engine->fixed_us = rng_spread(rng, 20000, 60000);
    engine->pages = 8192;
    for (int64_t i = 0; i < 2; i++) {
        int64_t n = i == 0 ? engine->slots + rng_between(rng, 1, 6) : rng_between(rng, 1, 4);
        struct scenario_clients *clients =
            family_add_clients(scenario, PATTERN_DOCUMENT, n, i == 0 ? priority : PRIORITY_BACKGROUND);

        clients->n_uids = rng_between(rng, 1, n);
        clients->prompt = rng_between(rng, 50, 400);
        clients->answer = 4000;
    }
    scenario->run.lasts_ms = 90000;
}

/* Makes one user with as many promises as it is given, of long answers, and two with few, of short ones. */
static void make_promises(struct scenario *scenario, struct rng *rng)
{
    struct scenario_clients *many = family_add_clients(scenario, PATTERN_DOCUMENT, 2, PRIORITY_INTERACTIVE);
    struct scenario_clients *few;

    scenario->engines[0].slots = rng_between(rng, 4, 12);
    scenario->engines[0].pages = 4096;
    many->at_once = 8;
    many->prompt = rng_between(rng, 20, 200);
    many->answer = rng_between(rng, 100, 400);
    many->finish_by_ms = rng_spread(rng, 20000, 120000);
    few = family_add_chat(scenario, rng, 2);
    few->prompt = rng_between(rng, 20, 100);
    few->answer = rng_between(rng, 5, 20);
    few->finish_by_ms = rng_spread(rng, 2000, 20000);
    scenario->run.lasts_ms = 60000;
}

static void (*const makers[FAMILY_COUNT])(struct scenario *scenario, struct rng *rng) = {
    [FAMILY_STEADY] = make_steady,
    [FAMILY_STEP] = make_step,
    [FAMILY_HINT] = make_hint,
    [FAMILY_HEAT] = family_make_heat,
    [FAMILY_DISTURBED] = family_make_disturbed,
    [FAMILY_HOT] = family_make_hot,
    [FAMILY_BLIND] = make_blind,
    [FAMILY_OVERLOAD] = make_overload,
    [FAMILY_MODELS] = make_models,
    [FAMILY_FAIR] = make_fair,
    [FAMILY_DEADLINE] = make_deadline,
    [FAMILY_IDLE] = make_idle,
    [FAMILY_STARVE] = make_starve,
    [FAMILY_FAULT] = make_fault,
    [FAMILY_CHAOS] = make_chaos,
    [FAMILY_SHARE] = make_share,
    [FAMILY_CLOCKS] = make_clocks,
    [FAMILY_BURSTS] = family_make_bursts,
    [FAMILY_TWINS] = make_twins,
    [FAMILY_UNTOLD] = make_untold,
    [FAMILY_LOSSES] = make_losses,
    [FAMILY_ENDLESS] = make_endless,
    [FAMILY_PROMISES] = make_promises,
    [FAMILY_STUCK] = family_make_stuck,
};

void scenario_make(struct scenario *scenario, uint64_t seed, enum family family)
{
    struct rng rng;

    rng_init(&rng, seed, RNG_SCENARIO);
    *scenario = (struct scenario){ .run.seed = (int64_t)seed };
    if (family == FAMILY_COUNT) {
        family = (enum family)(seed % FAMILY_BY_SEED);
    }
    scenario->run.family = family;
    family_make_chip(scenario, &rng);
    family_add_engine(scenario, &rng);
    makers[family](scenario, &rng);
    traits_make(scenario, seed);
}
