/*
 * Script: what the fake engine does
 *
 * A text file with a rule or a number a line; '#' begins a comment. Without a script every answer consists of ordinary
 * tokens chosen by a hash, and nothing fails.
 *
 *     vocabulary N             rows of the output (default: as many as the model file's token list)
 *     pages N                  size of the pool, whatever kv_bytes is
 *     context N                tokens of one sequence, whatever Start says
 *
 *     load do ACTION           while the model is being loaded
 *     always [at A] do ACTION  for every sequence
 *     when ID [at A] do ACTION for a sequence with the token ID in its prompt
 *
 * A is `open`, or the index of the answer's token (0 first) that triggers the action when it is sampled; without it,
 * the first step that works for the sequence does (every step, for `slow` and `wait`). `once PATH` before `do` lets a
 * rule act a single time over all restarts: it writes a byte into the file at PATH, and a file that has one turns it
 * off.
 *
 *     tokens ID,ID,...         the answer begins with these, then goes on by the hash
 *     crash | kill | exit      abort(), SIGKILL, or an exit with code 3
 *     hang                     orders are no longer read
 *     slow MS                  the step takes so much longer, in parts of a millisecond
 *     wait MS                  it waits so much longer for others to leave the processor, as one part
 *     stall MS                 load: so long without progress, then it goes on
 *     numeric                  the sampler finds no finite logit
 *     allocate                 a step allocates, and reports it
 *     garbage                  bytes that are no frame go to sottod
 *     fault TEXT               the engine reports a Fault and ends
 *     hopeless TEXT            load: the same, and a new start would end the same
 *     refuse WHY               at open: no-pages, never-fits, too-many or bad-token
 */
#ifndef SOTTO_ENGINE_SCRIPT_H
#define SOTTO_ENGINE_SCRIPT_H

#include "base/diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum script_action {
    SCRIPT_TOKENS,
    SCRIPT_CRASH,
    SCRIPT_KILL,
    SCRIPT_EXIT,
    SCRIPT_HANG,
    SCRIPT_SLOW,
    SCRIPT_WAIT,
    SCRIPT_STALL,
    SCRIPT_NUMERIC,
    SCRIPT_ALLOCATE,
    SCRIPT_GARBAGE,
    SCRIPT_FAULT,
    SCRIPT_HOPELESS,
    SCRIPT_REFUSE,
    SCRIPT_ACTION_COUNT,
};

enum script_when { SCRIPT_AT_LOAD, SCRIPT_ALWAYS, SCRIPT_WHEN };

/* Special values of script_rule::at. */
#define SCRIPT_AT_OPEN (-2)
#define SCRIPT_AT_ANY  (-1)

struct script_rule {
    enum script_when when;
    uint32_t token; /* with SCRIPT_WHEN */
    int64_t at;
    int once_fd; /* -1: acts each time */
    bool is_spent;
    enum script_action action;
    uint32_t number;  /* milliseconds, or a refusal (enum seq_outcome) */
    uint32_t *tokens; /* owned */
    size_t n_tokens;
    char text[200];
};

struct script {
    struct script_rule *rules; /* owned */
    size_t n;
    uint32_t n_vocab; /* 0: as the file has */
    uint32_t n_pages;
    uint32_t n_context;
};

enum script_outcome {
    SCRIPT_OK,
    SCRIPT_REFUSED, /* @diag names the line and what is wrong */
};

/* An empty @path is an empty script. */
int script_read(struct script *ret_script, const char *path, struct diag *diag);
void script_finish(struct script *script);

/* Returns the first rule from *at on for a sequence of these @tokens (NULL: loading) at that moment, or NULL. *at
 * starts at 0 and is moved on. */
const struct script_rule *script_find(const struct script *script, const uint32_t *tokens, size_t n_tokens,
                                      int64_t moment, size_t *at);

/* Marks a rule that acts once. Called before it acts. */
void script_spend(const struct script *script, const struct script_rule *rule);

#endif
