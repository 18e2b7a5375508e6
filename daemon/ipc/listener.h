/*
 * Listener: a socket that accepts connections
 *
 * It lies at a path that sotto makes and removes (socket_file.h), or was passed in by the service manager.
 */
#ifndef SOTTO_IPC_LISTENER_H
#define SOTTO_IPC_LISTENER_H

#include "ipc/ipc_state.h"
#include "ipc/socket_file.h"

struct listener {
    struct list link; /* ipc::listeners */
    struct ipc *ipc;
    uv_pipe_t pipe;
    uv_pipe_t spare; /* takes a connection for which there is no memory */
    bool spare_busy;
    bool is_pending; /* a connection waits until @spare is free */
    bool is_open;    /* @pipe is a handle of the loop */
    bool is_ours;    /* @file was made here */
    struct socket_file file;
};

/* Listens at @path. 0, SOCKET_FILE_REFUSED, or a fault; with a sentence in @diag. */
int listener_open(struct ipc *ipc, const char *path, gid_t gid, struct diag *diag);

/* Listens on @fd, a unix stream socket that is already bound; owns it even if this fails. 0 or a fault. */
int listener_adopt(struct ipc *ipc, int fd, struct diag *diag);

/* Stops listening, and removes the path that was made here. The loop frees the listener later. */
void listener_close(struct listener *listener);

#endif
