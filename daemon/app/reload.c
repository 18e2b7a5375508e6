/*
 * Reload: a new configuration is built and checked as a whole, then applied, or nothing changes
 *
 * Settings that can't change in a running daemon are reported by name and keep their value.
 */
#include "app/notify.h"
#include "app/wire_up.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/log.h"
#include "config/config_keys.h"
#include "proto/wire.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHANGES_MOST 256u /* of further changes only the number is reported */

struct change {
    const char *path;
    bool waits; /* for a restart of the daemon, or of the model */
};

struct changes {
    struct arena *arena;
    struct change list[CHANGES_MOST];
    size_t n;
    size_t n_lost;
};

static void on_changed(void *owner, const char *path, bool restart)
{
    struct changes *changes = owner;
    const char *copy = changes->n < CHANGES_MOST ? config_copy_text(changes->arena, path) : NULL;

    if (!copy) {
        changes->n_lost++;
        return;
    }
    changes->list[changes->n++] = (struct change){ .path = copy, .waits = restart };
}

/* Is called by the hub for each setting that waits until the model is loaded again. */
static void on_needs(void *owner, const char *path)
{
    struct changes *changes = owner;

    for (size_t i = 0; i < changes->n; i++) {
        if (strcmp(changes->list[i].path, path) == 0) {
            changes->list[i].waits = true;
            return;
        }
    }
    on_changed(changes, path, true);
}

/* Returns the list of the changes that wait, or of the others; NULL with *ret_n 0 if there is no memory. */
static char **list_of(const struct changes *changes, bool waits, size_t *ret_n)
{
    char **list = arena_alloc(changes->arena, (changes->n + 1) * sizeof(*list));
    size_t n = 0;

    for (size_t i = 0; list && i < changes->n; i++) {
        if (changes->list[i].waits == waits) {
            list[n++] = wire_str(changes->list[i].path);
        }
    }
    *ret_n = n;
    return list;
}

static void on_sentence(void *owner, const char *sentence)
{
    struct diag *diag = owner;

    log_error("app", "%s", sentence);
    diag_set(diag, "%s", sentence);
}

/* Keeps old values that wait for a restart, so that the next reload finds the difference again. */
static int keep_part(enum config_part which, const struct config *from, struct config *to)
{
    const struct config_list *list = config_keys(which);

    for (size_t i = 0; i < list->n; i++) {
        const struct config_key *key = &list->keys[i];
        int r = key->restart
                    ? config_key_keep(key, (const char *)from + list->offset, (char *)to + list->offset, &to->arena)
                    : 0;

        if (r) {
            return err_up(r);
        }
    }
    return 0;
}

static int keep_waiting(const struct config *from, struct config *to)
{
    int r = keep_part(CONFIG_TOP, from, to);

    for (enum config_part which = CONFIG_PLAIN_FIRST; !r && which < CONFIG_PART_COUNT; which++) {
        r = keep_part(which, from, to);
    }
    to->socket_gid = from->socket_gid;
    return r;
}

static int swap(struct sottod *sottod, struct config **next, struct changes *changes)
{
    struct hub_config hub_config;
    struct ipc_limits limits;
    struct config *before;
    int r;

    config_compare(sottod->config, *next, on_changed, changes);
    r = keep_waiting(sottod->config, *next);
    if (r) {
        return err_up(r);
    }
    sottod_hub_config(sottod, *next, &hub_config);
    r = hub_configure(sottod->hub, &hub_config, on_needs, changes);
    if (r) {
        return err_up(r);
    }
    before = sottod->config;
    sottod->config = steal(next);
    sottod->generation++;
    sottod_ipc_limits(sottod->config, &limits);
    ipc_reconfigure(sottod->ipc, &limits);
    config_destroy(before);
    return 0;
}

static void report(struct sottod *sottod, const Sotto__V1__Reloaded *reloaded)
{
    char generation[24];
    char n_applied[24];
    char n_waiting[24];
    const char *pairs[] = { "generation", generation, "applied", n_applied, "needs-restart", n_waiting };

    snprintf(generation, sizeof(generation), "%" PRIu64, reloaded->config_generation);
    snprintf(n_applied, sizeof(n_applied), "%zu", reloaded->n_applied);
    snprintf(n_waiting, sizeof(n_waiting), "%zu", reloaded->n_needs_restart);
    for (size_t i = 0; i < reloaded->n_needs_restart; i++) {
        log_warn("app", "reload: the change of %s needs a restart", reloaded->needs_restart[i]);
    }
    sottod_event(sottod, "config", "reloaded", pairs, COUNTOF(pairs) / 2, UINT32_MAX);
}

int sottod_reload(struct sottod *sottod, Sotto__V1__Reloaded *ret_reloaded, struct diag *diag)
{
    cleanup(config_destroyp) struct config *next = NULL;
    struct changes changes = { .arena = &sottod->answer };
    int r;

    if (sottod->state != SOTTOD_SERVING) {
        diag_set(diag, "the daemon is starting or shutting down; try again later");
        return SOTTO__V1__CODE__CODE_UNAVAILABLE;
    }
    notify_reloading();
    arena_reset(&sottod->answer);
    r = config_read(&next, sottod->options->config, &sottod->options->extra, on_sentence, diag);
    if (r == CONFIG_OK) {
        r = swap(sottod, &next, &changes);
    } else if (r > 0) {
        r = SOTTO__V1__CODE__CODE_FAILED_PRECONDITION;
    }
    notify_ready();
    if (r) {
        return err_pass(r);
    }
    ret_reloaded->config_generation = sottod->generation;
    ret_reloaded->applied = list_of(&changes, false, &ret_reloaded->n_applied);
    ret_reloaded->needs_restart = list_of(&changes, true, &ret_reloaded->n_needs_restart);
    if (changes.n_lost) {
        log_warn("app", "reload: %zu more changes were made than are listed", changes.n_lost);
    }
    report(sottod, ret_reloaded);
    return 0;
}
