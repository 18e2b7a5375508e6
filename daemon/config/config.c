/*
 * The order of a reading: the plain settings of the top, then its parts, then what settings demand of each other.
 * Each fault is said where it stands and the reading goes on, so that one look mends them all.
 */
#include "base/clean.h"
#include "base/err.h"
#include "base/file.h"
#include "config/config_reader.h"
#include "ipc/socket_file.h"
#include "proto/check.h"
#include "proto/limit.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MOST   (1u << 20)  /* a configuration for people to write */
#define MEMORY_MOST (64u << 20) /* texts and tables of the largest file, and what it pins */
#define MODELS_MOST 64u
#define RULES_MOST  256u

/* Of what a sensor says: from thousandths to whole degrees of a zone in degrees. */
#define SCALE_LEAST 0.001
#define SCALE_MOST  1e6

/* What holds where the file says nothing. */
static const struct config_daemon daemon_usual = {
    .stop_grace_ms = 3000,
    .load_stall_ms = 30000,
    .step_watchdog_ms = 2000,
    .restart_pauses_ms = { 100, 1000, 10000 },
    .n_conns = LIMIT_CONNS,
    .n_conns_a_uid = LIMIT_CONNS_A_UID,
    .wire_bytes_a_uid = LIMIT_WIRE_A_UID,
};

static const struct config_device device_usual = {
    .gpu = "preferred",
};

static const struct config_sense sense_usual = {
    .start = "auto",
    .uid = UINT32_MAX,
};

static const struct model_settings model_usual = {
    .backend = "cpu",
    .kv_format = "f16",
    .share_prefixes = true,
};

/* ---- models */

static void check_model(struct reading *reading, const struct where *where, const struct model_settings *model,
                        uint64_t present)
{
    bool fake = strcmp(model->backend, "fake") == 0;

    if (!reading_was_given(CONFIG_MODEL, present, "file")) {
        reading_complain(reading, where, "has no \"file\"; a model needs the absolute path of its GGUF file");
    }
    if (fake && !model->fake_script) {
        reading_complain(reading, where, "has the backend \"fake\" and no \"fake_script\" to play");
    }
    if (!fake && model->fake_script) {
        reading_complain(reading, where, "has a \"fake_script\", which only the backend \"fake\" plays");
    }
}

static int read_model(struct reading *reading, const struct where *where, json_t *value,
                      struct model_settings *ret_model)
{
    struct model_settings model = model_usual;
    uint64_t present;
    int r;

    if (!check_name(where->key)) {
        reading_complain(reading, where, "a model's name has 1 to 64 characters out of A-Z a-z 0-9 . _ : / -");
    }
    if (!json_is_object(value)) {
        reading_complain_value(reading, where, value, "an object, as {\"file\": \"/srv/model.gguf\"}");
        return 0;
    }
    model.name = config_copy_text(&reading->config->arena, where->key);
    if (!model.name) {
        return err_new(-ENOMEM);
    }
    r = reading_part(reading, where, value, CONFIG_MODEL, &model, &present);
    r = r ? r : reading_pins(reading, where, json_object_get(value, "pin"), &model);
    if (r) {
        return err_up(r);
    }
    check_model(reading, where, &model, present);
    *ret_model = model;
    return 0;
}

static struct model_settings *find_model(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->n_models; i++) {
        if (strcmp(config->models[i].name, name) == 0) {
            return &config->models[i];
        }
    }
    return NULL;
}

/* Models of the command line: the first is the default; all of them load, since their user is waiting. */
static int add_extra_models(struct config *config, const struct config_extra *extra)
{
    for (size_t i = 0; i < extra->n_models; i++) {
        struct model_settings *model = find_model(config, extra->models[i].name);

        if (!model) {
            model = &config->models[config->n_models++];
            *model = model_usual;
            model->name = config_copy_text(&config->arena, extra->models[i].name);
        }
        model->file = config_copy_text(&config->arena, extra->models[i].file);
        model->load_at_start = true;
        if (!model->name || !model->file) {
            return err_new(-ENOMEM);
        }
        if (i == 0) {
            for (size_t k = 0; k < config->n_models; k++) {
                config->models[k].is_default = &config->models[k] == model;
            }
        }
    }
    return 0;
}

static void check_default(struct reading *reading, const struct where *where)
{
    const struct config *config = reading->config;
    const char *first = NULL;

    for (size_t i = 0; i < config->n_models; i++) {
        if (!config->models[i].is_default) {
            continue;
        }
        if (first) {
            reading_complain(reading, where, "both %s and %s are the default; one may be", first,
                             config->models[i].name);
        }
        first = config->models[i].name;
    }
    if (!first && config->n_models) {
        config->models[0].is_default = true;
    }
}

static int read_models(struct reading *reading, const struct where *root, json_t *part,
                       const struct config_extra *extra)
{
    const struct where where = { .up = root, .key = "models" };
    struct config *config = reading->config;
    const char *name;
    json_t *value;
    int r;

    if (part && !json_is_object(part)) {
        reading_complain_value(reading, &where, part, "an object with a model's name before each model");
        part = NULL;
    }
    if (json_object_size(part) + extra->n_models > MODELS_MOST) {
        reading_complain(reading, &where, "has more than %u models", MODELS_MOST);
        return 0;
    }
    config->models = arena_alloc(&config->arena, MODELS_MOST * sizeof(*config->models));
    if (!config->models) {
        return err_new(-ENOMEM);
    }
    json_object_foreach(part, name, value)
    {
        const struct where here = { .up = &where, .key = name };

        config->models[config->n_models] = model_usual;
        config->models[config->n_models].name = "";
        r = read_model(reading, &here, value, &config->models[config->n_models]);
        if (r) {
            return err_up(r);
        }
        config->n_models++;
    }
    r = add_extra_models(config, extra);
    if (r) {
        return err_up(r);
    }
    check_default(reading, &where);
    return 0;
}

/* ---- policy */

static void resolve_user(struct reading *reading, const struct where *where, struct policy_rule *rule)
{
    const struct passwd *user = getpwnam(rule->user);

    if (!user) {
        reading_complain(reading, where, "this system has no user \"%.40s\"", rule->user);
        return;
    }
    rule->uid = user->pw_uid;
    rule->by_uid = true;
}

static void resolve_group(struct reading *reading, const struct where *where, struct policy_rule *rule)
{
    const struct group *group = getgrnam(rule->group);

    if (!group) {
        reading_complain(reading, where, "this system has no group \"%.40s\"", rule->group);
        return;
    }
    rule->gid = group->gr_gid;
    rule->by_gid = true;
}

static void check_rule(struct reading *reading, const struct where *where, struct policy_rule *rule)
{
    const struct where user = { .up = where, .key = "user" };
    const struct where group = { .up = where, .key = "group" };
    const struct where priority = { .up = where, .key = "class_default" };
    bool uid = reading_was_given(CONFIG_RULE, rule->present, "uid");
    bool gid = reading_was_given(CONFIG_RULE, rule->present, "gid");
    Sotto__V1__PriorityClass ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;

    if ((uid && rule->user) || (gid && rule->group)) {
        reading_complain(reading, where, "names one account twice; give uid or user, gid or group");
    }
    rule->by_uid = uid;
    rule->by_gid = gid;
    if (rule->user) {
        resolve_user(reading, &user, rule);
    }
    if (rule->group) {
        resolve_group(reading, &group, rule);
    }
    if (!uid && !gid && !rule->user && !rule->group && !rule->anyone) {
        reading_complain(reading, where, "holds for nobody; give uid, gid, user, group, or \"anyone\": true");
    }
    if (rule->anyone && (uid || gid || rule->user || rule->group)) {
        reading_complain(reading, where, "has \"anyone\" beside a condition; give one of them");
    }
    if (reading_was_given(CONFIG_RULE, rule->present, "class_ceiling")) {
        ceiling = rule->grant.class_ceiling;
    }
    if (reading_was_given(CONFIG_RULE, rule->present, "class_default") && rule->grant.class_default > ceiling) {
        reading_complain(reading, &priority, "lies above class_ceiling; raise class_ceiling in this rule, too");
    }
}

static int read_policy(struct reading *reading, const struct where *root, json_t *part)
{
    const struct where where = { .up = root, .key = "policy" };
    struct config *config = reading->config;
    struct policy_rule *rules;
    size_t n = json_array_size(part);

    config->policy.own_uid = geteuid();
    if (!part) {
        return 0;
    }
    if (!json_is_array(part)) {
        reading_complain_value(reading, &where, part, "an array of rules, the first that holds counts");
        return 0;
    }
    if (n > RULES_MOST) {
        reading_complain(reading, &where, "has %zu rules; at most %u are allowed", n, RULES_MOST);
        return 0;
    }
    rules = arena_alloc(&config->arena, (n ? n : 1) * sizeof(*rules));
    if (!rules) {
        return err_new(-ENOMEM);
    }
    memset(rules, 0, n * sizeof(*rules));
    for (size_t i = 0; i < n; i++) {
        const struct where here = { .up = &where, .index = i, .indexed = true };
        json_t *rule = json_array_get(part, i);
        int r;

        if (!json_is_object(rule)) {
            reading_complain_value(reading, &here, rule, "an object");
            continue;
        }
        r = reading_part(reading, &here, rule, CONFIG_RULE, &rules[i], &rules[i].present);
        if (r) {
            return err_up(r);
        }
        check_rule(reading, &here, &rules[i]);
        if (i && rules[i - 1].anyone) {
            reading_complain(reading, &here, "can never hold: the rule before it holds for anyone");
        }
    }
    config->policy.rules = rules;
    config->policy.n = n;
    return 0;
}

/* ---- the whole */

/* The plain part @which into its place in the configuration. */
static int read_plain(struct reading *reading, const struct where *root, json_t *top, enum config_part which,
                      uint64_t *ret_present)
{
    const struct config_list *list = config_keys(which);
    const struct where where = { .up = root, .key = list->name };
    json_t *part = json_object_get(top, list->name);

    if (part && !json_is_object(part)) {
        reading_complain_value(reading, &where, part, "an object");
        return 0;
    }
    return part ? reading_part(reading, &where, part, which, (char *)reading->config + list->offset, ret_present) : 0;
}

static void check_daemon(struct reading *reading, const struct where *root, uint64_t present)
{
    const struct where where = { .up = root, .key = "daemon" };
    const struct config_daemon *daemon = &reading->config->daemon;

    if (daemon->n_conns_a_uid > daemon->n_conns && reading_was_given(CONFIG_DAEMON, present, "connections_a_uid")) {
        reading_complain(reading, &where, "allows more connections_a_uid than connections");
    }
}

/* "batt*=1000", as sotto-sense takes it. */
static bool is_scale(const char *text)
{
    const char *equals = strrchr(text, '=');
    char *end;
    double factor;

    if (!equals || equals == text || !equals[1]) {
        return false;
    }
    factor = strtod(equals + 1, &end);
    return *end == '\0' && factor >= SCALE_LEAST && factor <= SCALE_MOST;
}

static void check_scales(struct reading *reading, const struct where *sense)
{
    const struct where scales = { .up = sense, .key = "scales" };
    const struct config_texts *texts = &reading->config->sense.scales;

    for (size_t i = 0; i < texts->n; i++) {
        const struct where here = { .up = &scales, .index = i, .indexed = true };

        if (!is_scale(texts->list[i])) {
            reading_complain(reading, &here, "\"%.40s\" is not a pattern, =, and a factor from %g to %g",
                             texts->list[i], SCALE_LEAST, SCALE_MOST);
        }
    }
}

/* Those of folders and nodes, which are kept in records of that size. */
static void check_length(struct reading *reading, const struct where *part, const char *key, const char *path)
{
    const struct where where = { .up = part, .key = key };

    if (path && strlen(path) >= CONFIG_TREE_BYTES) {
        reading_complain(reading, &where, "has %zu bytes; such a path has at most %u", strlen(path),
                         CONFIG_TREE_BYTES - 1);
    }
}

static void check_sense(struct reading *reading, const struct where *root)
{
    const struct where where = { .up = root, .key = "sense" };
    const struct where path = { .up = &where, .key = "socket" };
    const struct where name = { .up = &where, .key = "user" };
    const struct where tree = { .up = &where, .key = "root" };
    struct config_sense *sense = &reading->config->sense;
    const struct passwd *user = sense->user ? getpwnam(sense->user) : NULL;

    if (sense->socket && strlen(sense->socket) > SOCKET_FILE_PATH_MOST) {
        reading_complain(reading, &path, "has %zu bytes; the path of a socket has at most %d", strlen(sense->socket),
                         SOCKET_FILE_PATH_MOST);
    }
    if (sense->socket && strcmp(sense->start, "child") == 0) {
        reading_complain(reading, &path, "is never used where start is \"child\"; leave one of them out");
    }
    if (sense->root && (sense->socket || strcmp(sense->start, "socket") == 0)) {
        reading_complain(reading, &tree, "is for a child; behind a socket sotto-sense has options of its own");
    }
    if (sense->user && !user) {
        reading_complain(reading, &name, "this system has no user \"%.40s\"", sense->user);
    }
    check_length(reading, &where, "root", sense->root);
    sense->uid = user ? user->pw_uid : UINT32_MAX;
    check_scales(reading, &where);
}

static void check_governor(struct reading *reading, const struct where *root)
{
    const struct where where = { .up = root, .key = "governor" };
    const struct governor_policy *governor = &reading->config->governor;

    if (governor->idle_slice_us && governor->max_slice_us > governor->idle_slice_us) {
        reading_complain(reading, &where, "has a slice_ms that is longer than its idle_slice_ms");
    }
}

static void check_energy(struct reading *reading, const struct where *root)
{
    const struct where where = { .up = root, .key = "energy" };
    const struct energy_stated *energy = &reading->config->energy;

    if (energy->idle_mw >= energy->active_mw && (energy->idle_mw || energy->active_mw)) {
        reading_complain(reading, &where, "needs an active_w that is above its idle_w");
    }
}

static int read_plains(struct reading *reading, const struct where *root, json_t *top)
{
    const struct where device = { .up = root, .key = "device" };
    uint64_t present[CONFIG_PART_COUNT] = { 0 };

    for (enum config_part which = CONFIG_PLAIN_FIRST; which < CONFIG_PART_COUNT; which++) {
        int r = read_plain(reading, root, top, which, &present[which]);

        if (r) {
            return err_up(r);
        }
    }
    check_daemon(reading, root, present[CONFIG_DAEMON]);
    check_length(reading, &device, "node", reading->config->device.node);
    check_length(reading, &device, "root", reading->config->device.root);
    check_sense(reading, root);
    check_governor(reading, root);
    check_energy(reading, root);
    return 0;
}

static void check_socket(struct reading *reading, const struct where *root)
{
    const struct where path = { .up = root, .key = "socket" };
    const struct where name = { .up = root, .key = "socket_group" };
    struct config *config = reading->config;
    const struct group *group;

    if (config->socket && strlen(config->socket) > SOCKET_FILE_PATH_MOST) {
        reading_complain(reading, &path, "has %zu bytes; the path of a socket has at most %d", strlen(config->socket),
                         SOCKET_FILE_PATH_MOST);
    }
    if (!config->socket_group) {
        return;
    }
    group = getgrnam(config->socket_group);
    if (group) {
        config->socket_gid = group->gr_gid;
    } else {
        reading_complain(reading, &name, "this system has no group \"%.40s\"", config->socket_group);
    }
}

static int read_root(struct reading *reading, json_t *root, const struct config_extra *extra)
{
    const struct where where = { .up = NULL };
    struct config *config = reading->config;
    uint64_t present;
    int r;

    if (!json_is_object(root)) {
        reading_complain_value(reading, &where, root, "an object, {} at least");
        return 0;
    }
    r = reading_part(reading, &where, root, CONFIG_TOP, config, &present);
    check_socket(reading, &where);
    if (!r) {
        r = read_models(reading, &where, json_object_get(root, "models"), extra);
    }
    if (!r) {
        r = read_policy(reading, &where, json_object_get(root, "policy"));
    }
    if (!r) {
        r = read_plains(reading, &where, root);
    }
    if (!r && extra->socket) {
        config->socket = config_copy_text(&config->arena, extra->socket);
        r = config->socket ? 0 : err_new(-ENOMEM);
    }
    return err_up(r);
}

static struct config *make(void)
{
    struct config *config = mem_calloc(MEM_MISC, 1, sizeof(*config));

    if (config) {
        arena_init(&config->arena, MEM_MISC, MEMORY_MOST);
        config->daemon = daemon_usual;
        config->device = device_usual;
        config->sense = sense_usual;
        config->socket_gid = (gid_t)-1;
    }
    return config;
}

static json_t *parse(struct reading *reading, size_t n)
{
    json_error_t error;
    json_t *root = json_loadb(reading->text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    struct diag diag = DIAG_INIT;

    if (!root) {
        if (strspn(reading->text, " \t\r\n") == n) {
            diag_set(&diag, "%s: the file is empty; the least that it may hold is {}", reading->file);
        } else {
            diag_set(&diag, "%s:%d:%d: not valid JSON: %s", reading->file, error.line, error.column, error.text);
        }
        reading->say(reading->owner, diag.text);
    }
    return root;
}

int config_parse(struct config **ret_config, const char *file, const char *text, size_t n,
                 const struct config_extra *extra, config_say_fn say, void *owner)
{
    static const struct config_extra none = { .socket = NULL };
    cleanup(config_destroyp) struct config *config = make();
    struct reading reading = {
        .config = config, .file = file ? file : "built in", .text = text, .say = say, .owner = owner
    };
    json_t *root;
    int r;

    if (!config) {
        return err_new(-ENOMEM);
    }
    if (file) {
        config->file = config_copy_text(&config->arena, file);
        if (!config->file) {
            return err_new(-ENOMEM);
        }
    }
    root = parse(&reading, n);
    if (!root) {
        return CONFIG_REFUSED;
    }
    r = read_root(&reading, root, extra ? extra : &none);
    json_decref(root);
    if (r) {
        return err_up(r);
    }
    if (reading.n_complaints) {
        return CONFIG_REFUSED;
    }
    *ret_config = steal(&config);
    return CONFIG_OK;
}

int config_read(struct config **ret_config, const char *file, const struct config_extra *extra, config_say_fn say,
                void *owner)
{
    cleanup(mem_freep) char *text = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;
    int r;

    if (!file) {
        return config_parse(ret_config, NULL, "{}", 2, extra, say, owner);
    }
    r = file_read(file, MEM_MISC, FILE_MOST, &text, &n, &diag);
    if (r == FILE_ABSENT) {
        diag_set(&diag, "%s: there is no such file", file);
    }
    if (r) {
        diag_set(&diag, "%s: can't be read: %s", file, r < 0 ? strerrordesc_np(-r) : "refused");
        say(owner, diag.text);
        return CONFIG_REFUSED;
    }
    return config_parse(ret_config, file, text, n, extra, say, owner);
}

void config_destroy(struct config *config)
{
    if (config) {
        arena_finish(&config->arena);
        mem_free(config);
    }
}

void config_destroyp(struct config **config)
{
    config_destroy(*config);
}
