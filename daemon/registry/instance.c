#include "registry/instance.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "proto/wire.h"
#include "registry/model_entry.h"
#include "registry/orders.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define LOAD_TRIES 3u

/* Defaults of the configuration: the apps of one head unit at once; a step of about a frame's work. */
#define DEFAULT_SEQUENCES 32u
#define DEFAULT_STEP_ROWS 256u

/* Rows of the output beyond the token list: padding to a round number. More is a contradiction. */
#define PADDING_MAX 65536u

#define TO(state) (1u << (state))

/* Every legal move of an instance. */
static const uint32_t moves[INSTANCE_STATE_COUNT] = {
    [INSTANCE_LOADING] = TO(INSTANCE_READY) | TO(INSTANCE_ENDING),
    [INSTANCE_READY] = TO(INSTANCE_RECOVERING) | TO(INSTANCE_ENDING),
    [INSTANCE_RECOVERING] = TO(INSTANCE_READY) | TO(INSTANCE_ENDING),
};

#undef TO

static const char *const names[INSTANCE_STATE_COUNT] = {
    [INSTANCE_LOADING] = "loading",
    [INSTANCE_READY] = "ready",
    [INSTANCE_RECOVERING] = "recovering",
    [INSTANCE_ENDING] = "ending",
};

static void move(struct instance *instance, enum instance_state to)
{
    assert(moves[instance->state] & (1u << to));
    log_debug("stream", "model %s: %s -> %s", instance->model->settings.name, names[instance->state], names[to]);
    instance->state = to;
}

/* ---- the end */

static void free_instance(struct instance *instance)
{
    struct events *events = instance->registry->events;

    instance->sink->on_gone(instance);
    chat_destroy(instance->chat);
    vocab_destroy(instance->vocab);
    map_finish(&instance->sequences);
    mem_free(instance->never);
    mem_free(instance->strings);
    fd_closep(&instance->fd);
    mem_free(instance);
    events_poke_end(events);
}

static void on_rest_closed(uv_handle_t *handle)
{
    free_instance(handle->data);
}

static void try_free(struct instance *instance)
{
    if (instance->state != INSTANCE_ENDING || instance->engine || instance->n_refs > 0 || instance->is_closed) {
        return;
    }
    instance->is_closed = true;
    uv_close((uv_handle_t *)&instance->rest, on_rest_closed);
}

void instance_ref(struct instance *instance)
{
    instance->n_refs++;
}

void instance_unref(void *at)
{
    struct instance *instance = at;

    assert(instance->n_refs > 0);
    if (--instance->n_refs == 0) {
        instance->sink->on_idle(instance);
        try_free(instance);
    }
}

void instance_end(struct instance *instance, bool now)
{
    if (instance->state != INSTANCE_ENDING) {
        move(instance, INSTANCE_ENDING);
    }
    instance->eq.open = false;
    instance->registry->sink->on_ending(instance->registry->owner, instance);
    text_pool_drop(steal(&instance->head_job));
    uv_timer_stop(&instance->rest);
    if (instance->engine && now) {
        engine_kill(instance->engine, "it was told to end now");
    } else if (instance->engine) {
        engine_quit(instance->engine);
    }
    try_free(instance);
}

/* Fails the instance for good: its streams and waiters get @sentence. @by_file: it will end the same until the file is
 * another. */
static void fail(struct instance *instance, bool by_file, const char *sentence)
{
    char text[DIAG_BYTES];

    snprintf(text, sizeof(text), "%.*s", DIAG_BYTES - 1, sentence); /* it may lie in memory that is freed below */
    instance_ref(instance);
    instance->sink->on_failed(instance, by_file, text);
    instance_end(instance, true);
    instance_unref(instance);
}

/* ---- becoming ready */

/* Collects the ids that the output has and the token list has not, or that are marked unused. */
static int collect_never(struct instance *instance)
{
    uint32_t n_vocab = vocab_n(instance->vocab);
    size_t n_unused;
    const uint32_t *unused = vocab_never(instance->vocab, &n_unused);
    uint32_t n_padding = instance->facts.n_vocab > n_vocab ? instance->facts.n_vocab - n_vocab : 0;

    instance->never = mem_alloc(MEM_TEXT, (n_unused + n_padding) * sizeof(*unused));
    if (!instance->never) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n_unused; i++) {
        if (unused[i] < instance->facts.n_vocab) {
            instance->never[instance->n_never++] = unused[i];
        }
    }
    for (uint32_t i = 0; i < n_padding; i++) {
        instance->never[instance->n_never++] = n_vocab + i;
    }
    return 0;
}

static void become_ready(struct instance *instance)
{
    move(instance, INSTANCE_READY);
    instance->n_tries = 0;
    instance->eq.open = true;
    instance->is_pressed = false; /* a new engine has all its pages */
    orders_limit_pages(instance);
    instance->sink->on_ready(instance);
    pin_due(instance);
}

/* Goes on when engine and vocabulary are both there. What is wrong with a file is the engine's to say first, whichever
 * was quicker. */
static void settle(struct instance *instance)
{
    const struct diag *diag = &instance->head_diag;
    uint32_t n_vocab;

    if (!instance->vocab) {
        fail(instance, diag_is_set(diag),
             diag_is_set(diag) ? diag->text : "the vocabulary could not be read: out of memory");
        return;
    }
    n_vocab = vocab_n(instance->vocab);
    if (instance->facts.n_vocab > n_vocab && instance->facts.n_vocab - n_vocab > PADDING_MAX) {
        fail(instance, true,
             "the output has many more rows than the token list has tokens: the file contradicts itself");
        return;
    }
    if (!instance->never && collect_never(instance)) {
        fail(instance, false, "the vocabulary could not be kept: out of memory");
        return;
    }
    become_ready(instance);
}

static void on_head(void *owner, struct text_job *job)
{
    struct instance *instance = owner;

    instance->head_job = NULL;
    instance->head_diag = job->diag;
    if (!job->outcome) {
        instance->vocab = steal(&job->head_vocab);
        instance->chat = steal(&job->head_chat);
        instance->chat_diag = job->chat_diag;
    }
    if (instance->engine && engine_state(instance->engine) == ENGINE_READY) {
        settle(instance);
    }
}

/* Begins to read the vocabulary in the pool. Returns false if there is no memory for that. */
static bool read_vocabulary(struct instance *instance)
{
    if (text_job_vocabulary(&instance->head_job, instance->fd)) {
        return false;
    }
    instance_ref(instance);
    instance->head_job->release = instance_unref;
    instance->head_job->keeper = instance;
    instance->head_job->priority = PRIORITY_REALTIME; /* requests of every class wait for it */
    text_pool_push(instance->registry->pool, instance->head_job, on_head, instance);
    return true;
}

static void keep_drm_clients(struct instance_facts *facts, const Sotto__Engine__Ready *ready)
{
    facts->n_drm_clients = 0;
    for (size_t i = 0; i < ready->n_drm_clients && i < INSTANCE_DRM_CLIENTS; i++) {
        facts->drm_clients[facts->n_drm_clients++] = (struct instance_drm_client){
            .minor = ready->drm_clients[i]->minor,
            .id = ready->drm_clients[i]->id,
        };
    }
}

static void keep_facts(struct instance *instance, const Sotto__Engine__Ready *ready)
{
    struct instance_facts *facts = &instance->facts;
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
    instance->eq.page_tokens = facts->n_page_tok;
    instance->eq.n_pages = facts->n_pages;
    instance->eq.n_context = facts->n_context;
    instance->eq.n_drafts = instance->settings.drafts && ready->decode_tokens > 0 ? ready->decode_tokens - 1 : 0;
    if (ready->cost) {
        first_ns[COST_FIXED] = ready->cost->fixed_ns;
        first_ns[COST_PREFILL_ROW] = ready->cost->prefill_row_ns;
        first_ns[COST_DECODE_ROW] = ready->cost->decode_row_ns;
        first_ns[COST_ATTEND_PAGE] = ready->cost->attend_page_ns;
    }
    cost_init(&instance->eq.cost, first_ns);
    instance->figures.n_pages_free = ready->pages;
}

/* ---- the engine's voice */

static void on_progress(void *owner, const Sotto__Engine__Progress *progress)
{
    struct instance *instance = owner;

    instance->load_fraction = progress->fraction;
    snprintf(instance->load_phase, sizeof(instance->load_phase), "%s", progress->phase);
    instance->sink->on_progress(instance);
}

static void on_ready(void *owner, const Sotto__Engine__Ready *ready)
{
    struct instance *instance = owner;

    if (ready->vocabulary == 0 || ready->context_tokens == 0) {
        engine_kill(instance->engine, "it is ready without a vocabulary or a context");
        return;
    }
    keep_facts(instance, ready);
    keep_drm_clients(&instance->facts, ready);
    if (!instance->head_job) {
        settle(instance);
    }
}

/* Keeps the figures of a Stats. */
static void keep_figures(struct instance *instance, const Sotto__Engine__Stats *stats)
{
    struct instance_figures *figures = &instance->figures;

    figures->n_steps = stats->steps;
    figures->n_rows = stats->rows;
    figures->n_tok = stats->tokens;
    figures->n_weight_passes = stats->weight_passes;
    figures->n_step_allocs = stats->step_allocations;
    figures->n_drafts = stats->draft_tokens;
    figures->n_drafts_accepted = stats->draft_tokens_accepted;
    figures->n_sequences = stats->sequences;
    figures->n_pages_free = stats->pages_free;
    figures->n_pages_cached = stats->pages_cached;
    figures->n_pages_held = stats->pages_held;
    figures->n_pages_evicted = stats->pages_evicted;
    figures->rss_bytes = stats->rss_bytes;
    figures->rss_file_bytes = stats->rss_file_bytes;
    figures->n_memory = 0;
    for (size_t i = 0; i < stats->n_memory && figures->n_memory < COUNTOF(figures->memory); i++) {
        const Sotto__Engine__MemoryRow *row = stats->memory[i];

        snprintf(figures->memory[i].kind, sizeof(figures->memory[i].kind), "%s", row->kind);
        figures->memory[i].bytes = row->bytes;
        figures->memory[i].peak_bytes = row->peak_bytes;
        figures->n_memory++;
    }
    instance->owes_figures = false;
}

static void on_answer(void *owner, const Sotto__Engine__FromEngine *answer)
{
    struct instance *instance = owner;
    struct registry *registry = instance->registry;

    if (answer->body_case == SOTTO__ENGINE__FROM_ENGINE__BODY_STATS) {
        keep_figures(instance, answer->stats);
        registry->sink->on_figures(registry->owner);
    } else {
        registry->sink->on_answer(registry->owner, instance, answer);
    }
    events_poke(registry->events);
}

static void start_engine(struct instance *instance);

static void on_rested(uv_timer_t *timer)
{
    start_engine(timer->data);
}

static void rest(struct instance *instance, uint32_t ms)
{
    uv_update_time(instance->registry->events->loop);
    uv_timer_start(&instance->rest, on_rested, ms, 0);
}

/* Schedules the next start of an engine, unless that is hopeless. */
static void try_again(struct instance *instance, const struct engine_end *end, uint32_t n_recent)
{
    const char *name = instance->model->settings.name;
    const uint32_t *pauses = instance->registry->limits.pause_ms;
    char text[DIAG_BYTES + 400];
    uint32_t ms = 0;

    if (end->hopeless) {
        fail(instance, true, end->why[0] ? end->why : "the engine refused the file");
        return;
    }
    if (!end->was_ready && ++instance->n_tries >= LOAD_TRIES) {
        snprintf(text, sizeof(text), "model %s: the engine was lost %u times while loading, last: %s%s%s", name,
                 instance->n_tries, end->exit, end->exit[0] && end->why[0] ? ": " : "", end->why);
        fail(instance, false, text);
        return;
    }
    if (!end->was_ready) {
        ms = pauses[instance->n_tries - 1];
    } else if (n_recent >= 2) {
        ms = pauses[n_recent - 2 < 2 ? n_recent - 2 : 2];
    }
    rest(instance, ms);
}

static void tell_end(struct instance *instance, const struct engine_end *end, const char *name)
{
    struct model_entry *model = instance->model;

    snprintf(model->last_exit, sizeof(model->last_exit), "%s", end->exit);
    events_tell(instance->registry->events, EVENTS_NO_UID, "engine", name, "model", model->settings.name, "exit",
                end->exit, "why", end->why, NULL);
    if (!end->wanted) {
        log_warn("stream", "event: %s, model: %s, exit: %s, why: %s", name, model->settings.name, end->exit, end->why);
    }
}

static void on_end(void *owner, const struct engine_end *end)
{
    struct instance *instance = owner;
    struct registry *registry = instance->registry;
    uint32_t n_recent;

    instance->engine = NULL;
    instance->eq.open = false;
    tell_end(instance, end, end->wanted ? "engine-ended" : "engine-lost");
    instance_ref(instance); /* a stream that fails may be the last to leave */
    if (instance->state == INSTANCE_READY) {
        move(instance, INSTANCE_RECOVERING);
    }
    if (!end->wanted) {
        registry->events->counts[COUNT_ENGINE_CRASHES]++;
    }
    n_recent = registry->sink->on_lost(registry->owner, instance, end);
    if (n_recent >= BLAME_DEVICE_CRASHES) {
        instance->troubled_us = clock_mono_us();
    }
    instance->owes_figures = false;
    instance->figures = (struct instance_figures){ 0 };
    registry->sink->on_figures(registry->owner);
    if (instance->state != INSTANCE_ENDING) {
        try_again(instance, end, n_recent);
    }
    events_poke(registry->events);
    instance_unref(instance);
}

static const struct engine_sink engine_sink = {
    .on_progress = on_progress,
    .on_ready = on_ready,
    .on_answer = on_answer,
    .on_end = on_end,
};

/* ---- the start */

static void start_engine(struct instance *instance)
{
    struct registry *registry = instance->registry;
    const struct model_settings *settings = &instance->settings;
    const struct engine_spec spec = {
        .path = registry->engine_path,
        .name = settings->name,
        .model_fd = instance->fd,
        .load_stall_ms = registry->limits.load_stall_ms,
        .step_floor_ms = registry->limits.step_floor_ms,
    };
    Sotto__Engine__Start start = SOTTO__ENGINE__START__INIT;
    struct identity identity;
    struct stat stat;

    if (fstat(instance->fd, &stat) == 0) {
        identity = identity_of(&stat);
        if (!identity_is_same(&identity, &instance->identity)) {
            fail(instance, true,
                 "the model's file was changed in place while it was served; load it again to take it as "
                 "it is now");
            return;
        }
    }
    start.build = wire_str(SOTTO_VERSION);
    start.model_fd = 4; /* where engine_link puts it */
    start.model_name = wire_str(settings->name);
    start.backend = wire_str(settings->backend);
    start.threads = settings->n_threads;
    start.kv_bytes = settings->kv_bytes;
    start.context_tokens = settings->n_context;
    start.max_sequences = instance->eq.n_slots + ENGINE_QUEUE_SPARE;
    start.max_step_rows = instance->eq.n_rows;
    start.kv_format = wire_str(settings->kv_format);
    start.cpu_mask = wire_str(registry->cpu_mask);
    start.fake_script = wire_str(settings->fake_script);
    start.guard_allocations = registry->limits.guard_allocations;
    instance->model->n_starts++;
    registry->events->counts[COUNT_ENGINE_STARTS]++;
    instance->load_fraction = 0.0f;
    if (engine_start(&instance->engine, registry->events->loop, &spec, &start, &engine_sink, instance)) {
        fail(instance, false, "there is no memory to start an engine");
        return;
    }
    if (!instance->vocab && !instance->head_job && !diag_is_set(&instance->head_diag) && !read_vocabulary(instance)) {
        fail(instance, false, "the vocabulary could not be read: out of memory");
        return;
    }
    events_tell(registry->events, EVENTS_NO_UID, "engine", "engine-started", "model", settings->name, NULL);
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
    *ret_identity = identity_of(&stat);
    return fd_steal(&fd);
}

int instance_open(struct instance **ret_instance, struct model_entry *model, const struct instance_sink *sink,
                  struct diag *diag)
{
    struct registry *registry = model->registry;
    const struct model_settings *settings = &model->settings;
    struct instance *instance = mem_calloc(MEM_STREAM, 1, sizeof(*instance));
    int r;

    if (!instance) {
        return err_new(-ENOMEM);
    }
    instance->fd = open_file(settings->file, &instance->identity, diag);
    if (instance->fd < 0) {
        mem_free(instance);
        return 1;
    }
    instance->registry = registry;
    instance->model = model;
    instance->sink = sink;
    list_init(&instance->streams);
    list_init(&instance->pins);
    r = settings_copy(settings, &instance->settings, &instance->strings);
    r = r ? r : registry->sink->on_open(registry->owner, instance);
    if (r) {
        mem_free(instance->strings);
        close(instance->fd);
        mem_free(instance);
        return err_up(r);
    }
    map_init(&instance->sequences, MEM_STREAM);
    instance->eq.n_slots = settings->n_sequences ? settings->n_sequences : DEFAULT_SEQUENCES;
    instance->eq.n_rows = settings->n_step_rows ? settings->n_step_rows : DEFAULT_STEP_ROWS;
    instance->eq.processor = PROCESSOR_CPU;
    instance->eq.page_tokens = 1;
    uv_timer_init(registry->events->loop, &instance->rest);
    instance->rest.data = instance;
    list_append(&model->instances, &instance->link);
    rest(instance, 0); /* the caller has *ret_instance before anything can happen to it */
    *ret_instance = instance;
    return 0;
}

bool instance_is_ready(const struct instance *instance)
{
    return instance->state == INSTANCE_READY;
}

bool instance_is_troubled(const struct instance *instance)
{
    return instance->troubled_us && clock_mono_us() - instance->troubled_us < BLAME_MINUTE_US;
}

void instance_free_slot(struct instance *instance)
{
    instance->eq.n_taken--;
    instance->eq.no_room = false;
    instance->figures.n_sequences = instance->eq.n_taken;
}

void instance_lend_text(struct instance *instance, struct text_job *job)
{
    job->vocab = instance->vocab;
    job->chat = instance->chat;
    job->release = instance_unref;
    job->keeper = instance;
    instance_ref(instance);
}

bool instance_has_client(const struct instance *instance, uint32_t minor, uint64_t client, uint32_t pid)
{
    const struct instance_facts *facts = &instance->facts;

    if (!instance->engine) {
        return false;
    }
    for (uint32_t i = 0; i < facts->n_drm_clients; i++) {
        if (facts->drm_clients[i].minor == minor && facts->drm_clients[i].id == client) {
            return true;
        }
    }
    return pid != 0 && engine_pid(instance->engine) == pid;
}
