/*
 * Loading: from Start to Ready
 *
 * A fault of the file or the setup is reported as hopeless, since a new start would end the same. The measured cost is
 * a first guess for the scheduler, which refits it with every step.
 */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/log.h"
#include "exec/exec.h"
#include "proto/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The backends of this build; that of a GPU goes here. */
static const struct exec_ops *const backends[] = {
    &exec_cpu,
    &exec_truth,
#ifdef SOTTO_TESTS
    &exec_fake,
#endif
    NULL,
};

/* Defaults of Start: sequences for a head unit's apps, and rows for a step of about a frame's work. */
#define DEFAULT_SEQUENCES 32
#define DEFAULT_STEP_ROWS 256

static void send_progress(void *owner, float fraction, const char *phase)
{
    struct engine *engine = owner;
    Sotto__Engine__Progress progress = SOTTO__ENGINE__PROGRESS__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    char name[32];

    snprintf(name, sizeof(name), "%s", phase);
    progress.fraction = fraction;
    progress.phase = name;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_PROGRESS;
    message.progress = &progress;
    engine_send(engine, &message);
}

/* Graphics clients, read while files can still be opened. */
struct clients {
    Sotto__Engine__DrmClient list[ENGINE_DRM_MOST];
    Sotto__Engine__DrmClient *places[ENGINE_DRM_MOST];
    size_t n;
};

static void find_clients(struct clients *clients)
{
    clients->n = engine_find_drm(clients->list);
    for (size_t i = 0; i < clients->n; i++) {
        clients->places[i] = &clients->list[i];
    }
}

static void send_ready(struct engine *engine, Sotto__Engine__Cost *cost, struct clients *clients, uint64_t load_us)
{
    Sotto__Engine__Ready ready = SOTTO__ENGINE__READY__INIT;
    Sotto__Engine__FromEngine message = SOTTO__ENGINE__FROM_ENGINE__INIT;
    const struct model_facts *facts = &engine->facts;

    ready.build = wire_str(SOTTO_BUILD);
    ready.architecture = wire_str(facts->architecture);
    ready.format = wire_str(facts->format);
    ready.parameters = facts->n_parameters;
    ready.vocabulary = facts->n_vocab;
    ready.trained_context_tokens = facts->n_trained;
    ready.context_tokens = facts->n_context;
    ready.page_tokens = facts->n_page_tok;
    ready.kv_bytes_per_token = facts->kv_token_bytes;
    ready.pages = facts->n_pages;
    ready.backend = wire_str(facts->backend);
    ready.numerics = wire_str(facts->numerics);
    ready.hidden = facts->n_hidden;
    ready.shares_prefixes = facts->shares;
    ready.decode_tokens = facts->n_decode;
    ready.load_us = load_us;
    ready.cost = cost;
    ready.n_drm_clients = clients->n;
    ready.drm_clients = clients->places;
    message.body_case = SOTTO__ENGINE__FROM_ENGINE__BODY_READY;
    message.ready = &ready;
    engine_send(engine, &message);
}

/* Takes the descriptor, which was inherited on purpose, and lets no program inherit it from here on. */
static bool take_model_fd(struct engine *engine, uint32_t fd)
{
    if (fd > INT32_MAX || (int)fd == engine->link.fd || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
        engine_fault(engine, false, "Start names a model descriptor that is not open");
        return false;
    }
    return true;
}

/* Sets the affinity before the workers start, since they inherit it. No cores: those that the engine was started
 * with. */
static bool use_cores(struct engine *engine, const Sotto__Engine__Start *start)
{
    cpu_set_t set;

    if (start->n_cores == 0) {
        return true;
    }
    CPU_ZERO(&set);
    for (size_t i = 0; i < start->n_cores; i++) {
        if (start->cores[i] < CPU_SETSIZE) {
            CPU_SET(start->cores[i], &set);
        }
    }
    if (sched_setaffinity(0, sizeof(set), &set) < 0) {
        engine_fault(engine, false, "Start names cores of which none may be used");
        return false;
    }
    return true;
}

/* Allocates what depends on the setup alone. */
static int set_aside(struct engine *engine, const struct model_setup *setup)
{
    int r;

    r = seq_table_init(&engine->seq_table, setup->n_sequences);
    if (r) {
        return r;
    }
    r = step_reply_init(&engine->step_reply, setup->n_rows);
    if (r) {
        return r;
    }
    engine->entries = mem_calloc(MEM_MISC, setup->n_rows, sizeof(*engine->entries));
    return engine->entries ? 0 : -ENOMEM;
}

/* Opens the model. Returns false if it has reported a Fault. */
static bool open_model(struct engine *engine, const struct model_setup *setup)
{
    struct diag diag = DIAG_INIT;
    int r;

    r = set_aside(engine, setup);
    r = r ? r : model_open(&engine->model, setup, send_progress, engine, &diag);
    if (r == MODEL_REFUSED) {
        engine_fault(engine, true, diag.text);
    } else if (r < 0 && diag_is_set(&diag)) {
        engine_fault(engine, false, diag.text);
    } else if (r < 0) {
        engine_fault_of(engine, "the model could not be loaded", r);
    }
    return r == MODEL_OK;
}

void engine_load(struct engine *engine, const Sotto__Engine__Start *start)
{
    const struct model_setup setup = {
        .fd = (int)start->model_fd,
        .backends = backends,
        .backend = start->backend,
        .cpu_mask = start->cpu_mask,
        .kv_format = start->kv_format[0] != '\0' ? start->kv_format : "f16",
        .fake_script = start->fake_script,
        .n_threads = start->threads,
        .n_context = start->context_tokens,
        .n_sequences = start->max_sequences > 0 ? start->max_sequences : DEFAULT_SEQUENCES,
        .n_rows = start->max_step_rows > 0 ? start->max_step_rows : DEFAULT_STEP_ROWS,
        .kv_bytes = start->kv_bytes,
    };
    Sotto__Engine__Cost cost = SOTTO__ENGINE__COST__INIT;
    uint64_t from_us = clock_mono_us();
    struct clients clients;
    char text[DIAG_BYTES];

    if (engine->model) {
        engine_fault(engine, false, "Start came twice");
        return;
    }
    if (strcmp(start->build, SOTTO_BUILD) != 0) {
        snprintf(text, sizeof(text), "sottod is of build \"%.64s\" and sotto-engine of \"%s\": install both of one",
                 start->build, SOTTO_BUILD);
        engine_fault(engine, true, text);
        return;
    }
    if (!take_model_fd(engine, start->model_fd) || !use_cores(engine, start) || !open_model(engine, &setup)) {
        return;
    }

    snprintf(engine->kv_format, sizeof(engine->kv_format), "%s", setup.kv_format);
    engine->guards = start->guard_allocations;
    model_facts(engine->model, &engine->facts);
    if (engine->facts.threads[0] != '\0') {
        log_info("engine", "%s computes with %s", engine->facts.backend, engine->facts.threads);
    }
    engine_measure(engine, &cost);
    model_figures(engine->model, &engine->warm);
    find_clients(&clients);
    if (engine->narrow) {
        engine->narrow();
    }
    if (engine->end == ENGINE_GOES_ON) {
        send_ready(engine, &cost, &clients, clock_mono_us() - from_us);
    }
}
