/*
 * Cpu: instruction set extensions of this processor
 *
 * A bit stands for an extension that the processor has, and that has its registers saved by the system. Sets of kernels
 * need several; kern_choose() knows which.
 */
#ifndef SOTTO_KERN_CPU_H
#define SOTTO_KERN_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum cpu_bit {
    CPU_AVX2 = 1u << 0,
    CPU_FMA = 1u << 1,
    CPU_F16C = 1u << 2,
    CPU_AVX512 = 1u << 3, /* F, BW, DQ and VL */
    CPU_VNNI = 1u << 4,   /* AVX512_VNNI, beside all of CPU_AVX512 */
    CPU_AVX_VNNI = 1u << 5,
    CPU_NEON = 1u << 6,
    CPU_DOTPROD = 1u << 7,
    CPU_I8MM = 1u << 8,
};

/* Answers of cpuid and xgetbv; separate from the detection so that tests can pass their own. */
struct cpu_words {
    uint32_t max_leaf;
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx;
    uint32_t leaf7_ecx;
    uint32_t leaf7_1_eax;
    uint64_t xcr0; /* 0 if the system does not use xsave */
};

/* Returns the bits that @words allow. Pure. */
uint32_t cpu_decode(const struct cpu_words *words);

/* Returns the bits that the two words allow in which Linux describes a 64-bit Arm processor (getauxval(3)). Pure. */
uint32_t cpu_decode_arm(uint64_t hwcap, uint64_t hwcap2);

/* Returns the bits of the processor we run on; 0 on others than x86-64 and 64-bit Arm. */
uint32_t cpu_detect(void);

/*
 * Gives the bits that the set @name may use: "" all, "scalar" none, or one of the other sets. Returns false if there is
 * no such set; *ret_mask is then untouched. Pass `cpu_detect() & mask` to kern_choose().
 */
bool cpu_mask(const char *name, uint32_t *ret_mask);

/* The names of all sets, in words. */
#define CPU_SETS "scalar, avx2, avx2-vnni, avx512, neon, neon-dotprod or neon-i8mm"

#endif
