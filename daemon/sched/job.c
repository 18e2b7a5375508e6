#include "base/num.h"
#include "sched/queue.h"
#include <assert.h>

/* A draft is as likely to be right as the job's last ones were, each of them counting NEW_HIT; at first FIRST_HITS.
 * After wrong drafts a job drafts nothing until it has forgotten them, by NEW_HOPE in each step without a draft. */
#define FIRST_HITS 0.5
#define NEW_HIT    0.1
#define NEW_HOPE   0.01

#define TO(state) (1u << (state))

/* The legal moves of a job. A row without entries is a final state. */
static const uint32_t moves[JOB_STATE_COUNT] = {
    [JOB_HELD] = TO(JOB_WAITING) | TO(JOB_ENDED),
    [JOB_WAITING] = TO(JOB_OPENING) | TO(JOB_HELD) | TO(JOB_ENDED),
    [JOB_OPENING] = TO(JOB_ASSIGNED) | TO(JOB_WAITING) | TO(JOB_HELD) | TO(JOB_ENDED),
    [JOB_ASSIGNED] = TO(JOB_WAITING) | TO(JOB_HELD) | TO(JOB_ENDED),
};

#undef TO

bool job_may_move(const struct job *job, enum job_state to)
{
    return (moves[job->state] & (1u << to)) != 0;
}

/* True if a job in @state counts against the limit of waiting requests: it is live and has no sequence. */
static bool waits(enum job_state state)
{
    return state == JOB_HELD || state == JOB_WAITING || state == JOB_OPENING;
}

static bool holds_slot(enum job_state state)
{
    return state == JOB_OPENING || state == JOB_ASSIGNED;
}

uint32_t job_pages(const struct job *job)
{
    const struct engine_queue *eq = job->eq;
    uint64_t n_most = num_max(job->n_most, job->n_known);

    if (job->n_pages > 0) {
        return job->n_pages;
    }
    n_most = eq->n_context > 0 ? num_min(n_most, eq->n_context) : n_most;
    return (uint32_t)num_div_up(n_most, eq->page_tokens);
}

static void keep_spare(struct engine_queue_spare *spare, uint32_t n_pages)
{
    if (spare->n == ENGINE_QUEUE_SPARE_LAST) {
        *spare = (struct engine_queue_spare){ .n_pages_before = spare->n_pages };
    }
    spare->n_pages = (uint32_t)num_max(spare->n_pages, n_pages);
    spare->n++;
}

/* Updates the pages that the engine has given away. */
static void move_pages(struct job *job, enum job_state to)
{
    struct engine_queue *eq = job->eq;

    eq->n_pages_promised -= job->state == JOB_ASSIGNED ? job->n_pages : 0;
    eq->n_pages_promised += to == JOB_ASSIGNED ? job->n_pages : 0;
    eq->n_pages_asked -= job->n_pages_asked;
    job->n_pages_asked = to == JOB_OPENING ? job_pages(job) : 0;
    eq->n_pages_asked += job->n_pages_asked;
    if (to == JOB_ASSIGNED && job->priority == PRIORITY_REALTIME) {
        keep_spare(&eq->spare, job->n_pages);
    }
}

/* Updates the counts of the job's class at its engine, with and without a slot. */
static void count_slots(struct job *job, enum job_state to, uint64_t now_us)
{
    struct engine_queue *eq = job->eq;

    if (eq->n_held[job->priority] + eq->n_waiting[job->priority] == 0) {
        eq->asked_us[job->priority] = now_us;
    }
    eq->n_held[job->priority] -= holds_slot(job->state);
    eq->n_held[job->priority] += holds_slot(to);
    eq->n_waiting[job->priority] -= job->state == JOB_WAITING;
    eq->n_waiting[job->priority] += to == JOB_WAITING;
}

void job_move(struct job *job, enum job_state to, uint64_t now_us)
{
    assert(job_may_move(job, to));
    if (to == JOB_OPENING) {
        job->has_run = false;
        job->assigned_by_age = queue_rank(job, now_us) > job->priority;
        job->assigned_us = now_us;
        job->went_on_us = 0;
        job->n_paid_at_slot = job->n_paid;
    }
    job->account->n_waiting -= waits(job->state);
    job->account->n_waiting += waits(to);
    job->account->n_held[job->priority] -= holds_slot(job->state);
    job->account->n_held[job->priority] += holds_slot(to);
    if (job->eq) {
        count_slots(job, to, now_us);
        move_pages(job, to);
    }
    job->state = to;
    job->since_us = now_us;
}

/* Counts the rows of @job that are in progress as served until they are; otherwise its account would get two steps
 * in a row. */
static void count_ahead(struct job *job, uint32_t n_more, uint32_t n_less)
{
    uint64_t unit = account_unit(&job->limits);

    job->account->ahead[job->priority] += n_more * unit;
    job->account->ahead[job->priority] -= n_less * unit;
}

void job_forget(struct job *job)
{
    if (job->n_steps > 0) {
        count_ahead(job, 0, job->n_sent);
    }
    job->n_done = 0;
    job->n_sent = 0;
    job->n_due = 0;
    job->n_drafts = 0;
    job->n_steps = 0;
}

void job_send(struct job *job, uint32_t n_rows, uint32_t n_tok, uint32_t n_drafts)
{
    assert(job_may_step(job));
    count_ahead(job, n_rows, 0);
    job->n_sent += n_rows;
    job->n_due += n_tok;
    job->n_drafts += n_drafts;
    job->n_steps++;
    job->has_run = true;
}

void job_settle(struct job *job, uint32_t n_rows, uint32_t n_tok, uint32_t n_drafts)
{
    assert(job->n_steps > 0 && job->n_sent >= n_rows && job->n_due >= n_tok && job->n_drafts >= n_drafts);
    count_ahead(job, 0, n_rows);
    job->n_sent -= n_rows;
    job->n_due -= n_tok;
    job->n_drafts -= n_drafts;
    job->n_steps--;
}

void job_drafted(struct job *job, uint32_t n_accepted, uint32_t n_wrong)
{
    double hits = job->hits > 0.0 ? job->hits : FIRST_HITS;

    for (uint32_t i = 0; i < n_accepted; i++) {
        hits += (1.0 - hits) * NEW_HIT;
    }
    hits -= n_wrong > 0 ? hits * NEW_HIT : 0.0; /* behind a wrong draft none can be right */
    if (n_accepted + n_wrong == 0) {
        hits += (FIRST_HITS - hits) * NEW_HOPE;
    }
    job->hits = hits;
}

uint32_t job_drafts(const struct job *job, double row_ns, double token_ns, uint32_t n_most)
{
    uint32_t n_ahead = job->n_due + job->n_drafts + 1;
    double hits = job->hits > 0.0 ? job->hits : FIRST_HITS;
    double chance = hits;
    uint32_t n = 0;

    n_most = (uint32_t)num_min(n_most, job->n_left - num_min(n_ahead, job->n_left));
    while (n < n_most && chance * token_ns > row_ns) {
        chance *= hits;
        n++;
    }
    return n;
}

uint32_t job_rows_left(const struct job *job)
{
    uint32_t n_known = job->n_known + job->n_due;
    uint32_t n_planned = job->n_done + job->n_sent;

    return n_known > n_planned ? n_known - n_planned : 0;
}

bool job_decodes(const struct job *job)
{
    return job_rows_left(job) == 1 && job->n_known + job->n_due > job->n_prompt;
}

bool job_may_step(const struct job *job)
{
    return job->n_steps < JOB_STEPS_MAX && job->n_due + job->n_drafts < job->n_left && job_rows_left(job) > 0;
}

uint32_t job_tokens_left(const struct job *job)
{
    uint32_t n_most = job->n_most > job->n_known ? job->n_most - job->n_known : 0;
    bool is_said = job->n_left > 0 || job->state != JOB_HELD;
    uint32_t n_left = is_said ? job->n_left : JOB_NO_END;

    if (job->n_most == 0) {
        return n_left;
    }
    return (uint32_t)num_min(num_min(n_most, n_left) + (uint64_t)job->n_beyond, JOB_NO_END - 1);
}

uint64_t job_start(const struct job *job)
{
    return job->account->served[job->priority] + job->account->ahead[job->priority];
}
