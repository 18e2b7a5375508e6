/*
 * Bench daemon: how long a first token takes at the daemon that runs here
 *
 * It asks as any app would, for short prompts that are all different, one at a time: first alone, then beside long
 * answers of the same user. The model is the daemon's default.
 */
#ifndef SOTTO_TOOL_BENCH_DAEMON_H
#define SOTTO_TOOL_BENCH_DAEMON_H

#include "base/diag.h"
#include "tool/bench.h"

#define BENCH_BESIDE_MAX 64u

enum bench_daemon_outcome {
    BENCH_DAEMON_OK,
    BENCH_DAEMON_REFUSED, /* there is no daemon, or it refused: @diag */
};

/* Fills in bench->served and bench->firsts. Returns a bench_daemon_outcome or a fault. */
int bench_daemon(struct bench *bench, uint32_t n_beside, struct diag *diag);

#endif
