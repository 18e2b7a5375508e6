/*
 * State: the memory of recurrent layers, of one size however long the sequence
 *
 * In families with recurrent layers (arch_recurs()) each sequence has a state in the backend beside its pages. The
 * state belongs to that sequence alone: no prefix is shared through it, and it cannot be rolled back, so whatever must
 * be computed again is computed from the first row on. There is one for each sequence that may be open. The backend
 * gives zeros to a sequence's first row, so nothing is cleared here. A state's memory is touched when it is first used.
 */
#ifndef SOTTO_MODEL_STATE_H
#define SOTTO_MODEL_STATE_H

#include "model/arch.h"

#define STATE_NONE UINT32_MAX

struct states {
    struct exec_mem *mem; /* NULL: no layer is recurrent */
    uint32_t *free;       /* [n], owned: a stack, so that touched states are used again first */
    uint32_t n_free;
};

/* Makes states for @n sequences. MODEL_REFUSED or a fault. */
int states_create(struct states *states, struct exec *exec, const struct arch_params *params, uint32_t n,
                  struct diag *diag);
void states_finish(struct states *states);

/* Returns a free state, or STATE_NONE if the family has none. */
uint32_t states_take(struct states *states);

/* Releases @state and sets it to STATE_NONE. */
void states_give(struct states *states, uint32_t *state);

#endif
