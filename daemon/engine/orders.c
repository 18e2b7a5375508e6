/*
 * Orders: what sottod may order, a row each
 *
 * Only sottod has the socket, and both ends are of one build, so an order that makes no sense is a bug: the engine
 * reports it as a Fault and ends, rather than guessing. What may happen in normal operation (no pages, a sequence that
 * is closed already) has an answer in the schema.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/pin.h"
#include <errno.h>
#include <stdio.h>

static void fault_about(struct engine *engine, const char *what, uint64_t which)
{
    char text[160];

    snprintf(text, sizeof(text), "%s (%llu)", what, (unsigned long long)which);
    engine_fault(engine, false, text);
}

/* ---- sequences */

static void send_refused(struct engine *engine, uint32_t seq, Sotto__Engine__Refusal why, const struct seq_room *room)
{
    Sotto__Engine__Refused refused = SOTTO__ENGINE__REFUSED__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    refused.sequence = seq;
    refused.why = why;
    refused.pages_needed = room->n_needed;
    refused.pages_free = room->n_free;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_REFUSED;
    message.refused = &refused;
    engine_send(engine, &message);
}

static void send_opened(struct engine *engine, uint32_t seq, const struct seq_room *room)
{
    Sotto__Engine__Opened opened = SOTTO__ENGINE__OPENED__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;

    opened.sequence = seq;
    opened.cached_tokens = room->n_cached;
    opened.pages_held = room->n_needed;
    opened.pages_free = room->n_free;
    opened.pinned_tokens = room->n_pinned;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED;
    message.opened = &opened;
    engine_send(engine, &message);
}

static Sotto__Engine__Refusal refusal_of(enum seq_outcome outcome)
{
    switch (outcome) {
    case SEQ_NO_PAGES:
        return SOTTO__ENGINE__REFUSAL__REFUSAL_NO_PAGES;
    case SEQ_NEVER_FITS:
        return SOTTO__ENGINE__REFUSAL__REFUSAL_NEVER_FITS;
    case SEQ_TOO_MANY:
        return SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY;
    case SEQ_BAD_TOKEN:
        return SOTTO__ENGINE__REFUSAL__REFUSAL_BAD_TOKEN;
    case SEQ_UNSUPPORTED:
        return SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED;
    case SEQ_OK:
        break;
    }
    return SOTTO__ENGINE__REFUSAL__REFUSAL_UNSPECIFIED;
}

/* Reads the sampler. The caller frees @ret_biases; the other arrays are the message's. 0 or -ENOMEM. */
static int read_sampler(const Sotto__Engine__Sampler *sampler, struct sample_params *ret_params,
                        struct sample_bias **ret_biases)
{
    struct sample_bias *biases = NULL;

    if (sampler->n_bias > 0) {
        biases = mem_calloc(MEM_MISC, sampler->n_bias, sizeof(*biases));
        if (!biases) {
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < sampler->n_bias; i++) {
        biases[i] = (struct sample_bias){ .id = sampler->bias_ids[i], .bias = sampler->bias[i] };
    }
    *ret_biases = biases;
    *ret_params = (struct sample_params){
        .temperature = sampler->temperature,
        .top_k = sampler->top_k,
        .top_p = sampler->top_p,
        .min_p = sampler->min_p,
        .seed = sampler->seed,
        .repetition_penalty = sampler->repetition_penalty,
        .frequency_penalty = sampler->frequency_penalty,
        .presence_penalty = sampler->presence_penalty,
        .n_window = sampler->penalty_window,
        .biases = biases,
        .n_biases = sampler->n_bias,
        .never = sampler->never,
        .n_never = sampler->n_never,
        .logprobs = sampler->logprobs,
        .n_top = sampler->logprobs ? sampler->top_logprobs : 0,
    };
    return 0;
}

static void open_seq(struct engine *engine, const Sotto__Engine__Open *open)
{
    cleanup(mem_freep) struct sample_bias *biases = NULL;
    struct seq_salt pins[SEQ_PINS_MAX];
    struct sample_params params;
    struct seq_room room = { 0 };
    struct seq_request request = {
        .id = open->sequence,
        .tokens = open->tokens,
        .n_tokens = (uint32_t)open->n_tokens,
        .n_prompt = open->n_prompt,
        .n_slid = open->slid_tokens,
        .n_reserve = open->reserve_tokens,
        .params = &params,
        .salt = open->salt.data,
        .n_salt = open->salt.len,
        .pins = pins,
        .n_pins = open->n_pins,
        .hidden = open->hidden,
    };
    int r;

    for (size_t i = 0; i < open->n_pins; i++) {
        pins[i] = (struct seq_salt){ .bytes = open->pins[i].data, .n = open->pins[i].len };
    }
    r = read_sampler(open->sampler, &params, &biases);
    r = r ? r : seq_open(engine->model, &request, &room);
    if (r < 0) {
        engine_fault_of(engine, "a sequence could not be opened", r);
    } else if (r != SEQ_OK) {
        send_refused(engine, open->sequence, refusal_of((enum seq_outcome)r), &room);
    } else {
        seq_table_add(&engine->seq_table, open->sequence, open->sampler->logprobs);
        send_opened(engine, open->sequence, &room);
    }
}

static bool is_supported(const struct engine *engine, const Sotto__Engine__Open *open)
{
    return (open->kv_format[0] == '\0' || strcmp(open->kv_format, engine->kv_format) == 0) && open->adapter.len == 0 &&
           open->constraint.len == 0;
}

static bool are_pins(const Sotto__Engine__Open *open)
{
    for (size_t i = 0; i < open->n_pins; i++) {
        if (open->pins[i].len == 0) {
            return false;
        }
    }
    return open->n_pins <= SEQ_PINS_MAX;
}

static void on_open(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    const Sotto__Engine__Open *open = order->open;
    const struct seq_room no_room = { 0 };

    if (open->sequence == 0 || open->sequence == ENGINE_WARM_SEQ ||
        seq_table_find(&engine->seq_table, open->sequence)) {
        fault_about(engine, "Open names a sequence that is open or may not be", open->sequence);
    } else if (!open->sampler || open->sampler->n_bias != open->sampler->n_bias_ids) {
        fault_about(engine, "Open has no sampler, or another number of biases than of ids", open->sequence);
    } else if (open->n_prompt > (uint64_t)open->n_tokens + open->slid_tokens) {
        fault_about(engine, "Open has fewer tokens than its prompt", open->sequence);
    } else if (!are_pins(open)) {
        fault_about(engine, "Open has too many domains of pins, or one without a name", open->sequence);
    } else if (!is_supported(engine, open)) {
        send_refused(engine, open->sequence, SOTTO__ENGINE__REFUSAL__REFUSAL_UNSUPPORTED, &no_room);
    } else if (seq_table_is_full(&engine->seq_table)) {
        send_refused(engine, open->sequence, SOTTO__ENGINE__REFUSAL__REFUSAL_TOO_MANY, &no_room);
    } else {
        open_seq(engine, open);
    }
}

static void extend_seq(struct engine *engine, const Sotto__Engine__Extend *extend)
{
    cleanup(mem_freep) struct sample_bias *biases = NULL;
    struct sample_params params;
    struct seq_room room = { 0 };
    struct seq_request request = {
        .id = extend->sequence,
        .tokens = extend->tokens,
        .n_tokens = (uint32_t)extend->n_tokens,
        .n_prompt = extend->n_prompt,
        .n_reserve = extend->reserve_tokens,
        .params = &params,
    };
    int r;

    r = read_sampler(extend->sampler, &params, &biases);
    r = r ? r : seq_extend(engine->model, &request, &room);
    if (r == -EBUSY) {
        fault_about(engine, "Extend names a sequence in a begun step", extend->sequence);
    } else if (r < 0) {
        engine_fault_of(engine, "a sequence could not be extended", r);
    } else if (r != SEQ_OK) {
        send_refused(engine, extend->sequence, refusal_of((enum seq_outcome)r), &room);
    } else {
        seq_table_set(&engine->seq_table, extend->sequence, extend->sampler->logprobs);
        send_opened(engine, extend->sequence, &room);
    }
}

static void on_extend(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    const Sotto__Engine__Extend *extend = order->extend;

    if (!seq_table_find(&engine->seq_table, extend->sequence)) {
        fault_about(engine, "Extend names a sequence that is not open", extend->sequence);
    } else if (!extend->sampler || extend->sampler->n_bias != extend->sampler->n_bias_ids) {
        fault_about(engine, "Extend has no sampler, or another number of biases than of ids", extend->sequence);
    } else if (extend->n_prompt > extend->n_tokens) {
        fault_about(engine, "Extend has fewer tokens than its prompt", extend->sequence);
    } else {
        extend_seq(engine, extend);
    }
}

static void on_pin(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    uint32_t pin = order->pin->pin;
    uint32_t seq = order->pin->sequence;
    int r = seq ? pin_keep(engine->model, pin, seq) : pin_drop(engine->model, pin);

    if (r == -ENOMEM) {
        engine_fault_of(engine, "a pin could not be kept", r);
    } else if (r == -ENOENT && seq == 0) {
        fault_about(engine, "Pin drops a pin that does not exist", pin);
    } else if (r == -EEXIST) {
        fault_about(engine, "Pin names a pin that exists already", pin);
    } else if (r) {
        fault_about(engine, "Pin names a sequence that is not open, not computed, or not shared", seq);
    } else if (seq > 0) {
        seq_table_drop(&engine->seq_table, seq);
    }
}

static void on_stop(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    seq_stop(engine->model, order->stop->sequence);
}

static void on_trim(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    seq_trim(engine->model, order->trim->sequence, order->trim->n_tokens);
}

static void on_close(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    seq_close(engine->model, order->close->sequence, order->close->keep);
    seq_table_drop(&engine->seq_table, order->close->sequence);
}

/* ---- steps */

static bool read_entry(const Sotto__Engine__Entry *entry, struct step_entry *ret_entry)
{
    *ret_entry = (struct step_entry){ .seq = entry->sequence };
    switch (entry->work_case) {
    case SOTTO__ENGINE__ENTRY__WORK_PREFILL:
        ret_entry->n_prefill = entry->prefill;
        return entry->prefill > 0;
    case SOTTO__ENGINE__ENTRY__WORK_DECODE:
        ret_entry->n_decode = entry->decode;
        return entry->decode > 0;
    case SOTTO__ENGINE__ENTRY__WORK__NOT_SET:
    case SOTTO__ENGINE__ENTRY__WORK_LOGITS:
        return false;
    }
    return false;
}

static struct begun *find_place(struct engine *engine)
{
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        if (!engine->begun[i].is_there) {
            return &engine->begun[i];
        }
    }
    return NULL;
}

/* Runs a step that the model has just begun. */
static void run_new(struct engine *engine, const Sotto__Engine__Step *step, uint64_t from_us)
{
    struct begun *begun = find_place(engine);

    *begun = (struct begun){
        .is_there = true,
        .is_fresh = true,
        .id = step->id,
        .slice_us = step->slice_us,
        .estimated_us = step->estimated_us,
    };
    engine_run_step(engine, begun, from_us);
}

static void on_step(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    const Sotto__Engine__Step *step = order->step;
    uint64_t from_us = clock_mono_us();
    struct diag diag = DIAG_INIT;
    int r;

    if (step->n_entries > engine->step_reply.cap) {
        fault_about(engine, "Step has more entries than a step may have rows", step->id);
        return;
    }
    for (size_t i = 0; i < step->n_entries; i++) {
        if (!read_entry(step->entries[i], &engine->entries[i])) {
            fault_about(engine, "Step has an entry without valid work, for sequence", step->entries[i]->sequence);
            return;
        }
    }

    r = step_begin(engine->model, step->id, engine->entries, (uint32_t)step->n_entries, &diag);
    if (r < 0) {
        engine_fault_of(engine, "a step could not be begun", r);
    } else if (r == STEP_BUSY) {
        /* Normal: the step waited behind one that was expected to end, and was suspended instead. */
        log_info("engine", "step %llu goes back: %s", (unsigned long long)step->id, diag.text);
        engine_send_withdrawn(engine, step->id, true);
    } else if (r != STEP_DONE) {
        engine_fault(engine, false, diag.text);
    } else {
        run_new(engine, step, from_us);
    }
}

static void on_suspend(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    /* The order has crossed the answer: the step has ended, or its slice was over. */
}

static void on_continue(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    struct begun *begun = engine_find_begun(engine, order->continue_->step);

    if (!begun) {
        fault_about(engine, "Continue names a step that is not suspended", order->continue_->step);
        return;
    }
    begun->slice_us = order->continue_->slice_us;
    engine_run_step(engine, begun, clock_mono_us());
}

static void on_withdraw(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    engine_withdraw(engine, order->withdraw->step);
}

static void on_limits(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    engine_limit(engine, order->limits->slice_us, order->limits->kv_bytes);
}

/* ---- life */

static void on_start(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    engine_load(engine, order->start);
}

static void on_query(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    engine_send_stats(engine);
}

static void on_quit(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    engine->end = ENGINE_QUIT;
}

static const struct order {
    const char *name;
    bool loaded; /* the order may come only after Start */
    void (*obey)(struct engine *engine, const Sotto__Engine__ToEngine *order);
} orders[] = {
    [SOTTO__ENGINE__TO_ENGINE__BODY_START] = { "Start", false, on_start },
    [SOTTO__ENGINE__TO_ENGINE__BODY_OPEN] = { "Open", true, on_open },
    [SOTTO__ENGINE__TO_ENGINE__BODY_STEP] = { "Step", true, on_step },
    [SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND] = { "Suspend", true, on_suspend },
    [SOTTO__ENGINE__TO_ENGINE__BODY_CONTINUE] = { "Continue", true, on_continue },
    [SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS] = { "Limits", true, on_limits },
    [SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW] = { "Withdraw", true, on_withdraw },
    [SOTTO__ENGINE__TO_ENGINE__BODY_STOP] = { "Stop", true, on_stop },
    [SOTTO__ENGINE__TO_ENGINE__BODY_TRIM] = { "Trim", true, on_trim },
    [SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE] = { "Close", true, on_close },
    [SOTTO__ENGINE__TO_ENGINE__BODY_QUERY] = { "Query", true, on_query },
    [SOTTO__ENGINE__TO_ENGINE__BODY_QUIT] = { "Quit", false, on_quit },
    [SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND] = { "Extend", true, on_extend },
    [SOTTO__ENGINE__TO_ENGINE__BODY_PIN] = { "Pin", true, on_pin },
};

void engine_obey(struct engine *engine, const Sotto__Engine__ToEngine *order)
{
    const struct order *row = NULL;
    char text[96];

    if (order->body_case > 0 && (size_t)order->body_case < COUNTOF(orders)) {
        row = &orders[order->body_case];
    }
    if (!row || !row->obey) {
        engine_fault(engine, false, "an order came that this build does not know");
    } else if (row->loaded && !engine->model) {
        snprintf(text, sizeof(text), "%s came before Start", row->name);
        engine_fault(engine, false, text);
    } else {
        row->obey(engine, order);
    }
}
