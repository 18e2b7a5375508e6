/*
 * Text pool: work with texts, in libuv's threads
 *
 * Tokenising a long text, rendering messages and reading a vocabulary take milliseconds to seconds: too long for the
 * loop. A job owns its input and its result, is cancelled by a flag, and is charged to its account: at most half of the
 * pool's threads work for one. Jobs of one account keep their order; those of others pass by.
 *
 * The loop's thread, but for the work itself.
 */
#ifndef SOTTO_LOOP_TEXT_POOL_H
#define SOTTO_LOOP_TEXT_POOL_H

#include "base/buf.h"
#include "base/list.h"
#include "sched/account.h"
#include "text/chat.h"
#include <sotto/v1/sotto.pb-c.h>
#include <uv.h>

enum text_kind {
    TEXT_PLAIN,      /* @text to @ids */
    TEXT_CHAT,       /* @input to @ids */
    TEXT_DETOKENIZE, /* @ids to @mended */
    TEXT_VOCABULARY, /* the file at @fd to @vocab and @chat */
};

struct text_pool {
    struct list waiting; /* text_job::link */
    struct list running;
    uv_loop_t *loop;
    uint32_t n_threads; /* of the pool */
    uint32_t n_jobs;    /* waiting and running, but for TEXT_VOCABULARY */
    uint32_t n_running;
};

struct text_job;
typedef void (*text_done_fn)(void *owner, struct text_job *job);

struct text_job {
    struct list link; /* text_pool::waiting or text_pool::running */
    uv_work_t work;
    struct text_pool *pool;
    struct account *account; /* pays; NULL: the daemon itself */
    uint64_t n_held;         /* bytes charged */
    enum text_kind kind;
    atomic_bool cancel;
    text_done_fn done; /* NULL: dropped */
    void *owner;
    bool is_pushed;                /* in a list of struct text_pool */
    bool is_running;               /* with the pool */
    void (*release)(void *keeper); /* called when the job is freed, and no longer reads from @keeper; or NULL */
    void *keeper;

    /* Input. */
    const struct vocab *vocab; /* @keeper's, as is the next */
    const struct chat *chat;
    uint8_t *text; /* owned: the text, or all of the messages' bytes */
    size_t n_text;
    struct chat_message *messages; /* owned; point into @text, as do the next two */
    struct gguf_text *tools;       /* owned */
    struct chat_input input;       /* of TEXT_CHAT */
    bool special;
    unsigned flags; /* enum tokenize_flag */
    int fd;         /* TEXT_VOCABULARY: the caller's */

    /* Result. */
    int outcome; /* enum tokenize_outcome, or a fault; TEXT_VOCABULARY: 0, 1 (refused) or a fault */
    struct diag diag;
    struct ids ids;
    struct buf spelt;         /* as the pieces are */
    struct buf mended;        /* as whole characters */
    struct vocab *head_vocab; /* owned until taken */
    struct chat *head_chat;
    struct diag chat_diag; /* why there is no head_chat */
};

void text_pool_init(struct text_pool *pool, uv_loop_t *loop, uint32_t n_threads);

/* Returns how many jobs of @account wait or run now. */
uint32_t text_pool_jobs_of(const struct text_pool *pool, const struct account *account);

/* Make a job that owns a copy of its input; it is idle until pushed. 0 or -ENOMEM. */
int text_pool_tokenize(struct text_job **ret_job, struct account *account, const void *text, size_t n);
int text_pool_chat(struct text_job **ret_job, struct account *account, const Sotto__V1__Chat *chat);
int text_pool_detokenize(struct text_job **ret_job, struct account *account, const uint32_t *ids, size_t n);
int text_pool_vocabulary(struct text_job **ret_job, int fd);

/* Gives the job to the pool. @done is called once from the loop, and must take what it wants: the job is freed behind
 * that. */
void text_pool_push(struct text_pool *pool, struct text_job *job, text_done_fn done, void *owner);

/* Drops the job: there is no callback. An idle job is freed at once, another when the pool gives it back. */
void text_pool_drop(struct text_job *job);

/* Returns whether no job is left: the loop can't end before all come back. */
bool text_pool_is_idle(const struct text_pool *pool);

#endif
