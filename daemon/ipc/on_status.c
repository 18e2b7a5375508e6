/*
 * Status: the hub reports what it and its engines hold. Added here are connections and, for users that may observe,
 * descriptors, counters, and the bytes of this process that no account of memory has.
 */
#include "base/clock.h"
#include "base/file.h"
#include "ipc/route.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOLDER "sottod"

/* Returns the resident bytes of this process (field 2 of statm counts pages); 0: not known. */
static uint64_t own_rss(void)
{
    char text[128] = "";
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file) {
        return 0;
    }
    if (fgets(text, sizeof(text), file)) {
        sscanf(text, "%*u %" SCNu64, &pages);
    }
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint32_t count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t n = 0;

    if (!dir) {
        return 0;
    }
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n > 3 ? n - 3 : 0; /* without ".", ".." and the folder itself */
}

/* The kernel takes long to answer this, so it is asked at most once a millisecond. */
static void look_at_own(struct ipc *ipc)
{
    uint64_t now_ms = clock_mono_us() / 1000;

    if (ipc->own.at_ms == 0 || ipc->own.at_ms != now_ms) {
        ipc->own.rss_bytes = own_rss();
        ipc->own.n_descriptors = count_descriptors();
        ipc->own.at_ms = now_ms;
    }
}

/* Returns a copy of a list of pointers with room for @more; NULL: no memory. */
static void *grown(struct arena *arena, void *const *list, size_t n, size_t more)
{
    void **copy = arena_alloc(arena, (n + more) * sizeof(*copy));

    if (copy && n) {
        memcpy(copy, list, n * sizeof(*copy));
    }
    return copy;
}

static bool has_own_rows(const Sotto__V1__StatusReport *report)
{
    for (size_t i = 0; i < report->n_memory; i++) {
        if (strcmp(report->memory[i]->holder, HOLDER) == 0) {
            return true;
        }
    }
    return false;
}

static void add_row(Sotto__V1__StatusReport *report, struct arena *arena, const char *kind, uint64_t bytes,
                    uint64_t peak)
{
    Sotto__V1__MemoryKind *row = arena_alloc(arena, sizeof(*row));

    if (!row) {
        return;
    }
    sotto__v1__memory_kind__init(row);
    row->kind = wire_str(kind);
    row->holder = wire_str(HOLDER);
    row->bytes = bytes;
    row->peak_bytes = peak;
    report->memory[report->n_memory++] = row;
}

static void add_memory(uint64_t rss, Sotto__V1__StatusReport *report, struct arena *arena)
{
    bool has_rows = has_own_rows(report);
    uint64_t sum = 0;
    void *list = grown(arena, (void *const *)report->memory, report->n_memory, MEM_KIND_COUNT + 1);

    report->rss_bytes += rss;
    if (!list) {
        return;
    }
    report->memory = list;
    for (enum mem_kind kind = 0; kind < MEM_KIND_COUNT; kind++) {
        struct mem_account account;

        mem_read(kind, &account);
        sum += account.bytes;
        if (!has_rows && account.peak_bytes) {
            add_row(report, arena, mem_kind_name(kind), account.bytes, account.peak_bytes);
        }
    }
    add_row(report, arena, "not ours", rss > sum ? rss - sum : 0, 0);
}

static void add_counters(const struct ipc_counts *counts, Sotto__V1__StatusReport *report, struct arena *arena)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        { "sotto_connections_accepted_total", counts->n_accepted },
        { "sotto_connections_refused_total", counts->n_refused },
        { "sotto_connections_bad_total", counts->n_bad },
        { "sotto_connections_slow_total", counts->n_slow },
        { "sotto_connection_stalls_total", counts->n_stalls },
        { "sotto_frames_received_total", counts->n_frames_in },
        { "sotto_frames_sent_total", counts->n_frames_out },
        { "sotto_events_dropped_total", counts->n_events_lost },
    };
    void *list = grown(arena, (void *const *)report->counters, report->n_counters, COUNTOF(rows));

    if (!list) {
        return;
    }
    report->counters = list;
    for (size_t i = 0; i < COUNTOF(rows); i++) {
        Sotto__V1__Counter *row = arena_alloc(arena, sizeof(*row));

        if (!row) {
            return;
        }
        sotto__v1__counter__init(row);
        row->name = wire_str(rows[i].name);
        row->value = rows[i].value;
        report->counters[report->n_counters++] = row;
    }
}

static void on_report(void *owner, Sotto__V1__StatusReport *report, struct arena *arena)
{
    struct conn_request *request = owner;
    struct ipc *ipc = request->conn->ipc;

    report->instance = ipc->instance;
    report->server = wire_str("sottod/" SOTTO_VERSION);
    report->uptime_ms = (clock_boot_us() - ipc->started_us) / 1000;
    report->connections = request->conn->grant.observe ? ipc->n_conns : request->conn->tenant->n_conns;
    if (request->conn->grant.observe) {
        look_at_own(ipc);
        report->descriptors = ipc->own.n_descriptors;
        add_memory(ipc->own.rss_bytes, report, arena);
        add_counters(&ipc->counts, report, arena);
    }
    ipc->ops->describe(ipc->owner, &request->conn->grant, report);
    conn_request_answer(request, SOTTO__V1__SERVER_FRAME__BODY_STATUS_REPORT, report);
}

void on_status(struct conn *conn, struct conn_request *request, const Sotto__V1__ClientFrame *frame)
{
    struct diag diag = DIAG_INIT;
    int r = hub_status(conn->ipc->hub, &conn->grant, on_report, request, &request->ticket, &diag);

    (void)frame;
    if (r) {
        conn_request_refuse(request, r, &diag, 0);
    }
}
