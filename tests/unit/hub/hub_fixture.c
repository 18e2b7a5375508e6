#include "base/clean.h"
#include "base/clock.h"
#include "base/log.h"
#include "house.h"
#include "maker.h"
#include "tiny.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define PATIENCE_US 10000000u

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

void house_make_model(const char *path, uint32_t n_words)
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
    maker_key_u32(&maker, "tokenizer.ggml.eos_token_id", HOUSE_END_ID);
    maker_key_text(&maker, "tokenizer.chat_template", chat_template);
    file = maker_file(&maker, &n);
    write_file(path, file, n);
    maker_finish(&maker);
}

void house_rewrite(struct house *house, const char *script)
{
    write_file(house->script, script, strlen(script));
}

/* ---- the hub */

static void on_line(void *owner, enum log_level level, const char *line)
{
    (void)owner;
    (void)level;
    if (getenv("HOUSE_LOG")) {
        fprintf(stderr, "%s\n", line);
    }
}

static void on_event(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                     uint32_t uid)
{
    struct house *house = owner;
    size_t n = strlen(house->events);

    (void)topic;
    (void)pairs;
    (void)n_pairs;
    (void)uid;
    house->n_events++;
    snprintf(house->events + n, sizeof(house->events) - n, "%s ", name);
}

bool house_had(const struct house *house, const char *event)
{
    return strstr(house->events, event) != NULL;
}

void house_prepare(struct house *house, const char *script)
{
    memset(house, 0, sizeof(*house));
    signal(SIGPIPE, SIG_IGN); /* as sottod does */
    log_to(on_line, NULL);
    snprintf(house->dir, sizeof(house->dir), "/tmp/sotto-house-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(house->dir));
    snprintf(house->model, sizeof(house->model), "%s/tiny.gguf", house->dir);
    snprintf(house->script, sizeof(house->script), "%s/script", house->dir);
    house_make_model(house->model, 256);
    house_rewrite(house, script ? script : "");
    house->settings = (struct model_settings){
        .name = "tiny",
        .file = house->model,
        .backend = "fake",
        .fake_script = house->script,
        .share_prefixes = true,
        .load_at_start = true,
        .is_default = true,
    };
    house->config = (struct hub_config){
        .models = &house->settings,
        .n_models = 1,
        .engine_path = SOTTO_FAKE_ENGINE,
        .pause_ms = { 1, 2, 3 },
        .step_floor_ms = 2000,
    };
    house->grant = (struct grant){
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

void house_open(struct house *house)
{
    ck_assert_int_eq(uv_loop_init(&house->loop), 0);
    ck_assert_int_eq(hub_create(&house->hub, &house->loop, &house->config, on_event, house), 0);
    hub_start(house->hub);
}

void house_begin(struct house *house, const char *script)
{
    house_prepare(house, script);
    house_open(house);
    house_until_ready(house);
}

static void on_stopped(void *owner)
{
    struct house *house = owner;

    ck_assert(!house->is_stopped);
    house->is_stopped = true;
}

static bool is_stopped(void *owner)
{
    return ((struct house *)owner)->is_stopped;
}

void house_end(struct house *house)
{
    struct mem_account stream;
    struct mem_account words;

    if (!house->is_stopped) {
        hub_stop(house->hub, 0, on_stopped, house);
    }
    house_until(house, is_stopped, house);
    hub_destroy(house->hub);
    uv_run(&house->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&house->loop), 0);
    mem_read(MEM_STREAM, &stream);
    mem_read(MEM_WORDS, &words);
    ck_assert_uint_eq(stream.bytes, 0);
    ck_assert_uint_eq(words.bytes, 0);
    unlink(house->model);
    unlink(house->script);
    rmdir(house->dir);
}

/* ---- time */

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

void house_until(struct house *house, bool (*is_true)(void *owner), void *owner)
{
    uint64_t end_us = clock_mono_us() + PATIENCE_US;
    uv_timer_t tick;

    uv_timer_init(&house->loop, &tick);
    uv_timer_start(&tick, on_tick, 5, 5); /* looks again though nothing happened */
    while (!is_true(owner)) {
        ck_assert_msg(clock_mono_us() < end_us, "ten seconds have passed and it is still not so");
        uv_run(&house->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&tick, NULL);
    uv_run(&house->loop, UV_RUN_NOWAIT);
}

static bool is_late(void *owner)
{
    return clock_mono_us() >= *(uint64_t *)owner;
}

void house_run(struct house *house, uint32_t ms)
{
    uint64_t end_us = clock_mono_us() + ms * 1000ull;

    house_until(house, is_late, &end_us);
}

struct model *house_model(struct house *house)
{
    return models_find(house->hub, "tiny");
}

static bool is_ready(void *owner)
{
    return models_state(owner) == SOTTO__V1__MODEL_STATE__MODEL_READY;
}

void house_until_ready(struct house *house)
{
    house_until(house, is_ready, house_model(house));
}

uint32_t house_pid(struct house *house)
{
    return engine_pid(house_model(house)->current->engine);
}

/* ---- guests */

static void on_accepted(void *owner, const Sotto__V1__Accepted *accepted)
{
    struct guest *guest = owner;

    ck_assert_uint_eq(guest->n_ends, 0);
    guest->n_accepted++;
    guest->place = accepted->place;
    guest->prompt_tokens = accepted->prompt_tokens;
    guest->seed = accepted->seed;
    snprintf(guest->numerics, sizeof(guest->numerics), "%s", accepted->numerics);
}

static void on_delta(void *owner, const Sotto__V1__Delta *delta)
{
    struct guest *guest = owner;

    ck_assert_uint_eq(guest->n_ends, 0);
    ck_assert_uint_eq(guest->n_accepted, 1);
    ck_assert_uint_eq(delta->first, guest->n_tokens);
    ck_assert_uint_le(guest->n_tokens + delta->n_tokens, HOUSE_GUEST_CAP);
    ck_assert_uint_lt(guest->n_text + delta->text.len, HOUSE_GUEST_CAP);
    if (delta->n_tokens > 0) {
        memcpy(guest->tokens + guest->n_tokens, delta->tokens, delta->n_tokens * sizeof(*delta->tokens));
    }
    guest->n_tokens += (uint32_t)delta->n_tokens;
    if (delta->text.len > 0) {
        memcpy(guest->text + guest->n_text, delta->text.data, delta->text.len);
    }
    guest->n_text += (uint32_t)delta->text.len;
    guest->text[guest->n_text] = '\0';
    guest->n_logprobs += (uint32_t)delta->n_logprobs;
}

static void on_notice(void *owner, const Sotto__V1__Notice *notice)
{
    struct guest *guest = owner;

    ck_assert_uint_eq(guest->n_ends, 0);
    guest->n_notices[notice->kind]++;
}

static void on_done(void *owner, const Sotto__V1__Done *done)
{
    struct guest *guest = owner;

    guest->stream = NULL;
    guest->n_ends++;
    guest->reason = done->reason;
    guest->usage = *done->usage;
    snprintf(guest->stop, sizeof(guest->stop), "%.*s", (int)done->stop.len,
             done->stop.len ? (char *)done->stop.data : "");
}

static void on_error(void *owner, const Sotto__V1__Error *error)
{
    struct guest *guest = owner;

    guest->stream = NULL;
    guest->n_ends++;
    guest->code = error->code;
    snprintf(guest->sentence, sizeof(guest->sentence), "%s", error->message);
}

const struct stream_sink guest_sink = {
    .on_accepted = on_accepted,
    .on_delta = on_delta,
    .on_notice = on_notice,
    .on_done = on_done,
    .on_error = on_error,
};

void guest_init(struct guest *guest, uint32_t first, uint32_t n, uint32_t n_answer)
{
    memset(guest, 0, sizeof(*guest));
    sotto__v1__generate__init(&guest->ask);
    sotto__v1__sampling__init(&guest->sampling);
    sotto__v1__token_ids__init(&guest->ids);
    guest->sink = &guest_sink;
    guest->ids.ids = calloc(n + 1, sizeof(uint32_t));
    guest->ids.n_ids = n;
    for (uint32_t i = 0; i < n; i++) {
        guest->ids.ids[i] = i == 0 ? first : 'a' + i % 26;
    }
    guest->ask.input_case = SOTTO__V1__GENERATE__INPUT_TOKENS;
    guest->ask.tokens = &guest->ids;
    guest->ask.opt_max_tokens_case = SOTTO__V1__GENERATE__OPT_MAX_TOKENS_MAX_TOKENS;
    guest->ask.max_tokens = n_answer;
    guest->sampling.opt_temperature_case = SOTTO__V1__SAMPLING__OPT_TEMPERATURE_TEMPERATURE;
    guest->sampling.opt_seed_case = SOTTO__V1__SAMPLING__OPT_SEED_SEED;
    guest->sampling.seed = 7;
    guest->ask.sampling = &guest->sampling;
}

void guest_finish(struct guest *guest)
{
    free(guest->ids.ids);
}

void guest_ask(struct house *house, struct guest *guest)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(house->hub, &guest->ask, &house->grant, guest->sink, guest, &guest->stream, &retry_ms, &diag);

    ck_assert_msg(r == 0, "refused with %d: %s", r, diag.text);
    ck_assert_uint_eq(guest->n_accepted + guest->n_ends, 0);
}

void guest_refused(struct house *house, struct guest *guest, Sotto__V1__Code code, const char *word)
{
    struct diag diag = DIAG_INIT;
    uint32_t retry_ms = 0;
    int r = hub_generate(house->hub, &guest->ask, &house->grant, guest->sink, guest, &guest->stream, &retry_ms, &diag);

    ck_assert_int_eq(r, code);
    ck_assert_msg(strstr(diag.text, word) != NULL, "\"%s\" has no \"%s\"", diag.text, word);
}

static bool is_over(void *owner)
{
    return ((struct guest *)owner)->n_ends > 0;
}

void guest_until_over(struct house *house, struct guest *guest)
{
    house_until(house, is_over, guest);
}

struct wanted {
    const struct guest *guest;
    uint32_t n;
};

static bool has_tokens(void *owner)
{
    const struct wanted *wanted = owner;

    return wanted->guest->n_tokens >= wanted->n;
}

void guest_until_tokens(struct house *house, struct guest *guest, uint32_t n)
{
    struct wanted wanted = { .guest = guest, .n = n };

    house_until(house, has_tokens, &wanted);
}

void guest_assert_done(const struct guest *guest, Sotto__V1__FinishReason reason, uint32_t n_tokens)
{
    ck_assert_uint_eq(guest->n_ends, 1);
    ck_assert_msg(guest->code == SOTTO__V1__CODE__CODE_OK, "failed with %d: %s", (int)guest->code, guest->sentence);
    ck_assert_int_eq(guest->reason, reason);
    ck_assert_uint_eq(guest->n_tokens, n_tokens);
}

void guest_assert_failed(const struct guest *guest, Sotto__V1__Code code, const char *word)
{
    ck_assert_uint_eq(guest->n_ends, 1);
    ck_assert_int_eq(guest->code, code);
    ck_assert_msg(strstr(guest->sentence, word) != NULL, "\"%s\" has no \"%s\"", guest->sentence, word);
}

void guest_assert_same(const struct guest *a, const struct guest *b)
{
    ck_assert_uint_eq(a->n_tokens, b->n_tokens);
    ck_assert_mem_eq(a->tokens, b->tokens, a->n_tokens * sizeof(uint32_t));
    ck_assert_str_eq(a->text, b->text);
}
