/*
 * Num: arithmetic on untrusted sizes
 *
 * Functions that return bool set *ret only if the exact result fits; otherwise they return false and leave it alone.
 */
#ifndef SOTTO_BASE_NUM_H
#define SOTTO_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool num_add(uint64_t a, uint64_t b, uint64_t *ret)
{
    if (a > UINT64_MAX - b) {
        return false;
    }
    *ret = a + b;
    return true;
}

static inline bool num_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
    if (b != 0 && a > UINT64_MAX / b) {
        return false;
    }
    *ret = a * b;
    return true;
}

/* Rounds @a up to a multiple of @align, which is a power of two. */
static inline bool num_align(uint64_t a, uint64_t align, uint64_t *ret)
{
    uint64_t sum;

    if (!num_add(a, align - 1, &sum)) {
        return false;
    }
    *ret = sum & ~(align - 1);
    return true;
}

static inline uint64_t num_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t num_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the quotient rounded up; @b is not 0. */
static inline uint64_t num_div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* Returns the sum, at most @cap. */
static inline uint64_t num_saturate(uint64_t a, uint64_t b, uint64_t cap)
{
    return (a >= cap || b > cap - a) ? cap : a + b;
}

#endif
