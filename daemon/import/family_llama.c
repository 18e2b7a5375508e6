/*
 * Llama and what is built like it: Llama 2 and 3, TinyLlama, SmolLM2, Mistral; SmolLM3
 *
 * GGUF keeps the rows of q and k in the order of the first Llama's own code, where neighbours turn; the folder keeps
 * them half a head apart. SmolLM3 leaves every fourth layer without a rotation, which its readers know without a key.
 */
#include "import/family.h"
#include "import/window.h"

#define SMOLLM3_STILL_EVERY 4 /* layers */

static int more_llama(struct import *import, struct diag *diag)
{
    return window_import(import, NULL, diag);
}

/* Refuses a model whose layers without rotation are others than its readers take for granted. */
static int more_smollm3(struct import *import, struct diag *diag)
{
    const json_t *turns = json_object_get(import->folder->text, "no_rope_layers");

    for (size_t i = 0; i < json_array_size(turns); i++) {
        const bool is_turning = (i + 1) % SMOLLM3_STILL_EVERY != 0;

        if (json_integer_value(json_array_get(turns, i)) != is_turning) {
            diag_blame(diag, "no_rope_layers",
                       "config.json: layer %zu must%s turn positions: in GGUF every fourth layer is the one "
                       "that does "
                       "not",
                       i, is_turning ? "" : " not");
            return IMPORT_REFUSED;
        }
    }
    return window_import(import, NULL, diag);
}

const struct family family_llama = {
    .types = { "llama", "mistral" },
    .arch = "llama",
    .tables = { &family_ends, &family_norms, &family_pairs, &family_gated },
    .more = more_llama,
};

const struct family family_smollm3 = {
    .types = { "smollm3" },
    .arch = "smollm3",
    .tables = { &family_ends, &family_norms, &family_pairs, &family_gated },
    .more = more_smollm3,
};
