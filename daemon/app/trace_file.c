/*
 * Trace file: one line for each event
 */
#include "app/trace_file.h"
#include "base/clean.h"
#include "base/err.h"
#include "govern/governor.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_MOST 4096u
#define LINE_MOST   256u
#define BYTES_MOST  (EVENTS_MOST * LINE_MOST)

/* Rows of the viewer: threads of one process. */
enum row { ROW_GOVERNOR = 1, ROW_STEPS, ROW_DEVICE, ROW_CORES, ROW_STREAMS, ROW_ENGINES };

static const struct {
    enum row row;
    const char *name;
} row_names[] = {
    { ROW_GOVERNOR, "governor" },         { ROW_STEPS, "steps" },     { ROW_DEVICE, "slices on the device" },
    { ROW_CORES, "slices on the cores" }, { ROW_STREAMS, "streams" }, { ROW_ENGINES, "engines" },
};

static const char *const processor_names[PROCESSOR_COUNT] = { "device", "cores" };

/* ---- one event */

/* Writes a bar that ends at @at_us. */
static int bar(char *out, const char *name, enum row row, uint64_t at_us, uint64_t took_us, const char *args)
{
    uint64_t from_us = at_us > took_us ? at_us - took_us : 0;

    return snprintf(out, LINE_MOST,
                    "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%" PRIu64 ",\"dur\":%" PRIu64
                    ",\"args\":{%s}}",
                    name, (int)row, from_us, took_us, args);
}

static int mark(char *out, const char *name, enum row row, uint64_t at_us, const char *args)
{
    return snprintf(out, LINE_MOST,
                    "{\"name\":\"%s\",\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%d,\"ts\":%" PRIu64 ",\"args\":{%s}}",
                    name, (int)row, at_us, args);
}

/* Writes a point of one or more curves, which @args names. */
static int curve(char *out, const char *name, uint64_t at_us, const char *args)
{
    return snprintf(out, LINE_MOST, "{\"name\":\"%s\",\"ph\":\"C\",\"pid\":1,\"ts\":%" PRIu64 ",\"args\":{%s}}", name,
                    at_us, args);
}

static int limits(char *out, const struct trace_event *event)
{
    const char *processor = event->a / 10000 < PROCESSOR_COUNT ? processor_names[event->a / 10000] : "?";
    char name[32];
    char args[64];

    snprintf(name, sizeof(name), "allowed on the %s", processor);
    snprintf(args, sizeof(args), "\"percent\":%.1f", (double)(event->a % 10000) / 10.0);
    return curve(out, name, event->at_us, args);
}

static int mode(char *out, const struct trace_event *event)
{
    uint64_t processor = event->a / 100;
    uint64_t is = event->a % 100;
    char name[64];

    if (processor >= PROCESSOR_COUNT || is >= GOVERNOR_MODE_COUNT || event->b >= GOVERNOR_CAUSE_COUNT) {
        return 0;
    }
    snprintf(name, sizeof(name), "%s: %s, %s", processor_names[processor], governor_mode_name((enum governor_mode)is),
             governor_cause_name((enum governor_cause)event->b));
    return mark(out, name, ROW_GOVERNOR, event->at_us, "");
}

static int sense(char *out, const struct trace_event *event)
{
    char args[96];

    snprintf(args, sizeof(args), "\"others on the device, percent\":%.1f,\"hottest, degrees\":%.1f",
             (double)event->a / 10.0, (double)(int64_t)event->b / 1000.0);
    return curve(out, "machine", event->at_us, args);
}

static int numbers(char *out, size_t cap, const char *a, uint64_t x, const char *b, uint64_t y)
{
    return snprintf(out, cap, "\"%s\":%" PRIu64 ",\"%s\":%" PRIu64, a, x, b, y);
}

/* Writes @event and returns the length; 0 if it is not for the file. */
static int one(char *out, const struct trace_event *event)
{
    char args[128] = "";

    switch (event->what) {
    case TRACE_STEP_SENT:
        numbers(args, sizeof(args), "step", event->a, "rows", event->b);
        return mark(out, "step sent", ROW_STEPS, event->at_us, args);
    case TRACE_STEP_DONE:
        snprintf(args, sizeof(args), "\"step\":%" PRIu64, event->a);
        return bar(out, "step", ROW_STEPS, event->at_us, event->b, args);
    case TRACE_SLICE:
        return bar(out, "slice", event->a == PROCESSOR_GPU ? ROW_DEVICE : ROW_CORES, event->at_us, event->b, "");
    case TRACE_TOKEN:
        numbers(args, sizeof(args), "stream", event->a, "index", event->b);
        return mark(out, "token", ROW_STREAMS, event->at_us, args);
    case TRACE_PARK:
        numbers(args, sizeof(args), "stream", event->a, "parked", event->b);
        return mark(out, "park", ROW_STREAMS, event->at_us, args);
    case TRACE_ENGINE_LOST:
        numbers(args, sizeof(args), "pid", event->a, "signal", event->b);
        return mark(out, "engine lost", ROW_ENGINES, event->at_us, args);
    case TRACE_MODE:
        return mode(out, event);
    case TRACE_LIMITS:
        return limits(out, event);
    case TRACE_SENSE:
        return sense(out, event);
    case TRACE_SENSE_STATE:
        numbers(args, sizeof(args), "source", event->a, "state", event->b);
        return mark(out, "sensor", ROW_GOVERNOR, event->at_us, args);
    case TRACE_WHAT_COUNT:
        break;
    }
    return 0;
}

/* ---- the file */

static int name_rows(struct buf *out)
{
    for (size_t i = 0; i < COUNTOF(row_names); i++) {
        char line[LINE_MOST];
        int n = snprintf(line, sizeof(line),
                         "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n",
                         (int)row_names[i].row, row_names[i].name);
        int r = buf_append(out, line, (size_t)n);

        if (r) {
            return r;
        }
    }
    return 0;
}

int trace_file_format(const struct trace_event *events, size_t n, struct buf *out)
{
    static const char head[] = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    static const char tail[] =
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"sottod\"}}\n]}\n";
    int r = buf_append(out, head, sizeof(head) - 1);

    r = r ? r : name_rows(out);
    for (size_t i = 0; !r && i < n; i++) {
        char line[LINE_MOST];
        int length = one(line, &events[i]);

        if (length > 0 && (size_t)length < sizeof(line)) {
            r = buf_append(out, line, (size_t)length);
            r = r ? r : buf_append(out, ",\n", 2);
        }
    }
    return r ? r : buf_append(out, tail, sizeof(tail) - 1);
}

static bool write_all(int fd, const struct buf *buf)
{
    const uint8_t *bytes = buf_data(buf);
    size_t left = buf->n;

    while (left > 0) {
        ssize_t n = write(fd, bytes, left);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        bytes += n;
        left -= (size_t)n;
    }
    return true;
}

/* Writes @buf to @beside and renames that to @path. Returns false if errno says why not. */
static bool put(const char *path, const char *beside, const struct buf *buf)
{
    cleanup(fd_closep) int fd = -1;

    unlink(beside); /* it may be left from an earlier try, or another user may have created it to read it */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    if (write_all(fd, buf) && rename(beside, path) == 0) {
        return true;
    }
    unlink(beside);
    return false;
}

int trace_file_write(const char *path, struct diag *diag)
{
    cleanup(mem_freep) struct trace_event *events = mem_calloc(MEM_MISC, EVENTS_MOST, sizeof(*events));
    cleanup(buf_finish) struct buf buf;
    char beside[512];
    int r;

    buf_init(&buf, MEM_MISC, BYTES_MOST + 4096);
    if (!events) {
        diag_set(diag, "no memory");
        return err_new(-ENOMEM);
    }
    r = trace_file_format(events, trace_copy(events, EVENTS_MOST), &buf);
    if (r) {
        diag_set(diag, "no memory");
        return err_pass(r);
    }
    snprintf(beside, sizeof(beside), "%s.new", path);
    if (!put(path, beside, &buf)) {
        diag_set(diag, "can't write %s: %s", path, strerrordesc_np(errno));
        return 1;
    }
    return 0;
}
