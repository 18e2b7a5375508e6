/*
 * Mix: which format each tensor of a quantised file gets
 *
 * A name such as Q4_K_M is a habit, not a format: most matrices in Q4_K, and those that hurt most when they are coarse
 * in a finer one. The habits here are those that the public files follow. Pure; any thread.
 */
#ifndef SOTTO_TOOL_MIX_H
#define SOTTO_TOOL_MIX_H

#include "gguf/gguf.h"

struct mix {
    const char *name;
    uint32_t file_type; /* of the key general.file_type */
    uint32_t base;      /* enum elem_type: of most matrices */
    uint32_t output;    /* of the output, or of the embedding that serves as such */
    uint32_t fine;      /* of values and of the feed-forward's way down, in the layers that `where` says */
    uint32_t fused;     /* of queries, keys and values in one matrix */
    enum mix_where {
        MIX_NOWHERE,
        MIX_SOME_LAYERS,  /* the first and last eighth, and each third between */
        MIX_FIRST_LAYERS, /* the first eighth */
    } where;
};

/* Ends with a row without a name. */
extern const struct mix mixes[];

const struct mix *mix_find(const char *name); /* in any case of letters; or NULL */

/* True if @tensor is a matrix that may be rounded; norms, biases and other vectors stay as they are. */
bool mix_may_round(const struct gguf_tensor *tensor);

/*
 * The format of @tensor, which may be rounded, of a model of @n_layers (0: not known). @is_output: it makes the logits.
 * Where its rows are no whole blocks of the format of its habit: the nearest format in blocks of 32, else F16.
 */
uint32_t mix_type(const struct mix *mix, const struct gguf_tensor *tensor, uint32_t n_layers, bool is_output);

#endif
