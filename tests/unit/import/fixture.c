#include "import/fixture.h"
#include "import/import.h"
#include <dirent.h>
#include <fcntl.h>

#define FOLDERS_MAX 8

static char folders[FOLDERS_MAX][FIXTURE_PATH];
static unsigned n_folders;

/* Called at the end of each test, which is a process of its own. */
static void remove_folders(void)
{
    for (unsigned i = 0; i < n_folders; i++) {
        DIR *dir = opendir(folders[i]);
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
            unlink(fixture_path(folders[i], entry->d_name));
        }
        if (dir) {
            closedir(dir);
        }
        rmdir(folders[i]);
    }
}

const char fixture_config[] =
    "{\"model_type\": \"llama\", \"hidden_size\": 8, \"intermediate_size\": 12, \"num_hidden_layers\": 1,"
    " \"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"max_position_embeddings\": 64, "
    "\"rms_norm_eps\": 1e-5,"
    " \"rope_theta\": 10000.0, \"eos_token_id\": 5, \"hidden_act\": \"silu\", \"tie_word_embeddings\": "
    "false}";

/* "\u0120" is how the alphabet of bytes writes a blank. */
const char fixture_tokenizer[] =
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": true},"
    " \"added_tokens\": [{\"id\": 5, \"content\": \"<end>\", \"special\": true},"
    " {\"id\": 6, \"content\": \"<tool>\", \"special\": false}],"
    " \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"\\u0120\": 2, \"ab\": 3, "
    "\"\\u0120ab\": 4},"
    " \"merges\": [\"a b\", [\"\\u0120\", \"ab\"]]}}";

const char *fixture_path(const char *folder, const char *name)
{
    static char paths[2][2 * FIXTURE_PATH];
    static unsigned at;

    at = !at;
    snprintf(paths[at], sizeof(paths[at]), "%s/%s", folder, name);
    return paths[at];
}

const char *fixture_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = folders[n_folders];

    ck_assert_uint_lt(n_folders, FOLDERS_MAX);
    if (n_folders == 0) {
        atexit(remove_folders);
    }
    snprintf(path, FIXTURE_PATH, "%s/sotto-import.XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
    n_folders++;
    return path;
}

void fixture_write(const char *folder, const char *name, const void *bytes, size_t n)
{
    FILE *out = fopen(fixture_path(folder, name), "wb");

    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
    ck_assert_int_eq(fclose(out), 0);
}

void fixture_write_text(const char *folder, const char *name, const char *text)
{
    fixture_write(folder, name, text, strlen(text));
}

void fixture_st(const char *folder, const char *name, const char *head, const void *data, size_t n)
{
    const size_t n_head = strlen(head);
    uint8_t *bytes = calloc(1, 8 + n_head + n + 1);

    ck_assert_ptr_nonnull(bytes);
    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)n_head >> (8 * i));
    }
    memcpy(bytes + 8, head, n_head);
    if (data) {
        memcpy(bytes + 8 + n_head, data, n);
    }
    fixture_write(folder, name, bytes, 8 + n_head + n);
    free(bytes);
}

float fixture_value(const char *name, size_t i)
{
    return (float)((i * 7 + strlen(name) * 3) % 31) / 16.0f - 1.0f;
}

void fixture_add(struct fixture_tensors *tensors, const char *name, const char *dtype, unsigned n_rows, unsigned n_cols,
                 const void *bytes)
{
    const size_t n = (size_t)n_rows * (n_cols ? n_cols : 1);
    const size_t n_bytes = n * (strcmp(dtype, "F32") == 0 || strcmp(dtype, "I32") == 0 ? 4 : 2);
    char shape[32];

    snprintf(shape, sizeof(shape), n_cols ? "%u,%u" : "%u", n_rows, n_cols);
    tensors->n_head +=
        (size_t)snprintf(tensors->head + tensors->n_head, sizeof(tensors->head) - tensors->n_head,
                         "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                         tensors->n_head ? "," : "", name, dtype, shape, tensors->n_data, tensors->n_data + n_bytes);
    ck_assert_uint_le(tensors->n_data + n_bytes, sizeof(tensors->data));
    if (bytes) {
        memcpy(tensors->data + tensors->n_data, bytes, n_bytes);
    }
    for (size_t i = 0; !bytes && i < n; i++) {
        const float value = fixture_value(name, i);

        ck_assert_str_eq(dtype, "F32");
        memcpy(tensors->data + tensors->n_data + 4 * i, &value, 4);
    }
    tensors->n_data += n_bytes;
}

void fixture_save(const struct fixture_tensors *tensors, const char *folder, const char *name)
{
    char head[sizeof(tensors->head) + 2];

    snprintf(head, sizeof(head), "{%s}", tensors->head);
    fixture_st(folder, name, head, tensors->data, tensors->n_data);
}

const char *fixture_llama(const char *leave_out, const char *also)
{
    static const struct {
        const char *name;
        unsigned n_rows;
        unsigned n_cols;
    } rows[] = {
        { "model.embed_tokens.weight", 8, 8 },
        { "model.norm.weight", 8, 0 },
        { "lm_head.weight", 8, 8 },
        { "model.layers.0.input_layernorm.weight", 8, 0 },
        { "model.layers.0.post_attention_layernorm.weight", 8, 0 },
        { "model.layers.0.self_attn.q_proj.weight", 8, 8 },
        { "model.layers.0.self_attn.k_proj.weight", 4, 8 },
        { "model.layers.0.self_attn.v_proj.weight", 4, 8 },
        { "model.layers.0.self_attn.o_proj.weight", 8, 8 },
        { "model.layers.0.self_attn.q_proj.bias", 8, 0 },
        { "model.layers.0.mlp.gate_proj.weight", 12, 8 },
        { "model.layers.0.mlp.up_proj.weight", 12, 8 },
        { "model.layers.0.mlp.down_proj.weight", 8, 12 },
    };
    static struct fixture_tensors tensors;
    const char *folder = fixture_folder();

    memset(&tensors, 0, sizeof(tensors));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!leave_out || strcmp(rows[i].name, leave_out) != 0) {
            fixture_add(&tensors, rows[i].name, "F32", rows[i].n_rows, rows[i].n_cols, NULL);
        }
    }
    if (also) {
        fixture_add(&tensors, also, "F32", 1, 0, NULL);
    }
    fixture_save(&tensors, folder, "model.safetensors");
    fixture_write_text(folder, "config.json", fixture_config);
    fixture_write_text(folder, "tokenizer.json", fixture_tokenizer);
    return folder;
}

void fixture_put(const char *folder, const char *name, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char out[4096];

    ck_assert_msg(at != NULL, "not there: %s", from);
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fixture_write_text(folder, name, out);
}

struct gguf *fixture_head(struct import *import)
{
    const char *folder = fixture_folder();
    struct gguf_writer *writer = import_writer(import);
    struct diag diag = DIAG_INIT;
    struct gguf *gguf = NULL;
    int fd;

    ck_assert_int_eq(gguf_writer_begin(writer, fixture_path(folder, "x.gguf"), false, &diag), GGUF_WRITE_OK);
    ck_assert_int_eq(gguf_writer_finish(writer, &diag), GGUF_WRITE_OK);
    fd = open(fixture_path(folder, "x.gguf"), O_RDONLY);
    ck_assert_int_eq(gguf_read_head(&gguf, fd, 1u << 20, &diag), GGUF_OK);
    close(fd);
    return gguf;
}

uint32_t fixture_u32(const struct gguf *gguf, const char *name)
{
    struct diag diag = DIAG_INIT;
    uint32_t value = 0;

    ck_assert_msg(gguf_get_u32(gguf, name, &value, &diag) == GGUF_GOT, "key %s: %s", name, diag.text);
    return value;
}
