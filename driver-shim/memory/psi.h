/*
 * Psi: time lost to memory pressure, as the kernel accounts it (Documentation/accounting/psi.rst)
 */
#ifndef SOTTO_MEMORY_PSI_H
#define SOTTO_MEMORY_PSI_H

#include "sense/policy.h"
#include "sense/source.h"

struct psi {
    uint32_t some_permille; /* share of the last ten seconds in which some task waited for memory */
    uint32_t full_permille; /* share in which every task waited */
    uint64_t some_us;       /* since boot */
};

/* Parses the file; pure. 0 or -EPROTO. A missing line "full" is no fault. */
int psi_parse(const char *text, struct psi *ret_psi);

/* Adds the source of memory pressure to @sources (source::link), unless it is there. 0 or -ENOMEM. */
int psi_scan(const struct root *root, const struct sensor_policy *policy, struct list *sources);

#endif
