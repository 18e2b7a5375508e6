/*
 * Real: the transcendental functions that decide bits
 *
 * A C library may change its exp between versions; then a stream rebuilt after an update would differ. So the functions
 * that tokens depend on are our own: operations that IEEE 754 defines exactly (+, *, /, fma, conversion), in a fixed
 * order. Every set of kernels that follows the same steps gives the same bits; tests compare every set with these.
 */
#ifndef SOTTO_TENSOR_REAL_H
#define SOTTO_TENSOR_REAL_H

#include <stdint.h>

/*
 * Returns e^x with an error below 1.1 units in the last place (measured 1.05). Below REAL_EXP_MIN: 0 (also where a
 * denormal would be right); above REAL_EXP_MAX: +infinity; NaN stays NaN. real_exp(0) is exactly 1.
 */
float real_exp(float x);

#define REAL_EXP_MIN  (-87.33f)
#define REAL_EXP_MAX  88.72283f
#define REAL_LOG2_E   0x1.715476p+0f
#define REAL_LN2_HIGH 0x1.62e400p-1f /* 15 bits: k times it is exact */
#define REAL_LN2_LOW  0x1.7f7d1cp-20f
#define REAL_EXP_Q0   0x1.000000p-1f
#define REAL_EXP_Q1   0x1.5554dcp-3f
#define REAL_EXP_Q2   0x1.55551ap-5f
#define REAL_EXP_Q3   0x1.120ba2p-7f
#define REAL_EXP_Q4   0x1.6d113ep-10f

/* Returns the natural logarithm with an error below 1 unit in the last place (measured 0.78). 0 gives -infinity; below
 * 0 and NaN give NaN; denormals are exact arguments. */
float real_log(float x);

/*
 * Returns the hyperbolic tangent with an error below 2 units in the last place. Odd to the bit: -0 stays -0;
 * +-infinity: +-1; NaN stays NaN. Below REAL_TANH_SPLIT |x| a polynomial, x + x^3 p(x^2); from there on 1 - 2 / (e^2|x|
 * + 1), then the sign of x.
 */
float real_tanh(float x);

#define REAL_TANH_SPLIT 0.625f
#define REAL_TANH_P0    (-0x1.555552p-2f)
#define REAL_TANH_P1    0x1.110e1cp-3f
#define REAL_TANH_P2    (-0x1.b9258ap-5f)
#define REAL_TANH_P3    0x1.58048ep-6f
#define REAL_TANH_P4    (-0x1.8f8de4p-8f)

/* Return exponential and logarithm in binary64, for tables; relative error below 1e-14. x is within +-700, and above
 * 0. */
double real_exp_wide(double x);
double real_log_wide(double x);

/* Computes sine and cosine with an absolute error below 1e-10 for |x| up to 2^24. */
void real_sincos_wide(double x, double *ret_sin, double *ret_cos);

#endif
