/*
 * Config: the whole configuration as one checked snapshot
 *
 * It is strict: an unknown or doubtful setting refuses the file, with line, path, value and what is expected, since a
 * setting that is silently ignored is worse than none. `{}` is complete. A snapshot never changes: a reload builds a
 * new one, and the daemon takes it or keeps the old one. All memory of a snapshot is one arena.
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

/* Longest path of a folder or a device node, with its zero. */
#define CONFIG_TREE_BYTES 512u

struct config_device {
    const char *gpu;  /* "off", "preferred", "required" */
    const char *node; /* or NULL: sottod chooses */
    const char *root; /* for tests: the folder below which devices are looked for; NULL: the machine */
    bool allow_software_gpu;
};

struct config_sense {
    const char *start;  /* "auto", "child", "socket", "never" */
    const char *socket; /* or NULL: the default */
    const char *user;   /* its socket is trusted, besides those of root and our own user; or NULL */
    uint32_t uid;       /* of @user; UINT32_MAX: none */
    const char *root;   /* the folder below which the child reads; NULL: the machine */
    struct config_texts zones;
    struct config_texts scales;
};

/* The plain settings of a pin; the others are read by functions of their own (config_pins.c). */
struct config_pin {
    const char *name;
    const char *file;
};

struct config {
    struct arena arena;
    const char *file;              /* or NULL: only the defaults and the command line */
    const char *socket;            /* or NULL: the default of this user */
    const char *socket_group;      /* or NULL: the daemon's own */
    gid_t socket_gid;              /* of socket_group; (gid_t)-1: none */
    struct model_settings *models; /* in the arena */
    size_t n_models;
    struct policy policy;
    struct config_daemon daemon;
    struct config_device device;
    struct config_sense sense;
    struct governor_policy governor; /* 0: the default of the governor */
    struct energy_stated energy;
};

/* Settings of the command line: they override the file, also after a reload. */
struct config_extra {
    const char *socket; /* or NULL */
    const struct config_extra_model {
        const char *name;
        const char *file; /* absolute */
    } * models;
    size_t n_models;
};

/* Is called with a sentence for each error. */
typedef void (*config_say_fn)(void *owner, const char *sentence);

enum config_outcome {
    CONFIG_OK,
    CONFIG_REFUSED, /* every reason was reported */
};

/* Reads @file (NULL: as if it contained {}). Blocks while it reads and looks up user names. Returns a config_outcome or
 * a fault. */
int config_read(struct config **ret_config, const char *file, const struct config_extra *extra, config_say_fn say,
                void *owner);

/* Reads @n bytes of @text, which is zero-ended, as config_read() does; @file only names it. */
int config_parse(struct config **ret_config, const char *file, const char *text, size_t n,
                 const struct config_extra *extra, config_say_fn say, void *owner);

void config_destroy(struct config *config);
void config_destroyp(struct config **config);

/* Calls @changed with the path of each setting that differs, and whether the change needs a restart. */
typedef void (*config_changed_fn)(void *owner, const char *path, bool restart);

void config_compare(const struct config *from, const struct config *to, config_changed_fn changed, void *owner);

#endif
