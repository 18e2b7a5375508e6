/*
 * Psi: the kernel's own account of time lost for want of memory
 */
#ifndef SOTTO_SENSE_PSI_H
#define SOTTO_SENSE_PSI_H

#include "sense/root.h"

struct psi {
    uint32_t some_permille; /* share of the last ten seconds in which something waited for memory */
    uint32_t full_permille; /* in which everything did */
    uint64_t some_us;       /* ever */
};

/* Pure. 0 or -EPROTO. A file without the line "full" is fine. */
int psi_parse(const char *text, struct psi *ret_psi);

/* Without privileges windows are whole multiples of two seconds. */
#define PSI_WINDOW_US 2000000u

/*
 * Asks the kernel to wake us, with POLLPRI, at most once a window, when something has waited for memory for
 * @stall_us of PSI_WINDOW_US. POLLERR: it will not come any more. Faults: -EOPNOTSUPP for a root that is no machine
 * or a kernel without, -EACCES, -EBUSY, -EINVAL.
 */
int psi_open_trigger(const struct root *root, uint32_t stall_us, int *ret_fd);

#endif
