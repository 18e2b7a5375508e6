#include "loop/text_pool.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "proto/limit.h"
#include <errno.h>

/* The head of a file with the largest vocabularies known has some 20 MB; no file makes us hold more. */
#define HEAD_MAX (256u << 20)

/* Tokens of one text at most: the longest context there is. More is refused by the context anyway. */
#define IDS_MAX (1u << 21)

/* Bytes of the text of tokens at most: as many as one answer may have. */
#define SPELT_MAX LIMIT_FRAME

void text_pool_init(struct text_pool *pool, uv_loop_t *loop, uint32_t n_threads)
{
    *pool = (struct text_pool){ .loop = loop, .n_threads = n_threads };
    list_init(&pool->waiting);
    list_init(&pool->running);
}

static uint32_t count(const struct list *jobs, const struct account *account)
{
    struct list *link;
    uint32_t n = 0;

    list_for_each (link, jobs) {
        n += container_of(link, struct text_job, link)->account == account;
    }
    return n;
}

uint32_t text_pool_jobs_of(const struct text_pool *pool, const struct account *account)
{
    return count(&pool->waiting, account) + count(&pool->running, account);
}

/* ---- the work, in the pool */

static void read_head(struct text_job *job)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    int r;

    r = gguf_read_head(&gguf, job->fd, HEAD_MAX, &job->diag);
    if (r == GGUF_OK) {
        r = vocab_create(&job->head_vocab, gguf, &job->diag);
    }
    if (r == 0) {
        r = chat_create(&job->head_chat, job->head_vocab, &job->chat_diag);
        r = r == CHAT_REFUSED ? 0 : r;
    }
    job->outcome = r > 0 ? 1 : r;
}

/* A text that the template refuses is the request's fault, as a bad text is. */
static int chat(struct text_job *job)
{
    const time_t now = (time_t)(clock_real_us() / 1000000u);
    int r;

    localtime_r(&now, &job->input.now);
    r = chat_tokenize(job->chat, &job->input, &job->cancel, &job->ids, &job->diag);
    switch (r) {
    case CHAT_REFUSED:
        return TOKENIZE_BAD_TEXT;
    case CHAT_TOO_MANY:
        return TOKENIZE_TOO_MANY;
    case CHAT_CANCELLED:
        return TOKENIZE_CANCELLED;
    default: /* done, or a fault */
        return r;
    }
}

/* Completes the text of tokens to whole characters, off the loop: tokens may begin or end inside one. */
static int spell(struct text_job *job)
{
    size_t cap;
    uint8_t *room;
    int r;

    r = vocab_detokenize(job->vocab, job->ids.ids, job->ids.n, job->special, &job->spelt, &job->diag);
    if (r == TOKENIZE_TOO_MANY) {
        diag_set(&job->diag, "the text of these ids has more bytes than an answer may have, %u: ask for fewer at once",
                 SPELT_MAX);
    }
    if (r || job->spelt.n == 0) {
        return r;
    }
    cap = 3 * job->spelt.n;
    r = buf_reserve(&job->mended, cap, &room);
    if (r) {
        return err_up(r);
    }
    buf_grew(&job->mended, utf8_mend(buf_data(&job->spelt), job->spelt.n, room, cap));
    return TOKENIZE_OK;
}

static void run(uv_work_t *work)
{
    struct text_job *job = container_of(work, struct text_job, work);

    switch (job->kind) {
    case TEXT_PLAIN:
        job->outcome =
            vocab_tokenize(job->vocab, job->text, job->n_text, job->flags, &job->cancel, &job->ids, &job->diag);
        break;
    case TEXT_CHAT:
        job->outcome = chat(job);
        break;
    case TEXT_DETOKENIZE:
        job->outcome = spell(job);
        break;
    case TEXT_VOCABULARY:
        read_head(job);
        break;
    }
}

/* ---- jobs */

static void hold(struct text_job *job, uint64_t n)
{
    job->n_held += n;
    if (job->account) {
        account_hold(job->account, (int64_t)n);
    }
}

static void destroy(struct text_job *job)
{
    if (job->account) {
        account_hold(job->account, -(int64_t)job->n_held);
    }
    mem_free(job->text);
    mem_free(job->messages);
    mem_free(job->tools);
    ids_finish(&job->ids);
    buf_finish(&job->spelt);
    buf_finish(&job->mended);
    chat_destroy(job->head_chat);
    vocab_destroy(job->head_vocab);
    if (job->release) {
        job->release(job->keeper);
    }
    mem_free(job);
}

static void destroyp(struct text_job **job)
{
    if (*job) {
        destroy(*job);
    }
}

static struct text_job *create(struct account *account, enum text_kind kind)
{
    struct text_job *job = mem_calloc(MEM_TEXT, 1, sizeof(*job));

    if (!job) {
        return NULL;
    }
    list_init(&job->link);
    job->kind = kind;
    job->account = account;
    job->fd = -1;
    job->ids.max = IDS_MAX;
    atomic_init(&job->cancel, false);
    buf_init(&job->spelt, MEM_TEXT, SPELT_MAX);
    buf_init(&job->mended, MEM_TEXT, 3 * SPELT_MAX);
    hold(job, sizeof(*job));
    return job;
}

int text_pool_tokenize(struct text_job **ret_job, struct account *account, const void *text, size_t n)
{
    cleanup(destroyp) struct text_job *job = create(account, TEXT_PLAIN);

    if (!job) {
        return err_new(-ENOMEM);
    }
    job->text = (uint8_t *)mem_strndup(MEM_TEXT, text ? text : "", n);
    if (!job->text) {
        return err_new(-ENOMEM);
    }
    job->n_text = n;
    hold(job, n);
    *ret_job = steal(&job);
    return 0;
}

/* Copies @n bytes to @at in the job's text and returns where they lie. */
static struct gguf_text keep(struct text_job *job, size_t *at, const void *bytes, size_t n)
{
    struct gguf_text text = { .bytes = (const char *)job->text + *at, .n = n };

    if (n > 0) {
        memcpy(job->text + *at, bytes, n);
    }
    *at += n;
    return text;
}

/* Returns the bytes of all texts of @chat. They came in one frame, so the sum does not wrap. */
static size_t chat_text_bytes(const Sotto__V1__Chat *chat)
{
    size_t n = chat->variables.len;

    for (size_t i = 0; i < chat->n_messages; i++) {
        const Sotto__V1__ChatMessage *message = chat->messages[i];

        n += strlen(message->role) + message->content.len + message->fields.len;
    }
    for (size_t i = 0; i < chat->n_tools; i++) {
        n += chat->tools[i].len;
    }
    return n;
}

static void keep_chat(struct text_job *job, const Sotto__V1__Chat *chat)
{
    size_t at = 0;

    for (size_t i = 0; i < chat->n_messages; i++) {
        const Sotto__V1__ChatMessage *message = chat->messages[i];

        job->messages[i].role = keep(job, &at, message->role, strlen(message->role));
        job->messages[i].content = keep(job, &at, message->content.data, message->content.len);
        job->messages[i].fields = keep(job, &at, message->fields.data, message->fields.len);
    }
    for (size_t i = 0; i < chat->n_tools; i++) {
        job->tools[i] = keep(job, &at, chat->tools[i].data, chat->tools[i].len);
    }
    job->input = (struct chat_input){
        .messages = job->messages,
        .n_messages = chat->n_messages,
        .tools = job->tools,
        .n_tools = chat->n_tools,
        .variables = keep(job, &at, chat->variables.data, chat->variables.len),
        .generation_prompt = !chat->no_generation_prompt,
    };
}

int text_pool_chat(struct text_job **ret_job, struct account *account, const Sotto__V1__Chat *chat)
{
    cleanup(destroyp) struct text_job *job = create(account, TEXT_CHAT);

    if (!job) {
        return err_new(-ENOMEM);
    }
    job->n_text = chat_text_bytes(chat);
    job->text = mem_alloc(MEM_TEXT, job->n_text);
    job->messages = mem_calloc(MEM_TEXT, chat->n_messages + 1, sizeof(*job->messages));
    job->tools = mem_calloc(MEM_TEXT, chat->n_tools + 1, sizeof(*job->tools));
    if (!job->text || !job->messages || !job->tools) {
        return err_new(-ENOMEM);
    }
    keep_chat(job, chat);
    hold(job,
         job->n_text + (chat->n_messages + 1) * sizeof(*job->messages) + (chat->n_tools + 1) * sizeof(*job->tools));
    *ret_job = steal(&job);
    return 0;
}

int text_pool_detokenize(struct text_job **ret_job, struct account *account, const uint32_t *ids, size_t n)
{
    cleanup(destroyp) struct text_job *job = create(account, TEXT_DETOKENIZE);

    if (!job) {
        return err_new(-ENOMEM);
    }
    job->ids.ids = mem_alloc(MEM_TEXT, n * sizeof(*ids));
    if (!job->ids.ids) {
        return err_new(-ENOMEM);
    }
    if (n > 0) {
        memcpy(job->ids.ids, ids, n * sizeof(*ids));
    }
    job->ids.n = n;
    job->ids.cap = n;
    hold(job, n * sizeof(*ids));
    *ret_job = steal(&job);
    return 0;
}

int text_pool_vocabulary(struct text_job **ret_job, int fd)
{
    struct text_job *job = create(NULL, TEXT_VOCABULARY);

    if (!job) {
        return err_new(-ENOMEM);
    }
    job->fd = fd;
    *ret_job = job;
    return 0;
}

/* ---- the pool's door */

static void dispatch(struct text_pool *pool);

static void on_back(uv_work_t *work, int status)
{
    struct text_job *job = container_of(work, struct text_job, work);
    struct text_pool *pool = job->pool;

    (void)status;
    list_remove(&job->link);
    pool->n_running--;
    pool->n_jobs -= job->kind != TEXT_VOCABULARY;
    job->is_pushed = false;
    if (job->done) {
        job->done(job->owner, job);
    }
    destroy(job);
    dispatch(pool);
}

/* Hands out as many jobs as the pool has threads: a job that waits in libuv's own queue could not be passed by
 * others. */
static void dispatch(struct text_pool *pool)
{
    uint32_t half = pool->n_threads > 1 ? pool->n_threads / 2 : 1;
    struct list *link;
    struct list *after;

    list_for_each_safe (link, after, &pool->waiting) {
        struct text_job *job = container_of(link, struct text_job, link);

        if (pool->n_running >= pool->n_threads) {
            return;
        }
        if (job->account && count(&pool->running, job->account) >= half) {
            continue;
        }
        list_remove(&job->link);
        list_append(&pool->running, &job->link);
        pool->n_running++;
        job->is_running = true;
        uv_queue_work(pool->loop, &job->work, run, on_back);
    }
}

void text_pool_push(struct text_pool *pool, struct text_job *job, text_done_fn done, void *owner)
{
    job->pool = pool;
    job->done = done;
    job->owner = owner;
    job->is_pushed = true;
    pool->n_jobs += job->kind != TEXT_VOCABULARY;
    list_append(&pool->waiting, &job->link);
    dispatch(pool);
}

void text_pool_drop(struct text_job *job)
{
    if (!job) {
        return;
    }
    if (job->is_running) {
        atomic_store(&job->cancel, true);
        job->done = NULL;
        return;
    }
    if (job->is_pushed) {
        job->pool->n_jobs -= job->kind != TEXT_VOCABULARY;
        list_remove(&job->link);
    }
    destroy(job);
}

bool text_pool_is_idle(const struct text_pool *pool)
{
    return list_is_empty(&pool->waiting) && list_is_empty(&pool->running);
}
