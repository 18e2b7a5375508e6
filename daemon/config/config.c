/*
 * Config: reads the plain settings of the top, then its parts, then checks settings against each other
 *
 * Each error is reported with its place and reading continues, so that a user sees all errors at once.
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

#define FILE_MOST       (1u << 20)  /* people write configurations by hand */
#define MEMORY_MOST     (64u << 20) /* texts and tables of the largest file, and its pins */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

#define MODELS_MOST 64u
#define RULES_MOST  256u

/* Factors for the values of a sensor: from thousandths to millions. */
#define SCALE_LEAST 0.001
#define SCALE_MOST  1e6

/* Defaults. */
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
    .drafts = true,
};

/* ---- models */

static void check_model(struct config_reader *reader, const struct config_path *where,
                        const struct model_settings *model, uint64_t present)
{
    bool fake = strcmp(model->backend, "fake") == 0;

    if (!config_is_given(CONFIG_MODEL, present, "file")) {
        config_complain(reader, where, "has no \"file\"; give the absolute path of a GGUF file");
    }
    if (fake && !model->fake_script) {
        config_complain(reader, where, "has the backend \"fake\" but no \"fake_script\"; give the path of one");
    }
    if (!fake && model->fake_script) {
        config_complain(reader, where, "has a \"fake_script\", which only the backend \"fake\" uses; remove it");
    }
}

static int read_model(struct config_reader *reader, const struct config_path *where, json_t *value,
                      struct model_settings *ret_model)
{
    struct model_settings model = model_usual;
    uint64_t present;
    int r;

    if (!check_name(where->key)) {
        config_complain(reader, where, "is not a model name; expected 1 to 64 characters of A-Z a-z 0-9 . _ : / -");
    }
    if (!json_is_object(value)) {
        config_complain_value(reader, where, value, "an object such as {\"file\": \"/srv/model.gguf\"}");
        return 0;
    }
    model.name = config_copy_text(&reader->config->arena, where->key);
    if (!model.name) {
        return err_new(-ENOMEM);
    }
    r = config_read_part(reader, where, value, CONFIG_MODEL, &model, &present);
    r = r ? r : config_read_pins(reader, where, json_object_get(value, "pin"), &model);
    if (r) {
        return err_up(r);
    }
    check_model(reader, where, &model, present);
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

/* Adds the models of the command line: the first is the default, and all load at start, since their user is waiting. */
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

static void check_default(struct config_reader *reader, const struct config_path *where)
{
    const struct config *config = reader->config;
    const char *first = NULL;

    for (size_t i = 0; i < config->n_models; i++) {
        if (!config->models[i].is_default) {
            continue;
        }
        if (first) {
            config_complain(reader, where, "both %s and %s are the default; only one may be", first,
                            config->models[i].name);
        }
        first = config->models[i].name;
    }
    if (!first && config->n_models) {
        config->models[0].is_default = true;
    }
}

static int read_models(struct config_reader *reader, const struct config_path *root, json_t *part,
                       const struct config_extra *extra)
{
    const struct config_path where = { .up = root, .key = "models" };
    struct config *config = reader->config;
    const char *name;
    json_t *value;
    int r;

    if (part && !json_is_object(part)) {
        config_complain_value(reader, &where, part, "an object of models by name, such as {\"voice\": {...}}");
        part = NULL;
    }
    if (json_object_size(part) + extra->n_models > MODELS_MOST) {
        config_complain(reader, &where, "has more than %u models, the limit", MODELS_MOST);
        return 0;
    }
    config->models = arena_alloc(&config->arena, MODELS_MOST * sizeof(*config->models));
    if (!config->models) {
        return err_new(-ENOMEM);
    }
    json_object_foreach(part, name, value)
    {
        const struct config_path here = { .up = &where, .key = name };

        config->models[config->n_models] = model_usual;
        config->models[config->n_models].name = "";
        r = read_model(reader, &here, value, &config->models[config->n_models]);
        if (r) {
            return err_up(r);
        }
        config->n_models++;
    }
    r = add_extra_models(config, extra);
    if (r) {
        return err_up(r);
    }
    check_default(reader, &where);
    return 0;
}

/* ---- policy */

static void resolve_user(struct config_reader *reader, const struct config_path *where, struct policy_rule *rule)
{
    const struct passwd *user = getpwnam(rule->user);

    if (!user) {
        config_complain(reader, where, "this system has no user \"%.40s\"", rule->user);
        return;
    }
    rule->uid = user->pw_uid;
    rule->by_uid = true;
}

static void resolve_group(struct config_reader *reader, const struct config_path *where, struct policy_rule *rule)
{
    const struct group *group = getgrnam(rule->group);

    if (!group) {
        config_complain(reader, where, "this system has no group \"%.40s\"", rule->group);
        return;
    }
    rule->gid = group->gr_gid;
    rule->by_gid = true;
}

static void check_rule(struct config_reader *reader, const struct config_path *where, struct policy_rule *rule)
{
    bool uid = config_is_given(CONFIG_RULE, rule->present, "uid");
    bool gid = config_is_given(CONFIG_RULE, rule->present, "gid");
    Sotto__V1__PriorityClass ceiling = SOTTO__V1__PRIORITY_CLASS__CLASS_INTERACTIVE;

    if ((uid && rule->user) || (gid && rule->group)) {
        config_complain(reader, where, "names one account twice; give either uid or user, and either gid or group");
    }
    rule->by_uid = uid;
    rule->by_gid = gid;
    if (rule->user) {
        resolve_user(reader, CONFIG_AT(where, "user"), rule);
    }
    if (rule->group) {
        resolve_group(reader, CONFIG_AT(where, "group"), rule);
    }
    if (!uid && !gid && !rule->user && !rule->group && !rule->anyone) {
        config_complain(reader, where, "has no condition; give uid, gid, user, group, or \"anyone\": true");
    }
    if (rule->anyone && (uid || gid || rule->user || rule->group)) {
        config_complain(reader, where, "has \"anyone\" beside another condition; give one or the other");
    }
    if (config_is_given(CONFIG_RULE, rule->present, "class_ceiling")) {
        ceiling = rule->grant.class_ceiling;
    }
    if (config_is_given(CONFIG_RULE, rule->present, "class_default") && rule->grant.class_default > ceiling) {
        config_complain(reader, CONFIG_AT(where, "class_default"),
                        "is above class_ceiling; raise class_ceiling in this rule, too");
    }
}

static int read_policy(struct config_reader *reader, const struct config_path *root, json_t *part)
{
    const struct config_path where = { .up = root, .key = "policy" };
    struct config *config = reader->config;
    struct policy_rule *rules;
    size_t n = json_array_size(part);

    config->policy.own_uid = geteuid();
    if (!part) {
        return 0;
    }
    if (!json_is_array(part)) {
        config_complain_value(reader, &where, part, "an array of rules, the first of which that matches applies");
        return 0;
    }
    if (n > RULES_MOST) {
        config_complain(reader, &where, "has %zu rules; the limit is %u", n, RULES_MOST);
        return 0;
    }
    rules = arena_alloc(&config->arena, (n ? n : 1) * sizeof(*rules));
    if (!rules) {
        return err_new(-ENOMEM);
    }
    memset(rules, 0, n * sizeof(*rules));
    for (size_t i = 0; i < n; i++) {
        const struct config_path here = { .up = &where, .index = i, .indexed = true };
        json_t *rule = json_array_get(part, i);
        int r;

        if (!json_is_object(rule)) {
            config_complain_value(reader, &here, rule, "an object");
            continue;
        }
        r = config_read_part(reader, &here, rule, CONFIG_RULE, &rules[i], &rules[i].present);
        if (r) {
            return err_up(r);
        }
        check_rule(reader, &here, &rules[i]);
        if (i && rules[i - 1].anyone) {
            config_complain(reader, &here,
                            "never applies: the rule before it matches everyone; move this one up or remove it");
        }
    }
    config->policy.rules = rules;
    config->policy.n = n;
    return 0;
}

/* ---- the other parts */

/* Reads the plain part @which into its field of the configuration. */
static int read_plain(struct config_reader *reader, const struct config_path *root, json_t *top, enum config_part which,
                      uint64_t *ret_present)
{
    const struct config_list *list = config_keys(which);
    const struct config_path where = { .up = root, .key = list->name };
    json_t *part = json_object_get(top, list->name);

    if (part && !json_is_object(part)) {
        config_complain_value(reader, &where, part, "an object");
        return 0;
    }
    return part ? config_read_part(reader, &where, part, which, (char *)reader->config + list->offset, ret_present) : 0;
}

static void check_daemon(struct config_reader *reader, const struct config_path *root, uint64_t present)
{
    const struct config_daemon *daemon = &reader->config->daemon;

    if (daemon->n_conns_a_uid > daemon->n_conns && config_is_given(CONFIG_DAEMON, present, "connections_a_uid")) {
        config_complain(reader, CONFIG_AT(root, "daemon"),
                        "has more connections_a_uid than connections; lower one or raise the other");
    }
}

/* Returns whether @text is a scale as sotto-sense reads it: "batt*=1000". */
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

static void check_scales(struct config_reader *reader, const struct config_path *sense)
{
    const struct config_path scales = { .up = sense, .key = "scales" };
    const struct config_texts *texts = &reader->config->sense.scales;

    for (size_t i = 0; i < texts->n; i++) {
        const struct config_path here = { .up = &scales, .index = i, .indexed = true };

        if (!is_scale(texts->list[i])) {
            config_complain(reader, &here,
                            "\"%.40s\" is not a scale; expected PATTERN=FACTOR, with a factor from %g to %g",
                            texts->list[i], SCALE_LEAST, SCALE_MOST);
        }
    }
}

static void check_socket_path(struct config_reader *reader, const struct config_path *where, const char *path)
{
    if (path && strlen(path) > SOCKET_FILE_PATH_MOST) {
        config_complain(reader, where, "has %zu bytes; the limit for the path of a socket is %d", strlen(path),
                        SOCKET_FILE_PATH_MOST);
    }
}

/* Checks the length of the path of a folder or a node. */
static void check_length(struct config_reader *reader, const struct config_path *part, const char *key,
                         const char *path)
{
    if (path && strlen(path) >= CONFIG_TREE_BYTES) {
        config_complain(reader, CONFIG_AT(part, key), "has %zu bytes; the limit for this path is %u", strlen(path),
                        CONFIG_TREE_BYTES - 1);
    }
}

static void check_sense(struct config_reader *reader, const struct config_path *root)
{
    const struct config_path where = { .up = root, .key = "sense" };
    struct config_sense *sense = &reader->config->sense;
    const struct passwd *user = sense->user ? getpwnam(sense->user) : NULL;

    check_socket_path(reader, CONFIG_AT(&where, "socket"), sense->socket);
    if (sense->socket && strcmp(sense->start, "child") == 0) {
        config_complain(reader, CONFIG_AT(&where, "socket"), "is not used if start is \"child\"; remove one of them");
    }
    if (sense->root && (sense->socket || strcmp(sense->start, "socket") == 0)) {
        config_complain(reader, CONFIG_AT(&where, "root"),
                        "is for a child; give a sotto-sense behind a socket its own option --root");
    }
    if (sense->user && !user) {
        config_complain(reader, CONFIG_AT(&where, "user"), "this system has no user \"%.40s\"", sense->user);
    }
    check_length(reader, &where, "root", sense->root);
    sense->uid = user ? user->pw_uid : UINT32_MAX;
    check_scales(reader, &where);
}

static void check_governor(struct config_reader *reader, const struct config_path *root)
{
    const struct governor_policy *governor = &reader->config->governor;

    if (governor->idle_slice_us && governor->max_slice_us > governor->idle_slice_us) {
        config_complain(reader, CONFIG_AT(root, "governor"),
                        "has a slice_ms above idle_slice_ms; lower one or raise the other");
    }
}

static void check_energy(struct config_reader *reader, const struct config_path *root)
{
    const struct energy_stated *energy = &reader->config->energy;

    if (energy->idle_mw >= energy->active_mw && (energy->idle_mw || energy->active_mw)) {
        config_complain(reader, CONFIG_AT(root, "energy"), "needs an active_w above idle_w");
    }
}

static int read_plains(struct config_reader *reader, const struct config_path *root, json_t *top)
{
    const struct config_path *device = CONFIG_AT(root, "device");
    uint64_t present[CONFIG_PART_COUNT] = { 0 };

    for (enum config_part which = CONFIG_PLAIN_FIRST; which < CONFIG_PART_COUNT; which++) {
        int r = read_plain(reader, root, top, which, &present[which]);

        if (r) {
            return err_up(r);
        }
    }
    check_daemon(reader, root, present[CONFIG_DAEMON]);
    check_length(reader, device, "node", reader->config->device.node);
    check_length(reader, device, "root", reader->config->device.root);
    check_sense(reader, root);
    check_governor(reader, root);
    check_energy(reader, root);
    return 0;
}

static void check_socket(struct config_reader *reader, const struct config_path *root)
{
    struct config *config = reader->config;
    const struct group *group;

    check_socket_path(reader, CONFIG_AT(root, "socket"), config->socket);
    if (!config->socket_group) {
        return;
    }
    group = getgrnam(config->socket_group);
    if (group) {
        config->socket_gid = group->gr_gid;
    } else {
        config_complain(reader, CONFIG_AT(root, "socket_group"), "this system has no group \"%.40s\"",
                        config->socket_group);
    }
}

static int read_root(struct config_reader *reader, json_t *root, const struct config_extra *extra)
{
    const struct config_path where = { .up = NULL };
    struct config *config = reader->config;
    uint64_t present;
    int r;

    if (!json_is_object(root)) {
        config_complain_value(reader, &where, root, "an object; the least is {}");
        return 0;
    }
    r = config_read_part(reader, &where, root, CONFIG_TOP, config, &present);
    check_socket(reader, &where);
    if (!r) {
        r = read_models(reader, &where, json_object_get(root, "models"), extra);
    }
    if (!r) {
        r = read_policy(reader, &where, json_object_get(root, "policy"));
    }
    if (!r) {
        r = read_plains(reader, &where, root);
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

static json_t *parse(struct config_reader *reader, size_t n)
{
    json_error_t error;
    json_t *root = json_loadb(reader->text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    struct diag diag = DIAG_INIT;

    if (!root) {
        if (strspn(reader->text, " \t\r\n") == n) {
            diag_set(&diag, "%s: the file is empty; the least that it may contain is {}", reader->file);
        } else if (strncmp(reader->text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
            diag_set(&diag, "%s:1:1: begins with a byte order mark; save it as UTF-8 without one", reader->file);
        } else if (strstr(error.text, "near '/") || strstr(error.text, "near '#")) {
            diag_set(&diag, "%s:%d:%d: comments are not allowed in JSON; remove this one", reader->file, error.line,
                     error.column);
        } else {
            diag_set(&diag, "%s:%d:%d: not valid JSON: %s", reader->file, error.line, error.column, error.text);
        }
        reader->say(reader->owner, diag.text);
    }
    return root;
}

int config_parse(struct config **ret_config, const char *file, const char *text, size_t n,
                 const struct config_extra *extra, config_say_fn say, void *owner)
{
    static const struct config_extra none = { .socket = NULL };
    cleanup(config_destroyp) struct config *config = make();
    struct config_reader reader = {
        .config = config, .file = file ? file : "defaults", .text = text, .say = say, .owner = owner
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
    root = parse(&reader, n);
    if (!root) {
        return CONFIG_REFUSED;
    }
    r = read_root(&reader, root, extra ? extra : &none);
    json_decref(root);
    if (r) {
        return err_up(r);
    }
    if (reader.n_complaints) {
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
