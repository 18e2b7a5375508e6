/*
 * Fixture: kernel sets side by side, rows of every kind, memory with guards
 */
#ifndef SOTTO_TESTS_KERN_FIXTURE_H
#define SOTTO_TESTS_KERN_FIXTURE_H

#include "kern/kern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIXTURE_N_SETS  4  /* of a kind of processor, scalar first */
#define FIXTURE_N_TYPES 15 /* that compute */

extern const uint32_t fixture_types[FIXTURE_N_TYPES];

/* Returns set @i (0 is the definition), or NULL if this processor can't run it, which is reported once. */
const struct kern_ops *fixture_set(int i);

/* splitmix64, which gives the same numbers everywhere. */
struct fixture_random {
    uint64_t state;
};

uint64_t fixture_next(struct fixture_random *random);
float fixture_float(struct fixture_random *random); /* of -1 to 1 */

enum fixture_kind {
    FIXTURE_ORDINARY, /* values as in models */
    FIXTURE_EXTREME,  /* any bits; floats: denormals, zeros, huge ones, now and then infinity and NaN */
    FIXTURE_KIND_COUNT,
};

void fixture_fill(float *x, size_t n, enum fixture_kind kind, struct fixture_random *random);

/* Returns rows of @type at an odd address (a multiple of 4 for F32), without a spare byte after them. */
uint8_t *fixture_weights(uint32_t type, uint32_t n_cols, uint32_t n_rows, enum fixture_kind kind,
                         struct fixture_random *random);
void fixture_free_weights(uint8_t *weights);

/* Return the offset of the half d in a block of @type, and whether a second half (m, dmin) follows it. */
size_t fixture_d_at(uint32_t type);
bool fixture_has_m(uint32_t type);

/* Returns @n floats with guards on both sides, aligned to 4 only; freeing checks the guards. */
float *fixture_guarded(size_t n);
void fixture_free_guarded(float *x, size_t n);

/* Returns @x [n_rows][n_cols] in the form that @type needs; free() it. */
void *fixture_acts(const struct kern_ops *ops, uint32_t type, const float *x, uint32_t n_cols, uint32_t n_rows,
                   size_t *ret_bytes);

#define FIXTURE_GOLDEN_ROWS 14 /* rows of the matrix that another program stored in every format */
#define FIXTURE_GOLDEN_COLS 256

/* Reads exactly @n bytes of its file @name.@kind.bin (kinds: "q" as stored, "f32" as floats again; the matrix itself is
 * "input", "f32"). Returns false if it is not available. */
bool fixture_golden(const char *name, const char *kind, void *bytes, size_t n);

/* Asserts equal bits; any NaN equals any other. */
void fixture_same(const float *got, const float *expected, size_t n, const char *what);

#endif
