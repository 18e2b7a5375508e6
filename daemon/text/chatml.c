/*
 * One walk over the conversation, two writers: one writes ids, the other the text that Jinja would give.
 *
 * A turn is marker, role and content, marker, newline. Role and content are one plain text to the tokenizer, as they
 * are where the whole is tokenised at once; but nothing in them is ever a control token.
 */
#include "text/chatml.h"
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "text/shape.h"
#include <errno.h>
#include <string.h>

#define START "<|im_start|>"
#define END   "<|im_end|>"

struct chatml {
    const struct vocab *vocab;
    uint32_t start; /* ids of the markers */
    uint32_t end;
    char *system; /* owned: the default system message, or NULL */
};

/* Where a conversation goes. */
struct writer {
    int (*marker)(struct writer *writer, uint32_t id, const char *text);
    int (*plain)(struct writer *writer, const void *text, size_t n);
    const struct chatml *chatml;
    const atomic_bool *cancel;
    struct ids *ids;
    struct buf *out;
    struct diag *diag;
};

static int find_marker(const struct vocab *vocab, const char *text, uint32_t *ret_id, struct diag *diag)
{
    const uint32_t id = vocab_find_special(vocab, text, strlen(text));

    /* A user-defined piece would match in anybody's text as well. */
    if (id == VOCAB_NO_ID || vocab_type(vocab, id) != TOKEN_CONTROL) {
        diag_set(diag, "the model's chat template is ChatML, but its vocabulary has no control token %s",
                 text);
        return CHATML_REFUSED;
    }
    *ret_id = id;
    return CHATML_OK;
}

int chatml_create(struct chatml **ret_chatml, const struct vocab *vocab, struct diag *diag)
{
    cleanup(chatml_destroyp) struct chatml *chatml = NULL;
    const struct gguf_text text = vocab_chat_template(vocab);
    int r;

    if (text.n == 0) {
        diag_set(diag, "the model has no chat template");
        return CHATML_REFUSED;
    }
    chatml = mem_calloc(MEM_WORDS, 1, sizeof(*chatml));
    if (!chatml) {
        return err_new(-ENOMEM);
    }
    chatml->vocab = vocab;
    r = shape_read(text, &chatml->system, diag);
    if (r) {
        return r == SHAPE_UNKNOWN ? CHATML_REFUSED : err_up(r);
    }
    if (find_marker(vocab, START, &chatml->start, diag) || find_marker(vocab, END, &chatml->end, diag)) {
        return CHATML_REFUSED;
    }
    *ret_chatml = steal(&chatml);
    return CHATML_OK;
}

void chatml_destroy(struct chatml *chatml)
{
    if (!chatml) {
        return;
    }
    mem_free(chatml->system);
    mem_free(chatml);
}

void chatml_destroyp(struct chatml **chatml)
{
    chatml_destroy(*chatml);
    *chatml = NULL;
}

/* Role, newline and content go to the writer as one text. */
static int write_turn(struct writer *writer, struct gguf_text role, struct gguf_text content)
{
    cleanup(buf_finish) struct buf text;
    int r;

    buf_init(&text, MEM_WORDS, SIZE_MAX);
    r = writer->marker(writer, writer->chatml->start, START);
    if (r) {
        return r;
    }
    if (buf_append(&text, role.bytes, role.n) || buf_append(&text, "\n", 1) ||
        buf_append(&text, content.bytes, content.n)) {
        return err_new(-ENOMEM);
    }
    r = writer->plain(writer, buf_data(&text), text.n);
    if (r) {
        return r;
    }
    r = writer->marker(writer, writer->chatml->end, END);
    return r ? r : writer->plain(writer, "\n", 1);
}

static bool is_system(struct gguf_text role)
{
    return role.n == 6 && memcmp(role.bytes, "system", 6) == 0;
}

static int write_all(struct writer *writer, const struct chat_message *messages, size_t n,
                     bool generation_prompt)
{
    static const struct gguf_text system = { .bytes = "system", .n = 6 };
    const char *default_system = writer->chatml->system;
    int r;

    if (n > 0 && default_system && !is_system(messages[0].role)) {
        r = write_turn(writer, system,
                       (struct gguf_text){ .bytes = default_system, .n = strlen(default_system) });
        if (r) {
            return r;
        }
    }
    for (size_t i = 0; i < n; i++) {
        r = write_turn(writer, messages[i].role, messages[i].content);
        if (r) {
            return r;
        }
    }
    if (!generation_prompt) {
        return 0;
    }
    r = writer->marker(writer, writer->chatml->start, START);
    return r ? r : writer->plain(writer, "assistant\n", 10);
}

static int ids_marker(struct writer *writer, uint32_t id, const char *text)
{
    return ids_push(writer->ids, id);
}

static int ids_plain(struct writer *writer, const void *text, size_t n)
{
    return vocab_tokenize(writer->chatml->vocab, text, n, 0, writer->cancel, writer->ids, writer->diag);
}

int chatml_tokenize(const struct chatml *chatml, const struct chat_message *messages, size_t n,
                    bool generation_prompt, const atomic_bool *cancel, struct ids *ids, struct diag *diag)
{
    struct writer writer = {
        .marker = ids_marker, .plain = ids_plain, .chatml = chatml, .cancel = cancel, .ids = ids, .diag = diag
    };
    int r = TOKENIZE_OK;

    /* The known templates write no BOS, so there is exactly one where the vocabulary asks for it. */
    if (vocab_adds_bos(chatml->vocab)) {
        r = ids_push(ids, vocab_bos(chatml->vocab));
    }
    if (!r) {
        r = write_all(&writer, messages, n, generation_prompt);
    }
    return r < 0 ? err_up(r) : r;
}

static int buf_marker(struct writer *writer, uint32_t id, const char *text)
{
    return buf_append(writer->out, text, strlen(text));
}

static int buf_plain(struct writer *writer, const void *text, size_t n)
{
    return buf_append(writer->out, text, n);
}

int chatml_render(const struct chatml *chatml, const struct chat_message *messages, size_t n,
                  bool generation_prompt, struct buf *out)
{
    struct writer writer = { .marker = buf_marker, .plain = buf_plain, .chatml = chatml, .out = out };
    const int r = write_all(&writer, messages, n, generation_prompt);

    return r < 0 ? err_up(r) : r;
}
