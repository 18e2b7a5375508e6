/*
 * Models: the rows of the configuration, and which instance of each serves
 *
 * A model has a current instance (new streams go to it), perhaps a next one that loads beside it (the file at its path
 * was replaced), and older ones that end with their last stream. A load belongs to the daemon: however many ask, it
 * is one, and it goes on when they leave.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_MODELS_H
#define SOTTO_REGISTRY_MODELS_H

#include "hub/hub_state.h"
#include "registry/instance.h"

struct model {
    struct list link;      /* hub::models */
    struct list instances; /* instance::link, all of them */
    struct list waiters;   /* ticket::link: loads, unloads, and words that wait for it */
    struct hub *hub;
    struct model_settings settings; /* strings owned, in @strings */
    char *strings;
    struct instance *current;
    struct instance *next;
    bool is_held;    /* unloaded by an administrator: only one loads it again */
    bool is_removed; /* no longer configured */
    bool has_failed;
    struct identity failed; /* of the file that was refused */
    uint64_t retry_us;      /* when who asks may try it again, as the file was not to blame; UINT64_MAX: it was */
    char reason[DIAG_BYTES];
    uint32_t n_tickets; /* that name it */
    uint32_t n_starts;
    char last_exit[128];
};

/* Empty @name: the default one. NULL: there is none such (or it is removed). */
struct model *models_find(const struct hub *hub, const char *name);

int models_add(struct hub *hub, const struct model_settings *settings, struct model **ret_model);

/* A copy with strings of its own, all in one block. 0 or -ENOMEM. */
int settings_copy(const struct model_settings *settings, struct model_settings *ret_settings, char **ret_strings);

/* Takes @settings for the next load. 0 or -ENOMEM. */
int models_set(struct model *model, const struct model_settings *settings);

/* Frees a row that is no longer configured, unless an instance or a ticket still needs it. */
void models_try_remove(struct model *model);

/* The instance that a new request goes to: the current one, or the one that loads; NULL: none. */
struct instance *models_pick(const struct model *model);

/*
 * Makes sure that an instance serves or loads. @admin: also if it was unloaded or has failed before. Above 0: a Code
 * with the sentence in @diag.
 */
int models_want(struct model *model, bool admin, struct diag *diag);

/* Ends all instances: when their streams are gone, or @now with them. */
void models_unload(struct model *model, bool now, const char *why);

Sotto__V1__ModelState models_state(const struct model *model);

/* From instances. */
void models_on_progress(struct instance *instance);
void models_on_ready(struct instance *instance);
/* The instance is at its end for good, and @sentence says why: its streams and waiters are told. @by_file: the file
 * is not tried again before it is another or an administrator asks; else (no memory, no descriptors, engines that were
 * lost) whoever asks after the longest of the pauses between starts has it tried again. */
void models_on_failed(struct instance *instance, bool by_file, const char *sentence);
/* It is about to be freed. */
void models_on_gone(struct instance *instance);
/* The last stream or job of an instance has left. */
void models_on_idle(struct instance *instance);

#endif
