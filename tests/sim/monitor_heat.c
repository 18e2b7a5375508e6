/*
 * Judges temperature from the first second on, against two chips: one that never had our work, and one that bears what
 * no controller can prevent. The second begins when other heat or a clock rises, which nothing can foresee: it has our
 * work until a reading can show the rise, and none from then on. How long that takes follows from the world: from its
 * sensor's delay, period and steps, and from how fast the die moves. An approach, or work that comes back, is ours.
 */
#include "monitor.h"

/* Tolerance beyond what no controller could prevent. */
#define ABOVE_MC 2000.0
/* A rise is shown by a reading above the target, or by one so much, or a step of the sensor, above the highest
 * one before it (forgotten by so much a tick), when the rise could be seen for two periods and so long. By then
 * it differs from what slices and rests do. */
#define SHOWN_MC     500
#define FORGOTTEN_MC 2
#define SHOWN_NS     TIMELINE_S
/* Half of the way from turn to turn. */
#define CYCLE_MC 500.0
/* Means of a second: what slices and rests do to the die within one is not the controller's. */
#define TICKS_A_SECOND 50
#define CYCLE_WAYS     3u
#define WIDEST_MC      65536.0
/* After a zone was asked whether it works, the die returns to its target. */
#define ASKED_NS (15 * TIMELINE_S)
/* Rounding, for a hot start against one without us; and what realtime may warm the chip by meanwhile. */
#define HOT_MC   10.0
#define VOICE_MC 2000.0
/* Further below the target, when settled, work is refused without need. */
#define BELOW_MC 6000.0
#define WARM_S   10u
/* Work that begins again finds a cold chip. */
#define WARMS_UP_S 20u
/* The way over which duty must give way while others warm the chip by so many degrees a second: from half a degree
 * below the target, the highest aim, to the two above that are tolerated. The sensor's steps (half of one) and delay
 * are taken off. In that time duty must be able to fall from all to nothing, and need not fall faster. */
#define CURVE_DEGREES 2.5
/* A larger step from one reading to the next is a leap: how far it goes by the one after can't be known. */
#define CURVE_LEAP 0.5
/* Duty may always fall this fast, a second, as that goes unnoticed. */
#define CURVE_LEAST 0.1

/* Returns the power of all others at this time. */
static int64_t others_mw(const struct scenario *scenario, uint64_t now_ns)
{
    int64_t mw = 0;

    for (int64_t i = 0; i < scenario->n_others; i++) {
        if ((uint64_t)scenario->others[i].at_ms * TIMELINE_MS <= now_ns) {
            mw = scenario->others[i].mw;
        }
    }
    return mw;
}

/* True if readings show what began at changed_ns. */
static bool is_shown(const struct monitor *monitor)
{
    const struct scenario_sense *sense = &monitor->scenario->sense;
    int64_t step_mc = sense->temp_step_mc > SHOWN_MC ? sense->temp_step_mc : SHOWN_MC;
    uint64_t seen_ns = monitor->changed_ns + (uint64_t)sense->temp_delay_ms * TIMELINE_MS;
    uint64_t plain_ns = seen_ns + SHOWN_NS + 2 * (uint64_t)sense->temp_period_ms * TIMELINE_MS;
    int32_t now_mc = monitor->sensors->temp_mc;

    return monitor->timeline->now_ns >= seen_ns &&
           (now_mc > monitor->scenario->heat.target_mc ||
            (monitor->timeline->now_ns >= plain_ns && now_mc >= monitor->changed_mc + step_mc));
}

/* Begins and follows the chip that bears what can't be foreseen. */
static void follow_changes(struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    int64_t other_mw = others_mw(scenario, monitor->timeline->now_ns);
    int64_t clock = gpu_clock_permille(scenario, monitor->timeline->now_ns);

    monitor->highest_mc -= FORGOTTEN_MC;
    if (monitor->sensors->temp_mc > monitor->highest_mc) {
        monitor->highest_mc = monitor->sensors->temp_mc;
    }
    if (monitor->timeline->now_ns > SENSORS_TICK_NS && (other_mw > monitor->other_mw || clock > monitor->clock)) {
        thermal_fork(monitor->thermal);
        monitor->changed_ns = monitor->timeline->now_ns;
        monitor->changed_mc = monitor->highest_mc;
    }
    monitor->other_mw = other_mw;
    monitor->clock = clock;
    if (is_shown(monitor)) {
        thermal_bound(monitor->thermal, 0.0);
    }
}

/*
 * Returns how often the settled temperature turns, where only ways longer than @least_mc count: so a ripple on a slow
 * cycle does not cut it into ways that are too short.
 */
static uint32_t count_ways(const struct monitor *monitor, double least_mc)
{
    double high = monitor->settled_mc[0];
    double low = high;
    bool may_rise = true;
    bool may_fall = true;
    uint32_t n = 0;

    for (uint32_t i = 1; i < monitor->n_settled; i++) {
        double now = monitor->settled_mc[i];

        high = now > high ? now : high;
        low = now < low ? now : low;
        if ((may_rise && now - low > least_mc) || (may_fall && high - now > least_mc)) {
            may_fall = may_rise && now - low > least_mc;
            may_rise = !may_fall;
            high = now;
            low = now;
            n++;
        }
    }
    return n;
}

/* Returns the widest swing to, fro and to, found by halving. What happens once is no cycle, and neither is a slow
 * approach. */
static double widest_cycle_mc(const struct monitor *monitor)
{
    double low = 0.0;
    double high = WIDEST_MC;

    while (high - low > 1.0) {
        double middle = (low + high) / 2.0;

        if (count_ways(monitor, middle) >= CYCLE_WAYS) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* True if the run has settled and heat bounds our work, and the zone was not just asked whether it works: that fall is
 * wanted, and its price is counted in tokens. */
static bool is_settled(struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;

    if (monitor->server->governor.heat.zones[0].stuck.probe_s > 0.0) {
        monitor->asked_ns = monitor->timeline->now_ns;
    }
    return scenario->run.settle_ms > 0 &&
           (monitor->asked_ns == 0 || monitor->timeline->now_ns > monitor->asked_ns + ASKED_NS) &&
           monitor->timeline->now_ns >= (uint64_t)scenario->run.settle_ms * TIMELINE_MS &&
           monitor->timeline->now_ns <= (uint64_t)scenario->run.lasts_ms * TIMELINE_MS;
}

/* Returns how fast others warm the chip, at most, in recent degrees a second. */
static double warming(const struct monitor_curve *curve)
{
    double most = 0.0;

    for (uint64_t i = curve->n - MONITOR_WARMING + 1; i < curve->n; i++) {
        double rise = curve->alone[i % MONITOR_WARMING] - curve->alone[(i - 1) % MONITOR_WARMING];

        most = rise > most ? rise : most;
    }
    return most;
}

/* Returns by how much duty may fall within a second because of that. */
static double steepest(const struct scenario_sense *sense, double warming)
{
    double degrees = CURVE_DEGREES - (double)sense->temp_step_mc / 2000.0;
    double late_s = (double)(sense->temp_delay_ms + sense->temp_period_ms) / 1000.0;
    double left_s = degrees / warming - late_s;

    if (left_s <= 1.0 || warming * (double)sense->temp_period_ms / 1000.0 > CURVE_LEAP) {
        return 1.0;
    }
    return 1.0 / left_s < CURVE_LEAST ? CURVE_LEAST : 1.0 / left_s;
}

/* Judges the curve in worlds in which only heat bounds us. */
static void follow_curve(struct monitor *monitor)
{
    const struct scenario *scenario = monitor->scenario;
    struct monitor_curve *curve = &monitor->curve;
    double duty;

    curve->sum += server_limits(monitor->server)->duty_permille / 1000.0;
    if (++monitor->n_heat_ticks % TICKS_A_SECOND != 0) {
        return;
    }
    duty = curve->sum / TICKS_A_SECOND;
    curve->sum = 0.0;
    curve->alone[curve->n++ % MONITOR_WARMING] = monitor->thermal->alone.die_mc / 1000.0;
    monitor_log(monitor, "heat: die %.2f, without us %.2f, read %.1f, duty %.3f", monitor->thermal->now.die_mc / 1000.0,
                monitor->thermal->alone.die_mc / 1000.0, monitor->sensors->temp_mc / 1000.0, duty);
    if (curve->n > MONITOR_WARMING && scenario->n_others > 1 && scenario->screen.hz == 0 && scenario->n_mishaps == 0 &&
        monitor->timeline->now_ns <= (uint64_t)scenario->run.lasts_ms * TIMELINE_MS && warming(curve) > 0.0) {
        double fall = curve->before - duty;
        double most = steepest(&scenario->sense, warming(curve));

        tally_add(&monitor->tallies, INVARIANT_CURVE, fall / most, fall > most, monitor_now_s(monitor));
    }
    curve->before = duty;
}

/* Judges ten seconds with work where only heat bounds us, on a known chip, from the middle of the run on. An unknown
 * chip is approached slowly. */
static void follow_warmth(struct monitor *monitor, double below_mc)
{
    const struct scenario *scenario = monitor->scenario;
    uint64_t from_ns = (uint64_t)scenario->run.lasts_ms * TIMELINE_MS / 2;

    if (monitor->timeline->now_ns < from_ns || monitor->timeline->now_ns > 2 * from_ns || scenario->screen.hz > 0 ||
        scenario->n_clocks > 0 || scenario->n_mishaps > 0 || scenario->heat.kept_permille == 0 ||
        monitor->server->n_live == 0) {
        monitor->warm_mc = 0.0;
        monitor->n_warm = 0;
        return;
    }
    monitor->warm_mc += below_mc;
    if (++monitor->n_warm % (WARM_S * TICKS_A_SECOND) == 0) {
        double below = monitor->warm_mc / (WARM_S * TICKS_A_SECOND);

        if (monitor->n_warm > WARMS_UP_S * TICKS_A_SECOND) {
            tally_add(&monitor->tallies, INVARIANT_WARM, below / 1000.0, below > BELOW_MC, monitor_now_s(monitor));
        }
        monitor->warm_mc = 0.0;
    }
}

void monitor_heat(struct monitor *monitor)
{
    const struct thermal *thermal = monitor->thermal;
    double target = (double)monitor->scenario->heat.target_mc;
    double now = thermal->now.die_mc;
    double could = target > thermal->alone.die_mc ? target : thermal->alone.die_mc;
    double below = (thermal->full.die_mc < target ? thermal->full.die_mc : target) - now;

    follow_changes(monitor);
    follow_curve(monitor);
    follow_warmth(monitor, below);
    if (thermal->has_shadow && thermal->shadow.die_mc > could) {
        could = thermal->shadow.die_mc;
    }
    if (now <= target) {
        monitor->was_cool = true;
    }
    monitor->had_realtime = monitor->had_realtime || monitor->n_realtime > 0;
    if (!monitor->was_cool) {
        tally_add(&monitor->tallies, INVARIANT_HOT, (now - thermal->alone.die_mc) / 1000.0,
                  now - thermal->alone.die_mc > (monitor->had_realtime ? VOICE_MC : HOT_MC), monitor_now_s(monitor));
    } else {
        tally_add(&monitor->tallies, INVARIANT_HEAT, (now - could) / 1000.0, now - could > ABOVE_MC,
                  monitor_now_s(monitor));
    }
    if (is_settled(monitor)) {
        monitor->second_mc += now;
        if ((monitor->n_mc + 1) % TICKS_A_SECOND == 0) {
            if (monitor->n_settled < MONITOR_SETTLED) {
                monitor->settled_mc[monitor->n_settled++] = monitor->second_mc / TICKS_A_SECOND;
            }
            monitor->second_mc = 0.0;
        }
        monitor->below_mc += below;
        monitor->n_mc++;
    }
}

void monitor_heat_end(struct monitor *monitor)
{
    double swing = widest_cycle_mc(monitor) / 2.0;
    double below = monitor->below_mc / (double)monitor->n_mc;

    if (monitor->n_mc > 0) {
        tally_add(&monitor->tallies, INVARIANT_CYCLE, swing / 1000.0, swing > CYCLE_MC, monitor_now_s(monitor));
        tally_add(&monitor->tallies, INVARIANT_USE, below / 1000.0, below > BELOW_MC, monitor_now_s(monitor));
    }
}
