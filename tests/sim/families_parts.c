/*
 * Parts of a world that families have in common.
 */
#include "families_internal.h"

void family_make_chip(struct scenario *scenario, struct rng *rng)
{
    static const int64_t temp_steps[] = { 100, 250, 500, 1000, 1000 };

    scenario->chip = (struct scenario_chip){
        .part_us = rng_spread(rng, 50, 400),
        .latency_us = rng_between(rng, 20, 100),
        .noise_permille = rng_between(rng, 0, 80),
        .misjudged_permille = rng_between(rng, 700, 1400),
    };
    scenario->sense = (struct scenario_sense){
        .temp_step_mc = rng_one_of(rng, temp_steps, 5),
        .temp_period_ms = rng_between(rng, 100, 1000),
        .has_meter = rng_chance(rng, 500),
        .has_load = 1,
        .has_heat = 1,
    };
    /* Far from any target. */
    scenario->heat = (struct scenario_heat){
        .ambient_mc = 25000,
        .r_die_mk_per_w = 2000,
        .r_case_mk_per_w = 3000,
        .tau_die_ms = 2000,
        .tau_case_ms = 20000,
        .ours_mw = 3000,
        .screen_mw = 1000,
        .target_mc = 85000,
        .passive_mc = 90000,
        .kept_permille = 1000,
    };
}

void family_add_engine(struct scenario *scenario, struct rng *rng)
{
    scenario->engines[scenario->n_engines++] = (struct scenario_engine){
        .fixed_us = rng_spread(rng, 3000, 40000),
        .prefill_ns = rng_spread(rng, 20000, 300000),
        .decode_ns = rng_spread(rng, 20000, 200000),
        .attend_ns = rng_spread(rng, 200, 4000),
        .slots = rng_between(rng, 4, 16),
        .rows = rng_spread(rng, 64, 512),
        .pages = rng_spread(rng, 512, 4096),
    };
}

void family_add_load(struct scenario *scenario, int64_t at_ms, int64_t base, int64_t app)
{
    scenario->loads[scenario->n_loads++] =
        (struct scenario_load){ .at_ms = at_ms, .base_permille = base, .app_permille = app };
}

int64_t family_refresh_hz(struct rng *rng)
{
    static const int64_t rates[] = { 30, 60, 90, 120 };

    return rng_one_of(rng, rates, 4);
}

void family_make_screen(struct scenario *scenario, struct rng *rng, int64_t most)
{
    int64_t base = rng_between(rng, 50, most / 2);

    scenario->screen.hz = family_refresh_hz(rng);
    scenario->screen.jitter_permille = rng_between(rng, 0, 50);
    family_add_load(scenario, 0, base, rng_between(rng, 0, most - base));
}

struct scenario_clients *family_add_clients(struct scenario *scenario, enum pattern pattern, int64_t n,
                                            enum priority priority)
{
    struct scenario_clients *clients = &scenario->clients[scenario->n_clients++];

    *clients = (struct scenario_clients){
        .pattern = pattern,
        .n = n,
        .n_uids = 1,
        .first_uid = 1000 + 100 * scenario->n_clients,
        .priority = priority,
        .weight = 1000,
        .at_once = 1,
        .from_ms = 1000,
    };
    return clients;
}

struct scenario_clients *family_add_voice(struct scenario *scenario, struct rng *rng, int64_t n)
{
    struct scenario_clients *clients = family_add_clients(scenario, PATTERN_VOICE, n, PRIORITY_REALTIME);

    clients->prompt = rng_between(rng, 40, 250);
    clients->answer = rng_between(rng, 10, 50);
    clients->think_ms = rng_between(rng, 300, 2000);
    return clients;
}

struct scenario_clients *family_add_chat(struct scenario *scenario, struct rng *rng, int64_t n)
{
    struct scenario_clients *clients = family_add_clients(scenario, PATTERN_CHAT, n, PRIORITY_INTERACTIVE);

    clients->n_uids = n;
    clients->prompt = rng_between(rng, 50, 500);
    clients->answer = rng_between(rng, 20, 150);
    clients->think_ms = rng_between(rng, 1000, 5000);
    return clients;
}

struct scenario_clients *family_add_documents(struct scenario *scenario, struct rng *rng, int64_t n)
{
    struct scenario_clients *clients = family_add_clients(scenario, PATTERN_DOCUMENT, n, PRIORITY_BACKGROUND);

    clients->n_uids = rng_between(rng, 1, n);
    clients->prompt = rng_spread(rng, 200, 3000);
    clients->answer = rng_between(rng, 20, 200);
    return clients;
}
