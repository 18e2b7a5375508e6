#include "engine/seq_table.h"

#include "base/err.h"
#include "base/mem.h"
#include <assert.h>
#include <errno.h>

int seq_table_init(struct seq_table *seq_table, size_t cap)
{
    *seq_table = (struct seq_table){ .cap = cap };
    seq_table->rows = mem_calloc(MEM_MISC, cap, sizeof(*seq_table->rows));
    return seq_table->rows ? 0 : err_new(-ENOMEM);
}

void seq_table_finish(struct seq_table *seq_table)
{
    mem_free(seq_table->rows);
    *seq_table = (struct seq_table){ .rows = NULL };
}

bool seq_table_is_full(const struct seq_table *seq_table)
{
    return seq_table->n == seq_table->cap;
}

const struct seq_table_row *seq_table_find(const struct seq_table *seq_table, uint32_t seq)
{
    for (size_t i = 0; i < seq_table->n; i++) {
        if (seq_table->rows[i].seq == seq) {
            return &seq_table->rows[i];
        }
    }
    return NULL;
}

void seq_table_add(struct seq_table *seq_table, uint32_t seq, bool logprobs)
{
    assert(!seq_table_is_full(seq_table) && !seq_table_find(seq_table, seq));
    seq_table->rows[seq_table->n++] = (struct seq_table_row){ .seq = seq, .logprobs = logprobs };
}

void seq_table_set(struct seq_table *seq_table, uint32_t seq, bool logprobs)
{
    const struct seq_table_row *row = seq_table_find(seq_table, seq);

    assert(row);
    seq_table->rows[row - seq_table->rows].logprobs = logprobs;
}

void seq_table_drop(struct seq_table *seq_table, uint32_t seq)
{
    const struct seq_table_row *row = seq_table_find(seq_table, seq);

    if (row) {
        seq_table->rows[row - seq_table->rows] = seq_table->rows[--seq_table->n];
    }
}
