#include "registry/instance.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "dispatch/dispatcher.h"
#include "hub/hub_status.h"
#include "registry/models.h"
#include "session/pins.h"
#include "session/session.h"
#include "stream/stream.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define LOAD_TRIES 3u

/* Where the configuration says nothing: the apps of one head unit at once; a step of about a frame's work. */
#define DEFAULT_SEQUENCES 32u
#define DEFAULT_STEP_ROWS 256u

/* Rows of the output beyond the token list: padding to a round number. More is a contradiction. */
#define PADDING_MAX 65536u

#define TO(state) (1u << (state))

/* Every legal move of an edition. */
static const uint32_t moves[EDITION_STATE_COUNT] = {
    [EDITION_LOADING] = TO(EDITION_READY) | TO(EDITION_ENDING),
    [EDITION_READY] = TO(EDITION_RECOVERING) | TO(EDITION_ENDING),
    [EDITION_RECOVERING] = TO(EDITION_READY) | TO(EDITION_ENDING),
};

#undef TO

static const char *const names[EDITION_STATE_COUNT] = {
    [EDITION_LOADING] = "loading",
    [EDITION_READY] = "ready",
    [EDITION_RECOVERING] = "recovering",
    [EDITION_ENDING] = "ending",
};

static void move(struct edition *edition, enum edition_state to)
{
    assert(moves[edition->state] & (1u << to));
    log_debug("stream", "model %s: %s -> %s", edition->model->settings.name, names[edition->state], names[to]);
    edition->state = to;
}

void identity_of(const struct stat *stat, struct identity *ret_identity)
{
    *ret_identity = (struct identity){
        .dev = stat->st_dev,
        .ino = stat->st_ino,
        .size = stat->st_size,
        .mtime = stat->st_mtim,
    };
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

/* ---- the end */

static void free_edition(struct edition *edition)
{
    struct hub *hub = edition->hub;

    models_on_gone(edition);
    chat_destroy(edition->chat);
    vocab_destroy(edition->vocab);
    map_finish(&edition->sequences);
    mem_free(edition->never);
    mem_free(edition->strings);
    fd_closep(&edition->fd);
    mem_free(edition);
    hub_try_close(hub);
}

static void on_rest_closed(uv_handle_t *handle)
{
    free_edition(handle->data);
}

static void try_free(struct edition *edition)
{
    if (edition->state != EDITION_ENDING || edition->engine || edition->n_refs > 0 || edition->is_closed) {
        return;
    }
    edition->is_closed = true;
    uv_close((uv_handle_t *)&edition->rest, on_rest_closed);
}

void edition_ref(struct edition *edition)
{
    edition->n_refs++;
}

void edition_unref(void *at)
{
    struct edition *edition = at;

    assert(edition->n_refs > 0);
    if (--edition->n_refs == 0) {
        models_on_idle(edition);
        try_free(edition);
    }
}

void edition_end(struct edition *edition, bool now)
{
    if (edition->state != EDITION_ENDING) {
        move(edition, EDITION_ENDING);
    }
    edition->eq.open = false;
    pins_end(edition);
    sessions_lose(edition);
    words_drop(steal(&edition->head_job));
    uv_timer_stop(&edition->rest);
    if (edition->engine && now) {
        engine_kill(edition->engine, "it was told to end now");
    } else if (edition->engine) {
        engine_quit(edition->engine);
    }
    try_free(edition);
}

/* For good: its streams and waiters are told @sentence. @by_file: it will end the same until the file is another. */
static void fail(struct edition *edition, bool by_file, const char *sentence)
{
    char text[DIAG_BYTES];

    snprintf(text, sizeof(text), "%.*s", DIAG_BYTES - 1, sentence); /* it may lie in what ends now */
    edition_ref(edition);
    models_on_failed(edition, by_file, text);
    edition_end(edition, true);
    edition_unref(edition);
}

/* ---- becoming ready */

/* Ids that the output has and the token list has not, or that are marked unused. */
static int collect_never(struct edition *edition)
{
    uint32_t n_vocab = vocab_n(edition->vocab);
    size_t n_unused;
    const uint32_t *unused = vocab_never(edition->vocab, &n_unused);
    uint32_t n_padding = edition->facts.n_vocab > n_vocab ? edition->facts.n_vocab - n_vocab : 0;

    edition->never = mem_alloc(MEM_WORDS, (n_unused + n_padding) * sizeof(*unused));
    if (!edition->never) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n_unused; i++) {
        if (unused[i] < edition->facts.n_vocab) {
            edition->never[edition->n_never++] = unused[i];
        }
    }
    for (uint32_t i = 0; i < n_padding; i++) {
        edition->never[edition->n_never++] = n_vocab + i;
    }
    return 0;
}

static void become_ready(struct edition *edition)
{
    move(edition, EDITION_READY);
    edition->n_tries = 0;
    edition->eq.open = true;
    edition->is_pressed = false; /* a new engine has all its pages */
    governing_on_ready(edition);
    models_on_ready(edition);
    pins_due(edition);
    hub_poke(edition->hub);
}

static void on_head(void *owner, struct words_job *job)
{
    struct edition *edition = owner;
    uint32_t n_vocab;

    edition->head_job = NULL;
    if (job->outcome) {
        fail(edition, diag_is_set(&job->diag),
             diag_is_set(&job->diag) ? job->diag.text : "the vocabulary could not be read: out of memory");
        return;
    }
    edition->vocab = steal(&job->head_vocab);
    edition->chat = steal(&job->head_chat);
    edition->chat_diag = job->chat_diag;
    n_vocab = vocab_n(edition->vocab);
    if (edition->facts.n_vocab > n_vocab && edition->facts.n_vocab - n_vocab > PADDING_MAX) {
        fail(edition, true,
             "the output has many more rows than the token list has tokens: the file contradicts itself");
        return;
    }
    if (collect_never(edition)) {
        fail(edition, false, "the vocabulary could not be kept: out of memory");
        return;
    }
    if (edition->engine && engine_state(edition->engine) == ENGINE_READY) {
        become_ready(edition);
    }
}

static void read_vocabulary(struct edition *edition)
{
    if (words_head(&edition->head_job, edition->fd)) {
        fail(edition, false, "the vocabulary could not be read: out of memory");
        return;
    }
    edition_ref(edition);
    edition->head_job->release = edition_unref;
    edition->head_job->keeper = edition;
    words_push(&edition->hub->words, edition->head_job, on_head, edition);
}

static void keep_drm_clients(struct edition_facts *facts, const Sotto__Engine__Ready *ready)
{
    facts->n_drm_clients = 0;
    for (size_t i = 0; i < ready->n_drm_clients && i < EDITION_DRM_CLIENTS; i++) {
        facts->drm_clients[facts->n_drm_clients++] = (struct edition_drm_client){
            .minor = ready->drm_clients[i]->minor,
            .id = ready->drm_clients[i]->id,
        };
    }
}

static void keep_facts(struct edition *edition, const Sotto__Engine__Ready *ready)
{
    struct edition_facts *facts = &edition->facts;
    uint64_t first_ns[COST_PART_COUNT] = { 0 };

    snprintf(facts->architecture, sizeof(facts->architecture), "%s", ready->architecture);
    snprintf(facts->format, sizeof(facts->format), "%s", ready->format);
    snprintf(facts->backend, sizeof(facts->backend), "%s", ready->backend);
    snprintf(facts->numerics, sizeof(facts->numerics), "%s", ready->numerics);
    facts->n_parameters = ready->parameters;
    facts->n_vocab = ready->vocabulary;
    facts->n_context = ready->context_tokens;
    facts->n_trained = ready->trained_context_tokens;
    facts->n_hidden = ready->hidden;
    facts->shares_prefixes = ready->shares_prefixes;
    facts->n_page_tok = ready->page_tokens ? ready->page_tokens : 1;
    facts->kv_token_bytes = ready->kv_bytes_per_token;
    facts->n_pages = ready->pages;
    facts->load_us = ready->load_us;
    edition->eq.page_tokens = facts->n_page_tok;
    edition->eq.n_pages = facts->n_pages;
    edition->eq.n_context = facts->n_context;
    if (ready->cost) {
        first_ns[COST_FIXED] = ready->cost->fixed_ns;
        first_ns[COST_PREFILL_ROW] = ready->cost->prefill_row_ns;
        first_ns[COST_DECODE_ROW] = ready->cost->decode_row_ns;
        first_ns[COST_ATTEND_PAGE] = ready->cost->attend_page_ns;
    }
    cost_init(&edition->eq.cost, first_ns);
    edition->figures.n_pages_free = ready->pages;
}

/* ---- the engine's voice */

static void on_progress(void *owner, const Sotto__Engine__Progress *progress)
{
    struct edition *edition = owner;

    edition->load_fraction = progress->fraction;
    snprintf(edition->load_phase, sizeof(edition->load_phase), "%s", progress->phase);
    models_on_progress(edition);
}

static void on_ready(void *owner, const Sotto__Engine__Ready *ready)
{
    struct edition *edition = owner;

    if (ready->vocabulary == 0 || ready->context_tokens == 0) {
        engine_kill(edition->engine, "it is ready without a vocabulary or a context");
        return;
    }
    keep_facts(edition, ready);
    keep_drm_clients(&edition->facts, ready);
    if (edition->vocab) {
        become_ready(edition);
    } else if (!edition->head_job) {
        read_vocabulary(edition);
    }
}

static void on_answer(void *owner, const Sotto__Engine__FromEngine *answer)
{
    pacer_on_answer(owner, answer);
}

static void start_engine(struct edition *edition);

static void on_rested(uv_timer_t *timer)
{
    start_engine(timer->data);
}

static void rest(struct edition *edition, uint32_t ms)
{
    uv_update_time(edition->hub->loop);
    uv_timer_start(&edition->rest, on_rested, ms, 0);
}

/* The next start of an engine, unless that is hopeless. */
static void try_again(struct edition *edition, const struct engine_end *end, uint32_t n_recent)
{
    const char *name = edition->model->settings.name;
    const uint32_t *pauses = edition->hub->pause_ms;
    char text[DIAG_BYTES + 400];
    uint32_t ms = 0;

    if (end->hopeless) {
        fail(edition, true, end->why[0] ? end->why : "the engine refused the file");
        return;
    }
    if (!end->was_ready && ++edition->n_tries >= LOAD_TRIES) {
        snprintf(text, sizeof(text), "model %s: the engine was lost %u times while loading, last: %s%s%s", name,
                 edition->n_tries, end->exit, end->exit[0] && end->why[0] ? ": " : "", end->why);
        fail(edition, false, text);
        return;
    }
    if (!end->was_ready) {
        ms = pauses[edition->n_tries - 1];
    } else if (n_recent >= 2) {
        ms = pauses[n_recent - 2 < 2 ? n_recent - 2 : 2];
    }
    rest(edition, ms);
}

static void tell_end(struct edition *edition, const struct engine_end *end, const char *name)
{
    struct model *model = edition->model;

    snprintf(model->last_exit, sizeof(model->last_exit), "%s", end->exit);
    hub_event(edition->hub, UINT32_MAX, "engine", name, "model", model->settings.name, "exit", end->exit, "why",
              end->why, NULL);
    if (!end->wanted) {
        log_warn("stream", "event: %s, model: %s, exit: %s, why: %s", name, model->settings.name, end->exit, end->why);
    }
}

static void on_end(void *owner, const struct engine_end *end)
{
    struct edition *edition = owner;
    uint32_t n_recent = 0;

    edition->engine = NULL;
    edition->eq.open = false;
    tell_end(edition, end, end->wanted ? "engine-ended" : "engine-lost");
    edition_ref(edition); /* a stream that fails may be the last to leave */
    if (edition->state == EDITION_READY) {
        move(edition, EDITION_RECOVERING);
    }
    if (!end->wanted) {
        edition->hub->counts[HUB_ENGINE_CRASHES]++;
    }
    n_recent = pacer_engine_lost(edition, end);
    if (n_recent >= BLAME_DEVICE_CRASHES) {
        edition->troubled_us = clock_mono_us();
    }
    edition->owes_figures = false;
    edition->figures = (struct edition_figures){ 0 };
    status_figures(edition->hub);
    if (edition->state != EDITION_ENDING) {
        try_again(edition, end, n_recent);
    }
    hub_poke(edition->hub);
    edition_unref(edition);
    hub_try_close(edition->hub);
}

static const struct engine_sink sink = {
    .on_progress = on_progress,
    .on_ready = on_ready,
    .on_answer = on_answer,
    .on_end = on_end,
};

/* ---- the start */

/* protobuf-c's strings are not const; packing leaves them alone. NULL becomes empty. */
static char *packed(const char *text)
{
    char *same;

    text = text ? text : "";
    memcpy(&same, &text, sizeof(same));
    return same;
}

static void start_engine(struct edition *edition)
{
    struct hub *hub = edition->hub;
    const struct model_settings *settings = &edition->settings;
    const struct engine_spec spec = {
        .path = hub->engine_path,
        .name = settings->name,
        .model_fd = edition->fd,
        .load_stall_ms = hub->load_stall_ms,
        .step_floor_ms = hub->step_floor_ms,
    };
    Sotto__Engine__Start start = SOTTO__ENGINE__START__INIT;
    struct identity identity;
    struct stat stat;

    if (fstat(edition->fd, &stat) == 0) {
        identity_of(&stat, &identity);
        if (!identity_is_same(&identity, &edition->identity)) {
            fail(edition, true,
                 "the model's file was changed in place while it was served; load it again to take it as "
                 "it is now");
            return;
        }
    }
    start.build = packed(SOTTO_VERSION);
    start.model_fd = 4; /* where engine_link puts it */
    start.model_name = packed(settings->name);
    start.backend = packed(settings->backend);
    start.threads = settings->n_threads;
    start.kv_bytes = settings->kv_bytes;
    start.context_tokens = settings->n_context;
    start.max_sequences = edition->eq.n_slots + ENGINE_QUEUE_SPARE;
    start.max_step_rows = edition->eq.n_rows;
    start.kv_format = packed(settings->kv_format);
    start.cpu_mask = packed(hub->cpu_mask);
    start.fake_script = packed(settings->fake_script);
    start.guard_allocations = hub->guard_allocations;
    edition->model->n_starts++;
    hub->counts[HUB_ENGINE_STARTS]++;
    edition->load_fraction = 0.0f;
    if (engine_start(&edition->engine, hub->loop, &spec, &start, &sink, edition)) {
        fail(edition, false, "there is no memory to start an engine");
        return;
    }
    hub_event(hub, UINT32_MAX, "engine", "engine-started", "model", settings->name, NULL);
}

static int open_file(const char *path, struct identity *ret_identity, struct diag *diag)
{
    cleanup(fd_closep) int fd = -1;
    struct stat stat;

    /* O_NONBLOCK: a named pipe at the path must not hold the loop. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &stat) < 0) {
        diag_set(diag, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (!S_ISREG(stat.st_mode)) {
        diag_set(diag, "%s: is not a regular file", path);
        return -1;
    }
    identity_of(&stat, ret_identity);
    return fd_steal(&fd);
}

int edition_open(struct edition **ret_edition, struct hub *hub, struct model *model, struct diag *diag)
{
    const struct model_settings *settings = &model->settings;
    struct edition *edition = mem_calloc(MEM_STREAM, 1, sizeof(*edition));
    int r;

    if (!edition) {
        return err_new(-ENOMEM);
    }
    edition->fd = open_file(settings->file, &edition->identity, diag);
    if (edition->fd < 0) {
        mem_free(edition);
        return 1;
    }
    edition->hub = hub;
    edition->model = model;
    list_init(&edition->streams);
    list_init(&edition->pins);
    r = settings_copy(settings, &edition->settings, &edition->strings);
    r = r ? r : pins_configure(edition, settings->pins, settings->n_pins);
    if (r) {
        mem_free(edition->strings);
        close(edition->fd);
        mem_free(edition);
        return err_up(r);
    }
    map_init(&edition->sequences, MEM_STREAM);
    edition->eq.n_slots = settings->n_sequences ? settings->n_sequences : DEFAULT_SEQUENCES;
    edition->eq.n_rows = settings->n_step_rows ? settings->n_step_rows : DEFAULT_STEP_ROWS;
    edition->eq.processor = PROCESSOR_CPU;
    edition->eq.page_tokens = 1;
    uv_timer_init(hub->loop, &edition->rest);
    edition->rest.data = edition;
    list_append(&model->editions, &edition->link);
    rest(edition, 0); /* the caller has it in hand before anything can happen to it */
    *ret_edition = edition;
    return 0;
}

bool edition_is_ready(const struct edition *edition)
{
    return edition->state == EDITION_READY;
}

bool edition_is_troubled(const struct edition *edition)
{
    return edition->troubled_us && clock_mono_us() - edition->troubled_us < BLAME_MINUTE_US;
}

bool edition_takes_orders(const struct edition *edition)
{
    return edition->engine && edition->eq.open;
}
