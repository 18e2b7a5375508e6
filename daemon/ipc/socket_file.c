#include "ipc/socket_file.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include <errno.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int refuse_fault(struct diag *diag, const char *path, const char *what, int fault)
{
    diag_set(diag, "socket %s: %s: %s", path, what, strerrordesc_np(fault));
    return err_new(-fault);
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, path, strlen(path) + 1); /* its length was checked */
    return address;
}

/* A socket is dead if no process listens: connect() is refused. Nothing else is a proof. */
static int prove_dead(const char *path, struct diag *diag)
{
    const struct sockaddr_un address = address_of(path);
    cleanup(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred owner = { .pid = 0 };
    socklen_t n = sizeof(owner);

    if (fd < 0) {
        return err_new(-errno);
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN) {
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &n); /* of the process that listens */
        diag_set(diag, "socket %s: in use by process %d; stop it, or choose another path", path, (int)owner.pid);
        return SOCKET_FILE_REFUSED;
    }
    if (errno != ECONNREFUSED) {
        return refuse_fault(diag, path, "a socket lies there, and it can't be tried", errno);
    }
    return SOCKET_FILE_OK;
}

static int clear_path(const char *path, struct diag *diag)
{
    struct stat st;
    int r;

    if (lstat(path, &st) < 0) {
        return errno == ENOENT ? SOCKET_FILE_OK : refuse_fault(diag, path, "can't look at it", errno);
    }
    if (!S_ISSOCK(st.st_mode)) {
        diag_set(diag, "socket %s: a %s lies there, which sottod does not remove; move it, or choose another path",
                 path,
                 S_ISLNK(st.st_mode)   ? "link"
                 : S_ISDIR(st.st_mode) ? "folder"
                                       : "file that is no socket");
        return SOCKET_FILE_REFUSED;
    }
    r = prove_dead(path, diag);
    if (r) {
        return r;
    }
    if (unlink(path) < 0 && errno != ENOENT) {
        return refuse_fault(diag, path, "can't remove the old socket", errno);
    }
    return SOCKET_FILE_OK;
}

/* The new file gets the mode of the socket less the umask, and the file-system group. Both are set before bind(), so
 * the file is never open to others. Called before threads are started. */
static int bind_socket(int fd, const char *path, gid_t gid, struct diag *diag)
{
    const struct sockaddr_un address = address_of(path);
    mode_t umask_before = umask(0777 & ~SOCKET_FILE_MODE);
    gid_t gid_before = gid == (gid_t)-1 ? gid : (gid_t)setfsgid(gid);
    int r = 0;

    if (fchmod(fd, SOCKET_FILE_MODE) < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        r = errno;
    }
    if (gid != (gid_t)-1) {
        setfsgid(gid_before);
    }
    umask(umask_before);
    return r ? refuse_fault(diag, path, "can't make it", r) : 0;
}

static int check_group(const char *path, const struct stat *st, gid_t gid, struct diag *diag)
{
    if (gid == (gid_t)-1 || st->st_gid == gid) {
        return 0;
    }
    unlink(path);
    diag_set(diag, "socket %s: this process may not give a file to group %u; start it as root or in that group", path,
             (unsigned)gid);
    return SOCKET_FILE_REFUSED;
}

static int take_lock(const char *path, int *ret_fd, struct diag *diag)
{
    char name[SOCKET_FILE_PATH_MOST + sizeof(".lock")];
    struct diag why = DIAG_INIT;
    int pid = 0;
    int r;

    snprintf(name, sizeof(name), "%s.lock", path);
    r = lock_take(name, ret_fd, &pid, &why);
    if (r == LOCK_HELD) {
        diag_set(diag, "socket %s: another sottod has it, process %d; stop it, or choose another path", path, pid);
        return SOCKET_FILE_REFUSED;
    }
    if (r) {
        diag_set(diag, "socket %s: %s", path, why.text);
        return err_up(r);
    }
    return SOCKET_FILE_OK;
}

int socket_file_make(struct socket_file *ret_file, const char *path, gid_t gid, struct diag *diag)
{
    cleanup(fd_closep) int lock_fd = -1;
    cleanup(fd_closep) int fd = -1;
    struct stat st;
    int r;

    if (!*path || strlen(path) > SOCKET_FILE_PATH_MOST) {
        diag_set(diag, "socket %s: a path has 1 to %d bytes, this one %zu; choose a shorter one", path,
                 SOCKET_FILE_PATH_MOST, strlen(path));
        return SOCKET_FILE_REFUSED;
    }
    r = take_lock(path, &lock_fd, diag);
    if (!r) {
        r = clear_path(path, diag);
    }
    if (r) {
        return err_pass(r);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return err_new(-errno);
    }
    r = bind_socket(fd, path, gid, diag);
    if (r) {
        return err_up(r);
    }
    if (lstat(path, &st) < 0) {
        return refuse_fault(diag, path, "it vanished", errno);
    }
    r = check_group(path, &st, gid, diag);
    if (r) {
        return r;
    }
    ret_file->fd = fd_steal(&fd);
    ret_file->lock_fd = fd_steal(&lock_fd);
    ret_file->dev = st.st_dev;
    ret_file->ino = st.st_ino;
    memcpy(ret_file->path, path, strlen(path) + 1);
    return SOCKET_FILE_OK;
}

void socket_file_remove(struct socket_file *file)
{
    struct stat st;

    if (lstat(file->path, &st) == 0 && st.st_dev == file->dev && st.st_ino == file->ino) {
        unlink(file->path);
    }
    fd_closep(&file->lock_fd);
    fd_closep(&file->fd);
}
