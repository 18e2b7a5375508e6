/*
 * Job trace: busy time from the kernel's trace events of GPU jobs
 *
 * Pure: text of trace_pipe and times go in, busy time comes out. A job runs from its run event to its done event. Jobs
 * queued in firmware overlap, so the time of a side is the union of its intervals, not their sum.
 *
 * It understands the events of the DRM scheduler by their new names (stable interface: drm_sched_job_run and _done;
 * fence context:number, device and client id) and by their old ones (drm_run_job and drm_sched_process_job; fence
 * address), and those of the powervr driver (pvr_job_create, _submit_fw, _done), the only ones there that mark compute
 * jobs.
 */
#ifndef SOTTO_LOAD_JOB_TRACE_H
#define SOTTO_LOAD_JOB_TRACE_H

#include "load/engine_class.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_client;

/* Jobs in hardware or firmware at one time; schedulers allow tens per ring. */
#define JOB_TRACE_JOBS_MAX 512u

#define JOB_TRACE_CLIENTS_MAX 64u

#define JOB_TRACE_OTHERS_MAX 8u

/* Drivers declare a job hung after 0.5 to 5 s. An older one has lost its done event. */
#define JOB_TRACE_OLD_US 10000000u

enum job_event {
    JOB_EVENT_NONE,   /* another line */
    JOB_EVENT_CREATE, /* powervr: gives the type of a job */
    JOB_EVENT_RUN,
    JOB_EVENT_DONE,
    JOB_EVENT_LOST, /* the kernel's buffer overflowed */
};

struct job_line {
    enum job_event event;
    bool is_typed; /* one of powervr's own events */
    uint64_t at_us;
    uint64_t key[2]; /* fence context and number, or an address and 0 */
    char ring[32];   /* of RUN; the job's type of CREATE */
    char device[48]; /* "": unknown */
    uint64_t client; /* 0: unknown */
};

/* Parses one line of trace_pipe, without its newline. */
void job_line_parse(struct job_line *ret_line, const char *bytes, size_t n);

/* Union of intervals, fed with starts and ends in the order of time. */
struct job_union {
    uint32_t n_open;
    uint64_t since_us; /* when n_open rose above 0 */
    uint64_t busy_us;  /* before since_us, since the last job_union_take() */
};

void job_union_begin(struct job_union *job_union, uint64_t at_us);
void job_union_end(struct job_union *job_union, uint64_t at_us);

/* Returns the busy time up to @at_us and resets it. */
uint64_t job_union_take(struct job_union *job_union, uint64_t at_us);

struct traced_job {
    bool is_used;
    bool is_running; /* false: created only (powervr) */
    uint64_t key[2];
    uint64_t at_us;
    enum engine_class class;
    uint32_t client; /* index into job_trace::clients; JOB_TRACE_CLIENTS_MAX: none */
};

struct traced_client {
    uint64_t id;
    struct job_union sides[ENGINE_CLASS_COUNT];
    uint32_t permille[ENGINE_CLASS_COUNT]; /* of the last interval */
    uint64_t at_us;                        /* of its last job */
};

struct job_trace {
    char others[JOB_TRACE_OTHERS_MAX][48]; /* devices to ignore */
    uint32_t n_others;
    bool is_typed; /* powervr's own events exist: the scheduler's, of the same jobs, are ignored */
    struct traced_job jobs[JOB_TRACE_JOBS_MAX];
    uint32_t n_jobs; /* entries from here on are unused */
    struct traced_client clients[JOB_TRACE_CLIENTS_MAX];
    uint32_t n_clients;
    struct job_union sides[ENGINE_CLASS_COUNT];
    uint64_t taken_us; /* end of the last interval */
    uint64_t n_lost;   /* losses of events since the last job_trace_take() */
    char rest[512];    /* the beginning of an incomplete line */
    uint32_t n_rest;
    bool is_skipping; /* inside a line that is too long */
};

void job_trace_init(struct job_trace *trace, bool is_typed, uint64_t now_us);

/* Ignores jobs of the device @name. Jobs of any other name count: a device may have several names. */
void job_trace_leave_out(struct job_trace *trace, const char *name);

/* Takes text of trace_pipe, split anywhere. */
void job_trace_feed(struct job_trace *trace, const char *bytes, size_t n);

/*
 * Computes each side's share of the time since the last call, up to @now_us. False: unknown, because events were lost
 * or the interval is empty; the next interval starts at @now_us.
 */
bool job_trace_take(struct job_trace *trace, uint64_t now_us, uint32_t ret_permille[ENGINE_CLASS_COUNT]);

uint32_t job_trace_list(const struct job_trace *trace, uint32_t minor, struct source_client *list, uint32_t cap);

#endif
