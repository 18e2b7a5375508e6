/*
 * A few hundred jobs at most (proto/limit.h), so everything here is a walk; an order that ages with time would make
 * any sorted structure stale.
 */
#include "sched/queue.h"
#include "base/num.h"
#include <assert.h>

void queue_init(struct queue *queue)
{
    *queue = (struct queue){ 0 };
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_init(&queue->jobs[i]);
    }
    accounts_init(&queue->accounts);
}

void queue_finish(struct queue *queue)
{
    accounts_finish(&queue->accounts);
}

void queue_add(struct queue *queue, struct job *job, uint64_t now_us)
{
    job->state = JOB_HELD;
    job->n_left = JOB_NO_END;
    job->order = queue->n_arrived++;
    job->since_us = now_us;
    job->account->n_live++;
    job->account->n_waiting++;
    list_init(&job->link);
    list_append(&queue->jobs[job->class], &job->link);
}

void queue_remove(struct queue *queue, struct job *job, uint64_t now_us)
{
    (void)queue;
    job_move(job, JOB_ENDED, now_us);
    job->account->n_live--;
    list_remove(&job->link);
}

void queue_want(struct queue *queue, struct job *job, uint64_t now_us)
{
    uint64_t *served = &job->account->served[job->class];

    *served = num_max(*served, queue->virtual_time[job->class]);
    job_move(job, JOB_WAITING, now_us);
}

static uint64_t waited_us(const struct job *job, uint64_t now_us)
{
    return now_us > job->since_us ? now_us - job->since_us : 0;
}

enum sched_class queue_rank(const struct job *job, uint64_t now_us)
{
    uint64_t age_us = job->state == JOB_SEATED ? QUEUE_AGE_SEATED_US : QUEUE_AGE_WAITING_US;

    return (enum sched_class)num_min(SCHED_REALTIME, job->class + waited_us(job, now_us) / age_us);
}

/* Below 0: @a has the better claim; above: @b; 0: equal but for arrival. */
static int compare(const struct job *a, const struct job *b, uint64_t now_us)
{
    int ranks = (int)queue_rank(b, now_us) - (int)queue_rank(a, now_us);
    uint64_t served_a = a->account->served[a->class];
    uint64_t served_b = b->account->served[b->class];

    if (ranks != 0) {
        return ranks;
    }
    /* Aged into this rank: first, or the rank's own work would always be before it. It gets one service, then its
     * age begins anew. */
    if (a->class != b->class) {
        return (int)a->class - (int)b->class;
    }
    return a->account == b->account ? 0 : (served_a > served_b) - (served_a < served_b);
}

bool queue_before(const struct job *a, const struct job *b, uint64_t now_us)
{
    int order = compare(a, b, now_us);

    return order != 0 ? order < 0 : a->order < b->order;
}

bool queue_ties(const struct job *a, const struct job *b, uint64_t now_us)
{
    return compare(a, b, now_us) == 0;
}

uint32_t queue_place(const struct queue *queue, const struct job *job, uint64_t now_us)
{
    struct list *link;
    uint32_t n = 0;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *other = container_of(link, struct job, link);
            bool before_us = other->state == JOB_OPENING ||
                             (other->state == JOB_WAITING && queue_before(other, job, now_us));

            n += other != job && other->lane == job->lane && !other->parked && before_us;
        }
    }
    return n;
}

/* Wants a seat, and could use it. */
static bool seeks(const struct job *job, uint64_t boot_us)
{
    return job->state == JOB_WAITING && !job->parked && job->lane && job->lane->open &&
           account_wait_us(job->account, job->limits.tokens_a_minute, boot_us) == 0;
}

static bool lane_is_full(const struct lane *lane)
{
    return lane->n_taken >= lane->n_seats || lane->no_room;
}

static bool is_gated(const struct job *job, const struct governor_limits *limits)
{
    return job->class < limits[job->lane->place].class_gate;
}

struct job *queue_next_seat(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                            uint64_t boot_us)
{
    struct job *best = NULL;
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);

            if (!seeks(job, boot_us) || is_gated(job, limits) || lane_is_full(job->lane)) {
                continue;
            }
            if (!best || queue_before(job, best, now_us)) {
                best = job;
            }
        }
    }
    return best;
}

/* True if somebody who could use a seat of @lane finds none. */
static bool is_wanted(const struct queue *queue, const struct lane *lane, uint64_t boot_us)
{
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *job = container_of(link, struct job, link);

            if (job->lane == lane && seeks(job, boot_us)) {
                return true;
            }
        }
    }
    return false;
}

struct job *queue_find_victim(const struct queue *queue, const struct governor_limits *limits,
                              uint64_t now_us, uint64_t boot_us)
{
    struct job *victim = NULL;
    struct list *link;

    (void)limits;
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            bool idle = job->state == JOB_SEATED && job->parked && job->n_sent == 0;

            if (!idle || !lane_is_full(job->lane) || !is_wanted(queue, job->lane, boot_us)) {
                continue;
            }
            if (!victim || waited_us(job, now_us) > waited_us(victim, now_us)) {
                victim = job;
            }
        }
    }
    return victim;
}

void queue_put_aside(struct queue *queue, struct job *job, uint64_t now_us)
{
    job->n_aside += !job->parked;
    job_forget(job);
    queue_want(queue, job, now_us);
}

/* The deadline of @job that is not met yet; 0: none. */
static uint64_t deadline_us(const struct job *job)
{
    uint64_t first_us = job->has_first ? 0 : job->first_by_us;

    if (first_us == 0 || job->finish_by_us == 0) {
        return first_us + job->finish_by_us;
    }
    return num_min(first_us, job->finish_by_us);
}

void queue_look(struct queue *queue, const struct governor_limits *limits, uint64_t boot_us)
{
    (void)queue;
    (void)limits;
    (void)boot_us;
}

struct job *queue_next_expired(const struct queue *queue, uint64_t boot_us)
{
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            uint64_t due_us = deadline_us(job);

            if (due_us > 0 && due_us <= boot_us) {
                return job;
            }
        }
    }
    return NULL;
}

uint64_t queue_next_deadline_us(const struct queue *queue)
{
    uint64_t next_us = 0;
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            uint64_t due_us = deadline_us(container_of(link, struct job, link));

            if (due_us > 0 && (next_us == 0 || due_us < next_us)) {
                next_us = due_us;
            }
        }
    }
    return next_us;
}

void queue_charge(struct queue *queue, struct job *job, uint32_t n_rows, uint32_t n_tok, uint64_t now_us,
                  uint64_t boot_us)
{
    struct account *account = job->account;
    uint32_t weight = job->limits.weight ? job->limits.weight : ACCOUNT_WEIGHT_USUAL;
    uint64_t *served = &account->served[job->class];
    uint32_t n_due = job->n_done + n_tok;
    uint32_t n_new = n_due > job->n_paid ? n_due - job->n_paid : 0;

    assert(n_rows <= job->n_done);
    queue->virtual_time[job->class] = num_max(queue->virtual_time[job->class], *served);
    if (n_new > 0) {
        *served += (uint64_t)n_new * ACCOUNT_WEIGHT_USUAL * ACCOUNT_WEIGHT_USUAL / weight;
        account_spend(account, job->limits.tokens_a_minute, n_new, boot_us);
        job->n_paid = n_due;
    }
    job->has_first = job->has_first || n_tok > 0;
    if (n_rows > 0) {
        job->since_us = now_us;
    }
}

void queue_count(const struct queue *queue, enum sched_class class, struct queue_counts *ret_counts)
{
    struct list *link;

    *ret_counts = (struct queue_counts){ 0 };
    list_for_each (link, &queue->jobs[class]) {
        const struct job *job = container_of(link, struct job, link);

        if (job->parked) {
            ret_counts->n_parked++;
        } else if (job->state == JOB_SEATED) {
            ret_counts->n_running++;
        } else {
            ret_counts->n_queued++;
        }
    }
}
