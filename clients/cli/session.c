/*
 * sotto session: a conversation that the daemon keeps, opened and closed by hand or from a script
 */
#include "connection.h"
#include "generate_options.h"
#include "show.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST_S 604800u /* a week */

enum session_row {
    SESSION_MODEL = CLI_ROWS_COUNT,
    SESSION_SYSTEM,
    SESSION_TEXT,
    SESSION_IDLE,
    SESSION_SLIDE,
    SESSION_CLASS,
};

static const struct arg_row rows[] = {
    CLI_ROWS,
    [SESSION_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, "open: " OPTION_HELP_MODEL },
    [SESSION_SYSTEM] = { "system", 0, ARG_TEXT, "TEXT", NULL, "open: instructions that it begins with" },
    [SESSION_TEXT] = { "text", 0, ARG_TEXT, "TEXT", NULL, "open: a raw text that it begins with, for use with --raw" },
    [SESSION_IDLE] = { "idle", 0, ARG_UINT, "S", NULL, "open: it ends after S seconds without a request" },
    [SESSION_SLIDE] = { "slide", 0, ARG_FLAG, NULL, NULL, "open: when it is full, drop its oldest part" },
    [SESSION_CLASS] = { "class", 0, ARG_CHOICE, NULL, OPTION_CLASSES, "open: priority of computing its beginning" },
    { NULL },
};

struct session {
    struct sotto_generate *begin; /* owned */
    uint32_t idle_ms;
    bool has_text;
    uint64_t id; /* to close; 0: opens one */
};

static int begin(void *owner)
{
    struct session *session = owner;

    session->begin = sotto_generate_create();
    return session->begin ? CLI_OK : cli_no_memory();
}

static void finish(void *owner)
{
    sotto_generate_destroy(((struct session *)owner)->begin);
}

static int take(struct cli *cli, const struct arg_found *found, void *owner)
{
    struct session *session = owner;

    switch (found->row) {
    case SESSION_MODEL:
        sotto_generate_set_model(session->begin, found->text);
        break;
    case SESSION_SYSTEM:
    case SESSION_TEXT:
        if (session->has_text) {
            return cli_usage(cli, "a session begins with one --system or one --text");
        }
        session->has_text = true;
        if (found->row == SESSION_SYSTEM) {
            sotto_generate_add_message(session->begin, "system", found->text, strlen(found->text));
        } else {
            sotto_generate_set_text(session->begin, found->text, strlen(found->text));
        }
        break;
    case SESSION_IDLE:
        if (found->number < 1 || found->number > IDLE_MOST_S) {
            return cli_usage(cli, "--idle is a time from 1 to %u s", IDLE_MOST_S);
        }
        session->idle_ms = (uint32_t)found->number * 1000;
        break;
    case SESSION_SLIDE:
        sotto_generate_set_slide(session->begin, 0);
        break;
    default:
        sotto_generate_set_class(session->begin, generate_options_class(found->text));
        break;
    }
    return CLI_OK;
}

static bool read_id(const char *text, uint64_t *ret_id)
{
    char *end;

    errno = 0;
    *ret_id = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && !errno && *ret_id > 0;
}

static int check(struct cli *cli, void *owner)
{
    struct session *session = owner;
    const char *verb = cli->n_words ? cli->words[0] : "";

    if (strcmp(verb, "open") == 0) {
        return cli->n_words == 1 ? CLI_OK : cli_usage(cli, "unexpected argument \"%s\"", cli->words[1]);
    }
    if (strcmp(verb, "close") != 0) {
        return cli_usage(cli, "say \"open\", or \"close\" and an ID");
    }
    if (cli->n_words < 2 || !read_id(cli->words[1], &session->id)) {
        return cli_usage(cli, "close needs the ID of a session, as open printed it");
    }
    return CLI_OK;
}

static enum sotto_code send(struct sotto *sotto, struct reply *reply, struct sotto_error *error)
{
    const struct session *session = reply->options;

    if (session->id) {
        return sotto_send_session_close(sotto, session->id, connection_on_reply, reply, NULL, error);
    }
    return sotto_send_session_open(sotto, session->begin, session->idle_ms, connection_on_reply, reply, NULL, error);
}

static void show(const struct reply *reply, const struct sotto_event *event)
{
    const struct session *session = reply->options;

    if (reply->cli->json) {
        show_line(session->id ? show_session_closed(event->session) : show_session(event->session));
    } else if (!session->id) {
        printf("%llu\n", (unsigned long long)event->session->id);
    }
}

const struct command cmd_session = {
    .name = "session",
    .summary = "open or close a conversation that the daemon keeps",
    .words = "open | close ID",
    .about = "open prints the ID of a new session, for generate --session ID. Keep the ID: no command lists it later\n"
             "(sotto status tells how many are open). The daemon keeps what was said, and what was computed of it\n"
             "while there is memory. The session ends with close, after some time without a request, with its model,\n"
             "or with the daemon.",
    .rows = rows,
    .most = 2,
    .options_bytes = sizeof(struct session),
    .begin = begin,
    .take = take,
    .check = check,
    .send = send,
    .show = show,
    .finish = finish,
};
