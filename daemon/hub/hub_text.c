/*
 * Tokenize and Detokenize: they wait for their model as a Generate does, and go through the same pool.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/mem.h"
#include "hub/hub_state.h"
#include "proto/limit.h"
#include "proto/wire.h"
#include <stdio.h>

struct text_ticket {
    struct ticket ticket;
    struct text_job *job;
    ticket_tokenized_fn tokenized; /* one of the two */
    ticket_detokenized_fn detokenized;
    bool pieces;
    bool special;
};

/* ---- answers */

static Sotto__V1__Code refusal_of(const struct text_job *job)
{
    if (job->outcome == TOKENIZE_BAD_TEXT) {
        return SOTTO__V1__CODE__CODE_INVALID_ARGUMENT;
    }
    return job->outcome == TOKENIZE_TOO_MANY ? SOTTO__V1__CODE__CODE_OUT_OF_RANGE
                                             : SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
}

static void tell_refusal(const struct text_ticket *own, const struct text_job *job)
{
    Sotto__V1__Error error = SOTTO__V1__ERROR__INIT;
    char sentence[DIAG_BYTES];

    snprintf(sentence, sizeof(sentence), "%s",
             diag_is_set(&job->diag) ? job->diag.text : "the text is too long, or there is no memory for it");
    error.code = refusal_of(job);
    error.message = sentence;
    if (own->tokenized) {
        own->tokenized(own->ticket.owner, NULL, &error);
    } else {
        own->detokenized(own->ticket.owner, NULL, &error);
    }
}

static void tell_ids(const struct text_ticket *own, const struct text_job *job)
{
    cleanup(mem_freep) ProtobufCBinaryData *pieces = NULL;
    Sotto__V1__Tokenized answer = SOTTO__V1__TOKENIZED__INIT;

    answer.ids = job->ids.ids;
    answer.n_ids = job->ids.n;
    if (own->pieces && job->ids.n > 0) {
        pieces = mem_calloc(MEM_WIRE, job->ids.n, sizeof(*pieces));
        for (size_t i = 0; pieces && i < job->ids.n; i++) {
            struct gguf_text piece = vocab_piece(job->vocab, job->ids.ids[i]);

            pieces[i].len = piece.n;
            memcpy(&pieces[i].data, &piece.bytes, sizeof(pieces[i].data)); /* packing leaves it alone */
        }
        answer.pieces = pieces;
        answer.n_pieces = pieces ? job->ids.n : 0;
    }
    own->tokenized(own->ticket.owner, &answer, NULL);
}

static void tell_text(const struct text_ticket *own, const struct text_job *job)
{
    Sotto__V1__Detokenized answer = SOTTO__V1__DETOKENIZED__INIT;

    answer.text.len = job->mended.n;
    answer.text.data = wire_message(buf_data(&job->mended));
    own->detokenized(own->ticket.owner, &answer, NULL);
}

static void on_text(void *owner, struct text_job *job)
{
    struct text_ticket *own = owner;

    own->job = NULL;
    own->ticket.is_called = true;
    own->ticket.tickets->events->counts[COUNT_TOKENISED]++;
    if (job->outcome != TOKENIZE_OK) {
        tell_refusal(own, job);
    } else if (own->tokenized) {
        tell_ids(own, job);
    } else {
        tell_text(own, job);
    }
    ticket_destroy(&own->ticket);
}

/* Answers with an error; other answers come from the pool. */
static void call(struct ticket *ticket, const Sotto__V1__Error *error)
{
    const struct text_ticket *own = container_of(ticket, struct text_ticket, ticket);

    if (own->tokenized) {
        own->tokenized(ticket->owner, NULL, error);
    } else {
        own->detokenized(ticket->owner, NULL, error);
    }
}

static void on_vocabulary(struct ticket *ticket)
{
    struct text_ticket *own = container_of(ticket, struct text_ticket, ticket);
    struct instance *instance = ticket->model->current;

    own->job->special = own->special;
    own->job->flags = own->special ? TOKENIZE_SPECIAL | TOKENIZE_BOS : 0;
    instance_lend_text(instance, own->job);
    text_pool_push(instance->registry->pool, own->job, on_text, own);
}

static void finish(struct ticket *ticket)
{
    text_pool_drop(steal(&container_of(ticket, struct text_ticket, ticket)->job));
}

static const struct ticket_ops ops = { .call = call, .on_ready = on_vocabulary, .finish = finish };

/* ---- questions */

/* May one more text come? 0, and *ret_model and *ret_account are set; above 0 a Code with the sentence in @diag. */
static int admit(struct hub *hub, const char *name, const char *field, const struct grant *grant, uint64_t n_bytes,
                 struct model_entry **ret_model, struct account **ret_account, struct diag *diag)
{
    uint32_t n_own;
    int r;

    if (hub->events.is_stopping) {
        diag_set(diag, "the daemon is shutting down");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    *ret_model = model_entry_find(&hub->registry, name);
    if (!*ret_model) {
        diag_blame(diag, field, name[0] ? "there is no model of that name" : "no model is configured");
        return SOTTO__V1__CODE__CODE_NOT_FOUND;
    }
    r = accounts_get(&hub->streams.queue.accounts, grant->uid, ret_account);
    if (r) {
        return err_up(r);
    }
    n_own = text_pool_jobs_of(&hub->pool, *ret_account);
    if (n_own >= LIMIT_WORDS_A_UID || (n_own > 0 && hub->pool.n_jobs >= LIMIT_WORDS_JOBS)) {
        diag_set(diag, "as many texts as may be are being tokenised already: wait for one to end");
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    if ((*ret_account)->bytes + n_bytes > ACCOUNT_BYTES_MAX) {
        diag_set(diag, "this user's requests hold as much memory as they may: wait for one to end");
        return SOTTO__V1__CODE__CODE_RESOURCE_EXHAUSTED;
    }
    return models_want(*ret_model, false, diag);
}

/* Makes the ticket of an admitted text; the caller gives it a job and calls begin(). */
static int create(struct text_ticket **ret_own, struct hub *hub, struct model_entry *model, bool special, void *owner)
{
    struct ticket *ticket;
    int r;

    r = ticket_create(&ticket, sizeof(struct text_ticket), TICKET_TEXT, &ops, &hub->tickets, model, owner);
    if (r) {
        return err_up(r);
    }
    *ret_own = container_of(ticket, struct text_ticket, ticket);
    (*ret_own)->special = special;
    return 0;
}

/* Starts the job now, or when the model's vocabulary is there. @r: whether there is a job. A question has the user's
 * usual class, and none is as urgent as a realtime request. */
static int begin(struct text_ticket *own, int r, const struct grant *grant, struct ticket **ret_ticket)
{
    struct ticket *ticket = &own->ticket;
    struct model_entry *model = ticket->model;

    if (r) {
        ticket_destroy(ticket);
        return err_up(r);
    }
    if (grant->class_default != SOTTO__V1__PRIORITY_CLASS__CLASS_BACKGROUND) {
        own->job->priority = PRIORITY_INTERACTIVE;
    }
    *ret_ticket = ticket;
    if (model->current && model->current->vocab) {
        on_vocabulary(ticket);
    } else {
        list_append(&model->waiters, &ticket->link);
    }
    return 0;
}

int hub_tokenize(struct hub *hub, const Sotto__V1__Tokenize *asked, const struct grant *grant, ticket_tokenized_fn done,
                 void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct text_ticket *own = NULL;
    struct account *account;
    struct model_entry *model;
    int r;

    if (asked->special && !grant->special) {
        diag_blame(diag, "tokenize.special", "this user may not have control tokens recognised");
        return SOTTO__V1__CODE__CODE_PERMISSION_DENIED;
    }
    r = admit(hub, asked->model, "tokenize.model", grant, asked->text.len, &model, &account, diag);
    if (r) {
        return r;
    }
    r = create(&own, hub, model, asked->special, owner);
    if (r) {
        return err_up(r);
    }
    own->tokenized = done;
    own->pieces = asked->pieces;
    r = text_job_tokenize(&own->job, account, asked->text.data, asked->text.len);
    return err_up(begin(own, r, grant, ret_ticket));
}

int hub_detokenize(struct hub *hub, const Sotto__V1__Detokenize *asked, const struct grant *grant,
                   ticket_detokenized_fn done, void *owner, struct ticket **ret_ticket, struct diag *diag)
{
    struct text_ticket *own = NULL;
    struct account *account;
    struct model_entry *model;
    int r;

    r = admit(hub, asked->model, "detokenize.model", grant, asked->n_ids * sizeof(uint32_t), &model, &account, diag);
    if (r) {
        return r;
    }
    r = create(&own, hub, model, asked->special, owner);
    if (r) {
        return err_up(r);
    }
    own->detokenized = done;
    r = text_job_detokenize(&own->job, account, asked->ids, asked->n_ids);
    return err_up(begin(own, r, grant, ret_ticket));
}
