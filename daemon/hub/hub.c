#include "hub/hub.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "hub/hub_state.h"
#include "session/embed.h"
#include "session/pins.h"
#include <errno.h>

#define DEFAULT_POOL_THREADS 4u /* libuv's own number */
#define HANDLES              6u /* the tick, figures, grace, alarm, the governor's, and the machine watch as one */

static void unload_all(struct hub *hub)
{
    struct list *link;

    list_for_each (link, &hub->registry.models) {
        models_unload(container_of(link, struct model_entry, link), true, "the daemon is shutting down");
    }
}

/* ---- what the registry tells */

static int on_open(void *owner, struct instance *instance)
{
    (void)owner;
    return err_up(pins_configure(instance, instance->settings.pins, instance->settings.n_pins));
}

static void on_ready(void *owner, struct instance *instance)
{
    struct hub *hub = owner;

    streams_go_on(&hub->streams, instance);
}

static void on_retire(void *owner, struct instance *instance)
{
    (void)owner;
    pins_end(instance);
}

static void on_refuse(void *owner, struct instance *instance, Sotto__V1__Code code, const char *sentence)
{
    (void)owner;
    streams_fail_all(instance, code, sentence);
}

static void on_ending(void *owner, struct instance *instance)
{
    struct hub *hub = owner;

    pins_end(instance);
    sessions_lose(&hub->sessions, instance);
}

static uint32_t on_lost(void *owner, struct instance *instance, const struct engine_end *end)
{
    struct hub *hub = owner;

    return dispatcher_on_lost(&hub->dispatcher, instance, end);
}

static void on_answer(void *owner, struct instance *instance, const Sotto__Engine__FromEngine *answer)
{
    struct hub *hub = owner;

    dispatcher_on_answer(&hub->dispatcher, instance, answer);
}

static void on_figures(void *owner)
{
    hub_status_on_figures(owner);
}

static void on_unload(void *owner, struct model_entry *model)
{
    struct hub *hub = owner;

    sessions_end_of(&hub->sessions, model);
}

static const struct registry_sink registry_sink = {
    .on_open = on_open,
    .on_ready = on_ready,
    .on_retire = on_retire,
    .on_refuse = on_refuse,
    .on_ending = on_ending,
    .on_lost = on_lost,
    .on_answer = on_answer,
    .on_figures = on_figures,
    .on_unload = on_unload,
};

/* ---- what sotto-sense tells */

static void on_sample(void *owner, bool early)
{
    struct hub *hub = owner;

    governor_loop_on_sample(&hub->governor_loop, early);
}

static void on_sense_event(void *owner, const char *name, const char *const *pairs, size_t n_pairs)
{
    struct hub *hub = owner;

    events_pass(&hub->events, "sense", name, pairs, n_pairs, EVENTS_NO_UID);
}

static bool is_ours(void *owner, uint32_t minor, uint64_t client, uint32_t pid)
{
    const struct hub *hub = owner;
    const struct instance *instance = NULL;

    while ((instance = registry_next(&hub->registry, instance))) {
        if (instance_has_client(instance, minor, client, pid)) {
            return true;
        }
    }
    return false;
}

static const struct machine_watch_sink watch_sink = {
    .on_sample = on_sample,
    .on_event = on_sense_event,
    .is_ours = is_ours,
};

/* ---- the end */

static void handle_closed(void *owner)
{
    struct hub *hub = owner;

    if (--hub->n_handles == 0 && hub->stopped) {
        hub->stopped(hub->stopped_owner);
    }
}

static void on_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

/* Closes the handles once nothing is left that could call back. */
static void try_close(struct hub *hub)
{
    bool has_streams = !list_is_empty(&hub->streams.all);

    if (!hub->events.is_stopping || hub->events.is_closing) {
        return;
    }
    if (!has_streams && hub->has_grace) {
        hub->has_grace = false; /* there is nothing left to wait for */
        unload_all(hub);
    }
    if (has_streams || !list_is_empty(&hub->tickets.due) || registry_next(&hub->registry, NULL) ||
        !text_pool_is_idle(&hub->pool) || hub->gains.is_writing) {
        return;
    }
    events_close(&hub->events, on_closed, hub);
    dispatcher_close(&hub->dispatcher, handle_closed, hub);
    uv_close((uv_handle_t *)&hub->figures, on_closed);
    uv_close((uv_handle_t *)&hub->grace, on_closed);
    governor_loop_close(&hub->governor_loop, on_closed, hub);
    machine_watch_end(hub->watch, handle_closed, hub);
}

static void on_grace(uv_timer_t *timer)
{
    struct hub *hub = timer->data;

    hub->has_grace = false;
    unload_all(hub);
    events_poke(&hub->events);
}

void hub_stop(struct hub *hub, uint32_t grace_ms, void (*done)(void *owner), void *owner)
{
    if (hub->events.is_stopping) {
        grace_ms = 0;
    } else {
        hub->events.is_stopping = true;
        hub->has_grace = true;
        hub->stopped = done;
        hub->stopped_owner = owner;
        pins_end_all(&hub->registry);
    }
    if (hub->events.is_closing || !hub->has_grace) {
        return;
    }
    uv_update_time(hub->events.loop);
    uv_timer_start(&hub->grace, on_grace, grace_ms, 0);
    events_poke(&hub->events);
}

/* ---- life */

static void on_tick(void *owner)
{
    struct hub *hub = owner;

    governor_loop_run(&hub->governor_loop); /* before a new stream is promised anything */
    streams_attend(&hub->streams);
    tickets_call(&hub->tickets);
    pins_run(&hub->streams);
    hub_gains_run(&hub->gains, hub->events.loop, &hub->governor_loop.governor);
    dispatcher_run(&hub->dispatcher);
    try_close(hub);
}

/* Puts the handles into the loop. */
static void start_handles(struct hub *hub)
{
    dispatcher_start(&hub->dispatcher);
    governor_loop_start(&hub->governor_loop);
    events_start(&hub->events, on_tick, hub);
    uv_timer_init(hub->events.loop, &hub->figures);
    uv_timer_init(hub->events.loop, &hub->grace);
    hub->figures.data = hub;
    hub->grace.data = hub;
    hub->n_handles = HANDLES;
}

static void free_hub(struct hub *hub)
{
    registry_finish(&hub->registry);
    streams_finish(&hub->streams);
    machine_watch_destroy(hub->watch);
    dispatcher_drop(&hub->dispatcher);
    mem_free(hub);
}

static void free_hubp(struct hub **hub)
{
    if (*hub) {
        free_hub(*hub);
    }
}

/* Connects the parts. 0 or a fault. */
static int init_parts(struct hub *hub, const struct hub_config *config)
{
    int r;

    list_init(&hub->asking);
    tickets_init(&hub->tickets, &hub->events);
    text_pool_init(&hub->pool, hub->events.loop,
                   config->n_pool_threads ? config->n_pool_threads : DEFAULT_POOL_THREADS);
    r = registry_init(&hub->registry, &hub->events, &hub->pool, &hub->tickets, config->engine_path, config->cpu_mask);
    hub->registry.sink = &registry_sink;
    hub->registry.owner = hub;
    streams_init(&hub->streams, &hub->registry, hub->governor_loop.governor.limits);
    sessions_init(&hub->sessions, &hub->streams);
    governor_loop_init(&hub->governor_loop, &hub->streams, &config->governor, &config->energy);
    r = r ? r : dispatcher_init(&hub->dispatcher, &hub->streams, &hub->sessions, &hub->governor_loop);
    return err_up(r);
}

int hub_create(struct hub **ret_hub, uv_loop_t *loop, const struct hub_config *config, events_fn on_event, void *owner)
{
    cleanup(free_hubp) struct hub *hub = mem_calloc(MEM_MISC, 1, sizeof(*hub));
    struct model_entry *model;
    int r;

    if (!hub) {
        return err_new(-ENOMEM);
    }
    hub->dispatcher.alarm.fd = -1;
    events_init(&hub->events, loop, on_event, owner);
    r = init_parts(hub, config);
    if (r) {
        return err_up(r);
    }
    hub_configure_limits(hub, config);
    for (size_t i = 0; i < config->n_models; i++) {
        r = model_entry_add(&hub->registry, &config->models[i], &model);
        if (r) {
            return err_up(r);
        }
    }
    /* Last: its handles are in the loop from here on. */
    r = machine_watch_create(&hub->watch, loop, &config->machine, &watch_sink, hub);
    if (r) {
        return err_up(r);
    }
    hub->governor_loop.watch = hub->watch;
    hub_gains_begin(&hub->gains, config->state_folder, config->machine.root, &hub->governor_loop.governor);
    start_handles(hub);
    *ret_hub = steal(&hub);
    return 0;
}

void hub_start(struct hub *hub)
{
    machine_watch_begin(hub->watch);
    hub_configure_load(hub);
}

void hub_destroy(struct hub *hub)
{
    if (hub) {
        free_hub(hub);
    }
}

bool hub_is_well(const struct hub *hub)
{
    const struct instance *instance = NULL;

    while ((instance = registry_next(&hub->registry, instance))) {
        if (instance->engine && engine_is_overdue(instance->engine)) {
            return false;
        }
    }
    return true;
}

/* ---- requests */

int hub_generate(struct hub *hub, const Sotto__V1__Generate *generate, const struct grant *grant,
                 const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                 struct diag *diag)
{
    struct request request = {
        .streams = &hub->streams,
        .generate = generate,
        .grant = grant,
        .sink = sink,
        .owner = owner,
    };

    if (generate->session) {
        return sessions_generate(&hub->sessions, &request, ret_stream, ret_retry_ms, diag);
    }
    return request_generate(&request, ret_stream, ret_retry_ms, diag);
}

int hub_embed(struct hub *hub, const Sotto__V1__Embed *embed, const struct grant *grant, const struct stream_sink *sink,
              void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag)
{
    return embed_open(&hub->streams, embed, grant, sink, owner, ret_stream, ret_retry_ms, diag);
}

int hub_open_session(struct hub *hub, const Sotto__V1__OpenSession *open, const struct grant *grant,
                     const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                     struct diag *diag)
{
    return sessions_open(&hub->sessions, open, grant, sink, owner, ret_stream, ret_retry_ms, diag);
}

void hub_connection_left(struct hub *hub, uint64_t connection)
{
    sessions_connection_left(&hub->sessions, connection);
}

struct close_ticket {
    struct ticket ticket;
    ticket_closed_fn done;
    uint32_t n_tok;
};

static void call_closed(struct ticket *ticket, const Sotto__V1__Error *error)
{
    const struct close_ticket *own = container_of(ticket, struct close_ticket, ticket);
    Sotto__V1__SessionClosed closed = SOTTO__V1__SESSION_CLOSED__INIT;

    (void)error;
    closed.tokens = own->n_tok;
    own->done(ticket->owner, &closed);
}

int hub_close_session(struct hub *hub, uint64_t id, const struct grant *grant, ticket_closed_fn done, void *owner,
                      struct ticket **ret_ticket, struct diag *diag)
{
    static const struct ticket_ops ops = { .call = call_closed };
    struct close_ticket *own;
    struct ticket *ticket;
    int r;

    r = ticket_create(&ticket, sizeof(*own), TICKET_OTHER, &ops, &hub->tickets, NULL, owner);
    if (r) {
        return err_up(r);
    }
    own = container_of(ticket, struct close_ticket, ticket);
    own->done = done;
    r = sessions_close(&hub->sessions, id, grant, &own->n_tok, diag);
    if (r) {
        ticket_destroy(ticket);
        return r;
    }
    ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    *ret_ticket = ticket;
    return 0;
}

/* ---- the machine */

void hub_hint(struct hub *hub, struct compositor *compositor, const Sotto__V1__GraphicsHint *hint)
{
    governor_loop_hint(&hub->governor_loop, compositor, hint);
}

void hub_hint_ends(struct hub *hub, struct compositor *compositor)
{
    governor_loop_hint_ends(&hub->governor_loop, compositor);
}

void hub_sleep(struct hub *hub)
{
    governor_loop_sleep(&hub->governor_loop);
}

void hub_wake(struct hub *hub)
{
    governor_loop_wake(&hub->governor_loop);
}

bool hub_is_still(const struct hub *hub)
{
    return dispatcher_is_still(&hub->dispatcher);
}
