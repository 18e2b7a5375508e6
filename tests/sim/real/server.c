/*
 * Server, real: sottod and its clients in place of the simulated server
 *
 * It has the interface of server.h, so world, clients and monitor are the same for both. What clients ask goes through
 * libsotto and a socket to sottod, which runs in this process (daemon.h). After each event of the timeline sottod and
 * libsotto run until neither has anything left to do at this time.
 *
 * The monitor looks at jobs, engine queues, the governor and the dispatch. Here these are copies of sottod's own, which
 * are brought up to date whenever sottod has settled.
 */
#include "server.h"
#include "base/clean.h"
#include "base/num.h"
#include "clients/sotto.h"
#include "monitor.h"
#include "real/daemon.h"
#include "real/model.h"
#include <assert.h>
#include <poll.h>

/* A connection for each client, and the compositor's. */
#define PEERS 257u

/* What is live at once, at most: its copies are found by seed. */
#define COPIES 8192u

struct peer_of {
    const void *client;
    struct sotto *sotto;
};

/* A request, and what is on its way. */
struct asked {
    struct request request;
    struct sotto *sotto;
    uint32_t stream;
    uint32_t credit; /* granted so far; 0: no bound */
    bool is_accepted;
    bool is_refused;
    uint64_t retry_us; /* with is_refused */
    bool is_full;      /* it is refused for want of room */
    bool is_late;      /* it is refused for its deadline */
};

static struct {
    struct server *server;
    struct daemon *daemon;
    struct peer_of peers[PEERS];
    uint32_t n_peers;
    uint64_t n_made;              /* requests, ever */
    struct asked *copies[COPIES]; /* by seed; live ones */
} real;

static struct asked *asked_of(struct request *request)
{
    return container_of(request, struct asked, request);
}

static struct asked *asked_by_seed(uint64_t seed)
{
    struct asked *asked = real.copies[seed % COPIES];

    return asked && asked->request.job.order == seed ? asked : NULL;
}

/* ---- libsotto's part of settling */

static bool attend(void *owner)
{
    struct pollfd looks[PEERS];
    bool any = false;

    for (uint32_t i = 0; i < real.n_peers; i++) {
        looks[i] = (struct pollfd){ .fd = sotto_fd(real.peers[i].sotto), .events = sotto_events(real.peers[i].sotto) };
    }
    if (real.n_peers == 0 || poll(looks, real.n_peers, 0) <= 0) {
        return false;
    }
    for (uint32_t i = 0; i < real.n_peers; i++) {
        if (looks[i].revents != 0) {
            enum sotto_code code = sotto_dispatch(real.peers[i].sotto, NULL);

            assert(code == SOTTO_OK);
            (void)code;
            any = true;
        }
    }
    return any;
}

static struct sotto *connection_of(const void *client, uint32_t uid)
{
    struct peer_of *peer;
    enum sotto_code code;

    for (uint32_t i = 0; i < real.n_peers; i++) {
        if (real.peers[i].client == client) {
            return real.peers[i].sotto;
        }
    }
    assert(real.n_peers < PEERS);
    peer = &real.peers[real.n_peers];
    code = sotto_open_fd(&peer->sotto, daemon_connect(real.daemon, uid), "sim", NULL);
    assert(code == SOTTO_OK);
    (void)code;
    peer->client = client;
    real.n_peers++;
    return peer->sotto;
}

/* ---- copies for the monitor */

static void copy_job(void *owner, uint64_t seed, const struct job *job)
{
    struct asked *asked = asked_by_seed(seed);
    struct job *copy;

    if (!asked) {
        return;
    }
    copy = &asked->request.job;
    copy->account = job->account;
    copy->limits = job->limits;
    copy->state = job->state;
    copy->parked = job->parked;
    copy->n_steps = job->n_steps;
    copy->n_paid = job->n_paid;
    copy->n_done = job->n_done;
    copy->n_known = job->n_known;
    copy->n_pages = job->n_pages;
}

/* Copies the steps, so that dispatch_is_busy() can be asked of the copies. Only the end needs that. */
static void copy_dispatch(struct server *server)
{
    server->dispatch = *daemon_dispatch(real.daemon);
    for (uint32_t i = 0; i < DISPATCH_STEPS; i++) {
        for (uint32_t k = 0; k < server->scenario->n_engines; k++) {
            if (server->dispatch.steps[i].eq == daemon_eq(real.daemon, k)) {
                server->dispatch.steps[i].eq = &server->eqs[k];
            }
        }
    }
}

static void copy_all(struct server *server)
{
    for (uint32_t i = 0; i < server->scenario->n_engines; i++) {
        server->eqs[i] = *daemon_eq(real.daemon, i);
    }
    server->governor = *daemon_governor(real.daemon);
    daemon_each_job(real.daemon, copy_job, NULL);
    if (server->is_closed) {
        copy_dispatch(server);
    }
}

/* Lets sottod and the clients do all that they can now. */
static void settle(struct server *server)
{
    uint64_t next_ns;

    daemon_settle(real.daemon);
    copy_all(server);
    monitor_on_limits(server->monitor, server_limits(server));
    monitor_on_settled(server->monitor, server);
    next_ns = daemon_next_ns(real.daemon);
    if (next_ns < UINT64_MAX) {
        timeline_enter(server->timeline, &server->wake, next_ns);
    } else {
        timeline_cancel(server->timeline, &server->wake);
    }
}

static void on_wake(void *owner)
{
    settle(owner);
}

/* ---- what becomes of a request */

static void take_token(struct server *server, struct request *request)
{
    request->n_tok++;
    request->job.has_first = true;
    request->job.n_left--;
    server->n_tok++;
    if (request->first_ns == 0) {
        request->first_ns = server->timeline->now_ns;
    }
    monitor_on_token(server->monitor, request);
    server->on_token(request->client, request);
}

static void end(struct server *server, struct asked *asked, enum server_end how)
{
    struct request *request = &asked->request;

    request->n_ends++;
    request->is_over = true;
    monitor_on_end(server->monitor, request, how);
    server->n_live--;
    server->queue.n_live--;
    list_remove(&request->job.link);
    list_remove(&request->link);
    real.copies[request->job.order % COPIES] = NULL;
    server->on_end(request->client, request, how);
    mem_free(asked);
}

static void on_done(struct server *server, struct asked *asked, const struct sotto_done *done)
{
    if (done->reason == SOTTO_FINISH_CANCELLED) {
        end(server, asked, SERVER_CANCELLED);
        return;
    }
    if (done->reason == SOTTO_FINISH_END) {
        take_token(server, &asked->request); /* the token that ends an answer is not shown */
    }
    end(server, asked, SERVER_DONE);
}

static void on_error(struct server *server, struct asked *asked, const struct sotto_error *error)
{
    monitor_log(server->monitor, "request %llu: %s, again in %u ms: %s", (unsigned long long)asked->request.job.order,
                sotto_code_name(error->code), error->retry_after_ms, error->message);
    if (!asked->is_accepted) {
        asked->is_refused = true;
        asked->retry_us = error->retry_after_ms * 1000ull;
        asked->is_late = strstr(error->message, "is wanted within") != NULL;
        asked->is_full = error->retry_after_ms > 0 && !asked->is_late && !strstr(error->message, "are spent");
    } else if (error->code == SOTTO_DEADLINE_EXCEEDED || !asked->request.is_promised) {
        end(server, asked, SERVER_EXPIRED);
    } else if (error->code == SOTTO_OUT_OF_RANGE) {
        end(server, asked, SERVER_NEVER);
    } else {
        monitor_on_nonsense(server->monitor);
        end(server, asked, SERVER_CANCELLED);
    }
}

static void on_event(void *owner, const struct sotto_event *event)
{
    struct asked *asked = owner;
    struct server *server = real.server;

    switch (event->kind) {
    case SOTTO_EVENT_ACCEPTED:
        asked->is_accepted = true;
        if (event->accepted->prompt_tokens == 0) { /* its model is being loaded: nothing is promised yet */
            asked->request.is_promised = false;
        }
        break;
    case SOTTO_EVENT_DELTA:
        for (size_t i = 0; i < event->delta->n_tokens; i++) {
            take_token(server, &asked->request);
        }
        break;
    case SOTTO_EVENT_NOTICE:
        monitor_log(server->monitor, "request %llu: notice %d, %s", (unsigned long long)asked->request.job.order,
                    (int)event->notice->kind, event->notice->detail);
        break;
    case SOTTO_EVENT_DONE:
        on_done(server, asked, event->done);
        break;
    case SOTTO_EVENT_ERROR:
        on_error(server, asked, event->error);
        break;
    default:
        monitor_on_nonsense(server->monitor);
        break;
    }
}

/* ---- requests */

static void fill(struct server *server, struct asked *asked, const struct request_spec *spec)
{
    uint64_t now_us = server->timeline->now_ns / TIMELINE_US;
    struct request *request = &asked->request;
    struct job *job = &request->job;

    list_init(&request->link);
    list_init(&job->link);
    job->order = ++real.n_made;
    job->eq = &server->eqs[spec->engine];
    job->priority = spec->priority;
    job->n_prompt = spec->n_prompt;
    job->n_known = spec->n_prompt;
    job->n_most = spec->n_prompt + spec->n_most;
    job->n_left = spec->credit ? spec->credit : spec->n_most;
    job->first_by_us = spec->first_by_us ? now_us + spec->first_by_us : 0;
    job->finish_by_us = spec->finish_by_us ? now_us + spec->finish_by_us : 0;
    request->first_by_us = job->first_by_us;
    request->finish_by_us = job->finish_by_us;
    request->is_promised = job->first_by_us != 0 || job->finish_by_us != 0;
    request->weight = spec->weight;
    request->n_most = spec->n_most;
    request->n_answer = spec->n_answer;
    request->n_cached = spec->n_cached;
    request->asked_ns = server->timeline->now_ns;
    request->client = spec->client;
}

static void send(struct asked *asked, const struct request_spec *spec)
{
    static const enum sotto_class classes[PRIORITY_COUNT] = {
        [PRIORITY_BACKGROUND] = SOTTO_CLASS_BACKGROUND,
        [PRIORITY_INTERACTIVE] = SOTTO_CLASS_INTERACTIVE,
        [PRIORITY_REALTIME] = SOTTO_CLASS_REALTIME,
    };
    struct sotto_generate *generate = sotto_generate_create();
    char *text = mem_alloc(MEM_MISC, spec->n_prompt + 1);
    enum sotto_code code;

    assert(generate && text);
    memset(text, 'a', spec->n_prompt);
    sotto_generate_set_model(generate, model_name(spec->engine));
    sotto_generate_set_text(generate, text, spec->n_prompt);
    sotto_generate_set_seed(generate, asked->request.job.order);
    sotto_generate_set_temperature(generate, 0.0f);
    sotto_generate_set_max_tokens(generate, spec->n_most);
    sotto_generate_set_class(generate, classes[spec->priority]);
    if (spec->credit > 0) {
        sotto_generate_set_credit(generate, spec->credit);
    }
    if (spec->first_by_us > 0) {
        sotto_generate_set_first_token_by(generate, (uint32_t)(spec->first_by_us / 1000));
    }
    if (spec->finish_by_us > 0) {
        sotto_generate_set_finish_by(generate, (uint32_t)(spec->finish_by_us / 1000));
    }
    code = sotto_send_generate(asked->sotto, generate, on_event, asked, &asked->stream, NULL);
    assert(code == SOTTO_OK);
    (void)code;
    sotto_generate_destroy(generate);
    mem_free(text);
}

/* Counts a refusal. A request may be refused for want of room only while its user has as many as the limits allow. */
static int refuse(struct server *server, struct asked *asked, uint64_t *ret_retry_us)
{
    struct request *request = &asked->request;
    const struct account *account = request->job.account;
    bool is_full = asked->is_full;

    *ret_retry_us = asked->retry_us;
    server->n_refused++;
    if (is_full) {
        monitor_on_full(server->monitor, &request->job, *ret_retry_us);
        tally_add(&server->monitor->tallies, INVARIANT_QUEUE, account->n_live,
                  account->n_live < SERVER_STREAMS && account->n_waiting < SERVER_WAITING,
                  monitor_now_s(server->monitor));
    }
    list_remove(&request->link);
    if (asked->is_late) {
        monitor_on_deadline(server->monitor, request, true);
    }
    monitor_on_refused(server->monitor, request, *ret_retry_us);
    real.copies[request->job.order % COPIES] = NULL;
    mem_free(asked);
    return is_full ? SERVER_FULL : SERVER_REFUSED;
}

int server_submit(struct server *server, const struct request_spec *spec, struct request **ret_request,
                  uint64_t *ret_retry_us)
{
    struct asked *asked = mem_calloc(MEM_MISC, 1, sizeof(*asked));
    struct request *request = &asked->request;

    assert(asked);
    asked->sotto = connection_of(spec->client, spec->uid);
    fill(server, asked, spec);
    request->job.account = daemon_account(real.daemon, spec->uid);
    assert(!real.copies[request->job.order % COPIES]);
    real.copies[request->job.order % COPIES] = asked;
    list_append(&server->requests, &request->link);
    send(asked, spec);
    server->n_asked++;
    settle(server);
    if (asked->is_refused) {
        return refuse(server, asked, ret_retry_us);
    }
    assert(asked->is_accepted);
    if (request->is_promised) {
        list_remove(&request->link); /* it is beside those that were promised before */
        monitor_on_deadline(server->monitor, request, false);
        list_append(&server->requests, &request->link);
    }
    list_append(&server->queue.jobs[request->job.priority], &request->job.link);
    server->n_live++;
    server->queue.n_live++;
    monitor_on_asked(server->monitor, request);
    *ret_request = request;
    return SERVER_OK;
}

void server_cancel(struct server *server, struct request *request)
{
    struct asked *asked = asked_of(request);

    if (!request->is_over) {
        sotto_cancel(asked->sotto, asked->stream, NULL);
        settle(server);
    }
}

void server_grant(struct server *server, struct request *request, uint32_t n_tok)
{
    struct asked *asked = asked_of(request);

    request->job.n_left = (uint32_t)num_min(request->job.n_left + n_tok, request->n_most - request->n_tok);
    sotto_grant(asked->sotto, asked->stream, n_tok, NULL);
    settle(server);
}

/* ---- engines and sensors */

/* Judges the step that has ended, before sottod hears of it. */
static void judge_step(struct server *server, const struct engine *engine, const struct engine_message *answer)
{
    const struct dispatch_step *step =
        dispatch_find(daemon_dispatch(real.daemon), daemon_eq(real.daemon, engine->number), answer->id);
    uint32_t n_rows = 0;

    if (!step) {
        return;
    }
    for (uint32_t i = 0; i < answer->work->n_entries; i++) {
        n_rows += answer->work->entries[i].n_rows;
    }
    server->n_rows += n_rows;
    if (n_rows == step->plan.n_rows) {
        monitor_on_step(server->monitor, engine, &step->plan, step->held_us + answer->held_us);
    }
}

/* Counts what a job was charged since it was last copied. */
static void count_served(void *owner, uint64_t seed, const struct job *job)
{
    struct asked *asked = asked_by_seed(seed);

    if (asked && job->n_paid > asked->request.job.n_paid) {
        monitor_on_served(real.server->monitor, &asked->request, job->n_paid - asked->request.job.n_paid);
        asked->request.job.n_paid = job->n_paid;
    }
}

void server_on_answer(void *owner, struct engine *engine, const struct engine_message *answer)
{
    struct server *server = owner;

    if (answer->what == ENGINE_DONE) {
        judge_step(server, engine, answer);
    }
    engine_link_answer(engine, answer);
    if (answer->what == ENGINE_DONE) {
        daemon_each_job(real.daemon, count_served, NULL);
    }
    settle(server);
}

void server_on_lost(struct server *server, uint32_t engine, uint64_t after_ns)
{
    engine_link_lose(engine);
    timeline_enter(server->timeline, &server->restart[engine], server->timeline->now_ns + after_ns);
    settle(server);
}

static void restart(struct server *server, uint32_t engine)
{
    engine_restart(&server->engines[engine]);
    settle(server);
}

static void on_restart_first(void *owner)
{
    restart(owner, 0);
}

static void on_restart_second(void *owner)
{
    restart(owner, 1);
}

void server_on_sample(void *owner)
{
    machine_watch_sample();
    settle(owner);
}

void server_hint(struct server *server, uint64_t busy_until_ns, uint32_t n_missed)
{
    uint64_t now_ns = server->timeline->now_ns;
    const struct sotto_hint hint = {
        .frame_budget_us = 1000000u / (uint32_t)server->scenario->screen.hz,
        .missed_frames = n_missed,
        .busy_for_us = busy_until_ns > now_ns ? (uint32_t)((busy_until_ns - now_ns) / TIMELINE_US) : 0,
    };

    sotto_send_hint(connection_of(server, DAEMON_COMPOSITOR_UID), &hint, NULL);
    settle(server);
}

/* ---- life */

static void on_line(void *owner, const char *line)
{
    const struct server *server = owner;

    monitor_log(server->monitor, "sottod: %s", line);
}

enum processor server_processor(const struct server *server)
{
    return server->scenario->chip.cores ? PROCESSOR_CPU : PROCESSOR_GPU;
}

const struct governor_limits *server_limits(const struct server *server)
{
    return &server->governor.limits[server_processor(server)];
}

void server_init(struct server *server, struct timeline *timeline, const struct scenario *scenario,
                 struct engine *engines, struct sensors *sensors, struct monitor *monitor)
{
    *server = (struct server){
        .timeline = timeline,
        .scenario = scenario,
        .engines = engines,
        .sensors = sensors,
        .monitor = monitor,
    };
    queue_init(&server->queue);
    list_init(&server->requests);
    timeline_event_init(&server->wake, on_wake, server);
    timeline_event_init(&server->restart[0], on_restart_first, server);
    timeline_event_init(&server->restart[1], on_restart_second, server);
    memset(&real, 0, sizeof(real));
    real.server = server;
    real.daemon = daemon_create(&(struct daemon_world){
        .scenario = scenario,
        .timeline = timeline,
        .n_streams = SERVER_STREAMS,
        .server = server,
        .sensors = sensors,
        .attend = attend,
        .on_line = on_line,
        .owner = server,
    });
    timeline_enter(timeline, &server->wake, timeline->now_ns); /* the world is not whole yet */
}

void server_finish(struct server *server)
{
    struct list *link;
    struct list *after;

    for (uint32_t i = 0; i < real.n_peers; i++) {
        sotto_close(real.peers[i].sotto);
    }
    real.n_peers = 0;
    daemon_destroy(real.daemon);
    list_for_each_safe (link, after, &server->requests) {
        mem_free(asked_of(container_of(link, struct request, link)));
    }
    timeline_cancel(server->timeline, &server->wake);
    timeline_cancel(server->timeline, &server->restart[0]);
    timeline_cancel(server->timeline, &server->restart[1]);
    queue_finish(&server->queue);
}
