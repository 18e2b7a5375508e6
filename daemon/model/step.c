/*
 * Step: entries to rows, rows through the program, logits to tokens
 *
 * The cursor has two stages: the parts of the program, then the results of the entries, one after the other (result.c).
 * Between two pieces of work of either stage the caller is asked whether to go on. Nothing of a sequence changes before
 * its result is made, so a dropped step leaves no trace.
 *
 * Two steps do not affect each other: each has its own activations, tables and results, no sequence is in both, and
 * what their sequences share (full pages of a prefix) is no longer written.
 */
#include "model/step.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "model/ngram.h"
#include "model/prefix.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

/*
 * Target time of a submission: short enough that a Stop or a Suspend is seen at once, long enough that polling costs
 * nothing. The number of parts follows their speed.
 */
#define SUBMISSION_US_LEAST 500
#define SUBMISSION_US_MOST  2000

#define WAIT_MS 1000 /* bound of one wait; a lost device ends it with a fault */

/* Legal moves of a step. */
#define TO(state) (1u << (state))
static const uint32_t moves[STEP_STATE_COUNT] = {
    [STEP_NONE] = TO(STEP_BEGUN),
    [STEP_BEGUN] = TO(STEP_RUNNING) | TO(STEP_NONE),
    [STEP_RUNNING] = TO(STEP_NONE),
};
#undef TO

_Static_assert(STEP_SAMPLE <= EXEC_PHASES, "a phase of a program is a tag of its ops");

static void move(struct step *step, enum step_state to)
{
    bool is_legal = moves[step->state] & (1u << to);

    assert(is_legal);
    (void)is_legal;
    step->state = to;
}

int step_create(struct model *model, struct step *step)
{
    step->shares = mem_calloc(MEM_SCRATCH, model->n_sequences, sizeof(*step->shares));
    step->results = mem_calloc(MEM_SCRATCH, model->n_sequences, sizeof(*step->results));
    step->tokens = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->tokens));
    step->positions = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->positions));
    step->pages = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->pages));
    step->states = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->states));
    step->wanted = mem_calloc(MEM_SCRATCH, model->n_sequences, sizeof(*step->wanted));
    step->n_parts = 1;
    if (!step->shares || !step->results || !step->tokens || !step->positions || !step->pages || !step->states ||
        !step->wanted) {
        return err_new(-ENOMEM);
    }
    return err_up(sample_scratch_create(&step->sampling, model->params.n_tokens));
}

void step_finish(struct step *step)
{
    sample_scratch_destroy(step->sampling);
    mem_free(step->shares);
    mem_free(step->results);
    mem_free(step->tokens);
    mem_free(step->positions);
    mem_free(step->pages);
    mem_free(step->states);
    mem_free(step->wanted);
    *step = (struct step){ .state = STEP_NONE };
}

/* ---- beginning ---- */

static struct step *find_step(struct model *model, uint64_t id)
{
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        if (model->steps[i].state != STEP_NONE && model->steps[i].id == id) {
            return &model->steps[i];
        }
    }
    return NULL;
}

static struct step *find_place(struct model *model)
{
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        if (model->steps[i].state == STEP_NONE) {
            return &model->steps[i];
        }
    }
    return NULL;
}

/* Refuses a step that may be begun, but not beside those that are. */
static int check_begun(struct model *model, const struct step_entry *entries, uint32_t n_entries, struct diag *diag)
{
    if (!find_place(model)) {
        diag_set(diag, "%d steps are begun already", STEP_MAX);
        return STEP_BUSY;
    }
    for (uint32_t i = 0; i < n_entries; i++) {
        const struct seq *seq = seq_find(model, entries[i].seq);

        if (seq && seq->is_in_step) {
            diag_set(diag, "sequence %u is in a begun step", entries[i].seq);
            return STEP_BUSY;
        }
    }
    return 0;
}

static int check_entries(const struct model *model, const struct step_entry *entries, uint32_t n_entries,
                         struct diag *diag)
{
    uint64_t n_rows = 0;

    if (n_entries == 0 || n_entries > model->n_sequences) {
        diag_set(diag, "a step of %u entries; 1 to %u are allowed", n_entries, model->n_sequences);
        return STEP_REFUSED;
    }
    for (uint32_t i = 0; i < n_entries; i++) {
        if ((entries[i].n_prefill > 0) == (entries[i].n_decode > 0)) {
            diag_set(diag, "entry %u wants both rows and tokens, or neither", i);
            return STEP_REFUSED;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (entries[j].seq == entries[i].seq) {
                diag_set(diag, "sequence %u is listed twice in a step", entries[i].seq);
                return STEP_REFUSED;
            }
        }
        if (entries[i].n_decode > STEP_TOKENS_MAX) {
            diag_set(diag, "entry %u wants %u tokens; at most %d are sampled", i, entries[i].n_decode, STEP_TOKENS_MAX);
            return STEP_REFUSED;
        }
        n_rows += entries[i].n_prefill ? entries[i].n_prefill : entries[i].n_decode;
    }
    if (n_rows > model->n_rows) {
        diag_set(diag, "a step of %llu rows; this engine was set up for %u", (unsigned long long)n_rows, model->n_rows);
        return STEP_REFUSED;
    }
    return 0;
}

/* Limits @n_rows so that the watched ones fit among the wanted rows, with one left for each later entry. */
static uint32_t limit_watched(const struct model *model, const struct step *step, const struct step_share *share,
                              uint32_t n_rows)
{
    const struct seq *seq = share->seq;
    uint32_t n_later = step->n_entries - 1 - (uint32_t)(share - step->shares);
    uint64_t n_unwatched = seq->watch_from > seq->n_done ? seq->watch_from - seq->n_done : 0;

    return (uint32_t)num_min(n_rows, n_unwatched + model->n_sequences - step->n_wanted - n_later);
}

/* Marks row @row of the step, one of @share's, as wanted if it is watched. */
static void want_watched(struct step *step, struct step_share *share, uint32_t row)
{
    if (share->seq->watch && step->positions[row] >= share->seq->watch_from) {
        share->watched = share->n_watched++ ? share->watched : step->n_wanted;
        step->wanted[step->n_wanted++] = row;
    }
}

/* Drafts the tokens behind the entry's last known one, into the step's next rows but @n_rows. Returns their number:
 * no more than fit among the wanted rows, with one left for this entry and each later one, and into the sequence. */
static uint32_t draft(const struct model *model, struct step *step, const struct step_entry *entry,
                      const struct step_share *share, uint32_t n_rows)
{
    const struct seq *seq = share->seq;
    uint32_t n_later = step->n_entries - 1 - (uint32_t)(share - step->shares);
    uint32_t n_most = entry->n_decode;

    if (n_most < 2 || n_rows != 1 || seq->watch || seq->pooling || seq->params.logprobs || seq->params.n_top > 0 ||
        model->states.mem) {
        return 0;
    }
    n_most = (uint32_t)num_min(n_most - 1, model->n_sequences - step->n_wanted - 1 - n_later);
    n_most = (uint32_t)num_min(n_most, model->n_context - 1 - num_min(seq->n_known, model->n_context - 1));
    return ngram_draft(seq->tokens, seq->n_known, n_most, &step->tokens[step->n_rows + n_rows]);
}

/* Adds a row of @seq to the step. */
static void add_row(struct step *step, const struct seq *seq, uint32_t position, uint32_t token)
{
    step->tokens[step->n_rows] = token;
    step->positions[step->n_rows] = position;
    step->pages[step->n_rows] = seq->pages.list;
    step->states[step->n_rows++] = seq->state;
}

/* Adds the entry's rows of @seq to the step and decides the outcome as far as it can be known. 0 or a fault. */
static int share_rows(struct model *model, struct step *step, const struct step_entry *entry, struct step_share *share)
{
    struct seq *seq = share->seq;
    int r = prefix_own(model, seq);
    uint32_t n_left = seq->n_known - seq->n_done;
    uint32_t n_rows = (uint32_t)num_min(entry->n_prefill ? entry->n_prefill : 1, n_left);
    uint32_t n_drafts;
    bool reaches;

    assert(n_left > 0 || seq->pooling);
    if (r < 0) {
        return err_up(r);
    }
    n_rows = seq->watch ? limit_watched(model, step, share, n_rows) : n_rows;
    reaches = n_rows == n_left;
    if (r == KV_NO_PAGES || (reaches && seq->n_known >= model->n_context && !seq->pooling) ||
        kv_pages_grow(&model->kv, &seq->pages, seq->n_done + n_rows) != KV_OK) {
        share->outcome = STEP_ENTRY_NO_ROOM;
        return 0;
    }
    n_drafts = reaches ? draft(model, step, entry, share, n_rows) : 0;
    if (kv_pages_grow(&model->kv, &seq->pages, seq->n_done + n_rows + n_drafts) != KV_OK) {
        n_drafts = 0;
    }
    share->first = step->n_rows;
    share->n_rows = n_rows;
    share->n_drafts = n_drafts;
    for (uint32_t i = 0; i < n_rows; i++) {
        add_row(step, seq, seq->n_done + i, seq->tokens[seq->n_done + i]);
        want_watched(step, share, step->n_rows - 1);
    }
    if (reaches && share->n_watched > 0) {
        share->wanted = step->n_wanted - 1;
    } else if (reaches && !seq->pooling) {
        share->wanted = step->n_wanted;
        step->wanted[step->n_wanted++] = step->n_rows - 1;
    }
    for (uint32_t i = 0; i < n_drafts; i++) {
        add_row(step, seq, seq->n_done + n_rows + i, step->tokens[step->n_rows]);
        step->wanted[step->n_wanted++] = step->n_rows - 1;
    }
    /* A prefill piece that ends before the prompt does is complete; a decode that could not reach its token is not. */
    share->outcome = reaches || n_rows == entry->n_prefill ? STEP_ENTRY_DONE : STEP_ENTRY_UNFINISHED;
    return 0;
}

static int take_entries(struct model *model, struct step *step, const struct step_entry *entries, uint32_t n_entries)
{
    int r;

    step->n_entries = n_entries;
    step->n_rows = 0;
    step->n_wanted = 0;
    step->n_made = 0;
    step->stage = RESULT_NEW;
    step->is_fetched = false;
    for (uint32_t i = 0; i < n_entries; i++) {
        struct step_share *share = &step->shares[i];

        *share = (struct step_share){ .seq = seq_find(model, entries[i].seq), .wanted = STEP_NOT_WANTED };
        step->results[i] = (struct step_result){ .seq = entries[i].seq };
        if (!share->seq) {
            share->outcome = STEP_ENTRY_UNKNOWN;
            continue;
        }
        share->seq->is_in_step = true;
        if (share->seq->is_stopped) {
            share->outcome = STEP_ENTRY_STOPPED;
            continue;
        }
        r = share_rows(model, step, &entries[i], share);
        if (r) {
            return err_up(r);
        }
    }
    return 0;
}

static struct model_program *find_program(struct step *step, uint32_t n_rows)
{
    for (uint32_t i = 0; i < step->n_programs; i++) {
        if (step->programs[i].n_rows >= n_rows) {
            return &step->programs[i];
        }
    }
    return NULL;
}

int step_begin(struct model *model, uint64_t id, const struct step_entry *entries, uint32_t n_entries,
               struct diag *diag)
{
    struct step *step = find_place(model);
    int r = check_entries(model, entries, n_entries, diag);

    if (!r && find_step(model, id)) {
        diag_set(diag, "step %llu is begun already", (unsigned long long)id);
        r = STEP_REFUSED;
    }
    r = r ? r : check_begun(model, entries, n_entries, diag);
    if (r) {
        return r;
    }
    seq_free_closed(model);
    step->id = id;
    r = take_entries(model, step, entries, n_entries);
    if (r) {
        return err_up(r);
    }
    step->report = (struct step_report){ .results = step->results, .n_results = n_entries };
    step->program = step->n_rows ? find_program(step, step->n_rows) : NULL;
    if (step->program) {
        r = exec_bind(step->program->exec, &(struct exec_batch){ .n_rows = step->n_rows,
                                                                 .tokens = step->tokens,
                                                                 .positions = step->positions,
                                                                 .pages = step->pages,
                                                                 .states = step->states,
                                                                 .n_wanted = step->n_wanted,
                                                                 .wanted = step->wanted });
        if (r) {
            return err_up(r);
        }
    }
    move(step, STEP_BEGUN);
    return 0;
}

/* ---- stage one: parts ---- */

static void adapt(const struct model *model, struct step *step, uint64_t device_us)
{
    uint64_t most_us = model->bound_us ? num_min(model->bound_us, SUBMISSION_US_MOST) : SUBMISSION_US_MOST;

    if (device_us > most_us && step->n_parts > 1) {
        step->n_parts /= 2;
    } else if (device_us < num_min(most_us / 4, SUBMISSION_US_LEAST) && step->n_parts < model->n_parts_max) {
        step->n_parts *= 2;
    }
}

/* Runs a submission. Adds to *waited_us what it waited for others to leave the device. 0 or a fault. */
static int run_parts(struct model *model, struct step *step, uint64_t *waited_us)
{
    struct exec_program *program = step->program->exec;
    uint64_t began_us = clock_mono_us();
    struct exec_figures figures;
    uint64_t ticket;
    uint64_t took_us;
    uint64_t device_us;
    int r;

    r = exec_submit(program, step->n_parts, model->bound_us, &ticket);
    if (r) {
        return err_up(r);
    }
    do {
        r = exec_wait(model->exec, ticket, WAIT_MS);
    } while (r == EXEC_PENDING);
    if (r) {
        return err_up(r);
    }
    took_us = clock_mono_us() - began_us;
    exec_figures(program, &figures);
    device_us = num_min(figures.device_ns / 1000, took_us);
    model->pace.device_us = device_us;
    model->pace.estimated_us = figures.estimated_ns / 1000;
    for (uint32_t phase = 0; phase < STEP_SAMPLE; phase++) {
        step->report.phase_us[phase] = (uint32_t)(figures.phase_ns[phase] / 1000);
    }
    *waited_us += took_us - device_us;
    adapt(model, step, device_us);
    return 0;
}

/* Returns true if the results of all entries are unwanted. */
static bool all_stopped(const struct step *step)
{
    for (uint32_t i = 0; i < step->n_entries; i++) {
        if (step->shares[i].n_rows > 0 && !step->shares[i].seq->is_stopped) {
            return false;
        }
    }
    return true;
}

static bool parts_left(const struct step *step)
{
    return step->program && exec_is_left(step->program->exec);
}

/* Counts how often the weights of all products were read. A step that wants no logits reads a little less than all, and
 * counts as one pass. */
static void count_passes(struct step *step)
{
    struct exec_figures figures;

    if (step->program) {
        exec_figures(step->program->exec, &figures);
        step->report.n_weight_passes =
            (uint32_t)num_div_up(figures.weight_bytes, exec_weight_bytes(step->program->exec));
    }
}

static void end_step(struct model *model, struct step *step)
{
    for (uint32_t i = 0; i < step->n_entries; i++) {
        model->figures.n_rows += step->results[i].n_rows;
        model->figures.n_tokens += step->results[i].n_tokens;
        model->figures.n_drafts += step->shares[i].n_drafts;
        model->figures.n_drafts_accepted += step->shares[i].n_drafts - step->results[i].n_drafts;
        if (step->shares[i].seq) {
            prefix_publish(model, step->shares[i].seq);
            seq_leave_step(model, step->shares[i].seq);
        }
    }
    model->figures.n_steps++;
    model->figures.n_weight_passes += step->report.n_weight_passes;
    model->figures.n_step_allocs += step->report.n_allocs;
    move(step, STEP_NONE);
}

/* ---- running ---- */

/* Does one piece of work: a submission, or a piece of an entry's result. */
static int run_piece(struct model *model, struct step *step)
{
    uint64_t n_allocs = mem_n_allocs();
    uint64_t began_us = clock_mono_us();
    uint64_t waited_us = 0;
    bool is_made = false;
    uint64_t took_us;
    int r;

    model->pace.device_us = 0;
    model->pace.estimated_us = 0;
    if (step->stage == RESULT_NEW && parts_left(step) && !all_stopped(step)) {
        r = run_parts(model, step, &waited_us);
    } else {
        r = result_go(model, step, !parts_left(step), &is_made);
        step->n_made += is_made;
        step->report.phase_us[STEP_SAMPLE] += (uint32_t)(clock_mono_us() - began_us);
    }
    took_us = clock_mono_us() - began_us;
    model->pace.waited_us += waited_us;
    step->report.device_us += took_us - num_min(waited_us, took_us);
    step->report.longest_us = num_max(step->report.longest_us, took_us);
    step->report.n_allocs += (uint32_t)(mem_n_allocs() - n_allocs);
    return r ? err_up(r) : 0;
}

int step_run(struct model *model, uint64_t id, step_poll_fn poll, void *owner, struct step_report *ret_report)
{
    struct step *step = find_step(model, id);
    int r;

    if (!step) {
        return err_new(-EINVAL);
    }
    if (step->state == STEP_BEGUN) {
        move(step, STEP_RUNNING);
    }
    model->pace = (struct step_pace){ 0 };
    while (step->n_made < step->n_entries) {
        r = run_piece(model, step);
        if (r) {
            return err_up(r);
        }
        if (step->n_made < step->n_entries && poll && !poll(owner)) {
            return STEP_SUSPENDED;
        }
    }
    count_passes(step);
    end_step(model, step);
    *ret_report = step->report;
    return STEP_DONE;
}

void step_bound(struct model *model, uint32_t bound_us)
{
    model->bound_us = bound_us;
}

void step_pace(const struct model *model, struct step_pace *ret_pace)
{
    *ret_pace = model->pace;
}

bool step_withdraw(struct model *model, uint64_t id)
{
    struct step *step = find_step(model, id);

    if (!step || step->state != STEP_BEGUN) {
        return false;
    }
    for (uint32_t i = 0; i < step->n_entries; i++) {
        if (step->shares[i].seq) {
            seq_leave_step(model, step->shares[i].seq);
        }
    }
    move(step, STEP_NONE);
    return true;
}
