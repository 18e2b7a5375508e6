/* Each device that can't serve gets its reason first; the others are candidates. */
#include "drm/choice.h"

#include "base/clean.h"
#include <stdio.h>
#include <string.h>

/* Returns true, with the reason in @why, if @device can't compute. */
static bool is_unfit(const struct device *device, const struct choice_policy *policy, char *why, size_t cap)
{
    struct diag diag = DIAG_INIT;

    if (device->render.access == NODE_NONE || chip_has(device->chip, CHIP_DISPLAY_ONLY)) {
        snprintf(why, cap, "passed over: a display, it can't compute");
    } else if (chip_has(device->chip, CHIP_NO_COMPUTE)) {
        snprintf(why, cap, "passed over: %s", chip_quirk_text(CHIP_NO_COMPUTE));
    } else if (chip_has(device->chip, CHIP_SOFTWARE) && !policy->allow_software) {
        snprintf(why, cap, "passed over: not a GPU, and the configuration does not set allow_software_gpu");
    } else if (device->render.access != NODE_OPENS && device->render.access != NODE_UNTRIED) {
        node_explain(&device->render, &diag);
        snprintf(why, cap, "not usable: %.140s", diag.text);
    } else {
        return false;
    }
    return true;
}

static bool is_named(const struct device *device, const char *node)
{
    return strcmp(device->render.path, node) == 0 || (device->card.path[0] && strcmp(device->card.path, node) == 0);
}

static int choose_named(const struct device *devices, uint32_t n, const struct choice_policy *policy,
                        struct choice *choice, struct diag *diag)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!is_named(&devices[i], policy->node)) {
            continue;
        }
        if (choice->why[i][0]) {
            diag_set(diag, "%s, which the configuration names, can't serve: %s", policy->node, choice->why[i]);
            return CHOICE_REFUSED;
        }
        snprintf(choice->why[i], sizeof(choice->why[i]), "chosen: the configuration names it");
        choice->chosen = i;
        return CHOICE_OK;
    }
    diag_set(diag,
             "%s, which the configuration names, is not a device of this machine: run \"sotto doctor\" to list them",
             policy->node);
    return CHOICE_REFUSED;
}

/* Returns the first candidate, which drives the display if asked for; @n: none. */
static uint32_t first_fit(const struct device *devices, uint32_t n, const struct choice *choice, bool displays)
{
    uint32_t at = 0;

    while (at < n && (choice->why[at][0] || (displays && !devices[at].has_display))) {
        at++;
    }
    return at;
}

static int choose_first(const struct device *devices, uint32_t n, const struct choice_policy *policy,
                        struct choice *choice, struct diag *diag)
{
    uint32_t at = first_fit(devices, n, choice, true);
    const char *reason = "it drives the display";

    if (at == n) {
        at = first_fit(devices, n, choice, false);
        reason = "it is the first that can compute";
    }
    if (at < n) {
        snprintf(choice->why[at], sizeof(choice->why[at]), "chosen: %s", reason);
        choice->chosen = at;
        return CHOICE_OK;
    }
    if (n > 0) {
        diag_set(diag, "none of the %u DRM devices can compute: run \"sotto doctor\" to see why", n);
    } else {
        diag_set(diag, "this machine has no DRM device: the CPU computes");
    }
    return policy->needs_gpu ? CHOICE_REFUSED : CHOICE_NONE;
}

int choice_make(const struct device *devices, uint32_t n, const struct choice_policy *policy, struct choice *ret_choice,
                struct diag *diag)
{
    int r;

    *ret_choice = (struct choice){ 0 };
    for (uint32_t i = 0; i < n; i++) {
        if (!is_unfit(&devices[i], policy, ret_choice->why[i], sizeof(ret_choice->why[i]))) {
            ret_choice->why[i][0] = '\0';
        }
    }
    r = policy->node ? choose_named(devices, n, policy, ret_choice, diag)
                     : choose_first(devices, n, policy, ret_choice, diag);
    for (uint32_t i = 0; i < n; i++) {
        if (!ret_choice->why[i][0]) {
            snprintf(ret_choice->why[i], sizeof(ret_choice->why[i]), "passed over: another one comes first");
        }
    }
    return r;
}
