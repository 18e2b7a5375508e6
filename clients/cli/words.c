/*
 * sotto tokenize, sotto detokenize: text as the model sees it
 */
#include "ask.h"
#include "base/mem.h"
#include "outside.h"
#include "show.h"
#include "talk.h"
#include <string.h>

enum words_row {
    WORDS_MODEL = CLI_ROWS_COUNT,
    WORDS_SPECIAL,
    WORDS_PIECES, /* this and the next: tokenize only */
    WORDS_FILE,
    WORDS_HEX,
};

static const struct arg_row tokenize_rows[] = {
    CLI_ROWS,
    [WORDS_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, "the model; without: the daemon's default" },
    [WORDS_SPECIAL] = { "special", 0, ARG_FLAG, NULL, NULL, "control tokens in TEXT count, and BOS is put before it" },
    [WORDS_PIECES] = { "pieces", 0, ARG_FLAG, NULL, NULL, "also the text of each token" },
    [WORDS_FILE] = { "file", 0, ARG_TEXT, "PATH", NULL, "by the vocabulary of this GGUF file, without a daemon" },
    [WORDS_HEX] = { "hex", 0, ARG_FLAG, NULL, NULL, "with --file: TEXT is bytes in hexadecimal" },
    { NULL },
};

static const struct arg_row detokenize_rows[] = {
    CLI_ROWS,
    [WORDS_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, "the model; without: the daemon's default" },
    [WORDS_SPECIAL] = { "special", 0, ARG_FLAG, NULL, NULL, "print control tokens, too" },
    { NULL },
};

struct words {
    const char *model;
    uint32_t flags; /* SOTTO_TOKENIZE_... */
    bool has_file;
    bool has_hex;
    const char *given;
};

/* CLI_OK, or -1 less the exit code. */
static int take_words(struct cli *cli, struct args *args, struct words *words, const char *missing)
{
    struct arg_found found;
    enum cli_next next;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row == WORDS_MODEL) {
            words->model = found.text;
        } else if (found.row == WORDS_SPECIAL) {
            words->flags |= SOTTO_TOKENIZE_SPECIAL;
        } else if (found.row == WORDS_PIECES) {
            words->flags |= SOTTO_TOKENIZE_PIECES;
        } else if (found.row == WORDS_FILE) {
            words->has_file = true;
        } else if (found.row == WORDS_HEX) {
            words->has_hex = true;
        } else if (words->given) {
            return -1 - cli_usage(cli, "\"%s\" is one argument too many: put the text in quotes", found.text);
        } else {
            words->given = found.text;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return -1 - cli_end(cli);
    }
    return words->given ? CLI_OK : -1 - cli_usage(cli, "%s is missing", missing);
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

static void show_tokens(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_tokenized *tokenized = event->tokenized;
    json_t *object;

    if (!cli->json) {
        print_tokens(tokenized);
        return;
    }
    object = json_object();
    json_object_set_new(object, "tokens", show_ids(tokenized->ids, tokenized->n));
    if (tokenized->n_pieces) {
        json_t *pieces = json_array();

        for (size_t i = 0; i < tokenized->n_pieces; i++) {
            json_array_append_new(pieces, show_text(tokenized->pieces[i].bytes, tokenized->pieces[i].n));
        }
        json_object_set_new(object, "pieces", pieces);
    }
    show_line(object);
}

/* The vocabulary of a file: that is another program's work, which takes the same words. */
static int run_on_file(const struct cli *cli, struct args *args, const struct words *words)
{
    if (words->model || cli->socket) {
        return cli_usage(cli, "--file needs no daemon: without --model and --socket");
    }
    outside_run(cli, cli->command->name, args->argc, args->argv);
    fputs("sotto tokenize: the program sotto-tokenize is not installed: it belongs to the daemon's package\n", stderr);
    return CLI_FAILED;
}

static int run_tokenize(struct cli *cli, struct args *args)
{
    struct reply reply = { .cli = cli, .show = show_tokens };
    struct words words = { .model = NULL };
    struct sotto_error error;
    struct talk talk;
    int r = take_words(cli, args, &words, "TEXT");

    if (r < 0) {
        return -1 - r;
    }
    if (words.has_file) {
        return run_on_file(cli, args, &words);
    }
    if (words.has_hex) {
        return cli_usage(cli, "--hex goes with --file");
    }
    r = talk_open(&talk, cli);
    if (r) {
        return r;
    }
    if (sotto_send_tokenize(talk.sotto, words.model, words.given, strlen(words.given), words.flags, talk_on_reply,
                            &reply, NULL, &error)) {
        r = cli_fail(cli, &error);
    } else {
        r = talk_finish(&talk, &reply);
    }
    talk_close(&talk);
    return r;
}

static void show_detokenized(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_bytes *text = event->detokenized;
    json_t *object;

    if (!cli->json) {
        fwrite(text->bytes, 1, text->n, stdout);
        putchar('\n');
        return;
    }
    object = json_object();
    json_object_set_new(object, "text", show_text(text->bytes, text->n));
    show_line(object);
}

static int run_detokenize(struct cli *cli, struct args *args)
{
    struct reply reply = { .cli = cli, .show = show_detokenized };
    struct words words = { .model = NULL };
    struct sotto_error error;
    struct talk talk;
    uint32_t *ids;
    size_t n;
    int r = take_words(cli, args, &words, "ID,ID,...");

    if (r < 0) {
        return -1 - r;
    }
    r = ask_read_ids(cli, words.given, &ids, &n);
    if (r) {
        return r;
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        if (sotto_send_detokenize(talk.sotto, words.model, ids, n, words.flags & SOTTO_TOKENIZE_SPECIAL, talk_on_reply,
                                  &reply, NULL, &error)) {
            r = cli_fail(cli, &error);
        } else {
            r = talk_finish(&talk, &reply);
        }
        talk_close(&talk);
    }
    mem_free(ids);
    return r;
}

const struct command cmd_tokenize = {
    .name = "tokenize",
    .summary = "show a text as token ids",
    .words = "TEXT",
    .about = "Prints the token ids of TEXT, apart by commas, as `sotto generate --tokens` takes them. Text that\n"
             "spells a control token is ordinary text, unless --special is given. With --file no daemon is asked.",
    .rows = tokenize_rows,
    .run = run_tokenize,
};

const struct command cmd_detokenize = {
    .name = "detokenize",
    .summary = "show token ids as text",
    .words = "ID,ID,...",
    .about = "Prints the text that the token ids spell.",
    .rows = detokenize_rows,
    .run = run_detokenize,
};
