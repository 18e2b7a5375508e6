/*
 * Cost of knowing which processes use the GPU
 *
 *     build/plain/tests/bench/bench-load
 *
 * Makes a tree of processes that hold a device, and lets the fdinfo source read it on a clock that jumps: only the CPU
 * time of reading is measured, not the waiting in between. The tree is read like a machine (short names, kept
 * descriptors). Its files are cheaper to read than those of procfs, which a driver writes at each read; so the
 * last row reads the processes of this machine, where links have their real cost.
 */
#include "load/fdinfo.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENTS_MAX_HERE 400u

/* The goal of each row: 1 % of one core. */
#define GOAL_PERCENT 1.0

struct scene {
    const char *name;
    uint32_t n_processes;
    uint32_t n_descriptors; /* of the device, for each process */
    uint32_t n_files;       /* other descriptors, for each process */
    bool is_busy;           /* every client works all the time */
    uint32_t period_ms;
    uint32_t seconds;
};

static const struct scene scenes[] = {
    { "8 busy clients, every 50 ms", 8, 1, 20, true, 50, 60 },
    { "8 busy clients among 200 processes, every 50 ms", 208, 0, 20, true, 50, 60 },
    { "50 processes, 400 descriptors, every 1 s", 50, 8, 12, true, 1000, 60 },
    { "50 processes, 400 descriptors, every 50 ms, idle", 50, 8, 12, false, 50, 20 },
};

static char top[] = "/tmp/sotto-bench-XXXXXX";
static int files[CLIENTS_MAX_HERE]; /* fdinfo of each client */
static uint32_t n_files;

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    _Exit(EXIT_FAILURE);
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST) {
        die(path);
    }
}

/* Writes a text like amdgpu's, the longest of all drivers. */
static int say(char *text, size_t cap, uint64_t client, uint64_t ns)
{
    return snprintf(text, cap,
                    "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t603\ndrm-driver:\tamdgpu\ndrm-client-id:\t%08" PRIu64
                    "\ndrm-pdev:\t0000:03:00.0\npasid:\t32771\ndrm-total-vram:\t131072 KiB\ndrm-shared-vram:\t0\n"
                    "drm-active-vram:\t0\ndrm-resident-vram:\t131072 KiB\ndrm-purgeable-vram:\t0\ndrm-total-gtt:\t8192 "
                    "KiB\n"
                    "drm-shared-gtt:\t0\ndrm-active-gtt:\t0\ndrm-resident-gtt:\t8192 KiB\ndrm-purgeable-gtt:\t0\n"
                    "drm-memory-vram:\t131072 KiB\ndrm-memory-gtt:\t8192 KiB\ndrm-memory-cpu:\t0 KiB\n"
                    "amd-evicted-vram:\t0 KiB\namd-requested-vram:\t131072 KiB\namd-requested-gtt:\t8192 KiB\n"
                    "drm-engine-gfx:\t%016" PRIu64 " ns\ndrm-engine-compute:\t%016" PRIu64
                    " ns\ndrm-engine-dma:\t0 ns\n"
                    "drm-engine-dec:\t0 ns\ndrm-engine-enc:\t0 ns\ndrm-engine-enc_1:\t0 ns\ndrm-engine-jpeg:\t0 ns\n"
                    "drm-engine-vpe:\t0 ns\n",
                    client, ns, ns / 2);
}

static void make_client(uint32_t pid, uint32_t fd)
{
    char path[128];
    char text[2048];
    int n = say(text, sizeof(text), n_files + 1, 0);

    snprintf(path, sizeof(path), "%s/proc/%u/fd/%u", top, pid, fd);
    if (symlink("/dev/dri/renderD128", path) < 0) {
        die(path);
    }
    snprintf(path, sizeof(path), "%s/proc/%u/fdinfo/%u", top, pid, fd);
    files[n_files] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (files[n_files] < 0 || write(files[n_files], text, (size_t)n) != n) {
        die(path);
    }
    n_files++;
}

static void make_process(const struct scene *scene, uint32_t pid)
{
    const uint32_t n = scene->n_descriptors ? scene->n_descriptors : pid <= 8;
    char path[128];

    snprintf(path, sizeof(path), "%s/proc/%u", top, pid);
    make_folder(path);
    snprintf(path, sizeof(path), "%s/proc/%u/fdinfo", top, pid);
    make_folder(path);
    snprintf(path, sizeof(path), "%s/proc/%u/fd", top, pid);
    make_folder(path);
    for (uint32_t i = 0; i < scene->n_files; i++) {
        snprintf(path, sizeof(path), "%s/proc/%u/fd/%u", top, pid, i);
        if (symlink(i % 2 ? "socket:[4711]" : "/dev/null", path) < 0) {
            die(path);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        make_client(pid, scene->n_files + i);
    }
}

static void make_tree(const struct scene *scene)
{
    static const char *const folders[] = {
        "/proc", "/sys", "/sys/class", "/sys/class/drm", "/sys/class/drm/renderD128", "/sys/class/drm/renderD128/device"
    };
    char path[128];

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", top, folders[i]);
        make_folder(path);
    }
    for (uint32_t pid = 1; pid <= scene->n_processes; pid++) {
        make_process(scene, pid);
    }
}

static int take_away(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

static void remove_tree(void)
{
    char path[128];

    for (uint32_t i = 0; i < n_files; i++) {
        close(files[i]);
    }
    n_files = 0;
    snprintf(path, sizeof(path), "%s/proc", top);
    nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS);
    snprintf(path, sizeof(path), "%s/sys", top);
    nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

/* Lets every client work for a tenth of the time. */
static void work(uint64_t now_us)
{
    char text[2048];

    for (uint32_t i = 0; i < n_files; i++) {
        int n = say(text, sizeof(text), i + 1, now_us * 100);

        if (pwrite(files[i], text, (size_t)n, 0) != n) {
            die("pwrite");
        }
    }
}

static double cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void open_source(const struct root *root, struct source **graphics, struct source **compute)
{
    const struct gpu device = {
        .minor = 128, .card = 0, .node = "renderD128", .driver = "amdgpu", .path = "/sys/class/drm/renderD128/device"
    };

    if (fdinfo_open(graphics, compute, root, &device) != 0) {
        die("fdinfo_open");
    }
}

static void print_row(const char *name, uint32_t n_clients, double used_us, double all_us, double longest_us)
{
    const double percent = used_us / all_us * 100;

    printf("%-52s %7u %9.2f %% %10.0f us   %s\n", name, n_clients, percent, longest_us,
           percent <= GOAL_PERCENT ? "reached" : "MISSED");
}

static void run(const struct scene *scene)
{
    struct source_client clients[SOURCE_CLIENTS_MAX];
    const uint64_t period_us = scene->period_ms * 1000ull;
    const uint64_t n_turns = scene->seconds * 1000ull / scene->period_ms;
    struct source *graphics;
    struct source *compute;
    struct reading reading;
    struct root root;
    double longest = 0;
    double used = 0;

    make_tree(scene);
    if (root_open(&root, top) != 0) {
        die(top);
    }
    root.is_machine = true;
    open_source(&root, &graphics, &compute);
    for (uint64_t turn = 1; turn <= n_turns; turn++) {
        double before;
        double took;

        if (scene->is_busy) {
            work(turn * period_us);
        }
        before = cpu_us();
        source_read(graphics, turn * period_us, &reading);
        source_clients(graphics, clients, SOURCE_CLIENTS_MAX);
        took = cpu_us() - before;
        used += took;
        longest = took > longest ? took : longest;
    }
    if (reading.state != READING_OK) {
        fprintf(stderr, "%s: %s\n", scene->name, reading.why);
        _Exit(EXIT_FAILURE);
    }
    print_row(scene->name, n_files, used, scene->seconds * 1e6, longest);
    source_destroy(graphics);
    source_destroy(compute);
    root_close(&root);
    remove_tree();
}

/* Reads the processes of this machine, none of which has the device. */
static void run_here(void)
{
    struct source *graphics;
    struct source *compute;
    struct reading reading;
    struct root root;
    double longest = 0;
    double used = 0;

    if (root_open(&root, "/") != 0) {
        die("/");
    }
    open_source(&root, &graphics, &compute);
    for (uint64_t turn = 1; turn <= 400; turn++) {
        const double before = cpu_us();
        double took;

        source_read(graphics, turn * 50000, &reading);
        took = cpu_us() - before;
        used += took;
        longest = took > longest ? took : longest;
    }
    print_row("the processes of this machine, every 50 ms", 0, used, 20e6, longest);
    source_destroy(graphics);
    source_destroy(compute);
    root_close(&root);
}

/* Measures the kernel's own cost of one fdinfo, without what a driver adds. */
static void price_a_read(void)
{
    enum { N = 20000 };
    int fd = open("/proc/self/fdinfo/0", O_RDONLY | O_CLOEXEC);
    char text[4096];
    double used;

    if (fd < 0) {
        die("/proc/self/fdinfo/0");
    }
    used = cpu_us();
    for (int i = 0; i < N; i++) {
        if (pread(fd, text, sizeof(text), 0) <= 0) {
            die("pread");
        }
    }
    used = cpu_us() - used;
    close(fd);
    printf("\none read of a kept fdinfo file of procfs: %.2f us; 8 clients at 50 ms: %.3f %% of a core\n", used / N,
           used / N * 8 * 20 / 1e4);
}

int main(void)
{
    if (!mkdtemp(top)) {
        die(top);
    }
    printf("%-52s %7s %11s %13s   %s\n", "", "clients", "of a core", "longest turn", "goal: 1 %");
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        run(&scenes[i]);
    }
    run_here();
    price_a_read();
    rmdir(top);
    return EXIT_SUCCESS;
}
