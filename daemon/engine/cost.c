/*
 * Cost: what a step will take, measured with two small ones
 *
 * A piece of several rows, and one row with sampling, give the fixed cost (reading all weights), the cost of a row, and
 * that of a row with head and sampling. Attending to distant pages cannot be measured in so short a time: its cost is
 * that of reading a page's bytes from memory. All of these are first guesses; the scheduler refits them with each
 * StepDone.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include "base/num.h"

/* Rows of the piece, enough to tell the cost of a row from that of the weights. */
#define COST_ROWS 8

/* The measurement is repeated, and the shortest times are taken, while it has taken no longer than this: interruptions
 * only ever add time, but clients wait for Ready. */
#define COST_TRIES     4
#define COST_BUDGET_NS 50000000

/* Bytes of pages read in a nanosecond, measured on one small machine. */
#define COST_PAGE_BYTES_NS 4

struct cost_times {
    uint64_t rows_ns; /* COST_ROWS rows without the head */
    uint64_t row_ns;  /* one row without the head */
    uint64_t head_ns; /* head and sampling for one row */
};

static bool goes_on_always(void *owner)
{
    return true;
}

/* Runs a step of the measuring sequence. Returns false if it could not be run. */
static bool time_step(struct model *model, uint32_t n_rows, uint64_t *ret_ns, uint64_t *ret_head_ns)
{
    const struct step_entry entry = { .seq = ENGINE_WARM_SEQ, .n_prefill = n_rows };
    struct step_report report;
    uint64_t head_us;

    if (step_begin(model, 1, &entry, 1, NULL) != STEP_DONE ||
        step_run(model, 1, goes_on_always, NULL, &report) != STEP_DONE) {
        return false;
    }
    head_us = (uint64_t)report.phase_us[STEP_HEAD] + report.phase_us[STEP_SAMPLE];
    *ret_head_ns = head_us * 1000;
    *ret_ns = (report.device_us - num_min(head_us, report.device_us)) * 1000;
    return true;
}

/* Measures with one new sequence: a piece of its prompt, then the rest, with which a token is sampled. */
static bool time_once(struct model *model, struct cost_times *ret_times)
{
    const struct sample_params greedy = { .top_p = 1, .repetition_penalty = 1 };
    const uint32_t tokens[COST_ROWS + 1] = { 0 };
    const struct seq_request request = {
        .id = ENGINE_WARM_SEQ,
        .tokens = tokens,
        .n_tokens = COUNTOF(tokens),
        .n_prompt = COUNTOF(tokens),
        .n_reserve = 1,
        .params = &greedy,
    };
    struct seq_room room;
    uint64_t no_head_ns;
    bool could;

    if (seq_open(model, &request, &room) != SEQ_OK) {
        return false;
    }
    could = time_step(model, COST_ROWS, &ret_times->rows_ns, &no_head_ns) &&
            time_step(model, 1, &ret_times->row_ns, &ret_times->head_ns);
    seq_close(model, ENGINE_WARM_SEQ, false);
    return could;
}

static bool time_some(struct model *model, struct cost_times *ret_times)
{
    struct cost_times best;
    struct cost_times times;
    uint64_t sum_ns = 0;

    if (!time_once(model, &best)) {
        return false;
    }
    for (int i = 1; i < COST_TRIES; i++) {
        sum_ns += best.rows_ns + best.row_ns + best.head_ns;
        if (sum_ns > COST_BUDGET_NS || !time_once(model, &times)) {
            break;
        }
        best.rows_ns = num_min(best.rows_ns, times.rows_ns);
        best.row_ns = num_min(best.row_ns, times.row_ns);
        best.head_ns = num_min(best.head_ns, times.head_ns);
    }
    *ret_times = best;
    return true;
}

void engine_measure(struct engine *engine, Sotto__Engine__Cost *ret_cost)
{
    const uint64_t page_bytes = (uint64_t)engine->facts.kv_token_bytes * engine->facts.n_page_tok;
    struct cost_times times = { 0 };
    uint64_t more_ns;
    uint64_t row_ns;

    if (engine->step_reply.cap >= COST_ROWS) {
        time_some(engine->model, &times); /* if it fails, the times stay 0 and the scheduler learns from steps */
    }
    more_ns = times.rows_ns - num_min(times.row_ns, times.rows_ns);
    row_ns = num_min(more_ns / (COST_ROWS - 1), times.row_ns);

    ret_cost->fixed_ns = times.row_ns - row_ns;
    ret_cost->prefill_row_ns = num_max(row_ns, 1);
    ret_cost->decode_row_ns = num_max(row_ns + times.head_ns, 1);
    ret_cost->attend_page_ns = num_max(page_bytes / COST_PAGE_BYTES_NS, 1);
}
