/*
 * Foretelling in the manner of a fluid (generalised processor sharing: Parekh and Gallager 1993): prompts of the class
 * are computed at once, each account's at the speed of its weight, until they are through; so what others have before
 * mine is through is the lesser of all that they have and my own times the ratio of the weights. Answers under way take
 * their rows out of each step, and what they leave is for prompts.
 *
 * It is asked once for each request with a deadline, and for each such that is live once a plan. It walks the jobs,
 * some hundreds at most.
 */
#include "sched/admit.h"
#include "base/num.h"
#include "sched/fill.h"
#include <float.h>

/* What is foretold may be wrong by a quarter (cost.h), and a promise is to hold. */
#define ADMIT_MARGIN 1.25

/* Before an engine's cost is learnt it is what a warm-up said. */
#define ADMIT_MARGIN_YOUNG 2.0

/* Arrivals of each higher class that are reckoned with. */
#define ADMIT_BURSTS 2.0

/* While the gate or a pause keeps the class out nothing can be foretold: come again when that may have
 * changed. */
#define ADMIT_GATED_US 5000000u

/* What is foretold further ahead is worth little: by then others have come and gone. Ask again after that. */
#define ADMIT_RETRY_MOST_US 60000000u

#define ADMIT_LANES 16u
#define ADMIT_SEATS 64u

/* One who keeps its seat until its answer ends. */
struct seat {
    double ns;    /* of its prompt */
    double n_tok; /* of its answer, at most */
    double n_pages;
};

/* All that stands between a job and its tokens; times in ns on the chip. */
struct outlook {
    double before;  /* prompts that come first in any case: higher classes, promised deadlines, elder ones */
    double mine;    /* its account's part of that, and its own prompt */
    double others;  /* what the other accounts of its class get meanwhile */
    double rest;    /* all prompts of its class but its own */
    double answers; /* rows of answers in each step of its lane */
    double turns;   /* a step of each other lane that has answers of its class or above */
    double limit;   /* of a step of its lane, as answers with near deadlines need it */

    /* Until it has a seat. */
    int64_t
        n_seats; /* that it lacks: those who come first, and itself, less those free or given; 0 or below: none */
    double n_pages;                 /* likewise */
    struct seat seats[ADMIT_SEATS]; /* that come free when their answers end */
    uint32_t n_ends;
};

/* Whether a sibling or a stranger is before it: in the fair order, or as one whose deadline is near. */
enum order {
    ORDER_FAIR,
    ORDER_URGENT,
};

/* What is asked about. */
struct view {
    const struct queue *queue;
    const struct governor_limits *limits; /* of both places */
    uint64_t boot_us;
    const struct job *extra; /* one more job that is not in the queue, or NULL */
    enum order order;
};

struct foretold {
    double first_us;
    double finish_us;
    double step_us; /* how long one step may take that is under way */
};

/* It counts for others. */
static bool is_live(const struct job *job)
{
    return job->state != JOB_ENDED && !job->parked && !job->yields && job->lane && job->lane->page_tokens > 0;
}

static double prompt_ns(const struct job *job)
{
    const double *ns = job->lane->cost.ns;
    uint32_t n_rows = job_rows_left(job);

    if (job_decodes(job)) {
        return 0.0;
    }
    return n_rows * ns[COST_PREFILL_ROW] +
           plan_pages(job, n_rows, job->lane->page_tokens) * ns[COST_ATTEND_PAGE];
}

/* One row of its answer, when the answer has come halfway. */
static double answer_ns(const struct job *job)
{
    const double *ns = job->lane->cost.ns;
    double n_tok = job->n_known + job_tokens_left(job) * 0.5;

    if (job_tokens_left(job) == JOB_NO_END) {
        n_tok = job->n_known;
    }
    if (job->lane->n_context > 0 && n_tok > job->lane->n_context) {
        n_tok = job->lane->n_context; /* it slides */
    }
    return ns[COST_DECODE_ROW] + n_tok / job->lane->page_tokens * ns[COST_ATTEND_PAGE];
}

static bool is_promised(const struct job *other, const struct job *job)
{
    uint64_t other_us = queue_deadline_us(other);
    uint64_t job_us = queue_deadline_us(job);

    return other_us > 0 && (job_us == 0 || other_us <= job_us);
}

/* Adds @other's prompt to where it belongs; what is shared goes into its account's sum. */
static void add_prompt(struct outlook *outlook, const struct job *job, const struct job *other,
                       enum order order)
{
    double ns = prompt_ns(other);

    if (other->class > job->class) {
        outlook->before += ns;
        return;
    }
    if (other->class < job->class) {
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

/* That @job needs, or what its sequence was told to. */
static double pages_of(const struct job *job)
{
    uint64_t n_tok = job->n_most ? job->n_most : job->n_known;

    return job->n_pages > 0 ? job->n_pages : (double)num_div_up(n_tok, job->lane->page_tokens);
}

/* What @other's seat means to one who wants one: it is given now, or comes free with its answer. */
static void add_end(struct outlook *outlook, const struct job *job, const struct job *other)
{
    if (queue_gives_seat(job, other)) {
        outlook->n_seats--;
        outlook->n_pages -= other->n_pages;
    } else if (outlook->n_ends < ADMIT_SEATS) {
        uint32_t n_tok = job_tokens_left(other);

        outlook->seats[outlook->n_ends++] = (struct seat){
            .ns = prompt_ns(other),
            .n_tok = n_tok == JOB_NO_END ? QUEUE_SEAT_TOK : n_tok,
            .n_pages = other->n_pages,
        };
    }
}

/* @other wants a seat, and gets it before @job. */
static bool is_seated_first(const struct job *job, const struct job *other, enum order order)
{
    if (other->class != job->class) {
        return other->class > job->class;
    }
    return order == ORDER_FAIR || is_promised(other, job);
}

/* Adds what @other's seat and answer mean to @job. */
static void add_seat(struct outlook *outlook, const struct job *job, const struct job *other,
                     const struct view *view)
{
    bool gives_way = other->parked || other->yields;

    if (other->lane != job->lane) {
        return;
    }
    if (other->state == JOB_SEATED) {
        outlook->answers += !gives_way && job_tokens_left(other) > 0 ? answer_ns(other) : 0.0;
        add_end(outlook, job, other);
    } else if (!gives_way && is_seated_first(job, other, view->order)) {
        outlook->n_seats += other->state != JOB_OPENING && !other->owns_seat; /* those count as taken */
        outlook->n_pages += pages_of(other);
    }
    if (!gives_way && other->class >= job->class && other->finish_by_us > 0) {
        const double *ns = job->lane->cost.ns;
        double least_ns = ns[COST_FIXED] + job->lane->n_taken * ns[COST_DECODE_ROW];
        double pace_ns = fill_pace_ns(other, view->limits, view->boot_us, least_ns);

        outlook->limit = pace_ns < outlook->limit ? pace_ns : outlook->limit;
    }
}

/* A step of each lane but @job's that has answers of its class or above. */
static double turns_of(const struct queue *queue, const struct job *job)
{
    const struct lane *lanes[ADMIT_LANES];
    double ns = 0.0;
    struct list *link;
    uint32_t n = 0;

    for (size_t i = job->class; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *other = container_of(link, struct job, link);
            uint32_t at = 0;

            if (!is_live(other) || other->state != JOB_SEATED || other->lane == job->lane) {
                continue;
            }
            ns += answer_ns(other);
            while (at < n && lanes[at] != other->lane) {
                at++;
            }
            if (at == n && n < ADMIT_LANES) {
                lanes[n++] = other->lane;
                ns += other->lane->cost.ns[COST_FIXED];
            }
        }
    }
    return ns;
}

/* While @outlook->mine is computed the others of the class get as much as their weights say, or all they
 * have. */
static double shares_of(const struct queue *queue, const struct job *job, double mine)
{
    double unit = (double)account_unit(&job->limits);
    double ns = 0.0;
    struct list *link;

    list_for_each (link, &queue->jobs[job->class]) {
        const struct job *other = container_of(link, struct job, link);
        double part = mine * unit / (double)account_unit(&other->limits);

        if (other->account != job->account) {
            ns += other->account->sum_ns < part ? other->account->sum_ns : part;
            other->account->sum_ns = 0.0; /* counted once */
        }
    }
    return ns;
}

static bool has_seat(const struct job *job)
{
    return job->state == JOB_SEATED || job->state == JOB_OPENING || job->owns_seat;
}

static void outlook_init(struct outlook *outlook, const struct view *view, const struct job *job)
{
    const struct lane *lane = job->lane;
    const struct governor_limits *limits = &view->limits[lane->place];
    uint64_t n_pages_kept = 0; /* of sessions, that would be given up */
    uint32_t n_kept = queue_count_kept(view->queue, lane, &n_pages_kept);
    double n_free = (double)lane->n_pages * limits->kv_permille / 1000.0 - (double)lane->n_pages_promised +
                    (double)lane->n_pages_shared;

    *outlook = (struct outlook){ .limit = plan_target_ns(lane, limits) };
    if (!has_seat(job)) {
        outlook->n_seats = 1 - (int64_t)(lane->n_seats - lane->n_taken) - n_kept;
        outlook->n_pages = pages_of(job) - n_free - (double)n_pages_kept;
    }
    if (lane->n_pages == 0) {
        outlook->n_pages = -DBL_MAX;
    }
}

static void look_out(const struct view *view, const struct job *job, struct outlook *ret_outlook)
{
    const struct queue *queue = view->queue;
    const struct job *extra = view->extra;
    struct list *link;

    outlook_init(ret_outlook, view, job);
    list_for_each (link, &queue->jobs[job->class]) {
        container_of(link, struct job, link)->account->sum_ns = 0.0;
    }
    if (extra) {
        extra->account->sum_ns = 0.0;
        add_prompt(ret_outlook, job, extra, view->order);
        add_seat(ret_outlook, job, extra, view);
        ret_outlook->answers += extra->lane == job->lane ? answer_ns(extra) : 0.0;
    }
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *other = container_of(link, struct job, link);

            if (other == job || other == extra || other->state == JOB_ENDED || !other->lane) {
                continue;
            }
            add_seat(ret_outlook, job, other, view);
            if (!other->parked && !other->yields) {
                add_prompt(ret_outlook, job, other, view->order);
            }
        }
    }
    ret_outlook->mine += prompt_ns(job);
    ret_outlook->others = shares_of(queue, job, ret_outlook->mine);
    ret_outlook->turns = turns_of(queue, job);
}

static double end_ns(const struct seat *seat, double step_ns)
{
    return seat->ns + seat->n_tok * step_ns;
}

/* Until as many answers have ended as there are seats and pages lacking; each goes on in every step. */
static double seat_ns(struct outlook *outlook, double step_ns)
{
    double ns = 0.0;
    double all_ns = 0.0;
    uint32_t n;

    for (n = 0; n < outlook->n_ends && (outlook->n_seats > 0 || outlook->n_pages > 0.0); n++) {
        uint32_t next = n;

        for (uint32_t i = n + 1; i < outlook->n_ends; i++) {
            next = end_ns(&outlook->seats[i], step_ns) < end_ns(&outlook->seats[next], step_ns) ? i : next;
        }
        ns = end_ns(&outlook->seats[next], step_ns);
        all_ns += ns;
        outlook->n_seats--;
        outlook->n_pages -= outlook->seats[next].n_pages;
        outlook->seats[next] = outlook->seats[n];
    }
    /* More than one for each: behind those the next ones, which take as long. */
    return outlook->n_seats > 0 && n > 0 ? ns + (double)outlook->n_seats / n * all_ns / n : ns;
}

/* The rest of @job's answer behind its first token. */
static double answer_time_ns(const struct outlook *outlook, const struct job *job, double step_ns,
                             double piece_ns, double target_ns)
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
    /* A deadline that is near keeps those pieces small (plan.c), down to an even share of the time. */
    return beside_ns < alone_ns + rest_ns ? beside_ns : alone_ns + rest_ns;
}

static void foretell(const struct view *view, const struct job *job, struct foretold *ret_foretold)
{
    const struct lane *lane = job->lane;
    const struct governor_limits *bounds = &view->limits[lane->place];
    double duty = (bounds->duty_permille > 0 ? bounds->duty_permille : 1) / 1000.0;
    double least_ns = lane->cost.ns[COST_PREFILL_ROW];
    struct outlook outlook;
    double step_ns;
    double piece_ns;
    double first_ns;
    double n_steps;

    look_out(view, job, &outlook);
    step_ns = lane->cost.ns[COST_FIXED] + outlook.answers + outlook.turns;
    piece_ns = outlook.limit - lane->cost.ns[COST_FIXED] - outlook.answers;
    piece_ns = piece_ns > least_ns ? piece_ns : least_ns;
    first_ns = outlook.before + outlook.others + prompt_ns(job);
    n_steps = (double)(uint64_t)(first_ns / piece_ns) + 1.0;
    first_ns += n_steps * step_ns + seat_ns(&outlook, step_ns);
    if (job->has_first) {
        first_ns = 0.0;
    }
    *ret_foretold = (struct foretold){
        .first_us = first_ns / duty / 1000.0,
        .finish_us =
            (first_ns + answer_time_ns(&outlook, job, step_ns + answer_ns(job), piece_ns, outlook.limit)) /
            duty / 1000.0,
        .step_us = (outlook.limit > step_ns ? outlook.limit : step_ns) / duty / 1000.0,
    };
}

/* With what may go wrong, and what the account may spend. */
static void foretell_surely(const struct view *view, const struct job *job, struct foretold *ret_foretold)
{
    bool young = job->lane->cost.n_learnt < COST_YOUNG;
    double margin = young ? ADMIT_MARGIN_YOUNG : ADMIT_MARGIN;
    uint64_t n_rows = job_rows_left(job);
    uint32_t rate = job->limits.tokens_a_minute;
    double first_us = (double)account_until_us(job->account, rate, n_rows, view->boot_us);
    double finish_us =
        (double)account_until_us(job->account, rate, n_rows + job_tokens_left(job), view->boot_us);

    foretell(view, job, ret_foretold);
    ret_foretold->first_us = ret_foretold->first_us * margin + ret_foretold->step_us;
    ret_foretold->finish_us = ret_foretold->finish_us * margin + ret_foretold->step_us;
    ret_foretold->first_us = first_us > ret_foretold->first_us ? first_us : ret_foretold->first_us;
    ret_foretold->finish_us = finish_us > ret_foretold->finish_us ? finish_us : ret_foretold->finish_us;
}

static bool is_kept_out(const struct job *job, const struct governor_limits *limits)
{
    return !governor_lets_run(&limits[job->lane->place], job->class);
}

/* By how much @foretold misses @job's deadlines; 0 or below: not at all. */
static double late_us(const struct job *job, const struct foretold *foretold, uint64_t boot_us)
{
    double first_us = foretold->first_us - ((double)job->first_by_us - (double)boot_us);
    double finish_us = foretold->finish_us - ((double)job->finish_by_us - (double)boot_us);

    if (job->first_by_us == 0 || job->has_first) {
        return job->finish_by_us ? finish_us : 0.0;
    }
    return job->finish_by_us && finish_us > first_us ? finish_us : first_us;
}

void admit_look(struct queue *queue, const struct governor_limits *limits, uint64_t boot_us)
{
    const struct view view = { .queue = queue, .limits = limits, .boot_us = boot_us, .order = ORDER_FAIR };
    struct list *link;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            struct job *job = container_of(link, struct job, link);
            struct foretold foretold;

            job->urgent = false;
            job->due_boot_us = queue_deadline_us(job);
            if (job->due_boot_us > 0 && is_live(job)) {
                foretell_surely(&view, job, &foretold);
                job->urgent = late_us(job, &foretold, boot_us) > 0.0;
            }
        }
    }
}

/* By how much @job would make the worst of the promises late that hold without it. */
static double breaks_us(const struct view *view, const struct job *job)
{
    const struct queue *queue = view->queue;
    struct view with_job = *view;
    double worst_us = 0.0;
    struct list *link;

    with_job.extra = job;
    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_for_each (link, &queue->jobs[i]) {
            const struct job *other = container_of(link, struct job, link);
            struct foretold with;
            struct foretold without;
            double late;

            if (other == job || !is_live(other) || queue_deadline_us(other) == 0) {
                continue;
            }
            foretell_surely(&with_job, other, &with);
            late = late_us(other, &with, view->boot_us);
            if (late <= worst_us) {
                continue;
            }
            foretell_surely(view, other, &without);
            worst_us = late_us(other, &without, view->boot_us) <= 0.0 ? late : worst_us;
        }
    }
    return worst_us;
}

static int never(const struct job *job, struct admit_verdict *ret_verdict)
{
    const struct lane *lane = job->lane;
    uint64_t n_most = job->n_most ? job->n_most : job->n_prompt;
    uint64_t n_pages;

    if (lane->n_context > 0 && job->n_prompt >= lane->n_context) {
        ret_verdict->bound = ADMIT_CONTEXT;
        ret_verdict->n_needs = job->n_prompt + 1;
        ret_verdict->n_has = lane->n_context;
        return ADMIT_NEVER;
    }
    n_most = lane->n_context ? num_min(n_most, lane->n_context) : n_most;
    n_pages = num_div_up(n_most, lane->page_tokens);
    if (lane->n_pages > 0 && n_pages > lane->n_pages) {
        ret_verdict->bound = ADMIT_PAGES;
        ret_verdict->n_needs = (uint32_t)n_pages;
        ret_verdict->n_has = lane->n_pages;
        return ADMIT_NEVER;
    }
    return ADMIT_OK;
}

/* @us as a whole number that fits. */
static uint64_t whole_us(double us)
{
    return us < (double)(UINT64_MAX / 2) ? (uint64_t)(us > 0.0 ? us : 0.0) : ADMIT_NO_TIME;
}

/* The refusal: which deadline, and when it could be met. */
static int refuse(const struct job *job, const struct governor_limits *limits, double late, uint64_t boot_us,
                  struct admit_verdict *ret_verdict)
{
    struct queue nobody = { 0 };
    const struct view view = {
        .queue = &nobody, .limits = limits, .boot_us = boot_us, .order = ORDER_URGENT
    };
    uint64_t first_by_us = job->first_by_us > boot_us ? job->first_by_us - boot_us : 0;
    uint64_t finish_by_us = job->finish_by_us > boot_us ? job->finish_by_us - boot_us : 0;
    struct foretold alone;

    for (size_t i = 0; i < SCHED_CLASS_COUNT; i++) {
        list_init(&nobody.jobs[i]);
    }
    list_init(&nobody.kept);
    ret_verdict->is_first = job->first_by_us > 0 && ret_verdict->first_us > first_by_us;
    ret_verdict->deadline_us = ret_verdict->is_first || job->finish_by_us == 0 ? first_by_us : finish_by_us;
    if (is_kept_out(job, limits)) {
        ret_verdict->retry_us = ADMIT_GATED_US;
        return ADMIT_LATE;
    }
    foretell_surely(&view, job, &alone);
    /* What is ahead is worked off meanwhile, at the speed of the clock. */
    ret_verdict->retry_us =
        late_us(job, &alone, boot_us) > 0.0 ? 0 : num_min(whole_us(late) + 1, ADMIT_RETRY_MOST_US);
    return ADMIT_LATE;
}

/* Somebody of a higher class may come when it has been promised, and goes first: as much as such a one had lately. */
static double burst_us(const struct queue *queue, const struct job *job, const struct governor_limits *limits)
{
    uint32_t duty = limits[job->lane->place].duty_permille;
    double ns = 0.0;

    for (size_t i = (size_t)job->class + 1; i < SCHED_CLASS_COUNT; i++) {
        ns += queue->burst_ns[i];
    }
    return ADMIT_BURSTS * ns / (duty > 0 ? duty : 1);
}

int admit_ask(const struct queue *queue, const struct job *job, const struct governor_limits *limits,
              uint64_t boot_us, struct admit_verdict *ret_verdict)
{
    const struct view view = { .queue = queue, .limits = limits, .boot_us = boot_us, .order = ORDER_URGENT };
    struct foretold foretold;
    double late = 0.0;

    *ret_verdict = (struct admit_verdict){ 0 };
    if (!job->lane || job->lane->page_tokens == 0) {
        return ADMIT_OK; /* its engine is not there yet: nothing is known */
    }
    if (never(job, ret_verdict)) {
        return ADMIT_NEVER;
    }
    if (is_kept_out(job, limits)) {
        ret_verdict->first_us = ADMIT_NO_TIME;
        ret_verdict->finish_us = ADMIT_NO_TIME;
        return queue_deadline_us(job) ? refuse(job, limits, 0.0, boot_us, ret_verdict) : ADMIT_OK;
    }
    foretell_surely(&view, job, &foretold);
    if (queue_deadline_us(job) > 0) {
        double broken = breaks_us(&view, job);
        double burst = burst_us(queue, job, limits);

        /* Promised to others: it would have to come after them. */
        foretold.first_us = (foretold.first_us + broken + burst) * queue->caution[job->class];
        foretold.finish_us = (foretold.finish_us + broken + burst) * queue->caution[job->class];
        late = late_us(job, &foretold, boot_us);
        late = late > broken ? late : broken;
    }
    ret_verdict->first_us = whole_us(foretold.first_us);
    ret_verdict->finish_us = whole_us(foretold.finish_us);
    return late > 0.0 ? refuse(job, limits, late, boot_us, ret_verdict) : ADMIT_OK;
}
