/*
 * Sizes are found by halving: only the cost model says what fits, and more rows never cost less.
 */
#include "sched/fill.h"
#include "base/num.h"

/* An answer with a near deadline keeps this much of its shortest steps in reserve, and this many steps. It is what
 * remains at the end, however long the steps were that it allowed. */
#define FILL_SPARE       0.25
#define FILL_SPARE_STEPS 2.0

/* Halvings that find a level: from any distance of virtual times down to one unit. */
#define FILL_HALVINGS 64u

bool fill_is_share(const struct job *a, const struct job *b, uint64_t now_us)
{
    return queue_rank(a, now_us) == queue_rank(b, now_us) && a->priority == b->priority && !a->urgent && !b->urgent &&
           !a->yields && !b->yields;
}

uint32_t plan_pages(const struct job *job, uint32_t n_rows, uint32_t page_tokens)
{
    /* Rows at positions first .. first + n_rows - 1 look at position / page_tokens pages each: an arithmetic series,
     * rounded down once. */
    uint64_t first = (uint64_t)job->n_done + job->n_sent;
    uint64_t positions = first * n_rows + (uint64_t)n_rows * (n_rows ? n_rows - 1 : 0) / 2;

    return (uint32_t)num_min(positions / page_tokens, UINT32_MAX / 2);
}

double plan_target_ns(const struct engine_queue *eq, const struct governor_limits *limits)
{
    double least_ns = 2.0 * eq->cost.ns[COST_FIXED];
    double most_ns = PLAN_STEP_US * 1.0 * limits->duty_permille;
    double slice_ns = limits->slice_us * 1000.0;

    if (limits->duty_permille < 1000 && slice_ns >= least_ns && slice_ns < most_ns) {
        most_ns = slice_ns;
    }
    return most_ns > least_ns ? most_ns : least_ns;
}

/* Adds @n_rows of @job to @load: of its prompt, or the one of its answer. */
static void add_load(struct cost_load *load, const struct job *job, uint32_t n_rows, uint32_t page_tokens)
{
    load->n[job_decodes(job) ? COST_DECODE_ROW : COST_PREFILL_ROW] += n_rows;
    load->n[COST_ATTEND_PAGE] += plan_pages(job, n_rows, page_tokens);
}

/* ---- a step as it fills */

struct room {
    struct plan *plan;
    const struct plan_input *in;
    uint32_t n_rows;        /* in all */
    double limit_ns;        /* the whole step */
    uint32_t reserved_rows; /* rows that answers leave free for the first prompt, and their time */
    double reserved_ns;
    double aged_ns; /* aged jobs may fill the step up to here */
};

static void take(struct room *room, struct job *job, uint32_t n_rows)
{
    struct plan *plan = room->plan;
    bool decodes = job_decodes(job);

    add_load(&plan->load, job, n_rows, plan->eq->page_tokens);
    job->n_planned = n_rows;
    plan->entries[plan->n_entries++] = (struct plan_entry){
        .job = job,
        .n_prefill = decodes ? 0 : n_rows,
        .n_rows = n_rows,
        .n_tok = n_rows == job_rows_left(job),
    };
    plan->n_rows += n_rows;
}

static bool is_full(const struct room *room)
{
    return room->plan->n_rows >= room->n_rows || room->plan->n_entries == PLAN_ENTRIES;
}

/* Returns the time of the step with @n_rows of @job added. */
static double cost_with(const struct room *room, const struct job *job, uint32_t n_rows)
{
    const struct engine_queue *eq = room->plan->eq;
    struct cost_load load = room->plan->load;

    add_load(&load, job, n_rows, eq->page_tokens);
    return cost_of(&eq->cost, &load);
}

/* Returns the rows of @job's prompt that fit into @most rows and a step of @limit_ns, but at least @least. */
static uint32_t piece(const struct room *room, const struct job *job, uint32_t most, uint32_t least, double limit_ns)
{
    uint32_t high = (uint32_t)num_min(job_rows_left(job), most);
    uint32_t low = (uint32_t)num_min(least, high);

    while (low < high) {
        uint32_t middle = high - (high - low) / 2;

        if (cost_with(room, job, middle) <= limit_ns) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Reserves what answers must leave free for @prompt. */
static void reserve(struct room *room, const struct job *prompt)
{
    struct cost_load load = { 0 };

    if (room->n_rows < 2) {
        return;
    }
    room->reserved_rows = (uint32_t)num_min(num_min(PLAN_PIECE_ROWS, job_rows_left(prompt)), room->n_rows - 1);
    add_load(&load, prompt, room->reserved_rows, room->plan->eq->page_tokens);
    room->reserved_ns = cost_of(&room->plan->eq->cost, &load);
}

static void room_init(struct room *room, struct plan *plan, struct job *const *jobs, uint32_t n,
                      const struct plan_input *in)
{
    const struct governor_limits *limits = &in->limits[plan->eq->processor];

    *room = (struct room){
        .plan = plan,
        .in = in,
        .n_rows = plan->eq->n_rows,
        .limit_ns = plan_target_ns(plan->eq, limits),
    };
    if (limits->n_rows > 0) {
        room->n_rows = (uint32_t)num_min(room->n_rows, limits->n_rows);
    }
    room->aged_ns = cost_of(&plan->eq->cost, &plan->load) + room->limit_ns / QUEUE_AGED_PART;
    for (uint32_t i = 0; i < n; i++) {
        if (jobs[i]->eq == plan->eq && !job_decodes(jobs[i])) {
            reserve(room, jobs[i]);
            return;
        }
    }
}

/* ---- job by job */

/* Returns how long a step may take on the chip, in ns, for an answer with a finish_by_us to end in good time. A step
 * that holds nothing but answers takes @least_ns. */
static double pace_of(const struct job *job, const struct governor_limits *limits, uint64_t boot_us, double least_ns)
{
    uint32_t n_tok = job_tokens_left(job);
    uint64_t left_us = job->finish_by_us > boot_us ? job->finish_by_us - boot_us : 0;
    double n = n_tok > 0 ? n_tok : 1;

    /* A thousandth of a microsecond on the clock is one ns of the chip at full duty. */
    return (double)left_us * limits[job->eq->processor].duty_permille / n -
           (FILL_SPARE + FILL_SPARE_STEPS / n) * least_ns;
}

/* Shortens the step for an answer with a near deadline: the pieces of other jobs give way. */
static void keep_pace(struct room *room, const struct job *job)
{
    double least_ns = cost_of(&room->plan->eq->cost, &room->plan->load);
    double pace = room->limit_ns;

    if (job->urgent && job->finish_by_us > 0) {
        pace = pace_of(job, room->in->limits, room->in->boot_us, least_ns);
    }
    if (pace < room->limit_ns) {
        room->limit_ns = pace;
        room->reserved_rows = 0; /* prompts get what is left, if anything */
        room->reserved_ns = 0.0;
    }
}

static void fill_answer(struct room *room, struct job *job)
{
    struct plan *plan = room->plan;
    bool fits = plan->n_rows + 1 + room->reserved_rows <= room->n_rows &&
                cost_with(room, job, 1) + room->reserved_ns <= room->limit_ns;

    if (fits || plan->n_entries == 0) {
        take(room, job, 1);
        keep_pace(room, job);
    }
}

/* True if the rest of a prompt is taken along. Behind @n_rows it would take less than the reading of the weights
 * that a step of its own costs, and a person waits for the first word. No other job is in such a step. */
static bool takes_rest(const struct room *room, const struct job *job, uint32_t n_rows, uint32_t most)
{
    uint32_t n_all = job_rows_left(job);

    return job->priority == PRIORITY_REALTIME && !job->has_first && n_rows > 0 && n_all <= most &&
           cost_with(room, job, n_all) <= room->limit_ns + room->plan->eq->cost.ns[COST_FIXED];
}

/* @aged: jobs of the step's own class wait behind this aged one, so it gets only a part of the step. */
static void fill_prompt(struct room *room, struct job *job, bool aged)
{
    uint32_t most = room->n_rows - room->plan->n_rows;
    bool first = aged || room->reserved_rows > 0 || room->plan->n_entries == 0;
    uint32_t n = piece(room, job, most, first ? PLAN_PIECE_ROWS : 0, aged ? room->aged_ns : room->limit_ns);

    if (takes_rest(room, job, n, most)) {
        n = job_rows_left(job);
    }
    if (n > 0) {
        take(room, job, n);
    }
    room->reserved_rows = 0;
    room->reserved_ns = 0.0;
}

static void fill_one(struct room *room, struct job *job, bool others)
{
    bool aged = others && queue_rank(job, room->in->now_us) > job->priority;

    if (is_full(room) ||
        (aged && room->plan->n_entries > 0 && cost_of(&room->plan->eq->cost, &room->plan->load) > room->aged_ns)) {
        return;
    }
    if (job_decodes(job)) {
        fill_answer(room, job);
    } else {
        fill_prompt(room, job, aged);
    }
}

/* ---- accounts of one class, to one level */

/* Sets n_planned of each job as if all were raised to @level of virtual time. Returns true if the step holds that. */
static bool try_level(const struct room *room, struct job *const *jobs, uint32_t n, uint64_t level)
{
    const struct engine_queue *eq = room->plan->eq;
    struct cost_load load = room->plan->load;
    uint64_t n_rows = room->plan->n_rows;
    uint32_t n_entries = room->plan->n_entries;

    for (uint32_t i = 0; i < n; i++) {
        jobs[i]->account->level = 0; /* virtual time given so far */
    }
    for (uint32_t i = 0; i < n; i++) {
        struct job *job = jobs[i];
        uint64_t unit = account_unit(&job->limits);
        uint64_t start = job_start(job) + job->account->level;
        uint64_t n_more = start < level ? num_div_up(level - start, unit) : 0;

        job->n_planned = (uint32_t)num_min(n_more, job_rows_left(job));
        if (job->n_planned > 0) {
            job->account->level += job->n_planned * unit;
            add_load(&load, job, job->n_planned, eq->page_tokens);
            n_rows += job->n_planned;
            n_entries++;
        }
    }
    return n_rows <= room->n_rows && n_entries <= PLAN_ENTRIES && cost_of(&eq->cost, &load) <= room->limit_ns;
}

/* Returns the greatest level that the step holds; 0: not even one row. */
static uint64_t find_level(const struct room *room, struct job *const *jobs, uint32_t n)
{
    uint64_t low = 0;
    uint64_t high = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t most = (uint64_t)room->n_rows * account_unit(&jobs[i]->limits);

        high = num_max(high, num_saturate(job_start(jobs[i]), most, UINT64_MAX));
    }
    for (uint32_t i = 0; i < FILL_HALVINGS && low < high; i++) {
        uint64_t middle = high - (high - low) / 2;

        if (try_level(room, jobs, n, middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Fills in @jobs, which follow each other in the line and differ only in their shares. */
static void fill_level(struct room *room, struct job *const *jobs, uint32_t n)
{
    uint32_t n_before = room->plan->n_entries;
    uint32_t planned[PLAN_ENTRIES];

    try_level(room, jobs, n, find_level(room, jobs, n));
    for (uint32_t i = 0; i < n; i++) {
        planned[i] = jobs[i]->n_planned;
        if (planned[i] > 0) {
            take(room, jobs[i], planned[i]);
        }
    }
    if (room->plan->n_entries > n_before) {
        room->reserved_rows = 0;
        room->reserved_ns = 0.0;
    }
    /* The rest is less than a row for each. If nothing was planned at all, this takes them one after the other. */
    for (uint32_t i = 0; i < n; i++) {
        if (planned[i] == 0) {
            fill_one(room, jobs[i], false);
        }
    }
}

/* Returns how many of @jobs, from the first on, may be raised to one level. There must be more than one account and
 * a prompt among them. */
static uint32_t level_of(struct job *const *jobs, uint32_t n, uint64_t now_us)
{
    bool accounts = false;
    bool prompts = false;
    uint32_t i;

    for (i = 0; i < n && fill_is_share(jobs[i], jobs[0], now_us); i++) {
        accounts = accounts || jobs[i]->account != jobs[0]->account;
        prompts = prompts || !job_decodes(jobs[i]);
    }
    return accounts && prompts && queue_rank(jobs[0], now_us) == jobs[0]->priority ? i : 0;
}

/* True if a job has the right to this step by its class, not by age. */
static bool has_native(struct job *const *jobs, uint32_t n, uint64_t now_us)
{
    for (uint32_t i = 0; i < n; i++) {
        if (queue_rank(jobs[i], now_us) == jobs[i]->priority && !jobs[i]->yields) {
            return true;
        }
    }
    return false;
}

/* Lets the answers of a full step draft, where that pays: a draft that is right saves its answer a row of a later step
 * and its part in reading the weights. Their rows are counted as if all drafts were found. */
static void add_drafts(struct room *room)
{
    struct plan *plan = room->plan;
    const struct cost *cost = &plan->eq->cost;
    uint32_t n_answers = plan->load.n[COST_DECODE_ROW];

    for (uint32_t i = 0; plan->eq->n_drafts > 0 && i < plan->n_entries; i++) {
        struct plan_entry *entry = &plan->entries[i];
        struct cost_load row = { .n = { [COST_DECODE_ROW] = 1 } };
        double row_ns;
        double room_ns;
        uint32_t n_most;

        if (entry->n_prefill > 0) {
            continue;
        }
        entry->row_pages = plan_pages(entry->job, 1, plan->eq->page_tokens);
        row.n[COST_ATTEND_PAGE] = entry->row_pages;
        row_ns = cost_of(cost, &row);
        room_ns = room->limit_ns - cost_of(cost, &plan->load);
        n_most = (uint32_t)num_min(plan->eq->n_drafts, room->n_rows - plan->n_rows);
        n_most = room_ns > 0.0 ? (uint32_t)num_min(n_most, (uint64_t)(room_ns / row_ns)) : 0;
        entry->n_drafts = job_drafts(entry->job, row_ns, row_ns + cost->ns[COST_FIXED] / n_answers, n_most);
        plan->load.n[COST_DECODE_ROW] += entry->n_drafts;
        plan->load.n[COST_ATTEND_PAGE] += entry->n_drafts * entry->row_pages;
        plan->n_rows += entry->n_drafts;
    }
}

void fill_step(struct plan *plan, struct job *const *jobs, uint32_t n, const struct plan_input *in)
{
    struct job *here[PLAN_ENTRIES];
    struct room room;
    uint32_t n_here = 0;
    uint32_t at = 0;
    bool others;

    for (uint32_t i = 0; i < n; i++) {
        if (jobs[i]->eq == plan->eq) {
            here[n_here++] = jobs[i];
        }
    }
    room_init(&room, plan, here, n_here, in);
    others = has_native(here, n_here, in->now_us);
    while (at < n_here && !is_full(&room)) {
        uint32_t n_level = level_of(&here[at], n_here - at, in->now_us);

        if (n_level > 0) {
            fill_level(&room, &here[at], n_level);
            at += n_level;
        } else {
            fill_one(&room, here[at++], others);
        }
    }
    add_drafts(&room);
    plan->estimated_ns = cost_of(&plan->eq->cost, &plan->load);
}
