/*
 * sotto status, sotto reload
 */
#include "base/clean.h"
#include "show.h"
#include "talk.h"
#include <inttypes.h>
#include <string.h>

static const struct arg_row rows[] = { CLI_ROWS, { NULL } };

static void print_models(const struct sotto_status *status)
{
    for (size_t i = 0; i < status->n_models; i++) {
        const struct sotto_model *model = &status->models[i];

        printf("model %s: %s%s%s%s\n", model->name, model->state_name, model->is_default ? ", default" : "",
               *model->reason ? ": " : "", model->reason);
        if (model->state == SOTTO_MODEL_READY) {
            printf("    %s %s on %s, context %u, KV pages %u of %u\n", model->architecture, model->format,
                   model->backend, model->context_tokens, model->kv_pages_used, model->kv_pages);
        }
    }
    for (size_t i = 0; i < status->n_engines; i++) {
        const struct sotto_engine *engine = &status->engines[i];

        printf("engine of %s: process %u, start %u%s%s\n", engine->model, engine->pid, engine->starts,
               *engine->last_exit ? ", the last one ended by " : "", engine->last_exit);
        printf("    %u sequences, %" PRIu64 " steps, %" PRIu64 " rows, %" PRIu64 " tokens\n",
               engine->sequences, engine->steps, engine->rows, engine->tokens);
        printf("    KV pages: %u held, %u cached, %u free; %" PRIu64 " evicted so far\n", engine->pages_held,
               engine->pages_cached, engine->pages_free, engine->pages_evicted);
    }
}

static void print_memory(const struct sotto_status *status)
{
    char bytes[SHOW_BYTES];
    char peak[SHOW_BYTES];

    printf("memory: %s resident\n", show_bytes(status->rss_bytes, bytes));
    for (size_t i = 0; i < status->n_memory; i++) {
        const struct sotto_memory_kind *memory = &status->memory[i];

        printf("    %-12s %-16s %12s", memory->kind, memory->holder, show_bytes(memory->bytes, bytes));
        if (memory->peak_bytes > memory->bytes) {
            printf("  at most %s", show_bytes(memory->peak_bytes, peak));
        }
        putchar('\n');
    }
}

static void print_status(const struct sotto_status *status)
{
    static const char *const classes[] = { "default", "background", "interactive", "realtime" };

    printf("%s, up %" PRIu64 " s, %u connections, %u descriptors\n", status->server, status->uptime_ms / 1000,
           status->connections, status->descriptors);
    if (*status->config_file) {
        printf("configuration: %s, generation %" PRIu64 "\n", status->config_file, status->config_generation);
    }
    print_models(status);
    for (size_t i = 0; i < status->n_classes; i++) {
        const struct sotto_class_counts *counts = &status->classes[i];

        printf("%s: %u running, %u queued, %u parked\n",
               (size_t)counts->priority < COUNTOF(classes) ? classes[counts->priority] : "another class",
               counts->running, counts->queued, counts->parked);
    }
    print_memory(status);
    for (size_t i = 0; i < status->n_counters; i++) {
        printf("%s %" PRIu64 "\n", status->counters[i].name, status->counters[i].value);
    }
}

static void show_report(const struct cli *cli, const struct sotto_event *event)
{
    if (cli->json) {
        show_line(show_status(event->status));
    } else {
        print_status(event->status);
    }
}

static void show_applied(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_reloaded *reloaded = event->reloaded;

    if (cli->json) {
        show_line(show_reloaded(reloaded));
        return;
    }
    printf("configuration of generation %" PRIu64 " is in force\n", reloaded->config_generation);
    for (size_t i = 0; i < reloaded->n_applied; i++) {
        printf("    changed: %s\n", reloaded->applied[i]);
    }
    for (size_t i = 0; i < reloaded->n_needs_restart; i++) {
        printf("    takes effect after a restart: %s\n", reloaded->needs_restart[i]);
    }
}

typedef enum sotto_code (*send_fn)(struct sotto *sotto, sotto_event_fn fn, void *owner, uint32_t *ret_stream,
                                   struct sotto_error *error);

static int run_once(struct cli *cli, struct args *args, send_fn send,
                    void (*show)(const struct cli *cli, const struct sotto_event *event))
{
    struct reply reply = { .cli = cli, .show = show };
    struct sotto_error error;
    struct talk talk;
    int r = cli_words(cli, args, NULL, 0);

    if (r < 0) {
        return -1 - r;
    }
    r = talk_open(&talk, cli);
    if (r) {
        return r;
    }
    if (send(talk.sotto, talk_on_reply, &reply, NULL, &error)) {
        r = cli_fail(cli, &error);
    } else {
        r = talk_finish(&talk, &reply);
    }
    talk_close(&talk);
    return r;
}

static int run_status(struct cli *cli, struct args *args)
{
    return run_once(cli, args, sotto_send_status, show_report);
}

static int run_reload(struct cli *cli, struct args *args)
{
    return run_once(cli, args, sotto_send_reload, show_applied);
}

const struct command cmd_status = {
    .name = "status",
    .summary = "show what the daemon is doing",
    .words = "",
    .about = "Shows models, engines, queues, memory by kind and holder, and counters.",
    .rows = rows,
    .run = run_status,
};

const struct command cmd_reload = {
    .name = "reload",
    .summary = "let the daemon read its configuration again",
    .words = "",
    .about =
        "Lets the daemon read its configuration again: a good one is taken as a whole, a bad one is refused\n"
        "with the reason and the old one stays. For administrators.",
    .rows = rows,
    .run = run_reload,
};
