#include "fixture.h"
#include "unit.h"

#include "base/clean.h"
#include "kern/half.h"
#include "tensor/block.h"

#include <math.h>
#include <string.h>

#define GUARD      0xa5
#define GUARD_SIZE 64

const uint32_t fixture_types[FIXTURE_N_TYPES] = { ELEM_F32,  ELEM_F16,    ELEM_BF16,   ELEM_Q4_0, ELEM_Q4_1,
                                                  ELEM_Q5_0, ELEM_Q5_1,   ELEM_Q8_0,   ELEM_Q4_K, ELEM_Q5_K,
                                                  ELEM_Q6_K, ELEM_IQ4_NL, ELEM_IQ4_XS, ELEM_Q2_K, ELEM_Q3_K };

const struct kern_ops *fixture_set(int i)
{
#if defined(__aarch64__)
    static const char *const names[FIXTURE_N_SETS] = { "scalar", "neon", "neon-dotprod", "neon-i8mm" };
#else
    static const char *const names[FIXTURE_N_SETS] = { "scalar", "avx2", "avx2-vnni", "avx512" };
#endif
    static struct kern_ops sets[FIXTURE_N_SETS];
    uint32_t mask = 0;

    ck_assert(cpu_mask(names[i], &mask));
    kern_choose(&sets[i], cpu_detect() & mask);
    if (strcmp(sets[i].name, names[i]) != 0) {
        fprintf(stderr, "left out: this processor has no %s\n", names[i]);
        return NULL;
    }
    return &sets[i];
}

uint64_t fixture_next(struct fixture_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

float fixture_float(struct fixture_random *random)
{
    return (float)((double)(int64_t)fixture_next(random) * 0x1p-63);
}

static float extreme(struct fixture_random *random)
{
    const uint64_t kind = fixture_next(random) % 100;
    const float x = fixture_float(random);

    if (kind < 20) {
        return x * 0x1p-130f; /* denormal */
    }
    if (kind < 30) {
        return x < 0 ? -0.0f : 0.0f;
    }
    if (kind < 45) {
        return x * 0x1p40f;
    }
    if (kind < 60) {
        return x * 0x1p-60f;
    }
    return x;
}

void fixture_fill(float *x, size_t n, enum fixture_kind kind, struct fixture_random *random)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = kind == FIXTURE_ORDINARY ? fixture_float(random) : extreme(random);
    }
    if (kind == FIXTURE_EXTREME && n > 0 && fixture_next(random) % 8 == 0) {
        static const float odd[] = { INFINITY, -INFINITY, NAN };

        x[fixture_next(random) % n] = odd[fixture_next(random) % COUNTOF(odd)];
    }
}

/* Makes the half-precision scales at @bytes finite and ordinary. */
static void tame(uint8_t *bytes, struct fixture_random *random)
{
    const uint16_t half = half_from_float(fixture_float(random) * 0.01f);

    memcpy(bytes, &half, sizeof(half));
}

size_t fixture_d_at(uint32_t type)
{
    static const uint16_t at[ELEM_TYPE_COUNT] = {
        /* the others begin with it */
        [ELEM_Q2_K] = offsetof(struct block_q2_k, d),
        [ELEM_Q3_K] = offsetof(struct block_q3_k, d),
        [ELEM_Q6_K] = offsetof(struct block_q6_k, d),
    };

    return at[type];
}

bool fixture_has_m(uint32_t type)
{
    return type == ELEM_Q4_1 || type == ELEM_Q5_1 || type == ELEM_Q2_K || type == ELEM_Q4_K || type == ELEM_Q5_K;
}

static void tame_block(uint32_t type, uint8_t *block, struct fixture_random *random)
{
    tame(block + fixture_d_at(type), random);
    if (fixture_has_m(type)) {
        tame(block + fixture_d_at(type) + 2, random);
    }
}

uint8_t *fixture_weights(uint32_t type, uint32_t n_cols, uint32_t n_rows, enum fixture_kind kind,
                         struct fixture_random *random)
{
    const struct elem_info *info = elem_info(type);
    const size_t offset = type == ELEM_F32 ? 4 : 1;
    const size_t n_blocks = (size_t)n_cols / info->n_block * n_rows;
    const size_t n_bytes = n_blocks * info->n_bytes;
    uint8_t *block = malloc(offset + n_bytes);
    uint8_t *weights;

    ck_assert_ptr_nonnull(block);
    block[offset - 1] = (uint8_t)offset;
    weights = block + offset;
    if (info->n_block == 1) {
        for (size_t i = 0; i < n_blocks; i++) {
            float x[1];
            uint16_t bits;

            fixture_fill(x, 1, kind, random);
            if (type == ELEM_F32) {
                memcpy(weights + 4 * i, x, 4);
                continue;
            }
            bits = type == ELEM_F16 ? half_from_float(x[0]) : (uint16_t)(half_float_bits(x[0]) >> 16);
            memcpy(weights + 2 * i, &bits, 2);
        }
        return weights;
    }
    for (size_t i = 0; i < n_bytes; i++) {
        weights[i] = (uint8_t)fixture_next(random);
    }
    for (size_t i = 0; i < n_blocks && kind == FIXTURE_ORDINARY; i++) {
        tame_block(type, weights + i * info->n_bytes, random);
    }
    return weights;
}

void fixture_free_weights(uint8_t *weights)
{
    free(weights - weights[-1]);
}

float *fixture_guarded(size_t n)
{
    uint8_t *block = malloc(2 * GUARD_SIZE + 4 + n * sizeof(float));

    ck_assert_ptr_nonnull(block);
    memset(block, GUARD, 2 * GUARD_SIZE + 4 + n * sizeof(float));
    return (float *)(void *)(block + GUARD_SIZE + 4);
}

void fixture_free_guarded(float *x, size_t n)
{
    uint8_t *block = (uint8_t *)x - GUARD_SIZE - 4;

    for (size_t i = 0; i < GUARD_SIZE + 4; i++) {
        ck_assert_msg(block[i] == GUARD, "written %zu bytes before the output", GUARD_SIZE + 4 - i);
    }
    for (size_t i = 0; i < GUARD_SIZE; i++) {
        ck_assert_msg(((uint8_t *)(x + n))[i] == GUARD, "written %zu bytes behind the output", i + 1);
    }
    free(block);
}

void *fixture_acts(const struct kern_ops *ops, uint32_t type, const float *x, uint32_t n_cols, uint32_t n_rows,
                   size_t *ret_bytes)
{
    const enum kern_act act = kern_act_of(type);
    const size_t n_bytes = kern_act_bytes(act, n_cols);
    uint8_t *acts = aligned_alloc(KERN_ACT_ALIGN, n_bytes * n_rows + KERN_ACT_ALIGN);

    ck_assert_ptr_nonnull(acts);
    memset(acts, GUARD, n_bytes * n_rows + KERN_ACT_ALIGN);
    for (uint32_t r = 0; r < n_rows; r++) {
        if (act == KERN_ACT_F32) {
            memcpy(acts + r * n_bytes, x + (size_t)r * n_cols, n_cols * sizeof(float));
        } else {
            ops->quantise(act, x + (size_t)r * n_cols, n_cols, acts + r * n_bytes);
        }
    }
    *ret_bytes = n_bytes;
    return acts;
}

bool fixture_golden(const char *name, const char *kind, void *bytes, size_t n)
{
    char file[64];
    char path[512];
    FILE *stream;
    size_t got;

    snprintf(file, sizeof(file), "models/quant-golden/%s.%s.bin", name, kind);
    if (!unit_truth(file, path, sizeof(path))) {
        return false;
    }
    stream = fopen(path, "rb");
    ck_assert_ptr_nonnull(stream);
    got = fread(bytes, 1, n, stream);
    fclose(stream);
    ck_assert_uint_eq(got, n);
    return true;
}

void fixture_same(const float *got, const float *expected, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(got[i]) && isnan(expected[i])) {
            continue;
        }
        ck_assert_msg(memcmp(&got[i], &expected[i], sizeof(float)) == 0, "%s: element %zu of %zu is %a, not %a", what,
                      i, n, (double)got[i], (double)expected[i]);
    }
}
