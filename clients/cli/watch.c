/*
 * sotto watch: events of the daemon, as they happen
 */
#include "show.h"
#include "talk.h"
#include <inttypes.h>
#include <time.h>

#define TOPICS_MAX 16

static const struct arg_row rows[] = { CLI_ROWS, { NULL } };

struct watching {
    const struct cli *cli;
    bool done;
    int exit;
};

static void print_event(const struct sotto_watched *watched)
{
    time_t seconds = (time_t)(watched->at_us / 1000000);
    char when[32] = "";
    struct tm parts;

    if (localtime_r(&seconds, &parts)) {
        strftime(when, sizeof(when), "%H:%M:%S", &parts);
    }
    printf("%s.%03" PRIu64 " %s %s", when, watched->at_us / 1000 % 1000, watched->topic, watched->name);
    for (size_t i = 0; i < watched->n_pairs; i++) {
        printf(" %s=%s", watched->pairs[i].key, watched->pairs[i].value);
    }
    if (watched->dropped) {
        printf(" (%u events were lost before this one)", watched->dropped);
    }
    putchar('\n');
}

static void on_event(void *owner, const struct sotto_event *event)
{
    struct watching *watching = owner;

    if (event->kind == SOTTO_EVENT_ERROR) {
        watching->exit = cli_fail(watching->cli, event->error);
    } else if (event->kind == SOTTO_EVENT_WATCHED && watching->cli->json) {
        show_line(show_watched(event->watched));
    } else if (event->kind == SOTTO_EVENT_WATCHED) {
        print_event(event->watched);
    }
    fflush(stdout);
    watching->done = event->last || ferror(stdout);
}

static int watch(struct talk *talk, const char *const *topics, size_t n)
{
    struct watching watching = { .cli = talk->cli };
    struct sotto_error error;
    uint32_t stream;
    int r;

    if (sotto_send_watch(talk->sotto, topics, n, on_event, &watching, &stream, &error)) {
        return cli_fail(talk->cli, &error);
    }
    r = talk_until(talk, &watching.done);
    if (r == CLI_INTERRUPTED) {
        sotto_cancel(talk->sotto, stream, NULL);
        talk_until(talk, &watching.done);
        return CLI_INTERRUPTED;
    }
    return watching.exit ? watching.exit : cli_flush(talk->cli);
}

static int run(struct cli *cli, struct args *args)
{
    const char *topics[TOPICS_MAX];
    struct talk talk;
    int n = cli_words(cli, args, topics, TOPICS_MAX);
    int r;

    if (n < 0) {
        return -1 - n;
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        r = watch(&talk, topics, (size_t)n);
        talk_close(&talk);
    }
    return r;
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "show events as they happen",
    .words = "[TOPIC]...",
    .about = "Shows what happens in the daemon until Ctrl-C: of the topics given (model, engine, stream, mode,\n"
             "config, sense), or all.",
    .rows = rows,
    .run = run,
};
