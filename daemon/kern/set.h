/*
 * Set: what the files of this module export to each other; private to the module
 */
#ifndef SOTTO_KERN_SET_H
#define SOTTO_KERN_SET_H

#include "kern/kern.h"

/* Each file of a kernel set exports one function, which fills its slots. */
void kern_fill_ref_unpack(struct kern_ops *ops);
void kern_fill_ref_dot(struct kern_ops *ops);
void kern_fill_ref_elem(struct kern_ops *ops);
void kern_fill_ref_attn(struct kern_ops *ops);
void kern_fill_ref_delta(struct kern_ops *ops);

/* The slot matmul of the definition, on which other sets fall back. */
void ref_matmul(const struct kern_matmul *op, uint32_t first, uint32_t n);

/* Kernels with vec.h: in avx2 (HAVE_KERN_AVX2) and neon (HAVE_KERN_NEON). */
void kern_fill_vec_quant(struct kern_ops *ops);
void kern_fill_vec_elem(struct kern_ops *ops);
void kern_fill_vec_attn(struct kern_ops *ops);
void kern_fill_vec_delta(struct kern_ops *ops);

/* The slot matmul for float weights. */
void vec_matmul_floats(const struct kern_matmul *op, uint32_t first, uint32_t n);

/* These exist only where the build has the set (HAVE_KERN_AVX2). */
void kern_fill_avx2_dot(struct kern_ops *ops);

/* The slot matmul of avx2. */
void avx2_matmul(const struct kern_matmul *op, uint32_t first, uint32_t n);

/* The slot attend with vec.h. */
void vec_attend(const struct kern_attend *op, uint32_t first, uint32_t n);

/* These exist only where the build has the set (HAVE_KERN_AVX512, ...). */
void kern_fill_avx512_dot(struct kern_ops *ops);
void kern_fill_avx512_attn(struct kern_ops *ops);
void kern_fill_avx2_vnni(struct kern_ops *ops);
void kern_fill_avx2_avxvnni(struct kern_ops *ops);
void kern_fill_neon_dot(struct kern_ops *ops);
void kern_fill_neon_dotprod(struct kern_ops *ops);
void kern_fill_neon_i8mm(struct kern_ops *ops);

/* The part of the slot matmul of avx512 for float weights. */
void avx512_matmul_floats(const struct kern_matmul *op, uint32_t first, uint32_t n);

/* Each writes one block of the floats at @x, all finite. */
void quant_q2_k(const float *x, void *out);
void quant_q3_k(const float *x, void *out);
void quant_q4_k(const float *x, void *out);
void quant_q5_k(const float *x, void *out);
void quant_q6_k(const float *x, void *out);
void quant_iq4_nl(const float *x, void *out);
void quant_iq4_xs(const float *x, void *out);

#endif
