#include "fixture.h"

#include "base/clean.h"
#include "engine/engine.h"
#include "proto/frame.h"
#include "proto/wire.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

struct fixture fixture;

static void *run_engine(void *owner)
{
    int code = engine_run(fixture.engine_fd, NULL);

    close(fixture.engine_fd);
    return (void *)(intptr_t)code;
}

void fixture_begin(void)
{
    const struct timeval patience = { .tv_sec = 60 };
    int ends[2];

    fixture = (struct fixture){ .fd = -1 };
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    fixture.fd = ends[0];
    fixture.engine_fd = ends[1];
    setsockopt(fixture.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(pthread_create(&fixture.thread, NULL, run_engine, NULL), 0);
}

static void write_script(const char *script)
{
    int fd;

    snprintf(fixture.script, sizeof(fixture.script), "/tmp/sotto-script-XXXXXX");
    fd = mkstemp(fixture.script);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, script, strlen(script)), (ssize_t)strlen(script));
    close(fd);
}

void fixture_fill_start(Sotto__Engine__Start *start, int model_fd, const char *backend, const char *script)
{
    static char build[] = SOTTO_BUILD;
    static char backend_text[16];

    snprintf(backend_text, sizeof(backend_text), "%s", backend);
    sotto__engine__start__init(start);
    start->build = build;
    start->model_fd = (uint32_t)model_fd;
    start->backend = backend_text;
    start->max_sequences = 4;
    start->max_step_rows = 64;
    start->guard_allocations = true;
    if (script) {
        write_script(script);
        start->fake_script = fixture.script;
    }
}

bool fixture_ready(const char *backend, const char *name, const char *script)
{
    Sotto__Engine__Start start;
    char path[512];
    int model_fd;

    if (!unit_truth(name, path, sizeof(path))) {
        return false;
    }
    model_fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(model_fd, 0);
    fixture_begin();
    fixture_fill_start(&start, model_fd, backend, script);
    fixture_start(&start);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_READY);
    close(model_fd);
    return true;
}

void fixture_scripted(const char *script)
{
    Sotto__Engine__Start start;
    int model_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char text[512];

    snprintf(text, sizeof(text), "vocabulary 512\n%s", script ? script : "");
    fixture_begin();
    fixture_fill_start(&start, model_fd, "fake", text);
    fixture_start(&start);
    fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_READY);
    close(model_fd);
}

static void forget_last(void)
{
    if (fixture.last) {
        sotto__engine__from_engine__free_unpacked(fixture.last, NULL);
        fixture.last = NULL;
    }
}

int fixture_end(void)
{
    void *code;

    forget_last();
    if (fixture.fd >= 0) {
        close(fixture.fd);
    }
    pthread_join(fixture.thread, &code);
    if (fixture.script[0]) {
        unlink(fixture.script);
    }
    return (int)(intptr_t)code;
}

void fixture_bytes(const void *bytes, size_t n)
{
    ck_assert_int_eq(send(fixture.fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

void fixture_send(const Sotto__Engine__ToEngine *order)
{
    const size_t n = sotto__engine__to_engine__get_packed_size(order);
    uint8_t *bytes = malloc(FRAME_HEAD_BYTES + n);

    ck_assert_ptr_nonnull(bytes);
    frame_head(bytes, (uint32_t)n);
    sotto__engine__to_engine__pack(order, bytes + FRAME_HEAD_BYTES);
    fixture_bytes(bytes, FRAME_HEAD_BYTES + n);
    free(bytes);
}

/* False at the end of the file. */
static bool read_all(uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t r = recv(fixture.fd, bytes, n, 0);

        ck_assert_msg(r >= 0, "no answer: %s", strerror(errno));
        if (r == 0) {
            return false;
        }
        bytes += r;
        n -= (size_t)r;
    }
    return true;
}

static bool read_message(void)
{
    uint8_t head[FRAME_HEAD_BYTES];
    uint8_t *body;
    size_t n;

    forget_last();
    if (!read_all(head, sizeof(head))) {
        return false;
    }
    n = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
    body = malloc(n + 1);
    ck_assert_ptr_nonnull(body);
    ck_assert(read_all(body, n));
    fixture.last = sotto__engine__from_engine__unpack(NULL, n, body);
    free(body);
    ck_assert_ptr_nonnull(fixture.last);
    return true;
}

const Sotto__Engine__FromEngine *fixture_get_any(void)
{
    for (;;) {
        ck_assert_msg(read_message(), "the engine ended where an answer was expected");
        if (fixture.last->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS) {
            fixture.n_progress++;
        } else if (fixture.last->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_LOG) {
            fixture.n_logs++;
        } else {
            return fixture.last;
        }
    }
}

const Sotto__Engine__FromEngine *fixture_get(Sotto__Engine__FromEngine__BodyCase kind)
{
    const Sotto__Engine__FromEngine *answer = fixture_get_any();

    while (answer->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW && answer->body_case != kind) {
        answer = fixture_get_any(); /* a busy machine may have any step tell so */
    }
    if (answer->body_case != kind && answer->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT) {
        ck_abort_msg("kind %d expected, a fault came: %s", (int)kind, answer->fault->what);
    }
    ck_assert_int_eq(answer->body_case, kind);
    return answer;
}

void fixture_expect_end(void)
{
    ck_assert(!read_message());
}

void fixture_expect_fault(const char *words, bool hopeless)
{
    const Sotto__Engine__Fault *fault = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_FAULT)->fault;

    ck_assert_msg(strstr(fault->what, words) != NULL, "\"%s\" is not in \"%s\"", words, fault->what);
    ck_assert_int_eq(fault->hopeless, hopeless);
    ck_assert_int_eq(fixture_end(), 1);
}

/* ---- orders */

void fixture_order(Sotto__Engine__ToEngine__BodyCase kind, const void *body)
{
    Sotto__Engine__ToEngine order = SOTTO__ENGINE__TO_ENGINE__INIT;

    order.body_case = kind;
    order.start = wire_message(body); /* all bodies share this pointer */
    fixture_send(&order);
}

void fixture_start(Sotto__Engine__Start *start)
{
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_START, start);
}

void fixture_fill_open(Sotto__Engine__Open *open, Sotto__Engine__Sampler *sampler, uint32_t seq, const uint32_t *tokens,
                       size_t n_tokens)
{
    sotto__engine__sampler__init(sampler);
    sampler->top_p = 1;
    sampler->repetition_penalty = 1;
    sotto__engine__open__init(open);
    open->sequence = seq;
    open->n_tokens = n_tokens;
    open->tokens = wire_message(tokens);
    open->n_prompt = (uint32_t)n_tokens;
    open->reserve_tokens = 40;
    open->sampler = sampler;
}

void fixture_open(Sotto__Engine__Open *open)
{
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_OPEN, open);
}

void fixture_extend(uint32_t seq, const uint32_t *tokens, size_t n_tokens)
{
    Sotto__Engine__Sampler sampler = SOTTO__ENGINE__SAMPLER__INIT;
    Sotto__Engine__Extend extend = SOTTO__ENGINE__EXTEND__INIT;

    sampler.top_p = 1;
    sampler.repetition_penalty = 1;
    extend.sequence = seq;
    extend.n_tokens = n_tokens;
    extend.tokens = wire_message(tokens);
    extend.n_prompt = (uint32_t)n_tokens;
    extend.reserve_tokens = 40;
    extend.sampler = &sampler;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_EXTEND, &extend);
}

void fixture_open_plain(uint32_t seq, const uint32_t *tokens, size_t n_tokens)
{
    Sotto__Engine__Sampler sampler;
    Sotto__Engine__Open open;

    fixture_fill_open(&open, &sampler, seq, tokens, n_tokens);
    fixture_open(&open);
    ck_assert_uint_eq(fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_OPENED)->opened->sequence, seq);
}

void fixture_step(uint64_t id, uint32_t seq, uint32_t n_prefill, uint32_t slice_us)
{
    Sotto__Engine__Entry entry = SOTTO__ENGINE__ENTRY__INIT;
    Sotto__Engine__Entry *entries[1] = { &entry };
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;

    entry.sequence = seq;
    if (n_prefill > 0) {
        entry.work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
        entry.prefill = n_prefill;
    } else {
        entry.work_case = SOTTO__ENGINE__ENTRY__WORK_DECODE;
        entry.decode = 1;
    }
    step.id = id;
    step.slice_us = slice_us;
    step.n_entries = 1;
    step.entries = entries;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_STEP, &step);
}

void fixture_step_endless(uint64_t id, uint32_t seq)
{
    Sotto__Engine__Entry entry = SOTTO__ENGINE__ENTRY__INIT;
    Sotto__Engine__Entry *entries[] = { &entry };
    Sotto__Engine__Step step = SOTTO__ENGINE__STEP__INIT;

    entry.sequence = seq;
    entry.work_case = SOTTO__ENGINE__ENTRY__WORK_PREFILL;
    entry.prefill = COUNTOF(endless_prompt);
    step.id = id;
    step.n_entries = 1;
    step.entries = entries;
    step.estimated_us = 1; /* its first parts are reported as slow */
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_STEP, &step);
    ck_assert_uint_eq(fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_SLOW)->slow->step, id);
}

void fixture_suspend(uint64_t step)
{
    Sotto__Engine__Suspend suspend = SOTTO__ENGINE__SUSPEND__INIT;

    suspend.step = step;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_SUSPEND, &suspend);
}

void fixture_continue(uint64_t step, uint32_t slice_us)
{
    Sotto__Engine__Continue continue_ = SOTTO__ENGINE__CONTINUE__INIT;

    continue_.step = step;
    continue_.slice_us = slice_us;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_CONTINUE, &continue_);
}

void fixture_limit(uint32_t slice_us, uint64_t kv_bytes)
{
    Sotto__Engine__Limits limits = SOTTO__ENGINE__LIMITS__INIT;

    limits.slice_us = slice_us;
    limits.kv_bytes = kv_bytes;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_LIMITS, &limits);
}

void fixture_withdraw(uint64_t step)
{
    Sotto__Engine__Withdraw withdraw = SOTTO__ENGINE__WITHDRAW__INIT;

    withdraw.step = step;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_WITHDRAW, &withdraw);
}

void fixture_stop(uint32_t seq)
{
    Sotto__Engine__Stop stop = SOTTO__ENGINE__STOP__INIT;

    stop.sequence = seq;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_STOP, &stop);
}

void fixture_trim(uint32_t seq, uint32_t n_tokens)
{
    Sotto__Engine__Trim trim = SOTTO__ENGINE__TRIM__INIT;

    trim.sequence = seq;
    trim.n_tokens = n_tokens;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_TRIM, &trim);
}

void fixture_close(uint32_t seq)
{
    Sotto__Engine__Close close = SOTTO__ENGINE__CLOSE__INIT;

    close.sequence = seq;
    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_CLOSE, &close);
}

void fixture_quit(void)
{
    const Sotto__Engine__Quit quit = SOTTO__ENGINE__QUIT__INIT;

    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_QUIT, &quit);
}

const Sotto__Engine__Stats *fixture_query(void)
{
    const Sotto__Engine__Query query = SOTTO__ENGINE__QUERY__INIT;

    fixture_order(SOTTO__ENGINE__TO_ENGINE__BODY_QUERY, &query);
    return fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STATS)->stats;
}

/* ---- answers */

static const Sotto__Engine__EntryDone *get_entry(uint64_t id)
{
    const Sotto__Engine__StepDone *done = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_STEP_DONE)->step_done;

    ck_assert_uint_eq(done->id, id);
    ck_assert_uint_eq(done->n_entries, 1);
    ck_assert_uint_eq(done->allocations, 0);
    return done->entries[0];
}

uint32_t fixture_get_token(uint64_t id)
{
    const Sotto__Engine__EntryDone *entry = get_entry(id);

    ck_assert_int_eq(entry->outcome, SOTTO__ENGINE__OUTCOME__OUTCOME_DONE);
    ck_assert_uint_eq(entry->n_tokens, 1);
    return entry->tokens[0];
}

void fixture_get_outcome(uint64_t id, Sotto__Engine__Outcome outcome)
{
    const Sotto__Engine__EntryDone *entry = get_entry(id);

    ck_assert_int_eq(entry->outcome, outcome);
    ck_assert_uint_eq(entry->n_tokens, 0);
}

void fixture_answer(uint64_t id, uint32_t seq, uint32_t n_prompt, uint32_t *ret_tokens, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fixture_step(id + i, seq, i == 0 ? n_prompt : 0, 0);
        ret_tokens[i] = fixture_get_token(id + i);
    }
}

uint32_t fixture_first_token(const uint32_t *tokens, size_t n)
{
    uint32_t token;

    fixture_scripted(NULL);
    fixture_open_plain(1, tokens, n);
    fixture_step(1, 1, (uint32_t)n, 0);
    token = fixture_get_token(1);
    ck_assert_int_eq(fixture_end(), 0);
    return token;
}

const Sotto__Engine__Suspended *fixture_get_suspended(uint64_t step)
{
    const Sotto__Engine__Suspended *suspended = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_SUSPENDED)->suspended;

    ck_assert_uint_eq(suspended->step, step);
    return suspended;
}

void fixture_get_withdrawn(uint64_t step, bool done)
{
    const Sotto__Engine__Withdrawn *withdrawn = fixture_get(SOTTO__ENGINE__FROM_ENGINE__BODY_WITHDRAWN)->withdrawn;

    ck_assert_uint_eq(withdrawn->step, step);
    ck_assert_int_eq(withdrawn->done, done);
}
