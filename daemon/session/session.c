/*
 * The life of a session, from OpenSession to its end.
 */
#include "session/session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "proto/limit.h"
#include "registry/models.h"
#include <errno.h>
#include <stdio.h>

static void tell_event(const struct session *session, const char *name, const char *how)
{
    const char *model = session->model->settings.name;
    char id[24];
    char tokens[16];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)session->id);
    snprintf(tokens, sizeof(tokens), "%u", session->n_tok);
    log_debug("stream", "event: %s, session: %s, model: %s, how: %s, tokens: %s", name, id, model, how, tokens);
    hub_event(session->hub, session->uid, "session", name, "session", id, "model", model, "how", how, "tokens", tokens,
              NULL);
}

static struct session *find(const struct hub *hub, uint64_t id, uint32_t uid)
{
    struct list *link;

    list_for_each (link, &hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (session->id == id && session->uid == uid) {
            return session;
        }
    }
    return NULL;
}

/* ---- a request that names one */

static int check_input(const struct session *session, const Sotto__V1__Generate *ask, struct diag *diag)
{
    bool is_chat = ask->input_case == SOTTO__V1__GENERATE__INPUT_CHAT;

    if (is_chat && session->kind == SESSION_TOKENS) {
        diag_blame(diag, "generate.chat", "session %llu holds text or tokens: messages don't follow those",
                   (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (!is_chat && session->kind == SESSION_CHAT) {
        diag_blame(diag, ask->input_case == SOTTO__V1__GENERATE__INPUT_TEXT ? "generate.text" : "generate.tokens",
                   "session %llu holds messages: only messages follow those", (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (is_chat && ask->chat->no_generation_prompt && !session->is_opening) {
        diag_blame(diag, "generate.chat.no_generation_prompt",
                   "in a session the answer is the assistant's next message, so its turn must be opened");
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    return 0;
}

int session_find(struct hub *hub, const Sotto__V1__Generate *ask, const struct grant *grant,
                 struct session **ret_session, struct diag *diag)
{
    struct session *session;

    *ret_session = NULL;
    if (ask->session == 0) {
        return 0;
    }
    session = find(hub, ask->session, grant->uid);
    if (!session) {
        diag_blame(diag, "generate.session", "this user has no session %llu: it was closed, or was idle too long",
                   (unsigned long long)ask->session);
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    if (session->turn) {
        diag_blame(diag, "generate.session", "a request of session %llu runs already: cancel it or wait for it",
                   (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    if (ask->model[0] != '\0' && models_find(hub, ask->model) != session->model) {
        diag_blame(diag, "generate.model", "session %llu is with model %s", (unsigned long long)session->id,
                   session->model->settings.name);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    *ret_session = session;
    return check_input(session, ask, diag);
}

/* ---- opening */

/* All sessions, and those of user @uid. */
static uint32_t count_all(const struct hub *hub, uint32_t uid, uint32_t *ret_own)
{
    struct list *link;
    uint32_t n = 0;

    *ret_own = 0;
    list_for_each (link, &hub->sessions) {
        *ret_own += container_of(link, struct session, link)->uid == uid;
        n++;
    }
    return n;
}

/* The session of user @uid that another may take the place of: of those that no connection holds any more, the one
 * that is idle for longest. NULL: there is none. */
static struct session *find_left(const struct hub *hub, uint32_t uid)
{
    struct session *left = NULL;
    struct list *link;

    list_for_each (link, &hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (session->uid == uid && session->holder == 0 && !session->turn && !session->is_opening &&
            (!left || session->idle_since_us < left->idle_since_us)) {
            left = session;
        }
    }
    return left;
}

void hub_connection_left(struct hub *hub, uint64_t connection)
{
    struct list *link;

    list_for_each (link, &hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (session->holder == connection) {
            session->holder = 0;
        }
    }
}

/* Above 0: a Code. */
static int admit(const struct hub *hub, const struct grant *grant, struct diag *diag)
{
    uint32_t n_own;
    uint32_t n = count_all(hub, grant->uid, &n_own);

    if (grant->n_sessions == 0) {
        diag_set(diag, "the policy lets this user have no sessions");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    if (find_left(hub, grant->uid)) {
        return 0;
    }
    if (n_own >= grant->n_sessions) {
        diag_set(diag,
                 "%u sessions of this user are open, as many as it may have, and all with connections that "
                 "last: close one first",
                 n_own);
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    if (n >= LIMIT_SESSIONS) {
        diag_set(diag, "%u sessions are open, and no more may", n);
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    return 0;
}

/* One more was opened than there is room for: it takes the place of one that nobody holds. */
static void make_room(struct hub *hub, const struct grant *grant)
{
    uint32_t n_own;
    uint32_t n = count_all(hub, grant->uid, &n_own);
    struct session *left = find_left(hub, grant->uid);

    if (left && (n_own > grant->n_sessions || n > LIMIT_SESSIONS)) {
        session_end(left, "room");
    }
}

static int create(struct session **ret_session, struct hub *hub, struct model *model, const Sotto__V1__OpenSession *ask,
                  const struct grant *grant)
{
    struct session *session;
    struct account *account;
    int r;

    r = accounts_get(&hub->queue.accounts, grant->uid, &account);
    if (r) {
        return err_up(r);
    }
    session = mem_calloc(MEM_STREAM, 1, sizeof(*session));
    if (!session) {
        return err_new(-ENOMEM);
    }
    session->hub = hub;
    session->model = model;
    session->account = account;
    session->n_held = sizeof(*session);
    account_hold(account, sizeof(*session));
    session->id = ++hub->n_sessions;
    session->uid = grant->uid;
    session->idle_ms = grant->session_idle_ms;
    if (ask->opt_idle_ms_case) {
        session->idle_ms = (uint32_t)num_min(session->idle_ms, ask->idle_ms);
    }
    session->is_opening = true;
    session->slides = ask->on_full == SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    list_append(&hub->sessions, &session->link);
    *ret_session = session;
    return 0;
}

static void destroy(struct session *session)
{
    struct list *link;

    session_give_up(session);
    list_for_each (link, &session->hub->streams) {
        struct stream *stream = container_of(link, struct stream, link);

        if (stream->session == session) {
            stream->session = NULL;
        }
    }
    session_free_said(session);
    list_remove(&session->link);
    account_hold(session->account, -(int64_t)session->n_held);
    mem_free(session);
}

/* The same in a Generate's terms. */
static void fill_ask(const struct session *session, const Sotto__V1__OpenSession *ask, Sotto__V1__Generate *ret_same)
{
    sotto__v1__generate__init(ret_same);
    ret_same->session = session->id;
    ret_same->priority = ask->priority;
    ret_same->opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    ret_same->max_tokens = 1; /* of which nobody hears */
    switch (ask->input_case) {
    case SOTTO__V1__OPEN_SESSION__INPUT_TOKENS:
        ret_same->input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
        ret_same->tokens = ask->tokens;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT_TEXT:
        ret_same->input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
        ret_same->text = ask->text;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT_CHAT:
        ret_same->input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
        ret_same->chat = ask->chat;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT__NOT_SET:
        break;
    }
}

void session_name_field(char *field, size_t cap)
{
    static const char theirs[] = "generate.";
    char rest[64];

    if (strncmp(field, theirs, strlen(theirs)) == 0) {
        snprintf(rest, sizeof(rest), "%s", field + strlen(theirs));
        snprintf(field, cap, "open_session.%.40s", rest);
    }
}

int hub_open_session(struct hub *hub, const Sotto__V1__OpenSession *ask, const struct grant *grant,
                     const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                     struct diag *diag)
{
    struct model *model = models_find(hub, ask->model);
    struct session *session = NULL;
    Sotto__V1__Generate same;
    int r;

    *ret_retry_ms = 0;
    if (!model) {
        diag_blame(diag, "open_session.model",
                   ask->model[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = admit(hub, grant, diag);
    r = r ? r : create(&session, hub, model, ask, grant);
    if (r) {
        return err_pass(r);
    }
    fill_ask(session, ask, &same);
    r = stream_make(hub, &same, NULL, grant, sink, owner, ret_stream, ret_retry_ms, diag);
    if (r) {
        destroy(session);
        session_name_field(diag->field, sizeof(diag->field));
        return err_pass(r);
    }
    make_room(hub, grant);
    return 0;
}

static uint32_t context_of(const struct stream *stream)
{
    uint32_t n_context = stream->instance->facts.n_context;

    return stream->grant.n_context > 0 ? (uint32_t)num_min(n_context, stream->grant.n_context) : n_context;
}

void session_tell(struct stream *stream)
{
    struct session *session = stream->session;
    Sotto__V1__SessionOpened opened = SOTTO__V1__SESSION_OPENED__INIT;
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char name[72];

    if (session && stream->is_forgotten) {
        session_end(session, "closed"); /* nobody will ever know its id */
    } else if (session) {
        snprintf(name, sizeof(name), "%s", session->model->settings.name);
        opened.session = session->id;
        opened.model = name;
        opened.context_tokens = context_of(stream);
        opened.tokens = session->n_tok;
        opened.idle_ms = session->idle_ms;
        stream->sink->on_opened(stream->owner, &opened);
    } else if (!stream->is_forgotten) {
        static char gone[] = "the session ended with its model while it was opened";

        error.code = SOTTO__V1__CODE__CODE_UNAVAILABLE;
        error.message = gone;
        stream->sink->on_error(stream->owner, &error);
    }
}

/* ---- turns */

void session_turn_ended(struct stream *stream)
{
    struct session *session = stream->session;
    bool is_well = stream->end.code == SOTTO__V1__CODE__CODE_OK;
    bool is_cancelled = stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;

    if (!session || session->turn != stream) {
        return;
    }
    session->turn = NULL;
    session->is_opening = false;
    session->idle_since_us = clock_boot_us();
    if (is_well && session_take_over(session, stream) == 0) {
        session_keep(session, stream);
    } else {
        session_take_back(session);
    }
    if (stream->opens && (!is_well || is_cancelled)) {
        session_end(session, "failed");
    } else if (session->is_ending) {
        session_end(session, "model");
    } else if (stream->opens) {
        session->hub->counts[HUB_SESSIONS]++;
        tell_event(session, "session-opened", "open");
    } else {
        session->hub->counts[HUB_SESSION_TURNS]++;
    }
}

bool session_is_free(const struct session *session)
{
    return !session->leaver && !session->is_asked;
}

void session_go_on(struct session *session)
{
    struct stream *next = session->turn;

    if (next && next->state == STREAM_WAITING && next->job.state == JOB_HELD && session_is_free(session) &&
        instance_is_ready(next->instance)) {
        queue_want(&session->hub->queue, &next->job, clock_mono_us());
    }
}

void session_turn_left(struct stream *stream)
{
    struct session *session = stream->session;

    if (!session || session->leaver != stream) {
        return;
    }
    session->leaver = NULL;
    if (session->turn) {
        session->turn->job.behind = NULL;
    }
    session_go_on(session);
}

/* ---- the end */

void session_end(struct session *session, const char *how)
{
    tell_event(session, "session-ended", how);
    destroy(session);
}

void sessions_end_of(struct model *model)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &model->hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (session->model == model && session->turn) {
            session->is_ending = true;
        } else if (session->model == model) {
            session_end(session, "model");
        }
    }
}

static uint64_t ends_us(const struct session *session)
{
    return session->idle_since_us + session->idle_ms * 1000ull;
}

void sessions_end_idle(struct hub *hub, uint64_t boot_us)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &hub->sessions) {
        struct session *session = container_of(link, struct session, link);

        if (!session->turn && ends_us(session) <= boot_us) {
            session_end(session, "idle");
        }
    }
}

uint64_t sessions_next_us(const struct hub *hub)
{
    struct list *link;
    uint64_t next_us = 0;

    list_for_each (link, &hub->sessions) {
        const struct session *session = container_of(link, struct session, link);

        if (!session->turn && (next_us == 0 || ends_us(session) < next_us)) {
            next_us = ends_us(session);
        }
    }
    return next_us;
}

uint32_t sessions_count(const struct hub *hub, const struct grant *grant)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &hub->sessions) {
        n += grant->observe || container_of(link, struct session, link)->uid == grant->uid;
    }
    return n;
}

int hub_close_session(struct hub *hub, uint64_t id, const struct grant *grant, ticket_closed_fn done, void *owner,
                      struct ticket **ret_ticket, struct diag *diag)
{
    struct session *session = find(hub, id, grant->uid);
    struct ticket *ticket;
    bool was_opening;
    int r;

    if (!session) {
        diag_blame(diag, "close_session.session", "this user has no session %llu: it was closed, or was idle too long",
                   (unsigned long long)id);
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = ticket_create(&ticket, hub, TICKET_SESSION, grant, NULL, owner);
    if (r) {
        return err_up(r);
    }
    ticket->done.closed = done;
    was_opening = session->is_opening;
    if (session->turn) {
        stream_cancel(session->turn);
    }
    if (!was_opening && find(hub, id, grant->uid)) { /* one that was being opened went with its request */
        ticket->n_tok = session->n_tok;
        session_end(session, "closed");
    }
    ticket_answer(ticket, SOTTO__V1__CODE__CODE_OK, NULL);
    *ret_ticket = ticket;
    return 0;
}

void session_call(struct ticket *ticket)
{
    Sotto__V1__SessionClosed closed = SOTTO__V1__SESSION_CLOSED__INIT;

    closed.tokens = ticket->n_tok;
    ticket->done.closed(ticket->owner, &closed);
}
