/*
 * Answer: events of one generate
 */
#include "answer.h"

#include "base/clean.h"
#include "show.h"
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

void answer_init(struct answer *answer, const struct cli *cli, bool logprobs)
{
    *answer = (struct answer){ .cli = cli, .logprobs = logprobs };
    buf_init(&answer->text, MEM_MISC, SIZE_MAX / 4);
    buf_init(&answer->tokens, MEM_MISC, SIZE_MAX / 4);
    if (cli->json) {
        answer->facts = json_object();
    }
}

void answer_finish(struct answer *answer)
{
    buf_finish(&answer->text);
    buf_finish(&answer->tokens);
    json_decref(answer->facts);
}

static json_t *logprobs_of(const struct sotto_logprobs *logprobs)
{
    json_t *object = json_object();
    json_t *top = json_array();

    for (size_t i = 0; i < logprobs->n_top; i++) {
        json_array_append_new(top, json_pack("{s:I,s:f}", "id", (json_int_t)logprobs->top_ids[i], "logprob",
                                             (double)logprobs->top_logprobs[i]));
    }
    json_object_set_new(object, "logprob", json_real((double)logprobs->logprob));
    json_object_set_new(object, "top", top);
    return object;
}

static void on_delta(struct answer *answer, const struct sotto_delta *delta)
{
    if (buf_append(&answer->text, delta->text, delta->n_text) ||
        buf_append(&answer->tokens, delta->tokens, delta->n_tokens * sizeof(*delta->tokens))) {
        fprintf(stderr, "sotto: no memory left for the answer\n");
        answer->exit = CLI_FAILED;
    }
    if (!answer->cli->json) {
        fwrite(delta->text, 1, delta->n_text, stdout);
        answer->unheard = !cli_show(answer->cli);
    }
    for (size_t i = 0; answer->logprobs && answer->facts && delta->logprobs && i < delta->n_tokens; i++) {
        json_t *list = json_object_get(answer->facts, "logprobs");

        if (!list) {
            json_object_set_new(answer->facts, "logprobs", list = json_array());
        }
        json_array_append_new(list, logprobs_of(&delta->logprobs[i]));
    }
}

/* What a person should know; a script sees the counters in the usage. */
static void on_notice(const struct sotto_notice *notice)
{
    static const char *const sentences[] = {
        [SOTTO_NOTICE_LOADING] = "waiting for the model to load",
        [SOTTO_NOTICE_REBUILDING] = "the engine was lost; the answer goes on when a new one has caught up",
        [SOTTO_NOTICE_MOVED] = "the answer goes on with other numerics",
        [SOTTO_NOTICE_SLID] = "the model has forgotten a part and goes on",
        [SOTTO_NOTICE_THROTTLED] = "slowed down, to keep the machine cool",
    };
    size_t kind = (size_t)notice->kind;

    if (kind < COUNTOF(sentences) && sentences[kind]) {
        fprintf(stderr, "sotto: %s%s%s\n", sentences[kind], *notice->detail ? ": " : "", notice->detail);
    }
}

/* On a terminal, what is said next begins a line of its own. */
static void end_text(const struct answer *answer)
{
    if (!answer->cli->json && answer->text.n && isatty(STDOUT_FILENO)) {
        putchar('\n');
        fflush(stdout);
    }
}

static void show_figures(const struct answer *answer, const struct sotto_done *done)
{
    const struct sotto_usage *usage = &done->usage;

    end_text(answer);
    fprintf(stderr,
            "%u prompt tokens (%u cached), %u generated (%s); first after %.0f ms, then %.1f tokens/s; "
            "seed %" PRIu64 "\n",
            usage->prompt_tokens, usage->cached_tokens, usage->generated_tokens, done->reason_name,
            (double)usage->ttft_us / 1000, done->tokens_per_second, answer->seed);
}

static void on_accepted(struct answer *answer, const struct sotto_accepted *accepted)
{
    char seed[24];

    answer->seed = accepted->seed;
    if (answer->facts) {
        /* 64 bits are more than a number in JSON can be trusted with. */
        snprintf(seed, sizeof(seed), "%" PRIu64, accepted->seed);
        json_object_set_new(answer->facts, "model", show_text(accepted->model, strlen(accepted->model)));
        json_object_set_new(answer->facts, "seed", json_string(seed));
    }
}

static void on_done(struct answer *answer, const struct sotto_done *done)
{
    json_t *object;

    if (!answer->cli->json) {
        show_figures(answer, done);
        return;
    }
    object = json_object();
    json_object_set_new(object, "text", show_text((const char *)buf_data(&answer->text), answer->text.n));
    json_object_set_new(object, "tokens",
                        show_ids((const uint32_t *)(const void *)buf_data(&answer->tokens),
                                 answer->tokens.n / sizeof(uint32_t)));
    json_object_set_new(object, "finish_reason", json_string(done->reason_name));
    if (done->reason == SOTTO_FINISH_STOP) {
        json_object_set_new(object, "stop", show_text(done->stop, done->n_stop));
    }
    json_object_set_new(object, "usage", show_usage(done));
    json_object_update(object, answer->facts);
    show_line(object);
}

static void on_event(void *owner, const struct sotto_event *event)
{
    struct answer *answer = owner;

    switch (event->kind) {
    case SOTTO_EVENT_ACCEPTED:
        on_accepted(answer, event->accepted);
        break;
    case SOTTO_EVENT_DELTA:
        on_delta(answer, event->delta);
        break;
    case SOTTO_EVENT_NOTICE:
        on_notice(event->notice);
        break;
    case SOTTO_EVENT_DONE:
        on_done(answer, event->done);
        break;
    case SOTTO_EVENT_ERROR:
        end_text(answer);
        answer->code = event->error->code;
        answer->exit =
            answer->quiet && answer->code == answer->quiet ? CLI_FAILED : cli_fail(answer->cli, event->error);
        break;
    default: /* kinds of later libraries */
        break;
    }
    answer->done = event->last || answer->unheard;
}

int answer_run(struct talk *talk, const struct sotto_generate *ask, struct answer *answer)
{
    struct sotto_error error;
    uint32_t stream;
    int r;

    if (sotto_send_generate(talk->sotto, ask, on_event, answer, &stream, &error)) {
        return cli_fail(talk->cli, &error);
    }
    r = talk_until(talk, &answer->done);
    if (r == CLI_INTERRUPTED) {
        answer->cut = true;
        sotto_cancel(talk->sotto, stream, NULL);
        r = talk_until(talk, &answer->done);
    }
    if (answer->unheard) {
        sotto_drop(talk->sotto, stream);
        return cli_flush(talk->cli);
    }
    if (!answer->done) {
        sotto_drop(talk->sotto, stream);
        return r;
    }
    if (answer->cut) {
        return CLI_INTERRUPTED;
    }
    return answer->exit ? answer->exit : cli_flush(talk->cli);
}
