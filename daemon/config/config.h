/*
 * Config: the whole configuration as one checked snapshot
 *
 * Strict: an unknown or doubtful setting refuses the file, with line, path, value and what is allowed, since a
 * setting that is ignored without a word is worse than none. `{}` is complete. A snapshot never changes; a reload
 * builds a new one beside it and the daemon swaps or keeps. All its memory is one arena.
 */
#ifndef SOTTO_CONFIG_CONFIG_H
#define SOTTO_CONFIG_CONFIG_H

#include "base/arena.h"
#include "config/config_keys.h"
#include "config/config_policy.h"

struct config_daemon {
    uint32_t stop_grace_ms;
    uint32_t load_stall_ms;
    uint32_t step_watchdog_ms;
    uint32_t restart_pauses_ms[3];
    uint32_t n_conns;
    uint32_t n_conns_a_uid;
    uint64_t wire_bytes_a_uid;
    bool guard_allocations;
};

/* Of the path of a tree or a node, with its 0. */
#define CONFIG_TREE_BYTES 512u

struct config_device {
    const char *gpu;  /* "off", "preferred", "required" */
    const char *node; /* or NULL: by itself */
    const char *root; /* tests: the folder below which devices are looked for; NULL: the machine */
    bool allow_software_gpu;
};

struct config_sense {
    const char *start;  /* "auto", "child", "socket", "never" */
    const char *socket; /* or NULL: the usual one */
    const char *user;   /* whose socket is believed beside root's and our own; or NULL */
    uint32_t uid;       /* of @user; UINT32_MAX: none */
    const char *root;   /* what the child reads below; NULL: the machine */
    struct config_texts zones;
    struct config_texts scales;
};

/* The plain settings of what a model pins; the others have their own functions (config_pins.c). */
struct config_pin {
    const char *name;
    const char *file;
};

struct config {
    struct arena arena;
    const char *file;              /* or NULL: nothing but what is built in and the command line */
    const char *socket;            /* or NULL: the usual place of this user */
    const char *socket_group;      /* or NULL: the daemon's own */
    gid_t socket_gid;              /* of socket_group; (gid_t)-1: none */
    struct model_settings *models; /* in the arena */
    size_t n_models;
    struct policy policy;
    struct config_daemon daemon;
    struct config_device device;
    struct config_sense sense;
    struct governor_policy governor; /* 0: as the governor has it by itself */
    struct energy_stated energy;
};

/* What the command line adds: it wins over the file, also after a reload. */
struct config_extra {
    const char *socket; /* or NULL */
    const struct config_extra_model {
        const char *name;
        const char *file; /* absolute */
    } * models;
    size_t n_models;
};

/* Gets each sentence about what is wrong. */
typedef void (*config_say_fn)(void *owner, const char *sentence);

enum config_outcome {
    CONFIG_OK,
    CONFIG_REFUSED, /* every reason was said */
};

/* Reads @file (NULL: as if it held {}). Blocks for the read and for the lookup of user names. An outcome, or
 * a fault. */
int config_read(struct config **ret_config, const char *file, const struct config_extra *extra, config_say_fn say,
                void *owner);

/* The same from @n bytes of @text; @file only names it. */
int config_parse(struct config **ret_config, const char *file, const char *text, size_t n,
                 const struct config_extra *extra, config_say_fn say, void *owner);

void config_destroy(struct config *config);
void config_destroyp(struct config **config);

/* Calls @changed with the path of each setting that differs, and whether it waits for a restart. */
typedef void (*config_changed_fn)(void *owner, const char *path, bool restart);

void config_compare(const struct config *from, const struct config *to, config_changed_fn changed, void *owner);

#endif
