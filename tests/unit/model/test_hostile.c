/*
 * Files made to break a loader, each with a verdict: `reject` must be refused with a sentence, `load` must run, `safe`
 * may do either. As in the daemon, a file counts as refused if the model or the vocabulary refuses it. What loads
 * must answer a short prompt without harm.
 *
 * The files are written by the truth folder's own script. The limit on address space turns an allocation out of
 * proportion into a failure (not under AddressSanitizer, which needs terabytes of it).
 */
#include "base/clean.h"
#include "fixture.h"
#include "token/token.h"
#include "unit.h"
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ADDRESS_BYTES (UINT64_C(2) << 30)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

static char folder[] = "/tmp/sotto-hostile-XXXXXX";

static int run(const char *program, const char *a, const char *b)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO); /* what it says is no TAP */
        execl(program, program, a, b, (char *)NULL);
        _exit(127);
    }
    return waitpid(child, &status, 0) == child ? status : -1;
}

/* A few tokens after a few ids; whatever the numbers are, an outcome comes. */
static void answer(struct model *model)
{
    static const uint32_t tokens[] = { 1, 5, 9, 20, 7 };
    const struct sample_params params = {
        .temperature = 0.8f, .top_p = 0.9f, .repetition_penalty = 1.1f, .n_window = 8
    };
    struct step_entry entry = { .seq = 1, .n_prefill = COUNTOF(tokens) };
    struct step_report report;
    struct seq_room room;
    struct diag diag = DIAG_INIT;

    if (seq_open(model,
                 &(struct seq_request){ .id = 1,
                                        .tokens = tokens,
                                        .n_tokens = COUNTOF(tokens),
                                        .n_prompt = COUNTOF(tokens),
                                        .n_reserve = 4,
                                        .params = &params },
                 &room)) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(step_begin(model, 1, &entry, 1, &diag) == 0, "%s", diag.text);
        ck_assert_int_eq(step_run(model, 1, NULL, NULL, &report), STEP_DONE);
        if (report.results[0].n_tokens == 0) {
            break;
        }
        entry = (struct step_entry){ .seq = 1, .n_decode = 1 };
    }
    seq_close(model, 1, false);
}

/* What sottod does with a file that an engine has accepted. */
static bool read_vocabulary(const char *path, struct diag *diag)
{
    cleanup(gguf_destroyp) struct gguf *gguf = NULL;
    cleanup(vocab_destroyp) struct vocab *vocab = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = gguf_read_head(&gguf, fd, 64u << 20, diag);

    close(fd);
    return !r && vocab_create(&vocab, gguf, diag) == VOCAB_OK;
}

/* Exit code of a child that loads @path: 0 it ran, 1 refused with a sentence, 2 refused without. */
static int load_in_child(const char *path, const char *backend)
{
    const struct rlimit limit = { ADDRESS_BYTES, ADDRESS_BYTES };
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        struct model *model = NULL;
        struct diag diag = DIAG_INIT;
        bool ran;

        if (!IS_SANITIZED) {
            setrlimit(RLIMIT_AS, &limit);
        }
        alarm(IS_SANITIZED ? 60 : 10);
        ran = model_fixture_try(&model, path,
                                &(struct model_fixture_setup){ .backend = backend, .kv_format = "f16", .n_threads = 1 },
                                &diag) == MODEL_OK &&
              read_vocabulary(path, &diag);
        if (ran) {
            answer(model);
        }
        model_close(model);
        _exit(ran ? 0 : diag_is_set(&diag) ? 1 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool is_right(const char *verdict, int code)
{
    if (strcmp(verdict, "reject") == 0) {
        return code == 1;
    }
    return code == 0 || (strcmp(verdict, "safe") == 0 && code == 1);
}

static uint32_t load_all(const json_t *manifest, const char *backend)
{
    uint32_t n_wrong = 0;
    size_t i;
    json_t *row;

    json_array_foreach((json_t *)manifest, i, row)
    {
        const char *verdict = json_string_value(json_object_get(row, "verdict"));
        const char *name = json_string_value(json_object_get(row, "file"));
        char path[512];
        int code;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        code = load_in_child(path, backend);
        if (!is_right(verdict, code)) {
            fprintf(stderr, "%s on %s: must be %s, was %d\n", name, backend, verdict, code);
            n_wrong++;
        }
    }
    return n_wrong;
}

START_TEST(every_hostile_file_has_its_right_outcome)
{
    char script[512];
    char path[512];
    json_t *manifest;

    if (!unit_truth("gguf-hostile/make_hostile.py", script, sizeof(script))) {
        return;
    }
    ck_assert_int_eq(run("/usr/bin/python3", script, folder), 0);
    snprintf(path, sizeof(path), "%s/manifest.json", folder);
    manifest = json_load_file(path, 0, NULL);
    ck_assert_uint_gt(json_array_size(manifest), 200);

    ck_assert_uint_eq(load_all(manifest, "cpu"), 0);

    json_decref(manifest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model-hostile");
    TCase *tcase = tcase_create("hostile");
    int code;

    if (!mkdtemp(folder)) {
        return EXIT_FAILURE;
    }
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, every_hostile_file_has_its_right_outcome);
    suite_add_tcase(suite, tcase);
    code = unit_run(suite);
    run("/bin/rm", "-rf", folder);
    return code;
}
