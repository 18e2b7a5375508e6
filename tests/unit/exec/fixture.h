/*
 * Fixture: the backends that the suite of the seam runs on, and short calls to run a program
 *
 * A loop test that takes its backend from fixture_backend(_i) is added with FIXTURE_BACKENDS times its own cases.
 */
#ifndef SOTTO_TESTS_EXEC_FIXTURE_H
#define SOTTO_TESTS_EXEC_FIXTURE_H

#include "exec/exec.h"
#include <stdbool.h>

#define FIXTURE_BACKENDS  4 /* cpu, truth, far, fake */
#define FIXTURE_COMPUTING 3 /* the first of them; fake computes nothing */

const char *fixture_backend(int i);

/* Opens backend @name with @n_threads, or fails the test. */
struct exec *fixture_open(const char *name, uint32_t n_threads);

/* Opens it with this script; returns exec_open()'s outcome. */
int fixture_try(struct exec **ret_exec, const char *name, const char *script, struct diag *diag);

/* Imports [n_rows][n_cols] floats. */
struct exec_mem *fixture_import(struct exec *exec, const float *floats, uint64_t n_cols, uint64_t n_rows);

/* Queues one submission and waits for it. */
void fixture_submit(struct exec *exec, struct exec_program *program, uint32_t n_parts, uint32_t bound_us);

/* Runs the bound program to its end, a part at a time. */
void fixture_run(struct exec *exec, struct exec_program *program);

/* Copies @n floats of row @row of @slot. */
void fixture_read(struct exec_program *program, uint32_t slot, uint32_t row, float *out, uint32_t n);

/* Copies page @page of @kv, whatever the backend. */
void fixture_read_page(struct exec *exec, const struct exec_mem *kv, uint32_t page, void *out);

#endif
