/*
 * The turns of looking at a device's clients, and the verdict: what the sums are worth. In doubt nobody is idle.
 */
#include "load/fdinfo.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "load/busy_percent.h"
#include "load/clients.h"
#include "load/devfreq.h"
#include "load/pair.h"
#include "load/proc.h"
#include "load/runtime_pm.h"
#include "load/walk.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define FULL_PERMILLE 1000u

/* Descriptors that are kept open. A process may have 1024 by default; other sources need some, too. */
#define CACHED_MAX 256u

/* Counters that stand still for so long are looked at: is the device busy all the same? */
#define STILL_US 1000000u

/* Under power for so much of that time means busy: drivers that count put an idle device to sleep within 50 ms. */
#define STILL_POWER_PERMILLE 900u

/* So much of the device's own figure means busy. */
#define STILL_LOAD_PERMILLE 500u

/* Drivers whose counters are off until somebody writes 1 to this file of their device. */
#define PROFILING_FILE "profiling"

static const char *const profiled[] = { "panfrost", "panthor" };

struct watcher {
    const struct root *root;
    struct gpu device;
    struct proc *proc; /* owned */
    struct walk walk;
    struct clients clients;
    struct proc_counts counts; /* of the last whole walk */
    uint64_t now_us;           /* of this turn */
    uint32_t n_cached;
    uint32_t n_silent; /* descriptors of the walk under way, without a client id */
    uint32_t n_silent_last;
    uint32_t n_failed; /* clients that there was no memory for */
    int fault;         /* of the last walk: /proc itself */
    bool is_gone;      /* the device has no node any more */
    bool is_off;       /* its profiling switch is off */
    bool is_still;     /* counters stand while the device is busy */
    uint64_t still_us; /* when power was looked at while they stood; 0: not */
    struct runtime_pm still_pm;
    atomic_bool walk_soon;
};

static void close_kept(struct watcher *watcher, struct client *client)
{
    if (client->cached_fd >= 0) {
        fd_closep(&client->cached_fd);
        watcher->n_cached--;
    }
}

/* What proc found in a walk. */
static void on_found(void *context, uint32_t pid, uint32_t fd, const char *text, size_t n)
{
    struct watcher *watcher = context;
    struct fdinfo fdinfo;
    struct client *client;
    int r;

    if (!fdinfo_parse(&fdinfo, text, n) || !fdinfo.has_client) {
        watcher->n_silent++;
        return;
    }
    /* The slot is surer than the name of a node, which a container may have given anew. */
    if (fdinfo.pdev[0] && watcher->device.is_pci && strcmp(fdinfo.pdev, watcher->device.name) != 0) {
        return;
    }
    r = clients_update(&watcher->clients, watcher->device.minor, &fdinfo, watcher->now_us, &client);
    if (r == CLIENTS_REPEATED || r == CLIENTS_FULL) {
        return;
    }
    if (r) {
        watcher->n_failed++;
        return;
    }
    if (client->pid != pid || client->fd != fd) {
        close_kept(watcher, client);
        client->pid = pid;
        client->fd = fd;
        proc_name(watcher->proc, pid, client->name, sizeof(client->name));
    }
}

static bool is_profiled(const struct watcher *watcher)
{
    for (size_t i = 0; i < COUNTOF(profiled); i++) {
        if (strcmp(watcher->device.driver, profiled[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The switch stands in the device's folder. */
static void check_profiling(struct watcher *watcher)
{
    char path[sizeof(watcher->device.path) + 16];
    int64_t value;

    if (is_profiled(watcher)) {
        snprintf(path, sizeof(path), "%s/" PROFILING_FILE, watcher->device.path);
        watcher->is_off = root_read_number(watcher->root, path, &value) == 0 && value == 0;
    }
}

static void end_walk(struct watcher *watcher)
{
    for (uint32_t i = 0; i < watcher->clients.n; i++) {
        if (!watcher->clients.all[i].is_seen) {
            close_kept(watcher, &watcher->clients.all[i]);
        }
    }
    clients_end(&watcher->clients);
    watcher->n_silent_last = watcher->n_silent;
    walk_end(&watcher->walk);
}

static void continue_walk(struct watcher *watcher)
{
    if (proc_continue(watcher->proc, PROC_BUDGET, on_found, watcher, &watcher->counts)) {
        end_walk(watcher);
    }
}

static void set_nodes(struct watcher *watcher)
{
    const uint32_t minors[] = { watcher->device.minor, watcher->device.card };

    proc_set_minors(watcher->proc, minors, watcher->device.card == GPU_NO_MINOR ? 1 : 2);
}

/*
 * A device that was unplugged and came back may have other numbers: those of old would show nobody, which is not
 * idle.
 */
static void check_nodes(struct watcher *watcher)
{
    struct gpu devices[GPUS_MAX];
    char link[48];
    char path[512];
    uint32_t n;

    snprintf(link, sizeof(link), "/sys/class/drm/%s/device", watcher->device.node);
    watcher->is_gone =
        root_real_path(watcher->root, link, path, sizeof(path)) != 0 || strcmp(path, watcher->device.path) != 0;
    if (!watcher->is_gone) {
        return;
    }
    n = gpu_list(watcher->root, devices, GPUS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(devices[i].path, watcher->device.path) == 0) {
            watcher->device = devices[i];
            watcher->is_gone = false;
            set_nodes(watcher);
        }
    }
}

static void begin_walk(struct watcher *watcher)
{
    walk_begin(&watcher->walk, watcher->now_us);
    check_nodes(watcher);
    check_profiling(watcher);
    clients_begin(&watcher->clients);
    watcher->n_silent = 0;
    watcher->n_failed = 0;
    watcher->fault = proc_begin(watcher->proc);
    if (watcher->fault) {
        end_walk(watcher);
        return;
    }
    continue_walk(watcher);
}

static void read_client(struct watcher *watcher, struct client *client)
{
    int *cached_fd = client->cached_fd >= 0 || watcher->n_cached < CACHED_MAX ? &client->cached_fd : NULL;
    const bool was_cached = client->cached_fd >= 0;
    struct fdinfo fdinfo;
    const char *text;
    size_t n;
    int r = proc_read(watcher->proc, client->pid, client->fd, cached_fd, &text, &n);

    watcher->n_cached += (client->cached_fd >= 0) - was_cached;
    if (r || !fdinfo_parse(&fdinfo, text, n) || !fdinfo.has_client || fdinfo.client != client->id) {
        /* Ended, closed, or handed on: the next walk knows. */
        close_kept(watcher, client);
        clients_lose(client);
        watcher->walk.is_wanted = true;
        return;
    }
    clients_update_known(&watcher->clients, client, &fdinfo, watcher->now_us);
}

static void update_clients(struct watcher *watcher)
{
    if (atomic_exchange(&watcher->walk_soon, false)) {
        watcher->walk.is_wanted = true;
    }
    switch (walk_step(&watcher->walk, watcher->now_us)) {
    case WALK_STEP_BEGIN:
        begin_walk(watcher);
        break;
    case WALK_STEP_CONTINUE:
        continue_walk(watcher);
        break;
    case WALK_STEP_KNOWN:
        break;
    }
    /* Those that the walk has just read are not due. */
    for (uint32_t i = 0; i < watcher->clients.n; i++) {
        if (walk_is_due(&watcher->clients.all[i], watcher->now_us)) {
            read_client(watcher, &watcher->clients.all[i]);
        }
    }
}

/* Was the device at work since the last such look? Each way that could tell is asked; none may be there. */
static bool has_worked(struct watcher *watcher)
{
    const struct runtime_pm before = watcher->still_pm;
    struct runtime_pm *pm = &watcher->still_pm;
    uint32_t permille;

    if (busy_percent_read(watcher->root, &watcher->device, &permille) == 0 && permille >= STILL_LOAD_PERMILLE) {
        return true;
    }
    *pm = (struct runtime_pm){ 0 };
    /* A display keeps its device under power whether anybody draws or not. */
    if (watcher->device.has_display || runtime_pm_read(watcher->root, &watcher->device, pm) != 0) {
        return false;
    }
    return pm->can_sleep && runtime_pm_share(&before, pm, &permille) && permille >= STILL_POWER_PERMILLE;
}

/* Does the device work while nobody's counter moves? Then they don't count, or somebody is missing. */
static void check_stillness(struct watcher *watcher)
{
    bool is_first;

    if (watcher->clients.n == 0 || watcher->clients.moved_us == watcher->now_us) {
        watcher->still_us = 0;
        watcher->is_still = false;
        return;
    }
    is_first = watcher->still_us == 0;
    if (is_first || watcher->now_us - watcher->still_us >= STILL_US) {
        watcher->is_still = has_worked(watcher) && !is_first;
        watcher->still_us = watcher->now_us;
    }
}

/* The share that could not be seen: of processes, of descriptors, or of clients that can't be understood. */
static uint32_t blind_permille(const struct watcher *watcher, const struct clients_sum *sum)
{
    const struct proc_counts *counts = &watcher->counts;
    const uint32_t n_over = watcher->clients.n_over + watcher->n_failed;
    uint64_t blind = 0;

    if (counts->is_hidden) {
        return FULL_PERMILLE;
    }
    if (counts->n_refused > 0) {
        blind = num_div_up((uint64_t)counts->n_refused * FULL_PERMILLE, counts->n_refused + counts->n_visited);
    }
    if (counts->n_unread > 0) {
        blind =
            num_max(blind, num_div_up((uint64_t)counts->n_unread * FULL_PERMILLE, counts->n_unread + counts->n_read));
    }
    if (sum->n_unmeasured + n_over > 0) {
        blind = num_max(blind, num_div_up((uint64_t)(sum->n_unmeasured + n_over) * FULL_PERMILLE,
                                          watcher->clients.n + n_over));
    }
    return (uint32_t)blind;
}

/* Fills @reading and returns true if the load can't be known. */
static bool is_unknown(const struct watcher *watcher, const struct clients_sum *sum, struct reading *reading)
{
    const struct proc_counts *counts = &watcher->counts;
    const uint64_t now_us = watcher->now_us;

    if (watcher->fault) {
        reading_fail(reading, watcher->fault, NULL);
    } else if (!watcher->walk.has_ended) {
        reading_early(reading, "the first walk over all processes is under way");
    } else if (watcher->is_gone) {
        reading_not(reading, READING_ABSENT, now_us, "the device is gone");
    } else if (counts->is_empty) {
        reading_not(reading, READING_ABSENT, now_us, "there are no processes below /proc");
    } else if (counts->n_visited == 0 && (counts->is_hidden || counts->n_refused > 0)) {
        reading_not(reading, READING_FORBIDDEN, now_us,
                    counts->is_hidden ? "other processes don't show (hidepid)"
                                      : "no other process may be looked into: CAP_SYS_PTRACE is missing");
    } else if (watcher->is_off && watcher->clients.n + watcher->n_silent_last > 0) {
        reading_not(reading, READING_ABSENT, now_us, "%s counts nothing: its switch \"" PROFILING_FILE "\" is 0",
                    watcher->device.driver);
    } else if (watcher->n_silent_last > 0 && watcher->clients.n == 0) {
        reading_not(reading, READING_ABSENT, now_us, "driver %s tells nothing in fdinfo", watcher->device.driver);
    } else if (sum->n_timeless > 0 && sum->n_timed + sum->n_new + sum->n_unmeasured == 0) {
        reading_not(reading, READING_ABSENT, now_us, "driver %s tells no times in fdinfo", watcher->device.driver);
    } else if (watcher->clients.n > 0 && sum->n_unmeasured == watcher->clients.n) {
        reading_not(reading, READING_ABSENT, now_us, "cycles of a clock that nobody tells");
    } else if (sum->n_timed == 0 && sum->n_new > 0) {
        reading_early(reading, "one look is no interval yet");
    } else if (watcher->is_still) {
        reading_not(reading, READING_ABSENT, now_us, "the counters stand still while the device is busy");
    } else {
        return false;
    }
    return true;
}

static void measure(void *body, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute)
{
    struct watcher *watcher = body;
    struct clients_sum sum;
    uint32_t blind;

    watcher->now_us = now_us;
    update_clients(watcher);
    check_stillness(watcher);
    clients_add_up(&watcher->clients, &sum);
    blind = blind_permille(watcher, &sum);
    if (is_unknown(watcher, &sum, ret_graphics)) {
        *ret_compute = *ret_graphics;
        blind = FULL_PERMILLE;
    } else {
        reading_set(ret_graphics, sum.permille[ENGINE_GRAPHICS], now_us);
        reading_set(ret_compute, sum.permille[ENGINE_COMPUTE], now_us);
    }
    ret_graphics->blind_permille = blind;
    ret_compute->blind_permille = blind;
}

static uint32_t list_clients(const void *body, struct source_client *clients, uint32_t cap)
{
    const struct watcher *watcher = body;

    return clients_list(&watcher->clients, clients, cap);
}

static void destroy(void *body)
{
    struct watcher *watcher = body;

    for (uint32_t i = 0; i < watcher->clients.n; i++) {
        fd_closep(&watcher->clients.all[i].cached_fd);
    }
    clients_finish(&watcher->clients);
    proc_destroy(watcher->proc);
    mem_free(watcher);
}

static void destroyp(struct watcher **watcher)
{
    if (*watcher) {
        destroy(*watcher);
    }
}

static const struct pair_table table = {
    .kind = FDINFO_KIND,
    .measure = measure,
    .clients = list_clients,
    .destroy = destroy,
};

static void describe(struct source *source, const struct gpu *device)
{
    const bool is_graphics = source->quantity == READING_GRAPHICS_LOAD;

    label_format(source->name, sizeof(source->name), "fdinfo %s%s", device->node, is_graphics ? "" : " compute");
    label_format(source->path, sizeof(source->path), "/proc");
    label_format(source->why, sizeof(source->why), "times of every client of %s by itself", device->driver);
    load_describe(source, LOAD_RANK_FDINFO, device);
    source->may_block = true; /* drivers take locks to count, which a hung device may hold */
}

int fdinfo_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                const struct gpu *device)
{
    cleanup(destroyp) struct watcher *watcher = mem_calloc(MEM_MISC, 1, sizeof(*watcher));
    int r;

    if (!watcher) {
        return err_new(-ENOMEM);
    }
    watcher->root = root;
    watcher->device = *device;
    clients_init(&watcher->clients);
    watcher->clients.clock_hz = devfreq_highest_hz(root, device);
    r = proc_create(&watcher->proc, root, NULL, 0);
    if (r) {
        return err_up(r);
    }
    set_nodes(watcher);
    r = pair_open(ret_graphics, ret_compute, &table, watcher);
    if (r) {
        return err_up(r);
    }
    steal(&watcher);
    describe(*ret_graphics, device);
    describe(*ret_compute, device);
    return 0;
}

void fdinfo_walk_soon(struct source *source)
{
    struct watcher *watcher = pair_body(source);

    atomic_store(&watcher->walk_soon, true);
}
