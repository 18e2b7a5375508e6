/*
 * Generalised processor sharing (Parekh and Gallager 1993): the prompts of a class are computed at once, each account's
 * at the speed of its weight, until they are done. So what another account computes before mine is done is all that it
 * has, or my own time multiplied by the ratio of the weights, whichever is less. Answers in progress take their rows
 * out of each step and leave the rest to prompts. Of the deadlines of a class the earliest comes first, and all work
 * due before counts (the processor demand of Baruah, Mok and Rosier 1990; Liu and Layland 1973). Slots are counted as
 * they come free: which jobs want one first, which give one now, and when the answers of the others end.
 *
 * It walks the jobs, some hundreds at most.
 */
#include "sched/estimate.h"
#include "base/num.h"
#include "sched/plan.h"
#include <float.h>
#include <math.h>

/* Bound on the slots that are looked at. Any beyond count as never free. */
#define ESTIMATE_SLOTS 64u

/* A slot that is kept until its answer ends. */
struct busy_slot {
    double ns;    /* of its prompt */
    double n_tok; /* of its answer, at most */
    double n_pages;
};

/* Everything between a job and its tokens; times in ns on the chip. */
struct outlook {
    /* Prompts that come first in any case: of higher classes, with promised deadlines, older ones. */
    double before;
    double mine;      /* its account's part of that, and its own prompt */
    double others;    /* what the other accounts of its class compute meanwhile */
    double rest;      /* all prompts of its class but its own */
    double answers;   /* rows of answers in each step of its engine */
    double elsewhere; /* answers of higher classes at other engines, which come before its last token */
    double limit;     /* of a step of its engine */

    /* Wait for a slot. */
    int64_t n_slots; /* slots lacking: those wanted first and its own, less free and given ones; 0 or below: none */
    double n_pages;  /* pages lacking */
    struct busy_slot slots[ESTIMATE_SLOTS]; /* which come free when their answers end */
    uint32_t n_ends;
};

bool estimate_counts(const struct job *job)
{
    return job->state != JOB_ENDED && !job->parked && !job->yields && job->eq && job->eq->page_tokens > 0;
}

static double prompt_ns(const struct job *job)
{
    const double *ns = job->eq->cost.ns;
    uint32_t n_rows = job_rows_left(job);

    if (job_decodes(job)) {
        return 0.0;
    }
    return n_rows * ns[COST_PREFILL_ROW] + plan_pages(job, n_rows, job->eq->page_tokens) * ns[COST_ATTEND_PAGE];
}

/* Returns the time of one row of its answer, taken halfway through the answer. */
static double answer_ns(const struct job *job)
{
    const double *ns = job->eq->cost.ns;
    double n_tok = job->n_known + job_tokens_left(job) * 0.5;

    if (job_tokens_left(job) == JOB_NO_END) {
        n_tok = job->n_known;
    }
    if (job->eq->n_context > 0 && n_tok > job->eq->n_context) {
        n_tok = job->eq->n_context; /* the context slides */
    }
    return ns[COST_DECODE_ROW] + n_tok / job->eq->page_tokens * ns[COST_ATTEND_PAGE];
}

/* Returns the time of its whole answer, computed alone. */
static double whole_answer_ns(const struct job *job)
{
    uint32_t n_tok = job_tokens_left(job);

    n_tok = n_tok == JOB_NO_END ? QUEUE_SLOT_TOK : n_tok;
    return n_tok * (answer_ns(job) + job->eq->cost.ns[COST_FIXED]);
}

static bool is_promised(const struct job *other, const struct job *job)
{
    uint64_t other_us = queue_deadline_us(other);
    uint64_t job_us = queue_deadline_us(job);

    return other_us > 0 && (job_us == 0 || other_us <= job_us);
}

/* Adds @other's prompt to the sum that it belongs to. What is shared by weight goes into its account's sum. */
static void add_prompt(struct outlook *outlook, const struct job *job, const struct job *other,
                       enum estimate_order order)
{
    double ns = prompt_ns(other);

    if (other->priority > job->priority) {
        outlook->before += ns;
        return;
    }
    if (other->priority < job->priority) {
        return;
    }
    outlook->rest += ns;
    if (order == ORDER_URGENT && is_promised(other, job)) {
        outlook->before += ns;
        outlook->mine += other->account == job->account ? ns : 0.0;
    } else if (other->account != job->account) {
        other->account->sum_ns += ns;
    } else if (order == ORDER_FAIR && other->order < job->order) {
        outlook->before += ns;
        outlook->mine += ns;
    }
}

/* Returns the pages that @job needs, or that the engine reported for its sequence. */
static double pages_of(const struct job *job)
{
    uint64_t n_tok = job->n_most ? job->n_most : job->n_known;

    return job->n_pages > 0 ? job->n_pages : (double)num_div_up(n_tok, job->eq->page_tokens);
}

/* Counts @other's slot: it is given to @job now, or comes free when its answer ends. */
static void add_end(struct outlook *outlook, const struct job *job, const struct job *other)
{
    if (queue_gives_slot(job, other)) {
        outlook->n_slots--;
        outlook->n_pages -= other->n_pages;
    } else if (outlook->n_ends < ESTIMATE_SLOTS) {
        uint32_t n_tok = job_tokens_left(other);

        outlook->slots[outlook->n_ends++] = (struct busy_slot){
            .ns = prompt_ns(other),
            .n_tok = n_tok == JOB_NO_END ? QUEUE_SLOT_TOK : n_tok,
            .n_pages = other->n_pages,
        };
    }
}

/* True if @other, which wants a slot, gets it before @job. */
static bool is_assigned_first(const struct job *job, const struct job *other, enum estimate_order order)
{
    if (other->priority != job->priority) {
        return other->priority > job->priority;
    }
    return order == ORDER_FAIR || is_promised(other, job);
}

/* Adds what @other's slot and answer mean to @job. */
static void add_slot(struct outlook *outlook, const struct job *job, const struct job *other, enum estimate_order order)
{
    bool gives_way = other->parked || other->yields;

    if (other->eq != job->eq) {
        return;
    }
    if (other->state == JOB_ASSIGNED) {
        outlook->answers += !gives_way && job_tokens_left(other) > 0 ? answer_ns(other) : 0.0;
        add_end(outlook, job, other);
    } else if (!gives_way && is_assigned_first(job, other, order)) {
        outlook->n_slots += other->state != JOB_OPENING && !other->owns_slot; /* they count as taken */
        outlook->n_pages += pages_of(other);
    }
}

/* Returns the time of higher classes at other engines, to the end of their answers; each has a step of its own at
 * worst. */
static double elsewhere_of(const struct queue *queue, const struct job *job)
{
    const struct job *other = queue_first_from(queue, (size_t)job->priority + 1);
    double ns = 0.0;

    for (; other; other = queue_next(queue, other)) {
        if (estimate_counts(other) && other->eq != job->eq) {
            ns += whole_answer_ns(other);
        }
    }
    return ns;
}

/* Returns what the other accounts of the class compute while @mine is computed: as much as their weights give them,
 * or all that they have. */
static double shares_of(const struct queue *queue, const struct job *job, double mine)
{
    double unit = (double)account_unit(&job->limits);
    double ns = 0.0;
    struct list *link;

    list_for_each (link, &queue->jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);
        double part = mine * unit / (double)account_unit(&other->limits);

        if (other->account != job->account) {
            ns += other->account->sum_ns < part ? other->account->sum_ns : part;
            other->account->sum_ns = 0.0; /* counted once */
        }
    }
    return ns;
}

static bool has_slot(const struct job *job)
{
    return job->state == JOB_ASSIGNED || job->state == JOB_OPENING || job->owns_slot;
}

static void outlook_init(struct outlook *outlook, const struct estimate_view *view, const struct job *job)
{
    const struct engine_queue *eq = job->eq;
    const struct governor_limits *limits = &view->limits[eq->processor];
    uint64_t n_pages_retained = 0; /* of idle sessions, which would give them up */
    uint32_t n_retained = queue_count_retained(view->queue, eq, &n_pages_retained);
    double n_free =
        (double)eq->n_pages * limits->kv_permille / 1000.0 - (double)eq->n_pages_promised + (double)eq->n_pages_shared;

    *outlook = (struct outlook){ .limit = plan_target_ns(eq, limits) };
    if (!has_slot(job)) {
        outlook->n_slots = 1 - (int64_t)(eq->n_slots - eq->n_taken) - n_retained;
        outlook->n_pages = pages_of(job) - n_free - (double)n_pages_retained;
    }
    if (eq->n_pages == 0) {
        outlook->n_pages = -DBL_MAX;
    }
}

static void look_out(const struct estimate_view *view, const struct job *job, struct outlook *ret_outlook)
{
    const struct queue *queue = view->queue;
    const struct job *extra = view->extra;
    struct list *link;

    outlook_init(ret_outlook, view, job);
    list_for_each (link, &queue->jobs[job->priority]) {
        container_of(link, struct job, link)->account->sum_ns = 0.0;
    }
    if (extra) {
        extra->account->sum_ns = 0.0;
        add_prompt(ret_outlook, job, extra, view->order);
        add_slot(ret_outlook, job, extra, view->order);
        ret_outlook->answers += extra->eq == job->eq ? answer_ns(extra) : 0.0;
    }
    for (const struct job *other = queue_first(queue); other; other = queue_next(queue, other)) {
        if (other == job || other == extra || other->state == JOB_ENDED || !other->eq) {
            continue;
        }
        if (other->account == view->without && queue_deadline_us(other) > 0) {
            ret_outlook->n_slots -= other->eq == job->eq && has_slot(other);
            continue;
        }
        add_slot(ret_outlook, job, other, view->order);
        if (!other->parked && !other->yields) {
            add_prompt(ret_outlook, job, other, view->order);
        }
    }
    ret_outlook->mine += prompt_ns(job);
    ret_outlook->others = shares_of(queue, job, ret_outlook->mine);
    ret_outlook->elsewhere = elsewhere_of(queue, job);
}

/* True if @job takes a slot of another account as its share. */
static bool takes_share(const struct queue *queue, const struct job *job)
{
    struct list *link;

    list_for_each (link, &queue->jobs[job->priority]) {
        const struct job *other = container_of(link, struct job, link);

        if (other->eq == job->eq && other->state == JOB_ASSIGNED && queue_shares_slot(queue, job, other)) {
            return true;
        }
    }
    return false;
}

static double end_ns(const struct busy_slot *slot, double step_ns)
{
    return slot->ns + slot->n_tok * step_ns;
}

/* Returns the time until enough answers have ended for the slots and pages that are lacking. Each answer goes on in
 * every step. */
static double slot_ns(struct outlook *outlook, double step_ns)
{
    double ns = 0.0;
    double all_ns = 0.0;
    uint32_t n;

    for (n = 0; n < outlook->n_ends && (outlook->n_slots > 0 || outlook->n_pages > 0.0); n++) {
        uint32_t next = n;

        for (uint32_t i = n + 1; i < outlook->n_ends; i++) {
            next = end_ns(&outlook->slots[i], step_ns) < end_ns(&outlook->slots[next], step_ns) ? i : next;
        }
        ns = end_ns(&outlook->slots[next], step_ns);
        all_ns += ns;
        outlook->n_slots--;
        outlook->n_pages -= outlook->slots[next].n_pages;
        outlook->slots[next] = outlook->slots[n];
    }
    /* More are lacking than there are slots: the next answers are taken to last as long as these. */
    return outlook->n_slots > 0 && n > 0 ? ns + (double)outlook->n_slots / n * all_ns / n : ns;
}

/* Returns the time of @job's answer after its first token. */
static double answer_time_ns(const struct outlook *outlook, const struct job *job, double step_ns, double piece_ns,
                             double target_ns)
{
    uint32_t n_left = job_tokens_left(job);
    uint32_t n_more = n_left > 0 && !job->has_first ? n_left - 1 : n_left;
    double alone_ns = n_more * step_ns;
    double rest_ns = outlook->rest;
    double n_full = rest_ns / piece_ns; /* steps that are full of other prompts */
    double beside_ns;

    if (n_full > n_more) {
        n_full = n_more;
    }
    beside_ns = alone_ns + n_full * (target_ns - step_ns > 0.0 ? target_ns - step_ns : 0.0);
    /* A near deadline keeps those pieces small (plan.c), down to an even share of the time. */
    return beside_ns < alone_ns + rest_ns ? beside_ns : alone_ns + rest_ns;
}

/* Returns the time for prompts of @ns in pieces of @piece_ns, each in a step with all answers. */
static double prompts_ns(double ns, double piece_ns, double step_ns)
{
    return ns + ((double)(uint64_t)(ns / piece_ns) + 1.0) * step_ns;
}

/* Returns what a step leaves to prompts, in no more rows than the engine takes. The first prompt in the order has its
 * @n_rows however many answers there are. */
static double piece_of(const struct outlook *outlook, const struct job *job, double n_rows)
{
    const struct engine_queue *eq = job->eq;
    double row_ns = fmax(prompt_ns(job) / (double)num_max(1, job_rows_left(job)), eq->cost.ns[COST_PREFILL_ROW]);
    double ns = outlook->limit - eq->cost.ns[COST_FIXED] - outlook->answers;
    double least_ns = n_rows * eq->cost.ns[COST_PREFILL_ROW];
    double most_ns = (double)num_max(1, eq->n_rows) * row_ns;

    return fmin(fmax(ns, least_ns), fmax(most_ns, least_ns));
}

void estimate_job(const struct estimate_view *view, const struct job *job, struct estimate *ret_estimate)
{
    const struct engine_queue *eq = job->eq;
    const struct governor_limits *bounds = &view->limits[eq->processor];
    double duty = (bounds->duty_permille > 0 ? bounds->duty_permille : 1) / 1000.0;
    double n_least = (double)num_min(PLAN_PIECE_ROWS, num_max(1, eq->n_rows));
    struct outlook outlook;
    double step_ns;
    double piece_ns;
    double ns;
    double finish_ns;

    look_out(view, job, &outlook);
    if (outlook.n_slots > 0 && takes_share(view->queue, job)) {
        outlook.n_slots = 0;
        outlook.before += QUEUE_PATIENCE_US * 1000.0 * duty;
    }
    step_ns = eq->cost.ns[COST_FIXED] + outlook.answers;
    piece_ns = piece_of(&outlook, job, n_least);
    ns = prompts_ns(outlook.before + outlook.others + prompt_ns(job), piece_ns, step_ns) + outlook.elsewhere +
         slot_ns(&outlook, step_ns);
    if (job->has_first) {
        ns = 0.0;
    }
    finish_ns = ns + answer_time_ns(&outlook, job, step_ns + answer_ns(job), piece_ns, outlook.limit);
    *ret_estimate = (struct estimate){
        .first_us = ns / duty / 1000.0,
        .finish_us = finish_ns / duty / 1000.0,
        .step_us = (outlook.limit > step_ns ? outlook.limit : step_ns) / duty / 1000.0,
    };
}
