/*
 * Checkup: gathers facts, then advises; each piece of advice is a function of the facts
 */
#include "tool/checkup.h"

#include "govern/governor.h"
#include "govern/heat.h"
#include "kern/cores.h"
#include "kern/cpu.h"
#include "kern/kern.h"
#include "load/load.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Room for the prompts of a few streams, and journals; the shipped unit allows more. */
#define MEMLOCK_WISH (64ull << 20)

/* ---- gathering */

static void gather_process(struct checkup *checkup)
{
    struct kern_ops ops;
    struct rlimit limit;

    kern_choose(&ops, cpu_detect());
    uname(&checkup->kernel);
    cores_choose(&checkup->cores, "", NULL, 0);
    checkup->kernels = ops.name;
    checkup->memlock_bytes = UINT64_MAX;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        checkup->memlock_bytes = limit.rlim_cur;
    }
}

static void gather_files(struct checkup *checkup)
{
    const struct root *root = &checkup->probe.discovery.root;
    DIR *folder;

    checkup->is_machine = root->is_machine;
    checkup->has_memory = memory_read(root, 0, &checkup->memory) == 0;
    if (root_open_folder(root, "/run/systemd/system", &folder) == 0) {
        checkup->has_systemd = true;
        closedir(folder);
    }
}

static void gather_devices(struct checkup *checkup)
{
    const struct choice_policy policy = { 0 };

    checkup->chosen = -1;
    if (device_find_all(&checkup->probe.discovery.root, checkup->devices, &checkup->n_devices)) {
        diag_set(&checkup->no_choice, "can't read the list of DRM devices");
        checkup->n_devices = 0;
    } else if (choice_make(checkup->devices, checkup->n_devices, &policy, &checkup->choice, &checkup->no_choice) ==
               CHOICE_OK) {
        checkup->chosen = (int)checkup->choice.chosen;
    }
}

const struct channel *checkup_deciding(const struct checkup *checkup, enum reading_quantity quantity)
{
    const struct list *link;

    list_for_each (link, &checkup->probe.sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->facts.quantity == quantity && channel->in_use) {
            return channel;
        }
    }
    return NULL;
}

/* Returns whether the governor would hold this temperature: one that was never read well does not count. */
static bool bounds(const struct channel *channel)
{
    return channel->facts.quantity == READING_TEMPERATURE && channel->in_use && channel->now.state == READING_OK;
}

const struct channel *checkup_coolest(const struct checkup *checkup, int32_t *ret_target_mc)
{
    static const struct governor_policy usual;
    const struct channel *coolest = NULL;
    const struct list *link;

    list_for_each (link, &checkup->probe.sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);
        const struct governor_zone zone = {
            .passive_mc = channel->facts.passive_mc,
            .critical_mc = channel->facts.critical_mc,
        };
        const int32_t target_mc = heat_target_mc(&usual, &zone);

        if (bounds(channel) && (!coolest || target_mc < *ret_target_mc)) {
            coolest = channel;
            *ret_target_mc = target_mc;
        }
    }
    return coolest;
}

/* ---- advice */

__attribute__((format(printf, 2, 3))) static void advise(struct checkup *checkup, const char *format, ...)
{
    va_list words;

    if (checkup->n_advice == CHECKUP_ADVICE_MAX) {
        return;
    }
    va_start(words, format);
    vsnprintf(checkup->advice[checkup->n_advice++], DIAG_BYTES, format, words);
    va_end(words);
}

const char *checkup_processor(const char *machine, uint32_t cpu)
{
    const uint32_t avx2 = CPU_AVX2 | CPU_FMA | CPU_F16C;

    if (strcmp(machine, "x86_64") != 0 || (cpu & avx2) == avx2) {
        return NULL;
    }
    return "this processor has no AVX2 (or the system, or a virtual machine, hides it): sotto computes the same tokens "
           "with plain C, about twenty times slower; use a processor of 2013 or later, or let the virtual machine "
           "have AVX2, FMA and F16C";
}

static void advise_of_processor(struct checkup *checkup)
{
    const char *advice = checkup->is_machine ? checkup_processor(checkup->kernel.machine, cpu_detect()) : NULL;

    if (advice) {
        advise(checkup, "%s", advice);
    }
}

static void advise_of_nodes(struct checkup *checkup)
{
    for (uint32_t i = 0; i < checkup->n_devices; i++) {
        const struct device *device = &checkup->devices[i];
        struct diag diag = DIAG_INIT;

        if (device->render.access != NODE_NONE) {
            node_explain(&device->render, &diag);
        }
        if (diag_is_set(&diag)) {
            advise(checkup, "%s", diag.text);
        }
    }
}

static void advise_of_load(struct checkup *checkup)
{
    const struct channel *channel = checkup_deciding(checkup, READING_GRAPHICS_LOAD);
    struct gpu device = { .minor = GPU_NO_MINOR };

    if (checkup->chosen < 0) {
        return;
    }
    snprintf(device.driver, sizeof(device.driver), "%.23s", checkup->devices[checkup->chosen].driver);
    if (!channel || channel->now.state == READING_ABSENT) {
        advise(checkup, "no driver reports the load of the GPU: sotto goes by how long its own work waits for it%s%s",
               load_note(&device) ? "; " : "", load_note(&device) ? load_note(&device) : "");
    } else if (channel->now.blind_permille > 0 && checkup->is_machine && geteuid() != 0) {
        advise(checkup, "this user can't see %u.%u %% of the load of the GPU; the service sotto-sense can",
               channel->now.blind_permille / 10, channel->now.blind_permille % 10);
    }
}

static void advise_of_heat(struct checkup *checkup)
{
    int32_t target_mc;
    const struct channel *coolest = checkup_coolest(checkup, &target_mc);

    if (!coolest) {
        advise(checkup, "no temperature can be read, so sotto can't limit it; name zones in sense.zones if "
                        "there are others");
    } else if (coolest->facts.passive_mc == INT32_MAX && coolest->facts.critical_mc == INT32_MAX) {
        advise(checkup, "no zone has a trip point: set governor.target_c");
    }
}

/* Advises once for each file: power and energy of a meter are two gauges of one. */
static void advise_of_rights(struct checkup *checkup)
{
    const struct list *link;
    const char *last = "";

    list_for_each (link, &checkup->probe.sampler.channels) {
        const struct channel *channel = container_of(link, struct channel, link);

        if (channel->now.state == READING_FORBIDDEN && channel->facts.rank != SOURCE_PASSED_OVER &&
            strcmp(last, channel->facts.path) != 0) {
            last = channel->facts.path;
            advise(checkup, "this user may not read %.64s; the service sotto-sense may", channel->facts.path);
        }
    }
}

static void advise_of_limits(struct checkup *checkup)
{
    if (checkup->is_machine && checkup->memlock_bytes < MEMLOCK_WISH) {
        advise(
            checkup,
            "only %llu KiB of memory may be kept out of swap, and sotto wants %llu: set LimitMEMLOCK=256M in the unit",
            (unsigned long long)checkup->memlock_bytes >> 10, MEMLOCK_WISH >> 10);
    }
    if (!checkup_deciding(checkup, READING_MEMORY_PRESSURE)) {
        advise(checkup, "memory pressure can't be read: boot the kernel with psi=1, or build it with CONFIG_PSI");
    }
}

bool checkup_open(struct checkup *checkup, const char *root, struct diag *diag)
{
    memset(checkup, 0, sizeof(*checkup));
    if (!probe_open(&checkup->probe, root, diag)) {
        return false;
    }
    probe_read(&checkup->probe, PROBE_USUAL_MS);
    gather_files(checkup);
    if (checkup->is_machine) {
        gather_process(checkup);
    }
    gather_devices(checkup);
    advise_of_processor(checkup);
    advise_of_nodes(checkup);
    advise_of_load(checkup);
    advise_of_heat(checkup);
    advise_of_rights(checkup);
    advise_of_limits(checkup);
    return true;
}

bool checkup_close(struct checkup *checkup)
{
    return probe_close(&checkup->probe);
}
