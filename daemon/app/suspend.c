/*
 * Suspend: the legal moves, and what each event means
 */
#include "app/suspend.h"
#include <assert.h>

#define TO(state) (1u << (state))

static const unsigned moves[SUSPEND_STATE_COUNT] = {
    [SUSPEND_UNKNOWN] = TO(SUSPEND_AWAKE) | TO(SUSPEND_GOING),
    [SUSPEND_AWAKE] = TO(SUSPEND_GOING) | TO(SUSPEND_UNKNOWN),
    [SUSPEND_GOING] = TO(SUSPEND_GONE) | TO(SUSPEND_UNKNOWN),
    [SUSPEND_GONE] = TO(SUSPEND_UNKNOWN),
};

#undef TO

bool suspend_may_move(enum suspend_state from, enum suspend_state to)
{
    return (moves[from] & (1u << to)) != 0;
}

static void move(struct suspend *suspend, enum suspend_state to)
{
    assert(suspend_may_move(suspend->state, to));
    suspend->state = to;
}

void suspend_init(struct suspend *suspend)
{
    *suspend = (struct suspend){ .state = SUSPEND_UNKNOWN };
}

void suspend_on_locked(struct suspend *suspend)
{
    if (suspend->state == SUSPEND_UNKNOWN) {
        move(suspend, SUSPEND_AWAKE);
    }
}

static bool is_asleep(const struct suspend *suspend)
{
    return suspend->state == SUSPEND_GOING || suspend->state == SUSPEND_GONE;
}

enum suspend_do suspend_on_announced(struct suspend *suspend, bool going, uint64_t now_us)
{
    if (going == is_asleep(suspend)) {
        return SUSPEND_DO_NOTHING; /* announced twice */
    }
    if (going) {
        move(suspend, SUSPEND_GOING);
        suspend->announced_us = now_us;
        return SUSPEND_DO_STOP;
    }
    /* The suspend may also have been cancelled before the lock was released. */
    move(suspend, SUSPEND_UNKNOWN);
    return SUSPEND_DO_WAKE;
}

enum suspend_do suspend_on_look(struct suspend *suspend, bool is_still, uint64_t now_us)
{
    if (suspend->state != SUSPEND_GOING || (!is_still && now_us - suspend->announced_us < SUSPEND_MOST_US)) {
        return SUSPEND_DO_NOTHING;
    }
    move(suspend, SUSPEND_GONE);
    return SUSPEND_DO_RELEASE;
}

enum suspend_do suspend_on_lost(struct suspend *suspend)
{
    bool was_asleep = is_asleep(suspend);

    if (suspend->state != SUSPEND_UNKNOWN) {
        move(suspend, SUSPEND_UNKNOWN);
    }
    return was_asleep ? SUSPEND_DO_WAKE : SUSPEND_DO_NOTHING;
}
