/*
 * Node: one file below /dev/dri, and whether this process may use it
 *
 * Owner, group and mode are read; whether it opens is tried, never computed from them: control groups, namespaces and
 * access lists decide as well. What is missing is said in words that a person can act on.
 */
#ifndef SOTTO_DRM_NODE_H
#define SOTTO_DRM_NODE_H

#include "base/diag.h"
#include "sysfs/root.h"
#include <stdbool.h>
#include <sys/types.h>

enum node_access {
    NODE_NONE,      /* the device has no such node */
    NODE_OPENS,     /* for reading and writing */
    NODE_FORBIDDEN, /* it exists, and may not be opened */
    NODE_GONE,      /* sysfs names it, /dev has no such file (a unit with PrivateDevices, a device just unplugged) */
    NODE_BROKEN,    /* it exists, and opening it fails for another reason */
    NODE_UNTRIED,   /* in a recorded tree, where nothing can be opened */
    NODE_ACCESS_COUNT,
};

struct node {
    char path[48];  /* "/dev/dri/renderD128"; empty: none */
    uint32_t minor; /* of major 226 */
    enum node_access access;
    int fault;   /* -errno of opening it */
    mode_t mode; /* 0: unknown */
    uid_t uid;
    gid_t gid;
};

#define NODE_MAJOR 226u

/* Fills in all but path and minor, which the caller has set. Opens and closes the node if @root is the machine. */
void node_try(struct node *node, const struct root *root);

/* Opens the node; *ret_fd is the caller's. 0 or a fault; -ENODEV: the file is no DRM node of this number. */
int node_open(const struct node *node, int *ret_fd);

/* Sets @diag to a sentence: what is wrong and what to do. NODE_OPENS leaves it as it is. */
void node_explain(const struct node *node, struct diag *diag);

const char *node_access_name(enum node_access access); /* "opens", "forbidden" */

#endif
