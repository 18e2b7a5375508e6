/*
 * Drm: the graphics device clients of this process
 *
 * The kernel gives each open device node a client number and counts its busy time under it. sottod subtracts the
 * clients of its engines from graphics load. They are read once a model is loaded, before the process gives up opening
 * files. A CPU engine has none.
 */
#include "engine/engine.h"

#include "base/clean.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DRM_MAJOR 226  /* of all graphics devices (Linux Documentation/admin-guide/devices.txt) */
#define INFO_MOST 8192 /* bytes of one descriptor's fdinfo; drivers write about thirty lines */

bool engine_read_drm_id(const char *info, uint64_t *ret_id)
{
    static const char key[] = "drm-client-id:";

    for (const char *line = info; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, sizeof(key) - 1) == 0) {
            return sscanf(line + sizeof(key) - 1, "%" SCNu64, ret_id) == 1;
        }
    }
    return false;
}

/* Reads descriptor @name as a client. Returns false if it is not one. */
static bool read_client(int dir, const char *name, Sotto__Engine__DrmClient *ret_client)
{
    cleanup(fd_closep) int info = -1;
    char text[INFO_MOST];
    struct stat about;
    ssize_t n;
    int fd;

    if (sscanf(name, "%d", &fd) != 1 || fstat(fd, &about) != 0 || !S_ISCHR(about.st_mode) ||
        major(about.st_rdev) != DRM_MAJOR) {
        return false;
    }
    info = openat(dir, name, O_RDONLY | O_CLOEXEC);
    n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    sotto__engine__drm_client__init(ret_client);
    ret_client->minor = minor(about.st_rdev);
    return engine_read_drm_id(text, &ret_client->id);
}

/* Returns true if @client is listed; several descriptors may belong to one client. */
static bool has_client(const Sotto__Engine__DrmClient *clients, size_t n, const Sotto__Engine__DrmClient *client)
{
    for (size_t i = 0; i < n; i++) {
        if (clients[i].minor == client->minor && clients[i].id == client->id) {
            return true;
        }
    }
    return false;
}

size_t engine_find_drm(Sotto__Engine__DrmClient clients[ENGINE_DRM_MOST])
{
    DIR *dir = opendir("/proc/self/fdinfo");
    Sotto__Engine__DrmClient client;
    const struct dirent *entry;
    size_t n = 0;

    while (dir && n < ENGINE_DRM_MOST && (entry = readdir(dir))) {
        if (read_client(dirfd(dir), entry->d_name, &client) && !has_client(clients, n, &client)) {
            clients[n++] = client;
        }
    }
    if (dir) {
        closedir(dir);
    }
    return n;
}
