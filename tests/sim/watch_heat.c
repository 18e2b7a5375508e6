/*
 * Temperature, judged against two chips that have no work of ours: one since the beginning, and one since a
 * reading first passed the target. The second is what the best of controllers could have done, given that
 * sensor. When something else changes (other heat, the screen), and the readings are below the target, a new
 * one starts at the next passing: nobody foresees that.
 */
#include "watch.h"

/* Beyond what no controller could help. */
#define ABOVE_MC 2000.0
/* Half of the way from turn to turn. */
#define CYCLE_MC 500.0
/* Means of a second: what slices and rests make of the die within one is not the controller's. */
#define TICKS_A_SECOND 50
/* Less than this is no turn. */
#define TURN_MC 100.0
/* A hot start against one without us: rounding, and the seconds of the sensor's delay are no excuse. */
#define HOT_MC 300.0
/* So far below the target, settled, work is refused for nothing. */
#define BELOW_MC 6000.0

static void take_reading(struct watch *watch)
{
    const struct scenario *scenario = watch->scenario;
    bool is_over = watch->sensors->temp_mc > scenario->heat.target_mc;
    int64_t other = 0;

    for (int64_t i = 0; i < scenario->n_others; i++) {
        other += (uint64_t)scenario->others[i].at_ms * AGENDA_MS <= watch->agenda->now_ns;
    }
    if (other != watch->other_row) {
        watch->other_row = other;
        if (!is_over) {
            warmth_join(watch->warmth);
        }
    }
    if (is_over && !watch->was_over && !watch->warmth->has_shadow) {
        warmth_fork(watch->warmth);
    }
    watch->was_over = is_over;
}

/*
 * What comes once is no cycle, and neither is a slow approach: of the ways between turning points the least of the
 * WATCH_SWINGS largest counts.
 */
static void follow_swings(struct watch_swings *swings, double now)
{
    double way;

    if (!swings->has_begun) {
        *swings = (struct watch_swings){ .has_begun = true, .low = now, .high = now, .turn = now };
        return;
    }
    swings->low = now < swings->low ? now : swings->low;
    swings->high = now > swings->high ? now : swings->high;
    if (swings->rises ? swings->high - now < TURN_MC : now - swings->low < TURN_MC) {
        return;
    }
    /* It has turned, at the extreme that is behind it. */
    way = swings->rises ? swings->high - swings->turn : swings->turn - swings->low;
    swings->turn = swings->rises ? swings->high : swings->low;
    swings->rises = !swings->rises;
    swings->low = now;
    swings->high = now;
    for (size_t i = 0; i < WATCH_SWINGS; i++) {
        if (way > swings->largest[i]) {
            double larger = way;

            way = swings->largest[i];
            swings->largest[i] = larger;
        }
    }
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
            follow_swings(&watch->swings, watch->second_mc / TICKS_A_SECOND);
            watch->second_mc = 0.0;
        }
        watch->below_mc += (warmth->full.die_mc < target ? warmth->full.die_mc : target) - now;
        watch->n_mc++;
    }
}

void watch_heat_end(struct watch *watch)
{
    double swing = watch->swings.largest[WATCH_SWINGS - 1] / 2.0;
    double below = watch->below_mc / (double)watch->n_mc;

    if (watch->n_mc > 0) {
        tally_add(&watch->tallies, INVARIANT_CYCLE, swing / 1000.0, swing > CYCLE_MC, watch_now_s(watch));
        tally_add(&watch->tallies, INVARIANT_USE, below / 1000.0, below > BELOW_MC, watch_now_s(watch));
    }
}
