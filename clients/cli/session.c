/*
 * sotto session: a conversation that the daemon keeps, opened and closed by hand or out of a script
 */
#include "ask.h"
#include "base/clean.h"
#include "ready.h"
#include "show.h"
#include "talk.h"
#include <errno.h>
#include <inttypes.h>
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
    [SESSION_MODEL] = { "model", 'm', ARG_TEXT, "NAME", NULL, "open: the model; without: the daemon's default" },
    [SESSION_SYSTEM] = { "system", 0, ARG_TEXT, "TEXT", NULL, "open: instructions that it begins with" },
    [SESSION_TEXT] = { "text", 0, ARG_TEXT, "TEXT", NULL, "open: a text that it begins with, for a raw session" },
    [SESSION_IDLE] = { "idle", 0, ARG_UINT, "S", NULL, "open: it ends after S seconds without a request" },
    [SESSION_SLIDE] = { "slide", 0, ARG_FLAG, NULL, NULL, "open: what is oldest is forgotten when it is full" },
    [SESSION_CLASS] = { "class", 0, ARG_CHOICE, NULL, ASK_CLASSES, "open: how urgent its beginning is" },
    { NULL },
};

struct wish {
    struct sotto_generate *begin; /* owned */
    uint32_t idle_ms;
    const char *verb;
    const char *id;
    bool has_text;
};

static void wish_finish(struct wish *wish)
{
    sotto_generate_destroy(wish->begin);
}

/* CLI_OK, or an exit code. */
static int take(struct cli *cli, const struct arg_found *found, struct wish *wish)
{
    switch (found->row) {
    case SESSION_MODEL:
        sotto_generate_set_model(wish->begin, found->text);
        break;
    case SESSION_SYSTEM:
    case SESSION_TEXT:
        if (wish->has_text) {
            return cli_usage(cli, "a session begins with one of --system and --text");
        }
        wish->has_text = true;
        if (found->row == SESSION_SYSTEM) {
            sotto_generate_add_message(wish->begin, "system", found->text, strlen(found->text));
        } else {
            sotto_generate_set_text(wish->begin, found->text, strlen(found->text));
        }
        break;
    case SESSION_IDLE:
        if (found->number < 1 || found->number > IDLE_MOST_S) {
            return cli_usage(cli, "--idle is a time from 1 to %u s", IDLE_MOST_S);
        }
        wish->idle_ms = (uint32_t)found->number * 1000;
        break;
    case SESSION_SLIDE:
        sotto_generate_set_slide(wish->begin, 0);
        break;
    case SESSION_CLASS:
        sotto_generate_set_class(wish->begin, ask_class(found->text));
        break;
    default:
        if (wish->id) {
            return cli_usage(cli, "\"%s\" is one argument too many", found->text);
        }
        *(wish->verb ? &wish->id : &wish->verb) = found->text;
        break;
    }
    return CLI_OK;
}

/* CLI_OK, or -1 less the exit code. */
static int take_wish(struct cli *cli, struct args *args, struct wish *wish)
{
    struct arg_found found;
    enum cli_next next;

    while ((next = cli_next(cli, args, &found)) == CLI_NEXT_FOUND) {
        int r = take(cli, &found, wish);

        if (r) {
            return -1 - r;
        }
    }
    return next == CLI_NEXT_STOP ? -1 - cli_end(cli) : CLI_OK;
}

static void show_opened(const struct cli *cli, const struct sotto_event *event)
{
    const struct sotto_session *session = event->session;
    char id[24];
    json_t *object;

    snprintf(id, sizeof(id), "%" PRIu64, session->id);
    if (!cli->json) {
        printf("%s\n", id);
        return;
    }
    object = json_object();
    json_object_set_new(object, "session", json_string(id)); /* 64 bits are more than a number can be trusted with */
    json_object_set_new(object, "model", show_text(session->model, strlen(session->model)));
    json_object_set_new(object, "tokens", json_integer(session->tokens));
    json_object_set_new(object, "context_tokens", json_integer(session->context_tokens));
    json_object_set_new(object, "idle_ms", json_integer(session->idle_ms));
    show_line(object);
}

static void show_closed(const struct cli *cli, const struct sotto_event *event)
{
    json_t *object;

    if (cli->json) {
        object = json_object();
        json_object_set_new(object, "tokens", json_integer(event->session->tokens));
        show_line(object);
    }
}

static int send_open(struct talk *talk, const struct wish *wish)
{
    struct reply reply = { .cli = talk->cli, .show = show_opened };
    struct sotto_error error;

    if (sotto_send_session_open(talk->sotto, wish->begin, wish->idle_ms, talk_on_reply, &reply, NULL, &error)) {
        return cli_fail(talk->cli, &error);
    }
    return talk_finish(talk, &reply);
}

static int send_close(struct talk *talk, uint64_t id)
{
    struct reply reply = { .cli = talk->cli, .show = show_closed };
    struct sotto_error error;

    if (sotto_send_session_close(talk->sotto, id, talk_on_reply, &reply, NULL, &error)) {
        return cli_fail(talk->cli, &error);
    }
    return talk_finish(talk, &reply);
}

static bool read_id(const char *text, uint64_t *ret_id)
{
    char *end;

    errno = 0;
    *ret_id = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && !errno && *ret_id > 0;
}

static int run(struct cli *cli, struct args *args)
{
    cleanup(wish_finish) struct wish wish = { .begin = sotto_generate_create() };
    struct talk talk;
    uint64_t id = 0;
    bool opens;
    int r;

    if (!wish.begin) {
        fprintf(stderr, "sotto: no memory left\n");
        return CLI_FAILED;
    }
    r = take_wish(cli, args, &wish);
    if (r < 0) {
        return -1 - r;
    }
    opens = wish.verb && strcmp(wish.verb, "open") == 0;
    if (!opens && (!wish.verb || strcmp(wish.verb, "close") != 0)) {
        return cli_usage(cli, "open or close is missing");
    }
    if (opens && wish.id) {
        return cli_usage(cli, "\"%s\" is one argument too many", wish.id);
    }
    if (!opens && (!wish.id || !read_id(wish.id, &id))) {
        return cli_usage(cli, "close needs the ID of a session, as open printed it");
    }
    r = talk_open(&talk, cli);
    if (r == CLI_OK) {
        r = opens ? send_open(&talk, &wish) : send_close(&talk, id);
        talk_close(&talk);
    }
    return r;
}

const struct command cmd_session = {
    .name = "session",
    .summary = "open or close a conversation that is kept",
    .words = "open | close ID",
    .about = "open prints the ID of a new session, which generate --session ID goes on with: what was said is "
             "kept by\n"
             "the daemon between commands, and what was computed of it while there is room. It ends with "
             "close, when\n"
             "nobody has asked in it for some time, with its model, or with the daemon.",
    .rows = rows,
    .run = run,
};
