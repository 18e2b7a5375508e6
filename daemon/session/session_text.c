/*
 * The text of a session, and how a turn joins it.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include "session/session.h"
#include "stream/prompt.h"
#include "stream/report.h"
#include <errno.h>
#include <stdio.h>

#define GIVEN_MAX (16u << 20) /* bytes of one answer's text at most */

static void hold(struct session *session, uint64_t n)
{
    session->n_held += n;
    account_hold(session->account, (int64_t)n);
}

static void release(struct session *session, uint64_t n)
{
    session->n_held -= n;
    account_hold(session->account, -(int64_t)n);
}

/* ---- messages */

static uint64_t message_bytes(const Sotto__V1__ChatMessage *message)
{
    return sizeof(*message) + strlen(message->role) + 1 + message->content.len + message->fields.len;
}

/* Copies @n bytes to *at and moves it behind them. */
static uint8_t *put(uint8_t **at, const void *bytes, size_t n)
{
    uint8_t *start = *at;

    if (n > 0) {
        memcpy(start, bytes, n);
    }
    *at += n;
    return start;
}

/* Returns a copy in one block, or NULL. */
static Sotto__V1__ChatMessage *copy_message(const Sotto__V1__ChatMessage *from)
{
    Sotto__V1__ChatMessage *to = mem_alloc(MEM_STREAM, message_bytes(from));
    uint8_t *at = (uint8_t *)(to + 1);

    if (!to) {
        return NULL;
    }
    sotto__v1__chat_message__init(to);
    to->role = (char *)put(&at, from->role, strlen(from->role) + 1);
    to->content = (ProtobufCBinaryData){ .len = from->content.len };
    to->content.data = put(&at, from->content.data, from->content.len);
    to->fields = (ProtobufCBinaryData){ .len = from->fields.len };
    to->fields.data = put(&at, from->fields.data, from->fields.len);
    return to;
}

static int add_message(struct session *session, const Sotto__V1__ChatMessage *from)
{
    Sotto__V1__ChatMessage *copy;

    if (session->n_messages == session->cap_messages) {
        size_t cap = session->cap_messages ? 2 * session->cap_messages : 8;
        Sotto__V1__ChatMessage **grown =
            mem_realloc(MEM_STREAM, session->messages, cap * sizeof(Sotto__V1__ChatMessage *));

        if (!grown) {
            return err_new(-ENOMEM);
        }
        session->messages = grown;
        session->cap_messages = cap;
    }
    copy = copy_message(from);
    if (!copy) {
        return err_new(-ENOMEM);
    }
    session->messages[session->n_messages++] = copy;
    hold(session, message_bytes(copy));
    return 0;
}

/* Frees messages from @first on, @n of them, and closes the gap. */
static void drop_messages(struct session *session, size_t first, size_t n)
{
    Sotto__V1__ChatMessage **at = session->messages;

    for (size_t i = first; i < first + n; i++) {
        release(session, message_bytes(at[i]));
        mem_free(at[i]);
    }
    if (n > 0) {
        memmove(at + first, at + first + n, (session->n_messages - first - n) * sizeof(Sotto__V1__ChatMessage *));
        session->n_messages -= n;
    }
}

/* Counts the instructions at the beginning: they are never forgotten. */
static size_t count_instructions(const struct session *session)
{
    size_t n = 0;

    while (n < session->n_messages && (strcmp(session->messages[n]->role, "system") == 0 ||
                                       strcmp(session->messages[n]->role, "developer") == 0)) {
        n++;
    }
    return n;
}

/* ---- tools and variables */

static void frame_finish(struct session *session, struct session_frame *frame)
{
    mem_free(frame->tools);
    mem_free(frame->variables.data);
    release(session, frame->n_bytes);
    *frame = (struct session_frame){ 0 };
}

static int copy_tools(const ProtobufCBinaryData *tools, size_t n_tools, struct session_frame *ret_frame)
{
    size_t n = n_tools * sizeof(*tools);
    uint8_t *at;

    for (size_t i = 0; i < n_tools; i++) {
        n += tools[i].len;
    }
    ret_frame->tools = mem_alloc(MEM_STREAM, n);
    if (!ret_frame->tools) {
        return err_new(-ENOMEM);
    }
    at = (uint8_t *)(ret_frame->tools + n_tools);
    for (size_t i = 0; i < n_tools; i++) {
        ret_frame->tools[i].len = tools[i].len;
        ret_frame->tools[i].data = put(&at, tools[i].data, tools[i].len);
    }
    ret_frame->n_tools = n_tools;
    ret_frame->n_bytes += n;
    return 0;
}

/* Takes the turn's own tools and variables, and the ones in force where it brings none. 0 or -ENOMEM. */
static int take_frame(struct session *session, const Sotto__V1__Chat *chat)
{
    const struct session_frame *old = &session->frame;
    bool own_tools = chat->n_tools > 0;
    ProtobufCBinaryData variables = chat->variables.len > 0 ? chat->variables : old->variables;
    struct session_frame frame = { 0 };

    if (!own_tools && chat->variables.len == 0) {
        return 0;
    }
    if (copy_tools(own_tools ? chat->tools : old->tools, own_tools ? chat->n_tools : old->n_tools, &frame)) {
        return err_new(-ENOMEM);
    }
    if (variables.len > 0) {
        frame.variables.data = (uint8_t *)mem_strndup(MEM_STREAM, (const char *)variables.data, variables.len);
        if (!frame.variables.data) {
            mem_free(frame.tools);
            return err_new(-ENOMEM);
        }
        frame.variables.len = variables.len;
        frame.n_bytes += variables.len;
    }
    hold(session, frame.n_bytes);
    session->next_frame = frame;
    session->has_next_frame = true;
    return 0;
}

/* ---- a turn */

static uint64_t bytes_of_chat(const Sotto__V1__Chat *chat)
{
    uint64_t n = chat->variables.len;

    for (size_t i = 0; i < chat->n_messages; i++) {
        n += message_bytes(chat->messages[i]);
    }
    for (size_t i = 0; i < chat->n_tools; i++) {
        n += chat->tools[i].len;
    }
    return n;
}

/* Fills the whole conversation with the turn's messages, less what it forgets. @list has room for all messages. */
static void fill_chat(const struct session *session, Sotto__V1__ChatMessage **list, Sotto__V1__Chat *ret_chat)
{
    const struct session_frame *frame = session->has_next_frame ? &session->next_frame : &session->frame;
    size_t n_first = count_instructions(session);
    size_t n = 0;

    for (size_t i = 0; i < session->n_messages; i++) {
        if (i < n_first || i >= n_first + session->n_skipped) {
            list[n++] = session->messages[i];
        }
    }
    sotto__v1__chat__init(ret_chat);
    ret_chat->messages = list;
    ret_chat->n_messages = n;
    ret_chat->tools = frame->tools;
    ret_chat->n_tools = frame->n_tools;
    ret_chat->variables = frame->variables;
    ret_chat->no_generation_prompt = session->is_opening;
}

static int begin_chat(struct session *session, const Sotto__V1__Chat *chat)
{
    int r = take_frame(session, chat);

    for (size_t i = 0; i < chat->n_messages && r == 0; i++) {
        r = add_message(session, chat->messages[i]);
    }
    return r;
}

int session_text_begin(struct session *session, const Sotto__V1__Generate *generate, Sotto__V1__Generate *ret_whole,
                       Sotto__V1__Chat *ret_chat, struct diag *diag)
{
    bool is_chat = generate->input_case == SOTTO__V1__GENERATE__INPUT_CHAT;
    bool is_empty = generate->input_case == SOTTO__V1__GENERATE__INPUT__NOT_SET;
    int r = 0;

    session->n_before = session->n_messages;
    session->n_skipped = 0;
    session->n_given = 0;
    buf_finish(&session->given);
    buf_init(&session->given, MEM_STREAM, GIVEN_MAX);
    *ret_whole = *generate;
    if (is_chat && session->account->bytes + bytes_of_chat(generate->chat) > ACCOUNT_BYTES_MAX) {
        diag_set(diag, "this user's requests and sessions hold as much memory as they may: end one first");
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    if (is_chat) {
        r = begin_chat(session, generate->chat);
    }
    if (r == 0 && is_chat) {
        /* Nothing is forgotten yet: the list is the session's own. */
        fill_chat(session, session->messages, ret_chat);
        ret_whole->chat = ret_chat;
    }
    if (r) {
        session_text_undo(session);
        return err_up(r);
    }
    if (!is_empty) {
        session->kind = is_chat ? SESSION_CHAT : SESSION_TOKENS;
    }
    return 0;
}

static void end_turn(struct session *session)
{
    buf_finish(&session->given);
    release(session, session->next_ids.n * sizeof(uint32_t));
    ids_finish(&session->next_ids);
    session->next_ids = (struct ids){ 0 };
    frame_finish(session, &session->next_frame);
    session->has_next_frame = false;
    session->n_skipped = 0;
    if (session->n_messages == 0 && session->ids.n == 0) {
        session->kind = SESSION_EMPTY;
    }
}

void session_text_undo(struct session *session)
{
    drop_messages(session, session->n_before, session->n_messages - session->n_before);
    end_turn(session);
}

static int add_answer(struct session *session)
{
    Sotto__V1__ChatMessage answer = SOTTO__V1__CHAT_MESSAGE__INIT;
    static char role[] = "assistant";

    answer.role = role;
    answer.content.len = session->given.n;
    answer.content.data = wire_message(buf_data(&session->given));
    return add_message(session, &answer);
}

int session_text_commit(struct session *session, const struct stream *stream)
{
    int r;

    if (session->kind == SESSION_CHAT) {
        r = stream->request.prompt_only ? 0 : add_answer(session);
        if (r) {
            return err_up(r);
        }
        drop_messages(session, count_instructions(session), session->n_skipped);
        if (session->has_next_frame) {
            struct session_frame old = session->frame;

            session->frame = session->next_frame;
            session->next_frame = old; /* is freed with the turn */
        }
        session->n_tok = stream->journal.n_prompt + session->n_given;
    } else if (session->next_ids.n > 0) {
        struct ids old = session->ids;

        session->ids = session->next_ids;
        session->next_ids = old;
        session->n_tok = (uint32_t)session->ids.n;
    }
    end_turn(session);
    return 0;
}

/* ---- tokens */

/* Slides @ids as an answer does: the first tokens stay, and of the others the later half, until one more has room. */
static void slide(const struct stream_request *request, struct ids *ids)
{
    size_t n_most = request->n_context / 2;
    size_t n_keep = num_min(request->n_keep == STREAM_KEEP_DEFAULT ? DEFAULT_KEEP_TOKENS : request->n_keep, n_most);

    while (ids->n + 1 > request->n_context && ids->n > n_keep) {
        size_t n_free = ids->n - n_keep;
        size_t n_stay = n_free / 2;

        memmove(ids->ids + n_keep, ids->ids + ids->n - n_stay, n_stay * sizeof(*ids->ids));
        ids->n = n_keep + n_stay;
    }
}

static void report_slid(struct stream *stream, const char *what, size_t n_gone)
{
    char text[128];

    snprintf(text, sizeof(text), "the conversation does not fit the context: its %zu oldest %s are forgotten", n_gone,
             what);
    stream->streams->events->counts[COUNT_SLIDES]++;
    report_notice(stream, SOTTO__V1__NOTICE_KIND__NOTICE_SLID, text);
}

/* 0, a Code above 0, or -ENOMEM. */
static int join_prompt(struct session *session, struct stream *stream)
{
    cleanup(ids_finish) struct ids whole = { 0 };
    cleanup(ids_finish) struct ids prompt = { 0 };
    size_t n_all;
    int r;

    if (session->kind != SESSION_TOKENS) {
        return 0;
    }
    n_all = session->ids.n + stream->prompt.n;
    if (session->account->bytes + n_all * sizeof(uint32_t) > ACCOUNT_BYTES_MAX) {
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    r = ids_append(&whole, session->ids.ids, session->ids.n);
    r = r ? r : ids_append(&whole, stream->prompt.ids, stream->prompt.n);
    if (r == 0 && stream->request.slides && !stream->request.prompt_only) {
        slide(&stream->request, &whole);
    }
    r = r ? r : ids_append(&prompt, whole.ids, whole.n);
    if (r) {
        return err_new(-ENOMEM);
    }
    hold(session, whole.n * sizeof(uint32_t));
    session->next_ids = whole;
    whole = (struct ids){ 0 };
    prompt_set(stream, &prompt);
    if (stream->prompt.n < n_all) {
        report_slid(stream, "tokens behind the first", n_all - stream->prompt.n);
    }
    return 0;
}

/* ---- messages that don't fit */

/* Returns how many messages go so that the conversation begins at a message of the user's, in the middle of what is
 * left or behind that, and not beyond the turn's own; 0: there is no such place. */
static size_t find_cut(const struct session *session)
{
    size_t n_first = count_instructions(session);
    size_t from = n_first + session->n_skipped;
    size_t middle = from + (session->n_before - num_min(session->n_before, from)) / 2;

    for (size_t i = num_max(middle, from + 1); i <= session->n_before && i < session->n_messages; i++) {
        if (strcmp(session->messages[i]->role, "user") == 0) {
            return i - n_first;
        }
    }
    return 0;
}

/* Returns true if older messages were forgotten, and the text is to be made again. */
static bool forget_some(struct session *session, struct stream *stream)
{
    cleanup(mem_freep) Sotto__V1__ChatMessage **list = NULL;
    struct text_job *job;
    Sotto__V1__Chat chat;
    size_t cut;

    if (session->kind != SESSION_CHAT || !stream->request.slides || stream->request.prompt_only) {
        return false;
    }
    cut = find_cut(session);
    list = mem_calloc(MEM_STREAM, session->n_messages + 1, sizeof(*list));
    if (cut == 0 || !list) {
        return false;
    }
    session->n_skipped = cut;
    fill_chat(session, list, &chat);
    if (text_job_chat(&job, session->account, &chat)) {
        return false;
    }
    prompt_redo(stream, job);
    report_slid(stream, "messages", cut);
    return true;
}

bool session_text_join(struct session *session, struct stream *stream)
{
    if (join_prompt(session, stream)) {
        stream_fail(stream, SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED,
                    "there is no memory for the session's tokens: this user's requests and sessions hold as "
                    "much as they may");
        return false;
    }
    if (stream->prompt.n + 1 > stream->request.n_context && forget_some(session, stream)) {
        if (!stream_is_over(stream)) { /* the notice may have ended it */
            prompt_begin(stream);
        }
        return false;
    }
    return !stream_is_over(stream);
}

/* ---- the answer */

int session_text_give(struct session *session, const Sotto__V1__Delta *delta)
{
    size_t n_before;
    int r;

    session->n_given += (uint32_t)delta->n_tokens;
    if (session->kind == SESSION_CHAT) {
        return buf_append(&session->given, delta->text.data, delta->text.len);
    }
    n_before = session->next_ids.n;
    r = ids_append(&session->next_ids, delta->tokens, delta->n_tokens);
    hold(session, (session->next_ids.n - n_before) * sizeof(uint32_t));
    return r ? err_new(-ENOMEM) : 0;
}

void session_text_finish(struct session *session)
{
    session->n_before = 0;
    session_text_undo(session);
    mem_free(session->messages);
    release(session, session->ids.n * sizeof(uint32_t));
    ids_finish(&session->ids);
    frame_finish(session, &session->frame);
}
