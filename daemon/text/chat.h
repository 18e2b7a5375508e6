/*
 * Chat: messages become token ids through the model's own template
 *
 * A template is compiled once for a model and rendered once for a request. Text that the template wrote itself may
 * become control tokens; text from messages, tools and variables never does, whatever it spells and however the
 * template cut and joined it. Without such forgeries the ids are those of the rendered text.
 */
#ifndef SOTTO_TEXT_CHAT_H
#define SOTTO_TEXT_CHAT_H

#include "token/token.h"
#include <stdatomic.h>
#include <time.h>

struct chat; /* read-only once created: any thread */
struct buf;

enum chat_outcome {
    CHAT_OK,
    CHAT_REFUSED,  /* no template, one that cannot be run, or one that refuses these messages: @diag */
    CHAT_TOO_MANY, /* the output is full */
    CHAT_CANCELLED,
    CHAT_LONG, /* of a quick rendering: it takes longer, or more memory */
};

/* Compiles the template of @vocab, which outlives the chat. CHAT_REFUSED, or -ENOMEM. */
int chat_create(struct chat **ret_chat, const struct vocab *vocab, struct diag *diag);

/* Compiles a template without a vocabulary: it can be rendered but not tokenised, and has no bos_token. */
int chat_create_alone(struct chat **ret_chat, struct gguf_text source, struct diag *diag);
void chat_destroy(struct chat *chat);
void chat_destroyp(struct chat **chat);

struct chat_message {
    struct gguf_text role;
    struct gguf_text content;
    struct gguf_text
        fields; /* JSON object with further fields that the template may read ("name", "tool_calls", "content" in
                                parts or null instead of the above), or n 0 */
};

/* The input of a rendering, owned by the caller. */
struct chat_input {
    const struct chat_message *messages;
    size_t n_messages;
    const struct gguf_text *tools; /* one JSON value each; n_tools 0: the template sees no tools */
    size_t n_tools;
    struct gguf_text variables; /* JSON object with further fields that the template may read, or n 0 */
    bool generation_prompt;     /* the template opens the assistant's turn */
    struct tm now;              /* local time, for templates that write the date */
};

/* A rendered text. Its ids are those of a tokenizer with TOKENIZE_SPECIAL and TOKENIZE_BOS, behind
 * chat_keep_one_bos(). */
struct chat_text {
    uint8_t *bytes; /* owned */
    uint8_t *marks; /* owned; of the bytes, see struct tokenizer_text */
    size_t n;
    uint64_t n_steps; /* that the template took, 50 ns each; also of a failure */
};

void chat_text_finish(struct chat_text *text);

/* Bounds of a quick rendering: a conversation of a hundred messages with a published template, in 3 ms. */
#define CHAT_QUICK_STEPS  60000u
#define CHAT_QUICK_MEMORY (2u << 20)
#define CHAT_QUICK_OUTPUT (128u << 10)

/* Renders @input. It can't stop on its way: @is_quick bounds it to some milliseconds (CHAT_LONG: nothing was rendered),
 * otherwise it takes up to 200 ms and 96 MiB. CHAT_OK, CHAT_REFUSED, CHAT_CANCELLED (*cancel became true; NULL is
 * allowed), or -ENOMEM. */
int chat_render(const struct chat *chat, const struct chat_input *input, bool is_quick, const atomic_bool *cancel,
                struct chat_text *ret_text, struct diag *diag);

/* The template's own BOS may follow the one of the vocabulary at the head of @ids: leaves exactly one. */
void chat_keep_one_bos(const struct chat *chat, struct ids *ids);

/* Renders a template with all variables in one JSON object: messages, tools, add_generation_prompt and any others.
 * Members of an object "extra" are variables as well. CHAT_REFUSED with the template's own sentence in @diag,
 * CHAT_TOO_MANY: @out is full; or -ENOMEM. */
int chat_render_json(const struct chat *chat, struct gguf_text variables, const struct tm *now, struct buf *out,
                     struct diag *diag);

#endif
