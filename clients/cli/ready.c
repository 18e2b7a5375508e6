/*
 * One ListModels tells the state, and a LoadModel waits if the model is not loaded. The daemon makes one load of many
 * such requests.
 */
#include "ready.h"
#include <string.h>
#include <unistd.h>

struct loading {
    const char *name;
    char phase[32]; /* printed last */
    bool on_line;   /* the terminal's line holds the progress */
    void (*show)(void *owner, const struct sotto_model *model);
    void *owner;
    bool done;
    int exit;
};

static void clear_line(struct loading *loading)
{
    if (loading->on_line) {
        fputs("\r\033[K", stderr);
        loading->on_line = false;
    }
}

/* A terminal gets one line that changes; a file or pipe gets a line for each phase. */
static void show_progress(struct loading *loading, const struct sotto_progress *progress)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[Kloading %s: %.0f %% (%s)", loading->name, (double)progress->fraction * 100,
                progress->phase);
        loading->on_line = true;
    } else if (strcmp(loading->phase, progress->phase) != 0) {
        fprintf(stderr, "loading %s: %s\n", loading->name, progress->phase);
    }
    snprintf(loading->phase, sizeof(loading->phase), "%s", progress->phase);
}

static void on_loading(void *owner, const struct sotto_event *event)
{
    struct loading *loading = owner;

    if (event->kind == SOTTO_EVENT_PROGRESS) {
        show_progress(loading, event->progress);
        return;
    }
    clear_line(loading);
    if (event->kind == SOTTO_EVENT_ERROR) {
        loading->exit = cli_fail(event->error);
    } else if (event->kind == SOTTO_EVENT_MODEL) {
        loading->show(loading->owner, event->model);
    }
    loading->done = event->last;
}

int ready_load(struct connection *connection, const char *name, const char *file,
               void (*show)(void *owner, const struct sotto_model *model), void *owner)
{
    struct loading loading = { .name = name, .show = show, .owner = owner };
    struct sotto_error error;
    uint32_t stream;
    int r;

    if (sotto_send_load(connection->sotto, name, file, on_loading, &loading, &stream, &error)) {
        return cli_fail(&error);
    }
    r = connection_until(connection, &loading.done);
    if (r) {
        clear_line(&loading);
        sotto_drop(connection->sotto, stream);
        return r;
    }
    return loading.exit;
}

/* The search for one model in the list. */
struct looking {
    const char *wanted; /* NULL: the default one */
    char name[128];
    bool not_loaded;
    struct ready *ready;
    bool done;
    int exit;
};

static void keep_model(void *owner, const struct sotto_model *model)
{
    struct ready *ready = owner;

    ready->chat = model->chat;
    snprintf(ready->chat_reason, sizeof(ready->chat_reason), "%s", model->chat_reason);
}

static void on_models(void *owner, const struct sotto_event *event)
{
    struct looking *looking = owner;

    looking->done = event->last;
    if (event->kind == SOTTO_EVENT_ERROR) {
        looking->exit = cli_fail(event->error);
    }
    for (size_t i = 0; event->kind == SOTTO_EVENT_MODELS && i < event->models->n; i++) {
        const struct sotto_model *model = &event->models->models[i];

        if (looking->wanted ? strcmp(model->name, looking->wanted) == 0 : model->is_default) {
            keep_model(looking->ready, model);
            looking->not_loaded = model->state == SOTTO_MODEL_KNOWN || model->state == SOTTO_MODEL_LOADING;
            snprintf(looking->name, sizeof(looking->name), "%s", model->name);
        }
    }
}

int ready_wait(struct connection *connection, const char *name, struct ready *ret_ready)
{
    struct looking looking = { .wanted = name, .ready = ret_ready };
    struct sotto_error error;
    uint32_t stream;
    int r;

    *ret_ready = (struct ready){ .chat = false };
    if (sotto_send_models(connection->sotto, on_models, &looking, &stream, &error)) {
        return cli_fail(&error);
    }
    r = connection_until(connection, &looking.done);
    if (r) {
        sotto_drop(connection->sotto, stream);
        return r;
    }
    if (looking.exit || !looking.not_loaded) {
        return looking.exit;
    }
    return ready_load(connection, looking.name, NULL, keep_model, ret_ready);
}
