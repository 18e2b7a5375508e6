/*
 * Queue slot: which job gets a sequence slot, and which gives one up (queue_next_slot(), queue_find_victim())
 *
 * The two answers must agree, or a slot that was freed for one job would go to another and be taken again. So a slot is
 * only taken for the job that would get it next, and the job that loses it waits behind that one: it is of a lower
 * class, or of an account that has had more, or its class has just been served by age.
 */
#include "base/num.h"
#include "sched/queue.h"

/* Engines that one walk looks at; any further ones are served when these have room. */
#define SLOT_ENGINES 16u

/* Least cost of opening a sequence again, in rows. It makes the choice between two jobs that have computed next to
 * nothing an even one. */
#define SLOT_LOSS_ROWS 64u

/* ---- room */

/* The pages of a job's engine. */
struct pages {
    uint64_t allowed;  /* to sequences, by the governor */
    uint64_t promised; /* to open, closing and opening sequences; a shared page counts for each of them */
    uint64_t used;     /* the same, with shared pages counted once */
    uint64_t reserved; /* for realtime: a job of a lower class must leave these free */
};

static struct pages pages_for(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    uint64_t open = (uint64_t)eq->n_pages_promised + eq->n_pages_leaving;
    uint64_t largest = num_max(eq->spare.n_pages, eq->spare.n_pages_before);
    struct pages pages = {
        .allowed = (uint64_t)eq->n_pages * limits[eq->processor].kv_permille / 1000,
        .promised = open + eq->n_pages_asked,
        .used = open - num_min(open, eq->n_pages_shared) + eq->n_pages_asked,
    };

    if (job->priority < PRIORITY_REALTIME) {
        /* Never more than @job would leave: a job that fits alone is always let in. */
        uint64_t left = pages.allowed - num_min(pages.allowed, job_pages(job));

        pages.reserved = num_min(num_min(largest, eq->n_pages / ENGINE_QUEUE_SPARE_PART), left);
    }
    return pages;
}

/* Returns how many pages @job lacks at most, as it may share some. 0 if neither its need nor a reserve is known, and if
 * it is alone at its engine, which then says whether it can fit at all. */
static uint32_t pages_short(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    const struct pages pages = pages_for(job, limits);
    uint64_t needs = pages.used + job_pages(job) + pages.reserved;

    if (eq->n_pages == 0 || (job->n_pages == 0 && pages.reserved == 0) || eq->n_taken == 0) {
        return 0;
    }
    return needs > pages.allowed ? (uint32_t)num_min(needs - pages.allowed, UINT32_MAX) : 0;
}

/* True if the governor has taken back pages that sequences hold. With all its pages an engine opens no more than it can
 * hold, and what is promised beyond that is shared. */
static bool is_over_promised(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    const struct pages pages = pages_for(job, limits);

    return limits[eq->processor].kv_permille < 1000 && eq->n_pages > 0 && eq->n_taken > 1 && eq->n_leaving == 0 &&
           pages.used - eq->n_pages_asked > pages.allowed;
}

/* True if @job wants a slot and may use one now. */
static bool seeks(const struct job *job, const struct governor_limits *limits, uint64_t boot_us)
{
    return job->state == JOB_WAITING && !job->parked && !job->passed_over && job->eq && job->eq->open &&
           job->priority >= limits[job->eq->processor].class_gate &&
           account_wait_us(job->account, job->limits.tokens_a_minute, boot_us) == 0;
}

/* True if the last slot of a class at @eq stays with the class: one of its jobs had it a moment ago, and another one
 * has waited long. */
static bool keeps_slot(const struct queue *queue, const struct engine_queue *eq, size_t priority, uint64_t now_us)
{
    struct list *link;

    if (eq->n_slots < QUEUE_MANY_SLOTS || eq->n_held[priority] > 0 || eq->n_waiting[priority] == 0 ||
        eq->served_us[priority] == 0 || now_us >= eq->served_us[priority] + QUEUE_AGE_WAITING_US) {
        return false;
    }
    list_for_each (link, &queue->jobs[priority]) {
        const struct job *job = container_of(link, struct job, link);

        if (job->eq == eq && queue_waits_long(job, now_us)) {
            return true;
        }
    }
    return false;
}

/* Returns how many slots of the engine of @job stay with other classes. A first token of realtime waits for none. */
static uint32_t count_kept(const struct queue *queue, const struct job *job, uint64_t now_us)
{
    bool is_first = job->priority == PRIORITY_REALTIME && !job->has_first;
    uint32_t n = 0;

    for (size_t i = 0; i < PRIORITY_COUNT && !is_first; i++) {
        n += i != job->priority && keeps_slot(queue, job->eq, i, now_us);
    }
    return n;
}

/* True if @job finds a slot and pages. The engine knows its pages best and is asked, except for pages that the governor
 * took back, of which it learns later, and for those reserved for realtime, of which it knows nothing. */
static bool finds_room(const struct queue *queue, const struct job *job, const struct governor_limits *limits,
                       uint64_t now_us)
{
    const struct engine_queue *eq = job->eq;
    const struct pages pages = pages_for(job, limits);
    /* A closing sequence has its slot until it is gone. Only a realtime job comes in meanwhile (ENGINE_QUEUE_SPARE),
     * and none that is known to need pages. */
    uint32_t n_spare = job->priority == PRIORITY_REALTIME ? ENGINE_QUEUE_SPARE : 0;
    bool has_slot = eq->n_taken + count_kept(queue, job, now_us) < eq->n_slots &&
                    (eq->n_leaving == 0 || (job->n_pages == 0 && eq->n_taken + eq->n_leaving < eq->n_slots + n_spare));
    /* It fits even without shared pages: then the engine will not refuse it, and no request waits for its pages. */
    bool fits_unshared = eq->n_pages == 0 || pages.promised + job_pages(job) + pages.reserved <= pages.allowed;
    bool engine_decides = limits[eq->processor].kv_permille >= 1000 && pages.reserved == 0;

    if (job->owns_slot) {
        return true;
    }
    if (!has_slot || (job->yields && !fits_unshared) || eq->no_room) {
        return false;
    }
    return engine_decides || pages_short(job, limits) == 0;
}

/* ---- which job gives a slot up */

/* Why a slot may be taken, the best reason first. */
enum reason {
    REASON_YIELDS,
    REASON_RETAINED,
    REASON_PARKED,
    REASON_RESTS,
    REASON_PRIORITY,
    REASON_SHARE,
    REASON_QUANTUM,
    REASON_AGE,
    REASON_NONE,
};

/* A job without room, and the moment of the choice. */
struct want {
    const struct queue *queue;
    const struct job *job;
    bool is_short;     /* of pages */
    bool only_quantum; /* wants only the slot of a job that has had its quantum */
    uint64_t now_us;
    uint64_t boot_us;
};

/* True if @job holds no more pages than the last sequence of a class may hold when pages are short. */
static bool is_small(const struct job *job)
{
    return (uint64_t)job->n_pages * QUEUE_LAST_PART <= job->eq->n_pages;
}

/* True if @job has the last slot of its class, which it keeps where there are many, unless pages are short and it holds
 * more than its part of them. */
static bool is_last_of_class(const struct job *job, bool is_short)
{
    const struct engine_queue *eq = job->eq;

    return eq->n_slots >= QUEUE_MANY_SLOTS && eq->n_held[job->priority] == 1 && (!is_short || is_small(job));
}

bool queue_gives_slot(const struct job *job, const struct job *from)
{
    return from->parked || from->yields ||
           (from->priority < job->priority && !is_last_of_class(from, false) && !from->assigned_by_age);
}

/* True if @job may not be preempted while it runs. */
static bool has_tenure(const struct job *job, bool is_short, uint64_t now_us)
{
    uint64_t until_us = job->assigned_us + (uint64_t)QUEUE_TENURE_US * (1 + (uint64_t)job->n_preempted);
    bool got_further = job->n_paid > job->n_paid_at_slot;

    return is_last_of_class(job, is_short) || (job->assigned_by_age && !got_further && now_us < until_us);
}

/* Returns how many slots the account of @job has at its engine in its class. */
static uint32_t count_slots(const struct queue *queue, const struct job *job)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &queue->jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);

        n += other->account == job->account && other->eq == job->eq &&
             (other->state == JOB_ASSIGNED || other->state == JOB_OPENING);
    }
    return n;
}

bool queue_shares_slot(const struct queue *queue, const struct job *job, const struct job *from)
{
    uint64_t n_for;
    uint64_t n_from;

    if (job->priority != from->priority || job->account == from->account || from->urgent) {
        return false;
    }
    n_for = count_slots(queue, job);
    n_from = count_slots(queue, from);
    return n_from >= 2 &&
           (n_for == 0 || (n_for + 1) * account_unit(&job->limits) <= (n_from - 1) * account_unit(&from->limits));
}

/* True if the job of @want takes the slot of @from as its share. */
static bool may_share(const struct want *want, const struct job *from)
{
    const struct job *job = want->job;

    return want->now_us >= job->since_us + QUEUE_PATIENCE_US && job_start(job) <= job_start(from) &&
           queue_shares_slot(want->queue, job, from);
}

/* Returns the cost of preempting @job, in rows. It grows with each time, or it would always be the same job. */
static uint64_t loss_of(const struct job *job)
{
    return ((uint64_t)job->n_done + job->n_sent + SLOT_LOSS_ROWS) * (1 + (uint64_t)job->n_preempted);
}

uint64_t queue_quantum_us(const struct job *job)
{
    return num_max(QUEUE_QUANTUM_US,
                   QUEUE_QUANTUM_AGAIN * (job->went_on_us - num_min(job->went_on_us, job->assigned_us)));
}

/* True if @from has had its quantum and the job of @want waits long, of the same account or of one that has had no
 * more. So an answer without an end keeps no other one from ever beginning. */
static bool has_had_quantum(const struct want *want, const struct job *from)
{
    const struct job *job = want->job;

    return job->priority == from->priority && queue_deadline_us(from) == 0 && from->went_on_us > 0 &&
           queue_waits_long(job, want->now_us) && want->now_us >= from->went_on_us + queue_quantum_us(from) &&
           (job->account == from->account || job_start(job) <= job_start(from));
}

/* True if the account of @job is out of budget for longer than computing the job again takes, and no step or deadline
 * needs its slot. Otherwise a job that spends its budget token by token would be preempted for each. */
static bool rests(const struct job *job, uint64_t boot_us)
{
    double again_ns = (double)loss_of(job) * job->eq->cost.ns[COST_PREFILL_ROW];

    return job->n_steps == 0 && queue_deadline_us(job) == 0 &&
           1000.0 * (double)account_wait_us(job->account, job->limits.tokens_a_minute, boot_us) > again_ns;
}

/* Returns why the job of @want may take the slot of @from. */
static enum reason reason_of(const struct want *want, const struct job *from)
{
    const struct job *job = want->job;

    if (from->state != JOB_ASSIGNED || from->eq != job->eq) {
        return REASON_NONE;
    }
    if (from->yields) {
        return REASON_YIELDS;
    }
    if (from->parked) {
        return from->n_sent == 0 ? REASON_PARKED : REASON_NONE;
    }
    if (rests(from, want->boot_us)) {
        return REASON_RESTS;
    }
    if (want->only_quantum) {
        return has_had_quantum(want, from) ? REASON_QUANTUM : REASON_NONE;
    }
    if (has_tenure(from, want->is_short, want->now_us)) {
        return REASON_NONE;
    }
    if (job->priority > from->priority) {
        return REASON_PRIORITY;
    }
    if (may_share(want, from)) {
        return REASON_SHARE;
    }
    if (job->priority < from->priority && queue_rank(job, want->now_us) >= from->priority && from->has_first) {
        return REASON_AGE;
    }
    return REASON_NONE;
}

/* True if @a gives its slot up before @b, both for @reason. */
static bool gives_first(const struct job *a, const struct job *b, enum reason reason)
{
    if (reason == REASON_QUANTUM && a->assigned_us != b->assigned_us) {
        return a->assigned_us < b->assigned_us; /* its turn has lasted longest */
    }
    if (a->yields != b->yields) {
        return a->yields;
    }
    if (a->parked != b->parked) {
        return a->parked;
    }
    if (a->parked) {
        return a->since_us < b->since_us; /* parked for longer */
    }
    if (a->priority != b->priority) {
        return a->priority < b->priority;
    }
    if (a->urgent != b->urgent) {
        return b->urgent;
    }
    if (loss_of(a) != loss_of(b)) {
        return loss_of(a) < loss_of(b);
    }
    return a->order > b->order;
}

/* Returns the idle session at @eq that was retained longest, or NULL, and adds the pages of all of them to *n_pages. */
static struct job *find_retained(const struct queue *queue, const struct engine_queue *eq, uint64_t *n_pages)
{
    struct job *first = NULL;
    struct list *link;

    list_for_each (link, &queue->retained) {
        struct job *job = container_of(link, struct job, link);

        if (job->eq == eq) {
            first = first ? first : job;
            *n_pages += job->n_pages;
        }
    }
    return first;
}

/* The best victim so far, and the pages that all victims together would free. */
struct choice {
    struct job *victim;
    enum reason reason;
    uint64_t n_pages;
};

/* Looks at the jobs of one class. If all of them could go, one will stay as the last of its class, and the largest that
 * may is taken to be that one. */
static void choose_in_class(const struct want *want, size_t priority, struct choice *choice)
{
    const struct engine_queue *eq = want->job->eq;
    uint64_t n_pages = 0;
    uint64_t n_largest = 0;
    uint32_t n = 0;
    struct list *link;

    list_for_each (link, &want->queue->jobs[priority]) {
        struct job *job = container_of(link, struct job, link);
        enum reason reason = reason_of(want, job);

        if (reason == REASON_NONE) {
            continue;
        }
        n_pages += job->n_pages;
        n_largest = is_small(job) ? num_max(n_largest, job->n_pages) : n_largest;
        n++;
        if (!choice->victim || reason < choice->reason ||
            (reason == choice->reason && gives_first(job, choice->victim, reason))) {
            choice->reason = reason;
            choice->victim = job;
        }
    }
    if (eq->n_slots >= QUEUE_MANY_SLOTS && n > 1 && n == eq->n_held[priority]) {
        n_pages -= n_largest;
    }
    choice->n_pages += n_pages;
}

/* Returns the job that gives @job its slot, or NULL, also if all pages that could be freed are too few. */
static struct job *victim_for(const struct queue *queue, const struct job *job, bool only_quantum,
                              const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us)
{
    uint32_t n_short = pages_short(job, limits);
    const struct want want = {
        .queue = queue,
        .job = job,
        .is_short = n_short > 0 || job->eq->no_room,
        .only_quantum = only_quantum,
        .now_us = now_us,
        .boot_us = boot_us,
    };
    struct choice choice = { .reason = REASON_RETAINED };

    if (job->yields) {
        return NULL;
    }
    choice.victim = find_retained(queue, job->eq, &choice.n_pages);
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        choose_in_class(&want, i, &choice);
    }
    return choice.n_pages >= n_short ? choice.victim : NULL;
}

/* Of the jobs without room at one engine, the one that would get the next slot. */
struct claim {
    const struct engine_queue *eq;
    struct job *first;
};

static struct claim *claim_of(struct claim *claims, uint32_t *n, const struct engine_queue *eq)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (claims[i].eq == eq) {
            return &claims[i];
        }
    }
    if (*n == SLOT_ENGINES) {
        return NULL;
    }
    claims[*n] = (struct claim){ .eq = eq };
    return &claims[(*n)++];
}

static uint32_t find_claims(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                            uint64_t boot_us, struct claim *ret_claims)
{
    struct list *link;
    uint32_t n = 0;

    for (size_t i = PRIORITY_COUNT; i-- > 0;) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            struct claim *claim;

            if (!seeks(job, limits, boot_us) || finds_room(queue, job, limits, now_us)) {
                continue;
            }
            claim = claim_of(ret_claims, &n, job->eq);
            if (!claim) {
                continue;
            }
            if (!claim->first || queue_before(job, claim->first, now_us)) {
                claim->first = job;
            }
        }
    }
    return n;
}

/* Returns the job to be closed because the governor took pages back: an idle session first, then the lowest class. */
static struct job *over_promised(const struct queue *queue, const struct governor_limits *limits)
{
    struct job *victim = NULL;
    struct list *link;

    list_for_each (link, &queue->retained) {
        struct job *job = container_of(link, struct job, link);

        if (is_over_promised(job, limits)) {
            return job;
        }
    }
    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        if (job->state == JOB_ASSIGNED && is_over_promised(job, limits) &&
            (!victim || gives_first(job, victim, REASON_NONE))) {
            victim = job;
        }
    }
    return victim;
}

/* True if a job of class @priority at @eq still computes what it had before it got its slot. */
static bool is_any_catching_up(const struct queue *queue, const struct engine_queue *eq, size_t priority)
{
    struct list *link;

    list_for_each (link, &queue->jobs[priority]) {
        const struct job *job = container_of(link, struct job, link);

        if (job->eq == eq && job->state == JOB_ASSIGNED && !job->parked && job->n_paid == job->n_paid_at_slot) {
            return true;
        }
    }
    return false;
}

/* Returns a job of class @priority at @eq that has had its quantum and gives its slot up for one that waits, or NULL:
 * one after the other, so the class goes on meanwhile. Which of those that wait gets it is a matter of the order, so
 * one of each account is looked at. */
static struct job *quantum_over(const struct queue *queue, const struct engine_queue *eq, size_t priority,
                                const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us)
{
    struct job *victim = NULL;
    struct list *link;

    list_for_each (link, &queue->jobs[priority]) {
        container_of(link, struct job, link)->account->was_seen = false;
    }
    if (is_any_catching_up(queue, eq, priority)) {
        return NULL;
    }
    list_for_each (link, &queue->jobs[priority]) {
        const struct job *job = container_of(link, struct job, link);

        if (!victim && job->eq == eq && !job->account->was_seen && queue_waits_long(job, now_us) &&
            seeks(job, limits, boot_us)) {
            job->account->was_seen = true;
            victim = victim_for(queue, job, true, limits, now_us, boot_us);
        }
    }
    return victim;
}

/* Returns the job that gives its slot up for the first of @claim, or NULL. If there is none, slots go round within each
 * class, whichever class comes before it. */
static struct job *victim_of(const struct queue *queue, const struct claim *claim, const struct governor_limits *limits,
                             uint64_t now_us, uint64_t boot_us)
{
    struct job *victim = victim_for(queue, claim->first, false, limits, now_us, boot_us);

    for (size_t i = PRIORITY_COUNT; i-- > 0 && !victim;) {
        victim = quantum_over(queue, claim->eq, i, limits, now_us, boot_us);
    }
    return victim;
}

struct job *queue_find_victim(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                              uint64_t boot_us)
{
    struct job *victim = over_promised(queue, limits);
    struct claim claims[SLOT_ENGINES];
    uint32_t n = victim ? 0 : find_claims(queue, limits, now_us, boot_us, claims);

    for (uint32_t i = 0; i < n && !victim; i++) {
        if (claims[i].eq->n_leaving > 0) {
            continue;
        }
        victim = victim_of(queue, &claims[i], limits, now_us, boot_us);
    }
    return victim;
}

/* ---- which job gets one */

/* True if a job that was refused for want of pages asks again at @eq: no other job takes them meanwhile. */
static bool is_asking_again(const struct queue *queue, const struct engine_queue *eq)
{
    for (const struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        if (job->eq == eq && job->state == JOB_OPENING && job->n_pages > 0) {
            return true;
        }
    }
    return false;
}

/* True if a job before @job finds no room at its engine, and never would if others took what there is: it is of the
 * same class, or pages of others are to come. */
static bool is_held_back(const struct queue *queue, const struct job *job, const struct claim *claims, uint32_t n,
                         const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us)
{
    if (job->owns_slot || keeps_slot(queue, job->eq, job->priority, now_us)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct job *first = claims[i].first;

        if (claims[i].eq == job->eq && queue_before(first, job, now_us) &&
            (first->priority == job->priority || victim_for(queue, first, false, limits, now_us, boot_us))) {
            return true;
        }
    }
    return is_asking_again(queue, job->eq);
}

struct job *queue_next_slot(const struct queue *queue, const struct governor_limits *limits, uint64_t now_us,
                            uint64_t boot_us)
{
    struct claim claims[SLOT_ENGINES];
    uint32_t n = find_claims(queue, limits, now_us, boot_us, claims);
    struct job *best = NULL;

    for (struct job *job = queue_first(queue); job; job = queue_next(queue, job)) {
        if (seeks(job, limits, boot_us) && finds_room(queue, job, limits, now_us) &&
            (!best || queue_before(job, best, now_us)) &&
            !is_held_back(queue, job, claims, n, limits, now_us, boot_us)) {
            best = job;
        }
    }
    return best;
}
