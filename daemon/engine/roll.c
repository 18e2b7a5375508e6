#include "engine/roll.h"

#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>

int roll_init(struct roll *roll, size_t cap)
{
    *roll = (struct roll){ .cap = cap };
    roll->rows = mem_calloc(MEM_MISC, cap, sizeof(*roll->rows));
    return roll->rows ? 0 : err_new(-ENOMEM);
}

void roll_finish(struct roll *roll)
{
    mem_free(roll->rows);
    *roll = (struct roll){ .rows = NULL };
}

bool roll_is_full(const struct roll *roll)
{
    return roll->n == roll->cap;
}

const struct roll_row *roll_find(const struct roll *roll, uint32_t seq)
{
    for (size_t i = 0; i < roll->n; i++) {
        if (roll->rows[i].seq == seq) {
            return &roll->rows[i];
        }
    }
    return NULL;
}

void roll_add(struct roll *roll, uint32_t seq, bool logprobs)
{
    assert(!roll_is_full(roll) && !roll_find(roll, seq));
    roll->rows[roll->n++] = (struct roll_row){ .seq = seq, .logprobs = logprobs };
}

void roll_set(struct roll *roll, uint32_t seq, bool logprobs)
{
    const struct roll_row *row = roll_find(roll, seq);

    assert(row);
    roll->rows[row - roll->rows].logprobs = logprobs;
}

void roll_drop(struct roll *roll, uint32_t seq)
{
    const struct roll_row *row = roll_find(roll, seq);

    if (row) {
        roll->rows[row - roll->rows] = roll->rows[--roll->n];
    }
}
