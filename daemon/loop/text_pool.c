#include "loop/text_pool.h"
#include "base/num.h"
#include "proto/limit.h"

void text_pool_init(struct text_pool *pool, uv_loop_t *loop, uint32_t n_threads)
{
    *pool = (struct text_pool){ .loop = loop, .n_threads = n_threads };
    pool->n_low_threads = n_threads > 3 ? n_threads / 2 - 1 : 1;
    list_init(&pool->waiting);
    list_init(&pool->running);
}

static uint32_t count(const struct list *jobs, const struct account *account)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, jobs) {
        n += container_of(link, struct text_job, link)->account == account;
    }
    return n;
}

uint32_t text_pool_jobs_of(const struct text_pool *pool, const struct account *account)
{
    return count(&pool->waiting, account) + count(&pool->running, account);
}

/* ---- the order */

/* Returns the steps that the account of @job has had in its class. */
static uint64_t *steps_of(struct text_pool *pool, const struct text_job *job)
{
    return job->account ? &job->account->text_steps[job->priority] : &pool->own_steps[job->priority];
}

static bool is_low(const struct text_job *job)
{
    return job->priority < PRIORITY_REALTIME && !job->is_long;
}

/* Returns whether the memory of @job fits beside the texts that are begun. One that is larger than the bound runs
 * alone. */
static bool fits(const struct text_pool *pool, const struct text_job *job)
{
    uint64_t most = ((uint64_t)job->priority + 1) * LIMIT_TEXT;

    return job->is_begun || pool->begun_bytes == 0 || pool->begun_bytes + text_job_weight(job) <= most;
}

static bool may_run(const struct text_pool *pool, const struct text_job *job)
{
    if (pool->n_running >= pool->n_threads || (job->is_long && pool->has_long)) {
        return false;
    }
    return (!is_low(job) || pool->n_low < pool->n_low_threads) && fits(pool, job);
}

static bool goes_before(struct text_pool *pool, const struct text_job *a, const struct text_job *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    return *steps_of(pool, a) < *steps_of(pool, b);
}

/* Returns the job that goes on next, or NULL. */
static struct text_job *next_job(struct text_pool *pool)
{
    struct text_job *best = NULL;
    struct list *link;

    list_for_each (link, &pool->waiting) {
        struct text_job *job = container_of(link, struct text_job, link);

        if (may_run(pool, job) && (!best || goes_before(pool, job, best))) {
            best = job;
        }
    }
    return best;
}

/* An account without a job in the class gets no credit for the time in which it asked for nothing. */
static void join(struct text_pool *pool, const struct text_job *job)
{
    uint64_t *steps = steps_of(pool, job);

    *steps = num_max(*steps, pool->least_steps[job->priority]);
}

/* ---- pieces */

static void weigh(struct text_job *job, uint64_t n_weight)
{
    job->pool->begun_bytes += n_weight - job->n_weight; /* may be negative, which unsigned arithmetic allows */
    job->n_weight = n_weight;
}

static void leave(struct text_job *job)
{
    struct text_pool *pool = job->pool;

    list_remove(&job->link);
    weigh(job, 0);
    pool->n_jobs -= job->kind != TEXT_VOCABULARY;
    job->is_pushed = false;
}

static void dispatch(struct text_pool *pool);

static void run(uv_work_t *work)
{
    text_job_run(container_of(work, struct text_job, work));
}

/* Puts the job back in front of the younger ones of its account. A template that was found to be long holds nothing,
 * and begins again. */
static void go_on(struct text_pool *pool, struct text_job *job)
{
    job->is_begun = job->kind != TEXT_CHAT || job->is_rendered;
    weigh(job, job->is_begun ? text_job_weight(job) : 0);
    list_remove(&job->link);
    list_insert(&pool->waiting, &job->link);
}

static void on_back(uv_work_t *work, int status)
{
    struct text_job *job = container_of(work, struct text_job, work);
    struct text_pool *pool = job->pool;

    (void)status;
    pool->n_pieces++;
    pool->n_running--;
    pool->n_low -= job->is_low;
    pool->has_long = pool->has_long && !job->was_long;
    job->is_running = false;
    *steps_of(pool, job) += job->n_steps + 1;
    if (job->outcome == TOKENIZE_MORE && job->done) {
        go_on(pool, job);
    } else {
        leave(job);
        if (job->done) {
            job->done(job->owner, job);
        }
        text_job_destroy(job);
    }
    dispatch(pool);
}

static void start(struct text_pool *pool, struct text_job *job)
{
    list_remove(&job->link);
    list_append(&pool->running, &job->link);
    weigh(job, text_job_weight(job));
    pool->least_steps[job->priority] = num_max(pool->least_steps[job->priority], *steps_of(pool, job));
    job->is_running = true;
    job->is_low = is_low(job);
    job->was_long = job->is_long;
    pool->n_running++;
    pool->n_low += job->is_low;
    pool->has_long = pool->has_long || job->is_long;
    uv_queue_work(pool->loop, &job->work, run, on_back);
}

/* Hands out as many pieces as there are threads: one that waits in libuv's own queue could not be passed by others. */
static void dispatch(struct text_pool *pool)
{
    struct text_job *job;

    while ((job = next_job(pool)) != NULL) {
        start(pool, job);
    }
}

/* ---- jobs */

void text_pool_push(struct text_pool *pool, struct text_job *job, text_done_fn done, void *owner)
{
    job->pool = pool;
    job->done = done;
    job->owner = owner;
    job->is_pushed = true;
    pool->n_jobs += job->kind != TEXT_VOCABULARY;
    join(pool, job);
    list_append(&pool->waiting, &job->link);
    dispatch(pool);
}

void text_pool_drop(struct text_job *job)
{
    struct text_pool *pool;

    if (!job) {
        return;
    }
    if (job->is_running) {
        atomic_store(&job->cancel, true);
        job->done = NULL;
        return;
    }
    pool = job->pool;
    if (job->is_pushed) {
        leave(job);
    }
    text_job_destroy(job);
    if (pool) {
        dispatch(pool);
    }
}

bool text_pool_is_idle(const struct text_pool *pool)
{
    return list_is_empty(&pool->waiting) && list_is_empty(&pool->running);
}
