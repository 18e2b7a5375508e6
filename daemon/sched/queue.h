/*
 * Queue: all jobs, and who comes before whom
 *
 * Strict order between classes, with ageing: who has waited long counts as one class higher for each spell of
 * waiting, so background work always goes on. Inside a rank, weighted fair queueing over accounts by tokens served;
 * inside an account, by arrival. One queue over all models: a lane is the engine of one of them.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_SCHED_QUEUE_H
#define SOTTO_SCHED_QUEUE_H

#include "sched/cost.h"
#include "sched/job.h"

/* A seated job without service this long counts as one class up: background moves at least once in twice this. */
#define QUEUE_AGE_SEATED_US 500000u
/* A job waiting for a sequence: a turn is a whole answer, so patience is longer. */
#define QUEUE_AGE_WAITING_US 10000000u

/* What an engine takes. Belongs to whoever keeps the engine. */
struct lane {
    uint32_t n_seats;     /* sequences at most */
    uint32_t n_taken;     /* sequences open or being opened */
    uint32_t n_rows;      /* of a step at most */
    uint32_t page_tokens; /* above 0 */
    struct cost cost;
    uint64_t turn; /* number of its last turn, of all lanes' */
    bool open;     /* the engine takes orders */
    bool no_room;  /* refused a sequence for want of pages; until one is closed nobody is seated */
};

struct queue {
    struct list jobs[SCHED_CLASS_COUNT]; /* job::link, in order of arrival */
    struct accounts accounts;
    uint64_t n_arrived;

    /* Virtual time of each class: the start of the service last begun (start-time fair queueing, Goyal, Vin and
     * Cheng 1996). Who comes back from idling starts here: idling saves nothing up. */
    uint64_t virtual_time[SCHED_CLASS_COUNT];
};

void queue_init(struct queue *queue);
void queue_finish(struct queue *queue); /* the jobs are not the queue's */

/* Takes in @job (zeroed but for account, limits, class, n_prompt) as JOB_HELD. */
void queue_add(struct queue *queue, struct job *job, uint64_t now_us);

/* Ends and forgets @job. */
void queue_remove(struct queue *queue, struct job *job, uint64_t now_us);

/* JOB_HELD (or a lost seat) to JOB_WAITING: lifts its account to the class's virtual time. */
void queue_want(struct queue *queue, struct job *job, uint64_t now_us);

/* Jobs that will be seated before @job, all of its lane: its place. */
uint32_t queue_place(const struct queue *queue, const struct job *job, uint64_t now_us);

/* The waiting job that a free seat of any open lane belongs to, or NULL. @class_gate: lower classes wait. */
struct job *queue_next_seat(const struct queue *queue, enum sched_class class_gate, uint64_t now_us,
                            uint64_t boot_us);

/*
 * A full lane with somebody waiting: the parked job that has been so longest and holds a sequence there, whose seat
 * may be taken, or NULL.
 */
struct job *queue_find_victim(const struct queue *queue, uint64_t now_us, uint64_t boot_us);

/* Charges what a step computed and sampled for @job: @n_rows rows, counted in its n_done already, and @n_tok tokens
 * behind them. What was charged once, before an engine was lost, is not charged again. */
void queue_charge(struct queue *queue, struct job *job, uint32_t n_rows, uint32_t n_tok, uint64_t now_us,
                  uint64_t boot_us);

struct queue_counts {
    uint32_t n_queued;
    uint32_t n_running;
    uint32_t n_parked;
};

void queue_count(const struct queue *queue, enum sched_class class, struct queue_counts *ret_counts);

/* The order: class with ageing. */
enum sched_class queue_rank(const struct job *job, uint64_t now_us);

/* True if @a comes before @b, both of the same kind (waiting, or seated). */
bool queue_before(const struct job *a, const struct job *b, uint64_t now_us);

/* True if nothing but the order of arrival tells who comes first. */
bool queue_ties(const struct job *a, const struct job *b, uint64_t now_us);

#endif
