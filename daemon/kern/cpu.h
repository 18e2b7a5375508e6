/*
 * Cpu: what this processor may be asked to do
 *
 * A bit stands for an extension that the processor has and whose registers the system saves. Sets of kernels want
 * several; kern_choose() knows which.
 */
#ifndef SOTTO_KERN_CPU_H
#define SOTTO_KERN_CPU_H

#include <stdbool.h>
#include <stdint.h>

enum cpu_bit {
    CPU_AVX2 = 1u << 0,
    CPU_FMA = 1u << 1,
    CPU_F16C = 1u << 2,
};

/* Answers of the processor, as cpuid and xgetbv give them; separate from the asking so that tests can play one. */
struct cpu_words {
    uint32_t max_leaf;
    uint32_t leaf1_ecx;
    uint32_t leaf7_ebx;
    uint64_t xcr0; /* 0 if the system does not use xsave */
};

/* Pure: the bits that @words allow. */
uint32_t cpu_decode(const struct cpu_words *words);

/* The bits of the processor we run on; 0 on others than x86-64. */
uint32_t cpu_detect(void);

/*
 * Bits that the best set named @name may use: "" all, "scalar" none, "avx2". False: there is no such set; *ret_mask
 * is untouched. `cpu_detect() & mask` goes to kern_choose().
 */
bool cpu_mask(const char *name, uint32_t *ret_mask);

#endif
