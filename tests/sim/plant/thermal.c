#include "plant/thermal.h"
#include "govern/reaction.h"
#include <math.h>

/* A fiftieth of the least time constant of the family, 1 s. */
#define STEP_S 0.02

double thermal_rest_mc(const struct scenario_heat *family, double mw)
{
    double r = (double)(family->r_die_mk_per_w + family->r_case_mk_per_w);

    return (double)family->ambient_mc + mw * r / 1000.0;
}

void thermal_init(struct thermal *thermal, const struct scenario *scenario)
{
    double mw = scenario->n_others > 0 && scenario->others[0].at_ms == 0 ? (double)scenario->others[0].mw : 0.0;

    *thermal = (struct thermal){ .family = scenario->heat };
    if (scenario->heat.start_mc != 0) {
        thermal->now.die_mc = (double)scenario->heat.start_mc;
        thermal->now.case_mc = (double)scenario->heat.start_mc;
    } else {
        thermal->now.die_mc = thermal_rest_mc(&scenario->heat, mw);
        thermal->now.case_mc = (double)scenario->heat.ambient_mc + mw * (double)scenario->heat.r_case_mk_per_w / 1000.0;
    }
    thermal->alone = thermal->now;
    thermal->full = thermal->now;
}

/* Capacities follow from the time constants: C = tau / R, in W s / K. */
static void step(struct thermal_state *state, const struct scenario_heat *family, double mw, double dt_s)
{
    double r_die = (double)family->r_die_mk_per_w / 1000.0;
    double r_case = (double)family->r_case_mk_per_w / 1000.0;
    double c_die = (double)family->tau_die_ms / 1000.0 / r_die;
    double c_case = (double)family->tau_case_ms / 1000.0 / r_case;
    double down = (state->die_mc - state->case_mc) / r_die; /* mW */
    double out = (state->case_mc - (double)family->ambient_mc) / r_case;

    state->die_mc += (mw - down) / c_die * dt_s;
    state->case_mc += (down - out) / c_case * dt_s;
}

void thermal_advance(struct thermal *thermal, uint64_t now_ns, double ours_ns, double screen_ns, double other_mw)
{
    double left_s = (double)(now_ns - thermal->at_ns) / 1e9;
    double dt_ns = (double)(now_ns - thermal->at_ns);
    double theirs;
    double ours;
    double shadow;

    if (now_ns <= thermal->at_ns) {
        return;
    }
    theirs = other_mw + (double)thermal->family.screen_mw * screen_ns / dt_ns;
    ours = (double)thermal->family.ours_mw * ours_ns / dt_ns;
    shadow = (double)thermal->family.ours_mw * thermal->shadow_share;
    shadow = ours < shadow ? ours : shadow;
    while (left_s > 0.0) {
        double dt_s = left_s < STEP_S ? left_s : STEP_S;

        step(&thermal->now, &thermal->family, theirs + ours, dt_s);
        step(&thermal->alone, &thermal->family, theirs, dt_s);
        step(&thermal->full, &thermal->family, theirs + (double)thermal->family.ours_mw, dt_s);
        if (thermal->has_shadow) {
            step(&thermal->shadow, &thermal->family, theirs + shadow, dt_s);
        }
        left_s -= dt_s;
    }
    thermal->at_ns = now_ns;
}

void thermal_fork(struct thermal *thermal)
{
    thermal->shadow = thermal->now;
    thermal->shadow_share = 1.0;
    thermal->has_shadow = true;
}

void thermal_bound(struct thermal *thermal, double share)
{
    thermal->shadow_share = share < thermal->shadow_share ? share : thermal->shadow_share;
}

void thermal_reaction(const struct scenario *scenario, double *ret_whole, double *ret_lag_s)
{
    const struct scenario_heat *family = &scenario->heat;
    struct thermal_state state = { .die_mc = (double)family->ambient_mc, .case_mc = (double)family->ambient_mc };
    double mw = (double)family->ours_mw;
    double whole_mc = thermal_rest_mc(family, mw) - (double)family->ambient_mc;

    for (double s = 0.0; s < REACTION_HORIZON_S; s += STEP_S) {
        step(&state, family, mw, STEP_S);
    }
    *ret_whole = whole_mc / 1000.0;
    *ret_lag_s = -REACTION_HORIZON_S / log(1.0 - (state.die_mc - (double)family->ambient_mc) / whole_mc);
}
