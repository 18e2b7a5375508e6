/*
 * Listener: where connections come from
 *
 * A path of our own (socket_file.h), or a socket that the service manager passed in and that is never removed.
 */
#ifndef SOTTO_IPC_LISTENER_H
#define SOTTO_IPC_LISTENER_H

#include "ipc/ipc.h"
#include "ipc/socket_file.h"

struct listener {
    struct list link; /* ipc::listeners */
    struct ipc *ipc;
    uv_pipe_t pipe;
    uv_pipe_t spare; /* takes a connection for which there is no memory */
    bool spare_busy;
    bool is_pending; /* a connection waits for the spare */
    bool is_open;    /* @pipe is a handle of the loop */
    bool is_ours;    /* @file was made by us */
    struct socket_file file;
};

/* Listens at @path. 0, SOCKET_FILE_REFUSED, or a fault; with a sentence in @diag. */
int listener_open(struct ipc *ipc, const char *path, gid_t gid, struct diag *diag);

/* Listens on @fd, a unix stream socket that somebody else bound; takes it, also when it fails. 0 or a fault. */
int listener_adopt(struct ipc *ipc, int fd, struct diag *diag);

/* Stops, and removes the path if it is ours. Freed later, from the loop. */
void listener_close(struct listener *listener);

#endif
