#include "model/seq.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/num.h"
#include "model/prefix.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

struct seq *seq_find(const struct model *model, uint32_t id)
{
    union map_value *value = map_find(&model->seqs, id);

    return value ? value->pointer : NULL;
}

static void drop_sampler(struct seq *seq)
{
    mem_free((void *)seq->params.biases);
    mem_free((void *)seq->params.never);
    mem_free(seq->top_ids);
    mem_free(seq->top_logprobs);
}

static void seq_destroy(struct model *model, struct seq *seq)
{
    if (!seq) {
        return;
    }
    prefix_end(model, seq, false);
    states_give(&model->states, &seq->state);
    drop_sampler(seq);
    pooling_destroy(seq->pooling);
    mem_free(seq->tokens);
    mem_free(seq);
}

/* Returns a copy of @n elements of @size; NULL if @n is 0, or with *ok false if there is no memory. */
static void *copy_array(const void *from, size_t n, size_t size, bool *ok)
{
    void *to = n ? mem_calloc(MEM_SCRATCH, n, size) : NULL;

    if (to) {
        memcpy(to, from, n * size);
    }
    *ok = *ok && (n == 0 || to);
    return to;
}

/* Copies @params and allocates the arrays of results. Returns false if there is no memory; drop_sampler() frees the
 * rest. */
static bool copy_sampler(const struct model *model, const struct sample_params *params, struct seq *seq)
{
    bool ok = true;

    seq->params = *params;
    seq->params.n_top = (uint32_t)num_min(params->n_top, model->params.n_tokens);
    seq->params.biases = copy_array(params->biases, params->n_biases, sizeof(*params->biases), &ok);
    seq->params.never = copy_array(params->never, params->n_never, sizeof(*params->never), &ok);
    seq->top_ids = mem_calloc(MEM_SCRATCH, seq->params.n_top, sizeof(*seq->top_ids));
    seq->top_logprobs = mem_calloc(MEM_SCRATCH, seq->params.n_top, sizeof(*seq->top_logprobs));
    return ok && seq->top_ids && seq->top_logprobs;
}

static bool fill_seq(const struct model *model, struct seq *seq, const struct seq_request *request)
{
    bool ok = true;

    seq->id = request->id;
    seq->n_known = request->n_tokens;
    seq->n_prompt = request->n_prompt;
    seq->n_slid = request->n_slid;
    seq->n_trim = UINT32_MAX;
    seq->state = STATE_NONE;
    seq->watch = request->watch;
    seq->watcher = request->watcher;
    seq->watch_from = request->watch_from;
    list_init(&seq->link);
    seq->tokens = mem_calloc(MEM_SCRATCH, model->n_context, sizeof(*seq->tokens));
    if (request->hidden) {
        seq->pooling = pooling_create(model->params.pooling, model->params.n_embd);
        ok = ok && seq->pooling;
    }
    if (!ok || !seq->tokens || !copy_sampler(model, request->params, seq) ||
        kv_pages_create(&seq->pages, model->n_context)) {
        return false;
    }
    memcpy(seq->tokens, request->tokens, request->n_tokens * sizeof(*seq->tokens));
    return true;
}

/* Checks everything that needs no memory. */
static int check_request(const struct model *model, const struct seq_request *request, struct seq_room *room)
{
    uint64_t n_tokens = (uint64_t)request->n_tokens + request->n_reserve;

    room->n_free = kv_n_left(&model->kv, 0);
    room->n_needed = (uint32_t)num_min(num_div_up(n_tokens, KV_PAGE_TOK), UINT32_MAX);
    if (request->n_tokens == 0 || request->n_prompt == 0 ||
        request->n_prompt > (uint64_t)request->n_tokens + request->n_slid) {
        return SEQ_BAD_TOKEN;
    }
    for (uint32_t i = 0; i < request->n_tokens; i++) {
        if (request->tokens[i] >= model->params.n_tokens) {
            return SEQ_BAD_TOKEN;
        }
    }
    if (request->hidden &&
        (model->params.pooling == POOLING_NONE || request->n_salt > 0 || request->n_pins > 0 || request->watch)) {
        return SEQ_UNSUPPORTED;
    }
    if ((request->n_tokens >= model->n_context && !request->hidden) || n_tokens > model->n_context ||
        room->n_needed > model->kv.n_pages) {
        return SEQ_NEVER_FITS;
    }
    return SEQ_OK;
}

/* Reports what the sequence has found and how many pages are left. */
static void fill_room(const struct model *model, const struct seq *seq, struct seq_room *room)
{
    room->n_cached = seq->n_done;
    room->n_pinned = seq->n_pinned;
    room->n_free = kv_n_left(&model->kv, 0);
}

int seq_open(struct model *model, const struct seq_request *request, struct seq_room *ret_room)
{
    struct seq_room room = { .n_cached = 0 };
    struct seq *seq;
    int r;

    r = check_request(model, request, &room);
    *ret_room = room;
    if (r || model->seqs.n >= model->n_sequences) {
        return r ? r : SEQ_TOO_MANY;
    }
    seq = mem_calloc(MEM_SCRATCH, 1, sizeof(*seq));
    if (!seq) {
        return err_new(-ENOMEM);
    }
    if (!fill_seq(model, seq, request)) {
        seq_destroy(model, seq);
        return err_new(-ENOMEM);
    }
    r = prefix_begin(model, seq, request, request->n_tokens + request->n_reserve);
    if (r) {
        seq_destroy(model, seq);
        return r < 0 ? err_up(r) : SEQ_NO_PAGES;
    }
    seq->state = states_take(&model->states);
    r = map_put(&model->seqs, request->id, (union map_value){ .pointer = seq });
    if (r) {
        seq_destroy(model, seq);
        return err_new(r == MAP_EXISTS ? -EEXIST : r);
    }
    fill_room(model, seq, ret_room);
    return SEQ_OK;
}

/* Returns the rows of @seq that stay computed for the tokens of @request; their last row is always computed. */
static uint32_t count_kept(const struct model *model, const struct seq *seq, const struct seq_request *request)
{
    uint32_t n_most = (uint32_t)num_min(seq->n_done, request->n_tokens - 1);
    uint32_t n = 0;

    while (n < n_most && seq->tokens[n] == request->tokens[n]) {
        n++;
    }
    return model->states.mem && n < seq->n_done ? 0 : n;
}

/* Replaces tokens and sampler. All refusals have been ruled out. */
static int renew(struct model *model, struct seq *seq, const struct seq_request *request, struct seq *sampler)
{
    uint32_t n_kept = count_kept(model, seq, request);

    drop_sampler(seq);
    seq->params = sampler->params;
    seq->top_ids = sampler->top_ids;
    seq->top_logprobs = sampler->top_logprobs;
    memcpy(seq->tokens, request->tokens, request->n_tokens * sizeof(*seq->tokens));
    seq->n_known = request->n_tokens;
    seq->n_prompt = request->n_prompt;
    seq->is_stopped = false;
    return err_up(prefix_renew(model, seq, n_kept, request->n_tokens + request->n_reserve));
}

int seq_extend(struct model *model, const struct seq_request *request, struct seq_room *ret_room)
{
    struct seq_room room = { .n_cached = 0 };
    struct seq sampler = { .id = request->id };
    struct seq *seq = seq_find(model, request->id);
    int r;

    if (!seq || seq->is_in_step) {
        return err_new(seq ? -EBUSY : -ENOENT);
    }
    r = seq->pooling || seq->n_slid > 0 ? SEQ_UNSUPPORTED : check_request(model, request, &room);
    *ret_room = room;
    if (r) {
        return r;
    }
    if (!prefix_may_renew(model, seq, count_kept(model, seq, request), request->n_tokens + request->n_reserve)) {
        return SEQ_NO_PAGES;
    }
    if (!copy_sampler(model, request->params, &sampler)) {
        drop_sampler(&sampler);
        return err_new(-ENOMEM);
    }
    r = renew(model, seq, request, &sampler);
    if (r) {
        return err_up(r);
    }
    fill_room(model, seq, ret_room);
    return SEQ_OK;
}

void seq_stop(struct model *model, uint32_t id)
{
    struct seq *seq = seq_find(model, id);

    if (seq) {
        seq->is_stopped = true;
    }
}

void seq_go_back(struct model *model, struct seq *seq, uint32_t n_done)
{
    if (n_done < seq->n_done) {
        seq->n_done = model->states.mem ? 0 : n_done;
    }
}

static void trim(struct model *model, struct seq *seq, uint32_t n_tokens)
{
    if (n_tokens == 0 || n_tokens >= seq->n_known || seq->pooling) {
        return; /* nothing changes, or the rows are pooled, which cannot be undone */
    }
    seq->n_known = n_tokens;
    seq->n_prompt = (uint32_t)num_min(seq->n_prompt, (uint64_t)n_tokens + seq->n_slid);
    /* The last row is computed again, for its logits; a row's bits are always the same. */
    seq_go_back(model, seq, n_tokens - 1);
}

void seq_trim(struct model *model, uint32_t id, uint32_t n_tokens)
{
    struct seq *seq = seq_find(model, id);

    if (!seq) {
        return;
    }
    if (seq->is_in_step) {
        seq->n_trim = (uint32_t)num_min(seq->n_trim, n_tokens);
        return;
    }
    trim(model, seq, n_tokens);
}

/* Releases the pages now; the arrays that a report may point to are freed by the next step. */
static void retire(struct model *model, struct seq *seq, bool keep)
{
    map_remove(&model->seqs, seq->id);
    prefix_end(model, seq, keep);
    states_give(&model->states, &seq->state);
    list_append(&model->closed, &seq->link);
}

void seq_close(struct model *model, uint32_t id, bool keep)
{
    struct seq *seq = seq_find(model, id);

    if (!seq) {
        return;
    }
    if (seq->is_in_step) {
        seq->is_stopped = true;
        seq->is_closed = true;
        seq->keeps = keep;
        return;
    }
    retire(model, seq, keep);
}

void seq_leave_step(struct model *model, struct seq *seq)
{
    seq->is_in_step = false;
    if (seq->n_trim != UINT32_MAX) {
        trim(model, seq, seq->n_trim);
        seq->n_trim = UINT32_MAX;
    }
    if (seq->is_closed) {
        retire(model, seq, seq->keeps);
    }
}

void seq_free_closed(struct model *model)
{
    struct list *link;

    while ((link = list_first(&model->closed))) {
        list_remove(link);
        seq_destroy(model, container_of(link, struct seq, link));
    }
}

void seq_close_all(struct model *model)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_next(&model->seqs, &at))) {
        seq_destroy(model, entry->value.pointer);
        map_remove(&model->seqs, entry->n_key);
    }
    seq_free_closed(model);
}
