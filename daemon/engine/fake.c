/*
 * Fake: a model without weights, for tests of all that stands above one
 *
 * It stands in daemon/model's place when sotto-fake-engine is linked, so that the engine around it (socket, orders,
 * suspension) is the real one. Pages and rows are counted as a model counts them. A token is a hash of all tokens
 * before it and, above temperature 0, of the seed: the same request has the same answer whatever runs beside it.
 * What else happens is played from a script (script.h).
 */
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "engine/engine.h"
#include "engine/script.h"
#include "gguf/gguf.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define PAGE_TOK 16

/* As many as a small model has, so that pools in tests are some kilobytes. */
#define TOKEN_BYTES    256
#define DEFAULT_PAGES  1024
#define TRAINED_TOK    2048
#define HEAD_BYTES_MAX ((size_t)64 << 20)

/* Answers are made of this many ids, from five eighths of the vocabulary on: past control tokens and bytes in all
 * published vocabularies, and before what was added at their ends. */
#define ORDINARY_IDS 64

/* The socket to sottod, for what the engine would never say. */
#define SOTTOD_FD 3

struct fake_seq {
    uint32_t id;      /* 0: the place is empty */
    uint32_t *tokens; /* owned; room for all that was promised */
    uint32_t n_prompt;
    uint32_t n_known;
    uint32_t n_done;
    uint32_t n_pages;
    bool is_stopped;
    uint64_t seed;   /* 0 when greedy */
    uint32_t *never; /* owned */
    size_t n_never;
    uint32_t n_top;
    uint32_t *top_ids; /* owned, n_top */
    float *top_logprobs;
    const struct script_rule *list; /* tokens to say first, or NULL */
};

struct model {
    struct script script;
    struct model_facts facts;
    struct model_figures figures;
    uint32_t n_pages_allowed;
    struct fake_seq *seqs; /* owned, n_seqs places */
    uint32_t n_seqs;
    uint32_t n_rows;
    struct step_entry *entries; /* owned, n_rows places; of the begun step */
    struct step_result *results;
    uint32_t n_entries; /* 0: no step is begun */
    uint32_t at;        /* the entry that the cursor stands at */
    bool is_entered;    /* its rules have acted */
    uint32_t slow_ms;   /* that it still takes */
    bool numeric;       /* it samples nothing */
    uint64_t run_us;    /* of this step, so far */
};

/* ---- acting */

static void nap_ms(uint32_t ms)
{
    const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    nanosleep(&nap, NULL);
}

/* What needs no more than the process. 0, or a fault that ends the engine. */
static int act(const struct script *script, const struct script_rule *rule)
{
    static const char garbage[] = "\xff\xff\xff\xff this is no frame";

    script_spend(script, rule);
    switch (rule->action) {
    case SCRIPT_CRASH:
        abort();
    case SCRIPT_KILL:
        raise(SIGKILL);
        return 0;
    case SCRIPT_EXIT:
        _exit(3);
    case SCRIPT_HANG:
        for (;;) {
            nap_ms(1000);
        }
    case SCRIPT_GARBAGE:
        send(SOTTOD_FD, garbage, sizeof(garbage), MSG_NOSIGNAL);
        return 0;
    case SCRIPT_FAULT:
        log_error("engine", "%s", rule->text);
        return err_new(-EIO);
    case SCRIPT_TOKENS:
    case SCRIPT_SLOW:
    case SCRIPT_STALL:
    case SCRIPT_NUMERIC:
    case SCRIPT_HOPELESS:
    case SCRIPT_REFUSE:
    case SCRIPT_ACTION_COUNT:
        return 0;
    }
    return 0;
}

/* ---- the model */

static int act_on_load(const struct model *model, struct diag *diag)
{
    const struct script_rule *rule;
    size_t at = 0;

    while ((rule = script_find(&model->script, NULL, 0, SCRIPT_AT_ANY, &at))) {
        switch (rule->action) {
        case SCRIPT_FAULT:
            diag_set(diag, "%s", rule->text);
            return act(&model->script, rule);
        case SCRIPT_HOPELESS:
            script_spend(&model->script, rule);
            diag_set(diag, "%s", rule->text);
            return MODEL_REFUSED;
        case SCRIPT_SLOW:
        case SCRIPT_STALL:
            nap_ms(rule->number);
            break;
        default:
            act(&model->script, rule);
            break;
        }
    }
    return MODEL_OK;
}

/* The size of the file's token list. */
static int read_vocab(struct model *model, int fd, struct diag *diag)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    const struct gguf_key *key;
    int r;

    model->facts.n_vocab = model->script.n_vocab;
    if (model->facts.n_vocab > 0) {
        return MODEL_OK;
    }
    r = gguf_read_head(&gguf, fd, HEAD_BYTES_MAX, diag);
    if (r < 0) {
        return err_up(r);
    }
    if (r != GGUF_OK) {
        return MODEL_REFUSED;
    }
    key = gguf_find_key(gguf, "tokenizer.ggml.tokens");
    if (!key || key->type != GGUF_ARRAY || key->n == 0 || key->n > UINT32_MAX) {
        diag_set(diag, "tokenizer.ggml.tokens: the file has no list of tokens");
        return MODEL_REFUSED;
    }
    model->facts.n_vocab = (uint32_t)key->n;
    return MODEL_OK;
}

static void fill_facts(struct model *model, const struct model_setup *setup)
{
    struct model_facts *facts = &model->facts;
    uint64_t n_pages = setup->kv_bytes > 0 ? setup->kv_bytes / (PAGE_TOK * TOKEN_BYTES) : DEFAULT_PAGES;
    uint32_t n_context = model->script.n_context > 0 ? model->script.n_context : setup->n_context;

    facts->architecture = "fake";
    facts->format = "none";
    facts->n_trained = TRAINED_TOK;
    facts->n_context = n_context > 0 ? n_context : TRAINED_TOK;
    facts->n_page_tok = PAGE_TOK;
    facts->kv_token_bytes = TOKEN_BYTES;
    facts->n_pages =
        model->script.n_pages > 0 ? model->script.n_pages : (uint32_t)num_min(n_pages, UINT32_MAX);
    facts->n_threads = 1;
    facts->n_parameters = 1;
    snprintf(facts->backend, sizeof(facts->backend), "fake");
    snprintf(facts->numerics, sizeof(facts->numerics), "1/fake");
    model->n_pages_allowed = facts->n_pages;
}

static int set_aside(struct model *model, const struct model_setup *setup)
{
    model->n_seqs = setup->n_sequences;
    model->n_rows = setup->n_rows;
    model->seqs = mem_calloc(MEM_KV, model->n_seqs, sizeof(*model->seqs));
    model->entries = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*model->entries));
    model->results = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*model->results));
    return model->seqs && model->entries && model->results ? 0 : err_new(-ENOMEM);
}

int model_open(struct model **ret_model, const struct model_setup *setup, model_progress_fn progress,
               void *owner, struct diag *diag)
{
    cleanup(model_closep) struct model *model = NULL;
    int r;

    model = mem_calloc(MEM_MISC, 1, sizeof(*model));
    if (!model) {
        return err_new(-ENOMEM);
    }
    progress(owner, 0.25F, "mapping");
    r = script_read(&model->script, setup->fake_script, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    r = read_vocab(model, setup->fd, diag);
    if (r == MODEL_OK) {
        progress(owner, 0.5F, "checking");
        r = act_on_load(model, diag);
    }
    if (r == MODEL_OK) {
        r = set_aside(model, setup);
    }
    if (r) {
        return r;
    }
    fill_facts(model, setup);
    progress(owner, 1, "warming");
    *ret_model = steal(&model);
    return MODEL_OK;
}

static void end_seq(struct model *model, struct fake_seq *seq)
{
    model->figures.n_held -= seq->n_pages;
    model->figures.n_seqs--;
    mem_free(seq->tokens);
    mem_free(seq->never);
    mem_free(seq->top_ids);
    mem_free(seq->top_logprobs);
    *seq = (struct fake_seq){ .id = 0 };
}

void model_close(struct model *model)
{
    if (!model) {
        return;
    }
    for (uint32_t i = 0; model->seqs && i < model->n_seqs; i++) {
        if (model->seqs[i].id) {
            end_seq(model, &model->seqs[i]);
        }
    }
    script_finish(&model->script);
    mem_free(model->seqs);
    mem_free(model->entries);
    mem_free(model->results);
    mem_free(model);
}

void model_closep(struct model **model)
{
    model_close(*model);
    *model = NULL;
}

void model_facts(const struct model *model, struct model_facts *ret_facts)
{
    *ret_facts = model->facts;
}

static uint32_t n_free(const struct model *model)
{
    return model->n_pages_allowed > model->figures.n_held ? model->n_pages_allowed - model->figures.n_held
                                                          : 0;
}

void model_figures(const struct model *model, struct model_figures *ret_figures)
{
    *ret_figures = model->figures;
    ret_figures->n_free = model->facts.n_pages - model->figures.n_held;
}

void model_limit_kv(struct model *model, uint64_t kv_bytes)
{
    model->n_pages_allowed = (uint32_t)num_min(kv_bytes / (PAGE_TOK * TOKEN_BYTES), model->facts.n_pages);
}

/* ---- sequences */

static struct fake_seq *find_seq(struct model *model, uint32_t id)
{
    for (uint32_t i = 0; i < model->n_seqs; i++) {
        if (model->seqs[i].id == id) {
            return &model->seqs[i];
        }
    }
    return NULL;
}

static enum seq_outcome check_room(struct model *model, const struct seq_ask *ask, struct seq_room *ret_room)
{
    uint64_t n_tokens = (uint64_t)ask->n_tokens + ask->n_reserve;

    ret_room->n_cached = 0;
    ret_room->n_needed = (uint32_t)num_min(num_div_up(n_tokens, PAGE_TOK), UINT32_MAX);
    ret_room->n_free = n_free(model);
    for (uint32_t i = 0; i < ask->n_tokens; i++) {
        if (ask->tokens[i] >= model->facts.n_vocab) {
            return SEQ_BAD_TOKEN;
        }
    }
    if (ask->n_tokens == 0) {
        return SEQ_BAD_TOKEN;
    }
    if (n_tokens > model->facts.n_context || ret_room->n_needed > model->facts.n_pages) {
        return SEQ_NEVER_FITS;
    }
    if (!find_seq(model, 0)) {
        return SEQ_TOO_MANY;
    }
    return ret_room->n_needed > ret_room->n_free ? SEQ_NO_PAGES : SEQ_OK;
}

/* Rules that act at opening; the list of tokens is remembered. */
static int act_on_open(struct model *model, const struct seq_ask *ask, const struct script_rule **ret_list)
{
    const struct script_rule *rule;
    size_t at = 0;
    int r = SEQ_OK;

    while (ask->id != ENGINE_WARM_SEQ && r == SEQ_OK &&
           (rule = script_find(&model->script, ask->tokens, ask->n_prompt, SCRIPT_AT_OPEN, &at))) {
        if (rule->action == SCRIPT_TOKENS) {
            *ret_list = rule;
        } else if (rule->action == SCRIPT_REFUSE) {
            script_spend(&model->script, rule);
            r = (int)rule->number;
        } else if (rule->at == SCRIPT_AT_OPEN) {
            r = act(&model->script, rule);
        }
    }
    return r;
}

static int copy_ask(struct fake_seq *seq, const struct seq_ask *ask, uint32_t n_pages)
{
    const struct sample_params *params = ask->params;

    *seq = (struct fake_seq){
        .id = ask->id,
        .n_prompt = ask->n_prompt,
        .n_known = ask->n_tokens,
        .n_pages = n_pages,
        .seed = params->temperature > 0 ? params->seed : 0,
        .n_never = params->n_never,
        .n_top = params->n_top,
        .tokens = mem_calloc(MEM_KV, (size_t)n_pages * PAGE_TOK + 1, sizeof(*seq->tokens)),
        .never = mem_calloc(MEM_KV, params->n_never, sizeof(*seq->never)),
        .top_ids = mem_calloc(MEM_KV, params->n_top, sizeof(*seq->top_ids)),
        .top_logprobs = mem_calloc(MEM_KV, params->n_top, sizeof(*seq->top_logprobs)),
    };
    if (!seq->tokens || !seq->never || !seq->top_ids || !seq->top_logprobs) {
        return err_new(-ENOMEM);
    }
    memcpy(seq->tokens, ask->tokens, ask->n_tokens * sizeof(*ask->tokens));
    if (params->n_never > 0) {
        memcpy(seq->never, params->never, params->n_never * sizeof(*params->never));
    }
    return 0;
}

int seq_open(struct model *model, const struct seq_ask *ask, struct seq_room *ret_room)
{
    const struct script_rule *list = NULL;
    struct seq_room room;
    struct fake_seq *seq;
    int r;

    r = (int)check_room(model, ask, &room);
    if (r == SEQ_OK) {
        r = act_on_open(model, ask, &list);
    }
    *ret_room = room;
    if (r) {
        return r;
    }
    seq = find_seq(model, 0);
    r = copy_ask(seq, ask, room.n_needed);
    model->figures.n_held += room.n_needed;
    model->figures.n_seqs++;
    if (r) {
        end_seq(model, seq);
        return err_up(r);
    }
    seq->list = list;
    ret_room->n_free = n_free(model);
    return SEQ_OK;
}

void seq_stop(struct model *model, uint32_t id)
{
    struct fake_seq *seq = id ? find_seq(model, id) : NULL;

    if (seq) {
        seq->is_stopped = true;
    }
}

void seq_trim(struct model *model, uint32_t id, uint32_t n_tokens)
{
    struct fake_seq *seq = id ? find_seq(model, id) : NULL;

    if (seq && n_tokens > 0 && n_tokens < seq->n_known) {
        seq->n_known = n_tokens;
        seq->n_prompt = (uint32_t)num_min(seq->n_prompt, n_tokens);
        /* The row of the last one is computed again: the next token is sampled from it. */
        seq->n_done = (uint32_t)num_min(seq->n_done, n_tokens - 1);
    }
}

void seq_close(struct model *model, uint32_t id, bool keep)
{
    struct fake_seq *seq = id ? find_seq(model, id) : NULL;

    if (seq) {
        end_seq(model, seq);
    }
}

/* ---- steps */

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
    const uint32_t n_answer = seq->n_known - seq->n_prompt;
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
    moment = samples ? (int64_t)seq->n_known - seq->n_prompt : SCRIPT_AT_ANY;
    while (seq->id != ENGINE_WARM_SEQ && r == 0 &&
           (rule = script_find(&model->script, seq->tokens, seq->n_prompt, moment, &at))) {
        if (rule->action == SCRIPT_SLOW) {
            script_spend(&model->script, rule);
            model->slow_ms += rule->number;
        } else if (rule->action == SCRIPT_NUMERIC && samples) {
            script_spend(&model->script, rule);
            *ret_numeric = true;
        } else {
            r = act(&model->script, rule);
        }
    }
    return r;
}

static void compute(struct model *model, const struct step_entry *entry, struct fake_seq *seq, bool numeric,
                    struct step_result *result)
{
    const uint32_t n_room = (uint32_t)num_min((uint64_t)seq->n_pages * PAGE_TOK, model->facts.n_context);
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
    struct fake_seq *seq = find_seq(model, entry->seq);
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
        nap_ms(1);
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
    };
    model->figures.n_steps++;
    model->figures.n_weight_passes++;
    model->n_entries = 0;
    return STEP_DONE;
}
