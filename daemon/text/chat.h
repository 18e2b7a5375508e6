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
#include <time.h>

struct chat; /* read-only once created: any thread */
struct buf;

enum chat_outcome {
    CHAT_OK,
    CHAT_REFUSED,  /* no template, one that cannot be run, or one that refuses these messages: @diag */
    CHAT_TOO_MANY, /* more ids than ids->max */
    CHAT_CANCELLED,
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

/* Appends the ids, with exactly one BOS first where the vocabulary asks for one or the template writes it. Any outcome,
 * or -ENOMEM. */
int chat_tokenize(const struct chat *chat, const struct chat_input *input, const atomic_bool *cancel, struct ids *ids,
                  struct diag *diag);

/* Renders a template with all variables in one JSON object: messages, tools, add_generation_prompt and any others.
 * Members of an object "extra" are variables as well. CHAT_REFUSED with the template's own sentence in @diag,
 * CHAT_TOO_MANY: @out is full; or -ENOMEM. */
int chat_render_json(const struct chat *chat, struct gguf_text variables, const struct tm *now, struct buf *out,
                     struct diag *diag);

#endif
