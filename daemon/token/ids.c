/*
 * The growing array of ids.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "token/token.h"
#include <errno.h>
#include <string.h>

void ids_finish(struct ids *ids)
{
    mem_free(ids->ids);
    *ids = (struct ids){ .max = ids->max };
}

static int make_room(struct ids *ids, size_t n)
{
    size_t cap = ids->cap ? 2 * ids->cap : 64;
    uint32_t *bigger;

    if (ids->max && n > ids->max - ids->n) {
        return TOKENIZE_TOO_MANY;
    }
    if (n <= ids->cap - ids->n) {
        return TOKENIZE_OK;
    }
    cap = num_max(cap, ids->n + n);
    bigger = mem_realloc(MEM_TEXT, ids->ids, cap * sizeof(*bigger));
    if (!bigger) {
        return err_new(-ENOMEM);
    }
    ids->ids = bigger;
    ids->cap = cap;
    return TOKENIZE_OK;
}

int ids_push(struct ids *ids, uint32_t id)
{
    int r = make_room(ids, 1);

    if (r) {
        return err_pass(r);
    }
    ids->ids[ids->n++] = id;
    return TOKENIZE_OK;
}

int ids_append(struct ids *ids, const uint32_t *more, size_t n)
{
    int r = n > 0 ? make_room(ids, n) : TOKENIZE_OK;

    if (r) {
        return err_pass(r);
    }
    if (n > 0) {
        memcpy(ids->ids + ids->n, more, n * sizeof(*more));
    }
    ids->n += n;
    return TOKENIZE_OK;
}
