/*
 * Psi: the kernel's own account of time lost for want of memory
 */
#ifndef SOTTO_MEMORY_PSI_H
#define SOTTO_MEMORY_PSI_H

#include "sysfs/root.h"

struct psi {
    uint32_t some_permille; /* share of the last ten seconds in which something waited for memory */
    uint32_t full_permille; /* in which everything did */
    uint64_t some_us;       /* ever */
};

/* Pure. 0 or -EPROTO. A file without the line "full" is fine. */
int psi_parse(const char *text, struct psi *ret_psi);

#endif
