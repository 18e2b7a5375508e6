/* The vocabulary of a reference's file: a token for each byte, and others behind them. */
#include "reference_parts.h"
#include "token/token.h"
#include <stdio.h>

#define N_BYTES 256

void reference_vocab(struct maker *maker)
{
    char text[16];

    maker_key_text(maker, "tokenizer.ggml.model", "llama");
    maker_key_array(maker, "tokenizer.ggml.tokens", GGUF_STRING, REFERENCE_TOKENS);
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        snprintf(text, sizeof(text), i < N_BYTES ? "<0x%02X>" : "t%u", i);
        maker_text(maker, text);
    }
    maker_key_array(maker, "tokenizer.ggml.token_type", GGUF_I32, REFERENCE_TOKENS);
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        maker_u32(maker, i < N_BYTES ? TOKEN_BYTE : TOKEN_NORMAL);
    }
    maker_key_array(maker, "tokenizer.ggml.scores", GGUF_F32, REFERENCE_TOKENS);
    for (uint32_t i = 0; i < REFERENCE_TOKENS; i++) {
        maker_u32(maker, 0);
    }
}
