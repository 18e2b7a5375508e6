/*
 * Avx2_one_k: one_fn of the formats with super-blocks; private to the set
 */
#ifndef SOTTO_KERN_AVX2_ONE_K_H
#define SOTTO_KERN_AVX2_ONE_K_H

#include "kern/avx2_one.h"

void avx2_one_q2_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
void avx2_one_q3_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
void avx2_one_q4_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
void avx2_one_q5_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
void avx2_one_q6_k(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act, float *out);
void avx2_one_iq4_xs(const uint8_t *const rows[PANEL_ROWS], uint32_t n_cols, const struct kern_act_row *act,
                     float *out);

#endif
