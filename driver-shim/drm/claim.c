/* The lock is flock() on a file that is never removed: otherwise two daemons could lock two files of one name. */
#include "drm/claim.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* Makes a file name from a device's: anything but letters, digits and dots becomes a dash. */
static void write_path(const char *folder, const char *device, char *path, size_t cap)
{
    char name[128];
    size_t n = 0;

    for (; device[n] && n + 1 < sizeof(name); n++) {
        name[n] = (char)(isalnum((unsigned char)device[n]) || device[n] == '.' ? device[n] : '-');
    }
    name[n] = '\0';
    snprintf(path, cap, "%s/claim-%s.lock", folder, name);
}

/* Reads the name of the program of process @pid, or "". */
static void read_comm(int pid, char *name, size_t cap)
{
    char path[48];
    char raw[32];
    cleanup(fd_closep) int fd = -1;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? 0 : read(fd, raw, sizeof(raw));
    n -= n > 0 && raw[n - 1] == '\n';
    name[n > 0 ? utf8_mend_line((const uint8_t *)raw, (size_t)n, (uint8_t *)name, cap - 1) : 0] = '\0';
}

int claim_take(struct claim *ret_claim, const char *folder, const char *device, struct diag *diag)
{
    struct diag why = DIAG_INIT;
    char path[512];
    char name[32] = "";
    int pid = 0;
    int fd = -1;
    int r;

    write_path(folder, device, path, sizeof(path));
    r = lock_take(path, &fd, &pid, &why);
    if (r == LOCK_HELD) {
        if (pid > 0) {
            read_comm(pid, name, sizeof(name));
        }
        diag_set(diag, "device %s is claimed by process %d (%s): stop it, or name another device", device, pid,
                 name[0] ? name : "not visible from here");
        return CLAIM_HELD;
    }
    if (r) {
        diag_set(diag, "device %s can't be claimed: %s", device, why.text);
        return err_up(r);
    }
    ret_claim->fd = fd;
    return CLAIM_OK;
}

void claim_drop(struct claim *claim)
{
    if (claim) {
        fd_closep(&claim->fd);
    }
}
