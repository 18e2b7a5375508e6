/*
 * sotto chat: a conversation
 *
 * The daemon keeps the conversation in a session, and each turn sends only what is new. A copy is kept here: when the
 * session is gone (the daemon was restarted, or had no room for it any more), the next turn opens another one with all
 * that was said. A daemon that has or grants no sessions gets the whole conversation with each turn.
 */
#include "answer_view.h"
#include "base/clean.h"
#include "base/mem.h"
#include "generate_options.h"
#include "ready.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES (4u << 20) /* above what the daemon takes as one text */
#define OPTIONS_MAX    64
#define GREET_MS       5000

enum chat_row {
    CHAT_SYSTEM = OPTION_COUNT,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    OPTION_ROWS,
    [CHAT_SYSTEM] = { "system", 0, ARG_TEXT, "TEXT", NULL, "instructions that the conversation begins with" },
    { NULL },
};

struct message {
    const char *role;
    char *text; /* owned */
    size_t n;
};

struct chat {
    const struct cli *cli;
    struct arg_found options[OPTIONS_MAX]; /* for the request of each turn */
    size_t n_options;
    const char *model;
    const char *system;
    struct message *messages; /* owned */
    size_t n_messages;
    uint64_t session; /* 0: none is open */
    bool has_none;    /* the daemon knows or grants no sessions */
    struct buf input; /* read, not yet taken as lines */
    bool is_terminal;
    bool at_end; /* of standard input */
};

static void forget(struct chat *chat, size_t n_kept)
{
    while (chat->n_messages > n_kept) {
        mem_free(chat->messages[--chat->n_messages].text);
    }
}

static int begin(void *owner)
{
    struct chat *chat = owner;

    buf_init(&chat->input, MEM_MISC, LINE_MAX_BYTES);
    return CLI_OK;
}

static void finish(void *owner)
{
    struct chat *chat = owner;

    forget(chat, 0);
    mem_free(chat->messages);
    buf_finish(&chat->input);
}

/* Appends a message. False: no memory (printed). */
static bool add_message(struct chat *chat, const char *role, const char *text, size_t n)
{
    char *copy = mem_strndup(MEM_MISC, text, n);
    struct message *messages = mem_realloc(MEM_MISC, chat->messages, (chat->n_messages + 1) * sizeof(*messages));

    chat->messages = messages ? messages : chat->messages;
    if (!copy || !messages) {
        mem_free(copy);
        cli_no_memory();
        return false;
    }
    messages[chat->n_messages++] = (struct message){ .role = role, .text = copy, .n = n };
    return true;
}

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct chat *chat = owner;

    if (found->row == CHAT_SYSTEM) {
        chat->system = found->text;
    } else if (chat->n_options == OPTIONS_MAX) {
        return cli_usage(cli, "there are more than %d options", OPTIONS_MAX);
    } else {
        chat->options[chat->n_options++] = *found;
    }
    return CLI_OK;
}

/* Makes a request with the options and @n messages from @first on. A session holds the instructions; without one they
 * stand before the messages. CLI_OK, CLI_FAILED or CLI_USAGE (printed). */
static int make_request(const struct chat *chat, struct generate_options *request, size_t first, size_t n)
{
    int r = generate_options_init(request);

    for (size_t i = 0; r == CLI_OK && i < chat->n_options; i++) {
        r = generate_options_take(chat->cli, request, &chat->options[i]);
    }
    if (r) {
        return r;
    }
    if (chat->system && !chat->session) {
        sotto_generate_add_message(request->generate, "system", chat->system, strlen(chat->system));
    }
    for (size_t i = first; i < first + n; i++) {
        const struct message *message = &chat->messages[i];

        sotto_generate_add_message(request->generate, message->role, message->text, message->n);
    }
    return CLI_OK;
}

/* ---- the session */

static bool has_sessions(const struct connection *connection)
{
    const struct sotto_welcome *welcome;

    if (sotto_greet(connection->sotto, GREET_MS, NULL)) {
        return false;
    }
    welcome = sotto_welcome(connection->sotto);
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

/* Opens a session with all that was said before the last message. Where that fails, the turn is sent without one and
 * tells why. CLI_OK or CLI_INTERRUPTED. */
static int open_session(struct chat *chat, struct connection *connection)
{
    cleanup(generate_options_finish) struct generate_options request = { .generate = NULL };
    struct opening opening = { .session = 0 };

    if (!has_sessions(connection) || make_request(chat, &request, 0, chat->n_messages - 1) ||
        sotto_send_session_open(connection->sotto, request.generate, 0, on_session, &opening, NULL, NULL)) {
        return CLI_OK;
    }
    if (connection_until(connection, &opening.done) == CLI_INTERRUPTED) {
        return CLI_INTERRUPTED;
    }
    chat->session = opening.session;
    chat->has_none = opening.session == 0;
    return CLI_OK;
}

static void close_session(struct chat *chat)
{
    struct opening closing = { .session = 0 };
    struct connection connection;

    if (chat->session &&
        sotto_open(&connection.sotto, chat->cli->socket, "sotto-cli/" SOTTO_VERSION, NULL) == SOTTO_OK) {
        connection.cli = chat->cli;
        if (sotto_send_session_close(connection.sotto, chat->session, on_session, &closing, NULL, NULL) == SOTTO_OK) {
            while (!closing.done && sotto_wait(connection.sotto, GREET_MS, NULL) == SOTTO_OK) {
            }
        }
        connection_close(&connection);
    }
    chat->session = 0;
}

/* Asks for the answer to the last message. It joins the conversation even if it was cut short. */
static int take_answer(struct chat *chat, struct connection *connection, struct answer_view *view)
{
    cleanup(generate_options_finish) struct generate_options request = { .generate = NULL };
    size_t n_before = chat->n_messages - 1;
    size_t first = chat->session ? n_before : 0;
    int r = make_request(chat, &request, first, chat->n_messages - first);

    if (r) {
        return r;
    }
    sotto_generate_set_session(request.generate, chat->session);
    r = answer_view_run(view, connection, request.generate);
    if ((r == CLI_OK || r == CLI_INTERRUPTED) && view->done &&
        !add_message(chat, "assistant", (const char *)buf_data(&view->text), view->text.n)) {
        return CLI_FAILED;
    }
    return r;
}

/* Does one turn over a connection of its own. */
static int take_turn(struct chat *chat)
{
    bool had_session = chat->session != 0;
    struct answer_view view;
    struct connection connection;
    int r = connection_open(&connection, chat->cli);

    if (r) {
        return r;
    }
    answer_view_init(&view, chat->cli, false);
    view.quiet = had_session ? SOTTO_NOT_FOUND : SOTTO_OK;
    r = had_session || chat->has_none ? CLI_OK : open_session(chat, &connection);
    r = r ? r : take_answer(chat, &connection, &view);
    if (had_session && view.code == SOTTO_NOT_FOUND) {
        /* The session was idle too long, or the daemon was restarted: another one is opened with all that was said. */
        answer_view_finish(&view);
        answer_view_init(&view, chat->cli, false);
        chat->session = 0;
        r = open_session(chat, &connection);
        r = r ? r : take_answer(chat, &connection, &view);
    }
    if (!view.done) {
        chat->session = 0; /* it is unknown what the session holds now */
    }
    answer_view_finish(&view);
    connection_close(&connection);
    return r;
}

/* Does a turn of the user. A turn that fails is taken back, so that roles go on alternating. */
static int say(struct chat *chat, const char *line, size_t n)
{
    size_t n_before = chat->n_messages;
    int r;

    if (!add_message(chat, "user", line, n)) {
        return CLI_FAILED;
    }
    r = take_turn(chat);
    if (chat->n_messages == n_before + 1) {
        forget(chat, n_before);
    }
    return r;
}

/* Reads more of standard input. False at Ctrl-C, and at its end (chat->at_end). */
static bool read_more(struct chat *chat)
{
    uint8_t *room;
    ssize_t n;

    if (!connection_wait_readable(STDIN_FILENO)) {
        return false;
    }
    if (buf_reserve(&chat->input, 4096, &room)) {
        fprintf(stderr, "sotto: a line may have %u bytes, this one is longer; the chat ends\n", LINE_MAX_BYTES);
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

/* Returns the next line without its end, valid until the next call; NULL at Ctrl-C and at the end (chat->at_end). */
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

/* Obeys a line that is a command. Returns false if it is for the model. */
static bool obey(struct chat *chat, const char *line, size_t n)
{
    if (is_word(line, n, "/quit")) {
        chat->at_end = true;
    } else if (is_word(line, n, "/clear")) {
        forget(chat, 0);
        close_session(chat);
        fputs("a new conversation begins\n", stderr);
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
            return r; /* a script learns of the failure by the exit code; a person goes on */
        }
    }
    return CLI_OK;
}

/* Waits for the model and checks that it has a chat template. */
static int check_model(struct chat *chat)
{
    struct connection connection;
    struct ready ready;
    int r = connection_open(&connection, chat->cli);

    if (r) {
        return r;
    }
    r = ready_wait(&connection, chat->model, &ready);
    connection_close(&connection);
    if (r == CLI_OK && !ready.chat && *ready.chat_reason) {
        fprintf(stderr, "sotto: this model can't chat: %s\n", ready.chat_reason);
        return CLI_FAILED;
    }
    return r;
}

static int run(struct cli *cli, void *owner)
{
    cleanup(generate_options_finish) struct generate_options request = { .generate = NULL };
    struct chat *chat = owner;
    int r;

    chat->cli = cli;
    chat->is_terminal = isatty(STDIN_FILENO);
    r = make_request(chat, &request, 0, 0); /* refuses bad options before the first line is read */
    if (r) {
        return r;
    }
    chat->model = request.model;
    r = check_model(chat);
    r = r ? r : converse(chat);
    close_session(chat);
    return r;
}

const struct command cmd_chat = {
    .name = "chat",
    .summary = "hold a conversation",
    .words = "",
    .about = "Reads a line, streams the answer, and so on; the model sees the whole conversation. It must have a\n"
             "supported chat template. Ctrl-C ends an answer, Ctrl-D the conversation; /clear begins a new one. With\n"
             "--json each answer is an object on one line.",
    .rows = rows,
    .advice = "chat takes no prompt, it reads lines from standard input",
    .options_bytes = sizeof(struct chat),
    .begin = begin,
    .take = take,
    .run = run,
    .finish = finish,
};
