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
/* While others warm the chip by so many degrees a second, from half a degree below the target, the highest to be aimed
 * at, to the two above that are borne: so long there is to give way, less what the sensor conceals by its steps
 * (half of one) and by being late. In that time duty must be able to fall from all to nothing, and need not fall
 * faster. */
#define CURVE_DEGREES 2.5
/* More than that from one reading to the next is a leap: how far it goes by the one after that, nobody can tell. */
#define CURVE_LEAP 0.5
/* What others add slowly is no reason for more than that, a second: nobody hears it. */
#define CURVE_LEAST 0.1

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

    return scenario->run.settle_ms > 0 && watch->agenda->now_ns >= (uint64_t)scenario->run.settle_ms * AGENDA_MS &&
           watch->agenda->now_ns <= (uint64_t)scenario->run.lasts_ms * AGENDA_MS;
}

/* Others warm the chip: how fast at most of late, in degrees a second. */
static double warming(const struct watch_curve *curve)
{
    double most = 0.0;

    for (uint64_t i = curve->n - WATCH_WARMING + 1; i < curve->n; i++) {
        double rise = curve->alone[i % WATCH_WARMING] - curve->alone[(i - 1) % WATCH_WARMING];

        most = rise > most ? rise : most;
    }
    return most;
}

/* The most that duty may fall within a second for the sake of that. */
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

/* Worlds in which nothing but heat bounds us. */
static void follow_curve(struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    struct watch_curve *curve = &watch->curve;
    double duty;

    curve->sum += desk_limits(watch->desk)->duty_permille / 1000.0;
    if (++watch->n_heat_ticks % TICKS_A_SECOND != 0) {
        return;
    }
    duty = curve->sum / TICKS_A_SECOND;
    curve->sum = 0.0;
    curve->alone[curve->n++ % WATCH_WARMING] = watch->warmth->alone.die_mc / 1000.0;
    watch_say(watch, "heat: die %.2f, without us %.2f, read %.1f, duty %.3f", watch->warmth->now.die_mc / 1000.0,
              watch->warmth->alone.die_mc / 1000.0, watch->sensors->temp_mc / 1000.0, duty);
    if (curve->n > WATCH_WARMING && scenario->n_others > 1 && scenario->screen.hz == 0 && scenario->n_mishaps == 0 &&
        watch->agenda->now_ns <= (uint64_t)scenario->run.lasts_ms * AGENDA_MS && warming(curve) > 0.0) {
        double fall = curve->before - duty;
        double most = steepest(&scenario->sense, warming(curve));

        tally_add(&watch->tallies, INVARIANT_CURVE, fall / most, fall > most, watch_now_s(watch));
    }
    curve->before = duty;
}

void watch_heat(struct watch *watch)
{
    const struct warmth *warmth = watch->warmth;
    double target = (double)watch->scenario->heat.target_mc;
    double now = warmth->now.die_mc;
    double could = target;

    take_reading(watch);
    follow_curve(watch);
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
        tally_add(&watch->tallies, INVARIANT_HEAT, (now - could) / 1000.0, now - could > ABOVE_MC, watch_now_s(watch));
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
