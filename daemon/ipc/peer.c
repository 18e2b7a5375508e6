#include "ipc/peer.h"
#include "base/err.h"
#include "base/mem.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Enough for most processes; more groups need a second call. */
#define GIDS_USUAL 32u
#define GIDS_MOST  65536u /* NGROUPS_MAX */

static int read_gids(struct peer *peer, int fd)
{
    socklen_t bytes = GIDS_USUAL * sizeof(uint32_t);
    uint32_t *gids = mem_alloc(MEM_WIRE, bytes);

    if (!gids) {
        return err_new(-ENOMEM);
    }
    peer->gids = gids;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &bytes) < 0) {
        if (errno != ERANGE || bytes > GIDS_MOST * sizeof(uint32_t)) {
            return errno == ENOPROTOOPT ? 0 : err_new(-errno);
        }
        gids = mem_realloc(MEM_WIRE, gids, bytes);
        if (!gids) {
            return err_new(-ENOMEM);
        }
        peer->gids = gids;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &bytes) < 0) {
            return err_new(-errno);
        }
    }
    peer->n_gids = bytes / sizeof(uint32_t);
    return 0;
}

/* Reads the label; there is none where no security module labels sockets, which is no failure. */
static void read_label(struct peer *peer, int fd)
{
    socklen_t bytes = sizeof(peer->label) - 1;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERSEC, peer->label, &bytes) < 0) {
        bytes = 0;
    }
    peer->label[bytes] = '\0';
}

int peer_read(struct peer *ret_peer, int fd)
{
    struct peer peer = { .pid = 0 };
    struct ucred cred;
    socklen_t bytes = sizeof(cred);
    int r;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) < 0) {
        return err_new(-errno);
    }
    peer.uid = cred.uid;
    peer.gid = cred.gid;
    peer.pid = cred.pid;
    r = read_gids(&peer, fd);
    if (r) {
        peer_finish(&peer);
        return err_up(r);
    }
    read_label(&peer, fd);
    *ret_peer = peer;
    return 0;
}

void peer_finish(struct peer *peer)
{
    mem_free(peer->gids);
    peer->gids = NULL;
    peer->n_gids = 0;
}

bool peer_is_in(const struct peer *peer, uint32_t gid)
{
    if (peer->gid == gid) {
        return true;
    }
    for (size_t i = 0; i < peer->n_gids; i++) {
        if (peer->gids[i] == gid) {
            return true;
        }
    }
    return false;
}
