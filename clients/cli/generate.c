/*
 * sotto generate: one prompt, one answer
 */
#include "answer.h"
#include "ask.h"
#include "base/clean.h"
#include "ready.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* More than any daemon takes: the refusal is its, not ours. */
#define PROMPT_MAX (8u << 20)

enum generate_row {
    GENERATE_TOKENS = ASK_ROWS_COUNT,
    GENERATE_RAW,
    GENERATE_IGNORE_END,
    GENERATE_LOGPROBS,
    GENERATE_KEY,
    GENERATE_SESSION,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    ASK_ROWS,
    [GENERATE_TOKENS] = { "tokens", 0, ARG_TEXT, "ID,ID,...", NULL, "exactly these tokens in place of PROMPT" },
    [GENERATE_RAW] = { "raw", 'r', ARG_FLAG, NULL, NULL, "PROMPT as it stands, not through the model's template" },
    [GENERATE_IGNORE_END] = { "ignore-end", 0, ARG_FLAG, NULL, NULL, "go on past the model's end token" },
    [GENERATE_LOGPROBS] = { "logprobs", 0, ARG_UINT, "N", NULL, "with --json: of each token and the N likeliest" },
    [GENERATE_KEY] = { "key", 0, ARG_TEXT, "NAME", NULL, "names the answer; none of your live ones may have it" },
    [GENERATE_SESSION] = { "session", 0, ARG_UINT, "ID", NULL,
                           "go on with what session ID holds; the answer joins it" },
    { NULL },
};

struct job {
    struct ask ask;
    const char *prompt; /* as on the command line; NULL: none given */
    const char *ids;
    bool raw;
    bool logprobs;
    struct buf from_stdin;
};

static void job_finish(struct job *job)
{
    ask_finish(&job->ask);
    buf_finish(&job->from_stdin);
}

static int take_option(struct cli *cli, struct job *job, const struct arg_found *found)
{
    switch (found->row) {
    case GENERATE_TOKENS:
        job->ids = found->text;
        return CLI_OK;
    case GENERATE_RAW:
        job->raw = true;
        return CLI_OK;
    case GENERATE_IGNORE_END:
        sotto_generate_set_ignore_end(job->ask.generate, true);
        return CLI_OK;
    case GENERATE_LOGPROBS:
        if (found->number > UINT32_MAX) {
            return cli_usage(cli, "--logprobs: %s is more than 4294967295", found->text);
        }
        job->logprobs = true;
        sotto_generate_set_logprobs(job->ask.generate, (uint32_t)found->number);
        return CLI_OK;
    case GENERATE_KEY:
        sotto_generate_set_key(job->ask.generate, found->text);
        return CLI_OK;
    case GENERATE_SESSION:
        sotto_generate_set_session(job->ask.generate, found->number);
        return CLI_OK;
    default:
        return ask_take(cli, &job->ask, found);
    }
}

/* CLI_OK, or -1 less the exit code. */
static int take_words(struct cli *cli, struct args *args, struct job *job)
{
    struct arg_found found;
    enum cli_next next;
    int r = CLI_OK;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row >= 0) {
            r = take_option(cli, job, &found);
        } else if (job->prompt) {
            r = cli_usage(cli, "\"%s\" is one argument too many: put the prompt in quotes", found.text);
        } else {
            job->prompt = found.text;
        }
        if (r) {
            return -1 - r;
        }
    }
    if (next == CLI_NEXT_STOP) {
        return -1 - cli_end(cli);
    }
    if (job->ids && job->prompt) {
        return -1 - cli_usage(cli, "--tokens and PROMPT exclude each other");
    }
    return CLI_OK;
}

/* All of standard input. */
static int read_stdin(const struct cli *cli, struct buf *to)
{
    uint8_t *room;
    ssize_t n;

    do {
        if (buf_reserve(to, 64 << 10, &room)) {
            fprintf(stderr, "sotto: the prompt on standard input has more than %zu bytes\n", to->n);
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

/* Finds the prompt's text: the argument, or what standard input holds. */
static int find_text(const struct cli *cli, struct job *job, const char **ret_text, size_t *ret_n)
{
    int r;

    if (job->prompt && strcmp(job->prompt, "-") != 0) {
        *ret_text = job->prompt;
        *ret_n = strlen(job->prompt);
        return CLI_OK;
    }
    if (!job->prompt && isatty(STDIN_FILENO)) {
        return cli_usage(cli, "a PROMPT is missing (\"-\" reads it from this terminal)");
    }
    r = read_stdin(cli, &job->from_stdin);
    *ret_text = (const char *)buf_data(&job->from_stdin);
    *ret_n = job->from_stdin.n;
    return r;
}

static int set_ids(const struct cli *cli, struct job *job)
{
    uint32_t *ids;
    size_t n;
    int r = ask_read_ids(cli, job->ids, &ids, &n);

    if (r == CLI_OK) {
        sotto_generate_set_tokens(job->ask.generate, ids, n);
        mem_free(ids);
    }
    return r;
}

/* A model with a template that is understood gets the text as a user's message. */
static void set_text(struct job *job, const struct ready *ready, const char *text, size_t n)
{
    if (ready->chat && !job->raw) {
        sotto_generate_add_message(job->ask.generate, "user", text, n);
    } else {
        sotto_generate_set_text(job->ask.generate, text, n);
    }
}

static int generate(struct talk *talk, struct job *job, const char *text, size_t n)
{
    struct answer answer;
    struct ready ready;
    int r = ready_wait(talk, job->ask.model, &ready);

    if (r) {
        return r;
    }
    if (!job->ids) {
        set_text(job, &ready, text, n);
    }
    answer_init(&answer, talk->cli, job->logprobs);
    r = answer_run(talk, job->ask.generate, &answer);
    answer_finish(&answer);
    return r;
}

static int run(struct cli *cli, struct args *args)
{
    cleanup(job_finish) struct job job = { .prompt = NULL };
    const char *text = NULL;
    struct talk talk;
    size_t n = 0;
    int r;

    buf_init(&job.from_stdin, MEM_MISC, PROMPT_MAX);
    if (!ask_init(&job.ask)) {
        return CLI_FAILED;
    }
    r = take_words(cli, args, &job);
    if (r < 0) {
        return -1 - r;
    }
    r = job.ids ? set_ids(cli, &job) : find_text(cli, &job, &text, &n);
    if (r) {
        return r;
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        r = generate(&talk, &job, text, n);
        talk_close(&talk);
    }
    return r;
}

const struct command cmd_generate = {
    .name = "generate",
    .summary = "stream the answer to a prompt",
    .words = "[PROMPT | -]",
    .about = "Streams the answer to PROMPT, or to standard input when PROMPT is \"-\" or missing. The prompt "
             "goes\n"
             "through the model's own template where it has one that is understood, else (and with --raw) it is\n"
             "continued as it stands. Text goes to standard output, figures to standard error. With --json one\n"
             "object comes at the end: text, tokens, finish_reason (end, stop, length, context, cancelled), "
             "usage.\n"
             "Ctrl-C cancels; the exit code then is 130.",
    .rows = rows,
    .run = run,
};
