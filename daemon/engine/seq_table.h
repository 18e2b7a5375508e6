/*
 * Seq_table: which sequences are open, and whether their answers carry log-probabilities
 *
 * The model owns the sequences. There are a few dozen at most, so the table is a list that is walked.
 */
#ifndef SOTTO_ENGINE_SEQ_TABLE_H
#define SOTTO_ENGINE_SEQ_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seq_table_row {
    uint32_t seq;
    bool logprobs;
};

struct seq_table {
    struct seq_table_row *rows; /* owned */
    size_t n;
    size_t cap;
};

int seq_table_init(struct seq_table *seq_table, size_t cap); /* 0 or -ENOMEM */
void seq_table_finish(struct seq_table *seq_table);

bool seq_table_is_full(const struct seq_table *seq_table);
const struct seq_table_row *seq_table_find(const struct seq_table *seq_table, uint32_t seq); /* or NULL */
void seq_table_add(struct seq_table *seq_table, uint32_t seq, bool logprobs);                /* not full; @seq is new */
void seq_table_set(struct seq_table *seq_table, uint32_t seq, bool logprobs);                /* @seq is in the table */
void seq_table_drop(struct seq_table *seq_table, uint32_t seq); /* ignores an unknown @seq */

#endif
