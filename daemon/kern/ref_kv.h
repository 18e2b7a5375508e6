/*
 * Ref_kv: one position of one head, into a strip and out of it (kern.h, 6); private to this room
 */
#ifndef SOTTO_KERN_REF_KV_H
#define SOTTO_KERN_REF_KV_H

#include "kern/kv.h"

void ref_kv_put(enum kern_kv kv, const float *x, uint32_t head_dim, uint8_t *strip, uint32_t lane);
void ref_kv_get(enum kern_kv kv, uint8_t *strip, uint32_t lane, uint32_t head_dim, float *out);

#endif
