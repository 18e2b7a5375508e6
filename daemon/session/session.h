/*
 * Session: a conversation that is kept between requests
 *
 * It belongs to a user, not to a connection. What was said is the truth of it: messages, with the answers as the client
 * was given them, or token ids. Its sequence in an engine is a convenience: as long as nobody else wants the seat or
 * the pages, the next turn goes on in it (Extend), else it is opened anew, and the answer's bits are the same. So a
 * turn gives exactly what a request would that says the whole conversation at once.
 *
 *   OPENING  the request that computes what it begins with is live
 *   IDLE     no request; ends after idle_ms of the boot clock
 *   TURN     one request is live
 *
 * A turn that ends well (also cancelled: barge-in) joins what was said; one that fails leaves all as it was before. A
 * turn that does not fit a session which slides has the oldest part forgotten: of tokens as an answer does it, of
 * messages the older half, from one of the user's to the next.
 *
 * session.c: its life. session_said.c: what was said. session_keep.c: its sequence. The loop's thread.
 */
#ifndef SOTTO_SESSION_SESSION_H
#define SOTTO_SESSION_SESSION_H

#include "base/buf.h"
#include "stream/stream.h"

/* Decided by its first input. */
enum session_kind {
    SESSION_EMPTY,
    SESSION_TOKENS,
    SESSION_CHAT,
};

/* What a conversation carries besides messages; the last turn that brings either one has its own in force. */
struct session_frame {
    ProtobufCBinaryData *tools; /* one block, with all bytes behind them; owned */
    size_t n_tools;
    ProtobufCBinaryData variables; /* owned */
    uint64_t n_bytes;
};

struct session {
    struct list link; /* hub::sessions */
    struct hub *hub;
    struct model *model;     /* is named by it: stays */
    struct account *account; /* pays for @n_held bytes */
    uint64_t n_held;
    uint64_t id;
    uint32_t uid;
    uint64_t holder; /* the connection that last asked in it, while it is there; 0: it is gone */
    uint32_t idle_ms;
    uint64_t idle_since_us; /* boot clock */
    bool is_opening;
    bool is_ending; /* its model goes: it ends with its turn */
    bool slides;

    /* What was said. What a turn adds counts when it ends well. */
    enum session_kind kind;
    uint32_t n_tok; /* of it, when the last turn ended */
    struct ids ids;
    Sotto__V1__ChatMessage **messages; /* owned, each in one block */
    size_t n_messages;                 /* with those of the turn */
    size_t cap_messages;
    struct session_frame frame;

    struct stream *turn; /* its request, or NULL */
    struct ids next_ids; /* what @ids becomes with it */
    size_t n_said;       /* messages before it */
    size_t n_skipped;    /* messages that it forgets, behind the instructions at the beginning */
    struct session_frame next_frame;
    bool has_next_frame;
    struct buf given; /* text of its answer that the client was given */
    uint32_t n_given; /* tokens of it */

    /* Its sequence. */
    struct instance *instance; /* whose engine has it; no reference: told when that is gone */
    uint32_t sequence;         /* 0: none */
    struct job kept;           /* in the queue while @sequence is above 0 */
    struct stream *leaver;     /* an earlier turn that still stands in a step of it */
    bool is_asked;             /* the Extend of an earlier turn, now over, is not answered yet */
};

/* ---- session.c */

/* The session that @ask names, if it may have this request now. Above 0: a Code. */
int session_find(struct hub *hub, const Sotto__V1__Generate *ask, const struct grant *grant,
                 struct session **ret_session, struct diag *diag);

/* It is over; a turn that still runs is not told. @how: "closed", "idle", "model", "failed", "room". */
void session_end(struct session *session, const char *how);

/* The model is being unloaded: its sessions end, those that have a turn with that. */
void sessions_end_of(struct model *model);

/* Ends those that were idle for long enough; when the next one will have been (boot clock; 0: never). */
void sessions_end_idle(struct hub *hub, uint64_t boot_us);
uint64_t sessions_next_us(const struct hub *hub);

/* As many as a peer of @grant sees. */
uint32_t sessions_count(const struct hub *hub, const struct grant *grant);

/* The last message of a stream that opens one. */
void session_tell(struct stream *stream);

/* What is refused of a Generate's field is refused of an OpenSession's. */
void session_name_field(char *field, size_t cap);

/* The callback of TICKET_SESSION. */
void session_call(struct ticket *ticket);

/* The stream of a turn has its last message due; its sequence is not given back yet. */
void session_turn_ended(struct stream *stream);

/* It is about to be freed. */
void session_turn_left(struct stream *stream);

/* True once nothing of an earlier turn is under way in the sequence: the next one may want it. */
bool session_is_free(const struct session *session);

/* It may by now, as far as that goes: its turn, if there is one that waits for that, does. */
void session_go_on(struct session *session);

/* ---- session_said.c */

/* Takes in what @ask adds, and gives in @ret_whole and @ret_chat the same request with all that was said before (of
 * tokens that comes later). Above 0: a Code. What is taken in is dropped by session_take_back(). */
int session_begin_turn(struct session *session, const Sotto__V1__Generate *ask, Sotto__V1__Generate *ret_whole,
                       Sotto__V1__Chat *ret_chat, struct diag *diag);
void session_take_back(struct session *session);

/* The turn joins what was said. 0 or -ENOMEM. */
int session_take_over(struct session *session, const struct stream *stream);

/* The tokens of @stream's own words are known: puts those of the session before them. 0, a Code above 0, or -ENOMEM. */
int session_join_prompt(struct stream *stream);

/* The prompt does not fit the context. True: a part was forgotten, and words are to be made again. */
bool session_forget_some(struct stream *stream);

/* The client is given @delta of its turn. 0 or -ENOMEM. */
int session_give(struct session *session, const Sotto__V1__Delta *delta);

void session_free_said(struct session *session);

/* ---- session_keep.c */

/* Keeps the sequence of @stream, whose turn ended well, if there is one that can be extended. */
void session_keep(struct session *session, struct stream *stream);

/* The tokens of a turn are known: tells its job that a seat is kept for it, and what is computed already. */
void session_prepare(struct stream *stream);

/* Gives its sequence to @stream, which is about to be opened. 0: there is none. */
uint32_t session_lend(struct session *session, const struct stream *stream);

/* Its seat and pages are wanted: closes its sequence, and what it computed may stay in the cache. */
void session_give_up(struct session *session);

/* The engine has answered an Open or Extend of nobody's who is still live: of a session's, perhaps. @n_pages: that the
 * sequence holds; 0: refused, and it is as it was. */
void session_answered(struct instance *instance, uint32_t sequence, uint32_t n_pages);

/* The engine is gone, with all sequences. */
void sessions_lose(struct instance *instance);

static inline struct session *session_of_kept(struct job *job)
{
    return container_of(job, struct session, kept);
}

#endif
