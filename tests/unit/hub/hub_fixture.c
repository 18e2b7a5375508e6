#include "hub_fixture.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "maker.h"
#include "tiny.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define PATIENCE_US 60000000u /* finds tests that hang, not machines that are busy */

static const char chat_template[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/* ---- files */

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

void fixture_make_model(const char *path, uint32_t n_words)
{
    struct tiny_token tokens[512] = {
        { "<|im_start|>", TOKEN_CONTROL, 0 },
        { "<|im_end|>", TOKEN_CONTROL, 0 },
        { "<|end|>", TOKEN_CONTROL, 0 },
    };
    char texts[512][8];
    struct maker maker;
    const uint8_t *file;
    size_t n;

    for (uint32_t i = 3; i < n_words; i++) {
        snprintf(texts[i], sizeof(texts[i]), "w%u.", i);
        tokens[i] = (struct tiny_token){ .text = texts[i], .type = TOKEN_NORMAL };
    }
    maker_init(&maker, 3);
    tiny_bpe_keys(&maker, "smollm", tokens, n_words, NULL, 0);
    maker_key_u32(&maker, "tokenizer.ggml.eos_token_id", FIXTURE_END_ID);
    maker_key_text(&maker, "tokenizer.chat_template", chat_template);
    file = maker_file(&maker, &n);
    write_file(path, file, n);
    maker_finish(&maker);
}

void fixture_rewrite(struct fixture *fixture, const char *script)
{
    write_file(fixture->script, script, strlen(script));
}

/* ---- the hub */

static void on_line(void *owner, enum log_level level, const char *line)
{
    (void)owner;
    (void)level;
    if (getenv("FIXTURE_LOG")) {
        fprintf(stderr, "%s\n", line);
    }
}

static void on_event(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                     uint32_t uid)
{
    struct fixture *fixture = owner;
    size_t n = strlen(fixture->events);

    (void)topic;
    (void)pairs;
    (void)n_pairs;
    (void)uid;
    fixture->n_events++;
    snprintf(fixture->events + n, sizeof(fixture->events) - n, "%s ", name);
}

bool fixture_had(const struct fixture *fixture, const char *event)
{
    return strstr(fixture->events, event) != NULL;
}

void fixture_prepare(struct fixture *fixture, const char *script)
{
    memset(fixture, 0, sizeof(*fixture));
    signal(SIGPIPE, SIG_IGN); /* as sottod does */
    log_to(on_line, NULL);
    snprintf(fixture->dir, sizeof(fixture->dir), "/tmp/sotto-fixture-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fixture->dir));
    snprintf(fixture->model, sizeof(fixture->model), "%s/tiny.gguf", fixture->dir);
    snprintf(fixture->script, sizeof(fixture->script), "%s/script", fixture->dir);
    fixture_make_model(fixture->model, 256);
    fixture_rewrite(fixture, script ? script : "");
    fixture->settings = (struct model_settings){
        .name = "tiny",
        .file = fixture->model,
        .backend = "fake",
        .fake_script = fixture->script,
        .share_prefixes = true,
        .load_at_start = true,
        .is_default = true,
    };
    fixture->config = (struct hub_config){
        .models = &fixture->settings,
        .n_models = 1,
        .engine_path = SOTTO_FAKE_ENGINE,
        .pause_ms = { 1, 2, 3 },
        .step_floor_ms = 60000, /* a step that is slow on a busy machine does not hang */
    };
    fixture->grant = (struct grant){
        .observe = true,
        .uid = 1000,
        .connection = 1,
        .class_ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_REALTIME,
        .class_default = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE,
        .weight = 1000,
        .n_streams = 64,
        .n_answer = 512,
        .special = true,
        .n_sessions = 8,
        .session_idle_ms = 60000,
    };
}

void fixture_open(struct fixture *fixture)
{
    ck_assert_int_eq(uv_loop_init(&fixture->loop), 0);
    ck_assert_int_eq(hub_create(&fixture->hub, &fixture->loop, &fixture->config, on_event, fixture), 0);
    hub_start(fixture->hub);
}

void fixture_begin(struct fixture *fixture, const char *script)
{
    fixture_prepare(fixture, script);
    fixture_open(fixture);
    fixture_until_ready(fixture);
}

static void on_stopped(void *owner)
{
    struct fixture *fixture = owner;

    ck_assert(!fixture->is_stopped);
    fixture->is_stopped = true;
}

static bool is_stopped(void *owner)
{
    return ((struct fixture *)owner)->is_stopped;
}

void fixture_end(struct fixture *fixture)
{
    struct mem_account stream;
    struct mem_account words;

    if (!fixture->is_stopped) {
        hub_stop(fixture->hub, 0, on_stopped, fixture);
    }
    fixture_until(fixture, is_stopped, fixture);
    hub_destroy(fixture->hub);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&fixture->loop), 0);
    mem_read(MEM_STREAM, &stream);
    mem_read(MEM_TEXT, &words);
    ck_assert_uint_eq(stream.bytes, 0);
    ck_assert_uint_eq(words.bytes, 0);
    unlink(fixture->model);
    unlink(fixture->script);
    rmdir(fixture->dir);
}

/* ---- time */

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

void fixture_until(struct fixture *fixture, bool (*is_true)(void *owner), void *owner)
{
    uint64_t end_us = clock_mono_us() + PATIENCE_US;
    uv_timer_t tick;

    uv_timer_init(&fixture->loop, &tick);
    uv_timer_start(&tick, on_tick, 5, 5); /* looks again even if nothing happened */
    while (!is_true(owner)) {
        ck_assert_msg(clock_mono_us() < end_us, "a minute has passed and it is still not so");
        uv_run(&fixture->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&tick, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
}

static bool is_late(void *owner)
{
    return clock_mono_us() >= *(uint64_t *)owner;
}

void fixture_run(struct fixture *fixture, uint32_t ms)
{
    uint64_t end_us = clock_mono_us() + ms * 1000ull;

    fixture_until(fixture, is_late, &end_us);
}

static bool is_idle(void *owner)
{
    const struct streams *streams = &((struct fixture *)owner)->hub->streams;

    for (size_t i = 0; i < DISPATCH_STEPS; i++) {
        if (streams->dispatch.steps[i].state == DISPATCH_SUSPENDED) {
            return false;
        }
    }
    return list_is_empty(&streams->all);
}

void fixture_until_idle(struct fixture *fixture)
{
    fixture_until(fixture, is_idle, fixture);
}

struct governor_limits *fixture_limits(struct fixture *fixture)
{
    struct governor_loop *loop = &fixture->hub->governor_loop;

    loop->ticks = true;
    uv_timer_stop(&loop->timer);
    return &loop->governor.limits[PROCESSOR_CPU];
}

struct model_entry *fixture_model(struct fixture *fixture)
{
    return model_entry_find(&fixture->hub->registry, "tiny");
}

static bool is_ready(void *owner)
{
    return model_entry_state(owner) == SOTTO__V1__MODEL_STATE__MODEL_READY;
}

void fixture_until_ready(struct fixture *fixture)
{
    fixture_until(fixture, is_ready, fixture_model(fixture));
}

uint32_t fixture_pid(struct fixture *fixture)
{
    return engine_pid(fixture_model(fixture)->current->engine);
}

struct crashes {
    const struct hub *hub;
    uint64_t n;
};

static bool has_crashed(void *owner)
{
    const struct crashes *before = owner;

    return before->hub->events.counts[COUNT_ENGINE_CRASHES] > before->n;
}

void fixture_kill_engine(struct fixture *fixture, int signal)
{
    struct crashes before = { .hub = fixture->hub, .n = fixture->hub->events.counts[COUNT_ENGINE_CRASHES] };

    kill((pid_t)fixture_pid(fixture), signal);
    fixture_until(fixture, has_crashed, &before);
}

/* ---- clients */

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    struct client *client = owner;

    ck_assert_uint_eq(client->n_ends, 0);
    client->n_accepted++;
    client->queue_position = accepted->queue_position;
    client->prompt_tokens = accepted->prompt_tokens;
    client->seed = accepted->seed;
    snprintf(client->numerics, sizeof(client->numerics), "%s", accepted->numerics);
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct client *client = owner;

    ck_assert_uint_eq(client->n_ends, 0);
    ck_assert_uint_eq(client->n_accepted, 1);
    ck_assert_uint_eq(delta->first, client->n_tokens);
    ck_assert_uint_le(client->n_tokens + delta->n_tokens, FIXTURE_CLIENT_CAP);
    ck_assert_uint_lt(client->n_text + delta->text.len, FIXTURE_CLIENT_CAP);
    if (delta->n_tokens > 0) {
        memcpy(client->tokens + client->n_tokens, delta->tokens, delta->n_tokens * sizeof(*delta->tokens));
    }
    client->n_tokens += (uint32_t)delta->n_tokens;
    if (delta->text.len > 0) {
        memcpy(client->text + client->n_text, delta->text.data, delta->text.len);
    }
    client->n_text += (uint32_t)delta->text.len;
    client->text[client->n_text] = '\0';
    client->n_logprobs += (uint32_t)delta->n_logprobs;
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct client *client = owner;

    ck_assert_uint_eq(client->n_ends, 0);
    client->n_notices[notice->kind]++;
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    struct client *client = owner;

    client->stream = NULL;
    client->n_ends++;
    client->reason = done->reason;
    client->usage = *done->usage;
    snprintf(client->stop, sizeof(client->stop), "%.*s", (int)done->stop.len,
             done->stop.len ? (char *)done->stop.data : "");
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    struct client *client = owner;

    client->stream = NULL;
    client->n_ends++;
    client->code = error->code;
    snprintf(client->sentence, sizeof(client->sentence), "%s", error->message);
}

const struct stream_sink client_sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

void client_init(struct client *client, uint32_t first, uint32_t n, uint32_t n_answer)
{
    memset(client, 0, sizeof(*client));
    sotto__v1__generate__init(&client->generate);
    sotto__v1__sampling__init(&client->sampling);
    sotto__v1__token_ids__init(&client->ids);
    client->sink = &client_sink;
    client->ids.ids = calloc(n + 1, sizeof(uint32_t));
    client->ids.n_ids = n;
    for (uint32_t i = 0; i < n; i++) {
        client->ids.ids[i] = i == 0 ? first : 'a' + i % 26;
    }
    client->generate.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
    client->generate.tokens = &client->ids;
    client->generate.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    client->generate.max_tokens = n_answer;
    client->sampling.opt_temperature_case = SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE;
    client->sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED_SEED;
    client->sampling.seed = 7;
    client->generate.sampling = &client->sampling;
}

void client_finish(struct client *client)
{
    free(client->ids.ids);
}

void client_generate(struct fixture *fixture, struct client *client)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(fixture->hub, &client->generate, &fixture->grant, client->sink, client, &client->stream,
                         &retry_ms, &diag);

    ck_assert_msg(r == 0, "refused with %d: %s", r, diag.text);
    ck_assert_uint_eq(client->n_accepted + client->n_ends, 0);
}

void client_refused(struct fixture *fixture, struct client *client, Sotto__V1__Code code, const char *word)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(fixture->hub, &client->generate, &fixture->grant, client->sink, client, &client->stream,
                         &retry_ms, &diag);

    ck_assert_int_eq(r, code);
    ck_assert_msg(strstr(diag.text, word) != NULL, "\"%s\" has no \"%s\"", diag.text, word);
}

static bool is_over(void *owner)
{
    return ((struct client *)owner)->n_ends > 0;
}

void client_until_over(struct fixture *fixture, struct client *client)
{
    fixture_until(fixture, is_over, client);
}

struct wanted {
    const struct client *client;
    uint32_t n;
};

static bool has_tokens(void *owner)
{
    const struct wanted *wanted = owner;

    return wanted->client->n_tokens >= wanted->n;
}

void client_until_tokens(struct fixture *fixture, struct client *client, uint32_t n)
{
    struct wanted wanted = { .client = client, .n = n };

    fixture_until(fixture, has_tokens, &wanted);
}

void client_assert_done(const struct client *client, Sotto__V1__FinishReason reason, uint32_t n_tokens)
{
    ck_assert_uint_eq(client->n_ends, 1);
    ck_assert_msg(client->code == SOTTO__V1__CODE__CODE_OK, "failed with %d: %s", (int)client->code, client->sentence);
    ck_assert_int_eq(client->reason, reason);
    ck_assert_uint_eq(client->n_tokens, n_tokens);
}

void client_assert_failed(const struct client *client, Sotto__V1__Code code, const char *word)
{
    ck_assert_uint_eq(client->n_ends, 1);
    ck_assert_int_eq(client->code, code);
    ck_assert_msg(strstr(client->sentence, word) != NULL, "\"%s\" has no \"%s\"", client->sentence, word);
}

void client_assert_same(const struct client *a, const struct client *b)
{
    ck_assert_uint_eq(a->n_tokens, b->n_tokens);
    ck_assert_mem_eq(a->tokens, b->tokens, a->n_tokens * sizeof(uint32_t));
    ck_assert_str_eq(a->text, b->text);
}
