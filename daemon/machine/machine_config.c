#include "machine/machine_config.h"
#include "base/clean.h"
#include "base/err.h"
#include <errno.h>
#include <string.h>

static const uint32_t usual_pause_ms[3] = { 100, 1000, 10000 };

static int copy_text(struct arena *arena, const char **text)
{
    char *copy;

    if (!*text) {
        return 0;
    }
    copy = arena_alloc(arena, strlen(*text) + 1);
    if (!copy) {
        return err_new(-ENOMEM);
    }
    *text = memcpy(copy, *text, strlen(*text) + 1);
    return 0;
}

static int copy_texts(struct arena *arena, const char *const **texts, size_t n)
{
    const char **list = arena_alloc(arena, n * sizeof(*list) + 1);

    if (!list) {
        return err_new(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        int r;

        list[i] = (*texts)[i];
        r = copy_text(arena, &list[i]);
        if (r) {
            return err_up(r);
        }
    }
    *texts = list;
    return 0;
}

int machine_config_copy(struct arena *arena, const struct machine_config *from, struct machine_config *to)
{
    int r;

    *to = *from;
    for (size_t i = 0; i < COUNTOF(to->pause_ms); i++) {
        to->pause_ms[i] = from->pause_ms[i] ? from->pause_ms[i] : usual_pause_ms[i];
    }
    r = copy_text(arena, &to->socket);
    r = r ? r : copy_text(arena, &to->program);
    r = r ? r : copy_text(arena, &to->root);
    r = r ? r : copy_text(arena, &to->device);
    r = r ? r : copy_texts(arena, &to->zones, to->n_zones);
    r = r ? r : copy_texts(arena, &to->scales, to->n_scales);
    return r ? err_up(r) : 0;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
    if (n_a != n_b) {
        return false;
    }
    for (size_t i = 0; i < n_a; i++) {
        if (strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool machine_config_same_link(const struct machine_config *a, const struct machine_config *b)
{
    return a->start == b->start && a->uid == b->uid && same_text(a->socket, b->socket) &&
           same_text(a->program, b->program) && same_text(a->root, b->root) && same_text(a->device, b->device) &&
           same_texts(a->zones, a->n_zones, b->zones, b->n_zones) &&
           same_texts(a->scales, a->n_scales, b->scales, b->n_scales);
}
