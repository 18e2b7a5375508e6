#include "hub/hub_gains.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME  "gains"
#define NAME_BYTES 4096u /* of the system's file with the board's name, at most */

/* ---- the board */

/* Where the system tells the board's name: a device tree, or the tables of a PC. */
static const char *const name_files[] = { "/sys/firmware/devicetree/base/model", "/sys/class/dmi/id/board_name" };

static void find_board(const char *root, char board[GAINS_BOARD_MAX])
{
    board[0] = '\0';
    for (size_t i = 0; i < COUNTOF(name_files) && board[0] == '\0'; i++) {
        cleanup(mem_freep) char *bytes = NULL;
        struct diag diag = DIAG_INIT;
        char path[PATH_MAX];
        size_t n;

        snprintf(path, sizeof(path), "%s%s", root ? root : "", name_files[i]);
        if (file_read(path, MEM_MISC, NAME_BYTES, &bytes, &n, &diag) == FILE_OK) {
            gains_name(bytes, n, board);
        }
    }
}

/* ---- reading */

static void take_file(struct hub_gains *gains, struct governor *governor)
{
    cleanup(mem_freep) char *bytes = NULL;
    struct diag diag = DIAG_INIT;
    struct gains found;
    size_t n = 0;
    int r = file_read(gains->path, MEM_MISC, GAINS_FILE_MAX, &bytes, &n, &diag);

    if (r == FILE_ABSENT) {
        return;
    }
    if (r != FILE_OK || !gains_read(bytes, n, &found, &diag)) {
        log_warn("app", "gains in %s: %s; the chip counts as unknown until it has warmed up", gains->path,
                 r < 0 ? strerror(-r) : diag.text);
        return;
    }
    if (strcmp(found.board, gains->board) != 0) {
        log_info("app", "%s: gains of the board \"%s\", not of this one (\"%s\"): the chip counts as unknown",
                 gains->path, found.board, gains->board);
        return;
    }
    gains->known = found;
    thermostat_keep(&governor->heat.thermostat, found.whole_mc / 1000.0, found.lag_ms / 1000.0);
}

void hub_gains_begin(struct hub_gains *gains, const char *folder, const char *root, struct governor *governor)
{
    int n = folder ? snprintf(gains->path, sizeof(gains->path), "%s/" FILE_NAME, folder) : 0;

    if (n <= 0 || (size_t)n >= sizeof(gains->path) - sizeof(".part")) {
        gains->path[0] = '\0';
        return;
    }
    find_board(root, gains->board);
    if (gains->board[0] == '\0') {
        log_info("app", "this board has no name that the system tells: what is learnt of its chip is not kept");
        gains->path[0] = '\0';
        return;
    }
    take_file(gains, governor);
}

/* ---- writing; in a thread of the pool */

static int write_all(int fd, const char *text)
{
    const size_t n = strlen(text);

    if (write(fd, text, n) != (ssize_t)n) {
        return -EIO;
    }
    return fsync(fd) ? -errno : 0;
}

static void write_file(uv_work_t *work)
{
    struct hub_gains *gains = work->data;
    char part[PATH_MAX + sizeof(".part")];
    int fd, r;

    snprintf(part, sizeof(part), "%s.part", gains->path);
    unlink(part); /* of a run that was killed */
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        gains->result = -errno;
        return;
    }
    r = write_all(fd, gains->text);
    if (close(fd) && !r) {
        r = -errno;
    }
    if (!r && rename(part, gains->path)) {
        r = -errno;
    }
    if (r) {
        unlink(part);
    }
    gains->result = r;
}

static void on_written(uv_work_t *work, int status)
{
    struct hub_gains *gains = work->data;

    gains->is_writing = false;
    if (status || gains->result) {
        log_warn("app", "%s: can't write it: %s", gains->path, strerror(status ? -status : -gains->result));
        return;
    }
    log_info("app", "%s: a full share of work warms this chip by %u.%u degrees, with a lag of %u.%u s", gains->path,
             gains->known.whole_mc / 1000, gains->known.whole_mc % 1000 / 100, gains->known.lag_ms / 1000,
             gains->known.lag_ms % 1000 / 100);
}

void hub_gains_run(struct hub_gains *gains, uv_loop_t *loop, const struct governor *governor)
{
    const struct reaction *reaction = &governor->heat.thermostat.reaction;

    if (gains->path[0] == '\0' || gains->is_written || !reaction->is_known || reaction->is_kept) {
        return;
    }
    gains->is_written = true;
    memcpy(gains->known.board, gains->board, sizeof(gains->board));
    gains->known.whole_mc = (uint32_t)(reaction->whole * 1000.0);
    gains->known.lag_ms = (uint32_t)(reaction->lag_s * 1000.0);
    if (gains_write(&gains->known, gains->text, sizeof(gains->text)) == 0) {
        return;
    }
    gains->work.data = gains;
    gains->is_writing = uv_queue_work(loop, &gains->work, write_file, on_written) == 0;
}
