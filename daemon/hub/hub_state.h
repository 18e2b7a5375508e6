/*
 * Hub state: what the files of this module share
 *
 * The hub owns every other part of the daemon's service and connects them: what one part tells by its sink, the hub
 * hands to the parts that it concerns. No other module knows struct hub.
 */
#ifndef SOTTO_HUB_HUB_STATE_H
#define SOTTO_HUB_HUB_STATE_H

#include "dispatch/dispatcher.h"
#include "hub/hub.h"
#include "hub/hub_gains.h"
#include "registry/models.h"

struct hub {
    struct events events;
    struct text_pool pool;
    struct tickets tickets;
    struct registry registry;
    struct streams streams;
    struct sessions sessions;
    struct governor_loop governor_loop;
    struct dispatcher dispatcher;
    struct machine_watch *watch;
    struct hub_gains gains;

    struct list asking; /* status tickets that wait for figures */
    uv_timer_t figures; /* engines that do not answer a Query in time */
    uv_timer_t grace;   /* of hub_stop() */
    bool has_grace;     /* stopping, and streams may still end by themselves */
    uint32_t n_handles; /* not yet closed */
    void (*stopped)(void *owner);
    void *stopped_owner;
};

/* ---- hub_status.c */

/* Takes note that figures of an engine have come, or will not come any more. */
void hub_status_on_figures(struct hub *hub);

/* Fills @ret_info from @arena. 0 or -ENOMEM. */
int hub_status_fill_model(const struct model_entry *model, const struct grant *grant, struct arena *arena,
                          Sotto__V1__ModelInfo *ret_info);

/* ---- hub_pins.c: fills the pins of @model that @grant may hear of into @info from @arena. 0 or -ENOMEM. */
int hub_pins_fill(const struct model_entry *model, const struct grant *grant, struct arena *arena,
                  Sotto__V1__ModelInfo *info);

/* ---- hub_governor.c: fills the governor's rows and the accounts that @grant may see. 0 or -ENOMEM. */
int hub_governor_fill(const struct hub *hub, const struct grant *grant, struct arena *arena,
                      Sotto__V1__StatusReport *report);

/* ---- hub_configure.c */

/* Puts the limits of engines in force. */
void hub_configure_limits(struct hub *hub, const struct hub_config *config);

/* Loads the models that are to load at start. */
void hub_configure_load(struct hub *hub);

#endif
