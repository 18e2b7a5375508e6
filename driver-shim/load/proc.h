/*
 * Proc: the walk over all descriptors of all processes
 *
 * Finds descriptors of one DRM device by where they point (/dev/dri/renderD128), reads their fdinfo and hands the
 * text on. It may be spread over several calls: each has a budget of work, so that ten thousand descriptors don't
 * stop the other sources. What may not be read is counted: it is the blind share.
 *
 * Buffers are kept; in a walk nothing is allocated but when there are more processes than ever before. One thread.
 */
#ifndef SOTTO_LOAD_PROC_H
#define SOTTO_LOAD_PROC_H

#include "sysfs/root.h"

struct proc;

/* About 10 us each on a slow core: opening a folder or a file is 4, a link 1, a page of fdinfo 4. */
#define PROC_BUDGET 4000u

/* Descriptors of one process that are looked at; what has more counts as refused. */
#define PROC_LINKS_MAX 8192u

struct proc_counts {
    uint32_t n_visited; /* processes with descriptors, other than this one, that could be looked into */
    uint32_t n_refused; /* processes that could not; kernel threads are left out */
    bool is_hidden;     /* there is no process 1: others don't show at all */
    bool is_empty;      /* there is no process at all: a tree that was recorded without them */
    uint32_t n_read;    /* descriptors of our device that were read */
    uint32_t n_unread;  /* that could not be: forbidden, or too long */
};

/* A descriptor of our device. @text: n bytes of its fdinfo. */
typedef void (*proc_fn)(void *context, uint32_t pid, uint32_t fd, const char *text, size_t n);

/* @minors: of the device's nodes, 4 at most. -ENOMEM. */
int proc_create(struct proc **ret_proc, const struct root *root, const uint32_t *minors, uint32_t n_minors);
void proc_destroy(struct proc *proc); /* NULL is allowed */

/* From the next walk on, other nodes: the device came back under other numbers. */
void proc_set_minors(struct proc *proc, const uint32_t *minors, uint32_t n_minors);

/* Begins a walk. A fault says that /proc itself can't be read. */
int proc_begin(struct proc *proc);

/* Goes on for about @budget. True: at the end; *ret_counts is filled then. */
bool proc_continue(struct proc *proc, uint32_t budget, proc_fn found, void *context, struct proc_counts *ret_counts);

/*
 * Reads one fdinfo file. @cached_fd: in and out, a descriptor to be kept for the next time (-1: none yet), or NULL. The
 * text lives until the next call. -ENOENT: it is gone; -EFBIG: longer than FDINFO_BYTES_MAX.
 */
int proc_read(struct proc *proc, uint32_t pid, uint32_t fd, int *cached_fd, const char **ret_text, size_t *ret_n);

/* Name of a process, or "". */
void proc_name(struct proc *proc, uint32_t pid, char *name, size_t cap);

#endif
