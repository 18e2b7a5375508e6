/*
 * Stdfd: standard descriptors that are there
 *
 * Whoever starts a program may close 0, 1 or 2 before. The next file or socket that it opens then gets that number,
 * and what was meant for people is written into it. First thing in main().
 */
#ifndef SOTTO_BASE_STDFD_H
#define SOTTO_BASE_STDFD_H

/*
 * Opens /dev/null for those of 0, 1 and 2 that are closed, the wrong way round: reading from 0 and writing to 1 and 2
 * fails with EBADF, as it would have without. 0 or a fault: there is no /dev/null.
 */
int file_hold_std(void);

#endif
