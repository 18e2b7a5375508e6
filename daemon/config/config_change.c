/*
 * Config change: two snapshots, compared by the rows that read them
 */
#include "config/config.h"
#include "config/config_keys.h"
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 128 /* "models.", a name, ".", the longest key */

struct comparison {
    config_changed_fn changed;
    void *owner;
};

static void compare_part(const struct comparison *comparison, enum config_part part, const char *before,
                         const void *from, const void *to)
{
    const struct config_list *list = config_keys(part);
    char path[PATH_BYTES];

    for (size_t i = 0; i < list->n; i++) {
        const struct config_key *key = &list->keys[i];

        if (!config_key_equal(key, from, to)) {
            snprintf(path, sizeof(path), "%s%s%s", before, *before ? "." : "", key->name);
            comparison->changed(comparison->owner, path, key->restart);
        }
    }
}

static const struct model_settings *find_model(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->n_models; i++) {
        if (strcmp(config->models[i].name, name) == 0) {
            return &config->models[i];
        }
    }
    return NULL;
}

static void compare_pins(const struct comparison *comparison, const struct model_settings *from,
                         const struct model_settings *to)
{
    char path[PATH_BYTES];
    bool same = from->n_pins == to->n_pins;

    for (size_t i = 0; same && i < from->n_pins; i++) {
        same = pin_settings_equal(&from->pins[i], &to->pins[i]);
    }
    if (!same) {
        snprintf(path, sizeof(path), "models.%s.pin", from->name);
        comparison->changed(comparison->owner, path, false);
    }
}

static void compare_models(const struct comparison *comparison, const struct config *from, const struct config *to)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < from->n_models; i++) {
        const struct model_settings *after = find_model(to, from->models[i].name);

        snprintf(path, sizeof(path), "models.%s", from->models[i].name);
        if (after) {
            compare_part(comparison, CONFIG_MODEL, path, &from->models[i], after);
            compare_pins(comparison, &from->models[i], after);
        } else {
            comparison->changed(comparison->owner, path, false);
        }
    }
    for (size_t i = 0; i < to->n_models; i++) {
        if (!find_model(from, to->models[i].name)) {
            snprintf(path, sizeof(path), "models.%s", to->models[i].name);
            comparison->changed(comparison->owner, path, false);
        }
    }
}

/* Rules have no names, and their order matters: the policy changes as a whole. */
static bool policy_is_equal(const struct policy *a, const struct policy *b)
{
    const struct config_list *list = config_keys(CONFIG_RULE);

    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct policy_rule *x = &a->rules[i];
        const struct policy_rule *y = &b->rules[i];

        /* A name may refer to another number than before. */
        if (x->present != y->present || x->uid != y->uid || x->gid != y->gid) {
            return false;
        }
        for (size_t k = 0; k < list->n; k++) {
            if (!config_key_equal(&list->keys[k], x, y)) {
                return false;
            }
        }
    }
    return true;
}

void config_compare(const struct config *from, const struct config *to, config_changed_fn changed, void *owner)
{
    const struct comparison comparison = { .changed = changed, .owner = owner };

    compare_part(&comparison, CONFIG_TOP, "", from, to);
    for (enum config_part which = CONFIG_PLAIN_FIRST; which < CONFIG_PART_COUNT; which++) {
        const struct config_list *list = config_keys(which);

        compare_part(&comparison, which, list->name, (const char *)from + list->offset,
                     (const char *)to + list->offset);
    }
    compare_models(&comparison, from, to);
    if (!policy_is_equal(&from->policy, &to->policy)) {
        changed(owner, "policy", false);
    }
}
