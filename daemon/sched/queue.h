/*
 * Queue: all jobs, and who comes before whom
 *
 * Strict order between classes, with ageing, so that each class moves on: at a lane where none of a class was
 * served for a spell its seated jobs count as one class higher for each, and where it holds no seat so do those
 * that wait for one. Inside a class, weighted fair queueing over accounts by tokens served (start-time fair
 * queueing: Goyal, Vin and Cheng 1996; by tokens, as Sheng et al. 2024 count them). Inside an account, by arrival.
 * A job that would miss its deadline in that order goes before its class, the earliest deadline first; its tokens
 * are charged as any others.
 *
 * Work of the daemon's own (job::yields) comes behind all that, and never ages: who waits at a full lane takes its
 * seat first of all. It takes only pages that are free whatever others share.
 *
 * Fair means: of two accounts that are left waiting, each gets tokens by its weight. Who gets all that it can use
 * (one answer can't go faster than a token a step) is not waiting, and saves nothing up: neither by idling nor by
 * wanting little.
 *
 * One queue over all models: a lane is the engine of one of them. Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_QUEUE_H
#define SOTTO_SCHED_QUEUE_H

#include "govern/governor.h"
#include "sched/cost.h"
#include "sched/job.h"

/* A class with seated jobs and without service this long counts as one up: background moves at least once
 * in twice this and the two steps that may be under way, which is well within the five seconds that are
 * promised. */
#define QUEUE_AGE_ASSIGNED_US 1000000u

/* The same for a class without a seat, from when the first of it came or the last of it was computed for. Twice
 * this, an opening and a step are less than five seconds. */
#define QUEUE_AGE_WAITING_US 1500000u

/* Of a step, what all who have aged get together, if others wait: so strict order is bent by an eighth at most. */
#define QUEUE_AGED_PART 8u

/* An account without a seat waits so long for one to come free before it takes one from an account with
 * several: no longer than two steps, or who came first would have all until then. */
#define QUEUE_PATIENCE_US 100000u

/* A lane with so many seats leaves each class its last one: it moves on without being recomputed again and
 * again. With fewer that would be too much of them for a class that others come before. */
#define QUEUE_MANY_SLOTS 4u

/* That seat may hold a quarter of the pages while others are refused some. */
#define QUEUE_LAST_PART 4u

/* At a lane with few seats, who got one by age keeps it until it has got further than ever, and no longer
 * than this for each time it was put aside, and once more: so it ends after whatever number of those. */
#define QUEUE_TENURE_US 500000u

/* A promise that was not kept makes those of its class more careful by half, one that was kept less so by
 * 1/2500: which rests where one in a thousand is not. */
#define QUEUE_CAUTION_MOST 8.0
#define QUEUE_CAUTION_UP   1.5
#define QUEUE_CAUTION_DOWN 0.9996

/* Tokens that a seat is taken to be good for when seats are shared out: some seconds of an answer. What it
 * really brings is charged as it comes. */
#define QUEUE_SLOT_TOK 256u

/* An engine has so many sequences more than its lane has seats. One that is given back while it stands in a step is
 * kept by the engine until that step ends: who comes in realtime does not wait for that. One is enough unless two
 * come within a step; it costs a row in a table, and in families that recur one more state. */
#define ENGINE_QUEUE_SPARE 1u

/* The pages that a realtime sequence needs are kept free of lower classes, for the same reason: as many as the largest
 * of the last 32 to 64 had, and no more than a quarter of all. */
#define ENGINE_QUEUE_SPARE_PART 4u
#define ENGINE_QUEUE_SPARE_LAST 32u

/* The pages of the largest realtime sequence: of the last some, and of ENGINE_QUEUE_SPARE_LAST before them. */
struct engine_queue_spare {
    uint32_t n_pages;
    uint32_t n_pages_before;
    uint32_t n; /* of the last some */
};

/* What an engine takes. Belongs to whoever keeps the engine. */
struct engine_queue {
    enum processor processor;
    uint32_t n_slots;                /* sequences at most */
    uint32_t n_taken;                /* sequences open or being opened */
    uint32_t n_leaving;              /* given back, and kept by the engine until a step ends; the turn keeps it */
    uint32_t n_rows;                 /* of a step at most */
    uint32_t n_context;              /* tokens of one sequence; 0: not known */
    uint32_t page_tokens;            /* above 0 */
    uint32_t n_pages;                /* of the pool; 0: not known */
    uint32_t n_pages_promised;       /* to open sequences, added up (job::n_pages); job_move() keeps it */
    uint32_t n_pages_shared;         /* of those, counted more than once: promised less what the engine says it holds */
    uint32_t n_pages_leaving;        /* of those that leave (n_leaving); the turn keeps it */
    uint32_t n_pages_asked;          /* of those being opened, as far as they may come; job_move() keeps it */
    struct engine_queue_spare spare; /* what realtime sequences needed lately; job_move() keeps it */
    struct cost cost;
    uint64_t dispatch;                  /* number of its last turn, of all lanes' */
    uint64_t served_us[PRIORITY_COUNT]; /* when a job of the class was last computed for */
    uint32_t n_held[PRIORITY_COUNT];    /* of n_taken, by class; job_move() keeps it */
    uint32_t n_waiting[PRIORITY_COUNT]; /* JOB_WAITING here; job_move() keeps it */
    uint64_t asked_us[PRIORITY_COUNT];  /* since when some wait or are seated here; job_move() keeps it */
    bool open;                          /* the engine takes orders */
    bool stopped; /* it begins nothing now (it rests, or its begun steps let nobody in): left out of plans */
    bool no_room; /* refused a sequence for want of pages; until one is closed nobody is seated */
};

struct queue {
    struct list jobs[PRIORITY_COUNT]; /* job::link, in order of arrival */
    struct list retained;             /* job::link of queue_retain(), the longest kept first */
    struct accounts accounts;
    struct service service; /* of all, while somebody waits */
    uint32_t n_live;
    uint64_t n_arrived;

    /* Virtual time of each class: the least start of an account that the last turn left waiting. Who was
     * not left waiting starts here. */
    uint64_t virtual_time[PRIORITY_COUNT];
    double burst_ns[PRIORITY_COUNT];                       /* the largest prompt lately: what may come at any time */
    double burst_answer_ns[PRIORITY_COUNT];                /* likewise an answer, */
    const struct engine_queue *burst_lane[PRIORITY_COUNT]; /* and its lane: compared, and may be gone */
    double caution[PRIORITY_COUNT]; /* more time than foretold is promised by this, as promises went */
    uint64_t dispatch;              /* number of the last plan that looked at everybody */
};

void queue_init(struct queue *queue);
void queue_finish(struct queue *queue); /* the jobs are not the queue's */

/* Takes in @job (zeroed but for account, limits, class, lane, n_prompt, n_known, n_most and deadlines) as
 * JOB_HELD. Its n_left is JOB_NO_END until the stream says more. */
void queue_add(struct queue *queue, struct job *job, uint64_t now_us);

/* Ends and forgets @job. */
void queue_remove(struct queue *queue, struct job *job, uint64_t now_us);

/* Takes in @job (zeroed but for lane and n_pages), which stands for a sequence that stays open between the requests of
 * a session. It is no request: it counts for nobody, is in no step, and is the first to go where somebody wants its
 * seat or its pages. */
void queue_retain(struct queue *queue, struct job *job);
void queue_release(struct job *job);

/* How many there are at @eq; adds their pages to *n_pages. */
uint32_t queue_count_retained(const struct queue *queue, const struct engine_queue *eq, uint64_t *n_pages);

/* JOB_HELD (or a lost seat) to JOB_WAITING: lifts its account to the class's virtual time, unless it was
 * left waiting. */
void queue_want(struct queue *queue, struct job *job, uint64_t now_us);

/* Jobs that will be seated before @job, all of its lane: its place. */
uint32_t queue_position(const struct queue *queue, const struct job *job, uint64_t now_us);

/* Somebody is being opened at @eq. */
bool queue_is_opening(const struct queue *queue, const struct engine_queue *eq);

/* The waiting job that a free seat of any open lane belongs to, or NULL. @limits of both places: lower
 * classes than the gate wait, and pages that the governor has taken back are no room. */
struct job *queue_next_slot(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                            uint64_t boot_us);

/*
 * The job whose sequence is to be closed, or NULL; to be asked again until then. With queue_preempt() it waits once
 * more and is recomputed later; its pages may stay (Close with keep). It may stand in steps that are under way: what
 * those say of it is dropped. Who may take a seat or pages of a full lane, the first of these that helps:
 * - anybody, from work of the daemon's own (job::yields), which takes a seat from nobody;
 * - anybody, from a session that has no request now (job::kept): that which has been so longest;
 * - anybody, from a parked job: that which has been so longest;
 * - anybody, from one whose account rests (tokens or energy a minute) for longer than it takes to compute it anew, in
 *   no step and without a deadline: it takes a seat back by its order when it may spend again;
 * - a higher class from a lower one, without ageing: from the lowest, and there from whom loses least;
 * - one whose deadline would be missed, from one of its class without one, or whose own is met;
 * - an account that has had less, from one of its class with at least two seats: if it holds none, or by weight fewer
 *   even with that one more than the other without it. So one user's requests don't shut another's out, and nobody
 *   takes back and forth;
 * - a class that holds no seat and has waited long, from a higher class, but not before its first token.
 * The last seat of a class is not taken where there are many; where there are few, who got one by age keeps it until it
 * has got further than it was.
 * Where pages are short nobody is closed unless the pages of all who could be closed are enough. While a sequence
 * leaves a lane none is closed there: its seat and its pages are to come.
 */
struct job *queue_find_victim(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                              uint64_t boot_us);

/* True if @job may have the seat of @from by its class, whenever it wants. */
bool queue_gives_slot(const struct job *job, const struct job *from);

/* Its seat was taken: forgets what was computed, and waits again with its old place among its account's. */
void queue_preempt(struct queue *queue, struct job *job, uint64_t now_us);

/* The deadline of @job that is not met yet (boot clock); 0: none. */
uint64_t queue_deadline_us(const struct job *job);

/* A job whose deadline has passed unmet, or NULL. To be ended (queue_remove), then asked again. */
struct job *queue_next_expired(const struct queue *queue, uint64_t boot_us);

/* The next deadline of all that is not met yet (boot clock); 0: none. */
uint64_t queue_next_deadline_us(const struct queue *queue);

/* How long a place of @account, or with NULL any, takes to come free for one of @priority, as foretold from the work of
 * those who are live: while there is nothing to measure. *ret_first_us: until the first. */
double queue_estimate_us(const struct queue *queue, const struct account *account, enum priority priority,
                         const struct governor_limits *limits, double *ret_first_us);

/* Charges what a step computed and sampled for @job: @n_rows rows, counted in its n_done already, and
 * @n_tok tokens behind them. What was charged once, before an engine was lost, is not charged again. */
void queue_charge(struct queue *queue, struct job *job, uint32_t n_rows, uint32_t n_tok, uint64_t now_us,
                  uint64_t boot_us);

struct queue_counts {
    uint32_t n_queued;
    uint32_t n_running;
    uint32_t n_parked;
};

void queue_count(const struct queue *queue, enum priority priority, struct queue_counts *ret_counts);

/* Lifts every account with live work that the last turn did not leave waiting. Before a plan that looks at
 * everybody. */
void queue_lift(struct queue *queue);

/* After it, for each job that could do with more than the plan gives it: its account is left waiting by
 * @queue->turn. */
void queue_leave_out(struct queue *queue, const struct job *job);

/* The order: class with ageing. */
enum priority queue_rank(const struct job *job, uint64_t now_us);

/* True if @a comes before @b, both of the same kind (waiting, or seated). */
bool queue_before(const struct job *a, const struct job *b, uint64_t now_us);

/* True if nothing but the order of arrival tells who comes first. */
bool queue_ties(const struct job *a, const struct job *b, uint64_t now_us);

#endif
