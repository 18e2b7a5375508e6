/* Stdfd: see stdfd.h. open() gives the lowest number that is free: from 0 upwards, that is the one wanted. */
#include "base/stdfd.h"
#include "base/err.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int file_hold_std(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
            continue;
        }
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            return err_new(-errno);
        }
    }
    return 0;
}
