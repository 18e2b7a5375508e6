/*
 * Tables of what is copied: the classes of the kernel, the files of each of their objects, and those of their devices.
 *
 * No file that could identify a person, a machine or a network is in a table: no serial numbers, no EDID, no addresses,
 * and of modules only the names.
 */
#include "record/record.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/copy.h"
#include "record/record_process.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const thermal_files[] = {
    "type",
    "temp",
    "mode",
    "policy",
    "trip_point_*_temp",
    "trip_point_*_type",
    "trip_point_*_hyst",
    "cur_state",
    "max_state",
    "sustainable_power",
    NULL,
};

static const char *const hwmon_files[] = {
    "name",
    "temp*_input",
    "temp*_label",
    "temp*_crit",
    "temp*_max",
    "temp*_emergency",
    "power*_input",
    "power*_average",
    "power*_label",
    "power*_cap",
    "energy*_input",
    "energy*_label",
    "in[0-9]*_input",
    "in[0-9]*_label",
    "curr*_input",
    "curr*_label",
    "freq*_input",
    "freq*_label",
    NULL,
};

static const char *const powercap_files[] = {
    "name", "enabled", "energy_uj", "max_energy_range_uj", "power_uw", NULL,
};

static const char *const devfreq_files[] = {
    "name",     "governor", "available_governors",   "cur_freq",   "target_freq",      "min_freq",
    "max_freq", "load",     "available_frequencies", "trans_stat", "polling_interval", NULL,
};

static const char *const drm_files[] = {
    "dev", "status", "enabled", "dpms", "modes", "gt_*_freq_mhz", NULL,
};

static const char *const kgsl_files[] = {
    "gpubusy", "gpu_busy_percentage", "gpuclk", "max_gpuclk", "temp", "gpu_model", NULL,
};

static const struct {
    const char *folder;
    const char *const *files;
} classes[] = {
    { "/sys/class/thermal", thermal_files },   { "/sys/class/hwmon", hwmon_files },
    { "/sys/class/powercap", powercap_files }, { "/sys/class/devfreq", devfreq_files },
    { "/sys/class/drm", drm_files },           { "/sys/class/kgsl", kgsl_files },
};

/* Files of the device of a DRM node. */
static const char *const gpu_files[] = {
    "vendor", "device",           "class",      "revision",        "modalias",
    "uevent", "gpu_busy_percent", "mem_info_*", "gpu_utilization", NULL,
};
static const char *const power_files[] = {
    "runtime_status", "runtime_active_time", "runtime_suspended_time", "control", "autosuspend_delay_ms", NULL,
};
static const char *const node_files[] = { "compatible", "name", NULL };
static const char *const clock_files[] = { "act_freq", "cur_freq", "min_freq", "max_freq", "rp0_freq", NULL };

static const char *const single_files[] = {
    "/proc/meminfo",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    "/proc/sys/kernel/osrelease",
    "/proc/pvr/status",
    "/sys/firmware/devicetree/base/model",
    "/sys/firmware/devicetree/base/compatible",
    "/sys/kernel/debug/pvr/status",
};

/* Trace events, of which the format is copied. */
static const char *const event_folders[] = {
    "/sys/kernel/tracing/events/gpu_scheduler",
    "/sys/kernel/tracing/events/pvr",
    "/sys/kernel/tracing/events/devfreq",
    "/sys/kernel/debug/tracing/events/gpu_scheduler",
};

static void join(char *path, size_t cap, const char *folder, const char *name)
{
    if ((size_t)snprintf(path, cap, "%s/%s", folder, name) >= cap) {
        snprintf(path, cap, "/-"); /* too long to be opened: such a file does not exist */
    }
}

/* Copies the files @name below the real path @folder. */
static void copy_below(struct copy *copy, const char *folder, const char *name, const char *const *files)
{
    char path[PATH_MAX];

    join(path, sizeof(path), folder, name);
    copy_matching(copy, path, files);
}

/* Copies the device tree node of a device. */
static void copy_node(struct copy *copy, const char *folder)
{
    char path[PATH_MAX];
    char real[PATH_MAX];

    join(path, sizeof(path), folder, "of_node");
    copy_link(copy, path, real, sizeof(real));
    if (real[0]) {
        copy_matching(copy, real, node_files);
    }
}

/* Copies the device at the real path @folder, of a DRM node or of a clock. */
static void copy_gpu(struct copy *copy, const char *folder)
{
    char path[PATH_MAX];
    char real[PATH_MAX];

    copy_matching(copy, folder, gpu_files);
    copy_below(copy, folder, "power", power_files);
    copy_below(copy, folder, "tile0/gt0/freq0", clock_files);
    join(path, sizeof(path), folder, "driver");
    copy_link(copy, path, real, sizeof(real));
    join(path, sizeof(path), folder, "subsystem");
    copy_link(copy, path, real, sizeof(real));
    copy_node(copy, folder);
}

/* Batteries of peripherals have an address in their path and name. */
static bool is_private(const char *real)
{
    return strstr(real, "/power_supply/") != NULL;
}

/* Copies the link from a device number below /sys/dev/char to its node, which libdrm follows. */
static void copy_number(struct copy *copy, const char *real)
{
    char path[PATH_MAX];
    char word[32];
    char there[PATH_MAX];

    join(path, sizeof(path), real, "dev");
    if (root_read_word(copy->from, path, word, sizeof(word)) == 0 && strspn(word, "0123456789:") == strlen(word)) {
        snprintf(path, sizeof(path), "/sys/dev/char/%s", word);
        copy_link(copy, path, there, sizeof(there));
    }
}

/* Copies one object of a class. */
static void copy_object(struct copy *copy, const char *folder, const char *name)
{
    char path[PATH_MAX];
    char real[PATH_MAX];
    char device[PATH_MAX];

    join(path, sizeof(path), folder, name);
    if (root_real_path(copy->from, path, real, sizeof(real)) != 0 || is_private(real)) {
        return;
    }
    copy_link(copy, path, device, sizeof(device));
    for (size_t i = 0; i < COUNTOF(classes); i++) {
        if (strcmp(folder, classes[i].folder) == 0) {
            copy_matching(copy, real, classes[i].files);
        }
    }
    join(path, sizeof(path), real, "device");
    copy_link(copy, path, device, sizeof(device));
    if (strcmp(folder, "/sys/class/drm") == 0) {
        copy_number(copy, real);
    }
    if (device[0] && (strcmp(folder, "/sys/class/drm") == 0 || strcmp(folder, "/sys/class/devfreq") == 0 ||
                      strcmp(folder, "/sys/class/kgsl") == 0)) {
        copy_gpu(copy, device);
    }
}

/* Copies "powervr 131072 2 - Live 0x0" without the address, which is private to the kernel. */
static void copy_modules(struct copy *copy)
{
    size_t n;
    size_t to = 0;

    if (root_read(copy->from, "/proc/modules", copy->text, COPY_FILE_BYTES, &n) != 0) {
        return;
    }
    for (size_t at = 0; at < n;) {
        const size_t n_line = strcspn(copy->text + at, "\n");
        const size_t n_name = strcspn(copy->text + at, " \n");
        char line[96];
        int n_out =
            snprintf(line, sizeof(line), "%.*s 0 0 - Live 0x0\n", (int)(n_name < 64 ? n_name : 64), copy->text + at);

        /* The output never overtakes the input: the rest of "name size uses by state address" is longer than ours. */
        if (n_name > 0 && (size_t)n_out <= n_line + 1) {
            memmove(copy->text + to, line, (size_t)n_out);
            to += (size_t)n_out;
        }
        at += n_line + 1;
    }
    copy_put(copy, "/proc/modules", copy->text, to);
}

static void copy_event(struct copy *copy, const char *folder, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s/format", folder, name);
    copy_file(copy, path);
}

static void copy_all(struct copy *copy)
{
    for (size_t i = 0; i < COUNTOF(single_files); i++) {
        copy_file(copy, single_files[i]);
    }
    for (size_t i = 0; i < COUNTOF(classes); i++) {
        copy_each(copy, classes[i].folder, copy_object);
    }
    for (size_t i = 0; i < COUNTOF(event_folders); i++) {
        copy_each(copy, event_folders[i], copy_event);
    }
    copy_modules(copy);
    record_groups(copy);
    record_processes(copy);
}

/* Opens the empty folder @into. RECORD_OK with *ret_fd, RECORD_REFUSED, or a fault. */
static int open_empty(const char *into, int *ret_fd, struct diag *diag)
{
    cleanup(fd_closep) int fd = -1;
    const struct dirent *entry;
    bool is_empty = true;
    DIR *dir;

    if (mkdir(into, 0700) < 0 && errno != EEXIST) {
        diag_set(diag, "%s: can't be made: %s", into, strerrordesc_np(errno));
        return RECORD_REFUSED;
    }
    fd = open(into, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        diag_set(diag, "%s: can't be opened as a folder: %s", into, strerrordesc_np(errno));
        return RECORD_REFUSED;
    }
    dir = fdopendir(dup(fd));
    if (!dir) {
        return err_new(-errno);
    }
    while ((entry = readdir(dir))) {
        is_empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(dir);
    if (!is_empty) {
        diag_set(diag, "%s exists and is not empty: name a new folder", into);
        return RECORD_REFUSED;
    }
    *ret_fd = fd_steal(&fd);
    return RECORD_OK;
}

int record_machine(const struct root *from, const char *into, struct record *ret_record, struct diag *diag)
{
    cleanup(fd_closep) int fd = -1;
    cleanup(mem_freep) char *text = NULL;
    struct record record = { 0 };
    struct copy copy = { .from = from, .record = &record };
    int r = open_empty(into, &fd, diag);

    if (r) {
        return r;
    }
    text = mem_alloc(MEM_MISC, COPY_FILE_BYTES);
    if (!text) {
        return err_new(-ENOMEM);
    }
    copy.into = fd;
    copy.text = text;
    copy_all(&copy);
    if (copy.fault) {
        diag_set(diag, "%s: can't be written: %s", into, strerrordesc_np(-copy.fault));
        return err_up(copy.fault);
    }
    *ret_record = record;
    return RECORD_OK;
}
