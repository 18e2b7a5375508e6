/*
 * Steps of the fake model: a part is an entry, a millisecond of a slow one, or the wait of one that waits
 */
#include "engine/fake_model.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "engine/engine.h"
#include <errno.h>
#include <string.h>

/* Answers consist of this many ids, from five eighths of the vocabulary on: behind control tokens and bytes in all
 * published vocabularies, and before the added tokens at their ends. */
#define ORDINARY_IDS 64

/* Returns begun step @id, or a free slot if not @is_begun. */
static struct fake_step *find_step(struct model *model, uint64_t id, bool is_begun)
{
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        struct fake_step *step = &model->steps[i];

        if (is_begun ? step->n_entries > 0 && step->id == id : step->n_entries == 0) {
            return step;
        }
    }
    return NULL;
}

static int check_entries(struct model *model, const struct step_entry *entries, uint32_t n_entries, struct diag *diag)
{
    uint64_t n_rows = 0;

    for (uint32_t i = 0; i < n_entries; i++) {
        n_rows += num_max(entries[i].n_prefill, 1);
        for (uint32_t k = 0; k < i; k++) {
            if (entries[k].seq == entries[i].seq) {
                diag_set(diag, "sequence %u is listed twice in a step", entries[i].seq);
                return STEP_REFUSED;
            }
        }
    }
    if (n_rows > model->n_rows || n_entries == 0) {
        diag_set(diag, "a step of %llu rows: 1 to %u are allowed", (unsigned long long)n_rows, model->n_rows);
        return STEP_REFUSED;
    }
    for (uint32_t i = 0; i < n_entries; i++) {
        const struct fake_seq *seq = entries[i].seq ? fake_find(model, entries[i].seq) : NULL;

        if (seq && seq->is_in_step) {
            diag_set(diag, "sequence %u is in a begun step", entries[i].seq);
            return STEP_BUSY;
        }
    }
    return 0;
}

int step_begin(struct model *model, uint64_t id, const struct step_entry *entries, uint32_t n_entries,
               struct diag *diag)
{
    struct fake_step *step = find_step(model, 0, false);
    int r;

    if (find_step(model, id, true)) {
        diag_set(diag, "step %llu is begun already", (unsigned long long)id);
        return STEP_REFUSED;
    }
    r = check_entries(model, entries, n_entries, diag);
    if (r) {
        return r;
    }
    if (!step) {
        diag_set(diag, "%d steps are begun already", STEP_MAX);
        return STEP_BUSY;
    }
    memcpy(step->entries, entries, n_entries * sizeof(*entries));
    *step = (struct fake_step){ .id = id, .entries = step->entries, .results = step->results, .n_entries = n_entries };
    for (uint32_t i = 0; i < n_entries; i++) {
        struct fake_seq *seq = entries[i].seq ? fake_find(model, entries[i].seq) : NULL;

        if (seq) {
            seq->is_in_step = true;
        }
    }
    return STEP_DONE;
}

static void end_step(struct model *model, struct fake_step *step)
{
    for (uint32_t i = 0; i < step->n_entries; i++) {
        struct fake_seq *seq = step->entries[i].seq ? fake_find(model, step->entries[i].seq) : NULL;

        if (seq) {
            fake_leave_step(model, seq);
        }
    }
    step->n_entries = 0;
}

bool step_withdraw(struct model *model, uint64_t id)
{
    struct fake_step *step = find_step(model, id, true);

    if (!step || step->has_run) {
        return false;
    }
    end_step(model, step);
    return true;
}

void step_bound(struct model *model, uint32_t bound_us)
{
    /* A part is a millisecond or an entry, whatever the bound. */
}

void step_pace(const struct model *model, struct step_pace *ret_pace)
{
    *ret_pace = (struct step_pace){ .waited_us = model->waited_us };
}

/* Source: splitmix64's finaliser. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static bool is_never(const struct fake_seq *seq, uint32_t id)
{
    for (size_t i = 0; i < seq->n_never; i++) {
        if (seq->never[i] == id) {
            return true;
        }
    }
    return false;
}

static uint32_t choose(const struct model *model, const struct fake_seq *seq)
{
    const uint32_t first = (uint32_t)((uint64_t)model->facts.n_vocab * 5 / 8);
    const uint32_t n = (uint32_t)num_min(ORDINARY_IDS, model->facts.n_vocab - first);
    const uint32_t n_answer = seq->n_known + seq->n_slid - seq->n_prompt;
    uint64_t hash = mix(seq->seed + 1);

    if (seq->list && n_answer < seq->list->n_tokens) {
        return seq->list->tokens[n_answer] % model->facts.n_vocab;
    }
    for (uint32_t i = 0; i < seq->n_known; i++) {
        hash = mix(hash ^ seq->tokens[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = first + (uint32_t)((hash + i) % n);

        if (!is_never(seq, id)) {
            return id;
        }
    }
    return first;
}

static void sample(struct model *model, struct fake_seq *seq, struct step_result *result)
{
    uint32_t id = choose(model, seq);

    seq->tokens[seq->n_known++] = id;
    result->n_tokens = 1;
    result->tokens[0] = id;
    result->logprob = -1;
    result->n_top = (uint32_t)num_min(seq->n_top, model->facts.n_vocab);
    result->top_ids = seq->top_ids;
    result->top_logprobs = seq->top_logprobs;
    for (uint32_t i = 0; i < result->n_top; i++) {
        seq->top_ids[i] = (id + i) % model->facts.n_vocab;
        seq->top_logprobs[i] = -1.0F - (float)i;
    }
    model->figures.n_tokens++;
}

/* Returns the rows that the entry may compute, and whether a token is sampled after them. */
static uint32_t n_rows_of(const struct step_entry *entry, const struct fake_seq *seq, bool *ret_samples)
{
    uint32_t n_left = seq->n_known - seq->n_done;
    uint32_t n = (uint32_t)num_min(n_left, num_max(entry->n_prefill, 1));

    *ret_samples = n > 0 && n == n_left;
    return n;
}

/* Lets the rules of the entry act. 0 or a fault. */
static int act_on_entry(struct model *model, struct fake_step *step, const struct step_entry *entry,
                        const struct fake_seq *seq)
{
    const struct script_rule *rule;
    bool samples;
    int64_t moment;
    size_t at = 0;
    int r = 0;

    n_rows_of(entry, seq, &samples);
    moment = samples ? (int64_t)seq->n_known + seq->n_slid - seq->n_prompt : SCRIPT_AT_ANY;
    while (seq->id != ENGINE_WARM_SEQ && r == 0 &&
           (rule = script_find(&model->script, seq->tokens, (uint32_t)num_min(seq->n_prompt, seq->n_known), moment,
                               &at))) {
        if (rule->action == SCRIPT_SLOW) {
            script_spend(&model->script, rule);
            step->slow_ms += rule->number;
        } else if (rule->action == SCRIPT_WAIT) {
            script_spend(&model->script, rule);
            step->wait_ms += rule->number;
        } else if (rule->action == SCRIPT_ALLOCATE) {
            script_spend(&model->script, rule);
            step->n_allocs++;
        } else if (rule->action == SCRIPT_NUMERIC && samples) {
            script_spend(&model->script, rule);
            step->numeric = true;
        } else {
            r = fake_act(&model->script, rule);
        }
    }
    return r;
}

static void compute(struct model *model, const struct step_entry *entry, struct fake_seq *seq, bool numeric,
                    struct step_result *result)
{
    const uint32_t n_room = (uint32_t)num_min((uint64_t)seq->n_pages * FAKE_PAGE_TOK, model->facts.n_context);
    bool samples;
    uint32_t n = n_rows_of(entry, seq, &samples);

    if (seq->is_stopped) {
        result->outcome = STEP_ENTRY_STOPPED;
        return;
    }
    if (n == 0) {
        result->outcome = STEP_ENTRY_UNFINISHED;
        return;
    }
    if (seq->n_done + n > n_room) {
        result->outcome = STEP_ENTRY_NO_ROOM;
        return;
    }
    seq->n_done += n;
    result->n_rows = n;
    model->figures.n_rows += n;
    if (samples && numeric) {
        result->outcome = STEP_ENTRY_NUMERIC;
        return;
    }
    if (samples) {
        sample(model, seq, result);
    }
    result->outcome = samples || n == entry->n_prefill ? STEP_ENTRY_DONE : STEP_ENTRY_UNFINISHED;
}

/* Lets a part of @ms pass. Returns the microseconds that it took. */
static uint64_t nap(struct fake_step *step, uint32_t ms)
{
    uint64_t from_us = clock_mono_us();
    uint64_t took_us;

    fake_nap_ms(ms);
    took_us = clock_mono_us() - from_us;
    step->longest_us = num_max(step->longest_us, took_us);
    return took_us;
}

/* Runs one entry from the cursor on. STEP_DONE, STEP_SUSPENDED, or a fault. */
static int run_entry(struct model *model, struct fake_step *step, step_poll_fn poll, void *owner)
{
    const struct step_entry *entry = &step->entries[step->at];
    struct step_result *result = &step->results[step->at];
    struct fake_seq *seq = entry->seq ? fake_find(model, entry->seq) : NULL;
    bool goes_on = true;
    int r;

    if (!step->is_entered) {
        *result = (struct step_result){ .seq = entry->seq, .outcome = STEP_ENTRY_UNKNOWN };
        step->slow_ms = 0;
        step->wait_ms = 0;
        step->numeric = false;
        step->is_entered = true;
        if (seq && !seq->is_stopped) {
            r = act_on_entry(model, step, entry, seq);
            if (r) {
                return err_up(r);
            }
        }
    }
    if (step->wait_ms > 0) {
        model->waited_us += nap(step, step->wait_ms);
        step->wait_ms = 0;
        goes_on = poll(owner);
    }
    while (goes_on && step->slow_ms > 0 && !(seq && seq->is_stopped)) {
        nap(step, 1);
        step->slow_ms--;
        goes_on = poll(owner);
    }
    if (!goes_on) {
        return STEP_SUSPENDED;
    }
    if (seq) {
        compute(model, entry, seq, step->numeric, result);
    }
    step->is_entered = false;
    step->at++;
    return step->at == step->n_entries || poll(owner) ? STEP_DONE : STEP_SUSPENDED;
}

int step_run(struct model *model, uint64_t id, step_poll_fn poll, void *owner, struct step_report *ret_report)
{
    struct fake_step *step = find_step(model, id, true);
    uint64_t from_us = clock_mono_us();
    int r = STEP_DONE;

    if (!step) {
        return err_new(-EINVAL);
    }
    step->has_run = true;
    model->waited_us = 0;
    while (r == STEP_DONE && step->at < step->n_entries) {
        r = run_entry(model, step, poll, owner);
    }
    step->device_us += clock_mono_us() - from_us - model->waited_us;
    if (r) {
        return r;
    }
    *ret_report = (struct step_report){
        .results = step->results,
        .n_results = step->n_entries,
        .device_us = step->device_us,
        .longest_us = step->longest_us,
        .n_weight_passes = 1,
        .n_allocs = step->n_allocs,
    };
    model->figures.n_step_allocs += step->n_allocs;
    model->figures.n_steps++;
    model->figures.n_weight_passes++;
    end_step(model, step);
    return STEP_DONE;
}
