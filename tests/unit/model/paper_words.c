/* The vocabulary of a paper's file: a token for each byte, and others behind them. */
#include "paper_parts.h"
#include "token/token.h"
#include <stdio.h>

#define N_BYTES 256

void paper_words(struct maker *maker)
{
    char text[16];

    maker_key_text(maker, "tokenizer.ggml.model", "llama");
    maker_key_array(maker, "tokenizer.ggml.tokens", GGUF_STRING, PAPER_TOKENS);
    for (uint32_t i = 0; i < PAPER_TOKENS; i++) {
        snprintf(text, sizeof(text), i < N_BYTES ? "<0x%02X>" : "t%u", i);
        maker_text(maker, text);
    }
    maker_key_array(maker, "tokenizer.ggml.token_type", GGUF_I32, PAPER_TOKENS);
    for (uint32_t i = 0; i < PAPER_TOKENS; i++) {
        maker_u32(maker, i < N_BYTES ? TOKEN_BYTE : TOKEN_NORMAL);
    }
    maker_key_array(maker, "tokenizer.ggml.scores", GGUF_F32, PAPER_TOKENS);
    for (uint32_t i = 0; i < PAPER_TOKENS; i++) {
        maker_u32(maker, 0);
    }
}
