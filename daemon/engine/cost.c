/*
 * Cost: what a step will take, from three small ones
 *
 * A prefill of one row, one of several and a decode give the fixed part (reading all weights), the price of a row
 * and that of a row with sampling. Attending to far pages can't be measured in so short a time: its price is that of
 * reading a page's bytes from memory. All of it is a beginning; the scheduler refits with each StepDone.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include "base/num.h"

/* Rows of the longer prefill: enough to tell a row from the weights, and some 50 ms at most on a small CPU. */
#define COST_ROWS 8

/* Each is measured twice and the shorter time taken: interruptions only ever add. */
#define COST_TRIES 2

/* Bytes of pages read in a nanosecond by one small machine's memory. */
#define COST_PAGE_BYTES_NS 4

static bool goes_on_always(void *owner)
{
    return true;
}

/* Runs one step of the measuring sequence; its time in ns, 0: it could not be run. */
static uint64_t time_step(struct model *model, uint32_t n_prefill, uint32_t n_decode)
{
    const struct step_entry entry = { .seq = ENGINE_WARM_SEQ, .n_prefill = n_prefill, .n_decode = n_decode };
    struct step_report report;

    if (step_begin(model, &entry, 1, NULL) != STEP_DONE ||
        step_run(model, goes_on_always, NULL, &report) != STEP_DONE) {
        return 0;
    }
    return num_max(report.host_us, 1) * 1000;
}

struct cost_times {
    uint64_t one_ns;  /* a prefill of one row */
    uint64_t rows_ns; /* of COST_ROWS */
    uint64_t decode_ns;
};

static uint64_t shorter(uint64_t old_ns, uint64_t new_ns)
{
    return old_ns == 0 ? new_ns : num_min(old_ns, new_ns);
}

/* One new sequence: a row, several, a token. */
static bool time_once(struct model *model, struct cost_times *times)
{
    const struct sample_params greedy = { .top_p = 1, .repetition_penalty = 1 };
    const uint32_t tokens[1 + COST_ROWS] = { 0 };
    const struct seq_ask ask = {
        .id = ENGINE_WARM_SEQ,
        .tokens = tokens,
        .n_tokens = COUNTOF(tokens),
        .n_prompt = COUNTOF(tokens),
        .n_reserve = 2,
        .params = &greedy,
    };
    struct seq_room room;

    if (seq_open(model, &ask, &room) != SEQ_OK) {
        return false;
    }
    times->one_ns = shorter(times->one_ns, time_step(model, 1, 0));
    times->rows_ns = shorter(times->rows_ns, time_step(model, COST_ROWS, 0));
    times->decode_ns = shorter(times->decode_ns, time_step(model, 0, 1));
    seq_close(model, ENGINE_WARM_SEQ, false);
    return true;
}

bool engine_measure(struct engine *engine, Sotto__Engine__Cost *ret_cost)
{
    const uint64_t page_bytes = (uint64_t)engine->facts.kv_token_bytes * engine->facts.n_page_tok;
    struct cost_times times = { 0 };
    uint64_t row_ns;

    if (engine->answer.cap < COST_ROWS) {
        return false;
    }
    for (int i = 0; i < COST_TRIES; i++) {
        if (!time_once(engine->model, &times)) {
            return false;
        }
    }
    row_ns = times.rows_ns > times.one_ns ? (times.rows_ns - times.one_ns) / (COST_ROWS - 1) : 1;
    row_ns = num_max(num_min(row_ns, times.one_ns), 1);

    ret_cost->prefill_row_ns = row_ns;
    ret_cost->fixed_ns = times.one_ns - num_min(row_ns, times.one_ns);
    ret_cost->decode_row_ns = num_max(times.decode_ns - num_min(times.decode_ns, ret_cost->fixed_ns), row_ns);
    ret_cost->attend_page_ns = num_max(page_bytes / COST_PAGE_BYTES_NS, 1);
    return true;
}
