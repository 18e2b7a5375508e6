/*
 * Who gets a seat, and who gives one up: those parts of queue.h
 *
 * Two questions that must not contradict each other, or a seat that was taken for one would go to another, and be
 * taken again. So a seat is only ever taken for who would be seated next, and whoever it is taken from waits behind
 * that one: it is of a lower class, or of an account that has had more, or has just begun to age.
 */
#include "base/num.h"
#include "sched/queue.h"

/* Lanes that are looked at in one go; with more the rest has its turn when these have room. */
#define SLOT_ENGINES 16u

/* What opening a sequence anew costs at least, in rows: an even choice between two who have computed next
 * to nothing. */
#define SLOT_LOSS_ROWS 64u

/* Pages that open sequences may hold, as the governor has it. */
static uint32_t pages_of(const struct engine_queue *eq, const struct governor_limits *limits)
{
    return (uint32_t)((uint64_t)eq->n_pages * limits[eq->processor].kv_permille / 1000);
}

/* That they hold, with those that leave: a page that two share counts once. */
static uint64_t pages_held(const struct engine_queue *eq)
{
    uint64_t n = (uint64_t)eq->n_pages_promised + eq->n_pages_leaving;

    return n - num_min(n, eq->n_pages_shared);
}

/* With those that are asked for now. */
static uint64_t pages_spoken_for(const struct engine_queue *eq)
{
    return pages_held(eq) + eq->n_pages_asked;
}

/* That are kept free of it for realtime; of what it would leave, so that whoever fits alone does so. */
static uint64_t pages_kept(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    uint64_t has = pages_of(eq, limits);
    uint64_t most = num_max(eq->spare.n_pages, eq->spare.n_pages_before);

    most = num_min(most, eq->n_pages / ENGINE_QUEUE_SPARE_PART);
    return job->priority < PRIORITY_REALTIME ? num_min(most, has - num_min(has, job_pages(job))) : 0;
}

/* Only where the governor took pages back: an engine that has all its pages opens no more than it can hold, and what
 * is promised above that is shared. */
static bool is_over_promised(const struct engine_queue *eq, const struct governor_limits *limits)
{
    return limits[eq->processor].kv_permille < 1000 && eq->n_pages > 0 && eq->n_taken > 1 && eq->n_leaving == 0 &&
           pages_held(eq) > pages_of(eq, limits);
}

/* Pages that @job lacks, at most: some of them it may share. 0 if nothing is known of it or kept from it; alone on its
 * lane it lacks none: the engine says if it can ever fit. */
static uint32_t pages_short(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    uint64_t retained = eq->n_pages > 0 ? pages_kept(job, limits) : 0;
    uint64_t needs = pages_spoken_for(eq) + job_pages(job) + retained;
    uint32_t has = pages_of(eq, limits);

    if (eq->n_pages == 0 || (job->n_pages == 0 && retained == 0) || eq->n_taken == 0) {
        return 0;
    }
    return needs > has ? (uint32_t)num_min(needs - has, UINT32_MAX) : 0;
}

/* Wants a seat, and could use it. */
static bool seeks(const struct job *job, const struct governor_limits *limits, uint64_t boot_us)
{
    return job->state == JOB_WAITING && !job->parked && !job->passed_over && job->eq && job->eq->open &&
           job->priority >= limits[job->eq->processor].class_gate &&
           account_wait_us(job->account, job->limits.tokens_a_minute, boot_us) == 0;
}

/* A lane has refused somebody for want of pages. Who was not refused may still ask, if by its length it would fit. */
static bool fits_beside(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    uint64_t needs = num_div_up(job->n_most, eq->page_tokens);

    return job->n_pages == 0 && job->n_most > 0 && eq->n_pages > 0 &&
           pages_spoken_for(eq) + needs <= pages_of(eq, limits);
}

/* A sequence that leaves has its seat until it is gone; only realtime comes in meanwhile (ENGINE_QUEUE_SPARE). Who is known to
 * need pages waits for those, too. */
static bool finds_seat(const struct job *job)
{
    const struct engine_queue *eq = job->eq;
    uint32_t n_spare = job->priority == PRIORITY_REALTIME ? ENGINE_QUEUE_SPARE : 0;

    if (eq->n_leaving == 0) {
        return eq->n_taken < eq->n_slots;
    }
    return job->n_pages == 0 && eq->n_taken < eq->n_slots && eq->n_taken + eq->n_leaving < eq->n_slots + n_spare;
}

/* Even if nothing that was promised is shared: the engine will not refuse it, and no request waits for pages by it. */
static bool fits_in_any_case(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;
    uint64_t n = (uint64_t)eq->n_pages_promised + eq->n_pages_leaving + eq->n_pages_asked;

    return eq->n_pages == 0 || n + job_pages(job) + pages_kept(job, limits) <= pages_of(eq, limits);
}

/* Whether there are pages the engine knows best, and is asked; but of pages that the governor took back it may know
 * later than we do, and of those that are kept for realtime it knows nothing. */
static bool finds_room(const struct job *job, const struct governor_limits *limits)
{
    const struct engine_queue *eq = job->eq;

    if (job->owns_slot) {
        return true;
    }
    if (job->yields && !fits_in_any_case(job, limits)) {
        return false;
    }
    if (!finds_seat(job) || (eq->no_room && !fits_beside(job, limits))) {
        return false;
    }
    return (limits[eq->processor].kv_permille >= 1000 && pages_kept(job, limits) == 0) || pages_short(job, limits) == 0;
}

/* ---- who gives one up */

/* Why a seat may be taken, the best reason first. */
enum reason {
    REASON_YIELDS,
    REASON_KEPT,
    REASON_PARKED,
    REASON_RESTS,
    REASON_CLASS,
    REASON_URGENT,
    REASON_SHARE,
    REASON_AGE,
    REASON_NONE,
};

/* It holds no more than what the last of its class may when pages are short. */
static bool is_small(const struct job *job)
{
    return (uint64_t)job->n_pages * QUEUE_LAST_PART <= job->eq->n_pages;
}

/* Of many seats a class keeps its last one, unless pages are short and it holds more than its part of those. */
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

/* True if @job may not be put aside while it runs. */
static bool has_tenure(const struct job *job, bool is_short, uint64_t now_us)
{
    uint64_t until_us = job->assigned_us + (uint64_t)QUEUE_TENURE_US * (1 + (uint64_t)job->n_preempted);
    bool got_further = job->n_paid > job->n_paid_at_slot;

    return is_last_of_class(job, is_short) || (job->assigned_by_age && !got_further && now_us < until_us);
}

/* Seats of @account at @eq in @priority. */
static uint32_t seats_of(const struct queue *queue, const struct account *account, const struct engine_queue *eq,
                         enum priority priority)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, &queue->jobs[priority]) {
        const struct job *job = container_of(link, struct job, link);

        n += job->account == account && job->eq == eq && (job->state == JOB_ASSIGNED || job->state == JOB_OPENING);
    }
    return n;
}

/* One user's requests shut another's out: it has none, or by weight fewer even with that one more than the
 * other without it. So nobody takes one back. */
static bool may_share(const struct queue *queue, const struct job *for_job, const struct job *from, uint64_t now_us)
{
    uint64_t n_for;
    uint64_t n_from;

    if (for_job->priority != from->priority || for_job->account == from->account || from->urgent ||
        now_us < for_job->since_us + QUEUE_PATIENCE_US || job_start(for_job) > job_start(from)) {
        return false;
    }
    n_for = seats_of(queue, for_job->account, for_job->eq, for_job->priority);
    n_from = seats_of(queue, from->account, from->eq, from->priority);
    return n_from >= 2 &&
           (n_for == 0 || (n_for + 1) * account_unit(&for_job->limits) <= (n_from - 1) * account_unit(&from->limits));
}

/* A deadline that was promised would be missed, and to who has the seat nothing is promised, or nothing any more. It
 * takes nothing back: what it waits for then is no deadline. */
static bool may_hurry(const struct job *for_job, const struct job *from)
{
    return for_job->urgent && for_job->priority == from->priority && queue_deadline_us(from) == 0;
}

/* What putting @job aside costs: its rows, and more each time, or it would always be the same one. */
static uint64_t loss_of(const struct job *job)
{
    return ((uint64_t)job->n_done + job->n_sent + SLOT_LOSS_ROWS) * (1 + (uint64_t)job->n_preempted);
}

/* It may spend no token for longer than it takes to compute it anew, and no step or promise needs its seat. Else who
 * spends its budget token by token would be put aside for each. */
static bool rests(const struct job *job, uint64_t boot_us)
{
    double anew_ns = (double)loss_of(job) * job->eq->cost.ns[COST_PREFILL_ROW];

    return job->n_steps == 0 && queue_deadline_us(job) == 0 &&
           1000.0 * (double)account_wait_us(job->account, job->limits.tokens_a_minute, boot_us) > anew_ns;
}

/* Why @for_job may take the seat of @from; @is_short: of pages. */
static enum reason reason_of(const struct queue *queue, const struct job *for_job, const struct job *from,
                             bool is_short, uint64_t now_us, uint64_t boot_us)
{
    if (from->state != JOB_ASSIGNED || from->eq != for_job->eq) {
        return REASON_NONE;
    }
    if (from->yields) {
        return REASON_YIELDS;
    }
    if (from->parked) {
        return from->n_sent == 0 ? REASON_PARKED : REASON_NONE;
    }
    if (rests(from, boot_us)) {
        return REASON_RESTS;
    }
    if (has_tenure(from, is_short, now_us)) {
        return REASON_NONE;
    }
    if (for_job->priority > from->priority) {
        return REASON_CLASS;
    }
    if (may_hurry(for_job, from)) {
        return REASON_URGENT;
    }
    if (may_share(queue, for_job, from, now_us)) {
        return REASON_SHARE;
    }
    if (for_job->priority < from->priority && queue_rank(for_job, now_us) >= from->priority && from->has_first) {
        return REASON_AGE;
    }
    return REASON_NONE;
}

/* Who of two, both for the same reason, gives its seat up. */
static bool gives_first(const struct job *a, const struct job *b)
{
    if (a->yields != b->yields) {
        return a->yields;
    }
    if (a->parked != b->parked) {
        return a->parked;
    }
    if (a->parked) {
        return a->since_us < b->since_us; /* that which has been so longest */
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

/* What a session keeps open at @eq without a request, the longest kept of them, or NULL. Adds up the pages of all. */
static struct job *find_kept(const struct queue *queue, const struct engine_queue *eq, uint64_t *n_pages)
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

/* Pages of those of one class that could be put aside. */
struct class_pages {
    uint64_t n_pages;
    uint32_t n_most; /* of one of them, that could stay as the last */
    uint32_t n;
};

/* What they bring: if that is all of the class, one of them will stay, and none brings less. */
static uint64_t brings(const struct class_pages *of, const struct engine_queue *eq, size_t priority)
{
    bool one_stays = eq->n_slots >= QUEUE_MANY_SLOTS && of->n > 1 && of->n == eq->n_held[priority];

    return of->n_pages - (one_stays ? of->n_most : 0);
}

/* Who gives @for_job its seat, or NULL. Nobody, if all pages that could be had are too few. */
static struct job *victim_for(const struct queue *queue, const struct job *for_job,
                              const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us)
{
    uint32_t n_short = pages_short(for_job, limits);
    bool is_short = n_short > 0 || for_job->eq->no_room;
    uint64_t n_pages = 0;
    struct job *victim = find_kept(queue, for_job->eq, &n_pages);
    enum reason best = victim ? REASON_KEPT : REASON_NONE;
    struct list *link;

    if (for_job->yields) {
        return NULL;
    }
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        struct class_pages of = { 0 };

        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            enum reason reason = reason_of(queue, for_job, job, is_short, now_us, boot_us);

            if (reason == REASON_NONE) {
                continue;
            }
            of.n_pages += job->n_pages;
            of.n_most = is_small(job) ? (uint32_t)num_max(of.n_most, job->n_pages) : of.n_most;
            of.n++;
            if (!victim || reason < best || (reason == best && gives_first(job, victim))) {
                best = reason;
                victim = job;
            }
        }
        n_pages += brings(&of, for_job->eq, i);
    }
    return n_pages >= n_short ? victim : NULL;
}

/* For one lane without room: who would be seated next, and who if nobody aged. */
struct claim {
    const struct engine_queue *eq;
    struct job *first;
    struct job *strict;
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

            if (!seeks(job, limits, boot_us) || finds_room(job, limits)) {
                continue;
            }
            claim = claim_of(ret_claims, &n, job->eq);
            if (!claim) {
                continue;
            }
            if (!claim->first || queue_before(job, claim->first, now_us)) {
                claim->first = job;
            }
            if (!claim->strict ||
                (claim->strict->priority == job->priority && queue_before(job, claim->strict, now_us))) {
                claim->strict = job;
            }
        }
    }
    return n;
}

/* Pages were taken back from a lane: sessions without a request give theirs up, then the lowest class. */
static struct job *over_promised(const struct queue *queue, const struct governor_limits *limits)
{
    struct job *victim = NULL;
    struct list *link;

    list_for_each (link, &queue->retained) {
        struct job *job = container_of(link, struct job, link);

        if (is_over_promised(job->eq, limits)) {
            return job;
        }
    }
    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);

            if (job->state == JOB_ASSIGNED && is_over_promised(job->eq, limits) &&
                (!victim || gives_first(job, victim))) {
                victim = job;
            }
        }
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
        victim = victim_for(queue, claims[i].first, limits, now_us, boot_us);
        if (!victim && claims[i].strict != claims[i].first) {
            victim = victim_for(queue, claims[i].strict, limits, now_us, boot_us);
        }
    }
    return victim;
}

/* ---- who gets one */

/* Somebody who was refused for want of pages asks again at @eq: nobody takes them meanwhile. */
static bool is_asking_again(const struct queue *queue, const struct engine_queue *eq)
{
    struct list *link;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *job = container_of(link, struct job, link);

            if (job->eq == eq && job->state == JOB_OPENING && job->n_pages > 0) {
                return true;
            }
        }
    }
    return false;
}

/* Somebody before @job finds no room at its lane, and never would if others took what there is: of its
 * class, or with others' pages to come. */
static bool is_held_back(const struct queue *queue, const struct job *job, const struct claim *claims, uint32_t n,
                         const struct governor_limits *limits, uint64_t now_us, uint64_t boot_us)
{
    if (job->owns_slot) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct job *first = claims[i].first;

        if (claims[i].eq == job->eq && queue_before(first, job, now_us) &&
            (first->priority == job->priority || victim_for(queue, first, limits, now_us, boot_us))) {
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
    struct list *link;

    for (size_t i = 0; i < PRIORITY_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);

            if (seeks(job, limits, boot_us) && finds_room(job, limits) && (!best || queue_before(job, best, now_us)) &&
                !is_held_back(queue, job, claims, n, limits, now_us, boot_us)) {
                best = job;
            }
        }
    }
    return best;
}
