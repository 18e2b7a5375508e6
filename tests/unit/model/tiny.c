#include "tiny.h"
#include "base/clean.h"
#include "maker.h"
#include "unit.h"
#include <string.h>
#include <sys/mman.h>

#define ALIGN 32

static const struct key_row {
    const char *name;
    uint32_t value;
} key_rows[] = {
    { "llama.block_count", 2 },
    { "llama.embedding_length", 256 },
    { "llama.feed_forward_length", 512 },
    { "llama.attention.head_count", 4 },
    { "llama.attention.head_count_kv", 2 },
    { "llama.context_length", TINY_CONTEXT },
};

static const struct tensor_row {
    const char *name;
    uint64_t n_cols;
    uint64_t n_rows; /* 0: one dimension, F32 */
} tensor_rows[] = {
    { "token_embd.weight", 256, TINY_TOKENS }, { "output_norm.weight", 256, 0 },
    { "output.weight", 256, TINY_TOKENS },     { "blk.0.attn_norm.weight", 256, 0 },
    { "blk.0.attn_q.weight", 256, 256 },       { "blk.0.attn_k.weight", 256, 128 },
    { "blk.0.attn_v.weight", 256, 128 },       { "blk.0.attn_output.weight", 256, 256 },
    { "blk.0.ffn_norm.weight", 256, 0 },       { "blk.0.ffn_gate.weight", 256, 512 },
    { "blk.0.ffn_up.weight", 256, 512 },       { "blk.0.ffn_down.weight", 512, 256 },
    { "blk.1.attn_norm.weight", 256, 0 },      { "blk.1.attn_q.weight", 256, 256 },
    { "blk.1.attn_k.weight", 256, 128 },       { "blk.1.attn_v.weight", 256, 128 },
    { "blk.1.attn_output.weight", 256, 256 },  { "blk.1.ffn_norm.weight", 256, 0 },
    { "blk.1.ffn_gate.weight", 256, 512 },     { "blk.1.ffn_up.weight", 256, 512 },
    { "blk.1.ffn_down.weight", 512, 256 },
};

static bool is_omitted(const struct tiny *tiny, const char *name)
{
    for (size_t i = 0; i < COUNTOF(tiny->omit) && tiny->omit[i]; i++) {
        if (strcmp(tiny->omit[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void write_keys(struct maker *maker, const struct tiny *tiny)
{
    float eps = tiny->eps != 0.0f ? tiny->eps : 1e-5f;
    uint32_t n_listed = tiny->n_listed ? tiny->n_listed : TINY_TOKENS;
    bool is_set = false;

    if (!is_omitted(tiny, "general.architecture")) {
        maker_key_text(maker, "general.architecture", tiny->arch ? tiny->arch : "llama");
    }
    for (size_t i = 0; i < COUNTOF(key_rows); i++) {
        bool is_it = tiny->key && strcmp(tiny->key, key_rows[i].name) == 0;

        is_set = is_set || is_it;
        if (!is_omitted(tiny, key_rows[i].name)) {
            maker_key_u32(maker, key_rows[i].name, is_it ? tiny->value : key_rows[i].value);
        }
    }
    if (tiny->key && !is_set) {
        maker_key_u32(maker, tiny->key, tiny->value);
    }
    if (tiny->text_key) {
        maker_key_text(maker, tiny->text_key, tiny->text);
    }
    if (!is_omitted(tiny, "llama.attention.layer_norm_rms_epsilon")) {
        maker_key(maker, "llama.attention.layer_norm_rms_epsilon", GGUF_F32);
        maker_bytes(maker, &eps, sizeof(eps));
    }
    if (!is_omitted(tiny, "tokenizer.ggml.tokens")) {
        maker_key_array(maker, "tokenizer.ggml.tokens", GGUF_STRING, n_listed);
        for (uint32_t i = 0; i < n_listed; i++) {
            char text[16];

            snprintf(text, sizeof(text), "t%u", i);
            maker_text(maker, text);
        }
    }
}

/* Returns where the next tensor may begin. */
static uint64_t write_tensor(struct maker *maker, const char *name, uint32_t type, const uint64_t *dims, uint64_t at)
{
    uint64_t row_bytes;

    ck_assert(elem_row_bytes(type, dims[0], &row_bytes));
    maker_tensor(maker, name, dims[1] ? 2 : 1, dims, type, at);
    return at + (row_bytes * (dims[1] ? dims[1] : 1) + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t write_tensors(struct maker *maker, const struct tiny *tiny)
{
    bool is_written = false;
    uint64_t at = 0;

    for (size_t i = 0; i < COUNTOF(tensor_rows); i++) {
        const struct tensor_row *row = &tensor_rows[i];
        bool is_it = tiny->tensor && strcmp(tiny->tensor, row->name) == 0;
        uint64_t dims[2] = { is_it ? tiny->n_cols : row->n_cols, is_it ? tiny->n_rows : row->n_rows };
        uint32_t type = is_it ? tiny->type : row->n_rows ? ELEM_F16 : ELEM_F32;

        is_written = is_written || is_it;
        if (!is_omitted(tiny, row->name)) {
            at = write_tensor(maker, row->name, type, dims, at);
        }
    }
    if (tiny->tensor && !is_written) {
        at = write_tensor(maker, tiny->tensor, tiny->type, (uint64_t[]){ tiny->n_cols, tiny->n_rows }, at);
    }
    return at;
}

void tiny_file(const struct tiny *tiny, char *path, size_t cap)
{
    struct maker maker;
    const uint8_t *bytes;
    uint64_t n_data;
    size_t n;
    int fd = memfd_create("tiny.gguf", MFD_CLOEXEC);

    maker_init(&maker, 3);
    write_keys(&maker, tiny);
    n_data = write_tensors(&maker, tiny);
    maker_data(&maker, ALIGN, 0);
    bytes = maker_file(&maker, &n);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    ck_assert_int_eq(ftruncate(fd, (off_t)(n + n_data)), 0);
    maker_finish(&maker);
    snprintf(path, cap, "/proc/self/fd/%d", fd);
}
