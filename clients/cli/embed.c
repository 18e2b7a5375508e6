/*
 * sotto embed: a text as one vector
 */
#include "ask.h"
#include "base/mem.h"
#include "show.h"
#include "talk.h"
#include <string.h>

enum embed_row {
    EMBED_MODEL = CLI_ROWS_COUNT,
    EMBED_TOKENS,
    EMBED_RAW,
    EMBED_CLASS,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    [EMBED_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, "the model; without: the daemon's default" },
    [EMBED_TOKENS] = { "tokens", 0, ARG_FLAG, NULL, NULL, "TEXT is ID,ID,...: exactly these tokens" },
    [EMBED_RAW] = { "raw", 0, ARG_FLAG, NULL, NULL, "as the model pools it; without: of length 1" },
    [EMBED_CLASS] = { "class", 0, ARG_CHOICE, NULL, ASK_CLASSES, "how urgent it is; policy sets a ceiling" },
    { NULL },
};

/* What the options said. */
struct wish {
    const char *model;
    const char *text;
    bool has_tokens;
    uint32_t flags;
    enum sotto_class priority;
};

/* CLI_OK, or -1 less the exit code. */
static int take_wish(struct cli *cli, struct args *args, struct wish *wish)
{
    struct arg_found found;
    enum cli_next next;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row == EMBED_MODEL) {
            wish->model = found.text;
        } else if (found.row == EMBED_TOKENS) {
            wish->has_tokens = true;
        } else if (found.row == EMBED_RAW) {
            wish->flags |= SOTTO_EMBED_RAW;
        } else if (found.row == EMBED_CLASS) {
            wish->priority = ask_class(found.text);
        } else if (wish->text) {
            return -1 - cli_usage(cli, "\"%s\" is one argument too many: put the text in quotes", found.text);
        } else {
            wish->text = found.text;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return -1 - cli_end(cli);
    }
    return wish->text ? CLI_OK : -1 - cli_usage(cli, "TEXT is missing");
}

/* Nine digits bring back the same float. */
static void show_embedded(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_embedding *embedded = event->embedded;
    json_t *object;
    json_t *values;

    if (!cli->json) {
        for (size_t i = 0; i < embedded->n_values; i++) {
            printf("%s%.9g", i ? " " : "", (double)embedded->values[i]);
        }
        putchar('\n');
        return;
    }
    object = json_object();
    values = json_array();
    for (size_t i = 0; i < embedded->n_values; i++) {
        json_array_append_new(values, json_real((double)embedded->values[i]));
    }
    json_object_set_new(object, "values", values);
    json_object_set_new(object, "prompt_tokens", json_integer(embedded->prompt_tokens));
    json_object_set_new(object, "model", show_text(embedded->model, strlen(embedded->model)));
    json_object_set_new(object, "numerics", show_text(embedded->numerics, strlen(embedded->numerics)));
    show_line(object);
}

static enum sotto_code send(struct sotto *sotto, const struct wish *wish, const uint32_t *ids, size_t n_ids,
                            struct reply *reply, struct sotto_error *error)
{
    if (wish->has_tokens) {
        return sotto_send_embed_tokens(sotto, wish->model, ids, n_ids, wish->flags, wish->priority, talk_on_reply,
                                       reply, NULL, error);
    }
    return sotto_send_embed(sotto, wish->model, wish->text, strlen(wish->text), wish->flags, wish->priority,
                            talk_on_reply, reply, NULL, error);
}

static int run(struct cli *cli, struct args *args)
{
    struct reply reply = { .cli = cli, .show = show_embedded };
    struct wish wish = { .model = NULL };
    struct sotto_error error;
    struct talk talk;
    uint32_t *ids = NULL;
    size_t n_ids = 0;
    int r = take_wish(cli, args, &wish);

    if (r < 0) {
        return -1 - r;
    }
    r = wish.has_tokens ? ask_read_ids(cli, wish.text, &ids, &n_ids) : CLI_OK;
    if (r) {
        return r;
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        if (send(talk.sotto, &wish, ids, n_ids, &reply, &error)) {
            r = cli_fail(cli, &error);
        } else {
            r = talk_finish(&talk, &reply);
        }
        talk_close(&talk);
    }
    mem_free(ids);
    return r;
}

const struct command cmd_embed = {
    .name = "embed",
    .summary = "show what a text comes to as a vector",
    .words = "TEXT",
    .about = "Prints the values that a model made for it embeds TEXT in, on one line. Their length is 1, so "
             "that the\n"
             "sum of products of two of them tells how alike two texts are.",
    .rows = rows,
    .run = run,
};
