/*
 * Set: what the files of a kernel set export to kern.c, one filler each; private to this room
 */
#ifndef SOTTO_KERN_SET_H
#define SOTTO_KERN_SET_H

#include "kern/kern.h"

void kern_fill_ref_unpack(struct kern_ops *ops);
void kern_fill_ref_dot(struct kern_ops *ops);
void kern_fill_ref_elem(struct kern_ops *ops);
void kern_fill_ref_attn(struct kern_ops *ops);
void kern_fill_ref_delta(struct kern_ops *ops);

/* Only where the build has the set (HAVE_KERN_AVX2). */
void kern_fill_avx2_dot(struct kern_ops *ops);
void kern_fill_avx2_elem(struct kern_ops *ops);
void kern_fill_avx2_attn(struct kern_ops *ops);
void kern_fill_avx2_delta(struct kern_ops *ops);

#endif
