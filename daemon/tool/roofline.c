/*
 * Roofline: the formulas, and numbers with units
 */
#include "tool/roofline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 32 /* more digits than any number of bytes has */

double roofline_weight_bytes(double n_weights, double bits)
{
    return n_weights * bits / 8;
}

double roofline_kv_bytes(uint32_t n_layers, uint32_t n_kv_heads, uint32_t head_dim, double bits)
{
    return 2.0 * n_layers * n_kv_heads * head_dim * bits / 8;
}

double roofline_step_ms(double weight_bytes, double kv_token_bytes, double n_tokens, double n_streams,
                        double bytes_per_s)
{
    return 1000 * (weight_bytes + n_streams * n_tokens * kv_token_bytes) / bytes_per_s;
}

double roofline_context(double memory_bytes, double taken_bytes, double kv_token_bytes)
{
    return memory_bytes > taken_bytes ? floor((memory_bytes - taken_bytes) / kv_token_bytes) : 0;
}

/* Returns the factor of the unit @text, or 0 if it is not a unit. */
static double factor_of(const char *text)
{
    static const char prefixes[] = "kMGT";
    const char *at = *text ? strchr(prefixes, *text == 'K' ? 'k' : *text) : NULL;
    double factor = 1;

    if (at) {
        double base = text[1] == 'i' ? 1024 : 1000;

        for (const char *power = prefixes; power <= at; power++) {
            factor *= base;
        }
        text += text[1] == 'i' ? 2 : 1;
    }
    text += *text == 'B';
    return *text == '\0' || strcmp(text, "/s") == 0 ? factor : 0;
}

int roofline_read(const char *text, double *ret_bytes)
{
    /* strtod() alone would also accept blanks, signs, powers, hexadecimal numbers, "inf" and "nan". */
    size_t n = strspn(text, "0123456789.");
    char digits[NUMBER_BYTES];
    char *end;
    double value;

    if (n == 0 || n >= sizeof(digits)) {
        return ROOFLINE_NO_QUANTITY;
    }
    memcpy(digits, text, n);
    digits[n] = '\0';
    value = strtod(digits, &end) * factor_of(text + n + (text[n] == ' '));
    if (*end || !(value >= 1 && value <= ROOFLINE_MOST)) {
        return ROOFLINE_NO_QUANTITY;
    }
    *ret_bytes = value;
    return ROOFLINE_OK;
}
