/*
 * Daemon: sottod's own objects in this process, under the virtual clock
 *
 * It is what daemon/app makes of sottod, without configuration files and the service manager: a loop, a hub with
 * everything below it, and connections behind a socket. Three things are replaced when the program is linked, all at
 * the daemon's edge: the kernel (kernel.h), the engine's process (engine_link.c), and sotto-sense (machine_watch.c). A
 * client connects to the socket as the user that daemon_connect() names.
 */
#ifndef SOTTO_SIM_REAL_DAEMON_H
#define SOTTO_SIM_REAL_DAEMON_H

#include "govern/governor.h"
#include "scenario.h"
#include "sched/dispatch.h"
#include "timeline.h"

/* The user of the compositor, which may send hints. No other client has it. */
#define DAEMON_COMPOSITOR_UID 1u

struct daemon;
struct engine;
struct engine_message;
struct sensors;
struct server;

struct daemon_world {
    const struct scenario *scenario;
    struct timeline *timeline;
    uint32_t n_streams; /* of each user at once */
    struct server *server;
    struct sensors *sensors;

    /* Lets clients do what they can without waiting, between iterations of the loop; returns whether they did. */
    bool (*attend)(void *owner);
    void (*on_line)(void *owner, const char *line); /* of sottod's log */
    void *owner;
};

/* Starts a daemon, and loads its models. */
struct daemon *daemon_create(const struct daemon_world *world);

/* Stops and frees it. All of its memory must be back then. */
void daemon_destroy(struct daemon *daemon);

/* Runs the loop and the clients until neither has anything left to do at this time. */
void daemon_settle(struct daemon *daemon);

/* Returns when the daemon wants to run again by itself; UINT64_MAX: never. */
uint64_t daemon_next_ns(const struct daemon *daemon);

/* Returns a connected socket. The daemon takes the peer for a process of @uid. */
int daemon_connect(struct daemon *daemon, uint32_t uid);

/* ---- what the monitor sees */

const struct engine_queue *daemon_eq(const struct daemon *daemon, uint32_t engine);
struct dispatch *daemon_dispatch(const struct daemon *daemon);
const struct governor *daemon_governor(const struct daemon *daemon);

/* Calls @fn with the job of each request that sottod knows, by arrival, and the request's seed. */
void daemon_each_job(const struct daemon *daemon, void (*fn)(void *owner, uint64_t seed, const struct job *job),
                     void *owner);

/* Returns the account of @uid, which lives as long as it has requests. */
struct account *daemon_account(const struct daemon *daemon, uint32_t uid);

/* ---- engines (engine_link.c) */

/* Passes an answer of the plant's engine to the daemon. */
void engine_link_answer(const struct engine *engine, const struct engine_message *answer);

/* The process of the engine is gone. */
void engine_link_lose(uint32_t engine);

/* Tells the daemon of engines that have become ready or have ended. Returns whether there was one. */
bool engine_link_settle(void);

/* Connects the links that sottod will open to the engines of @server. */
void engine_link_begin(struct server *server, const struct daemon *daemon);

/* ---- sensors (machine_watch.c) */

void machine_watch_plug(struct sensors *sensors);

/* New readings have come. */
void machine_watch_sample(void);

/* Closes a watch that was ended. Returns whether there was one. */
bool machine_watch_settle(void);

#endif
