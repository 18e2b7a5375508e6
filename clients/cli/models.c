/*
 * sotto models, sotto load, sotto unload
 */
#include "ready.h"
#include "show.h"
#include <string.h>

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
    [MODELS_NAMES] = { "names", 0, ARG_FLAG, NULL, NULL, "only the names, one a line" },
    { NULL },
};

static const struct arg_row load_rows[] = {
    CLI_ROWS,
    [LOAD_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "this file in place of the configured one (administrators)" },
    { NULL },
};

static const struct arg_row unload_rows[] = {
    CLI_ROWS,
    [UNLOAD_NOW] = { "now", 0, ARG_FLAG, NULL, NULL, "end its answers; without: wait for them" },
    { NULL },
};

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

static void show_models(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_models *models = event->models;
    json_t *object;
    json_t *list;

    if (!cli->json) {
        for (size_t i = 0; i < models->n; i++) {
            print_model(&models->models[i]);
        }
        return;
    }
    object = json_object();
    list = json_array();
    for (size_t i = 0; i < models->n; i++) {
        json_array_append_new(list, show_model(&models->models[i]));
    }
    json_object_set_new(object, "models", list);
    show_line(object);
}

static void show_names(const struct cli *cli, const struct sotto_event *event)
{
    for (size_t i = 0; i < event->models->n; i++) {
        puts(event->models->models[i].name);
    }
}

static int run_models(struct cli *cli, struct args *args)
{
    struct reply reply = { .cli = cli, .show = show_models };
    struct arg_found found;
    struct sotto_error error;
    enum cli_next next;
    struct talk talk;
    int r;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row != MODELS_NAMES) {
            return cli_usage(cli, "\"%s\" is one argument too many", found.text);
        }
        reply.show = show_names;
    }
    if (next == CLI_NEXT_STOP) {
        return cli_end(cli);
    }
    r = talk_open(&talk, cli);
    if (r) {
        return r;
    }
    if (sotto_send_models(talk.sotto, talk_on_reply, &reply, NULL, &error)) {
        r = cli_fail(cli, &error);
    } else {
        r = talk_finish(&talk, &reply);
    }
    talk_close(&talk);
    return r;
}

static void show_loaded(void *owner, const struct sotto_model *model)
{
    const struct cli *cli = owner;

    if (cli->json) {
        show_line(show_model(model));
    } else {
        print_model(model);
    }
}

static int run_load(struct cli *cli, struct args *args)
{
    const char *name = NULL;
    const char *file = NULL;
    struct arg_found found;
    enum cli_next next;
    struct talk talk;
    int r;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row == LOAD_FILE) {
            file = found.text;
        } else if (name) {
            return cli_usage(cli, "\"%s\" is one argument too many", found.text);
        } else {
            name = found.text;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return cli_end(cli);
    }
    if (!name) {
        return cli_usage(cli, "NAME is missing");
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        r = ready_load(&talk, name, file, show_loaded, cli);
        r = r ? r : cli_flush(cli);
        talk_close(&talk);
    }
    return r;
}

static void show_unloaded(const struct cli *cli, const struct sotto_event *event)
{
    if (cli->json) {
        show_line(json_object());
    }
}

static int run_unload(struct cli *cli, struct args *args)
{
    struct reply reply = { .cli = cli, .show = show_unloaded };
    const char *name = NULL;
    bool now = false;
    struct arg_found found;
    struct sotto_error error;
    enum cli_next next;
    struct talk talk;
    int r;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row == UNLOAD_NOW) {
            now = true;
        } else if (name) {
            return cli_usage(cli, "\"%s\" is one argument too many", found.text);
        } else {
            name = found.text;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return cli_end(cli);
    }
    if (!name) {
        return cli_usage(cli, "NAME is missing");
    }
    r = talk_open(&talk, cli);
    if (r) {
        return r;
    }
    if (sotto_send_unload(talk.sotto, name, now, talk_on_reply, &reply, NULL, &error)) {
        r = cli_fail(cli, &error);
    } else {
        r = talk_finish(&talk, &reply);
    }
    talk_close(&talk);
    return r;
}

const struct command cmd_models = {
    .name = "models",
    .summary = "list the models",
    .words = "",
    .about = "Lists the models that the daemon knows: name, state, architecture, format, size, context in force;\n"
             "and what is pinned of each.",
    .rows = models_rows,
    .run = run_models,
};

const struct command cmd_load = {
    .name = "load",
    .summary = "load a model and wait for it",
    .words = "NAME",
    .about = "Loads the model NAME and waits until it can be asked, with progress on standard error. Many "
             "who ask\n"
             "wait for one load, which goes on if they leave.",
    .rows = load_rows,
    .run = run_load,
};

const struct command cmd_unload = {
    .name = "unload",
    .summary = "end a model's engine",
    .words = "NAME",
    .about = "Ends the engine of the model NAME after its last answer: all its memory goes back to the system.\n"
             "For administrators.",
    .rows = unload_rows,
    .run = run_unload,
};
