/*
 * sotto tokenize, sotto detokenize: text as the model sees it
 */
#include "base/mem.h"
#include "connection.h"
#include "external.h"
#include "generate_options.h"
#include "show.h"
#include <string.h>

enum tokenize_row {
    TOKENIZE_MODEL = CLI_ROWS_COUNT,
    TOKENIZE_SPECIAL,
    TOKENIZE_PIECES, /* this and the next: tokenize only */
    TOKENIZE_FILE,
    TOKENIZE_HEX,
};

static const struct arg_row tokenize_rows[] = {
    CLI_ROWS,
    [TOKENIZE_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, OPTION_HELP_MODEL },
    [TOKENIZE_SPECIAL] = { "special", 0, ARG_FLAG, NULL, NULL, "read control tokens in TEXT, and put BOS before it" },
    [TOKENIZE_PIECES] = { "pieces", 0, ARG_FLAG, NULL, NULL, "also print the text of each token" },
    [TOKENIZE_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "use the vocabulary of this GGUF file, without a daemon" },
    [TOKENIZE_HEX] = { "hex", 0, ARG_FLAG, NULL, NULL, "with --file: TEXT is bytes in hexadecimal" },
    { NULL },
};

static const struct arg_row detokenize_rows[] = {
    CLI_ROWS,
    [TOKENIZE_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, OPTION_HELP_MODEL },
    [TOKENIZE_SPECIAL] = { "special", 0, ARG_FLAG, NULL, NULL, "print control tokens, too" },
    { NULL },
};

struct tokenize {
    const char *model;
    uint32_t flags; /* SOTTO_TOKENIZE_... */
    bool has_file;
    bool has_hex;
    uint32_t *ids; /* owned; to detokenize */
    size_t n_ids;
};

static void finish(void *owner)
{
    mem_free(((struct tokenize *)owner)->ids);
}

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct tokenize *tokenize = owner;

    (void)cli;
    if (found->row == TOKENIZE_MODEL) {
        tokenize->model = found->text;
    } else if (found->row == TOKENIZE_SPECIAL) {
        tokenize->flags |= SOTTO_TOKENIZE_SPECIAL;
    } else if (found->row == TOKENIZE_PIECES) {
        tokenize->flags |= SOTTO_TOKENIZE_PIECES;
    } else if (found->row == TOKENIZE_FILE) {
        tokenize->has_file = true;
    } else {
        tokenize->has_hex = true;
    }
    return CLI_OK;
}

/* Replaces this program by another one that takes the same arguments, if --file is given. */
static int check_tokenize(struct cli *cli, void *owner)
{
    const struct tokenize *tokenize = owner;

    if (!tokenize->has_file) {
        return tokenize->has_hex ? cli_usage(cli, "--hex goes with --file") : CLI_OK;
    }
    if (tokenize->model || cli->socket) {
        return cli_usage(cli, "--file needs no daemon: leave out --model and --socket");
    }
    external_run(cli, cli->command->name, cli->argc, cli->argv);
    return external_missing(cli->command->name);
}

static enum sotto_code send_tokenize(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    const struct tokenize *tokenize = reply->options;
    const char *text = reply->cli->words[0];

    return sotto_send_tokenize(sotto, tokenize->model, text, strlen(text), tokenize->flags, connection_on_reply, reply,
                               NULL, error);
}

static void print_tokens(const struct sotto_tokenized *tokenized)
{
    for (size_t i = 0; i < tokenized->n; i++) {
        if (tokenized->n_pieces) {
            printf("%u\t", tokenized->ids[i]);
            fwrite(tokenized->pieces[i].bytes, 1, tokenized->pieces[i].n, stdout);
            putchar('\n');
        } else {
            printf("%s%u", i ? "," : "", tokenized->ids[i]);
        }
    }
    if (!tokenized->n_pieces) {
        putchar('\n');
    }
}

static void show_tokens(const struct reply *reply, const struct sotto_event *event)
{
    const struct sotto_tokenized *tokenized = event->tokenized;
    json_t *pieces;
    json_t *object;

    if (!reply->cli->json) {
        print_tokens(tokenized);
        return;
    }
    object = json_pack("{s:o}", "tokens", show_ids(tokenized->ids, tokenized->n));
    if (tokenized->n_pieces) {
        pieces = json_array();
        for (size_t i = 0; i < tokenized->n_pieces; i++) {
            json_array_append_new(pieces, show_text(tokenized->pieces[i].bytes, tokenized->pieces[i].n));
        }
        json_object_set_new(object, "pieces", pieces);
    }
    show_line(object);
}

static int check_detokenize(struct cli *cli, void *owner)
{
    struct tokenize *tokenize = owner;

    return generate_options_read_ids(cli, cli->words[0], &tokenize->ids, &tokenize->n_ids);
}

static enum sotto_code send_detokenize(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    const struct tokenize *tokenize = reply->options;

    return sotto_send_detokenize(sotto, tokenize->model, tokenize->ids, tokenize->n_ids,
                                 tokenize->flags & SOTTO_TOKENIZE_SPECIAL, connection_on_reply, reply, NULL, error);
}

static void show_detokenized(const struct reply *reply, const struct sotto_event *event)
{
    const struct sotto_bytes *text = event->detokenized;

    if (reply->cli->json) {
        show_line(json_pack("{s:o}", "text", show_text(text->bytes, text->n)));
        return;
    }
    fwrite(text->bytes, 1, text->n, stdout);
    putchar('\n');
}

const struct command cmd_tokenize = {
    .name = "tokenize",
    .summary = "show the token ids of a text",
    .words = "TEXT",
    .about =
        "Prints the token ids of TEXT with commas between them, as generate --tokens takes them. Text that spells\n"
        "a control token is ordinary text unless --special is given. With --file no daemon is needed.",
    .rows = tokenize_rows,
    .least = 1,
    .most = 1,
    .advice = "put the text in quotes",
    .options_bytes = sizeof(struct tokenize),
    .take = take,
    .check = check_tokenize,
    .send = send_tokenize,
    .show = show_tokens,
};

const struct command cmd_detokenize = {
    .name = "detokenize",
    .summary = "show the text of token ids",
    .words = "ID,ID,...",
    .about = "Prints the text that the token ids spell.",
    .rows = detokenize_rows,
    .least = 1,
    .most = 1,
    .advice = "put commas between the ids, and no blanks",
    .options_bytes = sizeof(struct tokenize),
    .take = take,
    .check = check_detokenize,
    .send = send_detokenize,
    .show = show_detokenized,
    .finish = finish,
};
