/*
 * State: the second kind of memory that a sequence may have: of one size, however long it is
 *
 * Families whose layers recur (arch_recurs()) keep for each sequence one state of the backend's beside its pages. It
 * is the sequence's own: no prefix is shared through it, and it can't go back, so what has to be computed again is
 * computed from the first row on. There is one for each sequence that may be open. The backend gives zeros to a
 * sequence's first row, so nothing is cleared here. Its memory is touched when it is first used.
 */
#ifndef SOTTO_MODEL_STATE_H
#define SOTTO_MODEL_STATE_H

#include "model/arch.h"

#define STATE_NONE UINT32_MAX

struct states {
    struct exec_mem *mem; /* NULL: no layer recurs */
    uint32_t *free;       /* [n], owned: a stack, so that touched ones are used again first */
    uint32_t n_free;
};

/* For at most @n sequences. MODEL_REFUSED or a fault. */
int states_create(struct states *states, struct exec *exec, const struct arch_params *params, uint32_t n,
                  struct diag *diag);
void states_finish(struct states *states);

/* One that nobody has; STATE_NONE where the family has none. */
uint32_t states_take(struct states *states);

/* Gives @state back, once. */
void states_give(struct states *states, uint32_t *state);

#endif
