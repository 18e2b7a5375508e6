#include "sensor/options.h"
#include "base/args.h"
#include "base/clean.h"
#include "sensor/sampler.h"
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

enum option {
    OPTION_ROOT,
    OPTION_SOCKET,
    OPTION_FD,
    OPTION_USER,
    OPTION_PERIOD,
    OPTION_ZONE,
    OPTION_SCALE,
    OPTION_DEVICE,
    OPTION_FOREGROUND,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT,
};

static const struct arg_row rows[OPTION_COUNT + 1] = {
    [OPTION_ROOT] = { "root", 'r', ARG_TEXT, "DIR", NULL,
                      "Read below DIR, a recorded tree, in place of this machine." },
    [OPTION_SOCKET] = { "socket", 's', ARG_TEXT, "PATH", NULL,
                        "Listen at PATH; without this option at the socket that the service manager passes "
                        "in." },
    [OPTION_FD] = { "fd", 0, ARG_UINT, "N", NULL, "Serve the one client at descriptor N, and end with it." },
    [OPTION_USER] = { "user", 'u', ARG_TEXT, "NAME", NULL,
                      "Let this user connect, beside root and the one that runs this program." },
    [OPTION_PERIOD] = { "period", 'p', ARG_UINT, "MS", NULL,
                        "Read load no faster than every MS milliseconds (10 to 1000), whatever is requested." },
    [OPTION_ZONE] = { "zone", 'z', ARG_TEXT, "PATTERN", NULL,
                      "Prefer temperature sensors with a matching name; may be repeated, the first is the best." },
    [OPTION_SCALE] = { "scale", 0, ARG_TEXT, "PATTERN=FACTOR", NULL,
                       "Multiply the values of sensors with a matching name; may be repeated." },
    [OPTION_DEVICE] = { "device", 'd', ARG_TEXT, "NODE", NULL,
                        "Device of which the load counts, such as renderD128; by default the one that drives "
                        "the display, else the first that can draw." },
    [OPTION_FOREGROUND] = { "foreground", 'f', ARG_FLAG, NULL, NULL,
                            "Log for a terminal, with times, even if standard error is the journal." },
    [OPTION_HELP] = { "help", 'h', ARG_FLAG, NULL, NULL, "Print this help." },
    [OPTION_VERSION] = { "version", 0, ARG_FLAG, NULL, NULL, "Print the version." },
};

static void print_help(FILE *out)
{
    fprintf(out, "usage: sotto-sense [--socket PATH | --fd N] [--root DIR] [--user NAME] [--period MS]\n"
                 "                   [--zone PATTERN]... [--scale PATTERN=FACTOR]... [--device NODE]\n\n"
                 "Reads load, heat, power and memory of this computer for sottod.\n\n"
                 "options:\n");
    args_help(rows, out);
    fprintf(out, "\nenvironment:\n"
                 "  SOTTO_LOG      levels by topic, as sensor:debug\n"
                 "\nSee sotto-sense(8).\n");
}

static int add(const char **list, size_t *n, const char *text, const char *what, struct diag *diag)
{
    if (!*text) {
        diag_set(diag, "%s: the pattern is empty", what);
        return OPTIONS_BAD;
    }
    if (*n == OPTIONS_PATTERNS_MAX) {
        diag_set(diag, "%s: at most %d are allowed", what, OPTIONS_PATTERNS_MAX);
        return OPTIONS_BAD;
    }
    list[(*n)++] = text;
    return OPTIONS_RUN;
}

static int set_path(const char **path, const char *text, const char *what, struct diag *diag)
{
    if (!*text) {
        diag_set(diag, "%s: the path is empty", what);
        return OPTIONS_BAD;
    }
    *path = text;
    return OPTIONS_RUN;
}

static int set_user(struct options *options, const char *name, struct diag *diag)
{
    const struct passwd *user = getpwnam(name);

    if (!user) {
        diag_set(diag, "--user: this system has no user \"%s\"", name);
        return OPTIONS_BAD;
    }
    options->uid = user->pw_uid;
    return OPTIONS_RUN;
}

static int set_period(struct options *options, uint64_t ms, struct diag *diag)
{
    if (ms < SAMPLER_FASTEST_MS || ms > SAMPLER_IDLE_MS) {
        diag_set(diag, "--period: a number of milliseconds from %u to %u", SAMPLER_FASTEST_MS, SAMPLER_IDLE_MS);
        return OPTIONS_BAD;
    }
    options->least_ms = (uint32_t)ms;
    return OPTIONS_RUN;
}

static int take(struct options *options, const struct arg_found *facts, FILE *out, struct diag *diag)
{
    switch ((enum option)facts->row) {
    case OPTION_ROOT:
        return set_path(&options->root, facts->text, "--root", diag);
    case OPTION_SOCKET:
        return set_path(&options->socket, facts->text, "--socket", diag);
    case OPTION_FD:
        if (facts->number > 1023) {
            diag_set(diag, "--fd: not a descriptor number");
            return OPTIONS_BAD;
        }
        options->fd = (int)facts->number;
        return OPTIONS_RUN;
    case OPTION_USER:
        return set_user(options, facts->text, diag);
    case OPTION_PERIOD:
        return set_period(options, facts->number, diag);
    case OPTION_ZONE:
        return add(options->zones, &options->n_zones, facts->text, "--zone", diag);
    case OPTION_SCALE:
        return add(options->scales, &options->n_scales, facts->text, "--scale", diag);
    case OPTION_DEVICE:
        return set_path(&options->device, facts->text, "--device", diag);
    case OPTION_FOREGROUND:
        options->foreground = true;
        return OPTIONS_RUN;
    case OPTION_HELP:
        print_help(out);
        return OPTIONS_ANSWERED;
    case OPTION_VERSION:
        fprintf(out, "sotto-sense %s\n", SOTTO_VERSION);
        return OPTIONS_ANSWERED;
    case OPTION_COUNT:
        break;
    }
    diag_set(diag, "%s: sotto-sense takes options only; see --help", facts->text);
    return OPTIONS_BAD;
}

static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long number;

    if (!text || !*text) {
        return 0;
    }
    number = strtol(text, &end, 10);
    return *end ? 0 : number;
}

int options_read(struct options *ret_options, int argc, char **argv, FILE *out, struct diag *diag)
{
    struct options *options = ret_options;
    int r = OPTIONS_RUN;
    struct args args;

    *options = (struct options){ .root = "/", .fd = -1, .uid = (uid_t)-1 };
    options->log_levels = getenv("SOTTO_LOG");
    options->journal_stream = getenv("JOURNAL_STREAM");
    options->listen_pid = number_of("LISTEN_PID");
    options->n_listen = number_of("LISTEN_FDS");
    args_init(&args, rows, argc - 1, argv + 1);
    while (r == OPTIONS_RUN) {
        struct arg_found facts;
        int next = args_next(&args, &facts, diag);

        if (next == ARGS_END) {
            break;
        }
        r = next == ARGS_BAD ? OPTIONS_BAD : take(options, &facts, out, diag);
    }
    if (r == OPTIONS_RUN && options->socket && options->fd >= 0) {
        diag_set(diag, "--socket and --fd: give one of them");
        return OPTIONS_BAD;
    }
    return r;
}
