#include "loop/text_job.h"
#include "base/clean.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/num.h"
#include "base/utf8.h"
#include "proto/limit.h"
#include <errno.h>

/* The head of a file with the largest vocabularies known has some 20 MB; no file makes us hold more. */
#define HEAD_MAX (256u << 20)

/* Tokens of one text at most: the longest context there is. More is refused by the context anyway. */
#define IDS_MAX (1u << 21)

/* Bytes of the text of tokens at most: as many as one answer may have. */
#define SPELT_MAX LIMIT_FRAME

/* Ids that are spelled between two looks at the steps. An id is a step, and so are so many bytes of text. */
#define SPELL_IDS   512u
#define SPELL_BYTES 16u

/* Bytes of a text that its tokenizer holds little memory for. */
#define LIGHT_BYTES (16u << 10)

/* ---- the work, in a thread */

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

/* Renders the messages, unless that takes long and the job has not been granted a long piece. */
static int render(struct text_job *job)
{
    int r;

    if (job->input.now.tm_year == 0) { /* all tries see the same time */
        const time_t now = (time_t)(clock_real_us() / 1000000u);

        localtime_r(&now, &job->input.now);
    }
    r = chat_render(job->chat, &job->input, !job->is_long, &job->cancel, &job->rendered, &job->diag);
    job->n_steps += job->rendered.n_steps;
    switch (r) {
    case CHAT_OK:
        job->is_rendered = true;
        job->is_long = false;
        return TOKENIZE_OK;
    case CHAT_LONG:
        job->is_long = true;
        return TOKENIZE_MORE;
    case CHAT_REFUSED: /* the request's fault, as a bad text is */
        return TOKENIZE_BAD_TEXT;
    case CHAT_CANCELLED: /* it is dropped: nothing looks at the outcome */
    case CHAT_TOO_MANY:
        return TOKENIZE_TOO_MANY;
    default: /* a fault */
        return r;
    }
}

static int tokenize(struct text_job *job)
{
    struct tokenizer_text text = { .bytes = job->text, .n = job->n_text, .flags = job->flags };
    uint64_t left = TEXT_PIECE_STEPS;
    int r = 0;

    if (job->kind == TEXT_CHAT) {
        text = (struct tokenizer_text){ .bytes = job->rendered.bytes,
                                        .marks = job->rendered.marks,
                                        .n = job->rendered.n,
                                        .flags = TOKENIZE_SPECIAL | TOKENIZE_BOS };
    }
    if (!job->tokenizer) {
        r = tokenizer_create(&job->tokenizer, job->vocab, &text);
    }
    r = r ? r : tokenizer_run(job->tokenizer, &left, &job->ids, &job->diag);
    job->n_steps += TEXT_PIECE_STEPS - left;
    if (r == TOKENIZE_OK && job->kind == TEXT_CHAT) {
        chat_keep_one_bos(job->chat, &job->ids);
    }
    return err_pass(r);
}

static int render_and_tokenize(struct text_job *job)
{
    int r;

    if (job->is_rendered) {
        r = tokenize(job);
        return err_pass(r);
    }
    r = render(job);
    if (!r && job->rendered.n > LIGHT_BYTES) {
        return TOKENIZE_MORE;
    }
    r = r ? r : tokenize(job);
    return err_pass(r);
}

/* Completes the text of tokens to whole characters, off the loop: tokens may begin or end inside one. One that is begun
 * at the end waits for more ids, unless there are none. */
static int mend(struct text_job *job)
{
    const uint8_t *spelt = buf_data(&job->spelt);
    size_t n = job->at.i < job->ids.n ? utf8_whole(spelt, job->spelt.n) : job->spelt.n;
    uint8_t *room;
    int r;

    if (n == 0) {
        return 0;
    }
    r = buf_reserve(&job->mended, 3 * n, &room);
    if (r) {
        return err_up(r);
    }
    buf_grew(&job->mended, utf8_mend(spelt, n, room, 3 * n));
    buf_eat(&job->spelt, n);
    return 0;
}

static int spell(struct text_job *job)
{
    size_t before = job->spelt.n;
    int r = TOKENIZE_OK;

    while (!r && job->at.i < job->ids.n && job->n_steps < TEXT_PIECE_STEPS) {
        size_t from = job->at.i;

        r = vocab_detokenize_some(job->vocab, job->ids.ids, num_min(from + SPELL_IDS, job->ids.n), job->special,
                                  &job->at, &job->spelt, &job->diag);
        job->n_steps += job->at.i - from + (job->spelt.n - before) / SPELL_BYTES;
        job->n_spelt += job->spelt.n - before;
        before = job->spelt.n;
    }
    if (r == TOKENIZE_TOO_MANY || job->n_spelt > SPELT_MAX) {
        diag_set(&job->diag, "the text of these ids has more bytes than an answer may have, %u: ask for fewer at once",
                 SPELT_MAX);
        return TOKENIZE_TOO_MANY;
    }
    r = r ? r : mend(job);
    return r == 0 && job->at.i < job->ids.n ? TOKENIZE_MORE : err_pass(r);
}

void text_job_run(struct text_job *job)
{
    job->n_steps = 0;
    switch (job->kind) {
    case TEXT_PLAIN:
        job->outcome = tokenize(job);
        break;
    case TEXT_CHAT:
        job->outcome = render_and_tokenize(job);
        break;
    case TEXT_DETOKENIZE:
        job->outcome = spell(job);
        break;
    case TEXT_VOCABULARY:
        read_head(job);
        break;
    }
}

uint64_t text_job_weight(const struct text_job *job)
{
    uint64_t n = job->n_text;

    if (job->kind == TEXT_CHAT && !job->is_rendered) {
        return job->is_long ? LIMIT_TEXT : 0;
    }
    if (job->kind == TEXT_CHAT) {
        n = 2 * job->rendered.n; /* with its marks */
    } else if (job->kind == TEXT_DETOKENIZE) {
        n = job->ids.n * sizeof(*job->ids.ids);
    }
    return n > LIGHT_BYTES ? n : 0;
}

/* ---- jobs */

static void hold(struct text_job *job, uint64_t n)
{
    job->n_held += n;
    if (job->account) {
        account_hold(job->account, (int64_t)n);
    }
}

void text_job_destroy(struct text_job *job)
{
    if (job->account) {
        account_hold(job->account, -(int64_t)job->n_held);
    }
    mem_free(job->text);
    mem_free(job->messages);
    mem_free(job->tools);
    tokenizer_destroy(job->tokenizer);
    chat_text_finish(&job->rendered);
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
        text_job_destroy(*job);
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
    job->priority = PRIORITY_BACKGROUND;
    job->is_long = kind == TEXT_VOCABULARY;
    job->fd = -1;
    job->ids.max = IDS_MAX;
    atomic_init(&job->cancel, false);
    buf_init(&job->spelt, MEM_TEXT, SPELT_MAX);
    buf_init(&job->mended, MEM_TEXT, 3 * SPELT_MAX);
    hold(job, sizeof(*job));
    return job;
}

int text_job_tokenize(struct text_job **ret_job, struct account *account, const void *text, size_t n)
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

int text_job_chat(struct text_job **ret_job, struct account *account, const Sotto__V1__Chat *chat)
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

int text_job_detokenize(struct text_job **ret_job, struct account *account, const uint32_t *ids, size_t n)
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

int text_job_vocabulary(struct text_job **ret_job, int fd)
{
    struct text_job *job = create(NULL, TEXT_VOCABULARY);

    if (!job) {
        return err_new(-ENOMEM);
    }
    job->fd = fd;
    *ret_job = job;
    return 0;
}
