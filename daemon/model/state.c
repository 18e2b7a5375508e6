#include "model/state.h"
#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>

int states_create(struct states *states, struct exec *exec, const struct arch_params *params, uint32_t n,
                  struct diag *diag)
{
    const struct arch_net *net = &params->net;
    const struct exec_state_shape shape = {
        .n_layers = params->n_recurrent,
        .n_states = n,
        .n_window = (net->n_taps - 1) * arch_n_channels(net),
        .n_matrix = net->key_dim * net->n_inner,
    };
    int r;

    if (params->n_recurrent == 0) {
        return MODEL_OK;
    }
    r = exec_alloc_states(exec, &shape, &states->mem, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_REFUSED;
    }
    states->free = mem_calloc(MEM_KV, n, sizeof(*states->free));
    if (!states->free) {
        return err_new(-ENOMEM);
    }
    while (states->n_free < n) {
        states->free[states->n_free] = n - 1 - states->n_free;
        states->n_free++;
    }
    return MODEL_OK;
}

void states_finish(struct states *states)
{
    mem_free(states->free);
    *states = (struct states){ .mem = NULL };
}

uint32_t states_take(struct states *states)
{
    if (!states->mem) {
        return STATE_NONE;
    }
    assert(states->n_free > 0);
    return states->free[--states->n_free];
}

void states_give(struct states *states, uint32_t *state)
{
    if (*state != STATE_NONE) {
        states->free[states->n_free++] = *state;
        *state = STATE_NONE;
    }
}
