/*
 * Llama and similar models: Llama 2 and 3, TinyLlama, SmolLM2, Mistral; SmolLM3
 *
 * GGUF keeps the rows of q and k in the order of the first Llama's own code, where neighbours rotate; in the folder
 * they are half a head apart. SmolLM3 has no rotation in every fourth layer, which readers of GGUF know without a key.
 */
#include "import/family.h"
#include "import/window.h"

#define SMOLLM3_STILL_EVERY 4 /* layers */

static int more_llama(struct import *import, struct diag *diag)
{
    return window_import(import, NULL, diag);
}

/* Refuses a model that lacks rotation in other layers than readers of GGUF assume. */
static int more_smollm3(struct import *import, struct diag *diag)
{
    const json_t *rotations = json_object_get(import->folder->text, "no_rope_layers");

    for (size_t i = 0; i < json_array_size(rotations); i++) {
        const bool rotates = (i + 1) % SMOLLM3_STILL_EVERY != 0;

        if (json_integer_value(json_array_get(rotations, i)) != rotates) {
            diag_blame(diag, "no_rope_layers",
                       "config.json: layer %zu must%s rotate positions: in GGUF every fourth layer does not", i,
                       rotates ? "" : " not");
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
