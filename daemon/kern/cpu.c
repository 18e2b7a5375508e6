/*
 * Cpu: on x86-64 cpuid tells what the processor has, xgetbv whether the system saves the registers for it; on Arm the
 * system tells both
 *
 * A processor with AVX2 under a system that does not save the upper halves of its registers gives an illegal
 * instruction, or worse; so both must agree.
 */
#include "kern/cpu.h"

#include "base/clean.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

uint32_t cpu_decode(const struct cpu_words *words)
{
    const uint32_t osxsave_and_avx = 1u << 27 | 1u << 28;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    const uint64_t xmm_and_ymm = 0x6;
    const uint64_t masks_and_zmm = 0xe0;
    uint32_t cpu = 0;

    if ((words->leaf1_ecx & osxsave_and_avx) != osxsave_and_avx || (words->xcr0 & xmm_and_ymm) != xmm_and_ymm) {
        return 0;
    }
    if (words->leaf1_ecx & 1u << 12) {
        cpu |= CPU_FMA;
    }
    if (words->leaf1_ecx & 1u << 29) {
        cpu |= CPU_F16C;
    }
    if (words->max_leaf < 7) {
        return cpu;
    }
    if (words->leaf7_ebx & 1u << 5) {
        cpu |= CPU_AVX2;
    }
    if ((words->leaf7_ebx & avx512) == avx512 && (words->xcr0 & masks_and_zmm) == masks_and_zmm) {
        cpu |= CPU_AVX512;
        cpu |= words->leaf7_ecx & 1u << 11 ? CPU_VNNI : 0;
    }
    if (words->leaf7_1_eax & 1u << 4) {
        cpu |= CPU_AVX_VNNI;
    }
    return cpu;
}

uint32_t cpu_decode_arm(uint64_t hwcap, uint64_t hwcap2)
{
    uint32_t cpu = 0;

    if (!(hwcap & 1u << 1)) { /* ASIMD */
        return 0;
    }
    cpu |= CPU_NEON;
    if (hwcap & 1u << 20) { /* ASIMDDP */
        cpu |= CPU_DOTPROD;
        cpu |= hwcap2 & 1u << 13 ? CPU_I8MM : 0;
    }
    return cpu;
}

uint32_t cpu_detect(void)
{
#if defined(__x86_64__)
    const uint32_t osxsave = 1u << 27;
    struct cpu_words words = { 0 };
    unsigned int a, b, c, d;

    words.max_leaf = __get_cpuid_max(0, NULL);
    if (words.max_leaf < 1) {
        return 0;
    }
    __cpuid(1, a, b, c, d);
    words.leaf1_ecx = c;
    if (words.max_leaf >= 7) {
        __cpuid_count(7, 0, a, b, c, d);
        words.leaf7_ebx = b;
        words.leaf7_ecx = c;
        if (a >= 1) {
            __cpuid_count(7, 1, a, b, c, d);
            words.leaf7_1_eax = a;
        }
    }
    if (words.leaf1_ecx & osxsave) {
        uint32_t low, high;

        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        words.xcr0 = (uint64_t)high << 32 | low;
    }
    return cpu_decode(&words);
#elif defined(__aarch64__)
    return cpu_decode_arm(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#else
    return 0;
#endif
}

bool cpu_mask(const char *name, uint32_t *ret_mask)
{
    static const struct {
        const char *name;
        uint32_t mask;
    } sets[] = {
        { "", UINT32_MAX },
        { "scalar", 0 },
        { "avx2", CPU_AVX2 | CPU_FMA | CPU_F16C },
        { "avx2-vnni", CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX_VNNI | CPU_VNNI },
        { "avx512", CPU_AVX2 | CPU_FMA | CPU_F16C | CPU_AVX512 | CPU_VNNI },
        { "neon", CPU_NEON },
        { "neon-dotprod", CPU_NEON | CPU_DOTPROD },
        { "neon-i8mm", CPU_NEON | CPU_DOTPROD | CPU_I8MM },
    };

    for (size_t i = 0; i < COUNTOF(sets); i++) {
        if (strcmp(name, sets[i].name) == 0) {
            *ret_mask = sets[i].mask;
            return true;
        }
    }
    return false;
}
