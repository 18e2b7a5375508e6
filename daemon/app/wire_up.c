/*
 * Wire up: builds sottod, serves, and takes it down
 */
#include "app/wire_up.h"
#include "app/notify.h"
#include "app/trace_file.h"
#include "base/err.h"
#include "base/log.h"
#include "ipc/listener.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit from the first SIGTERM to the end of the process: the grace of the streams, 5 s for engines, and the last
 * frames of connections. */
#define STOP_MOST_MS 10000u

#define RUN_FOLDER "/run/sotto" /* of a daemon for all users */

/* Descriptors that are not connections: the loop, sockets, log, a model file and two socket ends for each engine. */
#define OWN_DESCRIPTORS  24u
#define DESCRIPTORS_WISH 4096u

#define STATUS_BYTES (1u << 20)

static const int signal_numbers[SOTTOD_SIGNALS] = {
    [SOTTOD_TERM] = SIGTERM,
    [SOTTOD_INT] = SIGINT,
    [SOTTOD_HUP] = SIGHUP,
    [SOTTOD_USR2] = SIGUSR2,
};

#define TO(state) (1u << (state))

static const unsigned moves[SOTTOD_STATE_COUNT] = {
    [SOTTOD_STARTING] = TO(SOTTOD_SERVING) | TO(SOTTOD_STOPPED),
    [SOTTOD_SERVING] = TO(SOTTOD_DRAINING),
    [SOTTOD_DRAINING] = TO(SOTTOD_STOPPED),
    [SOTTOD_STOPPED] = 0,
};

#undef TO

static void move(struct sottod *sottod, enum sottod_state to)
{
    assert(moves[sottod->state] & (1u << to));
    sottod->state = to;
}

/* ---- requests of connections */

static void on_grant(void *owner, const struct peer *peer, struct grant *ret_grant)
{
    const struct sottod *sottod = owner;

    policy_grant(&sottod->config->policy, peer, ret_grant);
}

static int on_reload(void *owner, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag)
{
    return sottod_reload(owner, ret_reloaded, diag);
}

static void on_describe(void *owner, const struct grant *grant, Sotto__V1__StatusReport *report)
{
    struct sottod *sottod = owner;

    if (grant->admin && sottod->config->file) {
        report->config_file = wire_str(sottod->config->file);
    }
    report->config_generation = sottod->generation;
    devices_describe(&sottod->devices, report);
}

static const struct ipc_ops ipc_ops = {
    .grant = on_grant,
    .reload = on_reload,
    .describe = on_describe,
};

/* ---- reporting */

/* Reports "2 models: 1 ready, 1 loading", which `systemctl status` shows. */
static void report_status(const struct sottod *sottod)
{
    static const struct grant all = { .admin = true, .observe = true };
    Sotto__V1__Models models = SOTTO__V1__MODELS__INIT;
    struct arena arena;
    char status[96];
    size_t n_ready = 0;
    size_t n_loading = 0;

    if (sottod->state != SOTTOD_SERVING) {
        return;
    }
    arena_init(&arena, MEM_MISC, STATUS_BYTES);
    if (hub_list_models(sottod->hub, &all, &arena, &models) == 0) {
        for (size_t i = 0; i < models.n_models; i++) {
            n_ready += models.models[i]->state == SOTTO__V1__MODEL_STATE__MODEL_READY;
            n_loading += models.models[i]->state == SOTTO__V1__MODEL_STATE__MODEL_LOADING;
        }
        snprintf(status, sizeof(status), "%zu models: %zu ready, %zu loading", models.n_models, n_ready, n_loading);
        notify_status(status);
    }
    arena_finish(&arena);
}

/* Returns whether clients can trigger events of @topic at will. They are logged at debug: the hub logs them in more
 * detail itself. */
static bool is_frequent(const char *topic)
{
    return strcmp(topic, "stream") == 0 || strcmp(topic, "session") == 0 || strcmp(topic, "model") == 0;
}

static void log_event(const char *topic, const char *name, const char *const *pairs, size_t n_pairs)
{
    enum log_level level = is_frequent(topic) ? LOG_DEBUG : LOG_INFO;
    char line[512] = "";
    size_t at = 0;

    if (!log_is_on(topic, level)) {
        return;
    }
    for (size_t i = 0; i < n_pairs && at < sizeof(line); i++) {
        at += (size_t)snprintf(line + at, sizeof(line) - at, ", %s: %s", pairs[2 * i], pairs[2 * i + 1]);
    }
    log_line(topic, level, "event: %s%s", name, line);
}

void sottod_event(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                  uint32_t uid)
{
    struct sottod *sottod = owner;

    log_event(topic, name, pairs, n_pairs);
    if (sottod->ipc) {
        ipc_event(sottod->ipc, topic, name, pairs, n_pairs, uid);
    }
    if (sottod->hub && strcmp(topic, "model") == 0) {
        report_status(sottod);
    }
    /* The first inventory of sotto-sense may include a device that came after the first search. */
    if (strcmp(name, "devices-changed") == 0 || strcmp(name, "sense-ready") == 0) {
        devices_look(&sottod->devices);
    }
}

/* ---- the end */

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void on_conns_closed(void *owner)
{
    struct sottod *sottod = owner;

    move(sottod, SOTTOD_STOPPED);
    inhibitor_end(&sottod->inhibitor);
    uv_walk(&sottod->loop, close_handle, NULL); /* signals and timers; all others are closed */
}

static void on_hub_stopped(void *owner)
{
    struct sottod *sottod = owner;

    ipc_close(sottod->ipc, on_conns_closed);
}

static void on_last_resort(uv_timer_t *timer)
{
    (void)timer;
    log_error("app", "shutdown took longer than %u ms; exiting now", STOP_MOST_MS);
    _exit(EXIT_FAILURE); /* engines end with their parent */
}

static void stop(struct sottod *sottod, const char *reason)
{
    if (sottod->state == SOTTOD_DRAINING) {
        log_info("app", "%s again: streams end now", reason);
        hub_stop(sottod->hub, 0, on_hub_stopped, sottod);
        return;
    }
    if (sottod->state != SOTTOD_SERVING) {
        return;
    }
    inhibitor_end(&sottod->inhibitor); /* shutdown need not delay a suspend */
    log_info("app", "%s: no new requests are accepted; streams have %" PRIu32 " ms to finish", reason,
             sottod->config->daemon.stop_grace_ms);
    notify_stopping(STOP_MOST_MS * UINT64_C(1000));
    move(sottod, SOTTOD_DRAINING);
    uv_timer_start(&sottod->last_resort, on_last_resort, STOP_MOST_MS, 0);
    ipc_stop_listening(sottod->ipc);
    hub_stop(sottod->hub, sottod->config->daemon.stop_grace_ms, on_hub_stopped, sottod);
}

/* Gives the folder of our socket or, if one was passed in, of the default one. */
static void find_folder(const struct sottod *sottod, char folder[CMDLINE_PATH_BYTES])
{
    struct diag diag = DIAG_INIT;
    char *slash;

    if (sottod->config->socket) {
        snprintf(folder, CMDLINE_PATH_BYTES, "%s", sottod->config->socket);
    } else if (!cmdline_default_socket(sottod->options, geteuid() == 0, folder, &diag)) {
        snprintf(folder, CMDLINE_PATH_BYTES, RUN_FOLDER "/");
    }
    slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
    }
}

/* Writes the trace next to the socket: a daemon that may create one may create the other. */
static void write_trace(const struct sottod *sottod)
{
    struct diag diag = DIAG_INIT;
    char folder[CMDLINE_PATH_BYTES];
    char path[CMDLINE_PATH_BYTES + 64];

    find_folder(sottod, folder);
    if (strcmp(folder, RUN_FOLDER) == 0) {
        mkdir(folder, 0755); /* a daemon that root started by hand, with a socket that was passed in */
    }
    snprintf(path, sizeof(path), "%s/sottod-%ld.trace.json", folder, (long)getpid());
    if (trace_file_write(path, &diag)) {
        log_error("app", "the trace was not written: %s", diag.text);
    } else {
        log_info("app", "event: trace-written, path: %s", path);
    }
}

static void on_signal(uv_signal_t *handle, int signum)
{
    struct sottod *sottod = handle->data;
    Sotto__V1__Reloaded reloaded = SOTTO__V1__RELOADED__INIT;
    struct diag diag = DIAG_INIT;

    if (signum == SIGUSR2) {
        write_trace(sottod);
    } else if (signum != SIGHUP) {
        stop(sottod, strsignal(signum));
    } else if (sottod_reload(sottod, &reloaded, &diag)) {
        log_error("app", "reload failed and nothing was changed: %s", diag.text);
    }
}

/* Is called after a search for devices. If a required GPU is missing, the daemon ends as after a failed start. */
static void on_devices(void *owner)
{
    struct sottod *sottod = owner;
    const char *why;

    if (devices_are_missing(&sottod->devices, &why)) {
        log_error("app", "the configuration requires a GPU (device.gpu), but none could be claimed: %s", why);
        sottod->exit_code = EXIT_FAILURE;
        stop(sottod, "no GPU");
    }
}

static void on_watchdog(uv_timer_t *timer)
{
    const struct sottod *sottod = timer->data;

    if (sottod->state == SOTTOD_DRAINING || hub_is_well(sottod->hub)) {
        notify_alive();
    } else {
        log_warn("app", "an engine is overdue, so the watchdog of the service manager is not fed");
    }
}

/* ---- starting */

static enum machine_start start_of(const char *word)
{
    static const struct {
        const char *word;
        enum machine_start start;
    } starts[] = {
        { "never", MACHINE_NEVER },
        { "auto", MACHINE_AUTO },
        { "child", MACHINE_CHILD },
        { "socket", MACHINE_SOCKET },
    };

    for (size_t i = 0; i < COUNTOF(starts); i++) {
        if (strcmp(starts[i].word, word) == 0) {
            return starts[i].start;
        }
    }
    return MACHINE_AUTO;
}

static void fill_machine(const struct sottod *sottod, const struct config_sense *sense,
                         struct machine_config *ret_machine)
{
    *ret_machine = (struct machine_config){
        .start = start_of(sense->start),
        .socket = sense->socket,
        .program = sottod->sense_path[0] ? sottod->sense_path : NULL,
        .root = sense->root,
        .device = sottod->devices.config.node, /* of the start, like the claim */
        .zones = sense->zones.list,
        .n_zones = sense->zones.n,
        .scales = sense->scales.list,
        .n_scales = sense->scales.n,
        .uid = sense->uid,
    };
}

/* Finds sotto-sense. Without it the daemon still serves, blind and careful; but a wrong option is an error. */
static bool find_sense(struct sottod *sottod, struct diag *diag)
{
    struct diag why = DIAG_INIT;

    if (cmdline_find_sense(sottod->options, sottod->sense_path, &why)) {
        return true;
    }
    sottod->sense_path[0] = '\0';
    if (sottod->options->sense) {
        diag_set(diag, "%s", why.text);
        return false;
    }
    if (strcmp(sottod->config->sense.start, "never") != 0) {
        log_warn("app", "load and heat of this machine are not read: %s", why.text);
    }
    return true;
}

void sottod_hub_config(const struct sottod *sottod, const struct config *config, struct hub_config *ret_hub_config)
{
    *ret_hub_config = (struct hub_config){
        .models = config->models,
        .n_models = config->n_models,
        .engine_path = sottod->engine_path,
        .cpu_mask = sottod->options->cpu_mask,
        .state_folder = sottod->options->state_folder,
        .guard_allocations = config->daemon.guard_allocations,
        .load_stall_ms = config->daemon.load_stall_ms,
        .step_floor_ms = config->daemon.step_watchdog_ms,
        .governor = config->governor,
        .energy = config->energy,
    };
    memcpy(ret_hub_config->pause_ms, config->daemon.restart_pauses_ms, sizeof(ret_hub_config->pause_ms));
    fill_machine(sottod, &config->sense, &ret_hub_config->machine);
}

void sottod_ipc_limits(const struct config *config, struct ipc_limits *ret_limits)
{
    struct rlimit limit;
    uint32_t bound = UINT32_MAX;

    *ret_limits = (struct ipc_limits){
        .n_conns = config->daemon.n_conns,
        .n_conns_a_uid = config->daemon.n_conns_a_uid,
        .wire_bytes_a_uid = config->daemon.wire_bytes_a_uid,
        .hello_ms = LIMIT_HELLO_MS,
        .half_frame_ms = LIMIT_HALF_FRAME_MS,
        .stall_ms = LIMIT_STALL_MS,
        .closing_ms = LIMIT_CLOSING_MS,
    };
    /* Our limit must be below the system's: there a client would be disconnected without a reason. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < UINT32_MAX) {
        bound = limit.rlim_cur > OWN_DESCRIPTORS ? (uint32_t)limit.rlim_cur - OWN_DESCRIPTORS : 1;
    }
    if (ret_limits->n_conns > bound) {
        log_warn("app", "limited to %" PRIu32 " connections by the limit of open files", bound);
        ret_limits->n_conns = bound;
    }
}

static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_WISH) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_WISH ? limit.rlim_max : DESCRIPTORS_WISH;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int adopt_sockets(struct sottod *sottod, const int *fds, int n, struct diag *diag)
{
    if (sottod->config->socket) {
        log_info("app", "sockets were passed in, so %s is not created", sottod->config->socket);
    }
    for (int i = 0; i < n; i++) {
        int r = listener_adopt(sottod->ipc, fds[i], diag);

        if (r) {
            return err_up(r);
        }
    }
    log_info("app", "listening on %d passed-in socket%s", n, n == 1 ? "" : "s");
    return 0;
}

/* Returns the group that may connect to the socket of a daemon for all users. */
static gid_t group_of_all(void)
{
    const struct group *group = getgrnam("sotto");

    return group ? group->gr_gid : (gid_t)-1;
}

static int open_own_socket(struct sottod *sottod, struct diag *diag)
{
    const struct config *config = sottod->config;
    bool is_root = geteuid() == 0;
    gid_t gid = config->socket_gid;
    char path[CMDLINE_PATH_BYTES];
    int r;

    if (config->socket) {
        snprintf(path, sizeof(path), "%s", config->socket);
    } else if (!cmdline_default_socket(sottod->options, is_root, path, diag)) {
        return SOCKET_FILE_REFUSED;
    } else if (is_root) {
        mkdir(RUN_FOLDER, 0755); /* if this fails, listener_open() reports why */
        gid = gid == (gid_t)-1 ? group_of_all() : gid;
    }
    r = listener_open(sottod->ipc, path, gid, diag);
    if (!r) {
        log_info("app", "listening at %s", path);
    }
    return err_pass(r);
}

static int listen_somewhere(struct sottod *sottod, struct diag *diag)
{
    int fds[NOTIFY_SOCKETS_MOST];
    int n = 0;
    int r = notify_sockets(fds, &n, diag);

    if (r) {
        return err_pass(r);
    }
    return n ? adopt_sockets(sottod, fds, n, diag) : open_own_socket(sottod, diag);
}

static void start_handles(struct sottod *sottod)
{
    uint64_t watchdog_ms = notify_watchdog_us() / 1000;

    for (size_t i = 0; i < SOTTOD_SIGNALS; i++) {
        uv_signal_init(&sottod->loop, &sottod->signals[i]);
        sottod->signals[i].data = sottod;
        uv_signal_start(&sottod->signals[i], on_signal, signal_numbers[i]);
    }
    uv_timer_init(&sottod->loop, &sottod->last_resort);
    uv_timer_init(&sottod->loop, &sottod->watchdog);
    sottod->watchdog.data = sottod;
    if (watchdog_ms) {
        uint64_t period_ms = watchdog_ms / 2 ? watchdog_ms / 2 : 1;

        uv_timer_start(&sottod->watchdog, on_watchdog, 0, period_ms);
    }
}

static int build(struct sottod *sottod, struct diag *diag)
{
    struct hub_config hub_config;
    struct ipc_limits limits;
    int r;

    if (!cmdline_find_engine(sottod->options, sottod->engine_path, diag) || !find_sense(sottod, diag)) {
        return err_new(-ENOENT);
    }
    sottod_hub_config(sottod, sottod->config, &hub_config);
    sottod_ipc_limits(sottod->config, &limits);
    r = hub_create(&sottod->hub, &sottod->loop, &hub_config, sottod_event, sottod);
    if (r) {
        return err_up(r);
    }
    r = ipc_create(&sottod->ipc, &sottod->loop, sottod->hub, &limits, &ipc_ops, sottod);
    if (r) {
        return err_up(r);
    }
    return listen_somewhere(sottod, diag);
}

static void on_closed(void *owner)
{
    (void)owner;
}

/* Takes down a daemon after a failed start, in the same way as a running one. */
static void take_down(struct sottod *sottod)
{
    move(sottod, SOTTOD_STOPPED);
    if (sottod->ipc) {
        ipc_close(sottod->ipc, on_closed);
    }
    if (sottod->hub) {
        hub_stop(sottod->hub, 0, on_closed, sottod);
    }
    uv_run(&sottod->loop, UV_RUN_DEFAULT);
}

static void free_all(struct sottod *sottod)
{
    ipc_destroy(sottod->ipc);
    hub_destroy(sottod->hub);
    devices_finish(&sottod->devices);
    config_destroy(sottod->config);
    arena_finish(&sottod->answer);
    if (uv_loop_close(&sottod->loop)) {
        log_warn("app", "handles are still open at exit");
    }
}

static int serve(struct sottod *sottod)
{
    struct diag diag = DIAG_INIT;
    int r = build(sottod, &diag);

    if (r) {
        log_error("app", "can't start: %s", diag_is_set(&diag) ? diag.text : strerrordesc_np(r < 0 ? -r : EINVAL));
        take_down(sottod);
        return EXIT_FAILURE;
    }
    start_handles(sottod);
    move(sottod, SOTTOD_SERVING);
    notify_ready();
    log_info("app", "sottod %s is ready; models: %zu", SOTTO_VERSION, sottod->config->n_models);
    if (sottod->config->n_models == 0) {
        log_warn("app", "no model is configured: add one to the configuration, or start with --model NAME=FILE");
    }
    devices_look(&sottod->devices);
    hub_start(sottod->hub);
    if (inhibitor_begin(&sottod->inhibitor, &sottod->loop, sottod->hub)) {
        log_warn("app", "no memory for the sleep lock: the machine may suspend during a step");
    }
    report_status(sottod);
    uv_run(&sottod->loop, UV_RUN_DEFAULT);
    log_info("app", "exiting");
    return sottod->exit_code;
}

int sottod_run(const struct cmdline *options, struct config *config)
{
    struct sottod *sottod = mem_calloc(MEM_MISC, 1, sizeof(*sottod));
    int code;

    raise_descriptors();
    if (!sottod || uv_loop_init(&sottod->loop)) {
        log_error("app", "can't start: no memory, or no descriptors for the event loop");
        mem_free(sottod);
        config_destroy(config);
        return EXIT_FAILURE;
    }
    sottod->options = options;
    sottod->config = config;
    sottod->generation = 1;
    arena_init(&sottod->answer, MEM_MISC, STATUS_BYTES);
    devices_init(&sottod->devices, &sottod->loop, &config->device, options->runtime_folder, on_devices, sottod);
    code = serve(sottod);
    free_all(sottod);
    mem_free(sottod);
    return code;
}
