/*
 * Usage: what each uid was served in total, and its joules of the minute
 *
 * Accounts of the queue live as long as there is work. These stay, so that Status can report usage since the start. The
 * budget is a leaking bucket: energy spent drains at the rate of the limit, in the boot clock.
 *
 * Pure: time is an argument.
 */
#ifndef SOTTO_GOVERN_USAGE_H
#define SOTTO_GOVERN_USAGE_H

#include "base/map.h"
#include "govern/energy.h"

/* A machine has a handful of users; if there are thousands, the later ones get no totals. */
#define USAGE_MOST 1024u

struct usage {
    uint32_t uid;
    uint64_t n_tok; /* computed, of prompts and answers */
    uint64_t n_refused;
    uint64_t energy_uj;
    enum energy_source source; /* of the least certain part of it */
    double spent_uj;           /* of the budget, at @spent_us */
    uint64_t spent_us;
};

struct usage_table {
    struct map by_uid;
};

void usage_table_init(struct usage_table *usage_table);
void usage_table_finish(struct usage_table *usage_table);

/* Returns the usage of @uid, made if there is none; NULL: no memory, or too many. */
struct usage *usage_table_get(struct usage_table *usage_table, uint32_t uid);

/* Returns the first one if *at is 0, then the next; NULL: no more. */
const struct usage *usage_table_next(const struct usage_table *usage_table, size_t *at);

/* Charges @uj of a request with a budget of @energy_a_minute joules (0: none). */
void usage_charge(struct usage *usage, uint64_t uj, enum energy_source source, uint32_t energy_a_minute,
                  uint64_t boot_us);

/* Returns the time until the budget has room for anything; 0: now. Without a meter or a statement nothing is spent. */
uint64_t usage_wait_us(const struct usage *usage, uint32_t energy_a_minute, uint64_t boot_us);

#endif
