#include "load/walk.h"
#include "load/clients.h"

/* A client that used at least this much since its last reading is busy. */
#define BUSY_PERMILLE 5u

enum walk_step walk_step(const struct walk *walk, uint64_t now_us)
{
    const uint64_t since_us = now_us - walk->begun_us;

    if (walk->is_under_way) {
        return WALK_STEP_CONTINUE;
    }
    if (!walk->has_begun || since_us + WALK_SLACK_US >= WALK_PERIOD_US) {
        return WALK_STEP_BEGIN;
    }
    if (walk->is_wanted && since_us + WALK_SLACK_US >= WALK_AGAIN_US) {
        return WALK_STEP_BEGIN;
    }
    return WALK_STEP_KNOWN;
}

void walk_begin(struct walk *walk, uint64_t now_us)
{
    walk->begun_us = now_us;
    walk->has_begun = true;
    walk->is_under_way = true;
    walk->is_wanted = false;
}

void walk_end(struct walk *walk)
{
    walk->is_under_way = false;
    walk->has_ended = true;
}

bool walk_is_due(const struct client *client, uint64_t now_us)
{
    uint64_t wait_us = WALK_IDLE_US;

    if (client->is_lost) {
        return false;
    }
    if (client->n_samples < 2) {
        wait_us = WALK_BUSY_US;
    }
    for (int i = 0; i < ENGINE_CLASS_COUNT; i++) {
        if (client->permille[i] >= BUSY_PERMILLE) {
            wait_us = WALK_BUSY_US;
        }
    }
    return now_us - client->read_us + WALK_SLACK_US >= wait_us;
}
