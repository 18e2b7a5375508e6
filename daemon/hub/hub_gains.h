/*
 * Hub gains: what was learnt of the chip goes to a file, and comes back at the next start
 *
 * The file is `gains` in the state folder (govern/gains.h). It holds for the board that it names only: gains of another
 * chip would let this one pass its target. It is written once a run, when the gains are known, by a thread of libuv's
 * pool: under another name, synced, and renamed.
 *
 * The loop's thread.
 */
#ifndef SOTTO_HUB_HUB_GAINS_H
#define SOTTO_HUB_HUB_GAINS_H

#include "govern/gains.h"
#include "govern/governor.h"
#include <limits.h>
#include <uv.h>

struct hub_gains {
    char path[PATH_MAX]; /* empty: nothing is kept */
    char board[GAINS_BOARD_MAX];
    struct gains known; /* those in the file; whole_mc 0: none */
    bool is_written;    /* in this run, or in vain */
    bool is_writing;
    uv_work_t work;
    char text[GAINS_FILE_MAX];
    int result; /* of the writing */
};

/* Takes the gains in @folder (NULL: keeps nothing), if there are any and they are this board's, to @governor, which has
 * not ticked yet. @root: where the board is looked for, as for sotto-sense; NULL: on this machine. Blocks for the
 * reading of two small files. */
void hub_gains_begin(struct hub_gains *gains, const char *folder, const char *root, struct governor *governor);

/* Has what @governor has learnt written, once. After each tick. */
void hub_gains_run(struct hub_gains *gains, uv_loop_t *loop, const struct governor *governor);

#endif
