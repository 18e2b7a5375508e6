/*
 * sotto embed: a text as one vector
 */
#include "base/mem.h"
#include "connection.h"
#include "generate_options.h"
#include "show.h"
#include <string.h>

enum embed_row {
    EMBED_MODEL = CLI_ROWS_COUNT,
    EMBED_TOKENS,
    EMBED_RAW,
    EMBED_CLASS,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    [EMBED_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, OPTION_HELP_MODEL },
    [EMBED_TOKENS] = { "tokens", 0, ARG_FLAG, NULL, NULL, "TEXT is ID,ID,...: exactly these tokens" },
    [EMBED_RAW] = { "raw", 0, ARG_FLAG, NULL, NULL, "as the model pools it, not divided by its length" },
    [EMBED_CLASS] = { "class", 0, ARG_CHOICE, NULL, OPTION_CLASSES, OPTION_HELP_CLASS },
    { NULL },
};

struct embed {
    const char *model;
    bool has_tokens;
    uint32_t flags; /* SOTTO_EMBED_... */
    enum sotto_class priority;
    uint32_t *ids; /* owned */
    size_t n_ids;
};

static void finish(void *owner)
{
    mem_free(((struct embed *)owner)->ids);
}

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct embed *embed = owner;

    (void)cli;
    if (found->row == EMBED_MODEL) {
        embed->model = found->text;
    } else if (found->row == EMBED_TOKENS) {
        embed->has_tokens = true;
    } else if (found->row == EMBED_RAW) {
        embed->flags |= SOTTO_EMBED_RAW;
    } else {
        embed->priority = generate_options_class(found->text);
    }
    return CLI_OK;
}

static int check(struct cli *cli, void *owner)
{
    struct embed *embed = owner;

    return embed->has_tokens ? generate_options_read_ids(cli, cli->words[0], &embed->ids, &embed->n_ids) : CLI_OK;
}

static enum sotto_code send(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    const struct embed *embed = reply->options;
    const char *text = reply->cli->words[0];

    if (embed->has_tokens) {
        return sotto_send_embed_tokens(sotto, embed->model, embed->ids, embed->n_ids, embed->flags, embed->priority,
                                       connection_on_reply, reply, NULL, error);
    }
    return sotto_send_embed(sotto, embed->model, text, strlen(text), embed->flags, embed->priority, connection_on_reply,
                            reply, NULL, error);
}

/* Nine digits give back the same float. */
static void show(const struct reply *reply, const struct sotto_event *event)
{
    const struct sotto_embedding *embedded = event->embedded;

    if (reply->cli->json) {
        show_line(show_embedding(embedded));
        return;
    }
    for (size_t i = 0; i < embedded->n_values; i++) {
        printf("%s%.9g", i ? " " : "", (double)embedded->values[i]);
    }
    putchar('\n');
}

const struct command cmd_embed = {
    .name = "embed",
    .summary = "show the embedding of a text",
    .words = "TEXT",
    .about = "Prints the embedding of TEXT, a vector, on one line; the model must be made for that. The vector has\n"
             "length 1, so the dot product of two embeddings tells how similar two texts are.",
    .rows = rows,
    .least = 1,
    .most = 1,
    .advice = "put the text in quotes",
    .options_bytes = sizeof(struct embed),
    .take = take,
    .check = check,
    .send = send,
    .show = show,
    .finish = finish,
};
