/*
 * sotto hint: what a compositor would say, by hand or out of a script
 *
 * A hint holds for a second and no longer than its connection, so the command stays and says it again until its time
 * is over, or Ctrl-C.
 */
#include "talk.h"

#define AGAIN_MS     500u /* twice a second: what is said never runs out between */
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
    [HINT_MISSED] = { "missed", 0, ARG_UINT, "N", NULL, "frames that were missed; told once" },
    [HINT_BUSY] = { "busy", 0, ARG_UINT, "MS", NULL, "it draws hard for so long, up to 60000" },
    [HINT_FOR] = { "for", 0, ARG_UINT, "MS", NULL, "say it for so long; without: as --busy, or until Ctrl-C" },
    { NULL },
};

struct wish {
    struct sotto_hint hint;
    uint32_t for_ms; /* 0: until Ctrl-C */
    bool says;       /* anything at all */
};

/* CLI_OK, or an exit code. */
static int take(struct cli *cli, const struct arg_found *found, struct wish *wish)
{
    switch (found->row) {
    case HINT_FRAME:
        if (!(found->real >= 1.0 && found->real <= FRAME_MOST)) {
            return cli_usage(cli, "--frame is a time from 1 to 1000 ms");
        }
        wish->hint.frame_budget_us = (uint32_t)(found->real * 1000.0);
        break;
    case HINT_MISSED:
        if (found->number > MISSED_MOST) {
            return cli_usage(cli, "--missed is at most %u", MISSED_MOST);
        }
        wish->hint.missed_frames = (uint32_t)found->number;
        break;
    case HINT_BUSY:
        if (found->number > BUSY_MOST_MS) {
            return cli_usage(cli, "--busy is at most %u ms", BUSY_MOST_MS);
        }
        wish->hint.busy_for_us = (uint32_t)found->number * 1000;
        break;
    case HINT_FOR:
        if (found->number < 1 || found->number > FOR_MOST_MS) {
            return cli_usage(cli, "--for is a time from 1 to %u ms", FOR_MOST_MS);
        }
        wish->for_ms = (uint32_t)found->number;
        return CLI_OK;
    default:
        return cli_usage(cli, "\"%s\" is one argument too many", found->text);
    }
    wish->says = true;
    return CLI_OK;
}

/* CLI_OK, or -1 less the exit code. */
static int take_wish(struct cli *cli, struct args *args, struct wish *wish)
{
    struct arg_found found;
    enum cli_next next;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        int r = take(cli, &found, wish);

        if (r) {
            return -1 - r;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return -1 - cli_end(cli);
    }
    if (!wish->says) {
        return -1 - cli_usage(cli, "nothing is said: give --frame, --missed or --busy");
    }
    if (wish->for_ms == 0) {
        wish->for_ms = wish->hint.busy_for_us / 1000;
    }
    return CLI_OK;
}

static int say(struct talk *talk, struct wish *wish)
{
    uint32_t left_ms = wish->for_ms ? wish->for_ms : UINT32_MAX;
    struct sotto_error error;

    if (sotto_greet(talk->sotto, GREET_MS, &error)) {
        return cli_fail(talk->cli, &error);
    }
    while (left_ms > 0) {
        uint32_t now_ms = left_ms < AGAIN_MS ? left_ms : AGAIN_MS;
        int r;

        if (sotto_send_hint(talk->sotto, &wish->hint, &error)) {
            return cli_fail(talk->cli, &error);
        }
        wish->hint.missed_frames = 0; /* they were told */
        r = talk_for(talk, now_ms);
        if (r) {
            return r;
        }
        left_ms -= left_ms == UINT32_MAX ? 0 : now_ms;
        wish->hint.busy_for_us -= wish->hint.busy_for_us < now_ms * 1000 ? wish->hint.busy_for_us : now_ms * 1000;
    }
    return CLI_OK;
}

static int run(struct cli *cli, struct args *args)
{
    struct wish wish = { 0 };
    struct talk talk;
    int r = take_wish(cli, args, &wish);

    if (r) {
        return -1 - r;
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        r = say(&talk, &wish);
        talk_close(&talk);
    }
    return r;
}

const struct command cmd_hint = {
    .name = "hint",
    .summary = "say what the screen needs, as a compositor does",
    .words = "",
    .about = "Tells the daemon how long frames are, that some were missed, or that the screen draws hard for a\n"
             "while, and says so until that time is over (or Ctrl-C). For users that policy lets hint.",
    .rows = rows,
    .run = run,
};
