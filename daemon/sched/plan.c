#include "sched/plan.h"
#include "base/num.h"
#include <assert.h>

/* Those who could run, in their order. */
struct line {
    struct job *jobs[PLAN_ENTRIES];
    uint32_t n;
};

/* Answers before prompts inside a rank: they cost one row, and somebody reads them. */
static bool goes_first(const struct job *a, const struct job *b, uint64_t now_us)
{
    enum sched_class rank_a = queue_rank(a, now_us);
    enum sched_class rank_b = queue_rank(b, now_us);

    if (rank_a == rank_b && job_decodes(a) != job_decodes(b)) {
        return job_decodes(a);
    }
    return queue_before(a, b, now_us);
}

/* Puts @job in its place; a line that is full loses its last. */
static void line_up(struct line *line, struct job *job, uint64_t now_us)
{
    uint32_t at = line->n;

    if (line->n == PLAN_ENTRIES) {
        if (!goes_first(job, line->jobs[line->n - 1], now_us)) {
            return;
        }
        at = line->n - 1;
    } else {
        line->n++;
    }
    while (at > 0 && goes_first(job, line->jobs[at - 1], now_us)) {
        line->jobs[at] = line->jobs[at - 1];
        at--;
    }
    line->jobs[at] = job;
}

/*
 * Lines up who may run: suspects in @ret_alone, the rest in @ret_rest. Who is out of budget wakes the plan later.
 */
static void gather(const struct queue *queue, const struct plan_input *in, struct line *ret_alone,
                   struct line *ret_rest, uint64_t *ret_wake_us)
{
    struct list *link;

    ret_alone->n = 0;
    ret_rest->n = 0;
    *ret_wake_us = 0;
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            const struct governor_limits *limits;
            uint64_t wait_us;

            if ((job->state != JOB_SEATED && job->state != JOB_WAITING) || job->parked || !job->lane->open) {
                continue;
            }
            limits = &in->limits[job->lane->place];
            if (limits->mode == GOVERNOR_PAUSED || job->class < limits->class_gate) {
                continue;
            }
            wait_us = account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us);
            if (wait_us > 0) {
                uint64_t at_us = in->boot_us + wait_us;

                *ret_wake_us = *ret_wake_us ? num_min(*ret_wake_us, at_us) : at_us;
                continue;
            }
            if (job->state == JOB_SEATED) {
                line_up(job->alone ? ret_alone : ret_rest, job, in->now_us);
            }
        }
    }
}

uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens)
{
    /* Rows at positions first .. first + n_rows - 1, each looking at position / page_tokens pages: an arithmetic
     * series, rounded down once. */
    uint64_t first = (uint64_t)job->n_done + job->n_sent;
    uint64_t positions = first * n_rows + (uint64_t)n_rows * (n_rows ? n_rows - 1 : 0) / 2;

    return (uint32_t)num_min(positions / page_tokens, UINT32_MAX / 2);
}

static struct cost_load with(const struct cost_load *load, const struct job *job, uint32_t n_prefill,
                             uint32_t page_tokens)
{
    struct cost_load sum = *load;

    if (n_prefill == 0) {
        sum.n[COST_DECODE_ROW]++;
    } else {
        sum.n[COST_PREFILL_ROW] += n_prefill;
    }
    sum.n[COST_ATTEND_PAGE] += plan_pages(job, n_prefill ? n_prefill : 1, page_tokens);
    return sum;
}

double plan_target_ns(const struct lane *lane, const struct governor_limits *limits)
{
    double least_ns = 2.0 * lane->cost.ns[COST_FIXED];
    double most_ns = PLAN_STEP_US * 1.0 * limits->duty_permille;
    double slice_ns = limits->slice_us * 1000.0;

    if (slice_ns >= least_ns && slice_ns < most_ns) {
        most_ns = slice_ns;
    }
    return most_ns > least_ns ? most_ns : least_ns;
}

static void take(struct plan *plan, struct job *job, uint32_t n_prefill)
{
    plan->load = with(&plan->load, job, n_prefill, plan->lane->page_tokens);
    plan->entries[plan->n_entries++] = (struct plan_entry){
        .job = job,
        .n_prefill = n_prefill,
        .n_rows = n_prefill ? n_prefill : 1,
        .n_tok = n_prefill == 0 || n_prefill == job_rows_left(job),
    };
    plan->n_rows += n_prefill ? n_prefill : 1;
}

/* Rows of @job's prompt that fit into @room rows and into @limit_ns, found by halving; @least if fewer would. */
static uint32_t piece(const struct plan *plan, const struct job *job, uint32_t room, uint32_t least,
                      double limit_ns)
{
    uint32_t left = job_rows_left(job);
    uint32_t low = (uint32_t)num_min(num_min(least, left), room);
    uint32_t high = (uint32_t)num_min(left, room);

    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        struct cost_load load = with(&plan->load, job, middle, plan->lane->page_tokens);

        if (cost_of(&plan->lane->cost, &load) <= limit_ns) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The first prompt in line for the plan's lane, or NULL. */
static const struct job *first_prompt(const struct line *line, const struct lane *lane)
{
    for (uint32_t i = 0; i < line->n; i++) {
        if (line->jobs[i]->lane == lane && !job_decodes(line->jobs[i])) {
            return line->jobs[i];
        }
    }
    return NULL;
}

/* What answers must leave free for @prompt: rows, and the time they take. */
static void keep_free(const struct plan *plan, const struct job *prompt, uint32_t room, uint32_t *ret_rows,
                      double *ret_ns)
{
    struct cost_load none = { 0 };
    struct cost_load load;

    *ret_rows = 0;
    *ret_ns = 0.0;
    if (!prompt || room < 2) {
        return;
    }
    *ret_rows = (uint32_t)num_min(num_min(PLAN_PIECE_ROWS, job_rows_left(prompt)), room - 1);
    load = with(&none, prompt, *ret_rows, plan->lane->page_tokens);
    *ret_ns = cost_of(&plan->lane->cost, &load);
}

/* Fills @plan from @line in order, all of plan->lane. */
static void fill(struct plan *plan, const struct line *line, const struct plan_input *in)
{
    const struct cost *cost = &plan->lane->cost;
    double limit_ns = plan_target_ns(plan->lane, &in->limits[plan->lane->place]);
    const struct governor_limits *limits = &in->limits[plan->lane->place];
    uint32_t room = plan->lane->n_rows;
    uint32_t kept_rows;
    double kept_ns;

    if (limits->n_rows > 0) {
        room = (uint32_t)num_min(room, limits->n_rows);
    }
    keep_free(plan, first_prompt(line, plan->lane), room, &kept_rows, &kept_ns);
    for (uint32_t i = 0; i < line->n && plan->n_rows < room && plan->n_entries < PLAN_ENTRIES; i++) {
        struct job *job = line->jobs[i];

        if (job->lane != plan->lane) {
            continue;
        }
        if (job_decodes(job)) {
            struct cost_load load = with(&plan->load, job, 0, plan->lane->page_tokens);
            bool fits = plan->n_rows + 1 + kept_rows <= room && cost_of(cost, &load) + kept_ns <= limit_ns;

            if (fits || plan->n_entries == 0) {
                take(plan, job, 0);
            }
        } else {
            bool aged = queue_rank(job, in->now_us) > job->class;
            uint32_t most =
                aged && i > 0 ? (uint32_t)num_min(room - plan->n_rows, PLAN_PIECE_ROWS) : room - plan->n_rows;
            uint32_t least = kept_rows > 0 || plan->n_entries == 0 ? PLAN_PIECE_ROWS : 0;
            uint32_t n = piece(plan, job, most, least, limit_ns);

            if (n > 0) {
                take(plan, job, n);
            }
            kept_rows = 0;
            kept_ns = 0.0;
        }
    }
    plan->foretold_ns = cost_of(cost, &plan->load);
}

/* Whose lane has the turn: the first in line, or who ties with it and whose lane waited longer. */
static struct lane *turn_of(const struct line *line, uint64_t now_us)
{
    struct job *best = line->jobs[0];

    for (uint32_t i = 1; i < line->n && queue_ties(line->jobs[i], best, now_us); i++) {
        if (line->jobs[i]->lane->turn < best->lane->turn) {
            best = line->jobs[i];
        }
    }
    return best->lane;
}

void plan_make(struct planner *planner, struct queue *queue, const struct plan_input *in,
               struct plan *ret_plan)
{
    struct line alone;
    struct line rest;
    struct line *line;

    ret_plan->lane = NULL;
    ret_plan->n_entries = 0;
    ret_plan->n_rows = 0;
    ret_plan->load = (struct cost_load){ .n = { [COST_FIXED] = 1 } };
    ret_plan->foretold_ns = 0.0;
    ret_plan->alone = false;
    gather(queue, in, &alone, &rest, &ret_plan->wake_us);
    if (alone.n + rest.n == 0) {
        return;
    }
    ret_plan->alone = alone.n > 0 && (rest.n == 0 || !planner->last_alone);
    line = ret_plan->alone ? &alone : &rest;
    if (ret_plan->alone) {
        line->n = 1;
    }
    ret_plan->lane = turn_of(line, in->now_us);
    fill(ret_plan, line, in);
    planner->last_alone = ret_plan->alone;
    ret_plan->lane->turn = ++planner->n_turns;
    assert(ret_plan->n_entries > 0);
}
