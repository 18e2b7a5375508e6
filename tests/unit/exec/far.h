/*
 * Far: a backend with memory that the host cannot reach
 *
 * It stands for a GPU in tests of the seam. Programs run on the cpu backend's code, but all their memory lies in a heap
 * that is inaccessible (PROT_NONE) outside the functions of this table: code above the seam that uses an address of it
 * ends by SIGSEGV.
 * Weights are uploaded, so nothing refers to the caller's bytes after exec_import(). A submission is not yet done when
 * exec_submit() returns: the first wait for it answers EXEC_PENDING, and until the second one nothing can be queued or
 * fetched. Results are copied to a staging area.
 */
#ifndef SOTTO_TESTS_EXEC_FAR_H
#define SOTTO_TESTS_EXEC_FAR_H

#include "exec/exec.h"

extern const struct exec_ops exec_far;

/* Copies @n bytes of @mem, which is of exec_far, from @at on. */
void far_read(struct exec *exec, const struct exec_mem *mem, uint64_t at, void *out, size_t n);

#endif
