/*
 * Steps of the fake model: a part is an entry, or a millisecond of a slow one
 */
#include "engine/fake.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "engine/engine.h"
#include <string.h>

/* Answers are made of this many ids, from five eighths of the vocabulary on: past control tokens and bytes in all
 * published vocabularies, and before what was added at their ends. */
#define ORDINARY_IDS 64

int step_begin(struct model *model, const struct step_entry *entries, uint32_t n_entries, struct diag *diag)
{
    uint64_t n_rows = 0;

    if (model->n_entries > 0) {
        diag_set(diag, "a step is begun already");
        return STEP_REFUSED;
    }
    for (uint32_t i = 0; i < n_entries; i++) {
        n_rows += num_max(entries[i].n_prefill, 1);
        for (uint32_t k = 0; k < i; k++) {
            if (entries[k].seq == entries[i].seq) {
                diag_set(diag, "sequence %u stands twice in a step", entries[i].seq);
                return STEP_REFUSED;
            }
        }
    }
    if (n_rows > model->n_rows || n_entries == 0) {
        diag_set(diag, "a step of %llu rows: 1 to %u are allowed", (unsigned long long)n_rows, model->n_rows);
        return STEP_REFUSED;
    }
    memcpy(model->entries, entries, n_entries * sizeof(*entries));
    model->n_entries = n_entries;
    model->at = 0;
    model->is_entered = false;
    model->run_us = 0;
    model->n_allocs = 0;
    return STEP_DONE;
}

void step_withdraw(struct model *model)
{
    model->n_entries = 0;
}

/* splitmix64's finaliser. */
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

/* Rows that the entry may compute, and whether a token is sampled after them. */
static uint32_t n_rows_of(const struct step_entry *entry, const struct fake_seq *seq, bool *ret_samples)
{
    uint32_t n_left = seq->n_known - seq->n_done;
    uint32_t n = (uint32_t)num_min(n_left, num_max(entry->n_prefill, 1));

    *ret_samples = n > 0 && n == n_left;
    return n;
}

/* The rules of the entry act; *ret_numeric as one of them says. 0 or a fault. */
static int act_on_entry(struct model *model, const struct step_entry *entry, const struct fake_seq *seq,
                        bool *ret_numeric)
{
    const struct script_rule *rule;
    bool samples;
    int64_t moment;
    size_t at = 0;
    int r = 0;

    n_rows_of(entry, seq, &samples);
    moment = samples ? (int64_t)seq->n_known + seq->n_slid - seq->n_prompt : SCRIPT_AT_ANY;
    while (seq->id != ENGINE_WARM_SEQ && r == 0 &&
           (rule = script_find(&model->script, seq->tokens, (uint32_t)num_min(seq->n_prompt, seq->n_known),
                               moment, &at))) {
        if (rule->action == SCRIPT_SLOW) {
            script_spend(&model->script, rule);
            model->slow_ms += rule->number;
        } else if (rule->action == SCRIPT_ALLOCATE) {
            script_spend(&model->script, rule);
            model->n_allocs++;
        } else if (rule->action == SCRIPT_NUMERIC && samples) {
            script_spend(&model->script, rule);
            *ret_numeric = true;
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
    result->outcome =
        n < entry->n_prefill || (entry->n_decode > 0 && !samples) ? STEP_ENTRY_UNFINISHED : STEP_ENTRY_DONE;
}

/* One entry from where the cursor stands. STEP_DONE, STEP_SUSPENDED, or a fault. */
static int run_entry(struct model *model, step_poll_fn poll, void *owner)
{
    const struct step_entry *entry = &model->entries[model->at];
    struct step_result *result = &model->results[model->at];
    struct fake_seq *seq = fake_find(model, entry->seq);
    bool goes_on = true;
    int r;

    if (!model->is_entered) {
        *result = (struct step_result){ .seq = entry->seq, .outcome = STEP_ENTRY_UNKNOWN };
        model->slow_ms = 0;
        model->numeric = false;
        model->is_entered = true;
        if (seq && !seq->is_stopped) {
            r = act_on_entry(model, entry, seq, &model->numeric);
            if (r) {
                return err_up(r);
            }
        }
    }
    while (goes_on && model->slow_ms > 0 && !(seq && seq->is_stopped)) {
        fake_nap_ms(1);
        model->slow_ms--;
        goes_on = poll(owner);
    }
    if (!goes_on) {
        return STEP_SUSPENDED;
    }
    if (seq) {
        compute(model, entry, seq, model->numeric, result);
    }
    model->is_entered = false;
    model->at++;
    return model->at == model->n_entries || poll(owner) ? STEP_DONE : STEP_SUSPENDED;
}

int step_run(struct model *model, step_poll_fn poll, void *owner, struct step_report *ret_report)
{
    uint64_t from_us = clock_mono_us();
    int r = STEP_DONE;

    while (r == STEP_DONE && model->at < model->n_entries) {
        r = run_entry(model, poll, owner);
    }
    model->run_us += clock_mono_us() - from_us;
    if (r) {
        return r;
    }
    *ret_report = (struct step_report){
        .results = model->results,
        .n_results = model->n_entries,
        .host_us = model->run_us,
        .n_weight_passes = 1,
        .n_allocs = model->n_allocs,
    };
    model->figures.n_step_allocs += model->n_allocs;
    model->figures.n_steps++;
    model->figures.n_weight_passes++;
    model->n_entries = 0;
    return STEP_DONE;
}
