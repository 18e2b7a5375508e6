/*
 * Wire up: who owns whom in sottod
 *
 * The daemon owns one loop, the hub (models, streams, engines), the room of connections, and the configuration in
 * force. It is the only one that knows them all: it turns policy into grants, a reload into a swap, a signal into an
 * orderly end. Start reading here.
 */
#ifndef SOTTO_APP_WIRE_UP_H
#define SOTTO_APP_WIRE_UP_H

#include "app/cmdline.h"
#include "app/devices.h"
#include "app/inhibitor.h"
#include "ipc/ipc.h"

enum sottod_state {
    SOTTOD_STARTING,
    SOTTOD_SERVING,
    SOTTOD_DRAINING, /* no new connections and answers; streams end with a reason */
    SOTTOD_STOPPED,  /* handles are being closed */
    SOTTOD_STATE_COUNT,
};

enum sottod_signal { SOTTOD_TERM, SOTTOD_INT, SOTTOD_HUP, SOTTOD_USR2, SOTTOD_SIGNALS };

struct sottod {
    const struct options *options;
    struct config *config; /* in force */
    uint64_t generation;   /* of the configuration; counts from 1 */
    char engine_path[OPTIONS_PATH_BYTES];
    char sense_path[OPTIONS_PATH_BYTES]; /* empty: there is none */
    uv_loop_t loop;
    struct hub *hub;
    struct ipc *ipc;
    struct devices devices;
    struct inhibitor inhibitor;
    int exit_code; /* of a daemon that ends by itself */
    enum sottod_state state;
    uv_signal_t signals[SOTTOD_SIGNALS];
    uv_timer_t watchdog;    /* feeds the service manager's */
    uv_timer_t last_resort; /* ends the process if the orderly end takes too long */
    struct arena answer;    /* behind the lists of the last reload */
};

/* Serves until told to end. @config is taken. Gives the exit code of the process. */
int sottod_run(const struct options *options, struct config *config);

/* Reads the configuration anew: swaps all of it, or keeps all. See ipc_ops::reload. (reload.c) */
int sottod_reload(struct sottod *sottod, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag);

/* What the hub is to have of @config. */
void sottod_hub_config(const struct sottod *sottod, const struct config *config, struct hub_config *ret_hub_config);

/* What the room of connections is to have of @config. */
void sottod_ipc_limits(const struct config *config, struct ipc_limits *ret_limits);

/* Tells watchers, the log, and the service manager. */
void sottod_event(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                  uint32_t uid);

#endif
