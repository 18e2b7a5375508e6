/*
 * The events of one Generate, as they come.
 */
#include "answer_view.h"
#include "base/clean.h"
#include "show.h"
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void answer_view_init(struct answer_view *view, const struct cli *cli, bool logprobs)
{
    *view = (struct answer_view){ .cli = cli, .logprobs = logprobs };
    buf_init(&view->text, MEM_MISC, SIZE_MAX / 4);
    buf_init(&view->tokens, MEM_MISC, SIZE_MAX / 4);
    if (cli->json) {
        view->facts = json_object();
    }
}

void answer_view_finish(struct answer_view *view)
{
    buf_finish(&view->text);
    buf_finish(&view->tokens);
    json_decref(view->facts);
}

static void on_delta(struct answer_view *view, const struct sotto_delta *delta)
{
    if (buf_append(&view->text, delta->text, delta->n_text) ||
        buf_append(&view->tokens, delta->tokens, delta->n_tokens * sizeof(*delta->tokens))) {
        view->exit = cli_no_memory();
    }
    if (!view->cli->json) {
        fwrite(delta->text, 1, delta->n_text, stdout);
        view->unheard = !cli_show();
    }
    for (size_t i = 0; view->logprobs && view->facts && delta->logprobs && i < delta->n_tokens; i++) {
        json_t *list = json_object_get(view->facts, "logprobs");

        if (!list) {
            json_object_set_new(view->facts, "logprobs", list = json_array());
        }
        json_array_append_new(list, show_logprobs(&delta->logprobs[i]));
    }
}

/* Prints what a person should know; a script finds counters in the usage. */
static void on_notice(const struct sotto_notice *notice)
{
    static const char *const sentences[] = {
        [SOTTO_NOTICE_LOADING] = "waiting for the model to load",
        [SOTTO_NOTICE_REBUILDING] = "the engine was lost; the answer goes on when a new one has caught up",
        [SOTTO_NOTICE_MOVED] = "the answer goes on with other numerics",
        [SOTTO_NOTICE_SLID] = "the context was full; the model has dropped its older part and goes on",
        [SOTTO_NOTICE_THROTTLED] = "slowed down to keep the machine cool",
    };
    size_t kind = (size_t)notice->kind;

    if (kind < COUNTOF(sentences) && sentences[kind]) {
        fprintf(stderr, "sotto: %s%s%s\n", sentences[kind], *notice->detail ? ": " : "", notice->detail);
    }
}

/* On a terminal, what is printed next must begin a line of its own. */
static void end_text(const struct answer_view *view)
{
    if (!view->cli->json && view->text.n && isatty(STDOUT_FILENO)) {
        putchar('\n');
        fflush(stdout);
    }
}

static void show_figures(const struct answer_view *view, const struct sotto_done *done)
{
    const struct sotto_usage *usage = &done->usage;

    end_text(view);
    fprintf(stderr,
            "%u prompt tokens (%u cached), %u generated (%s); first after %.0f ms, then %.1f tokens/s; "
            "seed %" PRIu64 "\n",
            usage->prompt_tokens, usage->cached_tokens, usage->generated_tokens, done->reason_name,
            (double)usage->ttft_us / 1000, done->tokens_per_second, view->seed);
}

static void on_accepted(struct answer_view *view, const struct sotto_accepted *accepted)
{
    view->seed = accepted->seed;
    if (view->facts) {
        json_object_set_new(view->facts, "model", show_text(accepted->model, strlen(accepted->model)));
        json_object_set_new(view->facts, "seed", show_id64(accepted->seed));
    }
}

static void on_done(struct answer_view *view, const struct sotto_done *done)
{
    json_t *object;

    if (!view->cli->json) {
        show_figures(view, done);
        return;
    }
    object = json_object();
    json_object_set_new(object, "text", show_text((const char *)buf_data(&view->text), view->text.n));
    json_object_set_new(object, "tokens",
                        show_ids((const uint32_t *)(const void *)buf_data(&view->tokens),
                                 view->tokens.n / sizeof(uint32_t)));
    json_object_set_new(object, "finish_reason", json_string(done->reason_name));
    if (done->reason == SOTTO_FINISH_STOP) {
        json_object_set_new(object, "stop", show_text(done->stop, done->n_stop));
    }
    json_object_set_new(object, "usage", show_usage(done));
    json_object_update(object, view->facts);
    show_line(object);
}

static void on_event(void *owner, const struct sotto_event *event)
{
    struct answer_view *view = owner;

    switch (event->kind) {
    case SOTTO_EVENT_ACCEPTED:
        on_accepted(view, event->accepted);
        break;
    case SOTTO_EVENT_DELTA:
        on_delta(view, event->delta);
        break;
    case SOTTO_EVENT_NOTICE:
        on_notice(event->notice);
        break;
    case SOTTO_EVENT_DONE:
        on_done(view, event->done);
        break;
    case SOTTO_EVENT_ERROR:
        end_text(view);
        view->code = event->error->code;
        view->exit = view->quiet && view->code == view->quiet ? CLI_FAILED : cli_fail(event->error);
        break;
    default: /* kinds of later libraries */
        break;
    }
    view->done = event->last || view->unheard;
}

int answer_view_run(struct answer_view *view, struct connection *connection, const struct sotto_generate *request)
{
    struct sotto_error error;
    uint32_t stream;
    int r;

    if (sotto_send_generate(connection->sotto, request, on_event, view, &stream, &error)) {
        return cli_fail(&error);
    }
    r = connection_until(connection, &view->done);
    if (r == CLI_INTERRUPTED) {
        view->cut = true;
        sotto_cancel(connection->sotto, stream, NULL);
        r = connection_until(connection, &view->done);
    }
    if (view->unheard) {
        sotto_drop(connection->sotto, stream);
        return cli_flush();
    }
    if (!view->done) {
        sotto_drop(connection->sotto, stream);
        return r;
    }
    if (view->cut) {
        return CLI_INTERRUPTED;
    }
    return view->exit ? view->exit : cli_flush();
}
