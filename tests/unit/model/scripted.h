/*
 * Scripted: a tiny model over scripted logits, and short calls to run it
 *
 * The fake backend's token is a hash of all tokens before it, stored in the pages, so a wrong row, page or position
 * changes the answer.
 */
#ifndef SOTTO_MODEL_SCRIPTED_H
#define SOTTO_MODEL_SCRIPTED_H

#include "fixture.h"

#define SCRIPTED_PROMPT 20
extern const uint32_t scripted_prompt[SCRIPTED_PROMPT];

/* Opens a tiny model with F16 pages, on the fake backend unless @setup names another. */
struct model *scripted_open(const struct model_fixture_setup *setup);

/* Writes @text to a script file for the fake backend. Returns its path, which is valid until the next call. */
const char *scripted_script(const char *text);

/* Opens sequence @id with @n_tokens of the repeated prompt, greedy. Returns the outcome of seq_open(). */
int scripted_try(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve, struct seq_room *room);

/* Opens a sequence as scripted_try() does, and fails the test if it is refused. */
void scripted_seq(struct model *model, uint32_t id, uint32_t n_tokens, uint32_t n_reserve);

/* Runs one step to its end, through any number of suspensions. */
struct step_report scripted_run(struct model *model, const struct step_entry *entries, uint32_t n, step_poll_fn poll,
                                void *owner);

/* Runs a step of one entry: @n_prefill rows, or a decode if 0. */
struct step_result scripted_run_one(struct model *model, uint32_t id, uint32_t n_prefill);

/* ---- models in which streams share pages ---- */

/* Opens a scripted model with a pool of @n_pages and 8 sequences. */
struct model *scripted_pool(uint32_t n_pages);

/* Returns the figures, after checking that the pages add up. */
struct model_figures scripted_figures(const struct model *model);

/* Drives one stream to its end. */
void scripted_drive(struct model *model, struct model_fixture_stream *stream);

/* Checks that the answer of @stream is the one of an unshared sequence in a new model. */
void scripted_check_answer(const struct model_fixture_stream *stream);

/* Returns a random number below @below (splitmix64). */
uint32_t scripted_draw(uint64_t *seed, uint32_t below);

#endif
