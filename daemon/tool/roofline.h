/*
 * Roofline: bounds that no engine can beat, from sizes and a bandwidth (Williams, Waterman, Patterson 2009)
 *
 * A token needs every weight once and every stored key and value of its stream once, and memory delivers only so many
 * bytes a second. docs/roofline.md derives the formulas and applies them.
 * Pure; any thread.
 */
#ifndef SOTTO_TOOL_ROOFLINE_H
#define SOTTO_TOOL_ROOFLINE_H

#include <stdint.h>

/* Returns the bytes of @n_weights weights of @bits each, including scales. */
double roofline_weight_bytes(double n_weights, double bits);

/* Returns the bytes of the keys and values of one token: two vectors for each layer and KV head, @bits an element. */
double roofline_kv_bytes(uint32_t n_layers, uint32_t n_kv_heads, uint32_t head_dim, double bits);

/*
 * Returns the least milliseconds of a step that makes one token for each of @n_streams, each @n_tokens long: weights
 * are read once for all, keys and values for each. @bytes_per_s is above 0.
 */
double roofline_step_ms(double weight_bytes, double kv_token_bytes, double n_tokens, double n_streams,
                        double bytes_per_s);

/* Returns how many tokens have keys and values that fit into @memory_bytes beside @taken_bytes. */
double roofline_context(double memory_bytes, double taken_bytes, double kv_token_bytes);

#define ROOFLINE_MOST 1e18 /* an exabyte: more than any memory, and still fits a uint64_t */

enum roofline_outcome {
    ROOFLINE_OK,
    ROOFLINE_NO_QUANTITY, /* not a number of 1 to ROOFLINE_MOST bytes with a unit */
};

/* Reads "34GB/s", "4GiB", "512 MB", "7": k, M, G, T are powers of 1000, with an "i" of 1024; "B" and "/s" are optional.
 * Returns a roofline_outcome. */
int roofline_read(const char *text, double *ret_bytes);

#endif
