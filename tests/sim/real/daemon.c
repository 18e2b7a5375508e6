#include "real/daemon.h"
#include "base/log.h"
#include "base/num.h"
#include "hub/hub_state.h"
#include "ipc/ipc_state.h"
#include "ipc/listener.h"
#include "plant/thermal.h"
#include "proto/limit.h"
#include "real/kernel.h"
#include "real/model.h"
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Iterations in which nothing happens before the daemon counts as settled: libuv takes up a new watcher in the
 * iteration after the one that adds it. */
#define QUIET 2u

/* The longest that the daemon may take to stop: by then every timer of the end has rung. */
#define STOP_NS (10 * TIMELINE_S)

struct daemon {
    struct daemon_world world;
    uv_loop_t loop;
    struct hub *hub;
    struct ipc *ipc;
    struct sockaddr_un address; /* of the socket, in the abstract namespace */
    socklen_t address_bytes;
    uint32_t peer_uid; /* of the peer that connects now */
    int model_fd;
    char model_path[32];
    bool has_stopped[2]; /* ipc, hub */
};

/* The peer's credentials are the kernel's word. There is one process here, so they are daemon_connect()'s. */
static struct daemon *connecting;

int peer_read(struct peer *ret_peer, int fd)
{
    *ret_peer = (struct peer){ .uid = connecting->peer_uid };
    return 0;
}

void peer_finish(struct peer *peer)
{
}

bool peer_is_in(const struct peer *peer, uint32_t gid)
{
    return false;
}

/* ---- policy */

static const struct scenario_clients *family_of(const struct scenario *scenario, uint32_t uid)
{
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        const struct scenario_clients *family = &scenario->clients[i];

        if (uid >= family->first_uid && uid < family->first_uid + (family->n_uids > 0 ? family->n_uids : 1)) {
            return family;
        }
    }
    return NULL;
}

static void grant(void *owner, const struct peer *peer, struct grant *ret_grant)
{
    const struct daemon *daemon = owner;
    const struct scenario_clients *family = family_of(daemon->world.scenario, peer->uid);

    *ret_grant = (struct grant){
        .uid = peer->uid,
        .class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME,
        .class_default = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        .weight = family && family->weight > 0 ? (uint32_t)family->weight : ACCOUNT_WEIGHT_USUAL,
        .n_streams = daemon->world.n_streams,
        .n_answer = UINT32_MAX,
        .tokens_a_minute = family ? (uint32_t)family->tokens_a_minute : 0,
        .graphics_hint = peer->uid == DAEMON_COMPOSITOR_UID,
    };
}

static int reload(void *owner, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag)
{
    return SOTTO__V1__CODE__CODE_UNIMPLEMENTED;
}

static void describe(void *owner, const struct grant *peer, Sotto__V1__StatusReport *report)
{
}

static const struct ipc_ops ipc_ops = { .grant = grant, .reload = reload, .describe = describe };

/* ---- settling */

/* Returns the time to the next timer, 0 if the loop has something to do now, -1 if it waits for others alone. libuv
 * also says 0 of a loop without active handles, which has nothing to do. */
static int timeout_ms(const struct daemon *daemon)
{
    return uv_loop_alive(&daemon->loop) ? uv_backend_timeout(&daemon->loop) : -1;
}

static bool is_ready(const struct daemon *daemon)
{
    struct pollfd look = { .fd = uv_backend_fd(&daemon->loop), .events = POLLIN };

    return poll(&look, 1, 0) > 0 || timeout_ms(daemon) == 0;
}

void daemon_settle(struct daemon *daemon)
{
    uint32_t n_quiet = 0;

    while (n_quiet < QUIET) {
        bool is_busy = kernel_ring();

        uv_run(&daemon->loop, UV_RUN_NOWAIT);
        is_busy = kernel_work() || is_busy;
        is_busy = engine_link_settle() || is_busy;
        is_busy = machine_watch_settle() || is_busy;
        is_busy = daemon->world.attend(daemon->world.owner) || is_busy;
        n_quiet = is_busy || is_ready(daemon) ? 0 : n_quiet + 1;
    }
}

uint64_t daemon_next_ns(const struct daemon *daemon)
{
    int ms = timeout_ms(daemon);
    uint64_t timer_ns = UINT64_MAX;

    if (ms >= 0) {
        timer_ns = (uv_now(&daemon->loop) + (uint64_t)ms) * TIMELINE_MS;
    }
    return num_min(timer_ns, kernel_next_ns());
}

/* ---- life */

static void on_line(void *owner, enum log_level level, const char *line)
{
    const struct daemon *daemon = owner;

    daemon->world.on_line(daemon->world.owner, line);
}

static void fill_policy(const struct scenario *scenario, struct governor_policy *ret_policy)
{
    const struct scenario_policy *family = &scenario->policy;

    *ret_policy = (struct governor_policy){
        .target_mc = (int32_t)scenario->heat.target_mc,
        .frame_us = scenario->screen.hz > 0 ? 1000000u / (uint32_t)scenario->screen.hz : 0,
        .max_slice_us = (uint32_t)family->max_slice_us,
        .headroom_permille = (uint32_t)family->headroom_permille,
        .min_share_permille = (uint32_t)family->min_share_permille,
        .heat_grace_ms = (uint32_t)family->heat_grace_ms,
        .graphics_grace_ms = (uint32_t)family->graphics_grace_ms,
        .cores_share = scenario->chip.cores != 0,
    };
}

static void create_hub(struct daemon *daemon)
{
    const struct scenario *scenario = daemon->world.scenario;
    struct model_settings models[SCENARIO_ROWS_MAX];
    struct hub_config config = { .models = models, .n_models = (size_t)scenario->n_engines, .engine_path = "" };
    double whole, lag_s;
    int r;

    for (uint32_t i = 0; i < config.n_models; i++) {
        models[i] = (struct model_settings){
            .name = model_name(i),
            .file = daemon->model_path,
            .backend = "cpu",
            .n_sequences = (uint32_t)scenario->engines[i].slots,
            .n_step_rows = (uint32_t)scenario->engines[i].rows,
            .load_at_start = true,
            .is_default = i == 0,
        };
    }
    fill_policy(scenario, &config.governor);
    r = hub_create(&daemon->hub, &daemon->loop, &config, NULL, NULL);
    assert(r == 0);
    (void)r;
    if (scenario->heat.kept_permille > 0) { /* as if sottod had found them in its file */
        thermal_reaction(scenario, &whole, &lag_s);
        thermostat_keep(&daemon->hub->governor_loop.governor.heat.thermostat,
                        whole * (double)scenario->heat.kept_permille / 1e3, lag_s);
    }
}

static void create_ipc(struct daemon *daemon)
{
    const struct ipc_limits limits = {
        .n_conns = LIMIT_CONNS,
        .n_conns_a_uid = LIMIT_CONNS,
        .wire_bytes_a_uid = LIMIT_WIRE_A_UID,
        .hello_ms = LIMIT_HELLO_MS,
        .half_frame_ms = LIMIT_HALF_FRAME_MS,
        .stall_ms = LIMIT_STALL_MS,
        .closing_ms = LIMIT_CLOSING_MS,
    };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct diag diag = DIAG_INIT;
    int r;

    daemon->address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    daemon->address_bytes = sizeof(daemon->address);
    r = bind(fd, (struct sockaddr *)&daemon->address, sizeof(sa_family_t)); /* the kernel chooses a name */
    assert(r == 0);
    r = getsockname(fd, (struct sockaddr *)&daemon->address, &daemon->address_bytes);
    assert(r == 0);
    r = ipc_create(&daemon->ipc, &daemon->loop, daemon->hub, &limits, &ipc_ops, daemon);
    assert(r == 0);
    r = listener_adopt(daemon->ipc, fd, &diag);
    assert(r == 0);
    (void)r;
}

static struct instance *instance_of_engine(const struct daemon *daemon, uint32_t engine)
{
    return model_entry_pick(model_entry_find(&daemon->hub->registry, model_name(engine)));
}

/* Loads the models. sottod says of each engine that it computes on the cores, as long as there is no other; the plant's
 * may have the GPU. */
static void load(struct daemon *daemon)
{
    const struct scenario *scenario = daemon->world.scenario;

    hub_start(daemon->hub);
    daemon_settle(daemon);
    for (uint32_t i = 0; i < scenario->n_engines; i++) {
        struct instance *instance = instance_of_engine(daemon, i);

        assert(instance_is_ready(instance));
        instance->eq.processor = scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU;
    }
}

struct daemon *daemon_create(const struct daemon_world *world)
{
    struct daemon *daemon = mem_calloc(MEM_MISC, 1, sizeof(*daemon));
    int r;

    assert(daemon);
    signal(SIGPIPE, SIG_IGN); /* as sottod does */
    daemon->world = *world;
    kernel_begin(world->timeline, (uint64_t)world->scenario->run.seed);
    log_to(on_line, daemon);
    daemon->model_fd = model_make();
    snprintf(daemon->model_path, sizeof(daemon->model_path), "/proc/self/fd/%d", daemon->model_fd);
    engine_link_begin(world->server, daemon);
    machine_watch_plug(world->sensors);
    r = uv_loop_init(&daemon->loop);
    assert(r == 0);
    (void)r;
    create_hub(daemon);
    create_ipc(daemon);
    load(daemon);
    return daemon;
}

static void on_conns_closed(void *owner)
{
    struct daemon *daemon = owner;

    daemon->has_stopped[0] = true;
}

static void on_hub_stopped(void *owner)
{
    struct daemon *daemon = owner;

    daemon->has_stopped[1] = true;
}

/* Settles until *@is_over; the clock goes on from timer to timer. */
static void settle_until(struct daemon *daemon, const bool *is_over)
{
    struct timeline *timeline = daemon->world.timeline;
    uint64_t end_ns = timeline->now_ns + STOP_NS;

    daemon_settle(daemon);
    while (!*is_over) {
        uint64_t next_ns = daemon_next_ns(daemon);

        assert(next_ns <= end_ns);
        (void)end_ns;
        timeline->now_ns = num_max(timeline->now_ns, next_ns);
        daemon_settle(daemon);
    }
}

void daemon_destroy(struct daemon *daemon)
{
    int r;

    ipc_close(daemon->ipc, on_conns_closed);
    settle_until(daemon, &daemon->has_stopped[0]);
    ipc_destroy(daemon->ipc);
    hub_stop(daemon->hub, 0, on_hub_stopped, daemon);
    settle_until(daemon, &daemon->has_stopped[1]);
    hub_destroy(daemon->hub);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    r = uv_loop_close(&daemon->loop);
    assert(r == 0);
    (void)r;
    close(daemon->model_fd);
    log_to(NULL, NULL);
    kernel_end();
    mem_free(daemon);
}

int daemon_connect(struct daemon *daemon, uint32_t uid)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r;

    connecting = daemon;
    daemon->peer_uid = uid;
    r = connect(fd, (struct sockaddr *)&daemon->address, daemon->address_bytes);
    assert(r == 0);
    (void)r;
    daemon_settle(daemon); /* it accepts the connection and reads the peer's credentials */
    return fd;
}

/* ---- what the monitor sees */

const struct engine_queue *daemon_eq(const struct daemon *daemon, uint32_t engine)
{
    return &instance_of_engine(daemon, engine)->eq;
}

struct dispatch *daemon_dispatch(const struct daemon *daemon)
{
    return &daemon->hub->streams.dispatch;
}

const struct governor *daemon_governor(const struct daemon *daemon)
{
    return &daemon->hub->governor_loop.governor;
}

void daemon_each_job(const struct daemon *daemon, void (*fn)(void *owner, uint64_t seed, const struct job *job),
                     void *owner)
{
    struct list *link;

    list_for_each (link, &daemon->hub->streams.all) {
        const struct stream *stream = container_of(link, struct stream, link);

        fn(owner, stream->request.sampler.seed, &stream->job);
    }
}

struct account *daemon_account(const struct daemon *daemon, uint32_t uid)
{
    struct account *account;
    int r = accounts_get(&daemon->hub->streams.queue.accounts, uid, &account);

    assert(r == 0);
    (void)r;
    return account;
}
