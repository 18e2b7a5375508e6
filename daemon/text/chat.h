/*
 * Chat: messages through the model's own template, to ids
 *
 * The template is compiled once for a model; rendering is a job's. What the template wrote itself may become control
 * tokens; what came from messages, tools and variables never does, whatever it spells and however the template has cut
 * and joined it. Where nobody forges anything, the ids are those of the rendered text.
 */
#ifndef SOTTO_TEXT_CHAT_H
#define SOTTO_TEXT_CHAT_H

#include "token/token.h"
#include <time.h>

struct chat; /* read-only once made: any thread */
struct buf;

enum chat_outcome {
    CHAT_OK,
    CHAT_REFUSED,  /* no template; or it is none that can be run; or it says no to these messages: @diag */
    CHAT_TOO_MANY, /* more ids than ids->max */
    CHAT_CANCELLED,
};

/* From the template of @vocab, which outlives it. CHAT_REFUSED, or -ENOMEM. */
int chat_create(struct chat **ret_chat, const struct vocab *vocab, struct diag *diag);

/* From a template alone: it can be rendered, not tokenised, and knows no bos_token. */
int chat_create_alone(struct chat **ret_chat, struct gguf_text source, struct diag *diag);
void chat_destroy(struct chat *chat);
void chat_destroyp(struct chat **chat);
uint64_t chat_bytes(const struct chat *chat); /* memory held */

struct chat_message {
    struct gguf_text role;
    struct gguf_text content;
    struct gguf_text fields; /* JSON object with what else the template may read ("name", "tool_calls", "content" in
                                parts or null instead of the above), or n 0 */
};

/* What is rendered; all of it the caller's. */
struct chat_input {
    const struct chat_message *messages;
    size_t n_messages;
    const struct gguf_text *tools; /* one JSON value each; none: the template sees no tools */
    size_t n_tools;
    struct gguf_text variables; /* JSON object with what else the template may read, or n 0 */
    bool generation_prompt;     /* opens the assistant's turn */
    struct tm now;              /* local time, for templates that write the date */
};

/* Appends the ids, exactly one BOS first where the vocabulary asks for one or the template writes it. All outcomes, or
 * -ENOMEM. */
int chat_tokenize(const struct chat *chat, const struct chat_input *input, const atomic_bool *cancel, struct ids *ids,
                  struct diag *diag);

/* The text. CHAT_REFUSED, CHAT_CANCELLED, or -ENOMEM. @out is large enough or unbounded: else CHAT_TOO_MANY. */
int chat_render(const struct chat *chat, const struct chat_input *input, const atomic_bool *cancel, struct buf *out,
                struct diag *diag);

/* The same with all variables in one JSON object: messages, tools, add_generation_prompt and any others. Members of an
 * object "extra" are variables as well. @diag of CHAT_REFUSED is the template's own sentence. */
int chat_render_json(const struct chat *chat, struct gguf_text variables, const struct tm *now, struct buf *out,
                     struct diag *diag);

#endif
