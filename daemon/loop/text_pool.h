/*
 * Words: work with texts, in libuv's pool
 *
 * Tokenising a long text, rendering messages and reading a vocabulary take milliseconds to seconds: too long for the
 * loop. A job owns its input and its result, is cancelled by a flag, and is charged to its account: at most half of
 * the pool's threads work for one. Jobs of one account keep their order; those of others pass by.
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

enum words_kind {
    WORDS_TEXT,  /* @text to @ids */
    WORDS_CHAT,  /* @input to @ids */
    WORDS_SPELL, /* @ids to @mended */
    WORDS_HEAD,  /* the file at @fd to @vocab and @chat */
};

struct words {
    struct list waiting; /* words_job::link */
    struct list running;
    uv_loop_t *loop;
    uint32_t n_threads; /* of the pool */
    uint32_t n_jobs;    /* waiting and running, but for WORDS_HEAD */
    uint32_t n_running;
};

struct words_job;
typedef void (*words_done_fn)(void *owner, struct words_job *job);

struct words_job {
    struct list link; /* words::waiting or words::running */
    uv_work_t work;
    struct words *words;
    struct account *account; /* pays; NULL: the daemon itself */
    uint64_t n_held;         /* bytes charged */
    enum words_kind kind;
    atomic_bool cancel;
    words_done_fn done; /* NULL: nobody waits any more */
    void *owner;
    bool is_pushed;                /* in a list of struct words */
    bool is_running;               /* with the pool */
    void (*release)(void *keeper); /* called when the job is freed: what it reads may go; or NULL */
    void *keeper;

    /* Input. */
    const struct vocab *vocab; /* @keeper's, as is the next */
    const struct chat *chat;
    uint8_t *text; /* owned: the text, or all of the messages' bytes */
    size_t n_text;
    struct chat_message *messages; /* owned; point into @text, as do the next two */
    struct gguf_text *tools;       /* owned */
    struct chat_input input;       /* of WORDS_CHAT */
    bool special;
    unsigned flags; /* enum tokenize_flag */
    int fd;         /* WORDS_HEAD: the caller's */

    /* Result. */
    int outcome; /* enum tokenize_outcome, or a fault; WORDS_HEAD: 0, 1 (refused) or a fault */
    struct diag diag;
    struct ids ids;
    struct buf spelt;         /* as the pieces are */
    struct buf mended;        /* as whole characters */
    struct vocab *head_vocab; /* owned until taken */
    struct chat *head_chat;
    struct diag chat_diag; /* why there is no head_chat */
};

void words_init(struct words *words, uv_loop_t *loop, uint32_t n_threads);

/* Jobs of @account that wait or run now. */
uint32_t words_n_jobs_of(const struct words *words, const struct account *account);

/* Make a job that owns a copy of its input; it is idle until pushed. 0 or -ENOMEM. */
int words_text(struct words_job **ret_job, struct account *account, const void *text, size_t n);
int words_chat(struct words_job **ret_job, struct account *account, const Sotto__V1__Chat *chat);
int words_spell(struct words_job **ret_job, struct account *account, const uint32_t *ids, size_t n);
int words_head(struct words_job **ret_job, int fd);

/* Gives it to the pool. @done is called once from the loop, and must take what it wants: the job is freed after. */
void words_push(struct words *words, struct words_job *job, words_done_fn done, void *owner);

/* Nobody waits for it any more: no callback. An idle job is freed at once, else when the pool gives it back. */
void words_drop(struct words_job *job);

/* How many lie in the pool's hands: the loop can't end before they come back. */
bool words_is_idle(const struct words *words);

#endif
