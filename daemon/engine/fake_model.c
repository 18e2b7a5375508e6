#include "engine/fake_model.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "gguf/gguf.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define DEFAULT_PAGES  1024
#define TRAINED_TOK    2048
#define HEAD_BYTES_MAX ((size_t)64 << 20)

/* The socket to sottod, for bytes that the engine would never send. */
#define SOTTOD_FD 3

void fake_nap_ms(uint32_t ms)
{
    const struct timespec nap = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    nanosleep(&nap, NULL);
}

int fake_act(const struct script *script, const struct script_rule *rule)
{
    static const char garbage[] = "\xff\xff\xff\xff this is no frame";

    script_spend(script, rule);
    switch (rule->action) {
    case SCRIPT_CRASH:
        abort();
    case SCRIPT_KILL:
        raise(SIGKILL);
        return 0;
    case SCRIPT_EXIT:
        _exit(3);
    case SCRIPT_HANG:
        for (;;) {
            fake_nap_ms(1000);
        }
    case SCRIPT_GARBAGE:
        send(SOTTOD_FD, garbage, sizeof(garbage), MSG_NOSIGNAL);
        return 0;
    case SCRIPT_FAULT:
        log_error("engine", "%s", rule->text);
        return err_new(-EIO);
    case SCRIPT_TOKENS:
    case SCRIPT_SLOW:
    case SCRIPT_WAIT:
    case SCRIPT_STALL:
    case SCRIPT_NUMERIC:
    case SCRIPT_ALLOCATE:
    case SCRIPT_HOPELESS:
    case SCRIPT_REFUSE:
    case SCRIPT_ACTION_COUNT:
        return 0;
    }
    return 0;
}

static int act_on_load(const struct model *model, struct diag *diag)
{
    const struct script_rule *rule;
    size_t at = 0;

    while ((rule = script_find(&model->script, NULL, 0, SCRIPT_AT_ANY, &at))) {
        switch (rule->action) {
        case SCRIPT_FAULT:
            diag_set(diag, "%s", rule->text);
            return fake_act(&model->script, rule);
        case SCRIPT_HOPELESS:
            script_spend(&model->script, rule);
            diag_set(diag, "%s", rule->text);
            return MODEL_REFUSED;
        case SCRIPT_SLOW:
        case SCRIPT_WAIT:
        case SCRIPT_STALL:
            fake_nap_ms(rule->number);
            break;
        default:
            fake_act(&model->script, rule);
            break;
        }
    }
    return MODEL_OK;
}

/* Reads the length of the file's token list. */
static int read_vocab(struct model *model, int fd, struct diag *diag)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    const struct gguf_key *key;
    int r;

    model->facts.n_vocab = model->script.n_vocab;
    if (model->facts.n_vocab > 0) {
        return MODEL_OK;
    }
    r = gguf_read_head(&gguf, fd, HEAD_BYTES_MAX, diag);
    if (r < 0) {
        return err_up(r);
    }
    if (r != GGUF_OK) {
        return MODEL_REFUSED;
    }
    key = gguf_find_key(gguf, "tokenizer.ggml.tokens");
    if (!key || key->type != GGUF_ARRAY || key->n == 0 || key->n > UINT32_MAX) {
        diag_set(diag, "tokenizer.ggml.tokens: the file has no list of tokens");
        return MODEL_REFUSED;
    }
    model->facts.n_vocab = (uint32_t)key->n;
    return MODEL_OK;
}

static void fill_facts(struct model *model, const struct model_setup *setup)
{
    struct model_facts *facts = &model->facts;
    uint64_t n_pages = setup->kv_bytes > 0 ? setup->kv_bytes / (FAKE_PAGE_TOK * FAKE_TOKEN_BYTES) : DEFAULT_PAGES;
    uint32_t n_context = model->script.n_context > 0 ? model->script.n_context : setup->n_context;

    facts->architecture = "fake";
    facts->format = "none";
    facts->n_trained = TRAINED_TOK;
    facts->n_context = n_context > 0 ? n_context : TRAINED_TOK;
    facts->n_page_tok = FAKE_PAGE_TOK;
    facts->shares = true;
    facts->kv_token_bytes = FAKE_TOKEN_BYTES;
    facts->n_pages = model->script.n_pages > 0 ? model->script.n_pages : (uint32_t)num_min(n_pages, UINT32_MAX);
    facts->n_parameters = 1;
    snprintf(facts->backend, sizeof(facts->backend), "fake");
    snprintf(facts->numerics, sizeof(facts->numerics), "1/fake");
    model->n_pages_allowed = facts->n_pages;
}

static int set_aside(struct model *model, const struct model_setup *setup)
{
    model->n_seqs = setup->n_sequences;
    model->n_rows = setup->n_rows;
    model->seqs = mem_calloc(MEM_KV, model->n_seqs, sizeof(*model->seqs));
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        struct fake_step *step = &model->steps[i];

        step->entries = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->entries));
        step->results = mem_calloc(MEM_SCRATCH, model->n_rows, sizeof(*step->results));
        if (!step->entries || !step->results) {
            return err_new(-ENOMEM);
        }
    }
    return model->seqs ? 0 : err_new(-ENOMEM);
}

int model_open(struct model **ret_model, const struct model_setup *setup, model_progress_fn progress, void *owner,
               struct diag *diag)
{
    cleanup(model_closep) struct model *model = NULL;
    int r;

    model = mem_calloc(MEM_MISC, 1, sizeof(*model));
    if (!model) {
        return err_new(-ENOMEM);
    }
    list_init(&model->pins);
    progress(owner, 0.25F, "mapping");
    r = script_read(&model->script, setup->fake_script, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    r = read_vocab(model, setup->fd, diag);
    if (r == MODEL_OK) {
        progress(owner, 0.5F, "checking");
        r = act_on_load(model, diag);
    }
    r = r ? r : set_aside(model, setup);
    if (r) {
        return r;
    }
    fill_facts(model, setup);
    progress(owner, 1, "warming");
    *ret_model = steal(&model);
    return MODEL_OK;
}

void model_close(struct model *model)
{
    if (!model) {
        return;
    }
    for (uint32_t i = 0; model->seqs && i < model->n_seqs; i++) {
        if (model->seqs[i].id) {
            fake_end_seq(model, &model->seqs[i]);
        }
    }
    fake_drop_pins(model);
    script_finish(&model->script);
    mem_free(model->seqs);
    for (uint32_t i = 0; i < STEP_MAX; i++) {
        mem_free(model->steps[i].entries);
        mem_free(model->steps[i].results);
    }
    mem_free(model);
}

void model_closep(struct model **model)
{
    model_close(*model);
    *model = NULL;
}

void model_facts(const struct model *model, struct model_facts *ret_facts)
{
    *ret_facts = model->facts;
}

void model_figures(const struct model *model, struct model_figures *ret_figures)
{
    *ret_figures = model->figures;
    ret_figures->n_free = model->facts.n_pages - model->figures.n_held;
}

void model_limit_kv(struct model *model, uint64_t kv_bytes)
{
    model->n_pages_allowed = (uint32_t)num_min(kv_bytes / (FAKE_PAGE_TOK * FAKE_TOKEN_BYTES), model->facts.n_pages);
}
