/*
 * Socket file: a listening socket at a path of our own
 *
 * Whose file is it? Ours only under a lock beside it (PATH.lock), which dies with its holder. A socket that lies
 * there is removed only if it is proven dead; a living one, a plain file or a link is somebody else's. The path is
 * never cut, and the file has its right mode from its first moment.
 */
#ifndef SOTTO_IPC_SOCKET_FILE_H
#define SOTTO_IPC_SOCKET_FILE_H

#include "base/diag.h"
#include <sys/types.h>

#define SOCKET_FILE_PATH_MOST 107 /* sockaddr_un::sun_path without its zero */
#define SOCKET_FILE_MODE      0660

struct socket_file {
    int fd;      /* bound, not yet listening; taken by the one who listens */
    int lock_fd; /* held until socket_file_remove() */
    dev_t dev;   /* of the file that was made, to know it again */
    ino_t ino;
    char path[SOCKET_FILE_PATH_MOST + 1];
};

enum socket_file_outcome {
    SOCKET_FILE_OK,
    SOCKET_FILE_REFUSED, /* @diag says what lies there, or who holds it */
};

/* Makes the socket at @path for the group @gid ((gid_t)-1: this process's own). Blocks shortly. An outcome, or a
 * fault (with @diag). */
int socket_file_make(struct socket_file *ret_file, const char *path, gid_t gid, struct diag *diag);

/* Removes the file if it is still the one that was made, and gives up the lock. The lock's own file stays: removing
 * it would let two processes hold two locks of one name. */
void socket_file_remove(struct socket_file *file);

#endif
