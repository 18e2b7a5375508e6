/*
 * Wire up: the objects of sottod and their owners
 *
 * The daemon owns one loop, the hub (models, streams, engines), the connections, and the current configuration. Only
 * this file knows them all: it turns policy into grants, a reload into a swap, a signal into an orderly end. Start
 * reading here.
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
    const struct cmdline *options;
    struct config *config; /* the current one */
    uint64_t generation;   /* number of the configuration, from 1 */
    char engine_path[CMDLINE_PATH_BYTES];
    char sense_path[CMDLINE_PATH_BYTES]; /* empty: there is none */
    uv_loop_t loop;
    struct hub *hub;
    struct ipc *ipc;
    struct devices devices;
    struct inhibitor inhibitor;
    int exit_code; /* if the daemon ends by itself */
    enum sottod_state state;
    uv_signal_t signals[SOTTOD_SIGNALS];
    uv_timer_t watchdog;    /* feeds that of the service manager */
    uv_timer_t last_resort; /* ends the process if the orderly end takes too long */
    struct arena answer;    /* holds the lists of the last reload */
};

/* Serves until a signal ends it, and returns the exit code of the process. Takes ownership of @config. */
int sottod_run(const struct cmdline *options, struct config *config);

/* Reads the configuration again, and applies all of it or nothing; see ipc_ops::reload (reload.c). */
int sottod_reload(struct sottod *sottod, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag);

/* Gives the part of @config that the hub needs. */
void sottod_hub_config(const struct sottod *sottod, const struct config *config, struct hub_config *ret_hub_config);

/* Gives the part of @config that connections need. */
void sottod_ipc_limits(const struct config *config, struct ipc_limits *ret_limits);

/* Reports an event to watchers, the log, and the service manager. */
void sottod_event(void *owner, const char *topic, const char *name, const char *const *pairs, size_t n_pairs,
                  uint32_t uid);

#endif
