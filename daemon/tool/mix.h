/*
 * Mix: the format of each tensor of a quantised file
 *
 * A name such as Q4_K_M is a mix of formats: most matrices are in Q4_K, and those that are most sensitive to rounding
 * in a finer one. The mixes here are those of the published files (llama.cpp). Pure; any thread.
 */
#ifndef SOTTO_TOOL_MIX_H
#define SOTTO_TOOL_MIX_H

#include "gguf/gguf.h"

/* GGUF's number for a file with formats guessed from its tensors. */
#define MIX_FILE_MANY 1024

struct mix {
    const char *name;
    uint32_t file_type; /* value of general.file_type */
    uint32_t base;      /* most matrices; these are all enum elem_type */
    uint32_t output;    /* the output, or the embedding that serves as the output */
    uint32_t fine;      /* values and down-projections in the layers that `where` selects */
    uint32_t fused;     /* queries, keys and values in one matrix */
    enum mix_where {
        MIX_NOWHERE,
        MIX_SOME_LAYERS,  /* the first and last eighth, and each third between */
        MIX_FIRST_LAYERS, /* the first eighth */
    } where;
};

/* Ends with a row without a name. */
extern const struct mix mixes[];

/* Returns the mix of that name, in upper or lower case, or NULL. */
const struct mix *mix_find(const char *name);

/* Returns the general.file_type of a file with most of its matrices in @type; MIX_FILE_MANY: no mix has it. */
uint32_t mix_file_type(uint32_t type);

/* Returns whether @tensor is a matrix that may be rounded; norms, biases and other vectors are not. */
bool mix_may_round(const struct gguf_tensor *tensor);

/*
 * Returns the format of @tensor, which may be rounded, in a model of @n_layers (0: unknown). @is_output: it makes the
 * logits. If its rows are not whole blocks of the format of the mix, it is the nearest format in blocks of 32, or F16.
 */
uint32_t mix_type(const struct mix *mix, const struct gguf_tensor *tensor, uint32_t n_layers, bool is_output);

#endif
