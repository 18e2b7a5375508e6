/*
 * The life of a session, from OpenSession to its end.
 */
#include "session/session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "proto/limit.h"
#include "registry/model_entry.h"
#include <errno.h>
#include <stdio.h>

void sessions_init(struct sessions *sessions, struct streams *streams)
{
    *sessions = (struct sessions){ .streams = streams, .registry = streams->registry, .events = streams->events };
    list_init(&sessions->all);
}

static void tell_event(const struct session *session, const char *name, const char *how)
{
    const char *model = session->model->settings.name;
    char id[24];
    char tokens[16];

    snprintf(id, sizeof(id), "%llu", (unsigned long long)session->id);
    snprintf(tokens, sizeof(tokens), "%u", session->n_tok);
    log_debug("stream", "event: %s, session: %s, model: %s, how: %s, tokens: %s", name, id, model, how, tokens);
    events_tell(session->sessions->events, session->uid, "session", name, "session", id, "model", model, "how", how,
                "tokens", tokens, NULL);
}

static struct session *find(const struct sessions *sessions, uint64_t id, uint32_t uid)
{
    struct list *link;

    list_for_each (link, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (session->id == id && session->uid == uid) {
            return session;
        }
    }
    return NULL;
}

/* ---- the end */

static void destroy(struct session *session)
{
    struct list *link;

    session_sequence_give_up(session);
    while ((link = list_first(&session->streams))) {
        container_of(link, struct stream_holder, link)->self = NULL;
        list_remove(link);
    }
    session_text_finish(session);
    list_remove(&session->link);
    account_hold(session->account, -(int64_t)session->n_held);
    mem_free(session);
}

/* Ends the session; a turn that still runs goes on. @how: "closed", "idle", "model", "failed", "room". */
static void end(struct session *session, const char *how)
{
    tell_event(session, "session-ended", how);
    destroy(session);
}

void sessions_end_of(struct sessions *sessions, const struct model_entry *model)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (session->model == model && session->turn) {
            session->is_ending = true;
        } else if (session->model == model) {
            end(session, "model");
        }
    }
}

static uint64_t ends_us(const struct session *session)
{
    return session->idle_since_us + session->idle_ms * 1000ull;
}

void sessions_end_idle(struct sessions *sessions, uint64_t boot_us)
{
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (!session->turn && ends_us(session) <= boot_us) {
            end(session, "idle");
        }
    }
}

uint64_t sessions_next_us(const struct sessions *sessions)
{
    struct list *link;
    uint64_t next_us = 0;

    list_for_each (link, &sessions->all) {
        const struct session *session = container_of(link, struct session, link);

        if (!session->turn && (next_us == 0 || ends_us(session) < next_us)) {
            next_us = ends_us(session);
        }
    }
    return next_us;
}

uint32_t sessions_count(const struct sessions *sessions, const struct grant *grant)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &sessions->all) {
        n += grant->observe || container_of(link, struct session, link)->uid == grant->uid;
    }
    return n;
}

int sessions_close(struct sessions *sessions, uint64_t id, const struct grant *grant, uint32_t *ret_n_tok,
                   struct diag *diag)
{
    struct session *session = find(sessions, id, grant->uid);
    bool was_opening;

    if (!session) {
        diag_blame(diag, "close_session.session", "this user has no session %llu: it was closed, or was idle too long",
                   (unsigned long long)id);
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    *ret_n_tok = 0;
    was_opening = session->is_opening;
    if (session->turn) {
        stream_cancel(session->turn);
    }
    if (!was_opening && find(sessions, id, grant->uid)) { /* one that was being opened went with its request */
        *ret_n_tok = session->n_tok;
        end(session, "closed");
    }
    return 0;
}

/* ---- as the holder of its turns' streams; the session may be NULL: it ended before the stream was freed */

static bool on_prompt(void *holder, struct stream *stream)
{
    return !holder || session_text_join(holder, stream);
}

static void on_sized(void *holder, struct stream *stream)
{
    if (holder) {
        session_sequence_reserve(holder, stream);
    }
}

static bool may_queue(const void *holder)
{
    return !holder || session_sequence_is_free(holder);
}

static uint32_t lend(void *holder, const struct stream *stream)
{
    return holder ? session_sequence_lend(holder, stream) : 0;
}

static int on_delta(void *holder, const Sotto__V1__Delta *delta)
{
    return holder ? session_text_give(holder, delta) : 0;
}

static uint32_t context_of(const struct stream *stream)
{
    uint32_t n_context = stream->instance->facts.n_context;

    return stream->grant.n_context > 0 ? (uint32_t)num_min(n_context, stream->grant.n_context) : n_context;
}

/* Reports the end of a stream that opened a session: on_opened, or on_error if the session ended since. */
static bool report_opened(void *holder, struct stream *stream)
{
    static char gone[] = "the session ended with its model while it was opened";
    Sotto__V1__SessionOpened opened = SOTTO__V1__SESSION_OPENED__INIT;
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    struct session *session = holder;
    char name[72];

    if (!stream->request.prompt_only || stream->end.code != SOTTO__V1__CODE__CODE_OK ||
        stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_CANCELLED) {
        return false;
    }
    if (session && stream->is_forgotten) {
        end(session, "closed"); /* no client will ever know its id */
    } else if (session) {
        snprintf(name, sizeof(name), "%s", session->model->settings.name);
        opened.session = session->id;
        opened.model = name;
        opened.context_tokens = context_of(stream);
        opened.tokens = session->n_tok;
        opened.idle_ms = session->idle_ms;
        stream->sink->on_opened(stream->owner, &opened);
    } else if (!stream->is_forgotten) {
        error.code = SOTTO__V1__CODE__CODE_UNAVAILABLE;
        error.message = gone;
        stream->sink->on_error(stream->owner, &error);
    }
    return true;
}

static void on_ending(void *holder, struct stream *stream)
{
    struct session *session = holder;
    bool is_well = stream->end.code == SOTTO__V1__CODE__CODE_OK;
    bool is_cancelled = stream->end.reason == SOTTO__V1__FINISH_REASON__FINISH_CANCELLED;
    bool opens = stream->request.prompt_only;

    if (!session || session->turn != stream) {
        return;
    }
    session->turn = NULL;
    session->is_opening = false;
    session->idle_since_us = clock_boot_us();
    if (is_well && session_text_commit(session, stream) == 0) {
        session_sequence_retain(session, stream);
    } else {
        session_text_undo(session);
    }
    if (opens && (!is_well || is_cancelled)) {
        end(session, "failed");
    } else if (session->is_ending) {
        end(session, "model");
    } else if (opens) {
        session->sessions->events->counts[COUNT_SESSIONS]++;
        tell_event(session, "session-opened", "open");
    } else {
        session->sessions->events->counts[COUNT_SESSION_TURNS]++;
    }
}

static void on_freed(void *holder, struct stream *stream)
{
    struct session *session = holder;

    if (!session || session->leaver != stream) {
        return;
    }
    session->leaver = NULL;
    if (session->turn) {
        session->turn->job.behind = NULL;
    }
    session_sequence_go_on(session);
}

static const struct stream_holder_ops holder_ops = {
    .on_prompt = on_prompt,
    .on_sized = on_sized,
    .may_queue = may_queue,
    .lend = lend,
    .on_delta = on_delta,
    .on_ending = on_ending,
    .report_end = report_opened,
    .on_freed = on_freed,
};

/* ---- turns */

static int check_input(const struct session *session, const Sotto__V1__Generate *generate, struct diag *diag)
{
    bool is_chat = generate->input_case == SOTTO__V1__GENERATE__INPUT_CHAT;

    if (is_chat && session->kind == SESSION_TOKENS) {
        diag_blame(diag, "generate.chat", "session %llu holds text or tokens: messages don't follow those",
                   (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (!is_chat && session->kind == SESSION_CHAT) {
        diag_blame(diag, generate->input_case == SOTTO__V1__GENERATE__INPUT_TEXT ? "generate.text" : "generate.tokens",
                   "session %llu holds messages: only messages follow those", (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    if (is_chat && generate->chat->no_generation_prompt && !session->is_opening) {
        diag_blame(diag, "generate.chat.no_generation_prompt",
                   "in a session the answer is the assistant's next message, so its turn must be opened");
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    return 0;
}

/* Finds the session that @request names, if it may have this request now. 0, or above 0 a Code. */
static int find_for(const struct sessions *sessions, const struct request *request, struct session **ret_session,
                    struct diag *diag)
{
    const Sotto__V1__Generate *generate = request->generate;
    struct session *session;

    if (sessions->events->is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    session = find(sessions, generate->session, request->grant->uid);
    if (!session) {
        diag_blame(diag, "generate.session", "this user has no session %llu: it was closed, or was idle too long",
                   (unsigned long long)generate->session);
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    if (session->turn) {
        diag_blame(diag, "generate.session", "a request of session %llu runs already: cancel it or wait for it",
                   (unsigned long long)session->id);
        return SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    if (generate->model[0] != '\0' && model_entry_find(sessions->registry, generate->model) != session->model) {
        diag_blame(diag, "generate.model", "session %llu is with model %s", (unsigned long long)session->id,
                   session->model->settings.name);
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    *ret_session = session;
    return check_input(session, generate, diag);
}

/* Makes the stream of an admitted turn, which asks for the whole conversation. */
static int begin_turn(struct session *session, const struct request *request, struct stream **ret_stream,
                      struct diag *diag)
{
    struct request turn = *request;
    Sotto__V1__Generate whole;
    Sotto__V1__Chat chat;
    int r;

    r = session_text_begin(session, request->generate, &whole, &chat, diag);
    if (r) {
        return request_refused(request->streams, request->grant, r);
    }
    turn.generate = &whole;
    turn.holder.ops = &holder_ops;
    turn.holder.self = session;
    turn.prompt_only = session->is_opening;
    turn.continues = session->ids.n > 0;
    turn.slides = session->slides;
    r = request_open(&turn, ret_stream, diag);
    if (r) {
        session_text_undo(session);
        return err_pass(r);
    }
    list_append(&session->streams, &(*ret_stream)->holder.link);
    session->turn = *ret_stream;
    session->connection = request->grant->connection;
    return 0;
}

int sessions_generate(struct sessions *sessions, struct request *request, struct stream **ret_stream,
                      uint32_t *ret_retry_ms, struct diag *diag)
{
    struct session *session;
    int r;

    *ret_retry_ms = 0;
    r = find_for(sessions, request, &session, diag);
    if (r) {
        return request_refused(request->streams, request->grant, r);
    }
    request->model = session->model;
    r = request_admit(request, ret_retry_ms, diag);
    r = r ? r : begin_turn(session, request, ret_stream, diag);
    return err_pass(r);
}

/* ---- opening */

/* Counts all sessions, and those of user @uid. */
static uint32_t count_all(const struct sessions *sessions, uint32_t uid, uint32_t *ret_own)
{
    struct list *link;
    uint32_t n = 0;

    *ret_own = 0;
    list_for_each (link, &sessions->all) {
        *ret_own += container_of(link, struct session, link)->uid == uid;
        n++;
    }
    return n;
}

/* Returns the session of user @uid that is replaced by another one: of those without a connection the one that is idle
 * for longest; or NULL. */
static struct session *find_left(const struct sessions *sessions, uint32_t uid)
{
    struct session *left = NULL;
    struct list *link;

    list_for_each (link, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (session->uid == uid && session->connection == 0 && !session->turn && !session->is_opening &&
            (!left || session->idle_since_us < left->idle_since_us)) {
            left = session;
        }
    }
    return left;
}

void sessions_connection_left(struct sessions *sessions, uint64_t connection)
{
    struct list *link;

    list_for_each (link, &sessions->all) {
        struct session *session = container_of(link, struct session, link);

        if (session->connection == connection) {
            session->connection = 0;
        }
    }
}

/* 0, or above 0 a Code. */
static int admit(const struct sessions *sessions, const struct grant *grant, struct diag *diag)
{
    uint32_t n_own;
    uint32_t n = count_all(sessions, grant->uid, &n_own);

    if (grant->n_sessions == 0) {
        diag_set(diag, "the policy lets this user have no sessions");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    if (find_left(sessions, grant->uid)) {
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

/* Ends a session without a connection if one more was opened than there is room for. */
static void make_room(struct sessions *sessions, const struct grant *grant)
{
    uint32_t n_own;
    uint32_t n = count_all(sessions, grant->uid, &n_own);
    struct session *left = find_left(sessions, grant->uid);

    if (left && (n_own > grant->n_sessions || n > LIMIT_SESSIONS)) {
        end(left, "room");
    }
}

static int create(struct session **ret_session, struct sessions *sessions, struct model_entry *model,
                  const Sotto__V1__OpenSession *open, const struct grant *grant)
{
    struct session *session;
    struct account *account;
    int r;

    r = accounts_get(&sessions->streams->queue.accounts, grant->uid, &account);
    if (r) {
        return err_up(r);
    }
    session = mem_calloc(MEM_STREAM, 1, sizeof(*session));
    if (!session) {
        return err_new(-ENOMEM);
    }
    list_init(&session->streams);
    session->sessions = sessions;
    session->model = model;
    session->account = account;
    session->n_held = sizeof(*session);
    account_hold(account, sizeof(*session));
    session->id = ++sessions->n_made;
    session->uid = grant->uid;
    session->idle_ms = grant->session_idle_ms;
    if (open->opt_idle_ms_case) {
        session->idle_ms = (uint32_t)num_min(session->idle_ms, open->idle_ms);
    }
    session->is_opening = true;
    session->slides = open->on_full == SOTTO__V1__ON_FULL__ON_FULL_SLIDE;
    list_append(&sessions->all, &session->link);
    *ret_session = session;
    return 0;
}

/* Fills a Generate that computes ahead what the session begins with. */
static void fill_generate(const struct session *session, const Sotto__V1__OpenSession *open,
                          Sotto__V1__Generate *ret_generate)
{
    sotto__v1__generate__init(ret_generate);
    ret_generate->session = session->id;
    ret_generate->priority = open->priority;
    ret_generate->opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    ret_generate->max_tokens = 1; /* that is not shown */
    switch (open->input_case) {
    case SOTTO__V1__OPEN_SESSION__INPUT_TOKENS:
        ret_generate->input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
        ret_generate->tokens = open->tokens;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT_TEXT:
        ret_generate->input_case = SOTTO__V1__GENERATE__INPUT_TEXT;
        ret_generate->text = open->text;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT_CHAT:
        ret_generate->input_case = SOTTO__V1__GENERATE__INPUT_CHAT;
        ret_generate->chat = open->chat;
        break;
    case SOTTO__V1__OPEN_SESSION__INPUT__NOT_SET:
        break;
    }
}

int sessions_open(struct sessions *sessions, const Sotto__V1__OpenSession *open, const struct grant *grant,
                  const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                  struct diag *diag)
{
    struct model_entry *model = model_entry_find(sessions->registry, open->model);
    Sotto__V1__Generate generate;
    struct request request = {
        .streams = sessions->streams,
        .generate = &generate,
        .grant = grant,
        .sink = sink,
        .owner = owner,
        .message = "open_session",
    };
    struct session *session = NULL;
    int r;

    *ret_retry_ms = 0;
    if (!model) {
        diag_blame(diag, "open_session.model",
                   open->model[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = admit(sessions, grant, diag);
    r = r ? r : create(&session, sessions, model, open, grant);
    if (r) {
        return err_pass(r);
    }
    fill_generate(session, open, &generate);
    r = sessions_generate(sessions, &request, ret_stream, ret_retry_ms, diag);
    if (r) {
        destroy(session);
        stream_name_field(diag->field, sizeof(diag->field), "open_session");
        return err_pass(r);
    }
    make_room(sessions, grant);
    return 0;
}
