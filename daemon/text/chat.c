#include "text/chat.h"
#include "base/buf.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/utf8.h"
#include "jinja/jinja.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct chat {
    const struct vocab *vocab; /* or NULL */
    struct jinja *jinja;       /* owned */
};

static int compile(struct chat **ret_chat, const struct vocab *vocab, struct gguf_text source, struct diag *diag)
{
    cleanup(chat_destroyp) struct chat *chat = mem_calloc(MEM_TEXT, 1, sizeof(*chat));
    int r;

    if (!chat) {
        return err_new(-ENOMEM);
    }
    chat->vocab = vocab;
    r = jinja_compile(&chat->jinja, source.bytes, source.n, diag);
    if (r) {
        return r < 0 ? err_up(r) : CHAT_REFUSED;
    }
    *ret_chat = steal(&chat);
    return CHAT_OK;
}

int chat_create(struct chat **ret_chat, const struct vocab *vocab, struct diag *diag)
{
    const struct gguf_text source = vocab_chat_template(vocab);
    int r;

    if (source.n == 0) {
        diag_set(diag, "the model has no chat template");
        return CHAT_REFUSED;
    }
    r = compile(ret_chat, vocab, source, diag);
    if (r == CHAT_REFUSED) {
        diag_prefix(diag, "the model's chat template");
    }
    return err_pass(r);
}

int chat_create_alone(struct chat **ret_chat, struct gguf_text source, struct diag *diag)
{
    return compile(ret_chat, NULL, source, diag);
}

void chat_destroy(struct chat *chat)
{
    if (!chat) {
        return;
    }
    jinja_destroy(chat->jinja);
    mem_free(chat);
}

void chat_destroyp(struct chat **chat)
{
    chat_destroy(*chat);
    *chat = NULL;
}

/* ---- variables */

static int set_token(struct jinja_run *run, const struct vocab *vocab, const char *name, uint32_t id)
{
    struct gguf_text text;

    if (id == VOCAB_NO_ID) {
        return JINJA_OK;
    }
    text = vocab_text(vocab, id);
    return jinja_set_text(run, name, text.bytes, text.n, JINJA_SCAFFOLD);
}

/* Sets the variables that the transformers library gives to every template. */
static int set_common(struct jinja_run *run, const struct chat *chat, bool generation_prompt)
{
    int r = jinja_set_none(run, "tools");

    r = r ? r : jinja_set_none(run, "documents");
    r = r ? r : jinja_set_bool(run, "add_generation_prompt", generation_prompt);
    if (r || !chat->vocab) {
        return r;
    }
    r = set_token(run, chat->vocab, "bos_token", vocab_bos(chat->vocab));
    return r ? r : set_token(run, chat->vocab, "eos_token", vocab_eos(chat->vocab));
}

/* Prefixes the sentence of a failed @r with "@what[@i]". */
static int at_index(int r, struct diag *diag, const char *what, size_t i)
{
    char place[32];

    if (r > 0) {
        snprintf(place, sizeof(place), "%s[%zu]", what, i);
        diag_prefix(diag, place);
    }
    return r;
}

static int add_text(struct jinja_run *run, struct jinja_dict *message, const char *name, struct gguf_text text,
                    struct diag *diag)
{
    size_t bad_at;

    if (!utf8_is_valid(text.bytes, text.n, &bad_at)) {
        diag_set(diag, "ValueError: the %s is not valid UTF-8: byte %zu (0x%02x) is not allowed there", name, bad_at,
                 (uint8_t)text.bytes[bad_at]);
        return JINJA_FAILED;
    }
    return jinja_dict_set_text(run, message, name, text.bytes, text.n, JINJA_FOREIGN);
}

/* Adds a message; "content" in its fields takes the place of the plain one. */
static int add_message(struct jinja_run *run, struct jinja_list *list, const struct chat_message *from,
                       struct diag *diag)
{
    struct jinja_dict *message;
    int r = jinja_list_add_dict(run, list, &message);

    r = r ? r : add_text(run, message, "role", from->role, diag);
    r = r ? r : add_text(run, message, "content", from->content, diag);
    if (!r && from->fields.n > 0) {
        r = jinja_dict_set_json(run, message, from->fields.bytes, from->fields.n, JINJA_FOREIGN);
    }
    return r;
}

static int set_messages(struct jinja_run *run, const struct chat_input *input, struct diag *diag)
{
    struct jinja_list *list;
    int r = jinja_set_list(run, "messages", &list);

    for (size_t i = 0; !r && i < input->n_messages; i++) {
        r = at_index(add_message(run, list, &input->messages[i], diag), diag, "messages", i);
    }
    return r;
}

static int set_tools(struct jinja_run *run, const struct chat_input *input, struct diag *diag)
{
    struct jinja_list *list;
    int r;

    if (input->n_tools == 0) {
        return JINJA_OK;
    }
    r = jinja_set_list(run, "tools", &list);
    for (size_t i = 0; !r && i < input->n_tools; i++) {
        r = jinja_list_add_json(run, list, input->tools[i].bytes, input->tools[i].n, JINJA_FOREIGN);
        r = at_index(r, diag, "tools", i);
    }
    return r;
}

/* Sets the request's own variables first, so that none of them can take the place of messages or tools. */
static int set_input(struct jinja_run *run, const struct chat *chat, const struct chat_input *input, struct diag *diag)
{
    int r = set_common(run, chat, input->generation_prompt);

    if (!r && input->variables.n > 0) {
        r = jinja_set_json(run, input->variables.bytes, input->variables.n, JINJA_FOREIGN);
        if (r > 0) {
            diag_prefix(diag, "variables");
        }
        r = r ? r : jinja_set_bool(run, "add_generation_prompt", input->generation_prompt);
        if (!r && input->n_tools == 0) {
            r = jinja_set_none(run, "tools");
        }
    }
    r = r ? r : set_messages(run, input, diag);
    return r ? r : set_tools(run, input, diag);
}

/* ---- rendering */

/* Returns the outcome of this module for one of the interpreter. */
static int outcome(int r)
{
    if (r < 0) {
        return err_up(r);
    }
    return r == JINJA_OK ? CHAT_OK : r == JINJA_CANCELLED ? CHAT_CANCELLED : CHAT_REFUSED;
}

static int render(const struct chat *chat, const struct chat_input *input, struct jinja_run *run, struct diag *diag)
{
    int r = set_input(run, chat, input, diag);

    if (r) {
        return r;
    }
    r = jinja_render(run);
    if (r == JINJA_FAILED) {
        char place[64];

        snprintf(place, sizeof(place), "the chat template, line %u", jinja_run_line(run));
        diag_prefix(diag, place);
    }
    return r;
}

int chat_render(const struct chat *chat, const struct chat_input *input, bool is_quick, const atomic_bool *cancel,
                struct chat_text *ret_text, struct diag *diag)
{
    static const struct jinja_limits limits[] = {
        JINJA_LIMITS,
        { .steps = CHAT_QUICK_STEPS, .memory_bytes = CHAT_QUICK_MEMORY, .output_bytes = CHAT_QUICK_OUTPUT },
    };
    cleanup(jinja_run_destroyp) struct jinja_run *run = NULL;
    struct jinja_out out;
    int r = jinja_run_create(&run, chat->jinja, &limits[is_quick], &input->now, cancel, diag);

    r = r ? r : render(chat, input, run, diag);
    *ret_text = (struct chat_text){ .n_steps = run ? jinja_run_steps(run) : 0 };
    if (r == JINJA_FAILED && is_quick && run && jinja_run_is_over(run)) {
        diag_clear(diag);
        return CHAT_LONG;
    }
    if (r) {
        return outcome(r);
    }
    jinja_run_take_out(run, &out);
    ret_text->bytes = out.bytes;
    ret_text->marks = out.marks;
    ret_text->n = out.n;
    return CHAT_OK;
}

void chat_text_finish(struct chat_text *text)
{
    mem_free(text->bytes);
    mem_free(text->marks);
    *text = (struct chat_text){ .n = 0 };
}

void chat_keep_one_bos(const struct chat *chat, struct ids *ids)
{
    const uint32_t bos = vocab_bos(chat->vocab);

    while (bos != VOCAB_NO_ID && ids->n > 1 && ids->ids[0] == bos && ids->ids[1] == bos) {
        ids->n--;
        memmove(ids->ids, ids->ids + 1, ids->n * sizeof(*ids->ids));
    }
}

static int copy_out(const struct jinja_run *run, struct buf *out)
{
    const struct jinja_out *text = jinja_run_out(run);
    int r = buf_append(out, text->n > 0 ? text->bytes : (const uint8_t *)"", text->n);

    return r < 0 ? err_up(r) : r == BUF_FULL ? CHAT_TOO_MANY : CHAT_OK;
}

int chat_render_json(const struct chat *chat, struct gguf_text variables, const struct tm *now, struct buf *out,
                     struct diag *diag)
{
    const struct jinja_limits limits = JINJA_LIMITS;
    cleanup(jinja_run_destroyp) struct jinja_run *run = NULL;
    int r = jinja_run_create(&run, chat->jinja, &limits, now, NULL, diag);

    r = r ? r : set_common(run, chat, false);
    r = r ? r : jinja_set_json(run, variables.bytes, variables.n, JINJA_FOREIGN);
    r = r ? r : jinja_set_members(run, "extra");
    r = r ? r : jinja_render(run);
    return r ? outcome(r) : copy_out(run, out);
}
