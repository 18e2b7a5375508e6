/*
 * About 210 broken, hostile and odd files, made by the script beside the truth data, are read as models and
 * vocabularies.
 *
 * The result must be that of the manifest, except for flaws of hyperparameters and shapes of weights, which the model
 * refuses. No file may take memory out of proportion to its size, or much time.
 */
#include "load.h"
#include "tiny.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define HEAD_BYTES_MAX (64u << 20)

/* A file of @n bytes may make us hold its head twice (growing), the directories, and the tables of the vocabulary. */
#define MEMORY_MAX(n) (8 * (uint64_t)(n) + (4u << 20))

/* The limit holds under sanitizers too; the largest file has 1 MiB. */
#define FILE_CPU_MS_MAX 3000

/* Prefixes of files with flaws that only the model can see. */
static const char *const model_flaws[] = {
    "arch-",    "head-count", "embedding-length", "block-count",    "feed-forward",
    "rope-dim", "norm-short", "ffn-down-small",   "attn-q-missing", "attn-k-i32",
};

/* Size of the loop of tests; places behind the last file pass. */
#define N_FILES_MAX 240

static char folder[] = "/tmp/sotto-hostile-XXXXXX";
static json_t *manifest;

static int run(const char *const *argv)
{
    const pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout)) {
            _exit(126);
        }
        execv(argv[0], (char *const *)(const void *)argv);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void make_files(void)
{
    char script[4096];
    char path[4096];

    if (!unit_truth("gguf-hostile/make_hostile.py", script, sizeof(script))) {
        return;
    }
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(run((const char *const[]){ "/usr/bin/python3", "-B", script, folder, NULL }), 0);
    snprintf(path, sizeof(path), "%s/manifest.json", folder);
    manifest = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(manifest);
    ck_assert_uint_gt(json_array_size(manifest), 200);
    ck_assert_uint_le(json_array_size(manifest), N_FILES_MAX);
}

static void remove_files(void)
{
    if (manifest) {
        json_decref(manifest);
        run((const char *const[]){ "/bin/rm", "-r", folder, NULL });
    }
}

static bool is_for_the_model(const char *name)
{
    for (size_t i = 0; i < sizeof(model_flaws) / sizeof(model_flaws[0]); i++) {
        if (strncmp(name, model_flaws[i], strlen(model_flaws[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Tokenizes words and marks by a vocabulary from such a file. */
static void use(const struct vocab *vocab)
{
    static const char text[] = "the <s> thing </s> <0x41> \xf0\x9f\x98\x80 zzz an";
    struct ids ids = { 0 };
    struct buf out;

    ck_assert_int_eq(vocab_tokenize(vocab, text, strlen(text), TOKENIZE_BOS | TOKENIZE_SPECIAL, &ids, NULL),
                     TOKENIZE_OK);
    buf_init(&out, MEM_MISC, 16u << 20);
    ck_assert_int_eq(vocab_detokenize(vocab, ids.ids, ids.n, true, &out, NULL), TOKENIZE_OK);
    for (uint32_t id = 0; id < vocab_n(vocab); id++) {
        vocab_ends(vocab, id);
        ck_assert_uint_le(vocab_piece(vocab, id).n, vocab_text(vocab, id).n);
    }
    buf_finish(&out);
    ids_finish(&ids);
}

/* Returns whether head and vocabulary load; @diag says why not. */
static bool load(const char *path, struct diag *diag)
{
    struct gguf *gguf = NULL;
    struct vocab *vocab = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r;

    ck_assert_int_ge(fd, 0);
    r = gguf_read_head(&gguf, fd, HEAD_BYTES_MAX, diag);
    close(fd);
    ck_assert_int_ge(r, 0);
    if (r == GGUF_OK) {
        r = vocab_create(&vocab, gguf, diag);
        ck_assert_int_ge(r, 0);
        gguf_destroy(gguf);
    }
    if (r) {
        return false;
    }
    use(vocab);
    vocab_destroy(vocab);
    return true;
}

static void check_file(const char *name, const char *verdict, json_int_t n_bytes)
{
    struct mem_account file;
    struct mem_account words;
    struct diag diag = DIAG_INIT;
    char path[4096];
    bool loaded;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    loaded = load(path, &diag);

    ck_assert_msg(clock() / (CLOCKS_PER_SEC / 1000) < FILE_CPU_MS_MAX, "%s took too long", name);
    mem_read(MEM_FILE, &file);
    mem_read(MEM_TEXT, &words);
    ck_assert_msg(file.peak_bytes + words.peak_bytes < MEMORY_MAX(n_bytes), "%s of %lld bytes took %llu + %llu", name,
                  (long long)n_bytes, (unsigned long long)file.peak_bytes, (unsigned long long)words.peak_bytes);
    ck_assert_uint_eq(file.bytes + words.bytes, 0);
    ck_assert_msg(loaded || diag_is_set(&diag), "%s is refused without a word", name);
    if (strcmp(verdict, "load") == 0) {
        ck_assert_msg(loaded, "%s must load: %s", name, diag.text);
    }
    if (strcmp(verdict, "reject") == 0 && !is_for_the_model(name)) {
        ck_assert_msg(!loaded, "%s must be refused", name);
    }
}

/* Each file has a process of its own, so that the peak of memory is its own. */
START_TEST(hostile_files_come_out_as_the_manifest_says)
{
    const json_t *row = json_array_get(manifest, (size_t)_i);

    if (row) {
        check_file(json_string_value(json_object_get(row, "file")), json_string_value(json_object_get(row, "verdict")),
                   json_integer_value(json_object_get(row, "bytes")));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("token-hostile");
    TCase *tcase = tcase_create("hostile");

    tcase_add_unchecked_fixture(tcase, make_files, remove_files);
    tcase_add_loop_test(tcase, hostile_files_come_out_as_the_manifest_says, 0, N_FILES_MAX);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
