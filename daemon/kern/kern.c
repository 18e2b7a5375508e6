/*
 * Kern: the table of kernels, filled from the plainest set up
 */
#include "kern/kern.h"

#include "base/clean.h"
#include "kern/set.h"

static void fill_ref(struct kern_ops *ops)
{
    kern_fill_ref_unpack(ops);
    kern_fill_ref_dot(ops);
    kern_fill_ref_elem(ops);
    kern_fill_ref_attn(ops);
    kern_fill_ref_delta(ops);
}

#if defined(HAVE_KERN_AVX2) || defined(HAVE_KERN_NEON)
/* Unpacking stays the definition's: only single rows and tests use it. */
static void fill_vec(struct kern_ops *ops)
{
    kern_fill_vec_quant(ops);
    kern_fill_vec_elem(ops);
    kern_fill_vec_attn(ops);
    kern_fill_vec_delta(ops);
}
#endif

#ifdef HAVE_KERN_AVX2
static void fill_avx2(struct kern_ops *ops)
{
    fill_vec(ops);
    kern_fill_avx2_dot(ops);
}
#endif

#ifdef HAVE_KERN_AVX512
static void fill_avx512(struct kern_ops *ops)
{
    kern_fill_avx512_dot(ops);
    kern_fill_avx512_attn(ops);
}
#endif

#ifdef HAVE_KERN_NEON
static void fill_neon(struct kern_ops *ops)
{
    fill_vec(ops);
    kern_fill_neon_dot(ops);
}
#endif

/* A set overwrites slots of those above it; the slots that it leaves stay as they are. */
static const struct {
    const char *name;
    uint32_t needs; /* bits of the processor */
    void (*fill)(struct kern_ops *ops);
} sets[] = {
    { "scalar", 0, fill_ref },
#ifdef HAVE_KERN_AVX2
    { "avx2", CPU_AVX2 | CPU_FMA | CPU_F16C, fill_avx2 },
#endif
#ifdef HAVE_KERN_AVX2_VNNI
    { "avx2-vnni", CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_VNNI, kern_fill_avx2_vnni },
#endif
#ifdef HAVE_KERN_AVX2_AVXVNNI
    { "avx2-vnni", CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX_VNNI, kern_fill_avx2_avxvnni },
#endif
#ifdef HAVE_KERN_AVX512
    { "avx512", CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_VNNI, fill_avx512 },
#endif
#ifdef HAVE_KERN_NEON
    { "neon", CPU_NEON, fill_neon },
#endif
#ifdef HAVE_KERN_NEON_DOTPROD
    { "neon-dotprod", CPU_NEON | CPU_DOTPROD, kern_fill_neon_dotprod },
#endif
#ifdef HAVE_KERN_NEON_I8MM
    { "neon-i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM, kern_fill_neon_i8mm },
#endif
};

void kern_choose(struct kern_ops *ops, uint32_t cpu)
{
    for (size_t i = 0; i < COUNTOF(sets); i++) {
        if ((cpu & sets[i].needs) == sets[i].needs) {
            ops->name = sets[i].name;
            sets[i].fill(ops);
        }
    }
}
