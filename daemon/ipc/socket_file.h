/*
 * Socket file: a socket at a path that sotto makes
 *
 * A lock beside the path (PATH.lock), which ends with its holder, decides which daemon may use it. A socket that lies
 * there is removed only if it is proven dead; one that answers, a plain file and a link are left alone. The path is
 * never truncated, and the file has its mode from the moment it exists.
 */
#ifndef SOTTO_IPC_SOCKET_FILE_H
#define SOTTO_IPC_SOCKET_FILE_H

#include "base/diag.h"
#include <sys/types.h>

#define SOCKET_FILE_PATH_MOST 107 /* sockaddr_un::sun_path without its zero */
#define SOCKET_FILE_MODE      0660

struct socket_file {
    int fd;      /* bound, not yet listening; the listener takes it */
    int lock_fd; /* held until socket_file_remove() */
    dev_t dev;   /* of the file that was made, to recognise it */
    ino_t ino;
    char path[SOCKET_FILE_PATH_MOST + 1];
};

enum socket_file_outcome {
    SOCKET_FILE_OK,
    SOCKET_FILE_REFUSED, /* @diag says what lies there, or which process holds it */
};

/* Makes the socket at @path for the group @gid ((gid_t)-1: that of this process). Blocks shortly. An outcome, or a
 * fault (with @diag). */
int socket_file_make(struct socket_file *ret_file, const char *path, gid_t gid, struct diag *diag);

/* Removes the file if it is still the one that was made, and releases the lock. The lock's own file stays: if it were
 * removed, two processes could hold two locks of one name. */
void socket_file_remove(struct socket_file *file);

#endif
