/*
 * Text job: work with a text that takes too long for the loop
 *
 * Tokenising a long text, rendering messages and reading a vocabulary take milliseconds to seconds. A job owns its
 * input and its result, and is done in pieces of a few milliseconds, one thread at a time; the loop decides between two
 * of them which job goes on (text_pool.h). How a text is cut changes no token of it.
 *
 * Two kinds of work can't be cut, and are long pieces: a template that takes more than a quick rendering, and the head
 * of a model file. The first bounds of a template tell which ones are long: it begins again without them.
 */
#ifndef SOTTO_LOOP_TEXT_JOB_H
#define SOTTO_LOOP_TEXT_JOB_H

#include "base/buf.h"
#include "base/list.h"
#include "sched/account.h"
#include "text/chat.h"
#include <sotto/v1/sotto.pb-c.h>
#include <uv.h>

/* Steps of a piece, which take about 50 ns each: 2.5 ms. */
#define TEXT_PIECE_STEPS 50000u

enum text_kind {
    TEXT_PLAIN,      /* @text to @ids */
    TEXT_CHAT,       /* @input to @ids */
    TEXT_DETOKENIZE, /* @ids to @mended */
    TEXT_VOCABULARY, /* the file at @fd to @vocab and @chat */
};

struct text_pool;
struct text_job;
typedef void (*text_done_fn)(void *owner, struct text_job *job);

struct text_job {
    struct list link; /* text_pool::waiting or text_pool::running */
    uv_work_t work;
    struct text_pool *pool;
    struct account *account; /* pays; NULL: the daemon itself */
    enum priority priority;  /* set before the job is pushed; background unless it is */
    uint64_t n_held;         /* bytes charged */
    enum text_kind kind;
    atomic_bool cancel;
    text_done_fn done; /* NULL: dropped */
    void *owner;
    bool is_pushed;                /* in a list of struct text_pool */
    bool is_running;               /* a thread has a piece of it */
    bool is_begun;                 /* it may hold more memory than its input: text_job_weight() */
    bool is_long;                  /* its next piece can't be cut */
    bool is_low;                   /* the piece that runs counts among those below realtime */
    bool was_long;                 /* the piece that runs is long */
    uint64_t n_steps;              /* that its last piece took */
    uint64_t n_weight;             /* what it counts among the begun ones */
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

    /* On the way. */
    bool is_rendered; /* TEXT_CHAT: @rendered is there */
    struct chat_text rendered;
    struct tokenizer *tokenizer; /* owned; reads @text or @rendered */
    struct detokenize_at at;     /* TEXT_DETOKENIZE: in @ids */
    size_t n_spelt;              /* bytes of the ids so far */
    struct buf spelt;            /* those that are not whole characters yet */

    /* Result. */
    int outcome; /* enum tokenize_outcome, or a fault; TEXT_VOCABULARY: 0, 1 (refused) or a fault */
    struct diag diag;
    struct ids ids;
    struct buf mended;        /* the text of the ids, as whole characters */
    struct vocab *head_vocab; /* owned until taken */
    struct chat *head_chat;
    struct diag chat_diag; /* why there is no head_chat */
};

/* Make a job that owns a copy of its input; it is idle until pushed. 0 or -ENOMEM. */
int text_job_tokenize(struct text_job **ret_job, struct account *account, const void *text, size_t n);
int text_job_chat(struct text_job **ret_job, struct account *account, const Sotto__V1__Chat *chat);
int text_job_detokenize(struct text_job **ret_job, struct account *account, const uint32_t *ids, size_t n);
int text_job_vocabulary(struct text_job **ret_job, int fd);

/* Frees a job that is in no pool. */
void text_job_destroy(struct text_job *job);

/* Returns how many bytes of text count for the memory that the job holds once it is begun; 0: little. */
uint64_t text_job_weight(const struct text_job *job);

/* Does the next piece. Afterwards @outcome is TOKENIZE_MORE, or the job is done. Any thread. */
void text_job_run(struct text_job *job);

#endif
