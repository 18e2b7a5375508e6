/*
 * sotto watch: events of the daemon, as they happen
 */
#include "connection.h"
#include "show.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

static const struct arg_row rows[] = { CLI_ROWS, { NULL } };

struct watch {
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
    struct watch *watch = owner;

    if (event->kind == SOTTO_EVENT_ERROR) {
        watch->exit = cli_fail(event->error);
    } else if (event->kind == SOTTO_EVENT_WATCHED && watch->cli->json) {
        show_line(show_watched(event->watched));
    } else if (event->kind == SOTTO_EVENT_WATCHED) {
        print_event(event->watched);
    }
    fflush(stdout);
    watch->done = event->last || ferror(stdout);
}

/* "all" among the topics stands for all of them, as no topic does. */
static int talk(struct connection *connection, void *owner)
{
    const struct cli *cli = connection->cli;
    size_t n = (size_t)cli->n_words;
    struct watch *watch = owner;
    struct sotto_error error;
    uint32_t stream;
    int r;

    for (int i = 0; i < cli->n_words; i++) {
        n = strcmp(cli->words[i], "all") == 0 ? 0 : n;
    }
    watch->cli = cli;
    if (sotto_send_watch(connection->sotto, cli->words, n, on_event, watch, &stream, &error)) {
        return cli_fail(&error);
    }
    r = connection_until(connection, &watch->done);
    if (r == CLI_INTERRUPTED) {
        sotto_cancel(connection->sotto, stream, NULL);
        connection_until(connection, &watch->done);
        return CLI_INTERRUPTED;
    }
    return watch->exit ? watch->exit : cli_flush();
}

const struct command cmd_watch = {
    .name = "watch",
    .summary = "show events as they happen",
    .words = "[TOPIC]...",
    .about =
        "Shows events of the daemon until Ctrl-C: those of the topics given (model, engine, stream, mode, config,\n"
        "sense, session), or all of them. Events about streams are those of this user, unless policy says more.",
    .rows = rows,
    .most = CLI_WORDS_MAX,
    .options_bytes = sizeof(struct watch),
    .talk = talk,
};
