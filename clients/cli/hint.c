/*
 * sotto hint: what a compositor would tell the daemon, by hand or from a script
 *
 * A hint holds for a second and no longer than its connection, so the command repeats it until its time is over, or
 * Ctrl-C.
 */
#include "connection.h"

#define AGAIN_MS     500u /* twice a second, so that no hint runs out between */
#define FRAME_MOST   1000.0
#define MISSED_MOST  1000000u
#define BUSY_MOST_MS 60000u
#define FOR_MOST_MS  86400000u
#define GREET_MS     5000

enum hint_row {
    HINT_FRAME = CLI_ROWS_COUNT,
    HINT_MISSED,
    HINT_BUSY,
    HINT_FOR,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    [HINT_FRAME] = { "frame", 0, ARG_FLOAT, "MS", NULL, "time from one frame to the next, 1 to 1000" },
    [HINT_MISSED] = { "missed", 0, ARG_UINT, "N", NULL, "number of missed frames; sent once" },
    [HINT_BUSY] = { "busy", 0, ARG_UINT, "MS", NULL, "the screen is drawn hard for this time, up to 60000" },
    [HINT_FOR] = { "for", 0, ARG_UINT, "MS", NULL, "repeat for this time; without it as --busy, or until Ctrl-C" },
    { NULL },
};

struct hint {
    struct sotto_hint hint;
    uint32_t for_ms; /* 0: until Ctrl-C */
    bool is_set;     /* at least one value of @hint */
};

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct hint *hint = owner;

    switch (found->row) {
    case HINT_FRAME:
        if (!(found->real >= 1.0 && found->real <= FRAME_MOST)) {
            return cli_usage(cli, "--frame is a time from 1 to 1000 ms");
        }
        hint->hint.frame_budget_us = (uint32_t)(found->real * 1000.0);
        break;
    case HINT_MISSED:
        if (found->number > MISSED_MOST) {
            return cli_usage(cli, "--missed is at most %u", MISSED_MOST);
        }
        hint->hint.missed_frames = (uint32_t)found->number;
        break;
    case HINT_BUSY:
        if (found->number > BUSY_MOST_MS) {
            return cli_usage(cli, "--busy is at most %u ms", BUSY_MOST_MS);
        }
        hint->hint.busy_for_us = (uint32_t)found->number * 1000;
        break;
    default:
        if (found->number < 1 || found->number > FOR_MOST_MS) {
            return cli_usage(cli, "--for is a time from 1 to %u ms", FOR_MOST_MS);
        }
        hint->for_ms = (uint32_t)found->number;
        return CLI_OK;
    }
    hint->is_set = true;
    return CLI_OK;
}

static int check(struct cli *cli, void *owner)
{
    struct hint *hint = owner;

    if (!hint->is_set) {
        return cli_usage(cli, "there is nothing to send: give --frame, --missed or --busy");
    }
    if (hint->for_ms == 0) {
        hint->for_ms = hint->hint.busy_for_us / 1000;
    }
    return CLI_OK;
}

static int talk(struct connection *connection, void *owner)
{
    struct hint *hint = owner;
    uint32_t left_ms = hint->for_ms ? hint->for_ms : UINT32_MAX;
    struct sotto_error error;

    if (sotto_greet(connection->sotto, GREET_MS, &error)) {
        return cli_fail(&error);
    }
    while (left_ms > 0) {
        uint32_t now_ms = left_ms < AGAIN_MS ? left_ms : AGAIN_MS;
        uint32_t now_us = now_ms * 1000;
        int r;

        if (sotto_send_hint(connection->sotto, &hint->hint, &error)) {
            return cli_fail(&error);
        }
        hint->hint.missed_frames = 0; /* they are sent once */
        r = connection_for(connection, now_ms);
        if (r) {
            return r;
        }
        left_ms -= left_ms == UINT32_MAX ? 0 : now_ms;
        hint->hint.busy_for_us -= hint->hint.busy_for_us < now_us ? hint->hint.busy_for_us : now_us;
    }
    return CLI_OK;
}

const struct command cmd_hint = {
    .name = "hint",
    .summary = "tell the daemon what the screen needs, as a compositor does",
    .words = "",
    .about = "Tells the daemon the time between two frames, a number of missed frames, or that the screen will be\n"
             "drawn hard for a while, and repeats it until that time is over or Ctrl-C. Policy must allow it.",
    .rows = rows,
    .options_bytes = sizeof(struct hint),
    .take = take,
    .check = check,
    .talk = talk,
};
