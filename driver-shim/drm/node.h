/*
 * Node: one file below /dev/dri, and whether this process may use it
 *
 * The file's owner, group and mode are read; whether it opens is tried, never computed from them: control groups,
 * name spaces and access lists decide as well. What is missing is said in words that a person can act on.
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
    NODE_FORBIDDEN, /* it is there, and may not be opened */
    NODE_GONE,      /* sysfs names it, /dev has no such file (a unit with PrivateDevices, a device just unplugged) */
    NODE_BROKEN,    /* it is there, and opening it fails for another reason */
    NODE_UNTRIED,   /* recorded: nothing can be opened */
    NODE_ACCESS_COUNT,
};

struct node {
    char path[48];  /* "/dev/dri/renderD128"; empty: none */
    uint32_t minor; /* of major 226 */
    enum node_access access;
    int fault;   /* -errno of the attempt */
    mode_t mode; /* 0: unknown */
    uid_t uid;
    gid_t gid;
};

#define NODE_MAJOR 226u

/* Fills all but path and minor, which stand there. Opens and closes the node where @root is the machine. */
void node_try(struct node *node, const struct root *root);

/* Opens it: a descriptor in *ret_fd, or a fault; -ENODEV when it is a file, but no DRM node of this number. */
int node_open(const struct node *node, int *ret_fd);

/* One sentence: what is wrong with it and what to do. Nothing for NODE_OPENS. */
void node_explain(const struct node *node, struct diag *diag);

const char *node_access_name(enum node_access access); /* "opens", "forbidden" */

#endif
