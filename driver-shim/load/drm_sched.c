/*
 * Sets up the trace step by step, each of which may have been done before, and then reads it. A step that fails is
 * named in the reading.
 */
#include "load/drm_sched.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "load/job_trace.h"
#include "load/pair.h"
#include "sysfs/label.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTANCE "sotto"

/* Delay after a failure: permissions may change, or a module may be loaded. */
#define AGAIN_US 10000000u

#define PIECE_BYTES 65536u

/* Pieces per reading; the kernel's buffer keeps the rest, or reports what it lost. */
#define PIECES_MAX 16u

static const char *const kobjects[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/* The set of events of this kernel, which determines their format. */
enum dialect {
    DIALECT_NONE,
    DIALECT_OLD, /* without device and client */
    DIALECT_NEW,
    DIALECT_PVR,
    DIALECT_COUNT,
};

static const char *const events[DIALECT_COUNT][4] = {
    [DIALECT_OLD] = { "gpu_scheduler/drm_run_job", "gpu_scheduler/drm_sched_process_job" },
    [DIALECT_NEW] = { "gpu_scheduler/drm_sched_job_run", "gpu_scheduler/drm_sched_job_done" },
    [DIALECT_PVR] = { "pvr/pvr_job_create", "pvr/pvr_job_submit_fw", "pvr/pvr_job_done" },
};

static const char *const words[DIALECT_COUNT] = {
    [DIALECT_NONE] = "the DRM scheduler has no trace events here",
    [DIALECT_OLD] = "job times of all devices together, including our own",
    [DIALECT_NEW] = "job times of each client; waiting in firmware counts",
    [DIALECT_PVR] = "job times, 3D and compute apart; waiting in firmware counts",
};

struct tracer {
    const struct root *root;
    struct gpu device;
    char base[40];   /* the trace folders */
    char folder[80]; /* our instance */
    enum dialect dialect;
    int pipe;       /* -1: not set up */
    bool is_made;   /* we made the instance and remove it */
    bool has_begun; /* an interval has begun */
    uint64_t again_us;
    struct reading failed; /* the reason why it is not set up */
    struct job_trace trace;
    char *piece; /* owned, PIECE_BYTES */
};

/* Writes @text into a file of the machine; never into a recorded tree. 0 or -errno. */
static int write_file(const struct root *root, const char *path, const char *text)
{
    cleanup(fd_closep) int fd = -1;
    ssize_t n;

    if (!root->is_machine) {
        return -EROFS;
    }
    fd = openat(root->fd, path + 1, O_WRONLY | O_CLOEXEC | O_TRUNC);
    if (fd < 0) {
        return -errno;
    }
    n = write(fd, text, strlen(text));
    return n < 0 ? -errno : n == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Stores the reason of a failed setup; returns false for the caller's convenience. */
static bool fail(struct tracer *tracer, uint64_t now_us, int fault, const char *what)
{
    const bool is_forbidden = fault == -EACCES || fault == -EPERM || fault == -EROFS;

    reading_not(&tracer->failed, is_forbidden ? READING_FORBIDDEN : READING_ABSENT, now_us, "tracing: %s: %s", what,
                strerror(-fault));
    return false;
}

static bool ensure_instance(struct tracer *tracer, uint64_t now_us)
{
    int fault = -EROFS;

    snprintf(tracer->folder, sizeof(tracer->folder), "%s/instances/" INSTANCE, tracer->base);
    if (root_has(tracer->root, tracer->folder)) {
        return true;
    }
    if (tracer->root->is_machine) {
        fault = mkdirat(tracer->root->fd, tracer->folder + 1, 0700) < 0 ? -errno : 0;
    }
    tracer->is_made = fault == 0;
    return fault == 0 || fail(tracer, now_us, fault, "make instance " INSTANCE);
}

/* Selects the monotonic clock, with which the times are compared. */
static bool ensure_clock(struct tracer *tracer, uint64_t now_us)
{
    char path[sizeof(tracer->folder) + 16];
    char text[256];
    size_t n;
    int r;

    snprintf(path, sizeof(path), "%s/trace_clock", tracer->folder);
    if (root_read(tracer->root, path, text, sizeof(text), &n) == 0 && strstr(text, "[mono]")) {
        return true;
    }
    r = write_file(tracer->root, path, "mono");
    return r == 0 || fail(tracer, now_us, r, "set trace_clock to mono");
}

/* Makes the file @name of the instance begin with 1, unless it does. */
static bool ensure_on(struct tracer *tracer, uint64_t now_us, const char *name)
{
    char path[sizeof(tracer->folder) + 80];
    char word[16];
    int r;

    snprintf(path, sizeof(path), "%s/%s", tracer->folder, name);
    if (root_read_word(tracer->root, path, word, sizeof(word)) == 0 && word[0] == '1') {
        return true;
    }
    r = write_file(tracer->root, path, "1");
    return r == 0 || fail(tracer, now_us, r, name);
}

static bool ensure_events(struct tracer *tracer, uint64_t now_us)
{
    char name[80];

    for (size_t i = 0; i < COUNTOF(events[0]) && events[tracer->dialect][i]; i++) {
        snprintf(name, sizeof(name), "events/%s/enable", events[tracer->dialect][i]);
        if (!ensure_on(tracer, now_us, name)) {
            return false;
        }
    }
    return ensure_on(tracer, now_us, "tracing_on");
}

static bool ensure_pipe(struct tracer *tracer, uint64_t now_us)
{
    cleanup(fd_closep) int fd = -1;
    char path[sizeof(tracer->folder) + 16];
    int r;

    snprintf(path, sizeof(path), "%s/trace_pipe", tracer->folder);
    r = root_open_file(tracer->root, path, &fd);
    if (r) {
        return fail(tracer, now_us, r, "trace_pipe");
    }
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
        return fail(tracer, now_us, -errno, "trace_pipe");
    }
    /* Two readers would take each other's events. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        return fail(tracer, now_us, -errno, "read by another");
    }
    tracer->pipe = fd_steal(&fd);
    return true;
}

static enum dialect dialect_of(const struct root *root, const char *base, const struct gpu *device)
{
    const bool is_powervr = strcmp(device->driver, "powervr") == 0;

    for (enum dialect dialect = DIALECT_PVR; dialect > DIALECT_NONE; dialect--) {
        char path[128];

        snprintf(path, sizeof(path), "%s/events/%s", base, events[dialect][0]);
        if ((dialect != DIALECT_PVR || is_powervr) && root_has(root, path)) {
            return dialect;
        }
    }
    return DIALECT_NONE;
}

static void find_base(struct tracer *tracer)
{
    const bool is_debugfs = !root_has(tracer->root, kobjects[0]) && root_has(tracer->root, kobjects[1]);

    snprintf(tracer->base, sizeof(tracer->base), "%s", kobjects[is_debugfs]);
    tracer->dialect = dialect_of(tracer->root, tracer->base, &tracer->device);
}

/*
 * Leaves out the jobs of devices that certainly are not this GPU: its own device may differ from the one of its DRM
 * node.
 */
static void leave_out_others(struct tracer *tracer)
{
    struct gpu devices[GPUS_MAX];
    const uint32_t n = gpu_list(tracer->root, devices, GPUS_MAX);

    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(devices[i].path, tracer->device.path) != 0) {
            job_trace_leave_out(&tracer->trace, devices[i].name);
        }
    }
}

static bool set_up(struct tracer *tracer, uint64_t now_us)
{
    DIR *dir;
    int r = root_open_folder(tracer->root, tracer->base, &dir);

    if (r) {
        return fail(tracer, now_us, r, tracer->base);
    }
    closedir(dir);
    tracer->dialect = dialect_of(tracer->root, tracer->base, &tracer->device);
    if (tracer->dialect == DIALECT_NONE) {
        reading_not(&tracer->failed, READING_ABSENT, now_us, "%s", words[DIALECT_NONE]);
        return false;
    }
    if (!ensure_instance(tracer, now_us) || !ensure_clock(tracer, now_us) || !ensure_events(tracer, now_us) ||
        !ensure_pipe(tracer, now_us)) {
        return false;
    }
    job_trace_init(&tracer->trace, tracer->dialect == DIALECT_PVR, now_us);
    leave_out_others(tracer);
    tracer->has_begun = false;
    return true;
}

/* Reads all pending events. 0 or -errno. */
static int drain(struct tracer *tracer)
{
    for (uint32_t i = 0; i < PIECES_MAX; i++) {
        const ssize_t n = read(tracer->pipe, tracer->piece, PIECE_BYTES);

        if (n == 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
            return 0;
        }
        if (n < 0) {
            return -errno;
        }
        job_trace_feed(&tracer->trace, tracer->piece, (size_t)n);
    }
    return 0;
}

static void measure(void *body, uint64_t now_us, struct reading *ret_graphics, struct reading *ret_compute)
{
    struct tracer *tracer = body;
    uint32_t permille[ENGINE_CLASS_COUNT];
    bool is_known;
    int r;

    if (tracer->pipe < 0 && now_us >= tracer->again_us && !set_up(tracer, now_us)) {
        tracer->again_us = now_us + AGAIN_US;
    }
    if (tracer->pipe < 0) {
        *ret_graphics = tracer->failed;
        *ret_compute = tracer->failed;
        return;
    }
    r = drain(tracer);
    if (r) {
        fd_closep(&tracer->pipe);
        fail(tracer, now_us, r, "trace_pipe");
        *ret_graphics = tracer->failed;
        *ret_compute = tracer->failed;
        return;
    }
    is_known = job_trace_take(&tracer->trace, now_us, permille) && tracer->has_begun;
    if (is_known) {
        reading_set(ret_graphics, permille[ENGINE_GRAPHICS], now_us);
        reading_set(ret_compute, permille[ENGINE_COMPUTE], now_us);
    } else if (tracer->has_begun) {
        reading_not(ret_graphics, READING_ABSENT, now_us, "events were lost");
        *ret_compute = *ret_graphics;
    } else {
        reading_early(ret_graphics, "no interval yet: this was the first reading");
        *ret_compute = *ret_graphics;
    }
    tracer->has_begun = true;
}

static uint32_t list_clients(const void *body, struct source_client *clients, uint32_t cap)
{
    const struct tracer *tracer = body;

    return job_trace_list(&tracer->trace, tracer->device.minor, clients, cap);
}

static void destroy(void *body)
{
    struct tracer *tracer = body;

    fd_closep(&tracer->pipe);
    if (tracer->is_made) {
        unlinkat(tracer->root->fd, tracer->folder + 1, AT_REMOVEDIR);
    }
    mem_free(tracer->piece);
    mem_free(tracer);
}

static void describe(struct source *source, const void *body)
{
    const struct tracer *tracer = body;
    const bool is_graphics = source->quantity == READING_GRAPHICS_LOAD;
    /* powervr's own events mark compute jobs, and so tell our own work apart. */
    const bool is_apart = tracer->dialect == DIALECT_NEW || (tracer->dialect == DIALECT_PVR && is_graphics);

    label_set(source->name, "drm-sched %s%s", tracer->device.node, is_graphics ? "" : " compute");
    label_set(source->path, "%s", tracer->base);
    label_set(source->why, "%s", words[tracer->dialect]);
    load_describe(source, LOAD_RANK_SCHED, &tracer->device);
    source->may_block = true;
    source->is_mixed = !is_apart;
}

static const struct pair_table table = {
    .kind = "drm-sched",
    .measure = measure,
    .clients = list_clients,
    .describe = describe,
    .destroy = destroy,
};

int drm_sched_open(struct source **ret_graphics, struct source **ret_compute, const struct root *root,
                   const struct gpu *device)
{
    struct tracer *tracer = mem_calloc(MEM_MISC, 1, sizeof(*tracer));

    if (!tracer) {
        return err_new(-ENOMEM);
    }
    tracer->root = root;
    tracer->device = *device;
    tracer->pipe = -1;
    tracer->piece = mem_alloc(MEM_MISC, PIECE_BYTES);
    if (!tracer->piece) {
        destroy(tracer);
        return err_new(-ENOMEM);
    }
    find_base(tracer);
    return err_up(pair_open(ret_graphics, ret_compute, &table, tracer));
}
