/*
 * Families of heat: a chip that our own work can bring to its target.
 */
#include "families_internal.h"

/* Returns the power that brings the chip to its target. */
static int64_t budget_mw(const struct scenario *scenario)
{
    const struct scenario_heat *heat = &scenario->heat;

    return (heat->target_mc - heat->ambient_mc) * 1000 / (heat->r_die_mk_per_w + heat->r_case_mk_per_w);
}

void family_make_heat(struct scenario *scenario, struct rng *rng)
{
    struct scenario_heat *heat = &scenario->heat;
    int64_t r_mk_per_w = rng_spread(rng, 4000, 16000);
    int64_t share = rng_between(rng, 300, 800);
    struct scenario_clients *clients;

    heat->ambient_mc = rng_between(rng, -10000, 50000);
    heat->target_mc = rng_between(rng, 75, 90) * 1000;
    heat->passive_mc = heat->target_mc + 5000;
    heat->kept_permille = scenario->run.seed % 2 > 0 ? 0 : 700 + 100 * (scenario->run.seed / 2 % 9);
    heat->r_die_mk_per_w = r_mk_per_w * share / 1000;
    heat->r_case_mk_per_w = r_mk_per_w - heat->r_die_mk_per_w;
    heat->tau_case_ms = rng_spread(rng, 1000, 60000);
    heat->tau_die_ms = rng_spread(rng, 1000, heat->tau_case_ms);
    heat->ours_mw = rng_between(rng, 5000, 12000);
    scenario->others[scenario->n_others++] =
        (struct scenario_other){ .mw = budget_mw(scenario) * rng_between(rng, 0, 800) / 1000 };
    scenario->sense.temp_delay_ms = rng_between(rng, 0, 2000);
    scenario->engines[0].fixed_us = rng_between(rng, 20000, 60000);
    clients = family_add_documents(scenario, rng, 4);
    clients->at_once = 2;
    if (rng_chance(rng, 300)) {
        family_add_voice(scenario, rng, 1);
    }
    scenario->run.lasts_ms = 120000 + 6 * heat->tau_case_ms;
    scenario->run.settle_ms = scenario->run.lasts_ms / 2;
}

void family_make_disturbed(struct scenario *scenario, struct rng *rng)
{
    int64_t n = rng_between(rng, 1, 3);

    family_make_heat(scenario, rng);
    scenario->run.settle_ms = 0;
    for (int64_t i = 1; i <= n; i++) {
        scenario->others[scenario->n_others++] = (struct scenario_other){
            .at_ms = scenario->run.lasts_ms * i / (n + 1),
            .mw = budget_mw(scenario) * rng_between(rng, 0, 800) / 1000,
        };
    }
}

void family_make_hot(struct scenario *scenario, struct rng *rng)
{
    family_make_heat(scenario, rng);
    scenario->run.settle_ms = 0;
    scenario->run.lasts_ms = 60000 + 2 * scenario->heat.tau_case_ms;
    scenario->heat.start_mc = scenario->heat.target_mc + rng_between(rng, 3000, 20000);
}

void family_make_bursts(struct scenario *scenario, struct rng *rng)
{
    struct scenario_clients *clients = scenario->clients;

    family_make_heat(scenario, rng);
    scenario->run.settle_ms = 0;
    clients->pattern = PATTERN_CHAT;
    clients->n = 2;
    clients->at_once = 1;
    clients->prompt = rng_spread(rng, 1000, 4000);
    clients->answer = rng_spread(rng, 50, 400);
    clients->think_ms = rng_spread(rng, 5000, 60000);
}

void family_make_stuck(struct scenario *scenario, struct rng *rng)
{
    int64_t at_ms;

    family_make_heat(scenario, rng);
    scenario->n_clients = 1;
    scenario->run.settle_ms = 0;
    scenario->run.lasts_ms += 120000;
    at_ms = scenario->run.lasts_ms / 3;
    scenario->mishaps[scenario->n_mishaps++] = (struct scenario_mishap){
        .kind = MISHAP_HEAT_STUCK,
        .at_ms = at_ms,
        .lasts_ms = scenario->run.lasts_ms,
    };
    scenario->others[scenario->n_others] = scenario->others[0];
    scenario->others[scenario->n_others].at_ms = at_ms + 5000;
    scenario->others[scenario->n_others++].mw += 2000;
}
