#include "session/pins_text.h"
#include "base/clean.h"
#include "base/err.h"
#include "registry/instance.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void on_text(void *owner, struct text_job *job);

static void push(struct pin *pin, struct text_job *job)
{
    job->flags = TOKENIZE_BOS;
    instance_lend_text(pin->instance, job);
    pin->text_job = job;
    text_pool_push(pin->instance->registry->pool, job, on_text, pin);
}

/* Returns the role that speaks behind @last. */
static const char *next_role(const char *last)
{
    return strcmp(last, "user") == 0 || strcmp(last, "tool") == 0 ? "assistant" : "user";
}

/* Makes a job of the messages and one more. */
static int make_chat(struct pin *pin, struct text_job **ret_job)
{
    Sotto__V1__Chat *chat = sotto__v1__chat__unpack(NULL, pin->settings.n_chat, pin->settings.chat);
    cleanup(mem_freep) Sotto__V1__ChatMessage **messages = NULL;
    Sotto__V1__ChatMessage more = SOTTO__V1__CHAT_MESSAGE__INIT;
    Sotto__V1__Chat longer;
    uint8_t text[1] = { pin->is_second ? 'b' : 'a' };
    char role[16];
    int r;

    if (!chat) {
        return err_new(-ENOMEM);
    }
    messages = mem_alloc(MEM_STREAM, (chat->n_messages + 1) * sizeof(Sotto__V1__ChatMessage *));
    if (!messages) {
        sotto__v1__chat__free_unpacked(chat, NULL);
        return err_new(-ENOMEM);
    }
    memcpy(messages, chat->messages, chat->n_messages * sizeof(Sotto__V1__ChatMessage *));
    snprintf(role, sizeof(role), "%s", next_role(messages[chat->n_messages - 1]->role));
    more.role = role;
    more.content = (ProtobufCBinaryData){ .len = sizeof(text), .data = text };
    messages[chat->n_messages] = &more;
    longer = *chat;
    longer.messages = messages;
    longer.n_messages = chat->n_messages + 1;
    longer.no_generation_prompt = true;
    r = text_job_chat(ret_job, NULL, &longer);
    sotto__v1__chat__free_unpacked(chat, NULL);
    return err_up(r);
}

static int push_chat(struct pin *pin)
{
    struct text_job *job;
    int r = make_chat(pin, &job);

    if (r == 0) {
        push(pin, job);
    }
    return err_up(r);
}

/* Cuts @ids to the tokens that @other begins with, too. */
static void cut(struct ids *ids, const struct ids *other)
{
    size_t n = 0;

    while (n < ids->n && n < other->n && ids->ids[n] == other->ids[n]) {
        n++;
    }
    ids->n = n;
}

/* Returns what is wrong with the job's outcome, or NULL. */
static const char *fault_of(const struct text_job *job)
{
    if (job->outcome == TOKENIZE_OK) {
        return NULL;
    }
    if (job->outcome == TOKENIZE_TOO_MANY) {
        return "it has more tokens than any context";
    }
    return diag_is_set(&job->diag) ? job->diag.text : "there is no memory to make its tokens";
}

static void on_text(void *owner, struct text_job *job)
{
    struct pin *pin = owner;
    const char *why = fault_of(job);

    pin->text_job = NULL;
    if (!why && pin->is_second) {
        cut(&pin->tokens, &job->ids);
    } else if (!why) {
        pin->tokens = job->ids;
        job->ids = (struct ids){ 0 };
    }
    if (!why && job->kind == TEXT_CHAT && !pin->is_second) {
        pin->is_second = true;
        if (push_chat(pin) == 0) {
            return;
        }
        why = "there is no memory to make its tokens";
    }
    if (!why && pin->tokens.n == 0) {
        why = "it comes to no token: prompts that begin with it have nothing in common";
    }
    if (why) {
        ids_finish(&pin->tokens);
        pin->tokens = (struct ids){ 0 };
    }
    pin->text_done(pin, why);
}

int pins_text_tokenize(struct pin *pin, void (*done)(struct pin *pin, const char *why))
{
    struct text_job *job;
    int r;

    pin->is_second = false;
    pin->text_done = done;
    if (pin->settings.chat) {
        return err_up(push_chat(pin));
    }
    r = text_job_tokenize(&job, NULL, pin->settings.text, strlen(pin->settings.text));
    if (r == 0) {
        push(pin, job);
    }
    return err_up(r);
}
