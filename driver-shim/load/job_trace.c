/* Turns trace lines into starts and ends of jobs; a counter of open jobs per side gives the union of their times. */
#include "load/job_trace.h"
#include "base/clean.h"
#include "base/num.h"
#include "sense/source.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FULL_PERMILLE 1000u

/* Shorter intervals are dominated by jitter. */
#define INTERVAL_MIN_US 1000u

enum key_form {
    KEY_FENCE,   /* fence=context:number */
    KEY_ADDRESS, /* fence=address */
    KEY_JOB,     /* job=address */
};

static const struct {
    const char *name;
    enum job_event event;
    enum key_form key;
} events[] = {
    { "drm_sched_job_run", JOB_EVENT_RUN, KEY_FENCE }, { "drm_sched_job_done", JOB_EVENT_DONE, KEY_FENCE },
    { "drm_run_job", JOB_EVENT_RUN, KEY_ADDRESS },     { "drm_sched_process_job", JOB_EVENT_DONE, KEY_ADDRESS },
    { "pvr_job_create", JOB_EVENT_CREATE, KEY_JOB },   { "pvr_job_submit_fw", JOB_EVENT_RUN, KEY_JOB },
    { "pvr_job_done", JOB_EVENT_DONE, KEY_JOB },
};

/* Finds the value of "name=value" or "name:value" in @text, up to a comma or blank. False: it is not there. */
static bool field(const char *text, const char *name, char *value, size_t cap)
{
    const size_t n_name = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        const bool is_begin = at == text || at[-1] == ' ';
        size_t n;

        if (!is_begin || (at[n_name] != '=' && at[n_name] != ':')) {
            continue;
        }
        at += n_name + 1;
        n = num_min(strcspn(at, ", "), cap - 1);
        memcpy(value, at, n);
        value[n] = '\0';
        return true;
    }
    return false;
}

static bool read_key(const char *text, enum key_form form, uint64_t key[2])
{
    char value[64];

    if (!field(text, form == KEY_JOB ? "job" : "fence", value, sizeof(value))) {
        return false;
    }
    if (form == KEY_FENCE) {
        return sscanf(value, "%" SCNu64 ":%" SCNu64, &key[0], &key[1]) == 2;
    }
    key[1] = 0;
    return sscanf(value, "%" SCNx64, &key[0]) == 1;
}

static void read_fields(struct job_line *line, const char *text, enum key_form form)
{
    char value[32];

    if (!read_key(text, form, line->key)) {
        line->event = JOB_EVENT_NONE;
        return;
    }
    line->is_typed = form == KEY_JOB;
    if (!field(text, form == KEY_JOB ? "job_type" : "ring", line->ring, sizeof(line->ring))) {
        line->ring[0] = '\0';
    }
    if (!field(text, "dev", line->device, sizeof(line->device))) {
        line->device[0] = '\0';
    }
    line->client = field(text, "client_id", value, sizeof(value)) ? strtoull(value, NULL, 10) : 0;
}

/* Parses "123.456789" just before @end, in us. False: it is not there. */
static bool read_time(const char *text, const char *end, uint64_t *ret_us)
{
    const char *begin = end;
    unsigned long long seconds;
    unsigned long long rest;
    char *point;

    while (begin > text && ((begin[-1] >= '0' && begin[-1] <= '9') || begin[-1] == '.')) {
        begin--;
    }
    if (begin == end || *begin == '.') {
        return false;
    }
    seconds = strtoull(begin, &point, 10);
    if (*point != '.' || end - point != 7) { /* six digits */
        return false;
    }
    rest = strtoull(point + 1, NULL, 10);
    *ret_us = seconds * 1000000 + rest;
    return true;
}

void job_line_parse(struct job_line *ret_line, const char *bytes, size_t n)
{
    char text[512];

    *ret_line = (struct job_line){ .event = JOB_EVENT_NONE };
    if (n >= sizeof(text)) {
        return;
    }
    memcpy(text, bytes, n);
    text[n] = '\0';
    if (strncmp(text, "CPU:", 4) == 0 && strstr(text, " EVENTS]")) {
        ret_line->event = JOB_EVENT_LOST;
        return;
    }
    /* A process name may contain anything but a complete event, so the first name behind a time is the event. */
    for (const char *colon = strstr(text, ": "); colon; colon = strstr(colon + 1, ": ")) {
        const char *name = colon + 2;
        const size_t n_name = strcspn(name, ":");

        for (size_t i = 0; i < COUNTOF(events); i++) {
            if (strlen(events[i].name) == n_name && memcmp(events[i].name, name, n_name) == 0 &&
                read_time(text, colon, &ret_line->at_us)) {
                ret_line->event = events[i].event;
                read_fields(ret_line, name + n_name, events[i].key);
                return;
            }
        }
    }
}

void job_union_begin(struct job_union *job_union, uint64_t at_us)
{
    if (job_union->n_open++ == 0) {
        job_union->since_us = at_us;
    }
}

void job_union_end(struct job_union *job_union, uint64_t at_us)
{
    if (job_union->n_open > 0 && --job_union->n_open == 0 && at_us > job_union->since_us) {
        job_union->busy_us += at_us - job_union->since_us;
    }
}

uint64_t job_union_take(struct job_union *job_union, uint64_t at_us)
{
    uint64_t busy_us = job_union->busy_us;

    job_union->busy_us = 0;
    if (job_union->n_open > 0 && at_us > job_union->since_us) {
        busy_us += at_us - job_union->since_us;
        job_union->since_us = at_us;
    }
    return busy_us;
}

void job_trace_init(struct job_trace *trace, bool is_typed, uint64_t now_us)
{
    memset(trace, 0, sizeof(*trace));
    trace->is_typed = is_typed;
    trace->taken_us = now_us;
}

void job_trace_leave_out(struct job_trace *trace, const char *name)
{
    if (trace->n_others < JOB_TRACE_OTHERS_MAX) {
        snprintf(trace->others[trace->n_others++], sizeof(trace->others[0]), "%s", name);
    }
}

static bool is_others(const struct job_trace *trace, const char *device)
{
    for (uint32_t i = 0; i < trace->n_others; i++) {
        if (strcmp(trace->others[i], device) == 0) {
            return true;
        }
    }
    return false;
}

static struct traced_job *find_job(struct job_trace *trace, const uint64_t key[2])
{
    for (uint32_t i = 0; i < trace->n_jobs; i++) {
        struct traced_job *job = &trace->jobs[i];

        if (job->is_used && job->key[0] == key[0] && job->key[1] == key[1]) {
            return job;
        }
    }
    return NULL;
}

static void end_job(struct job_trace *trace, struct traced_job *job, uint64_t at_us)
{
    if (job->is_running) {
        job_union_end(&trace->sides[job->class], at_us);
        if (job->client < JOB_TRACE_CLIENTS_MAX) {
            job_union_end(&trace->clients[job->client].sides[job->class], at_us);
        }
    }
    job->is_used = false;
    while (trace->n_jobs > 0 && !trace->jobs[trace->n_jobs - 1].is_used) {
        trace->n_jobs--;
    }
}

/* Returns a free entry; if there is none, the oldest one, of which the end was missed. */
static struct traced_job *entry_for(struct job_trace *trace, uint64_t at_us)
{
    struct traced_job *oldest = &trace->jobs[0];

    for (uint32_t i = 0; i < JOB_TRACE_JOBS_MAX; i++) {
        struct traced_job *job = &trace->jobs[i];

        if (!job->is_used) {
            trace->n_jobs = (uint32_t)num_max(trace->n_jobs, i + 1);
            return job;
        }
        if (job->at_us < oldest->at_us) {
            oldest = job;
        }
    }
    trace->n_lost += oldest->is_running;
    end_job(trace, oldest, at_us);
    trace->n_jobs = JOB_TRACE_JOBS_MAX;
    return oldest;
}

static bool is_idle(const struct traced_client *client)
{
    for (int i = 0; i < ENGINE_CLASS_COUNT; i++) {
        if (client->sides[i].n_open > 0) {
            return false;
        }
    }
    return true;
}

/* Returns the index of the client; a new one takes the entry that was idle longest if none is free. */
static uint32_t client_of(struct job_trace *trace, uint64_t id, uint64_t at_us)
{
    uint32_t oldest = JOB_TRACE_CLIENTS_MAX;

    if (id == 0) {
        return JOB_TRACE_CLIENTS_MAX;
    }
    for (uint32_t i = 0; i < trace->n_clients; i++) {
        struct traced_client *client = &trace->clients[i];

        if (client->id == id) {
            client->at_us = at_us;
            return i;
        }
        if (is_idle(client) && (oldest == JOB_TRACE_CLIENTS_MAX || client->at_us < trace->clients[oldest].at_us)) {
            oldest = i;
        }
    }
    if (trace->n_clients < JOB_TRACE_CLIENTS_MAX) {
        oldest = trace->n_clients++;
    }
    if (oldest < JOB_TRACE_CLIENTS_MAX) {
        trace->clients[oldest] = (struct traced_client){ .id = id, .at_us = at_us };
    }
    return oldest;
}

static void run_job(struct job_trace *trace, const struct job_line *line)
{
    struct traced_job *job = find_job(trace, line->key);
    enum engine_class class = engine_class_of(line->ring);

    if (job && job->is_running) {
        return; /* reported twice */
    }
    if (job) {
        class = job->class; /* as created */
    } else {
        job = entry_for(trace, line->at_us);
    }
    *job = (struct traced_job){
        .is_used = true,
        .is_running = true,
        .key = { line->key[0], line->key[1] },
        .at_us = line->at_us,
        .class = class,
        .client = client_of(trace, line->client, line->at_us),
    };
    job_union_begin(&trace->sides[class], line->at_us);
    if (job->client < JOB_TRACE_CLIENTS_MAX) {
        job_union_begin(&trace->clients[job->client].sides[class], line->at_us);
    }
}

static void create_job(struct job_trace *trace, const struct job_line *line)
{
    struct traced_job *job = find_job(trace, line->key);

    if (job) {
        end_job(trace, job, line->at_us); /* the address is reused: the old job is over */
    }
    job = entry_for(trace, line->at_us);
    *job = (struct traced_job){
        .is_used = true,
        .key = { line->key[0], line->key[1] },
        .at_us = line->at_us,
        .class = engine_class_of(line->ring),
        .client = JOB_TRACE_CLIENTS_MAX,
    };
}

/* Forgets all jobs: after lost events it is unknown which ones ended. */
static void forget_all(struct job_trace *trace)
{
    for (int i = 0; i < ENGINE_CLASS_COUNT; i++) {
        trace->sides[i] = (struct job_union){ 0 };
    }
    memset(trace->jobs, 0, trace->n_jobs * sizeof(trace->jobs[0]));
    trace->n_jobs = 0;
    trace->n_clients = 0;
    trace->n_lost++;
}

static void put_line(struct job_trace *trace, const char *bytes, size_t n)
{
    struct traced_job *job;
    struct job_line line;

    job_line_parse(&line, bytes, n);
    if (line.event == JOB_EVENT_LOST) {
        forget_all(trace);
        return;
    }
    if (line.event == JOB_EVENT_NONE || line.is_typed != trace->is_typed || is_others(trace, line.device)) {
        return;
    }
    switch (line.event) {
    case JOB_EVENT_CREATE:
        create_job(trace, &line);
        break;
    case JOB_EVENT_RUN:
        run_job(trace, &line);
        break;
    case JOB_EVENT_DONE:
        job = find_job(trace, line.key);
        if (job) {
            end_job(trace, job, line.at_us);
        }
        break;
    case JOB_EVENT_NONE:
    case JOB_EVENT_LOST:
        break;
    }
}

void job_trace_feed(struct job_trace *trace, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        const size_t n_part = end ? (size_t)(end - bytes) : n;

        if (trace->is_skipping || trace->n_rest + n_part > sizeof(trace->rest)) {
            trace->is_skipping = !end;
            trace->n_rest = 0;
        } else if (end && trace->n_rest == 0) {
            put_line(trace, bytes, n_part);
        } else {
            memcpy(trace->rest + trace->n_rest, bytes, n_part);
            trace->n_rest += (uint32_t)n_part;
            if (end) {
                put_line(trace, trace->rest, trace->n_rest);
                trace->n_rest = 0;
            }
        }
        bytes += n_part + (end != NULL);
        n -= n_part + (end != NULL);
    }
}

static void forget_old(struct job_trace *trace, uint64_t now_us)
{
    for (uint32_t i = trace->n_jobs; i-- > 0;) {
        struct traced_job *job = &trace->jobs[i];

        if (job->is_used && now_us > job->at_us && now_us - job->at_us > JOB_TRACE_OLD_US) {
            end_job(trace, job, now_us);
        }
    }
}

bool job_trace_take(struct job_trace *trace, uint64_t now_us, uint32_t ret_permille[ENGINE_CLASS_COUNT])
{
    const uint64_t span_us = now_us > trace->taken_us ? now_us - trace->taken_us : 0;
    const bool is_known = trace->n_lost == 0 && span_us >= INTERVAL_MIN_US;

    forget_old(trace, now_us);
    for (int i = 0; i < ENGINE_CLASS_COUNT; i++) {
        const uint64_t busy_us = job_union_take(&trace->sides[i], now_us);

        if (is_known) {
            ret_permille[i] = (uint32_t)num_min(busy_us * FULL_PERMILLE / span_us, FULL_PERMILLE);
        }
        for (uint32_t k = 0; k < trace->n_clients; k++) {
            const uint64_t own_us = job_union_take(&trace->clients[k].sides[i], now_us);

            trace->clients[k].permille[i] =
                is_known ? (uint32_t)num_min(own_us * FULL_PERMILLE / span_us, FULL_PERMILLE) : 0;
        }
    }
    trace->n_lost = 0;
    trace->taken_us = now_us;
    return is_known;
}

uint32_t job_trace_list(const struct job_trace *trace, uint32_t minor, struct source_client *list, uint32_t cap)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < trace->n_clients && n < cap; i++) {
        list[n++] = (struct source_client){
            .minor = minor,
            .id = trace->clients[i].id,
            .graphics_permille = trace->clients[i].permille[ENGINE_GRAPHICS],
            .compute_permille = trace->clients[i].permille[ENGINE_COMPUTE],
        };
    }
    return n;
}
