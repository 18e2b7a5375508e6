/*
 * Sensors: prints a page once the readers have had time; only JSON and doctor show sources that were passed over
 */
#include "tool/sensors.h"
#include "base/clean.h"
#include "record/record.h"
#include "tool/table.h"
#include <string.h>
#include <unistd.h>

enum sensors_row {
    SENSORS_WATCH = TOOL_ROWS_COUNT,
    SENSORS_PERIOD,
    SENSORS_RECORD,
    SENSORS_ROOT,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [SENSORS_WATCH] = { "watch", 'w', ARG_FLAG, NULL, NULL, "repeat until interrupted" },
    [SENSORS_PERIOD] = { "period", 0, ARG_UINT, "MS", NULL,
                         "time between two pages of --watch, 100 to 60000 (default: 1000)" },
    [SENSORS_RECORD] = { "record", 0, ARG_TEXT, "FOLDER", NULL, "copy the files of all sensors to a new folder" },
    [SENSORS_ROOT] = { "root", 0, ARG_TEXT, "FOLDER", NULL, "read a recorded machine" },
    { NULL },
};

struct request {
    const char *root;
    const char *record;
    bool watches;
    uint64_t period_ms;
};

/* ---- one page */

json_t *sensors_json(const struct channel *channel)
{
    const struct source_facts *found = &channel->facts;
    json_t *object = json_object();

    json_object_set_new(object, "quantity", json_string(reading_quantity_name(found->quantity)));
    json_object_set_new(object, "name", tool_text(found->name, strlen(found->name)));
    json_object_set_new(object, "path", tool_text(found->path, strlen(found->path)));
    json_object_set_new(object, "unit", json_string(reading_unit_name(found->quantity)));
    json_object_set_new(object, "state", json_string(probe_state(channel)));
    json_object_set_new(object, "in_use", json_boolean(channel->in_use));
    if (channel->was_ok) {
        json_object_set_new(object, "value", json_integer(channel->now.value));
        json_object_set_new(object, "age_ms", tool_number(probe_age_ms(channel)));
    }
    if (channel->now.blind_permille) {
        json_object_set_new(object, "blind_permille", json_integer(channel->now.blind_permille));
    }
    if (found->passive_mc != INT32_MAX) {
        json_object_set_new(object, "passive_mc", json_integer(found->passive_mc));
    }
    if (found->critical_mc != INT32_MAX) {
        json_object_set_new(object, "critical_mc", json_integer(found->critical_mc));
    }
    json_object_set_new(object, "chosen", tool_text(found->why, strlen(found->why)));
    json_object_set_new(object, "why", tool_text(channel->now.why, strlen(channel->now.why)));
    return object;
}

static int print_json(const struct tool_call *call, const struct probe *probe)
{
    json_t *object = json_object();
    json_t *list = json_array();
    const struct list *link;

    list_for_each (link, &probe->sampler.channels) {
        json_array_append_new(list, sensors_json(container_of(link, struct channel, link)));
    }
    json_object_set_new(object, "sensors", list);
    return tool_print(call, object);
}

static void print_trips(const struct source_facts *found)
{
    if (found->passive_mc != INT32_MAX) {
        printf("  throttled from %.0f C", found->passive_mc / 1000.0);
    }
    if (found->critical_mc != INT32_MAX) {
        printf("  critical at %.0f C", found->critical_mc / 1000.0);
    }
}

/* The column of states shows this already. */
#define PASSED_OVER "passed over: "

void sensors_print(const struct channel *channel)
{
    const struct source_facts *found = &channel->facts;
    char value[PROBE_VALUE_BYTES];
    const char *why = channel->now.why[0] ? channel->now.why : found->why;

    printf("%c %-16s ", channel->in_use ? '*' : ' ', reading_quantity_name(found->quantity));
    printf("%-30s %12s  %-11s", found->name, probe_value(channel, value, sizeof(value)), probe_state(channel));
    print_trips(found);
    if (channel->now.blind_permille) {
        printf("  %u.%u %% can't be seen", channel->now.blind_permille / 10, channel->now.blind_permille % 10);
    }
    if (why[0] && (channel->now.state != READING_OK || found->rank == SOURCE_PASSED_OVER)) {
        why += strncmp(why, PASSED_OVER, strlen(PASSED_OVER)) == 0 ? strlen(PASSED_OVER) : 0;
        printf("  ");
        tool_put_text(stdout, why, strlen(why));
    }
    putchar('\n');
}

static int print_text(const struct tool_call *call, const struct probe *probe)
{
    const struct list *link;
    uint32_t n = 0;

    list_for_each (link, &probe->sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        /* Sources that were passed over are many, and shown by doctor and in JSON. */
        if (channel->facts.rank != SOURCE_PASSED_OVER) {
            sensors_print(channel);
            n++;
        }
    }
    if (n == 0) {
        puts("no sensors of load, heat or power were found");
    } else {
        puts("\n* in use (temperatures: all that are marked)");
    }
    return tool_flush(call);
}

static int print_page(const struct tool_call *call, const struct probe *probe)
{
    return call->json ? print_json(call, probe) : print_text(call, probe);
}

/* ---- the command */

static int watch(const struct tool_call *call, const struct request *request, struct probe *probe)
{
    bool is_terminal = isatty(STDOUT_FILENO) && !call->json;
    int r;

    do {
        if (is_terminal) {
            fputs("\033[H\033[J", stdout);
        }
        r = print_page(call, probe);
        probe_read(probe, (uint32_t)request->period_ms);
    } while (r == TOOL_OK);
    return r;
}

static int show(const struct tool_call *call, const struct request *request)
{
    static struct probe probe; /* a third of a megabyte */
    struct diag diag = DIAG_INIT;
    int r;

    if (!probe_open(&probe, request->root, &diag)) {
        return tool_fail(call, NULL, &diag, 0);
    }
    probe_read(&probe, PROBE_USUAL_MS);
    r = request->watches ? watch(call, request, &probe) : print_page(call, &probe);
    (void)probe_close(&probe); /* if a driver blocks one of our threads, that ends with the process */
    return r;
}

static int record(const struct tool_call *call, const struct request *request)
{
    struct record record = { 0 };
    struct diag diag = DIAG_INIT;
    struct root root;
    int r = root_open(&root, request->root);

    if (r) {
        return tool_fail(call, request->root, NULL, r);
    }
    r = record_machine(&root, request->record, &record, &diag);
    root_close(&root);
    if (r) {
        return tool_fail(call, NULL, &diag, r);
    }
    printf("%s: %u files, of which %u could not be read%s\n", request->record, record.n_files + record.n_faults,
           record.n_faults, record.is_cut ? "; not everything was copied" : "");
    puts("Check it before you send it: it has names of processes that use the GPU, but nothing else of yours.");
    return tool_flush(call);
}

static int run(struct tool_call *call, struct args *args)
{
    struct request request = { .root = "/", .period_ms = 1000 };
    const struct tool_value values[] = {
        { SENSORS_WATCH, .flag = &request.watches },
        { SENSORS_PERIOD, .number = &request.period_ms },
        { SENSORS_RECORD, .text = &request.record },
        { SENSORS_ROOT, .text = &request.root },
    };
    int r = tool_read(call, args, values, COUNTOF(values));

    if (r != TOOL_READ) {
        return r;
    }
    if (request.period_ms < 100 || request.period_ms > 60000) {
        return tool_usage(call, "--period: must be 100 to 60000 milliseconds");
    }
    if (request.record && (request.watches || call->json)) {
        return tool_usage(call, "--record only copies: remove --watch and --json");
    }
    return request.record ? record(call, &request) : show(call, &request);
}

const struct tool tool_sensors = {
    .name = "sensors",
    .summary = "show the sensors of load, heat, power and memory",
    .operands = "",
    .about = "Reads the sensors as sotto-sense does, with the rights of the user who runs it: only root sees the\n"
             "GPU clients of other users. --record makes a copy that --root reads, for reporting a sensor that\n"
             "is read wrongly.",
    .rows = rows,
    .run = run,
};
