/*
 * sotto status, sotto reload
 */
#include "base/clean.h"
#include "connection.h"
#include "show.h"
#include <inttypes.h>
#include <string.h>

enum status_row {
    STATUS_ALL = CLI_ROWS_COUNT,
};

static const struct arg_row status_rows[] = {
    CLI_ROWS,
    [STATUS_ALL] = { "all", 0, ARG_FLAG, NULL, NULL, "also print the counters that are 0" },
    { NULL },
};

static const struct arg_row reload_rows[] = { CLI_ROWS, { NULL } };

struct status {
    bool is_all; /* --all */
};

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct status *options = owner;

    (void)cli;
    (void)found;
    options->is_all = true;
    return CLI_OK;
}

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
        show_pins(model);
    }
    for (size_t i = 0; i < status->n_engines; i++) {
        const struct sotto_engine *engine = &status->engines[i];

        printf("engine of %s: process %u, start %u%s%s\n", engine->model, engine->pid, engine->starts,
               *engine->last_exit ? ", the last one ended by " : "", engine->last_exit);
        printf("    %u sequences, %" PRIu64 " steps, %" PRIu64 " rows, %" PRIu64 " tokens\n", engine->sequences,
               engine->steps, engine->rows, engine->tokens);
        if (engine->draft_tokens > 0) {
            printf("    %" PRIu64 " of %" PRIu64 " drafted tokens were right, and saved steps\n",
                   engine->draft_tokens_accepted, engine->draft_tokens);
        }
        printf("    KV pages: %u held, %u cached, %u free; %" PRIu64 " evicted so far\n", engine->pages_held,
               engine->pages_cached, engine->pages_free, engine->pages_evicted);
    }
}

static void print_devices(const struct sotto_status *status)
{
    for (size_t i = 0; i < status->n_devices; i++) {
        const struct sotto_device *device = &status->devices[i];

        printf("device %s: %s%s%s%s%s\n", device->node, device->driver, *device->chip ? ", " : "", device->chip,
               device->chosen ? ", chosen" : "", device->claimed ? ", claimed" : "");
        printf("    load %s%s%s%s\n", *device->load_source ? "from " : "unknown", device->load_source,
               *device->why ? ": " : "", device->why);
    }
}

/* Prints "61.5 °C" for 61500 m°C: units for people in place of those of the protocol. */
static void print_value(const struct sotto_sensor *sensor)
{
    static const struct {
        const char *unit;
        const char *shown;
        double divisor;
        int digits;
    } rows_of_units[] = {
        { "m°C", "°C", 1000, 1 },  { "mW", "W", 1000, 2 },     { "uJ", "J", 1e6, 1 },
        { "kHz", "MHz", 1000, 0 }, { "permille", "%", 10, 1 }, { "kB", "MB", 1000, 0 },
    };

    for (size_t i = 0; i < COUNTOF(rows_of_units); i++) {
        if (strcmp(sensor->unit, rows_of_units[i].unit) == 0) {
            printf("%.*f %s", rows_of_units[i].digits, (double)sensor->value / rows_of_units[i].divisor,
                   rows_of_units[i].shown);
            return;
        }
    }
    printf("%" PRId64 "%s%s", sensor->value, *sensor->unit ? " " : "", sensor->unit);
}

static void print_sensors(const struct sotto_status *status)
{
    for (size_t i = 0; i < status->n_sensors; i++) {
        const struct sotto_sensor *sensor = &status->sensors[i];

        printf("%s %s%s: ", sensor->quantity, sensor->name, sensor->in_use ? " (in use)" : "");
        if (sensor->state == SOTTO_SENSOR_OK) {
            print_value(sensor);
        } else {
            printf("%s", sensor->state_name);
        }
        if (sensor->state == SOTTO_SENSOR_STALE || sensor->state == SOTTO_SENSOR_IMPLAUSIBLE) {
            printf(", last ");
            print_value(sensor);
            printf(" %.1f s ago", sensor->age_ms / 1000.0);
        }
        if (sensor->blind_permille > 0) {
            printf(", %.1f %% of it not seen", sensor->blind_permille / 10.0);
        }
        printf("%s%s\n", *sensor->why ? ": " : "", sensor->why);
    }
}

/* Returns words for people for the governor's cause, or the cause itself if it is of a later daemon. */
static const char *cause_words(const char *cause)
{
    static const struct {
        const char *cause;
        const char *words;
    } causes[] = {
        { "hint", "a hint of the compositor" },
        { "heat", "the temperature" },
        { "trip", "a temperature limit of the system" },
        { "power", "the power limit" },
        { "pressure", "scarce memory" },
        { "sleep", "the suspend of the machine" },
        { "contention", "a screen whose load no driver reports" },
        { "blind-graphics", "an unknown load of the graphics" },
        { "blind-heat", "an unknown temperature" },
    };

    for (size_t i = 0; i < COUNTOF(causes); i++) {
        if (strcmp(cause, causes[i].cause) == 0) {
            return causes[i].words;
        }
    }
    return cause;
}

/* Prints how much of each processor sotto may use; there is a row of the device even if the machine has none. */
static void print_governor(const struct sotto_status *status)
{
    for (size_t i = 0; i < status->n_governor; i++) {
        const struct sotto_governor *governor = &status->governor[i];

        bool is_device = strcmp(governor->processor, "device") == 0;
        bool is_free = strcmp(governor->cause, "free") == 0; /* nothing limits it */

        if (is_device && status->n_devices == 0) {
            continue;
        }
        printf("%s: %s for %.1f s%s%s; %.1f %% of the time", governor->processor, governor->mode,
               (double)governor->since_ms / 1000, is_free ? "" : ", because of ",
               is_free ? "" : cause_words(governor->cause), governor->duty_permille / 10.0);
        if (governor->slice_us > 0) {
            printf(", %.1f ms at a stretch", governor->slice_us / 1000.0);
        }
        if (governor->rows > 0) {
            printf(", %u rows a step", governor->rows);
        }
        if (governor->class_gate > SOTTO_CLASS_BACKGROUND) {
            printf(", only %s%s", show_class(governor->class_gate),
                   governor->class_gate == SOTTO_CLASS_REALTIME ? "" : " and above");
        }
        printf("\n");
    }
}

static void print_accounts(const struct sotto_status *status)
{
    for (size_t i = 0; i < status->n_accounts; i++) {
        const struct sotto_account *account = &status->accounts[i];

        if (account->uid == SOTTO_UID_DAEMON) {
            printf("the daemon itself: ");
        } else {
            printf("user %u: ", account->uid);
        }
        printf("%u requests, %" PRIu64 " tokens, %" PRIu64 " refused", account->requests, account->tokens,
               account->refused);
        if (account->energy_source != 0) {
            printf(", %.1f J %s", (double)account->energy_uj / 1e6, show_energy_source(account->energy_source));
        }
        printf("\n");
    }
    if (status->sessions > 0) {
        printf("sessions: %u\n", status->sessions);
    }
}

/* Returns a plainer name for two kinds of memory. */
static const char *memory_name(const char *kind)
{
    if (strcmp(kind, "mapped") == 0) {
        return "model file"; /* its pages in memory, which the system can drop */
    }
    return strcmp(kind, "not ours") == 0 ? "unaccounted" : kind; /* libraries, stacks, the allocator's own */
}

static void print_memory(const struct sotto_status *status)
{
    char bytes[SHOW_BYTES];
    char peak[SHOW_BYTES];

    printf("memory: %s resident\n", show_bytes(status->rss_bytes, bytes));
    for (size_t i = 0; i < status->n_memory; i++) {
        const struct sotto_memory_kind *memory = &status->memory[i];

        printf("    %-12s %-16s %12s", memory_name(memory->kind), memory->holder, show_bytes(memory->bytes, bytes));
        if (memory->peak_bytes > memory->bytes) {
            printf("  at most %s", show_bytes(memory->peak_bytes, peak));
        }
        putchar('\n');
    }
}

static void print_counters(const struct sotto_status *status, bool is_all)
{
    size_t n_hidden = 0;

    for (size_t i = 0; i < status->n_counters; i++) {
        if (is_all || status->counters[i].value > 0) {
            printf("%s %" PRIu64 "\n", status->counters[i].name, status->counters[i].value);
        } else {
            n_hidden++;
        }
    }
    if (n_hidden > 0) {
        printf("counters that are 0 (--all prints them): %zu\n", n_hidden);
    }
}

static void print_status(const struct sotto_status *status, bool is_all)
{
    printf("%s, up %" PRIu64 " s; connections: %u, file descriptors: %u\n", status->server, status->uptime_ms / 1000,
           status->connections, status->descriptors);
    if (*status->config_file) {
        printf("configuration: %s, generation %" PRIu64 "\n", status->config_file, status->config_generation);
    }
    print_models(status);
    for (size_t i = 0; i < status->n_classes; i++) {
        const struct sotto_class_counts *counts = &status->classes[i];

        printf("%s: %u running, %u queued, %u parked\n", show_class(counts->priority), counts->running, counts->queued,
               counts->parked);
    }
    print_accounts(status);
    print_devices(status);
    print_sensors(status);
    print_governor(status);
    print_memory(status);
    print_counters(status, is_all);
}

static enum sotto_code send_status(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    return sotto_send_status(sotto, connection_on_reply, reply, NULL, error);
}

static void show_report(const struct reply *reply, const struct sotto_event *event)
{
    const struct status *options = reply->options;

    if (reply->cli->json) {
        show_line(show_status(event->status));
    } else {
        print_status(event->status, options->is_all);
    }
}

static enum sotto_code send_reload(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    return sotto_send_reload(sotto, connection_on_reply, reply, NULL, error);
}

static void show_applied(const struct reply *reply, const struct sotto_event *event)
{
    const struct sotto_reloaded *reloaded = event->reloaded;

    if (reply->cli->json) {
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

const struct command cmd_status = {
    .name = "status",
    .summary = "show what the daemon is doing",
    .words = "",
    .about = "Shows models, engines, requests by class, users, devices, sensors, the governor, memory, and counters.",
    .rows = status_rows,
    .options_bytes = sizeof(struct status),
    .take = take,
    .send = send_status,
    .show = show_report,
};

const struct command cmd_reload = {
    .name = "reload",
    .summary = "let the daemon read its configuration again",
    .words = "",
    .about = "Lets the daemon read its configuration again. If it has errors it is refused with the reason, and the\n"
             "old one stays in force. For administrators.",
    .rows = reload_rows,
    .send = send_reload,
    .show = show_applied,
};
