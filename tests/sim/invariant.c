#include "invariant.h"

#define EVERY 0u

/* A rate of one in ten or more says nothing of fewer cases. */
#define OFTEN_PPM   100000u
#define OFTEN_CASES 20u

const struct invariant_row invariants[INVARIANT_COUNT] = {
    [INVARIANT_SLICE] = { "slice", "the bound and one part", "parts beyond", EVERY, false },
    [INVARIANT_REST] = { "rest", "held (1000/duty - 1)", "permille of it", EVERY, true },
    [INVARIANT_GATE] = { "gate", "one part", "parts", EVERY, false },
    [INVARIANT_FRAMES] = { "frames", "none because of us", "frames", EVERY, false },
    [INVARIANT_STEP] = { "step", "one sampling period and one slice", "frames", EVERY, false },
    [INVARIANT_HINT] = { "hint", "one frame", "frames", EVERY, false },
    [INVARIANT_UNTOLD] = { "untold", "one, and one in 200, because of us", "frames", EVERY, false },
    [INVARIANT_HEAT] = { "heat", "2 degrees", "degrees", EVERY, false },
    [INVARIANT_CYCLE] = { "cycle", "half a degree", "degrees", EVERY, false },
    [INVARIANT_HOT] = { "hot", "as without us; 2 degrees beside realtime", "degrees", EVERY, false },
    [INVARIANT_TRIP] = { "trip", "nothing at a passive trip", "permille", EVERY, false },
    [INVARIANT_VOICE] = { "voice", "below it, half a percent for realtime", "permille", EVERY, true },
    [INVARIANT_COOLED] = { "cooled", "2 degrees below the target for 30 s: all work", "permille", EVERY, true },
    [INVARIANT_USE] = { "use", "6 degrees below what could be used", "degrees", EVERY, false },
    [INVARIANT_WARM] = { "warm", "the same over ten seconds with work, 88 %", "degrees", 120000, false },
    [INVARIANT_CURVE] = { "curve", "as fast as others warm the chip, a tenth a second", "of a bound", EVERY, false },
    [INVARIANT_FLAP] = { "flap", "20 changes of mode in 10 s", "changes", EVERY, false },
    [INVARIANT_BLIND] = { "blind", "110 permille, hot; nothing, busy; after the grace time", "permille", EVERY, false },
    [INVARIANT_FIRST] = { "first", "one slice and its own work, 99.9 %", "times", 1000, false },
    [INVARIANT_GAP] = { "gap", "half more than a step between two tokens of realtime, 98 %", "steps", 20000, false },
    [INVARIANT_DEADLINE] = { "deadline", "met, 99.9 %", "times", 1000, false },
    [INVARIANT_REFUSED] = { "refused", "20 % of those that plain earliest-deadline-first would meet", "permille",
                            200000, true },
    [INVARIANT_FAIR] = { "fair", "5 % of the weights in any 10 s", "%", EVERY, false },
    [INVARIANT_LEAD] = { "lead", "what of two accounts can't be cut", "times", EVERY, false },
    [INVARIANT_BUDGET] = { "budget", "a step beyond the minute's tokens, none withheld", "tokens", EVERY, false },
    [INVARIANT_PROGRESS] = { "progress", "5 s", "s", EVERY, false },
    [INVARIANT_LEFT] = { "left", "800 permille of what the screen leaves, less 50", "permille", EVERY, true },
    [INVARIANT_STREAM] = { "stream", "quanta, by slots and weights", "times", EVERY, false },
    [INVARIANT_BUSY] = { "busy", "30 permille idle", "permille", EVERY, false },
    [INVARIANT_USED] = { "used", "100 permille idle, within slices and pauses", "permille", EVERY, false },
    [INVARIANT_FILL] = { "fill", "50 permille of the answers left out of a step", "permille", EVERY, false },
    [INVARIANT_TOKENS] = { "tokens", "97 % of an unscheduled run", "%", EVERY, true },
    [INVARIANT_COST] = { "cost", "within 25 %, 95 %", "%", 50000, false },
    [INVARIANT_CLOCK] = { "clock", "the same ten steps after a change", "%", 50000, false },
    [INVARIANT_ROOM] = { "room", "promised if the fair share takes a quarter, 99 %", "of the share", 10000, false },
    [INVARIANT_QUEUE] = { "queue", "as many as the limits allow", "requests", EVERY, false },
    [INVARIANT_TOLD] = { "told", "a quarter to four times what draining took, 95 %", "times", 50000, false },
    [INVARIANT_ESTIMATE] = { "estimate", "half of what it took to twice that, 90 %", "times", 100000, false },
    [INVARIANT_ONCE] = { "once", "one end", "ends", EVERY, false },
    [INVARIANT_LEAK] = { "leak", "nothing left", "things", EVERY, false },
    [INVARIANT_CONTRACT] = { "contract", "no nonsense to or from engines", "times", EVERY, false },
};

static bool is_worse(enum invariant which, double a, double b)
{
    return invariants[which].worst_is_least ? a < b : a > b;
}

void tally_add(struct tallies *tallies, enum invariant which, double value, bool bad, double at_s)
{
    struct tally *tally = &tallies->of[which];

    if (tally->n == 0 || is_worse(which, value, tally->worst)) {
        tally->worst = value;
        if (tally->n_bad == 0) {
            tally->worst_s = at_s;
        }
    }
    if (bad && tally->n_bad == 0) {
        tally->worst_s = at_s;
    }
    tally->n++;
    tally->n_bad += bad;
}

void tally_merge(struct tallies *sums, const struct tallies *run, uint64_t seed)
{
    for (int i = 0; i < INVARIANT_COUNT; i++) {
        struct tally *sum = &sums->of[i];
        const struct tally *one = &run->of[i];

        if (one->n > 0 && (sum->n == 0 || is_worse((enum invariant)i, one->worst, sum->worst))) {
            sum->worst = one->worst;
            sum->worst_s = one->worst_s;
            sum->seed = seed;
        }
        sum->n += one->n;
        sum->n_bad += one->n_bad;
    }
}

bool tally_fails(const struct tally *tally, enum invariant which)
{
    if (invariants[which].may_miss_ppm >= OFTEN_PPM && tally->n < OFTEN_CASES) {
        return false;
    }
    return (double)tally->n_bad * 1e6 > (double)tally->n * invariants[which].may_miss_ppm;
}

enum invariant tallies_first_failure(const struct tallies *tallies)
{
    for (int i = 0; i < INVARIANT_COUNT; i++) {
        if (tally_fails(&tallies->of[i], (enum invariant)i)) {
            return (enum invariant)i;
        }
    }
    return INVARIANT_COUNT;
}
