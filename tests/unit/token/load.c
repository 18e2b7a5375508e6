#include "load.h"
#include "base/file.h"
#include "base/mem.h"
#include "unit.h"
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#define HEAD_BYTES_MAX (64u << 20)

/* Unpacks @path into an unlinked file and returns its descriptor. */
static int gunzip(const char *path)
{
    FILE *out = tmpfile();
    int status;
    pid_t pid;

    ck_assert_ptr_nonnull(out);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        execlp("gunzip", "gunzip", "-c", path, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "gunzip %s failed", path);
    return fileno(out);
}

struct vocab *load_vocab(const char *name)
{
    const size_t n = strlen(name);
    struct diag diag = DIAG_INIT;
    struct vocab *vocab = NULL;
    struct gguf *gguf = NULL;
    char path[4096];
    int fd;

    if (!unit_truth(name, path, sizeof(path))) {
        return NULL;
    }
    fd = strcmp(name + n - 3, ".gz") == 0 ? gunzip(path) : open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_msg(gguf_read_head(&gguf, fd, HEAD_BYTES_MAX, &diag) == GGUF_OK, "%s: %s", name, diag.text);
    close(fd);
    ck_assert_msg(vocab_create(&vocab, gguf, &diag) == VOCAB_OK, "%s: %s", name, diag.text);
    gguf_destroy(gguf);
    return vocab;
}

json_t *load_json(const char *name)
{
    json_error_t error;
    char path[4096];
    json_t *json;

    if (!unit_truth(name, path, sizeof(path))) {
        return NULL;
    }
    json = json_load_file(path, JSON_ALLOW_NUL, &error);
    ck_assert_msg(json != NULL, "%s: %s", path, error.text);
    return json;
}

char *load_text(const char *name)
{
    struct diag diag = DIAG_INIT;
    char path[4096];
    char *bytes = NULL;
    size_t n;

    if (unit_truth(name, path, sizeof(path))) {
        ck_assert_msg(file_read(path, MEM_MISC, 16u << 20, &bytes, &n, &diag) == FILE_OK, "%s: %s", path, diag.text);
    }
    return bytes;
}

static uint8_t from_digit(char digit)
{
    return (uint8_t)(digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
}

uint8_t *from_hex(const char *hex, size_t *ret_n)
{
    const size_t n = strlen(hex) / 2;
    uint8_t *bytes = mem_alloc(MEM_MISC, n);

    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(from_digit(hex[2 * i]) << 4 | from_digit(hex[2 * i + 1]));
    }
    *ret_n = n;
    return bytes;
}

void assert_ids(const struct ids *ids, const json_t *wanted, const char *what)
{
    char text[2][2048] = { "", "" };
    bool same = ids->n == json_array_size(wanted);

    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const json_int_t id = json_integer_value(json_array_get(wanted, i));
        const size_t n = strlen(text[0]);

        same = same && (json_int_t)ids->ids[i] == id;
        snprintf(text[0] + n, sizeof(text[0]) - n, " %d", (int)id);
    }
    for (size_t i = 0; i < ids->n; i++) {
        const size_t n = strlen(text[1]);

        snprintf(text[1] + n, sizeof(text[1]) - n, " %u", (unsigned)ids->ids[i]);
    }
    ck_assert_msg(same, "%s: wanted%s, got%s", what, text[0], text[1]);
}
