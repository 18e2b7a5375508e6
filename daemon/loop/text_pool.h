/*
 * Text pool: which text goes on next, in libuv's threads
 *
 * Texts are worked on in pieces (text_job.h), and between two pieces the pool chooses again: the highest class first,
 * within a class the account that has had the fewest steps, within an account the oldest job. So a request of six words
 * waits for a piece of another text, and never for the text.
 *
 *  - Work below realtime has some of the threads only: a realtime text always finds a thread, unless realtime texts
 *    have them all.
 *  - Long pieces have one thread together, whatever their class, and short ones never wait for it. So no more than one
 *    heavy template holds its memory.
 *  - A text that is begun holds memory until its end. The bytes of begun texts are bounded, and a part of the bound is
 *    kept for each higher class, so that a long text of a low class never shuts them out.
 *
 * Steps are counted and not timed: the same jobs go on in the same order on a busy machine. The loop's thread.
 */
#ifndef SOTTO_LOOP_TEXT_POOL_H
#define SOTTO_LOOP_TEXT_POOL_H

#include "loop/text_job.h"

struct text_pool {
    struct list waiting; /* text_job::link, oldest first */
    struct list running;
    uv_loop_t *loop;
    uint32_t n_threads;     /* of libuv's pool */
    uint32_t n_low_threads; /* of those, for short pieces below realtime */
    uint32_t n_jobs;        /* waiting and running, but for TEXT_VOCABULARY */
    uint32_t n_running;
    uint32_t n_low;                       /* of those, short pieces below realtime */
    bool has_long;                        /* a long piece runs */
    uint64_t n_pieces;                    /* that came back, since the start */
    uint64_t begun_bytes;                 /* sum of text_job::n_weight */
    uint64_t own_steps[PRIORITY_COUNT];   /* of jobs without an account */
    uint64_t least_steps[PRIORITY_COUNT]; /* that the last account to go on had had: a newcomer begins there */
};

void text_pool_init(struct text_pool *pool, uv_loop_t *loop, uint32_t n_threads);

/* Returns how many jobs of @account wait or run now. */
uint32_t text_pool_jobs_of(const struct text_pool *pool, const struct account *account);

/* Gives the job to the pool. @done is called once from the loop, and must take what it wants: the job is freed behind
 * that. */
void text_pool_push(struct text_pool *pool, struct text_job *job, text_done_fn done, void *owner);

/* Drops the job: there is no callback. A job of which no piece runs is freed at once, another at the end of its
 * piece. */
void text_pool_drop(struct text_job *job);

/* Returns whether no job is left: the loop can't end before all come back. */
bool text_pool_is_idle(const struct text_pool *pool);

#endif
