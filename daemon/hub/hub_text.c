/*
 * Ticket: a question that is answered later, once
 *
 * Questions about words wait for their model as a Generate does, and go through the same pool. An answer is never
 * given inside the call that asked: it is due, and the next turn makes the callback. Who has left is forgotten: the
 * ticket is freed, what it had caused (a load) goes on.
 */
#include "base/clean.h"
#include "base/err.h"
#include "hub/hub_status.h"
#include "proto/limit.h"
#include "session/session.h"
#include <errno.h>
#include <stdio.h>

int ticket_create(struct ticket **ret_ticket, struct hub *hub, enum ticket_kind kind, const struct grant *grant,
                  struct model *model, void *owner)
{
    struct ticket *ticket = mem_calloc(MEM_WIRE, 1, sizeof(*ticket));

    if (!ticket) {
        return err_new(-ENOMEM);
    }
    list_init(&ticket->link);
    ticket->kind = kind;
    ticket->hub = hub;
    ticket->grant = *grant;
    ticket->model = model;
    ticket->owner = owner;
    if (model) {
        model->n_tickets++;
    }
    *ret_ticket = ticket;
    return 0;
}

static void destroy(struct ticket *ticket)
{
    list_remove(&ticket->link);
    text_pool_drop(steal(&ticket->job));
    if (ticket->model) {
        ticket->model->n_tickets--;
        models_try_remove(ticket->model);
    }
    mem_free(ticket);
}

void ticket_forget(struct ticket *ticket)
{
    if (!ticket->is_called) {
        destroy(ticket);
    }
}

void ticket_answer(struct ticket *ticket, Sotto__V1__Code code, const char *sentence)
{
    ticket->code = code;
    snprintf(ticket->sentence, sizeof(ticket->sentence), "%s", sentence ? sentence : "");
    list_remove(&ticket->link);
    list_append(&ticket->hub->due, &ticket->link);
    hub_poke(ticket->hub);
}

/* ---- the callbacks */

static void call_loaded(struct ticket *ticket, const Sotto__V1__Error *error)
{
    Sotto__V1__ModelInfo info = SOTTO__V1__MODEL_INFO__INIT;
    struct arena arena;

    if (error) {
        ticket->done.loaded(ticket->owner, NULL, error);
        return;
    }
    arena_init(&arena, MEM_WIRE, 16u << 10);
    if (status_fill_model(ticket->model, &ticket->grant, &arena, &info) == 0) {
        ticket->done.loaded(ticket->owner, &info, NULL);
    } else {
        Sotto__V1__Error starved = SOTTO__V1__ERROR__INIT;

        starved.code = SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
        ticket->done.loaded(ticket->owner, NULL, &starved);
    }
    arena_finish(&arena);
}

void ticket_call(struct ticket *ticket)
{
    Sotto__V1__Error told = SOTTO__V1__ERROR__INIT;
    const Sotto__V1__Error *error = NULL;

    list_remove(&ticket->link);
    ticket->is_called = true;
    if (ticket->code != SOTTO__V1__CODE__CODE_OK) {
        told.code = ticket->code;
        told.message = ticket->sentence;
        error = &told;
    }
    switch (ticket->kind) {
    case TICKET_TOKENIZE:
        ticket->done.tokenized(ticket->owner, NULL, error); /* answers come from the pool */
        break;
    case TICKET_DETOKENIZE:
        ticket->done.detokenized(ticket->owner, NULL, error);
        break;
    case TICKET_LOAD:
        call_loaded(ticket, error);
        break;
    case TICKET_UNLOAD:
        ticket->done.unloaded(ticket->owner, error);
        break;
    case TICKET_STATUS:
        status_call(ticket);
        break;
    case TICKET_SESSION:
        session_call(ticket);
        break;
    }
    destroy(ticket);
}

/* ---- words */

static Sotto__V1__Code refusal_of(const struct text_job *job)
{
    if (job->outcome == TOKENIZE_BAD_TEXT) {
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    return job->outcome == TOKENIZE_TOO_MANY ? SOTTO__V1__CODE__CODE_OUT_OF_RANGE
                                             : SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
}

static void tell_refusal(struct ticket *ticket, const struct text_job *job)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char sentence[DIAG_BYTES];

    snprintf(sentence, sizeof(sentence), "%s",
             diag_is_set(&job->diag) ? job->diag.text : "the text is too long, or there is no memory for it");
    error.code = refusal_of(job);
    error.message = sentence;
    if (ticket->kind == TICKET_TOKENIZE) {
        ticket->done.tokenized(ticket->owner, NULL, &error);
    } else {
        ticket->done.detokenized(ticket->owner, NULL, &error);
    }
}

static void tell_ids(struct ticket *ticket, const struct text_job *job)
{
    cleanup(mem_freep) ProtobufCBinaryData *pieces = NULL;
    Sotto__V1__Tokenized answer = SOTTO__V1__TOKENIZED__INIT;

    answer.ids = job->ids.ids;
    answer.n_ids = job->ids.n;
    if (ticket->pieces && job->ids.n > 0) {
        pieces = mem_calloc(MEM_WIRE, job->ids.n, sizeof(*pieces));
        for (size_t i = 0; pieces && i < job->ids.n; i++) {
            struct gguf_text piece = vocab_piece(job->vocab, job->ids.ids[i]);

            pieces[i].len = piece.n;
            memcpy(&pieces[i].data, &piece.bytes, sizeof(pieces[i].data)); /* packing leaves it alone */
        }
        answer.pieces = pieces;
        answer.n_pieces = pieces ? job->ids.n : 0;
    }
    ticket->done.tokenized(ticket->owner, &answer, NULL);
}

static void tell_text(struct ticket *ticket, const struct text_job *job)
{
    Sotto__V1__Detokenized answer = SOTTO__V1__DETOKENIZED__INIT;

    answer.text.len = job->mended.n;
    memcpy(&answer.text.data, &(const uint8_t *){ buf_data(&job->mended) }, sizeof(answer.text.data));
    ticket->done.detokenized(ticket->owner, &answer, NULL);
}

static void on_text(void *owner, struct text_job *job)
{
    struct ticket *ticket = owner;

    ticket->job = NULL;
    ticket->is_called = true;
    ticket->hub->counts[HUB_TOKENISED]++;
    if (job->outcome != TOKENIZE_OK) {
        tell_refusal(ticket, job);
    } else if (ticket->kind == TICKET_TOKENIZE) {
        tell_ids(ticket, job);
    } else {
        tell_text(ticket, job);
    }
    destroy(ticket);
}

void ticket_model_ready(struct ticket *ticket)
{
    struct instance *instance = ticket->model->current;
    struct text_job *job = ticket->job;

    job->vocab = instance->vocab;
    job->special = ticket->special;
    job->flags = ticket->special ? TOKENIZE_SPECIAL | TOKENIZE_BOS : 0;
    job->release = instance_unref;
    job->keeper = instance;
    instance_ref(instance);
    text_pool_push(&ticket->hub->pool, job, on_text, ticket);
}

/* May one more question of this kind come? *ret_model and *ret_account are set when it may. */
static int admit(struct hub *hub, const char *name, const char *field, const struct grant *grant, uint64_t n_bytes,
                 struct model **ret_model, struct account **ret_account, struct diag *diag)
{
    int r;

    if (hub->is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    *ret_model = models_find(hub, name);
    if (!*ret_model) {
        diag_blame(diag, field, name[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = accounts_get(&hub->queue.accounts, grant->uid, ret_account);
    if (r) {
        return err_up(r);
    }
    if (hub->pool.n_jobs >= LIMIT_WORDS_JOBS || text_pool_jobs_of(&hub->pool, *ret_account) >= LIMIT_WORDS_A_UID) {
        diag_set(diag, "as many texts as may be are being tokenised already: wait for one to end");
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    if ((*ret_account)->bytes + n_bytes > ACCOUNT_BYTES_MAX) {
        diag_set(diag, "this user's requests hold as much memory as they may: wait for one to end");
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    return models_want(*ret_model, false, diag);
}

/* The job is there: it starts now, or when the model is loaded. */
static void place(struct ticket *ticket)
{
    struct model *model = ticket->model;

    if (model->current && model->current->vocab) {
        ticket_model_ready(ticket);
    } else {
        list_append(&model->waiters, &ticket->link);
    }
}

int hub_tokenize(struct hub *hub, const Sotto__V1__Tokenize *ask, const struct grant *grant, ticket_tokenized_fn done,
                 void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct ticket *ticket;
    struct account *account;
    struct model *model;
    int r;

    if (ask->special && !grant->special) {
        diag_blame(diag, "tokenize.special", "this user may not have control tokens recognised");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    r = admit(hub, ask->model, "tokenize.model", grant, ask->text.len, &model, &account, diag);
    if (r) {
        return r;
    }
    r = ticket_create(&ticket, hub, TICKET_TOKENIZE, grant, model, owner);
    if (r) {
        return err_up(r);
    }
    r = text_pool_tokenize(&ticket->job, account, ask->text.data, ask->text.len);
    if (r) {
        destroy(ticket);
        return err_up(r);
    }
    ticket->done.tokenized = done;
    ticket->pieces = ask->pieces;
    ticket->special = ask->special;
    place(ticket);
    *ret_ticket = ticket;
    return 0;
}

int hub_detokenize(struct hub *hub, const Sotto__V1__Detokenize *ask, const struct grant *grant,
                   ticket_detokenized_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct ticket *ticket;
    struct account *account;
    struct model *model;
    int r;

    r = admit(hub, ask->model, "detokenize.model", grant, ask->n_ids * sizeof(uint32_t), &model, &account, diag);
    if (r) {
        return r;
    }
    r = ticket_create(&ticket, hub, TICKET_DETOKENIZE, grant, model, owner);
    if (r) {
        return err_up(r);
    }
    r = text_pool_detokenize(&ticket->job, account, ask->ids, ask->n_ids);
    if (r) {
        destroy(ticket);
        return err_up(r);
    }
    ticket->done.detokenized = done;
    ticket->special = ask->special;
    place(ticket);
    *ret_ticket = ticket;
    return 0;
}
