/*
 * Roofline: what no engine can beat, from sizes and a bandwidth
 *
 * A token needs every weight once and every kept key and value of its stream once; memory hands over so many bytes a
 * second, and no arithmetic makes it hand over fewer. docs/roofline.md derives the formulas and applies them.
 * Pure; any thread.
 */
#ifndef SOTTO_TOOL_ROOFLINE_H
#define SOTTO_TOOL_ROOFLINE_H

#include <stdint.h>

/* Bytes of @n_weights weights of @bits each, scales included in the bits. */
double roofline_weight_bytes(double n_weights, double bits);

/* Bytes of the keys and values of one token: two vectors for each layer and head of keys, @bits an element. */
double roofline_kv_bytes(uint32_t n_layers, uint32_t n_kv_heads, uint32_t head_dim, double bits);

/*
 * The least milliseconds of a step that makes one token for each of @n_streams, each @n_tokens long: the weights are
 * read once for all, keys and values for each. @bytes_per_s above 0.
 */
double roofline_step_ms(double weight_bytes, double kv_token_bytes, double n_tokens, double n_streams,
                        double bytes_per_s);

/* Tokens whose keys and values fit into @memory_bytes beside @taken_bytes; whole ones. */
double roofline_context(double memory_bytes, double taken_bytes, double kv_token_bytes);

#define ROOFLINE_MOST 1e18 /* an exabyte: beyond any memory, and a double still becomes a uint64_t */

enum roofline_outcome {
    ROOFLINE_OK,
    ROOFLINE_NO_QUANTITY, /* not a number of 1 to ROOFLINE_MOST bytes with a unit behind it */
};

/* Reads "34GB/s", "4GiB", "512 MB", "7": k, M, G, T are powers of 1000, with an "i" of 1024; "B" and "/s" may be left
 * out. */
int roofline_read(const char *text, double *ret_bytes);

#endif
