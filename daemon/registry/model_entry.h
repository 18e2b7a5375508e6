/*
 * Model entry: a model, as a row of the configuration, and which instance of it serves
 *
 * A model has a current instance (new streams go to it), perhaps a next one that loads beside it (the file at its path
 * was replaced), and older ones that end with their last stream.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_MODEL_ENTRY_H
#define SOTTO_REGISTRY_MODEL_ENTRY_H

#include "registry/identity.h"
#include "registry/registry.h"
#include "registry/settings.h"

struct model_entry {
    struct list link;      /* registry::models */
    struct list instances; /* instance::link, all of them */
    struct list waiters;   /* ticket::link: loads, unloads, and texts that wait for the vocabulary */
    struct registry *registry;
    struct model_settings settings; /* strings owned, in @strings */
    char *strings;
    struct instance *current;
    struct instance *next;
    bool is_held;    /* unloaded by an administrator: only an administrator loads it again */
    bool is_removed; /* no longer configured */
    bool has_failed;
    struct identity failed; /* of the file that was refused */
    uint64_t retry_us;      /* when a request may try the file again; UINT64_MAX: the file itself was refused */
    char reason[DIAG_BYTES];
    uint32_t n_tickets; /* that name it */
    uint32_t n_starts;  /* engines started for it, ever */
    char last_exit[128];
};

/* Returns the model of @name (empty or NULL: the default one), or NULL if there is none or it is removed. */
struct model_entry *model_entry_find(const struct registry *registry, const char *name);

/* Adds a row. 0 or -ENOMEM. */
int model_entry_add(struct registry *registry, const struct model_settings *settings, struct model_entry **ret_model);

/* Puts @settings in force for the next load. 0 or -ENOMEM. */
int model_entry_set(struct model_entry *model, const struct model_settings *settings);

/* Frees a row that is no longer configured, unless an instance or a ticket still needs it. */
void model_entry_try_remove(struct model_entry *model);

/* Returns the instance that a new request goes to: the current one, or the one that loads; NULL: none. */
struct instance *model_entry_pick(const struct model_entry *model);

/* Returns the state in the protocol's words. */
Sotto__V1__ModelState model_entry_state(const struct model_entry *model);

#endif
