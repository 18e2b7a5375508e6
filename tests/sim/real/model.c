#include "real/model.h"
#include "base/utf8.h"
#include "gguf/write.h"
#include "token/token.h"
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_OF_ONE 8u /* of the longest spelling, with room */

static const char *const names[] = { "first", "second" };

const char *model_name(uint32_t engine)
{
    return names[engine];
}

uint32_t model_number(const char *name)
{
    return strcmp(name, names[0]) == 0 ? 0 : 1;
}

/* Spells the 256 bytes as byte-level vocabularies do since GPT-2: a printable one as itself, the n-th of the others as
 * U+0100 + n. */
static void spell_bytes(struct gguf_text *texts, char (*spelt)[BYTES_OF_ONE])
{
    uint32_t n_odd = 0;

    for (uint32_t byte = 0; byte < 256; byte++) {
        bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
        uint32_t point = is_printable ? byte : 0x100 + n_odd++;

        texts[byte] = (struct gguf_text){ .bytes = spelt[byte], .n = utf8_write(point, (uint8_t *)spelt[byte]) };
    }
}

static void put_vocabulary(struct gguf_writer *writer)
{
    struct gguf_text texts[MODEL_VOCABULARY];
    uint32_t types[MODEL_VOCABULARY];
    char spelt[256][BYTES_OF_ONE];

    spell_bytes(texts, spelt);
    texts[MODEL_END_ID] = (struct gguf_text){ .bytes = "<|end|>", .n = strlen("<|end|>") };
    for (uint32_t i = 0; i < MODEL_VOCABULARY; i++) {
        types[i] = i == MODEL_END_ID ? TOKEN_CONTROL : TOKEN_NORMAL;
    }
    gguf_put_text(writer, "tokenizer.ggml.model", "gpt2", 4);
    gguf_put_text(writer, "tokenizer.ggml.pre", "smollm", 6);
    gguf_put_texts(writer, "tokenizer.ggml.tokens", texts, MODEL_VOCABULARY);
    gguf_put_numbers(writer, "tokenizer.ggml.token_type", GGUF_I32, types, MODEL_VOCABULARY);
    gguf_put_texts(writer, "tokenizer.ggml.merges", NULL, 0);
    gguf_put_u32(writer, "tokenizer.ggml.eos_token_id", MODEL_END_ID);
}

int model_make(void)
{
    char folder[] = "/tmp/sotto-sim-XXXXXX";
    struct diag diag = DIAG_INIT;
    struct gguf_writer *writer;
    char path[sizeof(folder) + 8];
    int fd;
    int r;

    r = mkdtemp(folder) ? gguf_writer_create(&writer) : -1;
    assert(r == 0);
    snprintf(path, sizeof(path), "%s/model", folder);
    put_vocabulary(writer);
    r = gguf_writer_begin(writer, path, false, &diag);
    r = r ? r : gguf_writer_finish(writer, &diag);
    assert(r == GGUF_WRITE_OK);
    (void)r;
    gguf_writer_destroy(writer);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    unlink(path);
    rmdir(folder);
    return fd;
}
