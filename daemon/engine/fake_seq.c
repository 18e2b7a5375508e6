/*
 * Sequences of the fake model
 */
#include "engine/fake_model.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "engine/engine.h"
#include <errno.h>

uint32_t fake_n_free(const struct model *model)
{
    return model->n_pages_allowed > model->figures.n_held ? model->n_pages_allowed - model->figures.n_held : 0;
}

void fake_end_seq(struct model *model, struct fake_seq *seq)
{
    model->figures.n_held -= seq->n_pages;
    model->figures.n_seqs--;
    mem_free(seq->tokens);
    mem_free(seq->never);
    mem_free(seq->top_ids);
    mem_free(seq->top_logprobs);
    *seq = (struct fake_seq){ .id = 0 };
}

struct fake_seq *fake_find(struct model *model, uint32_t id)
{
    for (uint32_t i = 0; i < model->n_seqs; i++) {
        if (model->seqs[i].id == id) {
            return &model->seqs[i];
        }
    }
    return NULL;
}

static enum seq_outcome check_room(struct model *model, const struct seq_request *request, struct seq_room *ret_room)
{
    uint64_t n_tokens = (uint64_t)request->n_tokens + request->n_reserve;

    ret_room->n_cached = 0;
    ret_room->n_needed = (uint32_t)num_min(num_div_up(n_tokens, FAKE_PAGE_TOK), UINT32_MAX);
    ret_room->n_free = fake_n_free(model);
    for (uint32_t i = 0; i < request->n_tokens; i++) {
        if (request->tokens[i] >= model->facts.n_vocab) {
            return SEQ_BAD_TOKEN;
        }
    }
    if (request->n_tokens == 0) {
        return SEQ_BAD_TOKEN;
    }
    if (request->hidden) {
        return SEQ_UNSUPPORTED; /* it has no hidden states */
    }
    if (n_tokens > model->facts.n_context || ret_room->n_needed > model->facts.n_pages) {
        return SEQ_NEVER_FITS;
    }
    return SEQ_OK;
}

/* Lets the rules for opening act, and returns the rule with the first tokens, if any. */
static int act_on_open(struct model *model, const struct seq_request *request, const struct script_rule **ret_list)
{
    const struct script_rule *rule;
    size_t at = 0;
    int r = SEQ_OK;

    while (request->id != ENGINE_WARM_SEQ && r == SEQ_OK &&
           (rule = script_find(&model->script, request->tokens, (uint32_t)num_min(request->n_prompt, request->n_tokens),
                               SCRIPT_AT_OPEN, &at))) {
        if (rule->action == SCRIPT_TOKENS) {
            *ret_list = rule;
        } else if (rule->action == SCRIPT_REFUSE) {
            script_spend(&model->script, rule);
            r = (int)rule->number;
        } else if (rule->at == SCRIPT_AT_OPEN) {
            r = fake_act(&model->script, rule);
        }
    }
    return r;
}

static int copy_request(struct fake_seq *seq, const struct seq_request *request, uint32_t n_pages)
{
    const struct sample_params *params = request->params;

    *seq = (struct fake_seq){
        .id = request->id,
        .n_prompt = request->n_prompt,
        .n_slid = request->n_slid,
        .n_known = request->n_tokens,
        .n_pages = n_pages,
        .seed = params->temperature > 0 ? params->seed : 0,
        .n_never = params->n_never,
        .n_top = params->n_top,
        .tokens = mem_calloc(MEM_KV, (size_t)n_pages * FAKE_PAGE_TOK + 1, sizeof(*seq->tokens)),
        .never = mem_calloc(MEM_KV, params->n_never, sizeof(*seq->never)),
        .top_ids = mem_calloc(MEM_KV, params->n_top, sizeof(*seq->top_ids)),
        .top_logprobs = mem_calloc(MEM_KV, params->n_top, sizeof(*seq->top_logprobs)),
    };
    if (!seq->tokens || !seq->never || !seq->top_ids || !seq->top_logprobs) {
        return err_new(-ENOMEM);
    }
    memcpy(seq->tokens, request->tokens, request->n_tokens * sizeof(*request->tokens));
    if (request->n_salt > 0 && request->n_salt <= sizeof(seq->salt)) {
        seq->n_salt = request->n_salt;
        memcpy(seq->salt, request->salt, request->n_salt);
    }
    if (params->n_never > 0) {
        memcpy(seq->never, params->never, params->n_never * sizeof(*params->never));
    }
    return 0;
}

int seq_open(struct model *model, const struct seq_request *request, struct seq_room *ret_room)
{
    const struct script_rule *list = NULL;
    struct seq_room room;
    struct fake_seq *seq;
    int r;

    r = (int)check_room(model, request, &room);
    if (r == SEQ_OK && !fake_find(model, 0)) {
        r = SEQ_TOO_MANY;
    }
    if (r == SEQ_OK && room.n_needed > room.n_free) {
        r = SEQ_NO_PAGES;
    }
    r = r ? r : act_on_open(model, request, &list);
    *ret_room = room;
    if (r) {
        return r;
    }
    seq = fake_find(model, 0);
    r = copy_request(seq, request, room.n_needed);
    model->figures.n_held += room.n_needed;
    model->figures.n_seqs++;
    if (r) {
        fake_end_seq(model, seq);
        return err_up(r);
    }
    seq->list = list;
    seq->n_done = fake_find_pinned(model, request);
    ret_room->n_cached = seq->n_done;
    ret_room->n_pinned = seq->n_done;
    ret_room->n_free = fake_n_free(model);
    return SEQ_OK;
}

int seq_extend(struct model *model, const struct seq_request *request, struct seq_room *ret_room)
{
    struct fake_seq *seq = fake_find(model, request->id);
    const struct script_rule *list = NULL;
    struct fake_seq fresh;
    uint32_t n_kept = 0;
    int r;

    if (!seq || seq->is_in_step) {
        return err_new(seq ? -EBUSY : -ENOENT);
    }
    r = seq->n_slid > 0 ? SEQ_UNSUPPORTED : (int)check_room(model, request, ret_room);
    if (r == SEQ_OK && ret_room->n_needed > ret_room->n_free + seq->n_pages) {
        r = SEQ_NO_PAGES;
    }
    r = r ? r : act_on_open(model, request, &list);
    if (r) {
        return r;
    }
    r = copy_request(&fresh, request, ret_room->n_needed);
    while (n_kept < seq->n_done && n_kept + 1 < request->n_tokens && seq->tokens[n_kept] == request->tokens[n_kept]) {
        n_kept++;
    }
    fake_end_seq(model, seq);
    *seq = fresh;
    seq->n_done = n_kept;
    seq->list = list;
    model->figures.n_held += seq->n_pages;
    model->figures.n_seqs++;
    ret_room->n_cached = n_kept;
    ret_room->n_free = fake_n_free(model);
    return r ? err_up(r) : SEQ_OK;
}

void seq_stop(struct model *model, uint32_t id)
{
    struct fake_seq *seq = id ? fake_find(model, id) : NULL;

    if (seq) {
        seq->is_stopped = true;
    }
}

static void trim(struct fake_seq *seq, uint32_t n_tokens)
{
    if (n_tokens > 0 && n_tokens < seq->n_known) {
        seq->n_known = n_tokens;
        seq->n_prompt = (uint32_t)num_min(seq->n_prompt, (uint64_t)n_tokens + seq->n_slid);
        /* The last row is computed again, since the next token is sampled from it. */
        seq->n_done = (uint32_t)num_min(seq->n_done, n_tokens - 1);
    }
}

void seq_trim(struct model *model, uint32_t id, uint32_t n_tokens)
{
    struct fake_seq *seq = id ? fake_find(model, id) : NULL;

    if (seq && seq->is_in_step) {
        seq->n_trim = seq->n_trim && seq->n_trim < n_tokens ? seq->n_trim : n_tokens;
    } else if (seq) {
        trim(seq, n_tokens);
    }
}

void fake_leave_step(struct model *model, struct fake_seq *seq)
{
    seq->is_in_step = false;
    trim(seq, seq->n_trim);
    seq->n_trim = 0;
    if (seq->is_closed) {
        fake_end_seq(model, seq);
    }
}

void seq_close(struct model *model, uint32_t id, bool keep)
{
    struct fake_seq *seq = id ? fake_find(model, id) : NULL;

    if (seq && seq->is_in_step) {
        seq->is_stopped = true;
        seq->is_closed = true;
    } else if (seq) {
        fake_end_seq(model, seq);
    }
}
