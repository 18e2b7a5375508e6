/* Usually a group is missing: udev gives render nodes to group "render" and cards to "video". */
#include "drm/node.h"

#include "base/clean.h"
#include "base/err.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static const char *const access_names[] = {
    [NODE_NONE] = "none", [NODE_OPENS] = "opens",   [NODE_FORBIDDEN] = "forbidden",
    [NODE_GONE] = "gone", [NODE_BROKEN] = "broken", [NODE_UNTRIED] = "not tried",
};

const char *node_access_name(enum node_access access)
{
    assert(access < NODE_ACCESS_COUNT);
    return access_names[access];
}

int node_open(const struct node *node, int *ret_fd)
{
    cleanup(fd_closep) int fd = open(node->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0) {
        return err_new(-errno);
    }
    if (fstat(fd, &st) < 0) {
        return err_new(-errno);
    }
    if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != NODE_MAJOR || minor(st.st_rdev) != node->minor) {
        return err_new(-ENODEV);
    }
    *ret_fd = fd_steal(&fd);
    return 0;
}

static enum node_access access_of(int fault)
{
    if (fault == 0) {
        return NODE_OPENS;
    }
    if (fault == -EACCES || fault == -EPERM) {
        return NODE_FORBIDDEN;
    }
    return fault == -ENOENT ? NODE_GONE : NODE_BROKEN;
}

static void look_at(struct node *node, const struct root *root)
{
    struct stat st;

    if (fstatat(root->fd, node->path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        node->mode = st.st_mode & 07777;
        node->uid = st.st_uid;
        node->gid = st.st_gid;
    }
}

void node_try(struct node *node, const struct root *root)
{
    cleanup(fd_closep) int fd = -1;

    node->access = NODE_NONE;
    node->fault = 0;
    if (node->path[0] == '\0') {
        return;
    }
    if (!root->is_machine) {
        node->access = NODE_UNTRIED;
        return;
    }
    look_at(node, root);
    node->fault = node_open(node, &fd);
    node->access = access_of(node->fault);
}

static void group_name(gid_t gid, char *name, size_t cap)
{
    struct group entry;
    struct group *found = NULL;
    char buf[4096];

    if (getgrgid_r(gid, &entry, buf, sizeof(buf), &found) == 0 && found) {
        snprintf(name, cap, "%s", found->gr_name);
    } else {
        snprintf(name, cap, "%u", (unsigned)gid);
    }
}

static void user_name(char *name, size_t cap)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buf[4096];

    if (getpwuid_r(geteuid(), &entry, buf, sizeof(buf), &found) == 0 && found) {
        snprintf(name, cap, "%s", found->pw_name);
    } else {
        snprintf(name, cap, "%u", (unsigned)geteuid());
    }
}

static bool is_in_group(gid_t gid)
{
    gid_t list[256];
    int n = getgroups((int)COUNTOF(list), list);

    for (int i = 0; i < n; i++) {
        if (list[i] == gid) {
            return true;
        }
    }
    return getegid() == gid;
}

static void explain_forbidden(const struct node *node, struct diag *diag)
{
    bool group_may = (node->mode & 060) == 060;
    char group[64];
    char user[64];

    group_name(node->gid, group, sizeof(group));
    user_name(user, sizeof(user));
    if (group_may && node->gid != 0 && !is_in_group(node->gid)) {
        diag_set(
            diag,
            "%s belongs to group %s, and user %s is not in it: run \"usermod -aG %s %s\" and log in again, or in a "
            "unit set SupplementaryGroups=%s",
            node->path, group, user, group, user, group);
    } else if (group_may) {
        diag_set(diag,
                 "%s may not be opened although its mode %04o allows it: a control group forbids it; in a unit set "
                 "DeviceAllow=char-drm rw and PrivateDevices=no",
                 node->path, (unsigned)node->mode);
    } else {
        diag_set(diag,
                 "%s has mode %04o and group %s: give it to a group that %s is in (udev's rule is group render, mode "
                 "0660)",
                 node->path, (unsigned)node->mode, group, user);
    }
}

void node_explain(const struct node *node, struct diag *diag)
{
    switch (node->access) {
    case NODE_NONE:
        diag_set(diag, "the device has no render node: it is a display and can't compute");
        break;
    case NODE_FORBIDDEN:
        explain_forbidden(node, diag);
        break;
    case NODE_GONE:
        diag_set(
            diag,
            "%s does not exist although the kernel has the device: in a unit set PrivateDevices=no; to a container, "
            "pass it in",
            node->path);
        break;
    case NODE_BROKEN:
        diag_set(diag, "%s can't be opened: %s; look at what the kernel says (dmesg)", node->path,
                 strerrordesc_np(-node->fault));
        break;
    case NODE_OPENS:
    case NODE_UNTRIED:
    case NODE_ACCESS_COUNT:
        break;
    }
}
