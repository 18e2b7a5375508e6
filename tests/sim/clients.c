#include "clients.h"
#include "base/num.h"
#include <assert.h>

/* Voice turns, in permille, that the next one cuts short. */
#define CUT_SHORT 250u
/* Tokens that a slow reader takes at once. */
#define SLOW_TOK 8u
/* A client that is refused for good, or without a time, tries again after this. */
#define GIVES_UP_MS 5000

static uint64_t now_ns(const struct client *client)
{
    return client->server->timeline->now_ns;
}

static uint32_t around(struct client *client, int64_t mean)
{
    return (uint32_t)num_max(1, (uint64_t)rng_between(&client->rng, mean / 2, mean + mean / 2));
}

static bool has_session(const struct client *client)
{
    return client->family->pattern == PATTERN_VOICE || client->family->pattern == PATTERN_CHAT;
}

static void ask_later(struct client *client, uint64_t after_ns)
{
    if (client->family->asks > 0 && client->n_asked >= (uint64_t)client->family->asks) {
        return;
    }
    timeline_enter(client->server->timeline, &client->ask, now_ns(client) + after_ns);
}

/* Returns the time until the client asks again. */
static uint64_t pause_ns(struct client *client)
{
    switch ((enum pattern)client->family->pattern) {
    case PATTERN_VOICE:
    case PATTERN_CHAT:
        return rng_wait(&client->rng, (uint64_t)client->family->think_ms * TIMELINE_MS);
    case PATTERN_DOCUMENT:
    case PATTERN_SLOW:
        return (uint64_t)rng_between(&client->rng, 1, 5) * TIMELINE_MS;
    case PATTERN_STORM:
        return (uint64_t)rng_between(&client->rng, 1, 100) * 10 * TIMELINE_US;
    case PATTERN_COUNT:
        break;
    }
    return TIMELINE_S;
}

static void fill_ask(struct client *client, struct request_spec *ask)
{
    const struct scenario_clients *family = client->family;

    *ask = (struct request_spec){
        .uid = client->uid,
        .weight = (uint32_t)family->weight,
        .tokens_a_minute = (uint32_t)family->tokens_a_minute,
        .priority = (enum priority)family->priority,
        .engine = (uint32_t)family->engine,
        .n_prompt = around(client, family->prompt),
        .n_answer = around(client, family->answer),
        .first_by_us = (uint64_t)family->first_by_ms * 1000,
        .finish_by_us = (uint64_t)family->finish_by_ms * 1000,
        .client = client,
    };
    ask->n_most = (uint32_t)rng_between(&client->rng, ask->n_answer, 2 * (int64_t)ask->n_answer);
    if (has_session(client)) {
        ask->n_cached = (uint32_t)((uint64_t)ask->n_prompt * (uint64_t)rng_between(&client->rng, 500, 900) / 1000);
    }
    if (family->pattern == PATTERN_SLOW) {
        ask->credit = (uint32_t)num_min(SLOW_TOK, ask->n_most);
    }
}

static void keep(struct client *client, struct request *request)
{
    for (uint32_t i = 0; i < CLIENT_REQUESTS; i++) {
        if (!client->requests[i]) {
            client->requests[i] = request;
            client->n_open++;
            return;
        }
    }
    assert(false);
}

static void on_ask(void *owner)
{
    struct client *client = owner;
    struct request *request;
    struct request_spec ask;
    uint64_t retry_us = 0;
    bool again;
    int r;

    if (client->server->is_closed) {
        return;
    }
    fill_ask(client, &ask);
    r = server_submit(client->server, &ask, &request, &retry_us);
    if (r && client->family->leaves) {
        return;
    }
    if (r) {
        uint64_t least_ns = client->family->pattern == PATTERN_STORM ? TIMELINE_MS : 20 * TIMELINE_MS;
        uint64_t wait_ns = retry_us ? retry_us * TIMELINE_US : GIVES_UP_MS * TIMELINE_MS;

        if (r != SERVER_FULL) {
            wait_ns = num_min(wait_ns, GIVES_UP_MS * TIMELINE_MS);
        }
        ask_later(client, num_max(least_ns, wait_ns) + (uint64_t)rng_between(&client->rng, 0, 5) * TIMELINE_MS);
        return;
    }
    client->n_asked++;
    keep(client, request);
    client->cut_tok = 0;
    if (client->family->pattern == PATTERN_VOICE && rng_chance(&client->rng, CUT_SHORT)) {
        client->cut_tok = (uint32_t)rng_between(&client->rng, 1, ask.n_answer);
    }
    again = client->n_open < (uint32_t)num_min((uint64_t)client->family->at_once, CLIENT_REQUESTS);
    if (again) {
        ask_later(client, TIMELINE_MS);
    }
}

/* The client has read on, or its speaker speaks again. */
static void on_act(void *owner)
{
    struct client *client = owner;
    struct request *request = client->acts_on;

    if (!request) {
        return;
    }
    client->acts_on = NULL;
    if (client->family->pattern == PATTERN_VOICE) {
        server_cancel(client->server, request);
    } else {
        server_grant(client->server, request, SLOW_TOK);
    }
}

void clients_on_token(void *owner, struct request *request)
{
    struct client *client = owner;
    bool is_cut = client->cut_tok > 0 && request->n_tok == client->cut_tok;
    bool is_dry = client->family->pattern == PATTERN_SLOW && request->job.n_left == 0;

    if (!client->server->is_closed && (is_cut || is_dry)) {
        uint64_t wait_ns = is_cut ? TIMELINE_MS / 10 : (uint64_t)client->family->think_ms * TIMELINE_MS;

        client->acts_on = request;
        timeline_enter(client->server->timeline, &client->act, now_ns(client) + wait_ns);
    }
}

void clients_on_end(void *owner, struct request *request, enum server_end how)
{
    struct client *client = owner;

    for (uint32_t i = 0; i < CLIENT_REQUESTS; i++) {
        if (client->requests[i] == request) {
            client->requests[i] = NULL;
            client->n_open--;
        }
    }
    if (client->acts_on == request) {
        client->acts_on = NULL;
        timeline_cancel(client->server->timeline, &client->act);
    }
    if (client->server->is_closed) {
        return;
    }
    if (how == SERVER_CANCELLED) {
        ask_later(client, TIMELINE_MS);
    } else if (!timeline_has(&client->ask)) {
        ask_later(client, how == SERVER_NEVER ? GIVES_UP_MS * TIMELINE_MS : pause_ns(client));
    }
}

void clients_init(struct clients *clients, struct server *server, const struct scenario *scenario)
{
    clients->n = 0;
    for (int64_t i = 0; i < scenario->n_clients; i++) {
        const struct scenario_clients *family = &scenario->clients[i];

        for (int64_t k = 0; k < family->n && clients->n < CLIENTS_MAX; k++) {
            struct client *client = &clients->all[clients->n];

            *client = (struct client){ .server = server, .family = family, .number = clients->n };
            client->uid = (uint32_t)(family->first_uid + (family->n_uids > 0 ? k % family->n_uids : 0));
            rng_init(&client->rng, (uint64_t)scenario->run.seed * CLIENTS_MAX + clients->n, RNG_CLIENTS);
            timeline_event_init(&client->ask, on_ask, client);
            timeline_event_init(&client->act, on_act, client);
            ask_later(client, (uint64_t)family->from_ms * TIMELINE_MS +
                                  (uint64_t)rng_between(&client->rng, 0, 500) * TIMELINE_MS);
            clients->n++;
        }
    }
}

void clients_leave(struct clients *clients)
{
    for (uint32_t i = 0; i < clients->n; i++) {
        struct client *client = &clients->all[i];

        timeline_cancel(client->server->timeline, &client->ask);
        for (uint32_t k = 0; k < CLIENT_REQUESTS; k++) {
            if (client->requests[k]) {
                server_cancel(client->server, client->requests[k]);
            }
        }
    }
}

void clients_finish(struct clients *clients)
{
    for (uint32_t i = 0; i < clients->n; i++) {
        timeline_cancel(clients->all[i].server->timeline, &clients->all[i].ask);
        timeline_cancel(clients->all[i].server->timeline, &clients->all[i].act);
    }
}
