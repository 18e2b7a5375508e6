/*
 * Session: a conversation that is kept between requests
 *
 * It belongs to a user, not to a connection. Its text is the truth of it: messages, with the answers as the client was
 * given them, or token ids. Its sequence in an engine is a convenience: as long as no other request wants the slot or
 * the pages, the next turn goes on in it (Extend), else the sequence is opened again, and the answer's bits are the
 * same. So a turn gives exactly what a request would that sends the whole conversation at once.
 *
 *   OPENING  the request that computes what the session begins with is live
 *   IDLE     no request; ends after idle_ms of the boot clock
 *   TURN     one request is live
 *
 * A turn that ends well (also cancelled: barge-in) joins the text; one that fails leaves all as it was before. If a
 * turn does not fit and the session slides, the oldest part is forgotten: of tokens as an answer does it, of messages
 * the older half, from one of the user's to the next.
 *
 * A session is the holder of its turns' streams (stream.h). session.c: its life. session_text.c: its text.
 * session_sequence.c: its sequence. The loop's thread.
 */
#ifndef SOTTO_SESSION_SESSION_H
#define SOTTO_SESSION_SESSION_H

#include "base/buf.h"
#include "stream/request.h"

struct sessions {
    struct list all; /* session::link */
    uint64_t n_made; /* ever: the id of the last one */
    struct streams *streams;
    struct registry *registry;
    struct events *events;
};

/* Is decided by the first input. */
enum session_kind {
    SESSION_EMPTY,
    SESSION_TOKENS,
    SESSION_CHAT,
};

/* The tools and variables of a conversation; the last turn that brings either one has its own in force. */
struct session_frame {
    ProtobufCBinaryData *tools; /* one block, with all bytes behind them; owned */
    size_t n_tools;
    ProtobufCBinaryData variables; /* owned */
    uint64_t n_bytes;
};

struct session {
    struct list link;    /* sessions::all */
    struct list streams; /* stream_holder::link: its turns, until they are freed */
    struct sessions *sessions;
    struct model_entry *model; /* stays while there are sessions */
    struct account *account;   /* pays for @n_held bytes */
    uint64_t n_held;
    uint64_t id;
    uint32_t uid;
    uint64_t connection; /* that made the last request in it, while it lasts; 0: it is gone */
    uint32_t idle_ms;
    uint64_t idle_since_us; /* boot clock */
    bool is_opening;
    bool is_ending; /* its model goes: it ends with its turn */
    bool slides;

    /* The text. Additions of a turn count when it ends well. */
    enum session_kind kind;
    uint32_t n_tok; /* of it, when the last turn ended */
    struct ids ids;
    Sotto__V1__ChatMessage **messages; /* owned, each in one block */
    size_t n_messages;                 /* with those of the turn */
    size_t cap_messages;
    struct session_frame frame;

    struct stream *turn; /* its request, or NULL */
    struct ids next_ids; /* what @ids becomes with it */
    size_t n_before;     /* messages before it */
    size_t n_skipped;    /* messages that it forgets, behind the instructions at the beginning */
    struct session_frame next_frame;
    bool has_next_frame;
    struct buf given; /* text of its answer that the client was given */
    uint32_t n_given; /* tokens of it */

    /* The sequence. */
    struct instance *instance; /* its engine has it; no reference: sessions_lose() comes before it is gone */
    uint32_t sequence;         /* 0: none */
    struct job retained;       /* in the queue while @sequence is above 0 */
    struct stream *leaver;     /* an earlier turn that still stands in a step of it */
    bool is_extending;         /* the Extend of an earlier turn, now over, is not answered yet */
};

/* ---- session.c */

void sessions_init(struct sessions *sessions, struct streams *streams);

/* Opens a session, and a stream that computes ahead what it begins with: that ends in on_opened, or in on_done only
 * when it is cancelled, and then there is no session. Results as of request_admit(). */
int sessions_open(struct sessions *sessions, const Sotto__V1__OpenSession *open, const struct grant *grant,
                  const struct stream_sink *sink, void *owner, struct stream **ret_stream, uint32_t *ret_retry_ms,
                  struct diag *diag);

/* Makes a request in the session that it names. The same results. */
int sessions_generate(struct sessions *sessions, struct request *request, struct stream **ret_stream,
                      uint32_t *ret_retry_ms, struct diag *diag);

/* Ends session @id of @grant's user, and cancels its request. *ret_n_tok: the tokens that it held. 0, or above 0 a Code
 * with the sentence in @diag. */
int sessions_close(struct sessions *sessions, uint64_t id, const struct grant *grant, uint32_t *ret_n_tok,
                   struct diag *diag);

/* Ends the sessions of @model, which is being unloaded; those that have a turn end with that. */
void sessions_end_of(struct sessions *sessions, const struct model_entry *model);

/* Ends the sessions that were idle for long enough at @boot_us. */
void sessions_end_idle(struct sessions *sessions, uint64_t boot_us);

/* Returns when the next one will have been idle for long enough (boot clock; 0: never). */
uint64_t sessions_next_us(const struct sessions *sessions);

/* Lets sessions be replaced that @connection, which is gone, made the last request in. */
void sessions_connection_left(struct sessions *sessions, uint64_t connection);

/* Returns how many sessions a peer of @grant sees. */
uint32_t sessions_count(const struct sessions *sessions, const struct grant *grant);

/* ---- session_text.c */

/* Takes in what @generate adds, and gives in @ret_whole and @ret_chat the same request with the whole text before it
 * (of tokens that comes later). 0, above 0 a Code with the sentence in @diag, or -ENOMEM. What is taken in is
 * dropped by session_text_undo(). */
int session_text_begin(struct session *session, const Sotto__V1__Generate *generate, Sotto__V1__Generate *ret_whole,
                       Sotto__V1__Chat *ret_chat, struct diag *diag);
void session_text_undo(struct session *session);

/* Joins the turn of @stream to the text. 0 or -ENOMEM. */
int session_text_commit(struct session *session, const struct stream *stream);

/* Puts the tokens of the session before those of @stream's own text, or has older messages forgotten. Returns false if
 * the stream is over by that, or its text is made again. */
bool session_text_join(struct session *session, struct stream *stream);

/* Notes what the client is given of the turn's answer. 0 or -ENOMEM. */
int session_text_give(struct session *session, const Sotto__V1__Delta *delta);

void session_text_finish(struct session *session);

/* ---- session_sequence.c */

/* Retains the sequence of @stream, a turn that ended well, if it can be extended. */
void session_sequence_retain(struct session *session, struct stream *stream);

/* Tells the job of @stream that a slot is reserved for it and what is computed already. */
void session_sequence_reserve(struct session *session, struct stream *stream);

/* Lends the sequence to @stream, which is about to be opened. Returns its number, or 0. */
uint32_t session_sequence_lend(struct session *session, const struct stream *stream);

/* Closes the sequence, as its slot and pages are wanted; what it computed may stay in the cache. */
void session_sequence_give_up(struct session *session);

/* Returns whether nothing of an earlier turn is under way in the sequence: the next turn may queue. */
bool session_sequence_is_free(const struct session *session);

/* Lets the turn queue that waits for that, if there is one. */
void session_sequence_go_on(struct session *session);

/* Forgets the sequences in @instance: its engine is gone. */
void sessions_lose(struct sessions *sessions, struct instance *instance);

/* Takes the engine's answer to an Open or Extend of a stream that is over: the sequence may be a session's.
 * @n_pages: that it holds; 0: refused, and it is as it was. */
void sessions_answered(struct sessions *sessions, struct instance *instance, uint32_t sequence, uint32_t n_pages);

static inline struct session *session_of_retained(struct job *job)
{
    return container_of(job, struct session, retained);
}

#endif
