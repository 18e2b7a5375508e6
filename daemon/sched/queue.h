/*
 * Queue: all jobs, and their order
 *
 * - Between classes the order is strict, with ageing, so that each class moves on: if an engine has served no job of a
 *   class for a period, the class's jobs with slots count as one class higher for each such period; if the class has no
 *   slot there, its waiting jobs do.
 * - Within a class there is weighted fair queueing over accounts by tokens served (start-time fair queueing: Goyal, Vin
 *   and Cheng 1996; tokens are counted as by Sheng et al. 2024).
 * - Within an account the order is that of arrival.
 * - A job that would miss its deadline in that order goes before its class, the earliest deadline first. Its tokens are
 *   charged as any others.
 * - The daemon's own work (job::yields) comes last and never ages. At a full engine its slot is the first to be taken,
 *   and it takes only pages that are free even if none are shared.
 *
 * Fair means: of two accounts that are left waiting, each gets tokens by its weight. An account that gets all it can
 * use (one answer can't go faster than a token a step) is not waiting, and saves nothing up, neither by being idle nor
 * by wanting little.
 *
 * There is one queue for all models; an engine queue describes the engine of one of them. Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_QUEUE_H
#define SOTTO_SCHED_QUEUE_H

#include "govern/limits.h"
#include "sched/cost.h"
#include "sched/job.h"

/* A class that has slots and no service for this long counts as one class higher. So background moves at least once
 * in twice this plus two steps in progress, which is well within the promised five seconds. */
#define QUEUE_AGE_ASSIGNED_US 1000000u

/* Period for a class without a slot, from the arrival of its first job or its last service. Twice this, an opening
 * and a step are less than five seconds. */
#define QUEUE_AGE_WAITING_US 1500000u

/* The part of a step that all aged jobs together get if others wait: it bends the strict order by an eighth at most. */
#define QUEUE_AGED_PART 8u

/* An account without a slot waits this long for one to come free before it takes one from an account with several.
 * It is no longer than two steps, or the account that came first would have all slots until then. */
#define QUEUE_PATIENCE_US 100000u

/* An engine with at least this many slots leaves each class its last one, so the class moves on without being
 * recomputed again and again. Of fewer slots that would be too many for a class that others precede. */
#define QUEUE_MANY_SLOTS 4u

/* A class's last slot may hold a quarter of the pages while other requests are refused some. */
#define QUEUE_LAST_PART 4u

/* At an engine with few slots, a job that got one by age keeps it until it has got further than before, but at most
 * for this long times (1 + times preempted). So it ends, however often it is preempted. */
#define QUEUE_TENURE_US 500000u

/* Slots go round (round robin): a job that has waited this long takes the slot of a job of its class that has gone on
 * for as long. Most answers end before; with a shorter quantum equal answers would end together, late, instead of one
 * after the other. If it took long until a job went on, since what it had was computed again, its quantum is
 * QUEUE_QUANTUM_AGAIN times that: a fifth of the time at most is lost. */
#define QUEUE_QUANTUM_US    8000000u
#define QUEUE_QUANTUM_AGAIN 4u

/* Bounds of the time after which a refused request should be sent again: below, asking again costs more than it brings;
 * above, nothing can be estimated. */
#define QUEUE_RETRY_LEAST_US 50000u
#define QUEUE_RETRY_MOST_US  300000000u

/* Tokens that a slot is taken to be worth when slots are shared out: some seconds of an answer. What it really
 * yields is charged as it comes. */
#define QUEUE_SLOT_TOK 256u

/* Sequences that an engine has beyond its slots. A sequence closed while it is in a step stays with the engine until
 * that step ends, and a realtime job does not wait for that. One is enough unless two arrive within a step; it costs
 * a row in a table, and one more state in recurrent families. */
#define ENGINE_QUEUE_SPARE 1u

/* For the same reason the pages of a realtime sequence are kept free of lower classes: as many as the largest of the
 * last 32 to 64 had, and at most a quarter of all. */
#define ENGINE_QUEUE_SPARE_PART 4u
#define ENGINE_QUEUE_SPARE_LAST 32u

/* The pages of the largest realtime sequence: of the last @n, and of the ENGINE_QUEUE_SPARE_LAST before them. */
struct engine_queue_spare {
    uint32_t n_pages;
    uint32_t n_pages_before;
    uint32_t n; /* counted since the others began */
};

/* Engine queue: what an engine can take, and has. It belongs to the owner of the engine. job_move() keeps the counts
 * of slots, pages and waiting jobs, the dispatch those that end in _leaving. */
struct engine_queue {
    enum processor processor;
    uint32_t n_slots;                /* sequences that may be open */
    uint32_t n_taken;                /* sequences open or being opened */
    uint32_t n_leaving;              /* closed, but held by the engine until a step ends */
    uint32_t n_rows;                 /* of a step, at most */
    uint32_t n_context;              /* tokens of one sequence; 0: not known */
    uint32_t n_drafts;               /* tokens that an answer may draft in a step at most; 0: none */
    uint32_t page_tokens;            /* above 0 */
    uint32_t n_pages;                /* in the pool; 0: not known */
    uint32_t n_pages_promised;       /* sum of job::n_pages of open sequences */
    uint32_t n_pages_shared;         /* of those, counted more than once: promised less what the engine says it holds */
    uint32_t n_pages_leaving;        /* held by closed sequences (n_leaving) */
    uint32_t n_pages_asked;          /* of sequences being opened, at their longest */
    struct engine_queue_spare spare; /* what realtime sequences needed recently */
    struct cost cost;
    uint64_t round;                     /* number of its last step, counted over all engines */
    uint64_t served_us[PRIORITY_COUNT]; /* when a job of the class was last computed */
    uint32_t n_held[PRIORITY_COUNT];    /* slots, by class */
    uint32_t n_waiting[PRIORITY_COUNT]; /* jobs that are JOB_WAITING here */
    uint64_t asked_us[PRIORITY_COUNT];  /* since when the class has jobs that wait or have slots here */
    bool open;                          /* the engine takes orders */
    bool stopped; /* begins nothing now (it rests, or its begun steps admit no other): left out of plans */
    bool no_room; /* refused a sequence for want of pages: gives no slot until a sequence is closed */
};

struct queue {
    struct list jobs[PRIORITY_COUNT]; /* job::link, in order of arrival */
    struct list retained;             /* job::link of queue_retain(), the one retained longest first */
    struct accounts accounts;
    uint32_t n_live;
    uint64_t n_arrived;

    /* Virtual time of each class: the least start of an account that the last round left waiting. An account that
     * was not left waiting starts here. */
    uint64_t virtual_time[PRIORITY_COUNT];
    uint64_t round; /* number of the last plan that considered all jobs */
};

/* Returns the first job of @priority or of a higher class, or NULL. */
static inline struct job *queue_first_from(const struct queue *queue, size_t priority)
{
    for (; priority < PRIORITY_COUNT; priority++) {
        if (!list_is_empty(&queue->jobs[priority])) {
            return container_of(queue->jobs[priority].next, struct job, link);
        }
    }
    return NULL;
}

/* Walks all jobs, the lowest class first and each class by arrival: queue_first() begins, and queue_next() returns
 * the job after @job, or NULL. */
static inline struct job *queue_first(const struct queue *queue)
{
    return queue_first_from(queue, 0);
}

static inline struct job *queue_next(const struct queue *queue, const struct job *job)
{
    if (job->link.next != &queue->jobs[job->priority]) {
        return container_of(job->link.next, struct job, link);
    }
    return queue_first_from(queue, (size_t)job->priority + 1);
}

void queue_init(struct queue *queue);
void queue_finish(struct queue *queue); /* leaves the jobs alone; the caller owns them */

/* Adds @job as JOB_HELD. It is zeroed but for account, limits, priority, eq, n_prompt, n_known, n_most and
 * deadlines. Its n_left is JOB_NO_END until the stream sets it. */
void queue_add(struct queue *queue, struct job *job, uint64_t now_us);

/* Ends @job and removes it. */
void queue_remove(struct queue *queue, struct job *job, uint64_t now_us);

/* Adds @job (zeroed but for eq and n_pages), which stands for the open sequence of an idle session. It is not a
 * request: it is counted for no account, is in no step, and is the first to be closed when another job wants its
 * slot or pages. */
void queue_retain(struct queue *queue, struct job *job);
void queue_release(struct job *job);

/* Returns how many idle sessions there are at @eq, and adds their pages to *n_pages. */
uint32_t queue_count_retained(const struct queue *queue, const struct engine_queue *eq, uint64_t *n_pages);

/* Moves @job from JOB_HELD (or from a lost slot) to JOB_WAITING. Lifts its account to the class's virtual time,
 * unless it was left waiting. */
void queue_want(struct queue *queue, struct job *job, uint64_t now_us);

/* Returns how many jobs of its engine will get a slot before @job. */
uint32_t queue_position(const struct queue *queue, const struct job *job, uint64_t now_us);

/* True if a sequence is being opened at @eq. */
bool queue_is_opening(const struct queue *queue, const struct engine_queue *eq);

/* Returns the waiting job that gets the next free slot of any open engine, or NULL. @limits are those of all
 * processors: classes below the gate wait, and pages that the governor has taken back don't count as free. */
struct job *queue_next_slot(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                            uint64_t boot_us);

/*
 * Returns the job to lose its sequence, to make room, or NULL; to be called again until then. After queue_preempt() it
 * waits again and is recomputed later; its pages may stay cached (Close with keep). It may be in steps in progress;
 * their results for it are dropped. At a full engine a slot or pages are taken by the first of these rules that helps:
 *
 * - By any job from the daemon's own work (job::yields), which itself takes a slot from no job.
 * - By any job from an idle session (job::retained), the one idle longest.
 * - By any job from a parked job, the one parked longest.
 * - By any job from one with an account out of budget (tokens or energy a minute) for longer than computing it again
 *   takes, if it is in no step and has no deadline. It takes a slot back by its order when it may spend again.
 * - By a higher class from a lower one, without ageing: from the lowest class, and there from the job that loses least.
 * - By an account that has had less, from one of its class with at least two slots: if it has none, or by weight fewer
 *   even with one more than the other with one less. So one user's requests don't shut out another's, and no slot is
 *   taken back and forth.
 * - By a job that has waited for QUEUE_QUANTUM_US, from one of its class that has gone on for a quantum and has no
 *   deadline, of the same account or of one that has had no less. The slot stays with the class, even its last.
 * - By a class that has no slot and has waited long, from a higher class, but not before the first token of that job.
 *
 * The last slot of a class is not taken where there are many slots. Where there are few, a job that got its slot by age
 * keeps it until it has got further than before. If pages are short, no job is closed unless the pages of all that
 * could be closed are enough. While a sequence is leaving an engine none is closed there: its slot and pages are about
 * to come free.
 */
struct job *queue_find_victim(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                              uint64_t boot_us);

/* True if @job may take the slot of @from by its class, at any time. */
bool queue_gives_slot(const struct job *job, const struct job *from);

/* True if requests of the account of @from shut out @job, which waits for a slot of the same engine: its account has
 * none there, or by weight fewer even with one more than the other with one less. So neither takes a slot back. It
 * takes that slot after QUEUE_PATIENCE_US, if its account has had no more. */
bool queue_shares_slot(const struct queue *queue, const struct job *job, const struct job *from);

/* Preempts @job: its slot was taken, what was computed is forgotten, and it waits again at its old position among
 * the jobs of its account. */
void queue_preempt(struct queue *queue, struct job *job, uint64_t now_us);

/* Returns the deadline of @job that is not met yet (boot clock); 0: none. */
uint64_t queue_deadline_us(const struct job *job);

/* Returns a job with a deadline that has passed unmet and marks it late, or NULL. The caller ends it (queue_remove)
 * and calls again. */
struct job *queue_next_expired(const struct queue *queue, uint64_t boot_us);

/* Returns the next deadline of all that is not met yet (boot clock); 0: none. */
uint64_t queue_next_deadline_us(const struct queue *queue);

/* Returns the time until the requests of @account that are live now have ended, within the bounds above: a request of
 * it in class @priority that is refused for want of room should be sent again then. It is their work at the measured
 * speed, with that of higher classes, and of each other account of the class as much as goes with it by weight (@own
 * has that of @account). An account without requests waits for all others. Nothing is remembered of those that were
 * refused. It uses account::sum_ns. */
uint64_t queue_retry_us(const struct queue *queue, const struct account *account, const struct account_limits *own,
                        enum priority priority, const struct governor_limits *limits);

/* Charges what a step computed and sampled for @job: @n_rows rows, already counted in its n_done, and @n_tok tokens
 * after them. What was charged before an engine was lost is not charged again. */
void queue_charge(struct queue *queue, struct job *job, uint32_t n_rows, uint32_t n_tok, uint64_t now_us,
                  uint64_t boot_us);

/* Lifts every account with live work that the last round did not leave waiting. It comes before a plan that
 * considers all jobs. */
void queue_lift(struct queue *queue);

/* Marks the account of @job as left waiting by @queue->round. It comes after the plan, for each job that could use
 * more than the plan gives it. */
void queue_leave_out(struct queue *queue, const struct job *job);

/* Returns the class of @job with ageing, which is the order. */
enum priority queue_rank(const struct job *job, uint64_t now_us);

/* Returns for how long @job goes on with its slot before it gives it to one that waits, in us. */
uint64_t queue_quantum_us(const struct job *job);

/* True if @job has waited long enough to take the slot of a job of its class that has had its quantum. */
bool queue_waits_long(const struct job *job, uint64_t now_us);

/* True if @a comes before @b, both waiting or both with slots. */
bool queue_before(const struct job *a, const struct job *b, uint64_t now_us);

/* True if only the order of arrival decides which comes first. */
bool queue_ties(const struct job *a, const struct job *b, uint64_t now_us);

#endif
