/*
 * Doctor: one page about this machine: what it has, what sotto does with it, and what to change
 */
#include "base/clean.h"
#include "tool/checkup.h"
#include "tool/sensors.h"
#include "tool/table.h"
#include <inttypes.h>
#include <string.h>

enum doctor_row {
    DOCTOR_ROOT = TOOL_ROWS_COUNT,
};

static const struct arg_row rows[] = {
    TOOL_ROWS,
    [DOCTOR_ROOT] = { "root", 0, ARG_TEXT, "FOLDER", NULL, "read a recorded machine (sotto sensors --record)" },
    { NULL },
};

/* ---- the page */

static void show_machine(const struct checkup *checkup)
{
    char text[TOOL_BYTES];
    char cores[CORES_TEXT];

    puts("machine");
    if (checkup->is_machine) {
        printf("    %s %s, %s\n", checkup->kernel.sysname, checkup->kernel.release, checkup->kernel.machine);
        cores_describe(&checkup->cores, cores, sizeof(cores));
        printf("    CPU kernels: %s, %s\n", checkup->kernels, cores);
        printf("    %s; memory lock limit: %s\n", checkup->has_systemd ? "systemd" : "no systemd",
               checkup->memlock_bytes == UINT64_MAX ? "none" : tool_bytes(checkup->memlock_bytes, text));
    } else {
        puts("    recorded");
    }
    if (checkup->has_memory) {
        printf("    %s of memory", tool_bytes(checkup->memory.total_kb << 10, text));
        printf(", %s available", tool_bytes(checkup->memory.available_kb << 10, text));
        printf("%s%s\n", checkup->memory.group[0] ? ", limited by " : "", checkup->memory.group);
    }
}

static void show_quirks(const struct device *device)
{
    for (int i = 0; i < CHIP_QUIRK_COUNT; i++) {
        if (chip_has(device->chip, (enum chip_quirk)i)) {
            printf("        %s\n", chip_quirk_text((enum chip_quirk)i));
        }
    }
}

static void show_device(const struct checkup *checkup, uint32_t i)
{
    const struct device *device = &checkup->devices[i];
    const struct node *node = device->render.path[0] ? &device->render : &device->card;

    printf("  %c %s  %s", checkup->chosen == (int)i ? '*' : ' ', node->path, device->driver);
    if (device->version[0] || device->version[1]) {
        printf(" %d.%d.%d", device->version[0], device->version[1], device->version[2]);
    }
    printf("  %s  (%s %s)\n", device->name, device_bus_name(device->bus), device->bus_name);
    printf("      %s\n", checkup->choice.why[i]);
    if (device->has_core) {
        printf("      core %u.%u.%u.%u, %u KiB of local memory, %u hardware errata handled\n", device->core.branch,
               device->core.version, device->core.cores, device->core.config, device->core.local_bytes >> 10,
               device->core.n_quirks);
    }
    if (device->chip && device->chip->hang_ms > 0) {
        printf("      the kernel kills a job after %" PRIu32 " ms\n", device->chip->hang_ms);
    }
    show_quirks(device);
}

static void show_devices(const struct checkup *checkup)
{
    puts("\ndevices");
    for (uint32_t i = 0; i < checkup->n_devices; i++) {
        show_device(checkup, i);
    }
    if (checkup->chosen < 0) {
        printf("    %s\n", checkup->no_choice.text);
    }
}

static void show_clients(const struct checkup *checkup)
{
    const struct channel *channel = checkup_deciding(checkup, READING_GRAPHICS_LOAD);

    if (!channel) {
        return;
    }
    puts("\nprocesses that use the GPU");
    if (!channel->facts.tells_clients) {
        puts("    not known: the driver reports no clients");
    } else if (channel->n_clients == 0) {
        puts("    none that this user can see");
    }
    for (uint32_t i = 0; i < channel->n_clients; i++) {
        const struct source_client *client = &channel->clients[i];

        printf("    ");
        tool_put_text(stdout, client->name, strnlen(client->name, sizeof(client->name)));
        printf(" (%" PRIu32 "): graphics %.1f %%, compute %.1f %%, %" PRIu64 " MiB\n", client->pid,
               client->graphics_permille / 10.0, client->compute_permille / 10.0, client->memory_kb >> 10);
    }
}

static void show_sensors(const struct checkup *checkup)
{
    const struct list *link;

    puts("\nsensors (* in use)");
    list_for_each (link, &checkup->probe.sampler.channels) {
        fputs("  ", stdout);
        sensors_print(container_of(link, struct channel, link));
    }
}

/* Returns the reason of a target temperature. */
static const char *reason_of(const struct source_facts *found, int32_t target_mc)
{
    if (found->passive_mc != INT32_MAX && target_mc >= found->passive_mc - 5000) {
        return "5 below the point where the kernel throttles";
    }
    if (found->critical_mc != INT32_MAX && target_mc >= found->critical_mc - 10000) {
        return "10 below the point where the kernel shuts the machine down";
    }
    return "the default for a sensor without a lower trip point";
}

static void show_plan(const struct checkup *checkup)
{
    const struct channel *load = checkup_deciding(checkup, READING_GRAPHICS_LOAD);
    int32_t target_mc;
    const struct channel *coolest = checkup_coolest(checkup, &target_mc);

    puts("\nwhat sotto does here");
    puts("    computes on the CPU cores");
    if (checkup->chosen >= 0) {
        printf("    claims %s, and gives way to its graphics: %s\n", checkup->devices[checkup->chosen].render.path,
               load ? load->facts.name : "load unknown, assumed to be busy");
    }
    if (coolest) {
        printf("    holds %s at %.0f C, %s, unless governor.target_c is set\n", coolest->facts.name, target_mc / 1000.0,
               reason_of(&coolest->facts, target_mc));
    } else {
        puts("    limits no temperature: none can be read");
    }
}

static void show_advice(const struct checkup *checkup)
{
    puts(checkup->n_advice ? "\nwhat to change" : "\nnothing to change");
    for (uint32_t i = 0; i < checkup->n_advice; i++) {
        printf("    %" PRIu32 ". %s\n", i + 1, checkup->advice[i]);
    }
}

static int show_text(const struct tool_call *call, const struct checkup *checkup)
{
    show_machine(checkup);
    show_devices(checkup);
    show_clients(checkup);
    show_sensors(checkup);
    show_plan(checkup);
    show_advice(checkup);
    return tool_flush(call);
}

/* ---- JSON */

static json_t *device_json(const struct checkup *checkup, uint32_t i)
{
    const struct device *device = &checkup->devices[i];
    json_t *object = json_object();
    json_t *quirks = json_array();

    json_object_set_new(object, "node", json_string(device->render.path[0] ? device->render.path : device->card.path));
    json_object_set_new(object, "driver", tool_text(device->driver, strlen(device->driver)));
    json_object_set_new(object, "chip", tool_text(device->name, strlen(device->name)));
    json_object_set_new(object, "bus", json_string(device_bus_name(device->bus)));
    json_object_set_new(object, "bus_name", tool_text(device->bus_name, strlen(device->bus_name)));
    json_object_set_new(object, "access", json_string(node_access_name(device->render.access)));
    json_object_set_new(object, "display", json_boolean(device->has_display));
    json_object_set_new(object, "chosen", json_boolean(checkup->chosen == (int)i));
    json_object_set_new(object, "why", tool_text(checkup->choice.why[i], strlen(checkup->choice.why[i])));
    for (int k = 0; k < CHIP_QUIRK_COUNT; k++) {
        if (chip_has(device->chip, (enum chip_quirk)k)) {
            json_array_append_new(quirks, json_string(chip_quirk_text((enum chip_quirk)k)));
        }
    }
    json_object_set_new(object, "quirks", quirks);
    return object;
}

static json_t *clients_json(const struct channel *channel)
{
    json_t *list = json_array();

    for (uint32_t i = 0; channel && i < channel->n_clients; i++) {
        const struct source_client *client = &channel->clients[i];
        json_t *one = json_object();

        json_object_set_new(one, "name", tool_text(client->name, strnlen(client->name, sizeof(client->name))));
        json_object_set_new(one, "pid", json_integer(client->pid));
        json_object_set_new(one, "client", tool_number(client->id));
        json_object_set_new(one, "graphics_permille", json_integer(client->graphics_permille));
        json_object_set_new(one, "compute_permille", json_integer(client->compute_permille));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *json_of(const struct checkup *checkup)
{
    json_t *object = json_object();
    json_t *devices = json_array();
    json_t *sensors = json_array();
    json_t *advice = json_array();
    const struct list *link;

    for (uint32_t i = 0; i < checkup->n_devices; i++) {
        json_array_append_new(devices, device_json(checkup, i));
    }
    list_for_each (link, &checkup->probe.sampler.channels) {
        json_array_append_new(sensors, sensors_json(container_of(link, struct channel, link)));
    }
    for (uint32_t i = 0; i < checkup->n_advice; i++) {
        json_array_append_new(advice, tool_text(checkup->advice[i], strlen(checkup->advice[i])));
    }
    if (checkup->is_machine) {
        json_object_set_new(object, "kernel", json_string(checkup->kernel.release));
        json_object_set_new(object, "cores", json_integer(checkup->cores.n_threads));
        json_object_set_new(object, "cpu_kernels", json_string(checkup->kernels));
        json_object_set_new(object, "systemd", json_boolean(checkup->has_systemd));
    }
    if (checkup->has_memory) {
        json_object_set_new(object, "memory_kb", tool_number(checkup->memory.total_kb));
        json_object_set_new(object, "available_kb", tool_number(checkup->memory.available_kb));
    }
    json_object_set_new(object, "devices", devices);
    json_object_set_new(object, "clients", clients_json(checkup_deciding(checkup, READING_GRAPHICS_LOAD)));
    json_object_set_new(object, "sensors", sensors);
    json_object_set_new(object, "advice", advice);
    return object;
}

/* ---- the command */

static int show(const struct tool_call *call, const char *root)
{
    static struct checkup checkup; /* half a megabyte */
    struct diag diag = DIAG_INIT;
    int r;

    if (!checkup_open(&checkup, root, &diag)) {
        return tool_fail(call, NULL, &diag, 0);
    }
    r = call->json ? tool_print(call, json_of(&checkup)) : show_text(call, &checkup);
    (void)checkup_close(&checkup); /* if a driver blocks one of our threads, that ends with the process */
    return r;
}

static int run(struct tool_call *call, struct args *args)
{
    const char *root = "/";
    const struct tool_value values[] = { { DOCTOR_ROOT, .text = &root } };
    int r = tool_read(call, args, values, COUNTOF(values));

    return r == TOOL_READ ? show(call, root) : r;
}

const struct tool tool_doctor = {
    .name = "doctor",
    .summary = "check this machine: devices, sensors, limits, and what to change",
    .operands = "",
    .about = "Prints what the machine has, what sotto does with it and why, and what to change. It has the\n"
             "rights of the user who runs it; the service sotto-sense sees more.",
    .rows = rows,
    .run = run,
};
