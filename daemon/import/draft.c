#include "import/draft.h"
#include "base/err.h"
#include "base/mem.h"
#include "import/family.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *import_key(struct import *import, const char *suffix)
{
    snprintf(import->key, sizeof(import->key), "%s.%s", import->family->arch, suffix);
    return import->key;
}

struct import_entry *import_add(struct import *import, const char *name)
{
    struct import_entry *entry;

    if (import->n == import->cap) {
        const size_t cap = import->cap ? 2 * import->cap : 64;
        struct import_entry *entries = mem_realloc(MEM_FILE, import->entries, cap * sizeof(*entries));

        if (!entries) {
            return NULL;
        }
        import->entries = entries;
        import->cap = cap;
    }
    entry = &import->entries[import->n++];
    memset(entry, 0, sizeof(*entry));
    snprintf(entry->tensor.name, sizeof(entry->tensor.name), "%s", name);
    return entry;
}

int import_add_made(struct import *import, const char *name, const float *values, size_t n)
{
    struct import_entry *entry = import_add(import, name);

    if (!entry) {
        return err_new(-ENOMEM);
    }
    entry->source.kind = SOURCE_MADE;
    entry->source.made = mem_alloc(MEM_FILE, n * sizeof(float));
    if (!entry->source.made) {
        return err_new(-ENOMEM);
    }
    memcpy(entry->source.made, values, n * sizeof(float));
    entry->tensor.n_dims = 1;
    entry->tensor.n_cols = n;
    entry->tensor.n_rows = 1;
    entry->tensor.type = ELEM_F32;
    entry->tensor.is_floats = true;
    return 0;
}

float import_half(uint16_t bits)
{
    const uint32_t exponent = (bits >> 10) & 31u;
    const uint32_t fraction = bits & 1023u;
    const float sign = bits >> 15 ? -1.0f : 1.0f;

    if (exponent == 31) {
        return fraction ? NAN : sign * INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexpf((float)fraction, -24);
    }
    return sign * ldexpf((float)(fraction | 1024u), (int)exponent - 25);
}
