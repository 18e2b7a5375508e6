/*
 * Err: faults and outcomes, the one convention for failure
 *
 *   0        done.
 *   above 0  an outcome: a value of the enum that the function's comment names. The direct caller handles it, or passes
 *            it on with err_pass() if its own comment names the same enum.
 *   below 0  a fault (-errno) that no caller can handle better. It is passed up unchanged, traced.
 *
 * A fault begins with err_new() and is passed up with err_up(). Both record the place in a small ring of this thread,
 * so that the function that finally logs the fault can tell where it came from (err_trail()). An outcome that reaches
 * err_up() was forgotten by a caller: it becomes -ENOTRECOVERABLE, and the trail shows where.
 */
#ifndef SOTTO_BASE_ERR_H
#define SOTTO_BASE_ERR_H

#include <stddef.h>

#define err_new(fault)   err_born((fault), __FILE__, __LINE__)
#define err_up(result)   err_passed((result), __FILE__, __LINE__)
#define err_pass(result) ((result) < 0 ? err_up(result) : (result)) /* evaluates @result twice: pass a variable */

/* Starts a new trail for @fault (below 0) at @file:@line and returns @fault. Call it as err_new(). */
int err_born(int fault, const char *file, int line);

/* Adds @file:@line to the trail of @result and returns it: 0 as 0, an outcome as a fault. Call it as err_up(). */
int err_passed(int result, const char *file, int line);

/*
 * Writes the trail of this thread's last fault, oldest place first, as "stream.c:210 < conn.c:77" to @text
 * (@cap bytes, always ended by a zero). Returns @text.
 */
const char *err_trail(char *text, size_t cap);

#endif
