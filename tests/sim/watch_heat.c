/*
 * Temperature, judged against two chips that have no work of ours: one since the beginning, and one since a
 * reading first passed the target. The second is what the best of controllers could have done, given that
 * sensor. When other heat or a clock rises while readings are not above the target, a new one starts at the next
 * passing: nobody foresees that.
 */
#include "watch.h"

/* Beyond what no controller could help. */
#define ABOVE_MC 2000.0
/* Half of the way from turn to turn. */
#define CYCLE_MC 500.0
/* Means of a second: what slices and rests make of the die within one is not the controller's. */
#define TICKS_A_SECOND 50
#define CYCLE_WAYS     3u
#define WIDEST_MC      65536.0
/* A hot start against one without us: rounding. */
#define HOT_MC 10.0
/* So far below the target, settled, work is refused for nothing. */
#define BELOW_MC 6000.0

/* Watts of everybody else, of the row that holds now. */
static int64_t others_mw(const struct scenario *scenario, uint64_t now_ns)
{
    int64_t mw = 0;

    for (int64_t i = 0; i < scenario->n_others; i++) {
        if ((uint64_t)scenario->others[i].at_ms * AGENDA_MS <= now_ns) {
            mw = scenario->others[i].mw;
        }
    }
    return mw;
}

static void take_reading(struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    bool is_over = watch->sensors->temp_mc > scenario->heat.target_mc;
    int64_t other_mw = others_mw(scenario, watch->agenda->now_ns);
    int64_t clock = gpu_clock_permille(scenario, watch->agenda->now_ns);

    if ((other_mw > watch->other_mw || clock > watch->clock) && !is_over) {
        warmth_join(watch->warmth);
    }
    watch->other_mw = other_mw;
    watch->clock = clock;
    if (is_over && !watch->was_over && !watch->warmth->has_shadow) {
        warmth_fork(watch->warmth);
    }
    watch->was_over = is_over;
}

/*
 * How often the settled temperature changes its way, if a way is one only that is longer than @least_mc: so a
 * ripple on a slow cycle does not cut that into ways that are too short to count.
 */
static uint32_t count_ways(const struct watch *watch, double least_mc)
{
    double high = watch->settled_mc[0];
    double low = high;
    bool may_rise = true;
    bool may_fall = true;
    uint32_t n = 0;

    for (uint32_t i = 1; i < watch->n_settled; i++) {
        double now = watch->settled_mc[i];

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

/* The widest to and fro and to: what comes once is no cycle, and neither is a slow approach. Found by halving. */
static double widest_cycle_mc(const struct watch *watch)
{
    double low = 0.0;
    double high = WIDEST_MC;

    while (high - low > 1.0) {
        double middle = (low + high) / 2.0;

        if (count_ways(watch, middle) >= CYCLE_WAYS) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Settled, and with heat as what bounds our work. */
static bool is_settled(const struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;

    return scenario->run.settle_ms > 0 &&
           watch->agenda->now_ns >= (uint64_t)scenario->run.settle_ms * AGENDA_MS &&
           watch->agenda->now_ns <= (uint64_t)scenario->run.lasts_ms * AGENDA_MS;
}

void watch_heat(struct watch *watch)
{
    const struct warmth *warmth = watch->warmth;
    double target = (double)watch->scenario->heat.target_mc;
    double now = warmth->now.die_mc;
    double could = target;

    take_reading(watch);
    if (warmth->has_shadow && warmth->shadow.die_mc > target) {
        could = warmth->shadow.die_mc;
    }
    if (now <= target) {
        watch->was_cool = true;
    }
    if (!watch->was_cool) {
        tally_add(&watch->tallies, INVARIANT_HOT, (now - warmth->alone.die_mc) / 1000.0,
                  now - warmth->alone.die_mc > HOT_MC, watch_now_s(watch));
    } else if (now <= target || warmth->has_shadow) {
        tally_add(&watch->tallies, INVARIANT_HEAT, (now - could) / 1000.0, now - could > ABOVE_MC,
                  watch_now_s(watch));
    }
    if (is_settled(watch)) {
        watch->second_mc += now;
        if ((watch->n_mc + 1) % TICKS_A_SECOND == 0) {
            if (watch->n_settled < WATCH_SETTLED) {
                watch->settled_mc[watch->n_settled++] = watch->second_mc / TICKS_A_SECOND;
            }
            watch->second_mc = 0.0;
        }
        watch->below_mc += (warmth->full.die_mc < target ? warmth->full.die_mc : target) - now;
        watch->n_mc++;
    }
}

void watch_heat_end(struct watch *watch)
{
    double swing = widest_cycle_mc(watch) / 2.0;
    double below = watch->below_mc / (double)watch->n_mc;

    if (watch->n_mc > 0) {
        tally_add(&watch->tallies, INVARIANT_CYCLE, swing / 1000.0, swing > CYCLE_MC, watch_now_s(watch));
        tally_add(&watch->tallies, INVARIANT_USE, below / 1000.0, below > BELOW_MC, watch_now_s(watch));
    }
}
