/*
 * Probe: driver-shim on the nodes, zones and sockets of a real kernel; prints TAP
 *
 * Runs as root in the lab's virtual machine: a virtio GPU (with a screen), vgem and the lab's own module. Facts that
 * remove something (the unplug) come last.
 */
#include "base/clean.h"
#include "base/clock.h"
#include "drm/choice.h"
#include "drm/claim.h"
#include "drm/share.h"
#include "drm/syncobj.h"
#include "inventory/inventory.h"
#include "load/load.h"
#include "netlink/netlink.h"
#include "netlink/uevent.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <xf86drm.h>

/* The lab module's only ioctl: makes this client keep the engine busy for a share of the time. */
struct labgpu_busy {
    uint32_t percent;
    uint32_t padding;
};

#define LABGPU_IOCTL_BUSY DRM_IOW(DRM_COMMAND_BASE + 0, struct labgpu_busy)

static struct root machine;
static struct device devices[DEVICES_MAX];
static uint32_t n_devices;
static int n_facts;
static int n_failed;

__attribute__((format(printf, 2, 3))) static void fact(bool holds, const char *format, ...)
{
    va_list words;

    printf("%sok %d - ", holds ? "" : "not ", ++n_facts);
    va_start(words, format);
    vprintf(format, words);
    va_end(words);
    putchar('\n');
    fflush(stdout);
    n_failed += !holds;
}

static const struct device *find(const char *driver)
{
    for (uint32_t i = 0; i < n_devices; i++) {
        if (strcmp(devices[i].driver, driver) == 0) {
            return &devices[i];
        }
    }
    fprintf(stderr, "no device of %s\n", driver);
    exit(1);
}

static int open_node(const struct node *node)
{
    int fd = -1;

    if (node_open(node, &fd) < 0) {
        fprintf(stderr, "%s does not open\n", node->path);
        exit(1);
    }
    return fd;
}

static void write_knob(const char *name, const char *value)
{
    char path[96];
    FILE *file;

    snprintf(path, sizeof(path), "/sys/module/labgpu/parameters/%s", name);
    file = fopen(path, "we");
    if (file) {
        fputs(value, file);
        fclose(file);
    }
}

/* ---- devices */

static void look_at_devices(void)
{
    struct choice choice;
    struct diag diag = DIAG_INIT;
    int r;

    r = device_find_all(&machine, devices, &n_devices);
    fact(r == 0 && n_devices == 3, "three devices are found (%u)", n_devices);
    fact(find("virtio_gpu")->bus == DEVICE_ON_PCI && find("virtio_gpu")->pci_vendor == 0x1af4,
         "the virtio GPU is on PCI, by its vendor");
    fact(find("labgpu")->bus == DEVICE_ON_VIRTUAL && find("vgem")->bus == DEVICE_ON_VIRTUAL,
         "devices on no bus are virtual");
    fact(find("labgpu")->features == (DEVICE_IMPORTS | DEVICE_EXPORTS | DEVICE_SYNCOBJ | DEVICE_TIMELINE),
         "labgpu has dma-bufs and timelines");
    fact((find("vgem")->features & (DEVICE_SYNCOBJ | DEVICE_TIMELINE)) == 0, "vgem has no sync objects");
    fact(find("virtio_gpu")->has_display, "the screen is connected to the virtio GPU");
    r = choice_make(devices, n_devices, &(struct choice_policy){ 0 }, &choice, &diag);
    fact(r == CHOICE_OK && &devices[choice.chosen] == find("virtio_gpu"), "the virtio GPU is chosen: %s",
         r == CHOICE_OK ? choice.why[choice.chosen] : diag.text);
    r = choice_make(devices, n_devices, &(struct choice_policy){ .node = find("labgpu")->render.path }, &choice, &diag);
    fact(r == CHOICE_OK && &devices[choice.chosen] == find("labgpu"), "a path overrides the choice");
}

static void look_at_claims(void)
{
    struct diag diag = DIAG_INIT;
    struct claim claim;
    int status = 0;
    pid_t child;

    fact(claim_take(&claim, "/run", find("labgpu")->bus_name, &diag) == CLAIM_OK, "a device is claimed");
    child = fork();
    if (child == 0) {
        struct claim second;

        _exit(claim_take(&second, "/run", find("labgpu")->bus_name, &diag) == CLAIM_HELD &&
                      strstr(diag.text, "vm-probe")
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    fact(status == 0, "a second claim is refused, and names this program");
    claim_drop(&claim);
}

static void look_at_refusals(void)
{
    struct node node = find("labgpu")->render;
    int fd;

    write_knob("fail", "13");
    fact(node_open(&node, &fd) == -EACCES, "a refused open is -EACCES");
    write_knob("fail", "0");
    node_try(&node, &machine);
    fact(node.access == NODE_OPENS && node.mode != 0, "it opens once it is allowed (mode %04o, group %u)",
         (unsigned)node.mode, (unsigned)node.gid);
}

/* ---- buffers */

/* Makes a dumb buffer on the card: the only kind that a virtual driver has. */
static uint32_t make_buffer(int fd)
{
    struct drm_mode_create_dumb ask = { .width = 64, .height = 16, .bpp = 32 };

    return drmIoctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &ask) == 0 ? ask.handle : 0;
}

static void look_at_buffers(void)
{
    cleanup(fd_closep) int from = open_node(&find("virtio_gpu")->card);
    cleanup(fd_closep) int into = open_node(&find("labgpu")->render);
    cleanup(fd_closep) int dmabuf = -1;
    cleanup(fd_closep) int back = -1;
    cleanup(fd_closep) int fence = -1;
    uint32_t handle = make_buffer(from);
    uint32_t again = 0;
    uint32_t taken = 0;
    struct share there;
    struct share here;
    uint8_t *bytes;

    share_init(&here, from);
    share_init(&there, into);
    fact(handle && share_own(&here, handle) == 0 && share_export(&here, handle, &dmabuf) == 0,
         "a buffer of the virtio GPU becomes a dma-buf");
    fact(share_import(&here, dmabuf, &again) == 0 && again == handle, "its own driver imports it as the same handle");
    fact(share_import(&there, dmabuf, &taken) == 0 && share_export(&there, taken, &back) == 0,
         "another driver imports and exports it");
    bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
    fact(bytes != MAP_FAILED && share_cpu_begin(dmabuf, true) == 0, "the CPU may write to it");
    bytes[11] = 0x5a;
    share_cpu_end(dmabuf, true);
    munmap(bytes, 4096);
    bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, back, 0);
    fact(bytes != MAP_FAILED && share_cpu_begin(back, false) == 0 && bytes[11] == 0x5a,
         "the other driver's buffer has the same bytes");
    share_cpu_end(back, false);
    fact(share_fence(dmabuf, true, &fence) == 0, "its work has a sync file");
    share_drop(&here, again);
    share_finish(&here);
    share_finish(&there);
}

static void look_at_sync_objects(void)
{
    cleanup(fd_closep) int lab = open_node(&find("labgpu")->render);
    cleanup(fd_closep) int vgem = open_node(&find("vgem")->render);
    cleanup(fd_closep) int event = eventfd(0, EFD_CLOEXEC);
    cleanup(fd_closep) int exported = -1;
    struct syncobj object;
    struct syncobj other;
    uint64_t begun_us = clock_mono_us();
    uint64_t point = 0;

    fact(syncobj_create(&other, vgem, false) == -EOPNOTSUPP, "vgem returns -EOPNOTSUPP for sync objects");
    fact(syncobj_create(&object, lab, false) == 0, "labgpu has sync objects");
    fact(syncobj_wait(&object, 0, 50000) == SYNCOBJ_LATE && clock_mono_us() - begun_us >= 50000,
         "a wait ends at its timeout");
    fact(syncobj_notify(&object, 0, event) == 0, "an eventfd is registered");
    syncobj_signal(&object);
    fact(syncobj_wait(&object, 0, 1000000) == SYNCOBJ_OK &&
             poll(&(struct pollfd){ .fd = event, .events = POLLIN }, 1, 2000) == 1,
         "a signal ends the wait and signals the eventfd");
    fact(syncobj_export(&object, &exported) == 0 && syncobj_import(&other, lab, exported) == 0,
         "it is passed on as a descriptor");
    syncobj_destroy(&other);
    syncobj_destroy(&object);
    syncobj_create(&object, lab, false);
    fact(syncobj_signal_point(&object, 7) == 0 && syncobj_read(&object, &point) == 0 && point == 7 &&
             syncobj_wait(&object, 7, 1000) == SYNCOBJ_OK && syncobj_wait(&object, 8, 1000) == SYNCOBJ_LATE,
         "a timeline is waited for by its point");
    syncobj_destroy(&object);
}

/* ---- readings */

/*
 * Reads the sources of @quantity until one with @word in its name is OK and @good returns true, for five seconds at
 * most.
 */
static bool comes_true(struct list *sources, enum reading_quantity quantity, const char *word,
                       bool (*good)(int64_t value), int64_t *ret_value)
{
    uint64_t end_us = clock_mono_us() + 5000000;

    while (clock_mono_us() < end_us) {
        struct list *link;

        list_for_each (link, sources) {
            struct source *source = container_of(link, struct source, link);
            struct reading reading;

            if (source->quantity != quantity || !strstr(source->name, word)) {
                continue;
            }
            source_read(source, clock_mono_us(), &reading);
            *ret_value = reading.value;
            if (reading.state == READING_OK && good(reading.value)) {
                return true;
            }
        }
        poll(NULL, 0, 50);
    }
    return false;
}

static bool is_about_600(int64_t value)
{
    return value > 500 && value < 700;
}

static bool is_0(int64_t value)
{
    return value == 0;
}

static bool is_800_mhz(int64_t value)
{
    return value == 800000;
}

static bool is_hot(int64_t value)
{
    return value == 90000;
}

static void look_at_load(void)
{
    struct gpu list[GPUS_MAX];
    uint32_t n = gpu_list(&machine, list, GPUS_MAX);
    int lab = open_node(&find("labgpu")->render);
    struct labgpu_busy busy = { .percent = 60 };
    struct list sources;
    int64_t value = -1;
    bool seen;

    list_init(&sources);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(list[i].driver, "labgpu") == 0) {
            load_find(&sources, &machine, &list[i]);
        }
    }
    drmIoctl(lab, LABGPU_IOCTL_BUSY, &busy);
    seen = comes_true(&sources, READING_COMPUTE_LOAD, "fdinfo", is_about_600, &value);
    fact(seen, "a client that is busy for 60 %% of the time reads as that (%lld permille)", (long long)value);
    write_knob("load", "95");
    seen = comes_true(&sources, READING_CLOCK, "", is_800_mhz, &value);
    fact(seen, "the clock follows the load (%lld kHz)", (long long)value);
    write_knob("load", "0");
    busy.percent = 0;
    drmIoctl(lab, LABGPU_IOCTL_BUSY, &busy);
    fact(comes_true(&sources, READING_COMPUTE_LOAD, "fdinfo", is_0, &value), "it reads as idle once it is");
    close(lab);
    inventory_clear(&sources);
}

static void on_thermal(void *owner, const struct thermal_event *event)
{
    uint32_t *n = owner;

    (*n)++;
    (void)event;
}

static void look_at_heat(void)
{
    struct sensor_policy policy;
    struct netlink netlink;
    struct list sources;
    uint32_t n_events = 0;
    int64_t value = -1;
    bool joined = netlink_open(&netlink, false) == 0;
    bool seen;

    list_init(&sources);
    policy_init(&policy);
    policy.heat.patterns = (const char *const[]){ "labgpu", NULL };
    fact(joined, "the kernel's thermal events are subscribed to");
    fact(inventory_scan(&machine, &policy, &sources) == 0, "the inventory is taken");
    write_knob("temp", "90000");
    seen = comes_true(&sources, READING_TEMPERATURE, "labgpu", is_hot, &value);
    fact(seen, "the zone reads 90 degrees (%lld)", (long long)value);
    seen = joined && poll(&(struct pollfd){ .fd = netlink.fd, .events = POLLIN }, 1, 5000) == 1 &&
           netlink_read(&netlink, on_thermal, &n_events) == 0 && n_events > 0;
    fact(seen, "a crossed trip point wakes (%u events)", n_events);
    write_knob("temp", "45000");
    inventory_clear(&sources);
    if (joined) {
        netlink_close(&netlink);
    }
}

static void on_uevent(void *owner, const struct uevent *uevent)
{
    bool *removed = owner;

    *removed = *removed || (uevent->subsystem == UEVENT_DRM && uevent->action == UEVENT_REMOVE);
}

static void look_at_unplugging(void)
{
    int lab = open_node(&find("labgpu")->render);
    bool removed = false;
    bool lost = false;
    struct syncobj object;
    int events = -1;

    syncobj_create(&object, lab, false);
    fact(uevent_open(&events) == 0 && !device_is_lost(lab), "before the unplug the device works");
    write_knob("unplug", "1");
    fact(device_is_lost(lab) && syncobj_signal(&object) == -ENODEV, "after it every call returns -ENODEV");
    for (int i = 0; i < 20 && !removed; i++) {
        poll(&(struct pollfd){ .fd = events, .events = POLLIN }, 1, 250);
        uevent_read(events, on_uevent, &removed, &lost);
    }
    fact(removed, "the kernel announces the removal");
    fact(device_find_all(&machine, devices, &n_devices) == 0 && n_devices == 2, "two devices are left");
    close(events);
    close(lab);
}

int main(void)
{
    if (root_open(&machine, "/") < 0) {
        return 1;
    }
    look_at_devices();
    look_at_claims();
    look_at_refusals();
    look_at_buffers();
    look_at_sync_objects();
    look_at_load();
    look_at_heat();
    look_at_unplugging();
    return n_failed != 0;
}
