#include "child/engine_link.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/trace.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#define START_MS 5000u /* to the first word: an exec and a read of a few bytes */
#define QUIT_MS  2000u
#define DYING_MS 1000u /* the end of the process and the end of the file come together; else something is odd */
#define STUCK_MS 10000u
#define GRACE_MS 100u /* an answer may lie in the socket unread when sottod itself was held up */

#define STEP_FACTOR 20.0 /* times the estimate: a step that slow is lost */

/* Two orders of the largest size may wait; an engine that leaves more unread is not alive. */
#define OUT_MAX (2 * (size_t)LIMIT_TO_ENGINE + 4096)

/* The output buffer has room for the orders of one usual tick from the start: else it would grow by whichever orders
 * happen to meet, and look like memory that is never given back. */
#define OUT_USUAL 4096u

#define TO(state) (1u << (state))

/* Every legal move of a link. */
static const uint32_t moves[ENGINE_STATE_COUNT] = {
    [ENGINE_STARTING] = TO(ENGINE_LOADING) | TO(ENGINE_READY) | TO(ENGINE_STOPPING) | TO(ENGINE_DYING),
    [ENGINE_LOADING] = TO(ENGINE_READY) | TO(ENGINE_STOPPING) | TO(ENGINE_DYING),
    [ENGINE_READY] = TO(ENGINE_STOPPING) | TO(ENGINE_DYING),
    [ENGINE_STOPPING] = TO(ENGINE_DYING),
    [ENGINE_DYING] = TO(ENGINE_OFF),
};

#undef TO

static const char *const names[ENGINE_STATE_COUNT] = {
    [ENGINE_STARTING] = "starting", [ENGINE_LOADING] = "loading", [ENGINE_READY] = "ready",
    [ENGINE_STOPPING] = "stopping", [ENGINE_DYING] = "dying",     [ENGINE_OFF] = "off",
};

struct engine_link {
    uv_process_t process;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uv_write_t write; /* one in flight: @writing */
    enum engine_state state;
    struct engine_spec spec; /* without path */
    char name[LIMIT_NAME + 1];
    const struct engine_sink *sink;
    void *owner;
    struct wire wire;
    struct buf in;
    struct buf out; /* not given to the loop yet */
    struct buf writing;
    uint64_t born_us;
    uint64_t dying_us;
    uint64_t waiting_ms; /* length of the watchdog that runs, for the sentence */
    bool in_grace;
    bool busy_writing;
    bool was_spawned; /* the handle is the loop's, also if that failed */
    bool has_process; /* spawned and not reaped */
    bool at_eof;
    bool killed;       /* by us */
    bool told_to_quit; /* engine_quit() */
    uint32_t n_open;   /* handles that are not closed yet */
    struct engine_end end;
};

static void move(struct engine_link *link, enum engine_state to)
{
    assert(moves[link->state] & (1u << to));
    log_debug("stream", "engine of %s, pid %u: %s -> %s", link->name, engine_pid(link), names[link->state], names[to]);
    link->state = to;
}

/* Keeps the first reason: the later ones follow from it. */
static void note_why(struct engine_link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note_why(struct engine_link *link, const char *format, ...)
{
    va_list args;

    if (link->end.why[0] != '\0') {
        return;
    }
    va_start(args, format);
    vsnprintf(link->end.why, sizeof(link->end.why), format, args);
    va_end(args);
}

/* ---- the end */

static void on_closed(uv_handle_t *handle)
{
    struct engine_link *link = handle->data;

    if (--link->n_open > 0) {
        return;
    }
    move(link, ENGINE_OFF);
    link->sink->on_end(link->owner, &link->end);
    wire_finish(&link->wire);
    buf_finish(&link->in);
    buf_finish(&link->out);
    buf_finish(&link->writing);
    mem_free(link);
}

/* Ends the link once process and socket are both closed: nothing more can come. */
static void try_end(struct engine_link *link)
{
    if (link->has_process || !link->at_eof || uv_is_closing((uv_handle_t *)&link->timer)) {
        return;
    }
    link->n_open = 2;
    uv_close((uv_handle_t *)&link->timer, on_closed);
    uv_close((uv_handle_t *)&link->pipe, on_closed);
    if (link->was_spawned) {
        link->n_open++;
        uv_close((uv_handle_t *)&link->process, on_closed);
    }
}

static void arm(struct engine_link *link, uint64_t ms);

static void start_dying(struct engine_link *link)
{
    if (link->state == ENGINE_DYING) {
        return;
    }
    move(link, ENGINE_DYING);
    link->dying_us = clock_mono_us();
    arm(link, DYING_MS);
}

static void kill_now(struct engine_link *link)
{
    start_dying(link);
    if (link->has_process) {
        link->killed = true;
        uv_process_kill(&link->process, SIGKILL);
    }
    try_end(link);
}

void engine_kill(struct engine_link *link, const char *format, ...)
{
    char text[DIAG_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    note_why(link, "%s", text);
    kill_now(link);
}

static void tell_exit(struct engine_link *link, int64_t status, int signal)
{
    struct engine_end *end = &link->end;
    double s = (double)(clock_mono_us() - link->born_us) / 1e6;

    end->stranger = signal == SIGKILL && !link->killed;
    end->wanted = link->told_to_quit && (link->killed || (signal == 0 && status == 0));
    if (signal != 0) {
        snprintf(end->exit, sizeof(end->exit), "signal %d (%s) after %.1f s", signal,
                 signal == SIGKILL ? "killed" : strsignal(signal), s);
    } else {
        snprintf(end->exit, sizeof(end->exit), "exit code %lld after %.1f s", (long long)status, s);
    }
}

static void on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct engine_link *link = process->data;

    link->has_process = false;
    trace_add(TRACE_ENGINE_LOST, (uint64_t)process->pid, (uint64_t)signal);
    tell_exit(link, status, signal);
    start_dying(link);
    try_end(link);
}

/* ---- watchdogs */

static void on_time(uv_timer_t *timer)
{
    struct engine_link *link = timer->data;

    /* Looks once more before judging: the answer may lie in the socket. */
    if (!link->in_grace && link->state != ENGINE_DYING) {
        link->in_grace = true;
        uv_timer_start(timer, on_time, GRACE_MS, 0);
        return;
    }
    link->in_grace = false;
    switch (link->state) {
    case ENGINE_STARTING:
        engine_kill(link, "it did not say a word within %llu ms", (unsigned long long)link->waiting_ms);
        break;
    case ENGINE_LOADING:
        engine_kill(link, "loading made no progress for %llu ms", (unsigned long long)link->waiting_ms);
        break;
    case ENGINE_READY:
        engine_kill(link, "it did not answer within %llu ms", (unsigned long long)link->waiting_ms);
        break;
    case ENGINE_STOPPING:
        engine_kill(link, "it did not quit within %u ms", QUIT_MS);
        break;
    case ENGINE_DYING:
        if (link->has_process) {
            if (link->killed) {
                log_warn("stream", "engine of %s, pid %u: still there after SIGKILL", link->name, engine_pid(link));
            }
            link->killed = true;
            uv_process_kill(&link->process, SIGKILL);
            arm(link, STUCK_MS);
        } else {
            link->at_eof = true; /* another process holds its end of the socket */
            try_end(link);
        }
        break;
    case ENGINE_OFF:
    case ENGINE_STATE_COUNT:
        break;
    }
}

static void arm(struct engine_link *link, uint64_t ms)
{
    link->waiting_ms = ms;
    link->in_grace = false;
    uv_update_time(link->timer.loop); /* else the time would count from before what has just been done */
    uv_timer_start(&link->timer, on_time, ms, 0);
}

void engine_await(struct engine_link *link, double estimated_ns)
{
    double ms = STEP_FACTOR * estimated_ns / 1e6;

    if (link->state == ENGINE_READY) {
        arm(link, ms > link->spec.step_floor_ms ? (uint64_t)ms : link->spec.step_floor_ms);
    }
}

void engine_rest(struct engine_link *link)
{
    if (link->state == ENGINE_READY) {
        link->in_grace = false;
        uv_timer_stop(&link->timer);
    }
}

bool engine_is_overdue(const struct engine_link *link)
{
    return link->state == ENGINE_DYING && clock_mono_us() - link->dying_us > STUCK_MS * 1000ull;
}

/* ---- writing */

static void flush(struct engine_link *link);

static void on_written(uv_write_t *write, int status)
{
    struct engine_link *link = write->data;

    link->busy_writing = false;
    buf_eat(&link->writing, link->writing.n);
    if (status < 0) {
        return; /* its end comes by itself: end of file and exit */
    }
    flush(link);
}

static void flush(struct engine_link *link)
{
    struct buf swap;
    uv_buf_t bytes;

    if (link->busy_writing || link->out.n == 0 || link->state == ENGINE_DYING) {
        return;
    }
    swap = link->writing;
    link->writing = link->out;
    link->out = swap;
    bytes = uv_buf_init((char *)link->writing.bytes + link->writing.head, (unsigned)link->writing.n);
    link->write.data = link;
    if (uv_write(&link->write, (uv_stream_t *)&link->pipe, &bytes, 1, on_written) < 0) {
        buf_eat(&link->writing, link->writing.n);
        kill_now(link);
        return;
    }
    link->busy_writing = true;
}

void engine_tell(struct engine_link *link, const Sotto__Engine__ToEngine *order)
{
    int r;

    if (link->state == ENGINE_DYING || link->state == ENGINE_STOPPING) {
        return;
    }
    r = wire_pack(&order->base, &link->out);
    if (r) {
        engine_kill(link, r == BUF_FULL ? "it does not take its orders" : "there was no memory for an order");
        return;
    }
    flush(link);
}

void engine_quit(struct engine_link *link)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    Sotto__Engine__Quit quit = SOTTO__ENGINE__QUIT__INIT;

    if (link->state == ENGINE_DYING || link->state == ENGINE_STOPPING) {
        return;
    }
    order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_QUIT;
    order.quit = &quit;
    engine_tell(link, &order);
    link->told_to_quit = true;
    if (link->state != ENGINE_DYING) {
        move(link, ENGINE_STOPPING);
        arm(link, QUIT_MS);
    }
}

/* ---- reading */

static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *ret_bytes)
{
    struct engine_link *link = handle->data;
    uint8_t *room;

    (void)wanted;
    if (buf_reserve(&link->in, 64u << 10, &room)) {
        *ret_bytes = uv_buf_init(NULL, 0);
        return;
    }
    *ret_bytes = uv_buf_init((char *)room, 64u << 10);
}

static void on_ready(struct engine_link *link, const Sotto__Engine__Ready *ready)
{
    if (link->state == ENGINE_STOPPING) {
        return; /* it spoke before it read that it is to quit */
    }
    if (link->state != ENGINE_STARTING && link->state != ENGINE_LOADING) {
        engine_kill(link, "it was ready twice");
        return;
    }
    if (strcmp(ready->build, SOTTO_VERSION) != 0) {
        link->end.hopeless = true;
        engine_kill(link, "sotto-engine is of build \"%.64s\" and sottod of \"%s\": install both of one", ready->build,
                    SOTTO_VERSION);
        return;
    }
    move(link, ENGINE_READY);
    link->end.was_ready = true;
    engine_rest(link);
    link->sink->on_ready(link->owner, ready);
}

static void on_progress(struct engine_link *link, const Sotto__Engine__Progress *progress)
{
    if (link->state == ENGINE_STARTING) {
        move(link, ENGINE_LOADING);
    }
    if (link->state == ENGINE_LOADING) {
        arm(link, link->spec.load_stall_ms);
        link->sink->on_progress(link->owner, progress);
    }
}

static void on_log(struct engine_link *link, const Sotto__Engine__Log *line)
{
    enum log_level level = line->level < LOG_LEVEL_COUNT ? (enum log_level)line->level : LOG_INFO;

    log_line("engine", level, "model %s: %s", link->name, line->line);
}

static void on_fault(struct engine_link *link, const Sotto__Engine__Fault *fault)
{
    link->end.hopeless = fault->hopeless;
    note_why(link, "%s", fault->what);
    /* Waits for the exit as long as for any other end: it exits by itself. */
    start_dying(link);
}

static void on_frame(struct engine_link *link, const Sotto__Engine__FromEngine *message)
{
    switch (message->body_case) {
    case SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS:
        on_progress(link, message->progress);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_READY:
        on_ready(link, message->ready);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_LOG:
        on_log(link, message->log);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT:
        on_fault(link, message->fault);
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_STATS:
    case SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW:
        if (link->state == ENGINE_READY) {
            link->sink->on_answer(link->owner, message);
        }
        break;
    case SOTTO__ENGINE__FROM_ENGINE__BODY__NOT_SET:
        engine_kill(link, "it sent an answer that this build does not know");
        break;
    }
}

/* Takes whole frames off the front of what was read. */
static void take_frames(struct engine_link *link)
{
    while (link->in.n > 0 && link->state != ENGINE_DYING) {
        ProtobufCMessage *message;
        struct frame frame;
        size_t used;
        int r;

        r = frame_take(buf_data(&link->in), link->in.n, LIMIT_FROM_ENGINE, &frame, &used);
        if (r == FRAME_MORE) {
            return;
        }
        if (r == FRAME_OK) {
            r = wire_unpack(&link->wire, &sotto__engine__from_engine__descriptor, &frame, &message);
        }
        if (r) {
            engine_kill(link, "it sent bytes that are no answer");
            return;
        }
        on_frame(link, (const Sotto__Engine__FromEngine *)message);
        buf_eat(&link->in, used);
    }
}

static void on_bytes(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct engine_link *link = pipe->data;

    (void)bytes;
    if (n == 0) {
        return;
    }
    if (n < 0) {
        uv_read_stop(pipe);
        link->at_eof = true;
        start_dying(link); /* if the process stays, it is killed after DYING_MS */
        try_end(link);
        return;
    }
    buf_grew(&link->in, (size_t)n);
    take_frames(link);
}

/* ---- the start */

static int spawn(struct engine_link *link, uv_loop_t *loop, const char *path, int child_end)
{
    char *argv[2] = { NULL, NULL };
    uv_stdio_container_t stdio[5] = {
        { .flags = UV_IGNORE },
        { .flags = UV_IGNORE },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
        { .flags = UV_INHERIT_FD, .data.fd = child_end },
        { .flags = UV_INHERIT_FD, .data.fd = link->spec.model_fd },
    };
    uv_process_options_t options = {
        .exit_cb = on_exit,
        .file = path,
        .args = argv,
        .stdio_count = COUNTOF(stdio),
        .stdio = stdio,
    };

    memcpy(&argv[0], &path, sizeof(path)); /* libuv's parameter is not const; it leaves them alone */
    link->was_spawned = true;
    return uv_spawn(loop, &link->process, &options);
}

/* Any failure from here on is reported by on_end, as with a process that died. */
static void connect_up(struct engine_link *link, uv_loop_t *loop, const char *path)
{
    int ends[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        link->at_eof = true;
        engine_kill(link, "no socketpair for it: %s", strerror(errno));
        return;
    }
    r = spawn(link, loop, path, ends[1]);
    close(ends[1]);
    link->has_process = r == 0;
    if (r == 0) {
        r = uv_pipe_open(&link->pipe, ends[0]);
    }
    if (r < 0) {
        close(ends[0]);
        link->at_eof = true;
        link->end.hopeless = r == UV_ENOENT || r == UV_EACCES;
        engine_kill(link, "%s could not be started: %s", path, uv_strerror(r));
        return;
    }
    uv_read_start((uv_stream_t *)&link->pipe, on_room, on_bytes);
}

int engine_start(struct engine_link **ret_link, uv_loop_t *loop, const struct engine_spec *spec,
                 const Sotto__Engine__Start *start, const struct engine_sink *sink, void *owner)
{
    struct engine_link *link = mem_calloc(MEM_STREAM, 1, sizeof(*link));
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;
    uint8_t *room;

    if (!link) {
        return err_new(-ENOMEM);
    }
    link->spec = *spec;
    link->spec.path = NULL;
    link->spec.name = link->name;
    snprintf(link->name, sizeof(link->name), "%s", spec->name);
    link->sink = sink;
    link->owner = owner;
    link->born_us = clock_mono_us();
    wire_init(&link->wire, MEM_WIRE);
    buf_init(&link->in, MEM_WIRE, LIMIT_FROM_ENGINE + FRAME_HEAD_BYTES + (64u << 10));
    buf_init(&link->out, MEM_WIRE, OUT_MAX);
    buf_init(&link->writing, MEM_WIRE, OUT_MAX);
    (void)buf_reserve(&link->out, OUT_USUAL, &room); /* if there is no memory now, the buffer grows later */
    (void)buf_reserve(&link->writing, OUT_USUAL, &room);
    uv_timer_init(loop, &link->timer);
    uv_pipe_init(loop, &link->pipe, 0);
    link->timer.data = link;
    link->pipe.data = link;
    link->process.data = link;
    connect_up(link, loop, spec->path);
    if (link->state == ENGINE_STARTING) {
        order.body_case = SOTTO__ENGINE__TO_ENGINE__BODY_START;
        order.start = wire_message(start);
        engine_tell(link, &order);
        arm(link, START_MS);
    }
    *ret_link = link;
    return 0;
}

enum engine_state engine_state(const struct engine_link *link)
{
    return link->state;
}

uint32_t engine_pid(const struct engine_link *link)
{
    return link->has_process ? (uint32_t)link->process.pid : 0;
}
