/*
 * Puppet: a tiny model over scripted logits, and short calls to move it
 *
 * The fake backend's token is a hash of all tokens before it, kept in the pages, so a wrong row, page or position
 * changes the answer.
 */
#ifndef SOTTO_MODEL_SCRIPTED_H
#define SOTTO_MODEL_SCRIPTED_H

#include "fixture.h"

#define SCRIPTED_PROMPT 20
extern const uint32_t scripted_prompt[SCRIPTED_PROMPT];

/* A tiny model with F16 pages, on the fake backend unless @setup names another. */
struct model *scripted_open(const struct model_fixture_setup *setup);

/* Writes @text to a file that the fake backend can play; gives its path, good until the next call. */
const char *scripted_script(const char *text);

/* Opens sequence @id with @n_tokens, the prompt over and over, greedy. The outcome of seq_open(). */
int scripted_try(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve, struct seq_room *room);

/* The same, and it must work. */
void scripted_seq(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve);

/* Runs one step to its end, through any number of suspensions. */
struct step_report scripted_run(struct model *model, const struct step_entry *entries, uint32_t n, step_poll_fn poll,
                                void *owner);

/* A step of one entry: @n_prefill rows, or a decode with 0. */
struct step_result scripted_run_one(struct model *model, uint32_t id, uint32_t n_prefill);

#endif
