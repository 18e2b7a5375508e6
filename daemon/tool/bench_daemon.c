/*
 * Bench daemon: one connection with the trials and the answers beside them
 */
#include "tool/bench_daemon.h"
#include "base/clock.h"
#include "base/err.h"
#include "tool/tool.h"
#include <errno.h>
#include <sotto.h>
#include <stdio.h>
#include <string.h>

#define TRIALS        20u
#define GREET_MS      10000
#define WAIT_MS       1000
#define BEGIN_US      60000000u /* for all answers beside to have begun: the model may have to be loaded */
#define ANSWER_TOKENS 512u
#define PROMPT_BYTES  160

_Static_assert(TRIALS <= BENCH_SAMPLES, "each trial has a place");

/* An answer beside the trials; it is asked for again when it ends. */
struct beside {
    struct bench_load *load;
    bool is_open;
    bool has_begun; /* a token has come */
};

struct bench_load {
    struct sotto *sotto;
    struct sotto_error error;
    uint32_t n_prompts; /* sent, each with a number of its own */
    char model[BENCH_WORD];
    struct beside beside[BENCH_BESIDE_MAX];
    bool is_refused; /* an answer beside ended with an error */
};

static int refuse(const struct bench_load *load, struct diag *diag)
{
    diag_set(diag, "the daemon: %s", load->error.message);
    return BENCH_DAEMON_REFUSED;
}

/* Sends a prompt like no other for @n_tokens. Returns a sotto_code. */
static enum sotto_code ask(struct bench_load *load, uint32_t n_tokens, sotto_event_fn fn, void *owner,
                           uint32_t *ret_stream)
{
    struct sotto_generate *request = sotto_generate_create();
    char text[PROMPT_BYTES];
    enum sotto_code code;
    int n;

    if (!request) {
        load->error = (struct sotto_error){ .code = SOTTO_RESOURCE_EXHAUSTED, .message = "there is no memory" };
        return load->error.code;
    }
    n = snprintf(text, sizeof(text), "%u: the road to the lake was closed after rain, so they took the longer way.",
                 ++load->n_prompts);
    sotto_generate_set_text(request, text, (size_t)n);
    sotto_generate_set_max_tokens(request, n_tokens);
    sotto_generate_set_ignore_end(request, true);
    sotto_generate_set_temperature(request, 0);
    code = sotto_send_generate(load->sotto, request, fn, owner, ret_stream, &load->error);
    sotto_generate_destroy(request);
    return code;
}

static void on_beside(void *owner, const struct sotto_event *event)
{
    struct beside *beside = owner;

    switch (event->kind) {
    case SOTTO_EVENT_DELTA:
        beside->has_begun = true;
        break;
    case SOTTO_EVENT_ERROR:
        beside->load->is_refused = true;
        beside->load->error = *event->error;
        beside->is_open = false;
        break;
    case SOTTO_EVENT_DONE:
        beside->is_open = false;
        break;
    default:
        break;
    }
}

/* Asks for those of the @n answers that are not open, and waits until each has made a token. Returns a
 * bench_daemon_outcome. */
static int keep_beside(struct bench_load *load, uint32_t n, struct diag *diag)
{
    const uint64_t from_us = clock_mono_us();
    bool all_begun;

    do {
        all_begun = true;
        for (uint32_t i = 0; i < n; i++) {
            struct beside *beside = &load->beside[i];

            if (!beside->is_open) {
                *beside = (struct beside){ .load = load, .is_open = true };
                if (ask(load, ANSWER_TOKENS, on_beside, beside, NULL)) {
                    return refuse(load, diag);
                }
            }
            all_begun = all_begun && beside->has_begun;
        }
        if (!all_begun) {
            enum sotto_code code = sotto_wait(load->sotto, WAIT_MS, &load->error);

            if ((code && code != SOTTO_DEADLINE_EXCEEDED) || load->is_refused) {
                return refuse(load, diag);
            }
        }
        if (clock_mono_us() - from_us > BEGIN_US) {
            diag_set(diag, "the daemon has not begun %u answers beside each other in a minute: ask for fewer", n);
            return BENCH_DAEMON_REFUSED;
        }
    } while (!all_begun);
    return BENCH_DAEMON_OK;
}

/* Times one first token: what comes first, its text or the end of the answer. Returns a bench_daemon_outcome. */
static int time_first(struct bench_load *load, double *ret_ms, struct diag *diag)
{
    const uint64_t from_us = clock_mono_us();
    const struct sotto_event *event = NULL;
    uint64_t first_us = 0;
    uint32_t stream;

    if (ask(load, 1, NULL, NULL, &stream)) {
        return refuse(load, diag);
    }
    while (!event || event->kind != SOTTO_EVENT_DONE) {
        if (sotto_next(load->sotto, stream, &event, &load->error)) {
            return refuse(load, diag);
        }
        if (event && event->kind == SOTTO_EVENT_ACCEPTED) {
            snprintf(load->model, sizeof(load->model), "%s", event->accepted->model);
        }
        if (event && first_us == 0 && (event->kind == SOTTO_EVENT_DELTA || event->kind == SOTTO_EVENT_DONE)) {
            first_us = clock_mono_us();
        }
    }
    *ret_ms = (double)(first_us - from_us) / 1000;
    return BENCH_DAEMON_OK;
}

static int time_all(struct bench_load *load, struct bench_firsts *firsts, uint32_t n_beside, struct diag *diag)
{
    double unused_ms;
    int r = time_first(load, &unused_ms, diag); /* it may wait for the model to be loaded */

    firsts->n_beside = n_beside;
    for (firsts->n = 0; firsts->n < TRIALS && !r; firsts->n += !r) {
        tool_progress("first token", firsts->n, TRIALS);
        r = keep_beside(load, n_beside, diag);
        r = r ? r : time_first(load, &firsts->ms[firsts->n], diag);
    }
    tool_progress("first token", TRIALS, TRIALS);
    return r;
}

int bench_daemon(struct bench *bench, uint32_t n_beside, struct diag *diag)
{
    struct bench_load load = { .n_prompts = 0 };
    const uint32_t counts[] = { 0, n_beside };
    int r = BENCH_DAEMON_OK;

    if (sotto_open(&load.sotto, NULL, "sotto-bench", &load.error) || sotto_greet(load.sotto, GREET_MS, &load.error)) {
        r = refuse(&load, diag);
    }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !r; i++) {
        r = time_all(&load, &bench->firsts[i], counts[i], diag);
    }
    if (!r) {
        snprintf(bench->served, sizeof(bench->served), "%s", load.model);
    }
    sotto_close(load.sotto);
    return r;
}
