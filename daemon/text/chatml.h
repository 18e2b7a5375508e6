/*
 * Chatml: messages through the model's own template, where that is ChatML
 *
 * Two shapes are known by their text: the plain loop, and the loop with a literal default system message, which is
 * taken out of the template. Anything else is refused with the reason until every template can be rendered.
 * Scaffolding and foreign text are tokenised apart: only the scaffolding can become control tokens.
 */
#ifndef SOTTO_TEXT_CHATML_H
#define SOTTO_TEXT_CHATML_H

#include "token/token.h"

struct chat_message {
    struct gguf_text role; /* "system", "user", "assistant" */
    struct gguf_text content;
};

struct chatml; /* read-only once made: any thread */

enum chatml_outcome {
    CHATML_OK,
    CHATML_REFUSED, /* no template, or one that is not understood, or the vocabulary lacks its markers: @diag */
};

/* @vocab outlives it. */
int chatml_create(struct chatml **ret_chatml, const struct vocab *vocab, struct diag *diag);
void chatml_destroy(struct chatml *chatml);
void chatml_destroyp(struct chatml **chatml);

/* Appends the ids of the conversation (BOS first if the vocabulary adds one), opening the assistant's turn
 * if @generation_prompt. Outcomes of vocab_tokenize(); ChatML has no order of roles to refuse. Any thread. */
int chatml_tokenize(const struct chatml *chatml, const struct chat_message *messages, size_t n,
                    bool generation_prompt, const atomic_bool *cancel, struct ids *ids, struct diag *diag);

/* The same as text, without BOS, for `sotto render` and tests. BUF_FULL, or -ENOMEM. */
struct buf;
int chatml_render(const struct chatml *chatml, const struct chat_message *messages, size_t n,
                  bool generation_prompt, struct buf *out);

#endif
