/*
 * Devices: a search works on a copy
 *
 * The pool fills `fresh`; the loop copies it and claims the device. A claim is a lock that is tried without waiting.
 */
#include "app/devices.h"

#include "base/err.h"
#include "base/log.h"
#include "proto/wire.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_off(const struct devices *devices)
{
    return strcmp(devices->config.gpu, "off") == 0;
}

static bool is_required(const struct devices *devices)
{
    return strcmp(devices->config.gpu, "required") == 0;
}

/* Returns a copy of @text in @buffer; NULL stays NULL. */
static const char *own_text(char buffer[CONFIG_TREE_BYTES], const char *text)
{
    if (!text) {
        return NULL;
    }
    snprintf(buffer, CONFIG_TREE_BYTES, "%s", text);
    return buffer;
}

void devices_init(struct devices *devices, uv_loop_t *loop, const struct config_device *config, const char *runtime,
                  void (*done)(void *owner), void *owner)
{
    *devices = (struct devices){ .loop = loop, .config = *config, .runtime = runtime, .done = done, .owner = owner };
    devices->config.gpu = own_text(devices->texts[0], config->gpu);
    devices->config.node = own_text(devices->texts[1], config->node);
    devices->config.root = own_text(devices->texts[2], config->root);
    devices->claim.fd = -1;
    devices->root.fd = -1;
}

/* ---- claiming */

/* Returns the folder of claims: the machine's, or else the user's. */
static const char *claim_folder(const struct devices *devices)
{
    return access(CLAIM_FOLDER, W_OK) == 0 || !devices->runtime ? CLAIM_FOLDER : devices->runtime;
}

static void drop_claim(struct devices *devices)
{
    claim_drop(&devices->claim);
    devices->claimed[0] = '\0';
}

/* Returns whether @text differs from the last report: searches with the same result are logged once. */
static bool is_news(struct devices *devices, const char *text)
{
    if (strcmp(devices->reported, text) == 0) {
        return false;
    }
    snprintf(devices->reported, sizeof(devices->reported), "%s", text);
    return true;
}

static void claim_chosen(struct devices *devices)
{
    struct devices_view *view = &devices->view;
    const struct device *device = &view->found[view->choice.chosen];
    int r;

    if (strcmp(devices->claimed, device->bus_name) == 0) {
        return;
    }
    drop_claim(devices);
    r = claim_take(&devices->claim, claim_folder(devices), device->bus_name, &view->diag);
    if (r == CLAIM_OK) {
        snprintf(devices->claimed, sizeof(devices->claimed), "%s", device->bus_name);
        devices->reported[0] = '\0';
        log_info("device", "event: claimed, node: %s, chip: %s", device->render.path, device->name);
    } else {
        if (is_news(devices, view->diag.text)) {
            log_warn("device", "event: not-claimed, node: %s, why: %s", device->render.path, view->diag.text);
        }
    }
}

/* ---- searching */

/* Returns the node that the configuration names. It may be a link that keeps its name when numbers change, such as
 * /dev/dri/by-path/...; a dangling link is returned itself. */
static const char *named_node(const struct devices *devices, char real[PATH_MAX])
{
    const char *node = devices->config.node;

    return node && root_real_path(&devices->root, node, real, PATH_MAX) == 0 ? real : node;
}

static void look(uv_work_t *work)
{
    struct devices *devices = work->data;
    struct devices_view *view = &devices->fresh;
    char real[PATH_MAX];
    const struct choice_policy policy = {
        .node = named_node(devices, real),
        .allow_software = devices->config.allow_software_gpu,
        .needs_gpu = is_required(devices),
    };

    memset(view, 0, sizeof(*view));
    devices->fault = device_find_all(&devices->root, view->found, &view->n);
    if (devices->fault) {
        diag_set(&view->diag, "can't read the devices below %s/sys/class/drm: %s", devices->root.path,
                 strerrordesc_np(-devices->fault));
        view->n = 0;
        view->outcome = policy.needs_gpu ? CHOICE_REFUSED : CHOICE_NONE;
        return;
    }
    view->outcome = choice_make(view->found, view->n, &policy, &view->choice, &view->diag);
}

static void on_looked(uv_work_t *work, int status)
{
    struct devices *devices = work->data;

    devices->is_looking = false;
    if (status == UV_ECANCELED) {
        return;
    }
    devices->view = devices->fresh;
    devices->has_looked = true;
    if (devices->view.outcome == CHOICE_OK) {
        claim_chosen(devices);
    } else {
        drop_claim(devices);
        if (is_news(devices, devices->view.diag.text)) {
            log_info("device", "event: no-device, why: %s", devices->view.diag.text);
        }
    }
    if (devices->again) {
        devices->again = false;
        devices_look(devices);
    }
    devices->done(devices->owner);
}

void devices_look(struct devices *devices)
{
    const char *path = devices->config.root ? devices->config.root : "/";
    int r;

    if (is_off(devices)) {
        return;
    }
    if (devices->is_looking) {
        devices->again = true;
        return;
    }
    if (devices->root.fd < 0) {
        r = root_open(&devices->root, path);
        if (r) {
            log_error("device", "can't read %s: %s", path, strerrordesc_np(-r));
            return;
        }
    }
    devices->work.data = devices;
    devices->is_looking = uv_queue_work(devices->loop, &devices->work, look, on_looked) == 0;
}

/* ---- reporting */

bool devices_are_missing(const struct devices *devices, const char **ret_why)
{
    if (!is_required(devices) || !devices->has_looked || devices->claimed[0]) {
        return false;
    }
    *ret_why = devices->view.diag.text;
    return true;
}

/* Returns the source of load that @report has for @node, or "". */
static char *load_source(const Sotto__V1__StatusReport *report, const char *node)
{
    for (size_t i = 0; i < report->n_devices; i++) {
        if (strcmp(report->devices[i]->node, node) == 0) {
            return report->devices[i]->load_source;
        }
    }
    return wire_str("");
}

/* Returns whether sotto-sense reads another device than @node, as one with a unit of its own may. */
static bool reads_another(const Sotto__V1__StatusReport *report, const char *node)
{
    bool another = false;

    for (size_t i = 0; i < report->n_devices; i++) {
        const bool is_read = report->devices[i]->load_source[0] != '\0';

        if (is_read && strcmp(report->devices[i]->node, node) == 0) {
            return false;
        }
        another = another || is_read;
    }
    return another;
}

void devices_describe(struct devices *devices, Sotto__V1__StatusReport *report)
{
    struct devices_view *view = &devices->view;

    for (uint32_t i = 0; i < view->n; i++) {
        const struct device *device = &view->found[i];
        Sotto__V1__DeviceInfo *info = &devices->infos[i];
        const char *node = device->render.path[0] ? device->render.path : device->card.path;

        snprintf(devices->versions[i], sizeof(devices->versions[i]), "%s %d.%d.%d", device->driver, device->version[0],
                 device->version[1], device->version[2]);
        sotto__v1__device_info__init(info);
        info->node = wire_str(node);
        info->load_source = load_source(report, node);
        info->driver = device->version[0] || device->version[1] ? devices->versions[i] : wire_str(device->driver);
        info->chip = wire_str(device->name);
        info->chosen = view->outcome == CHOICE_OK && view->choice.chosen == i;
        info->claimed = info->chosen && devices->claimed[0];
        info->why =
            info->chosen && !devices->claimed[0] && diag_is_set(&view->diag) ? view->diag.text : view->choice.why[i];
        if (info->chosen && reads_another(report, node)) {
            info->why = wire_str("its load is unknown: sotto-sense reads another device; start "
                                 "sotto-sense with --device");
        }
        devices->list[i] = info;
    }
    if (view->n > 0) {
        report->devices = devices->list;
        report->n_devices = view->n;
    }
}

void devices_finish(struct devices *devices)
{
    drop_claim(devices);
    if (devices->root.fd >= 0) {
        root_close(&devices->root);
        devices->root.fd = -1;
    }
}
