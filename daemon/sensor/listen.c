#include "sensor/listen.h"
#include "base/clean.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The first descriptor of socket activation (sd_listen_fds(3)). */
#define FIRST_FD 3

#define BACKLOG 8

bool listen_passed_in(long pid, long n, int *ret_fd, struct diag *diag)
{
    socklen_t size = sizeof(int);
    int listens = 0;

    *ret_fd = -1;
    if (pid != (long)getpid() || n == 0) {
        return true;
    }
    if (n != 1 || getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens) {
        diag_set(diag, "the service manager must pass in one socket that listens");
        return false;
    }
    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST_FD, F_SETFL, O_NONBLOCK);
    *ret_fd = FIRST_FD;
    return true;
}

static int try_bind(int fd, const struct sockaddr_un *address)
{
    mode_t before = umask(0177);
    int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;

    umask(before);
    return r;
}

/* Returns true for a socket file without a listener: connecting to it is refused. */
static bool is_left_behind(const struct sockaddr_un *address)
{
    cleanup(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    return fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
           connect(fd, (const struct sockaddr *)address, sizeof(*address)) && errno == ECONNREFUSED;
}

bool listen_open(const char *path, int *ret_fd, struct diag *diag)
{
    cleanup(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int r;

    if (strlen(path) >= sizeof(address.sun_path)) {
        diag_set(diag, "--socket: the path of a socket has at most %zu bytes", sizeof(address.sun_path) - 1);
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (fd < 0) {
        diag_set(diag, "no socket: %s", strerrordesc_np(errno));
        return false;
    }
    r = try_bind(fd, &address);
    if (r == EADDRINUSE && is_left_behind(&address) && unlink(path) == 0) {
        r = try_bind(fd, &address);
    }
    if (r == 0 && listen(fd, BACKLOG)) {
        r = errno;
    }
    if (r) {
        diag_set(diag, "--socket %s: %s", path, r == EADDRINUSE ? "another process listens there" : strerrordesc_np(r));
        return false;
    }
    *ret_fd = fd;
    fd = -1;
    return true;
}
