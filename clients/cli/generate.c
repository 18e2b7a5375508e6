/*
 * sotto generate: one prompt, one answer
 */
#include "answer_view.h"
#include "base/clean.h"
#include "base/mem.h"
#include "generate_options.h"
#include "ready.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The daemon takes less: it is the one to refuse a prompt as too long. */
#define PROMPT_MAX (8u << 20)

enum generate_row {
    GENERATE_TOKENS = OPTION_COUNT,
    GENERATE_RAW,
    GENERATE_IGNORE_END,
    GENERATE_LOGPROBS,
    GENERATE_KEY,
    GENERATE_SESSION,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    OPTION_ROWS,
    [GENERATE_TOKENS] = { "tokens", 0, ARG_TEXT, "ID,ID,...", NULL, "exactly these tokens in place of PROMPT" },
    [GENERATE_RAW] = { "raw", 'r', ARG_FLAG, NULL, NULL, "continue PROMPT as it is, without the model's template" },
    [GENERATE_IGNORE_END] = { "ignore-end", 0, ARG_FLAG, NULL, NULL, "go on past the model's end token" },
    [GENERATE_LOGPROBS] = { "logprobs", 0, ARG_UINT, "N", NULL, "with --json: of each token and the N likeliest" },
    [GENERATE_KEY] = { "key", 0, ARG_TEXT, "NAME", NULL, "names the answer; no other running one may have it" },
    [GENERATE_SESSION] = { "session", 0, ARG_UINT, "ID", NULL, "continue session ID; the answer joins it" },
    { NULL },
};

struct generate {
    struct generate_options options;
    const char *ids;
    bool raw;
    bool logprobs;
    struct buf from_stdin;
    const char *text; /* the prompt, unless @ids is set */
    size_t n_text;
};

static int begin(void *owner)
{
    struct generate *generate = owner;

    buf_init(&generate->from_stdin, MEM_MISC, PROMPT_MAX);
    return generate_options_init(&generate->options);
}

static void finish(void *owner)
{
    struct generate *generate = owner;

    generate_options_finish(&generate->options);
    buf_finish(&generate->from_stdin);
}

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct generate *generate = owner;
    struct sotto_generate *request = generate->options.generate;
    uint32_t number;
    int r;

    switch (found->row) {
    case GENERATE_TOKENS:
        generate->ids = found->text;
        return CLI_OK;
    case GENERATE_RAW:
        generate->raw = true;
        return CLI_OK;
    case GENERATE_IGNORE_END:
        sotto_generate_set_ignore_end(request, true);
        return CLI_OK;
    case GENERATE_LOGPROBS:
        r = cli_take_u32(cli, found, &number);
        if (r == CLI_OK) {
            generate->logprobs = true;
            sotto_generate_set_logprobs(request, number);
        }
        return r;
    case GENERATE_KEY:
        sotto_generate_set_key(request, found->text);
        return CLI_OK;
    case GENERATE_SESSION:
        sotto_generate_set_session(request, found->number);
        return CLI_OK;
    default:
        return generate_options_take(cli, &generate->options, found);
    }
}

/* Reads all of standard input. */
static int read_stdin(struct buf *to)
{
    uint8_t *room;
    ssize_t n;

    do {
        if (buf_reserve(to, 64 << 10, &room)) {
            fprintf(stderr, "sotto: the prompt on standard input has more than %zu bytes; send a shorter one\n", to->n);
            return CLI_FAILED;
        }
        n = read(STDIN_FILENO, room, 64 << 10);
        if (n > 0) {
            buf_grew(to, (size_t)n);
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    if (n < 0) {
        fprintf(stderr, "sotto: can't read standard input: %s\n", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}

static int set_ids(const struct cli *cli, struct generate *generate)
{
    uint32_t *ids;
    size_t n;
    int r = generate_options_read_ids(cli, generate->ids, &ids, &n);

    if (r == CLI_OK) {
        sotto_generate_set_tokens(generate->options.generate, ids, n);
        mem_free(ids);
    }
    return r;
}

/* Finds the prompt: tokens, the argument, or what standard input holds. */
static int check(struct cli *cli, void *owner)
{
    struct generate *generate = owner;
    const char *prompt = cli->n_words ? cli->words[0] : NULL;
    int r;

    if (generate->ids) {
        return prompt ? cli_usage(cli, "--tokens and PROMPT exclude each other") : set_ids(cli, generate);
    }
    if (prompt && strcmp(prompt, "-") != 0) {
        generate->text = prompt;
        generate->n_text = strlen(prompt);
        return CLI_OK;
    }
    if (!prompt && isatty(STDIN_FILENO)) {
        return cli_usage(cli, "a PROMPT is missing; with \"-\" it is read from this terminal");
    }
    r = read_stdin(&generate->from_stdin);
    generate->text = (const char *)buf_data(&generate->from_stdin);
    generate->n_text = generate->from_stdin.n;
    return r;
}

static int talk(struct connection *connection, void *owner)
{
    struct generate *generate = owner;
    struct sotto_generate *request = generate->options.generate;
    struct answer_view view;
    struct ready ready;
    int r = ready_wait(connection, generate->options.model, &ready);

    if (r) {
        return r;
    }
    if (!generate->ids && ready.chat && !generate->raw) {
        sotto_generate_add_message(request, "user", generate->text, generate->n_text);
    } else if (!generate->ids) {
        sotto_generate_set_text(request, generate->text, generate->n_text);
    }
    answer_view_init(&view, connection->cli, generate->logprobs);
    r = answer_view_run(&view, connection, request);
    answer_view_finish(&view);
    return r;
}

const struct command cmd_generate = {
    .name = "generate",
    .summary = "stream the answer to a prompt",
    .words = "[PROMPT | -]",
    .about =
        "Streams the answer to PROMPT; without PROMPT, or with \"-\", the prompt is standard input. It goes through\n"
        "the model's chat template if the model has a supported one; without one, and with --raw, the model\n"
        "continues it as it is. The answer goes to standard output, figures to standard error. With --json one\n"
        "object is printed at the end: text, tokens, finish_reason (end, stop, length, context, cancelled), usage.\n"
        "Ctrl-C cancels; the exit code then is 130.",
    .rows = rows,
    .most = 1,
    .advice = "put the prompt in quotes",
    .options_bytes = sizeof(struct generate),
    .begin = begin,
    .take = take,
    .check = check,
    .talk = talk,
    .finish = finish,
};
