/*
 * sotto models, sotto load, sotto unload
 */
#include "ready.h"
#include "show.h"

enum models_row {
    MODELS_NAMES = CLI_ROWS_COUNT,
};

enum load_row {
    LOAD_FILE = CLI_ROWS_COUNT,
};

enum unload_row {
    UNLOAD_NOW = CLI_ROWS_COUNT,
};

static const struct arg_row models_rows[] = {
    CLI_ROWS,
    [MODELS_NAMES] = { "names", 0, ARG_FLAG, NULL, NULL, "only the names, one on a line" },
    { NULL },
};

static const struct arg_row load_rows[] = {
    CLI_ROWS,
    [LOAD_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "load this file, not the configured one (administrators)" },
    { NULL },
};

static const struct arg_row unload_rows[] = {
    CLI_ROWS,
    [UNLOAD_NOW] = { "now", 0, ARG_FLAG, NULL, NULL, "end its answers instead of waiting for them" },
    { NULL },
};

/* The option of any of the three. */
struct models {
    bool is_set;      /* --names, --now */
    const char *file; /* --file, or NULL */
};

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct models *models = owner;

    (void)cli;
    models->is_set = true;
    models->file = found->text;
    return CLI_OK;
}

static void print_model(const struct sotto_model *model)
{
    char size[SHOW_BYTES];

    printf("%-20s %-11s %-9s %-7s %10s  context %u%s", model->name, model->state_name, model->architecture,
           model->format, show_bytes(model->file_bytes, size), model->context_tokens,
           model->is_default ? "  default" : "");
    if (model->state == SOTTO_MODEL_LOADING) {
        printf("  %.0f %%", (double)model->load_fraction * 100);
    }
    if (*model->reason) {
        printf("\n%20s %s", "", model->reason);
    }
    putchar('\n');
    show_pins(model);
}

static enum sotto_code send_models(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    return sotto_send_models(sotto, connection_on_reply, reply, NULL, error);
}

static void show_list(const struct reply *reply, const struct sotto_event *event)
{
    const struct models *models = reply->options;

    if (reply->cli->json && !models->is_set) {
        show_line(show_models(event->models));
        return;
    }
    for (size_t i = 0; i < event->models->n; i++) {
        if (models->is_set) {
            puts(event->models->models[i].name);
        } else {
            print_model(&event->models->models[i]);
        }
    }
}

static void show_loaded(void *owner, const struct sotto_model *model)
{
    const struct connection *connection = owner;

    if (connection->cli->json) {
        show_line(show_model(model));
    } else {
        print_model(model);
    }
}

static int load(struct connection *connection, void *owner)
{
    const struct models *models = owner;
    int r = ready_load(connection, connection->cli->words[0], models->file, show_loaded, connection);

    return r ? r : cli_flush();
}

static enum sotto_code send_unload(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    const struct models *models = reply->options;

    return sotto_send_unload(sotto, reply->cli->words[0], models->is_set, connection_on_reply, reply, NULL, error);
}

static void show_unloaded(const struct reply *reply, const struct sotto_event *event)
{
    (void)event;
    if (reply->cli->json) {
        show_line(json_object());
    }
}

const struct command cmd_models = {
    .name = "models",
    .summary = "list the models",
    .words = "",
    .about = "Lists the models that the daemon knows: name, state, architecture, format, size and context length,\n"
             "and the prompts that policy pins to each.",
    .rows = models_rows,
    .options_bytes = sizeof(struct models),
    .take = take,
    .send = send_models,
    .show = show_list,
};

const struct command cmd_load = {
    .name = "load",
    .summary = "load a model and wait for it",
    .words = "NAME",
    .about = "Loads the model NAME and waits until it is ready, with progress on standard error. The load\n"
             "goes on if this command ends early; several such commands share one load.",
    .rows = load_rows,
    .least = 1,
    .most = 1,
    .options_bytes = sizeof(struct models),
    .take = take,
    .talk = load,
};

const struct command cmd_unload = {
    .name = "unload",
    .summary = "end a model's engine and free its memory",
    .words = "NAME",
    .about = "Ends the engine of the model NAME after its last answer; all its memory goes back to the system.\n"
             "For administrators.",
    .rows = unload_rows,
    .least = 1,
    .most = 1,
    .options_bytes = sizeof(struct models),
    .take = take,
    .send = send_unload,
    .show = show_unloaded,
};
