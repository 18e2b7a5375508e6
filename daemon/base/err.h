/*
 * Faults against outcomes: the one convention for failure
 *
 *   0        done.
 *   above 0  an outcome of the callee's own enum, for the direct caller to handle, never to pass on.
 *   below 0  a fault (-errno) that nobody above knows better about; pass it up unchanged, traced.
 *
 * A fault is born with err_new() and passed up with err_up(). Both remember the place in a small ring of this
 * thread, so that the one who finally logs the fault can tell where it came from (err_trail()). An outcome that
 * reaches err_up() was forgotten by a caller: it becomes -ENOTRECOVERABLE and the trail says where.
 */
#ifndef SOTTO_BASE_ERR_H
#define SOTTO_BASE_ERR_H

#include <stddef.h>

#define err_new(fault) err_born((fault), __FILE__, __LINE__)
#define err_up(result) err_passed((result), __FILE__, __LINE__)

/* Starts a new trail for @fault (below 0) at @file:@line and returns it. Use err_new(). */
int err_born(int fault, const char *file, int line);

/* Adds @file:@line to the trail of @result and returns it; 0 passes silently, an outcome turns into a fault. */
int err_passed(int result, const char *file, int line);

/*
 * Writes the trail of this thread's last fault, oldest place first, as "stream.c:210 < conn.c:77" into @text
 * (@cap bytes, always ended by a zero). Returns @text.
 */
const char *err_trail(char *text, size_t cap);

#endif
