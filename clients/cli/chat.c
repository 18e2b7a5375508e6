/*
 * sotto chat: a conversation
 *
 * The daemon keeps it in a session, and each turn sends what is new. It is kept here, too: a daemon that was restarted
 * in between, or had no room for the session any more, is no loss, as the next turn opens another one with all that was
 * said. One that knows or grants no sessions is sent the whole conversation with each turn.
 */
#include "answer.h"
#include "ask.h"
#include "base/clean.h"
#include "ready.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (4u << 20) /* more than the daemon takes of a text */
#define OPTIONS_MAX    64
#define GREET_MS       5000

enum chat_row {
    CHAT_SYSTEM = ASK_ROWS_COUNT,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    ASK_ROWS,
    [CHAT_SYSTEM] = { "system", 0, ARG_TEXT, "TEXT", NULL, "instructions that stand before the conversation" },
    { NULL },
};

struct turn {
    const char *role;
    char *text; /* owned */
    size_t n;
};

struct chat {
    const struct cli *cli;
    struct arg_found options[OPTIONS_MAX]; /* applied to each turn's request */
    size_t n_options;
    const char *model;
    const char *system;
    struct turn *turns; /* owned */
    size_t n_turns;
    uint64_t session; /* 0: none is open */
    bool has_none;    /* the daemon knows or grants no sessions */
    struct buf input; /* read, not yet taken as lines */
    bool is_terminal;
    bool at_end; /* of standard input */
};

static void forget(struct chat *chat, size_t n_kept)
{
    while (chat->n_turns > n_kept) {
        mem_free(chat->turns[--chat->n_turns].text);
    }
}

static void chat_finish(struct chat *chat)
{
    forget(chat, 0);
    mem_free(chat->turns);
    buf_finish(&chat->input);
}

/* False: no memory (said). */
static bool add_turn(struct chat *chat, const char *role, const char *text, size_t n)
{
    char *copy = mem_strndup(MEM_MISC, text, n);
    struct turn *turns = mem_realloc(MEM_MISC, chat->turns, (chat->n_turns + 1) * sizeof(*turns));

    chat->turns = turns ? turns : chat->turns;
    if (!copy || !turns) {
        mem_free(copy);
        fprintf(stderr, "sotto: no memory left for the conversation\n");
        return false;
    }
    turns[chat->n_turns++] = (struct turn){ .role = role, .text = copy, .n = n };
    return true;
}

/* CLI_OK, or -1 less the exit code. */
static int take_words(struct cli *cli, struct args *args, struct chat *chat)
{
    struct arg_found found;
    enum cli_next next;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        if (found.row < 0) {
            return -1 - cli_usage(cli, "\"%s\": chat takes no prompt; it reads what you write", found.text);
        }
        if (found.row == CHAT_SYSTEM) {
            chat->system = found.text;
        } else if (chat->n_options == OPTIONS_MAX) {
            return -1 - cli_usage(cli, "more than %d options", OPTIONS_MAX);
        } else {
            chat->options[chat->n_options++] = found;
        }
    }
    return next == CLI_NEXT_STOP ? -1 - cli_end(cli) : CLI_OK;
}

/* A request with the options and @n turns from @first on, behind the instructions if it @instructs. CLI_OK, CLI_FAILED
 * or CLI_USAGE (said). */
static int make_ask(const struct chat *chat, struct ask *ask, bool instructs, size_t first, size_t n)
{
    if (!ask_init(ask)) {
        return CLI_FAILED;
    }
    for (size_t i = 0; i < chat->n_options; i++) {
        int r = ask_take(chat->cli, ask, &chat->options[i]);

        if (r) {
            return r;
        }
    }
    if (chat->system && instructs) {
        sotto_generate_add_message(ask->generate, "system", chat->system, strlen(chat->system));
    }
    for (size_t i = first; i < first + n; i++) {
        const struct turn *turn = &chat->turns[i];

        sotto_generate_add_message(ask->generate, turn->role, turn->text, turn->n);
    }
    return CLI_OK;
}

/* ---- the session */

static bool has_sessions(const struct talk *talk)
{
    const struct sotto_welcome *welcome;

    if (sotto_greet(talk->sotto, GREET_MS, NULL)) {
        return false;
    }
    welcome = sotto_welcome(talk->sotto);
    for (size_t i = 0; welcome && i < welcome->n_capabilities; i++) {
        if (strcmp(welcome->capabilities[i], "sessions") == 0) {
            return true;
        }
    }
    return false;
}

struct opening {
    uint64_t session;
    bool done;
};

static void on_session(void *owner, const struct sotto_event *event)
{
    struct opening *opening = owner;

    if (event->kind == SOTTO_EVENT_SESSION) {
        opening->session = event->session->id;
    }
    opening->done = event->last;
}

/* Opens one with all that was said before the last turn. Where that fails the turn will say why, without one. CLI_OK or
 * CLI_INTERRUPTED. */
static int open_session(struct chat *chat, struct talk *talk)
{
    cleanup(ask_finish) struct ask ask = { .generate = NULL };
    struct opening opening = { .session = 0 };

    if (!has_sessions(talk) || make_ask(chat, &ask, true, 0, chat->n_turns - 1) ||
        sotto_send_session_open(talk->sotto, ask.generate, 0, on_session, &opening, NULL, NULL)) {
        return CLI_OK;
    }
    if (talk_until(talk, &opening.done) == CLI_INTERRUPTED) {
        return CLI_INTERRUPTED;
    }
    chat->session = opening.session;
    chat->has_none = opening.session == 0;
    return CLI_OK;
}

static void close_session(struct chat *chat)
{
    struct opening closing = { .session = 0 };
    struct talk talk;

    if (chat->session && sotto_open(&talk.sotto, chat->cli->socket, "sotto-cli/" SOTTO_VERSION, NULL) == SOTTO_OK) {
        talk.cli = chat->cli;
        if (sotto_send_session_close(talk.sotto, chat->session, on_session, &closing, NULL, NULL) == SOTTO_OK) {
            while (!closing.done && sotto_wait(talk.sotto, GREET_MS, NULL) == SOTTO_OK) {
            }
        }
        talk_close(&talk);
    }
    chat->session = 0;
}

/* The answer to the last turn joins the conversation, also if it was cut short. */
static int take_answer(struct chat *chat, struct talk *talk, struct answer *answer)
{
    cleanup(ask_finish) struct ask ask = { .generate = NULL };
    size_t n_before = chat->n_turns - 1;
    int r = chat->session ? make_ask(chat, &ask, false, n_before, 1) : make_ask(chat, &ask, true, 0, chat->n_turns);

    if (r) {
        return r;
    }
    sotto_generate_set_session(ask.generate, chat->session);
    r = answer_run(talk, ask.generate, answer);
    if ((r == CLI_OK || r == CLI_INTERRUPTED) && answer->done &&
        !add_turn(chat, "assistant", (const char *)buf_data(&answer->text), answer->text.n)) {
        return CLI_FAILED;
    }
    return r;
}

/* One turn over a connection of its own. */
static int take_turn(struct chat *chat)
{
    bool had_session = chat->session != 0;
    struct answer answer;
    struct talk talk;
    int r = talk_open(&talk, chat->cli);

    if (r) {
        return r;
    }
    answer_init(&answer, chat->cli, false);
    answer.quiet = had_session ? SOTTO_NOT_FOUND : SOTTO_OK;
    r = had_session || chat->has_none ? CLI_OK : open_session(chat, &talk);
    r = r ? r : take_answer(chat, &talk, &answer);
    if (had_session && answer.code == SOTTO_NOT_FOUND) {
        /* It was idle too long, or another daemon serves now: one more is opened, with all that was said. */
        answer_finish(&answer);
        answer_init(&answer, chat->cli, false);
        chat->session = 0;
        r = open_session(chat, &talk);
        r = r ? r : take_answer(chat, &talk, &answer);
    }
    if (!answer.done) {
        chat->session = 0; /* who knows what it holds now */
    }
    answer_finish(&answer);
    talk_close(&talk);
    return r;
}

/* A turn of the user's. One that fails is taken back, so that the conversation stays in order. */
static int say(struct chat *chat, const char *line, size_t n)
{
    size_t n_before = chat->n_turns;
    int r;

    if (!add_turn(chat, "user", line, n)) {
        return CLI_FAILED;
    }
    r = take_turn(chat);
    if (chat->n_turns == n_before + 1) {
        forget(chat, n_before);
    }
    return r;
}

/* Reads more of standard input. False: Ctrl-C came, or it has ended (chat->at_end). */
static bool read_more(struct chat *chat)
{
    uint8_t *room;
    ssize_t n;

    if (!talk_wait_readable(STDIN_FILENO)) {
        return false;
    }
    if (buf_reserve(&chat->input, 4096, &room)) {
        fprintf(stderr, "sotto: the line is longer than %u bytes\n", LINE_MAX_BYTES);
        chat->at_end = true;
        return false;
    }
    n = read(STDIN_FILENO, room, 4096);
    if (n > 0) {
        buf_grew(&chat->input, (size_t)n);
    }
    chat->at_end = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    return !chat->at_end;
}

/* The next line without its end, alive until the next call; NULL: Ctrl-C came, or there is none (chat->at_end). */
static const char *next_line(struct chat *chat, size_t *ret_n, size_t *ret_used)
{
    if (chat->is_terminal) {
        fputs("> ", stderr);
    }
    for (;;) {
        const char *start = (const char *)buf_data(&chat->input);
        const char *end = chat->input.n ? memchr(start, '\n', chat->input.n) : NULL;

        if (end) {
            *ret_n = (size_t)(end - start);
            *ret_used = *ret_n + 1;
            return start;
        }
        if (!read_more(chat)) {
            *ret_n = *ret_used = chat->at_end ? chat->input.n : 0;
            return *ret_n ? (const char *)buf_data(&chat->input) : NULL;
        }
    }
}

static bool is_word(const char *line, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(line, word, n) == 0;
}

/* True: the line was meant for us, not for the model. */
static bool obey(struct chat *chat, const char *line, size_t n)
{
    if (is_word(line, n, "/quit")) {
        chat->at_end = true;
    } else if (is_word(line, n, "/clear")) {
        forget(chat, 0);
        close_session(chat);
        fputs("the conversation begins anew\n", stderr);
    } else if (is_word(line, n, "/help")) {
        fputs("/clear begins a new conversation, /quit or Ctrl-D ends; Ctrl-C ends an answer\n", stderr);
    } else {
        return n == 0;
    }
    return true;
}

static int converse(struct chat *chat)
{
    int r = CLI_OK;

    while (!chat->at_end) {
        size_t n;
        size_t used;
        const char *line = next_line(chat, &n, &used);

        if (!line) {
            fputs(chat->is_terminal ? "\n" : "", stderr);
            if (!chat->is_terminal && !chat->at_end) {
                return CLI_INTERRUPTED;
            }
            continue;
        }
        if (!obey(chat, line, n)) {
            r = say(chat, line, n);
        }
        buf_eat(&chat->input, used);
        if (r && !chat->is_terminal) {
            return r; /* a script wants to know; a person just goes on */
        }
    }
    return CLI_OK;
}

/* The model is there and has a template, or the reason why not is said. */
static int check_model(struct chat *chat)
{
    struct ready ready;
    struct talk talk;
    int r = talk_open(&talk, chat->cli);

    if (r) {
        return r;
    }
    r = ready_wait(&talk, chat->model, &ready);
    talk_close(&talk);
    if (r == CLI_OK && !ready.chat && *ready.chat_reason) {
        fprintf(stderr, "sotto: this model can't chat: %s\n", ready.chat_reason);
        return CLI_FAILED;
    }
    return r;
}

static int run(struct cli *cli, struct args *args)
{
    cleanup(chat_finish) struct chat chat = { .cli = cli, .is_terminal = isatty(STDIN_FILENO) };
    cleanup(ask_finish) struct ask ask = { .generate = NULL };
    int r;

    buf_init(&chat.input, MEM_MISC, LINE_MAX_BYTES);
    r = take_words(cli, args, &chat);
    if (r < 0) {
        return -1 - r;
    }
    r = make_ask(&chat, &ask, true, 0, 0); /* tells of bad options before the first word */
    if (r) {
        return r;
    }
    chat.model = ask.model;
    r = check_model(&chat);
    r = r ? r : converse(&chat);
    close_session(&chat);
    return r;
}

const struct command cmd_chat = {
    .name = "chat",
    .summary = "hold a conversation",
    .words = "",
    .about = "Reads a line, streams the answer, and so on; each answer knows what was said before. The model "
             "must\n"
             "have a template that is understood. Ctrl-C ends an answer, Ctrl-D the conversation; /clear "
             "begins a\n"
             "new one. With --json each answer is an object on a line.",
    .rows = rows,
    .run = run,
};
