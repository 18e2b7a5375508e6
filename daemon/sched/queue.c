/*
 * There are a few hundred jobs at most (proto/limit.h), so everything here is a walk; any sorted structure would be
 * stale, as the order changes with time.
 */
#include "sched/queue.h"
#include "base/num.h"
#include <assert.h>
#include <math.h>

void queue_init(struct queue *queue)
{
    *queue = (struct queue){ .round = 1 }; /* no account was left waiting by round 0 */
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_init(&queue->jobs[i]);
    }
    list_init(&queue->retained);
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
    queue->n_live++;
    job->account->n_waiting++;
    list_init(&job->link);
    list_append(&queue->jobs[job->priority], &job->link);
}

void queue_remove(struct queue *queue, struct job *job, uint64_t now_us)
{
    job_move(job, JOB_ENDED, now_us);
    job->account->n_live--;
    list_remove(&job->link);
    queue->n_live--;
}

void queue_retain(struct queue *queue, struct job *job)
{
    job->state = JOB_ASSIGNED;
    job->retained = true;
    list_init(&job->link);
    list_append(&queue->retained, &job->link);
    job->eq->n_pages_promised += job->n_pages;
}

void queue_release(struct job *job)
{
    list_remove(&job->link);
    job->eq->n_pages_promised -= job->n_pages;
    *job = (struct job){ .state = JOB_ENDED };
}

uint32_t queue_count_retained(const struct queue *queue, const struct engine_queue *eq, uint64_t *n_pages)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &queue->retained) {
        const struct job *job = container_of(link, struct job, link);

        if (job->eq == eq) {
            *n_pages += job->n_pages;
            n++;
        }
    }
    return n;
}

/* Advances the virtual time of @priority: to the least start of the accounts with slots that were left waiting,
 * including rows in progress. So no account falls behind for what it had while it was alone. */
static void advance_time(struct queue *queue, enum priority priority)
{
    uint64_t least = UINT64_MAX;
    struct list *link;

    list_for_each (link, &queue->jobs[priority]) {
        const struct job *job = container_of(link, struct job, link);

        if (job->account->short_round[priority] == queue->round && job->account->n_held[priority] > 0) {
            least = num_min(least, job_start(job));
        }
    }
    if (least != UINT64_MAX) {
        queue->virtual_time[priority] = num_max(queue->virtual_time[priority], least);
    }
}

/* Lifts the account of @job to the virtual time. There is no credit for the past: an account that was not left
 * waiting had all it wanted. One that was keeps what it is owed, also without a slot, since a share that is cut into
 * whole requests evens out only over many of them. */
static void lift(const struct queue *queue, const struct job *job)
{
    struct account *account = job->account;
    bool was_short = account->short_round[job->priority] == queue->round;
    uint64_t now = queue->virtual_time[job->priority];
    uint64_t start = job_start(job);

    if (was_short || start >= now) {
        return;
    }
    account->served[job->priority] += now - start;
}

void queue_lift(struct queue *queue)
{
    struct list *link;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        advance_time(queue, (enum priority)i);
        list_for_each (link, &queue->jobs[i]) {
            lift(queue, container_of(link, struct job, link));
        }
    }
}

void queue_leave_out(struct queue *queue, const struct job *job)
{
    job->account->short_round[job->priority] = queue->round;
}

void queue_want(struct queue *queue, struct job *job, uint64_t now_us)
{
    advance_time(queue, job->priority);
    lift(queue, job);
    job_move(job, JOB_WAITING, now_us);
}

enum priority queue_rank(const struct job *job, uint64_t now_us)
{
    const struct engine_queue *eq = job->eq;
    uint64_t spells = 0;

    if (job->yields) {
        return job->priority; /* however long it waits */
    }
    if (job->state == JOB_ASSIGNED && job->assigned_by_age && job->n_paid == job->n_paid_at_slot) {
        return PRIORITY_REALTIME; /* its class had already waited long enough for that slot */
    }
    if (eq && job->state == JOB_ASSIGNED) {
        uint64_t since_us = num_max(job->since_us, eq->served_us[job->priority]);

        spells = (now_us - num_min(now_us, since_us)) / QUEUE_AGE_ASSIGNED_US;
    } else if (eq && eq->n_held[job->priority] == 0) {
        uint64_t since_us = num_max(eq->asked_us[job->priority], eq->served_us[job->priority]);

        spells = (now_us - num_min(now_us, since_us)) / QUEUE_AGE_WAITING_US;
    }
    return (enum priority)num_min(PRIORITY_REALTIME, job->priority + spells);
}

/* Returns where @job stands in the fair order of its class. While it waits for a slot its account is charged for the
 * slots that it has. */
static uint64_t fair_start(const struct job *job)
{
    uint64_t start = job_start(job);

    if (job->state == JOB_ASSIGNED) {
        return start;
    }
    return start + (uint64_t)job->account->n_held[job->priority] * QUEUE_SLOT_TOK * account_unit(&job->limits);
}

bool queue_waits_long(const struct job *job, uint64_t now_us)
{
    return job->state == JOB_WAITING && now_us >= job->since_us + QUEUE_QUANTUM_US;
}

/* Compares two jobs by queue_waits_long(), the longest wait first; 0: neither does, or both for as long. */
static int compare_waits(const struct job *a, const struct job *b, uint64_t now_us)
{
    bool waits_a = queue_waits_long(a, now_us);
    bool waits_b = queue_waits_long(b, now_us);

    if (!waits_a || !waits_b) {
        return waits_b - waits_a;
    }
    return (a->since_us > b->since_us) - (a->since_us < b->since_us);
}

/* Returns below 0 if @a comes first, above 0 if @b does, and 0 if only arrival decides. */
static int compare(const struct job *a, const struct job *b, uint64_t now_us)
{
    int ranks = (int)queue_rank(b, now_us) - (int)queue_rank(a, now_us);
    uint64_t start_a = fair_start(a);
    uint64_t start_b = fair_start(b);

    if (a->yields != b->yields) {
        return a->yields ? 1 : -1;
    }
    if (ranks != 0) {
        return ranks;
    }
    /* The job aged into this rank and goes first, or the rank's own jobs would always be before it. It gets one
     * service, then its age starts again. */
    if (a->priority != b->priority) {
        return (int)a->priority - (int)b->priority;
    }
    if (a->urgent != b->urgent) {
        return a->urgent ? -1 : 1;
    }
    if (a->urgent && a->due_boot_us != b->due_boot_us) {
        return a->due_boot_us < b->due_boot_us ? -1 : 1;
    }
    /* Service by age is too little to be shared by weight in good time: it goes round. */
    if (queue_rank(a, now_us) > a->priority && compare_waits(a, b, now_us) != 0) {
        return compare_waits(a, b, now_us);
    }
    return a->account == b->account ? 0 : (start_a > start_b) - (start_a < start_b);
}

bool queue_before(const struct job *a, const struct job *b, uint64_t now_us)
{
    int order = compare(a, b, now_us);

    order = order != 0 ? order : compare_waits(a, b, now_us);
    return order != 0 ? order < 0 : a->order < b->order;
}

bool queue_ties(const struct job *a, const struct job *b, uint64_t now_us)
{
    return compare(a, b, now_us) == 0;
}

uint32_t queue_position(const struct queue *queue, const struct job *job, uint64_t now_us)
{
    uint32_t n = 0;

    for (const struct job *other = queue_first(queue); other; other = queue_next(queue, other)) {
        bool goes_first =
            other->state == JOB_OPENING || (other->state == JOB_WAITING && queue_before(other, job, now_us));

        n += other != job && other->eq == job->eq && !other->parked && goes_first;
    }
    return n;
}

bool queue_is_opening(const struct queue *queue, const struct engine_queue *eq)
{
    for (const struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        if (job->eq == eq && job->state == JOB_OPENING) {
            return true;
        }
    }
    return false;
}

void queue_preempt(struct queue *queue, struct job *job, uint64_t now_us)
{
    job->n_preempted += !job->parked && job->has_run;
    job_forget(job);
    queue_want(queue, job, now_us);
}

uint64_t queue_deadline_us(const struct job *job)
{
    uint64_t first_us = job->has_first ? 0 : job->first_by_us;

    if (first_us == 0 || job->finish_by_us == 0) {
        return first_us + job->finish_by_us;
    }
    return num_min(first_us, job->finish_by_us);
}

struct job *queue_next_expired(const struct queue *queue, uint64_t boot_us)
{
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        uint64_t due_us = queue_deadline_us(job);

        if (due_us > 0 && due_us <= boot_us) {
            job->late = true;
            return job;
        }
    }
    return NULL;
}

uint64_t queue_next_deadline_us(const struct queue *queue)
{
    uint64_t next_us = 0;

    for (const struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        uint64_t due_us = queue_deadline_us(job);

        if (due_us > 0 && (next_us == 0 || due_us < next_us)) {
            next_us = due_us;
        }
    }
    return next_us;
}

void queue_charge(struct queue *queue, struct job *job, uint32_t n_rows, uint32_t n_tok, uint64_t now_us,
                  uint64_t boot_us)
{
    struct account *account = job->account;
    uint32_t n_due = job->n_done + n_tok;
    uint32_t n_new = n_due > job->n_paid ? n_due - job->n_paid : 0;

    assert(n_rows <= job->n_done);
    (void)queue;
    if (n_new > 0) {
        account->served[job->priority] += n_new * account_unit(&job->limits);
        account_spend(account, job->limits.tokens_a_minute, n_new, boot_us);
        job->n_paid = n_due;
    }
    job->has_first = job->has_first || n_tok > 0;
    if (n_new > 0 && n_tok > 0 && job->went_on_us == 0) {
        job->went_on_us = now_us;
    }
    if (n_new > 0) { /* what is computed again is no service: the job stays as old as it is */
        job->since_us = now_us;
    }
    if (n_new > 0 && !job->yields) {
        job->eq->served_us[job->priority] = now_us;
    }
}

/* Returns the time of a request on the chip, its answer computed beside others of @n_live in all. */
static double work_us(const struct job *job, uint32_t n_live, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    const double *ns = eq->cost.ns;
    double n_beside = (double)num_max(1, num_min(n_live, eq->n_slots));
    uint64_t n_tok = num_min(job_tokens_left(job), QUEUE_SLOT_TOK); /* most answers end before their bound */

    return (job_rows_left(job) * ns[COST_PREFILL_ROW] +
            (double)n_tok * (ns[COST_FIXED] / n_beside + ns[COST_DECODE_ROW])) /
           (double)num_max(1, limits[eq->processor].duty_permille);
}

/* Sums the work of each account in account::sum_ns: that of @account whole, of others the part in class @priority. */
static void sum_work(const struct queue *queue, const struct account *account, enum priority priority,
                     const struct governor_limits *limits)
{
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        job->account->sum_ns = 0.0;
    }
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        bool counts = (job->account == account || job->priority == priority) && job->eq && !job->parked;

        job->account->sum_ns += counts ? work_us(job, queue->n_live, limits) * 1000.0 : 0.0;
    }
}

uint64_t queue_retry_us(const struct queue *queue, const struct account *account, const struct account_limits *own,
                        enum priority priority, const struct governor_limits *limits)
{
    double own_ns = INFINITY;
    double ns = 0.0;

    sum_work(queue, account, priority, limits);
    if (account->n_live > 0) {
        own_ns = account->sum_ns * (double)account_unit(own);
    }
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        double most_ns = own_ns / (double)account_unit(&job->limits); /* by its weight, while ours is done */

        if (job->account != account && job->priority > priority && job->eq && !job->parked) {
            ns += work_us(job, queue->n_live, limits) * 1000.0;
        }
        ns += job->account->sum_ns < most_ns ? job->account->sum_ns : most_ns;
        job->account->sum_ns = 0.0; /* counted */
    }
    return ns < QUEUE_RETRY_MOST_US * 1000.0 ? num_max((uint64_t)(ns / 1000.0), QUEUE_RETRY_LEAST_US)
                                             : QUEUE_RETRY_MOST_US;
}
