/*
 * Bench: how fast the kernels are, by `test-kern-dot --bench [SET]`
 */
#ifndef SOTTO_TESTS_KERN_BENCH_H
#define SOTTO_TESTS_KERN_BENCH_H

/* Measures all sets, or the one named, and prints a table; returns an exit code. */
int bench_run(const char *set);

#endif
