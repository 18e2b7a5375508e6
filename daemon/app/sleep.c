#include "app/sleep.h"
#include <assert.h>

#define TO(state) (1u << (state))

static const unsigned moves[SLEEP_STATE_COUNT] = {
    [SLEEP_UNKNOWN] = TO(SLEEP_AWAKE) | TO(SLEEP_GOING),
    [SLEEP_AWAKE] = TO(SLEEP_GOING) | TO(SLEEP_UNKNOWN),
    [SLEEP_GOING] = TO(SLEEP_GONE) | TO(SLEEP_UNKNOWN),
    [SLEEP_GONE] = TO(SLEEP_UNKNOWN),
};

#undef TO

bool sleep_may_move(enum sleep_state from, enum sleep_state to)
{
    return (moves[from] & (1u << to)) != 0;
}

static void move(struct sleep *sleep, enum sleep_state to)
{
    assert(sleep_may_move(sleep->state, to));
    sleep->state = to;
}

void sleep_init(struct sleep *sleep)
{
    *sleep = (struct sleep){ .state = SLEEP_UNKNOWN };
}

void sleep_on_locked(struct sleep *sleep)
{
    if (sleep->state == SLEEP_UNKNOWN) {
        move(sleep, SLEEP_AWAKE);
    }
}

static bool is_asleep(const struct sleep *sleep)
{
    return sleep->state == SLEEP_GOING || sleep->state == SLEEP_GONE;
}

enum sleep_do sleep_on_told(struct sleep *sleep, bool going, uint64_t now_us)
{
    if (going == is_asleep(sleep)) {
        return SLEEP_DO_NOTHING; /* told twice */
    }
    if (going) {
        move(sleep, SLEEP_GOING);
        sleep->told_us = now_us;
        return SLEEP_DO_STOP;
    }
    /* Also when the sleep was called off before we had given the lock back. */
    move(sleep, SLEEP_UNKNOWN);
    return SLEEP_DO_WAKE;
}

enum sleep_do sleep_on_look(struct sleep *sleep, bool is_still, uint64_t now_us)
{
    if (sleep->state != SLEEP_GOING || (!is_still && now_us - sleep->told_us < SLEEP_MOST_US)) {
        return SLEEP_DO_NOTHING;
    }
    move(sleep, SLEEP_GONE);
    return SLEEP_DO_RELEASE;
}

enum sleep_do sleep_on_lost(struct sleep *sleep)
{
    bool was_asleep = is_asleep(sleep);

    if (sleep->state != SLEEP_UNKNOWN) {
        move(sleep, SLEEP_UNKNOWN);
    }
    return was_asleep ? SLEEP_DO_WAKE : SLEEP_DO_NOTHING;
}
