#include "sched/plan.h"
#include "base/num.h"
#include "sched/admit.h"
#include <assert.h>

/* So many tokens may answers run ahead of another account's prompts: they cost one row, and somebody reads
 * them. A second or two of a lively answer, and less than a hundredth of what ten seconds compute. */
#define PLAN_LEAD_TOK 64u

/* Of a step, what all who have aged get together, if others wait: so strict order is bent by an eighth at
 * most. */
#define PLAN_AGED_PART 8u

/* An answer with a deadline that is near is planned to be through in four fifths of the time. */
#define PLAN_PACE 0.8

/* Those who could run, in their order. */
struct line {
    struct job *jobs[PLAN_ENTRIES];
    uint32_t n;
};

/* Where @job stands in its class: fair, with the lead of answers. */
static uint64_t start_of(const struct job *job)
{
    uint64_t lead = job_decodes(job) ? PLAN_LEAD_TOK * account_unit(&job->limits) : 0;

    return job_start(job) + (uint64_t)PLAN_LEAD_TOK * ACCOUNT_TOKEN - lead; /* never below 0 */
}

/* True if only the share tells who of @a and @b is first. */
static bool is_matter_of_share(const struct job *a, const struct job *b, uint64_t now_us)
{
    return queue_rank(a, now_us) == queue_rank(b, now_us) && a->class == b->class && !a->urgent && !b->urgent;
}

static bool goes_first(const struct job *a, const struct job *b, uint64_t now_us)
{
    if (!is_matter_of_share(a, b, now_us)) {
        return queue_before(a, b, now_us);
    }
    if (a->account == b->account && job_decodes(a) != job_decodes(b)) {
        return job_decodes(a);
    }
    if (a->account != b->account && start_of(a) != start_of(b)) {
        return start_of(a) < start_of(b);
    }
    return job_decodes(a) != job_decodes(b) ? job_decodes(a) : a->order < b->order;
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

/* True if this plan looks at everybody: then it says who is left waiting. */
static bool is_whole(const struct plan_input *in)
{
    return in->kind == PLAN_BEHIND ||
           (in->kind == PLAN_NEXT && !in->lane && in->class_least == SCHED_BACKGROUND);
}

/* Wants service, and nothing but the order keeps it from it. */
static bool is_ready(const struct job *job, const struct plan_input *in)
{
    const struct governor_limits *limits;

    if ((job->state != JOB_SEATED && job->state != JOB_WAITING && job->state != JOB_OPENING) || job->parked ||
        !job->lane->open || job->class < in->class_least) {
        return false;
    }
    limits = &in->limits[job->lane->place];
    return limits->mode != GOVERNOR_PAUSED && job->class >= limits->class_gate;
}

/* May stand in this step. */
static bool may_run(const struct job *job, const struct plan_input *in)
{
    bool here = !in->lane || in->lane == job->lane || in->kind == PLAN_BEHIND;

    return job->state == JOB_SEATED && !job->lane->stopped && here && job_may_step(job) &&
           (in->kind != PLAN_OVERTAKE || (job->n_steps == 0 && !job->alone));
}

static void wake_by(uint64_t *wake_us, uint64_t at_us)
{
    *wake_us = *wake_us ? num_min(*wake_us, at_us) : at_us;
}

/*
 * Lines up who may run: suspects in @ret_alone, the rest in @ret_rest. Who is out of budget wakes the plan later.
 */
static void gather(const struct queue *queue, const struct plan_input *in, struct line *ret_alone,
                   struct line *ret_rest, uint64_t *ret_wake_us)
{
    uint64_t due_us = queue_next_deadline_us(queue);
    struct list *link;

    ret_alone->n = 0;
    ret_rest->n = 0;
    *ret_wake_us = due_us ? num_max(due_us, in->boot_us + 1) : 0;
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            uint64_t wait_us;

            job->n_planned = 0;
            if (!is_ready(job, in)) {
                continue;
            }
            wait_us = account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us);
            if (wait_us > 0) {
                wake_by(ret_wake_us, in->boot_us + wait_us);
            } else if (may_run(job, in)) {
                line_up(job->alone ? ret_alone : ret_rest, job, in->now_us);
            }
        }
    }
}

/* The least start of the accounts of @class that are left waiting, or with none of them the greatest that
 * was served. */
static uint64_t time_of(const struct queue *queue, const struct plan *plan, enum sched_class class)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    struct list *link;

    list_for_each (link, &queue->jobs[class]) {
        const struct job *job = container_of(link, struct job, link);

        if (job->account->short_turn[class] == queue->turn) {
            least = num_min(least, job_start(job));
        }
    }
    for (uint32_t i = 0; i < plan->n_entries; i++) {
        const struct job *job = plan->entries[i].job;

        most = job->class == class ? num_max(most, job_start(job)) : most;
    }
    return least != UINT64_MAX ? least : most;
}

/* Who could do with more than @plan gives is left waiting; that moves the classes' virtual time. */
static void leave_out(struct queue *queue, const struct plan *plan, const struct plan_input *in)
{
    struct list *link;

    queue->turn++;
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            bool wants =
                job->state != JOB_SEATED || (job_may_step(job) && job->n_planned < job_rows_left(job));

            if (wants && is_ready(job, in) &&
                account_wait_us(job->account, job->limits.tokens_a_minute, in->boot_us) == 0) {
                queue_leave_out(queue, job);
            }
        }
        queue->virtual_time[i] = num_max(queue->virtual_time[i], time_of(queue, plan, (enum sched_class)i));
    }
}

uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens)
{
    /* Rows at positions first .. first + n_rows - 1, each looking at position / page_tokens pages: an
     * arithmetic series, rounded down once. */
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
    job->n_planned = n_prefill ? n_prefill : 1;
    plan->load = with(&plan->load, job, n_prefill, plan->lane->page_tokens);
    plan->entries[plan->n_entries++] = (struct plan_entry){
        .job = job,
        .n_prefill = n_prefill,
        .n_rows = n_prefill ? n_prefill : 1,
        .n_tok = n_prefill == 0 || n_prefill == job_rows_left(job),
    };
    plan->n_rows += n_prefill ? n_prefill : 1;
}

/* Rows of @job's prompt that fit into @room rows and into @limit_ns, found by halving; @least if fewer
 * would. */
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

/* What a step of the plan's lane may hold, as it fills. */
struct room {
    uint32_t n_rows;    /* in all */
    double limit_ns;    /* the whole step */
    uint32_t kept_rows; /* kept free for the first prompt: rows, and the time they take */
    double kept_ns;
    double aged_ns; /* until then who has aged may fill it */
};

/* What answers must leave free for @prompt. */
static void keep_free(struct room *room, const struct plan *plan, const struct job *prompt)
{
    struct cost_load none = { 0 };
    struct cost_load load;

    if (!prompt || room->n_rows < 2) {
        return;
    }
    room->kept_rows = (uint32_t)num_min(num_min(PLAN_PIECE_ROWS, job_rows_left(prompt)), room->n_rows - 1);
    load = with(&none, prompt, room->kept_rows, plan->lane->page_tokens);
    room->kept_ns = cost_of(&plan->lane->cost, &load);
}

/* An answer whose deadline is near needs its steps to be short: others' pieces give way. */
static double pace_ns(const struct job *job, const struct plan_input *in)
{
    uint32_t n_tok = job_tokens_left(job);
    uint64_t left_us = job->finish_by_us > in->boot_us ? job->finish_by_us - in->boot_us : 0;

    /* A thousandth of a microsecond on the wall is one ns of the chip at full duty. */
    return PLAN_PACE * (double)left_us * in->limits[job->lane->place].duty_permille / (n_tok > 0 ? n_tok : 1);
}

static void keep_pace(struct room *room, const struct job *job, const struct plan_input *in)
{
    double pace = job->urgent && job->finish_by_us > 0 ? pace_ns(job, in) : room->limit_ns;

    if (pace < room->limit_ns) {
        room->limit_ns = pace;
        room->kept_rows = 0; /* prompts have what is left, if anything */
        room->kept_ns = 0.0;
    }
}

static struct room room_of(const struct plan *plan, const struct line *line, const struct plan_input *in)
{
    const struct governor_limits *limits = &in->limits[plan->lane->place];
    struct room room = { .n_rows = plan->lane->n_rows, .limit_ns = plan_target_ns(plan->lane, limits) };

    if (limits->n_rows > 0) {
        room.n_rows = (uint32_t)num_min(room.n_rows, limits->n_rows);
    }
    room.aged_ns = cost_of(&plan->lane->cost, &plan->load) + room.limit_ns / PLAN_AGED_PART;
    keep_free(&room, plan, first_prompt(line, plan->lane));
    return room;
}

static void fill_answer(struct plan *plan, struct room *room, struct job *job, const struct plan_input *in)
{
    struct cost_load load = with(&plan->load, job, 0, plan->lane->page_tokens);
    bool fits = plan->n_rows + 1 + room->kept_rows <= room->n_rows &&
                cost_of(&plan->lane->cost, &load) + room->kept_ns <= room->limit_ns;

    if (fits || plan->n_entries == 0) {
        take(plan, job, 0);
        keep_pace(room, job, in);
    }
}

/* @aged: others wait behind who has aged. */
static void fill_prompt(struct plan *plan, struct room *room, struct job *job, bool aged)
{
    uint32_t most = room->n_rows - plan->n_rows;
    uint32_t least = room->kept_rows > 0 || plan->n_entries == 0 ? PLAN_PIECE_ROWS : 0;
    uint32_t n =
        piece(plan, job, aged ? (uint32_t)num_min(most, PLAN_PIECE_ROWS) : most, least, room->limit_ns);

    if (n > 0) {
        take(plan, job, n);
    }
    room->kept_rows = 0;
    room->kept_ns = 0.0;
}

/* Somebody in @line has the right to this step by class, not by age. */
static bool has_native(const struct line *line, const struct lane *lane, uint64_t now_us)
{
    for (uint32_t i = 0; i < line->n; i++) {
        if (line->jobs[i]->lane == lane && queue_rank(line->jobs[i], now_us) == line->jobs[i]->class) {
            return true;
        }
    }
    return false;
}

/* Fills @plan from @line in order, all of plan->lane. */
static void fill(struct plan *plan, const struct line *line, const struct plan_input *in)
{
    const struct cost *cost = &plan->lane->cost;
    struct room room = room_of(plan, line, in);
    bool others = has_native(line, plan->lane, in->now_us);

    for (uint32_t i = 0; i < line->n && plan->n_rows < room.n_rows && plan->n_entries < PLAN_ENTRIES; i++) {
        struct job *job = line->jobs[i];
        bool aged = others && queue_rank(job, in->now_us) > job->class;

        if (job->lane != plan->lane ||
            (aged && plan->n_entries > 0 && cost_of(cost, &plan->load) > room.aged_ns)) {
            continue;
        }
        if (job_decodes(job)) {
            fill_answer(plan, &room, job, in);
        } else {
            fill_prompt(plan, &room, job, aged);
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

/* Whether a suspect has the step: in turns with the rest, but not before a higher class. */
static bool is_suspects_turn(const struct planner *planner, const struct line *alone, const struct line *rest,
                             uint64_t now_us)
{
    if (alone->n == 0 || rest->n == 0) {
        return alone->n > 0;
    }
    return !planner->last_alone && queue_rank(alone->jobs[0], now_us) >= queue_rank(rest->jobs[0], now_us);
}

/* A step of a suspect is under way. */
static bool is_suspect_under_way(const struct queue *queue)
{
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *job = container_of(link, struct job, link);

            if (job->alone && job->n_steps > 0) {
                return true;
            }
        }
    }
    return false;
}

static void plan_nothing(struct plan *ret_plan)
{
    ret_plan->lane = NULL;
    ret_plan->n_entries = 0;
    ret_plan->n_rows = 0;
    ret_plan->load = (struct cost_load){ .n = { [COST_FIXED] = 1 } };
    ret_plan->foretold_ns = 0.0;
    ret_plan->alone = false;
}

void plan_make(struct planner *planner, struct queue *queue, const struct plan_input *in,
               struct plan *ret_plan)
{
    struct line alone;
    struct line rest;
    struct line *line;
    struct lane *lane;

    plan_nothing(ret_plan);
    admit_look(queue, in->limits, in->boot_us);
    if (is_whole(in)) {
        queue_lift(queue);
    }
    gather(queue, in, &alone, &rest, &ret_plan->wake_us);
    if (alone.n + rest.n == 0) {
        return;
    }
    ret_plan->alone = is_suspects_turn(planner, &alone, &rest, in->now_us);
    line = ret_plan->alone ? &alone : &rest;
    if (ret_plan->alone) {
        line->n = 1;
    }
    lane = turn_of(line, in->now_us);
    if (in->kind == PLAN_BEHIND && (ret_plan->alone || lane != in->lane || is_suspect_under_way(queue))) {
        ret_plan->alone = false;
        return;
    }
    ret_plan->lane = lane;
    fill(ret_plan, line, in);
    planner->last_alone = ret_plan->alone;
    lane->turn = ++planner->n_turns;
    if (is_whole(in)) {
        leave_out(queue, ret_plan, in);
    }
    assert(ret_plan->n_entries > 0);
}
