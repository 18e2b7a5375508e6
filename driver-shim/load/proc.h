/*
 * Proc: a walk over all descriptors of all processes
 *
 * The walk finds descriptors of one DRM device by their links (/dev/dri/renderD128), reads their fdinfo and passes the
 * text on. It may be spread over several calls, each with a budget of work, so that ten thousand descriptors don't
 * delay the other sources. Whatever may not be read is counted as blind.
 *
 * Buffers are reused; a walk allocates only when there are more processes than ever before. One thread.
 */
#ifndef SOTTO_LOAD_PROC_H
#define SOTTO_LOAD_PROC_H

#include "sysfs/root.h"

struct proc;

/* Units of about 10 us on a slow core: opening a folder or file costs 4, a link 1, a page of fdinfo 4. */
#define PROC_BUDGET 4000u

/* Descriptors looked at in one process; a process with more counts as refused. */
#define PROC_LINKS_MAX 8192u

struct proc_counts {
    uint32_t n_visited; /* other processes with descriptors that could be looked into */
    uint32_t n_refused; /* processes that could not, except kernel threads */
    bool is_hidden;     /* there is no process 1: other processes are hidden */
    bool is_empty;      /* there are no processes: a tree recorded without them */
    uint32_t n_read;    /* descriptors of the device that were read */
    uint32_t n_unread;  /* descriptors of the device that were not: forbidden, or too long */
};

/* Receives a descriptor of the device; @text: @n bytes of its fdinfo. */
typedef void (*proc_fn)(void *context, uint32_t pid, uint32_t fd, const char *text, size_t n);

/* Makes a walk over descriptors of the nodes @minors, 4 at most. -ENOMEM. */
int proc_create(struct proc **ret_proc, const struct root *root, const uint32_t *minors, uint32_t n_minors);
void proc_destroy(struct proc *proc); /* NULL is allowed */

/* Sets other nodes for the next walk: the device came back under other numbers. */
void proc_set_minors(struct proc *proc, const uint32_t *minors, uint32_t n_minors);

/* Begins a walk. Returns a fault if /proc itself can't be read. */
int proc_begin(struct proc *proc);

/* Continues the walk for about @budget. True: it has ended, and *ret_counts is filled. */
bool proc_continue(struct proc *proc, uint32_t budget, proc_fn found, void *context, struct proc_counts *ret_counts);

/*
 * Reads one fdinfo file. @cached_fd: in and out, a descriptor to reuse (-1: none yet), or NULL. *ret_text is valid
 * until the next call. -ENOENT: it is gone; -EFBIG: longer than FDINFO_BYTES_MAX.
 */
int proc_read(struct proc *proc, uint32_t pid, uint32_t fd, int *cached_fd, const char **ret_text, size_t *ret_n);

/* Copies the name of a process, or "". */
void proc_name(struct proc *proc, uint32_t pid, char *name, size_t cap);

#endif
