/*
 * File: opening, mapping, closing
 */
#include "tool/model_file.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define HEAD_BYTES_MAX (256u << 20) /* vocabularies of a quarter million tokens take 10 MiB */

int model_file_open(struct model_file *file, const char *path, struct diag *diag)
{
    /* O_NONBLOCK keeps a pipe or a device from blocking us; they are refused next. */
    cleanup(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct gguf *gguf;
    int r;

    if (fd < 0) {
        diag_set(diag, "can't open it: %s", strerrordesc_np(errno));
        return MODEL_FILE_REFUSED;
    }
    r = gguf_read_head(&gguf, fd, HEAD_BYTES_MAX, diag);
    if (r) {
        return r < 0 ? err_up(r) : MODEL_FILE_REFUSED;
    }
    *file = (struct model_file){ .path = path, .fd = fd_steal(&fd), .gguf = gguf };
    return MODEL_FILE_OK;
}

int model_file_map(struct model_file *file)
{
    void *map = mmap(NULL, gguf_file_bytes(file->gguf), PROT_READ, MAP_PRIVATE, file->fd, 0);

    if (map == MAP_FAILED) {
        return err_new(-errno);
    }
    file->map = map;
    return 0;
}

int model_file_begin(struct gguf_writer *writer, const char *path, bool force, struct diag *diag)
{
    int r = gguf_writer_begin(writer, path, force, diag);

    if (r == GGUF_WRITE_REFUSED && !force && strstr(diag->text, "there already")) {
        diag_clear(diag);
        diag_set(diag, "%s exists already; --force replaces it", path);
    }
    return r;
}

void model_file_close(struct model_file *file)
{
    if (!file->gguf) {
        return;
    }
    if (file->map) {
        munmap((void *)file->map, gguf_file_bytes(file->gguf));
    }
    gguf_destroy(file->gguf);
    close(file->fd);
    *file = (struct model_file){ .fd = -1 };
}
