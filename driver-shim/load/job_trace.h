/*
 * Job trace: from the kernel's trace events of GPU jobs to busy time
 *
 * Pure: text of trace_pipe and times in, busy time out. A job runs from its run event to its done event. Jobs that
 * are queued in a firmware overlap, so the time of a side is the union of its intervals, not their sum.
 *
 * Understood are the events of the DRM scheduler, by their new names (stable interface: drm_sched_job_run and _done,
 * fence context:number, device and client id) and by their old ones (drm_run_job and drm_sched_process_job: fence
 * address), and those of the powervr driver (pvr_job_create, _submit_fw, _done), which alone say what is compute
 * there.
 */
#ifndef SOTTO_LOAD_JOB_TRACE_H
#define SOTTO_LOAD_JOB_TRACE_H

#include "load/engine_class.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source_client;

/* Jobs that are in the hardware or firmware at one time; schedulers allow tens on a ring. */
#define JOB_TRACE_JOBS_MAX 512u

#define JOB_TRACE_CLIENTS_MAX 64u

#define JOB_TRACE_OTHERS_MAX 8u

/* Drivers call a job hung after 0.5 to 5 s. One that is older has lost its done event. */
#define JOB_TRACE_OLD_US 10000000u

enum job_event {
    JOB_EVENT_NONE,   /* another line */
    JOB_EVENT_CREATE, /* powervr: says what a job is */
    JOB_EVENT_RUN,
    JOB_EVENT_DONE,
    JOB_EVENT_LOST, /* the kernel's buffer ran over */
};

struct job_line {
    enum job_event event;
    bool is_typed; /* of powervr's events */
    uint64_t at_us;
    uint64_t key[2]; /* fence context and number, or an address and 0 */
    char ring[32];   /* of RUN; of CREATE the job's type */
    char device[48]; /* ""; not told */
    uint64_t client; /* 0: not told */
};

/* One line of trace_pipe without its end. */
void job_line_parse(struct job_line *ret_line, const char *bytes, size_t n);

/* Union of intervals as they begin and end, in the order of time. */
struct job_union {
    uint32_t n_open;
    uint64_t since_us; /* since when n_open is above 0 */
    uint64_t busy_us;  /* before that, since the last job_union_take() */
};

void job_union_begin(struct job_union *job_union, uint64_t at_us);
void job_union_end(struct job_union *job_union, uint64_t at_us);

/* Busy time up to @at_us, which then begins anew. */
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
    char others[JOB_TRACE_OTHERS_MAX][48]; /* devices whose jobs don't count; all others' do */
    uint32_t n_others;
    bool is_typed; /* powervr's own events are there: the scheduler's, of the same jobs, don't count */
    struct traced_job jobs[JOB_TRACE_JOBS_MAX];
    uint32_t n_jobs; /* none is used from here on */
    struct traced_client clients[JOB_TRACE_CLIENTS_MAX];
    uint32_t n_clients;
    struct job_union sides[ENGINE_CLASS_COUNT];
    uint64_t taken_us; /* end of the last interval */
    uint64_t n_lost;   /* times that events were lost, since the last job_trace_take() */
    char rest[512];    /* a line that was not whole yet */
    uint32_t n_rest;
    bool is_skipping; /* in a line that is too long */
};

void job_trace_init(struct job_trace *trace, bool is_typed, uint64_t now_us);

/* Jobs of the device called @name are another's. A name that nobody gave here counts: a device may have several. */
void job_trace_leave_out(struct job_trace *trace, const char *name);

/* Text of trace_pipe in any pieces. */
void job_trace_feed(struct job_trace *trace, const char *bytes, size_t n);

/*
 * Shares of the time since the last call, up to @now_us, for each side. False: events were lost or the interval is
 * empty, so nobody knows; the next interval counts anew.
 */
bool job_trace_take(struct job_trace *trace, uint64_t now_us, uint32_t ret_permille[ENGINE_CLASS_COUNT]);

uint32_t job_trace_list(const struct job_trace *trace, uint32_t minor, struct source_client *list, uint32_t cap);

#endif
