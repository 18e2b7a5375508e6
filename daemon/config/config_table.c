/*
 * Config table: one row for each setting (config_keys.h)
 */
#include "base/clean.h"
#include "config/config.h"
#include "config/config_keys.h"
#include "config/config_units.h"
#include "proto/limit.h"

/* More than any model supports; products of counts stay far below 2^64. */
#define CONTEXT_MOST (UINT64_C(1) << 20)

/* The limits of sotto-sense. */
#define PATTERNS_MOST 32u
#define SCALES_MOST   16u

#define AT(type, field) offsetof(struct type, field)

static const struct config_key top_keys[] = {
    { "socket", CONFIG_PATH, AT(config, socket), .restart = true },
    { "socket_group", CONFIG_ACCOUNT, AT(config, socket_group), .restart = true },
    { "models", CONFIG_PART },
    { "policy", CONFIG_PART },
    { "daemon", CONFIG_PART },
    { "device", CONFIG_PART },
    { "sense", CONFIG_PART },
    { "governor", CONFIG_PART },
    { "energy", CONFIG_PART },
};

static const struct config_key daemon_keys[] = {
    { "stop_grace", CONFIG_TIME, AT(config_daemon, stop_grace_ms), 0, 5 * SECOND },
    { "load_stall", CONFIG_TIME, AT(config_daemon, load_stall_ms), SECOND, HOUR },
    { "step_watchdog", CONFIG_TIME, AT(config_daemon, step_watchdog_ms), 100, 10 * MINUTE },
    { "restart_pauses", CONFIG_TIMES, AT(config_daemon, restart_pauses_ms), 1, HOUR },
    { "connections", CONFIG_COUNT, AT(config_daemon, n_conns), 1, 4096 },
    { "connections_a_uid", CONFIG_COUNT, AT(config_daemon, n_conns_a_uid), 1, 4096 },
    { "wire_bytes_a_uid", CONFIG_BYTES, AT(config_daemon, wire_bytes_a_uid), 8 * MIB, GIB },
    { "guard_allocations", CONFIG_FLAG, AT(config_daemon, guard_allocations) },
};

static const struct config_key device_keys[] = {
    { "gpu", CONFIG_CHOICE, AT(config_device, gpu), .choices = "off|preferred|required", .restart = true },
    { "node", CONFIG_PATH, AT(config_device, node), .restart = true },
    { "allow_software_gpu", CONFIG_FLAG, AT(config_device, allow_software_gpu), .restart = true },
    { "root", CONFIG_PATH, AT(config_device, root), .restart = true },
};

static const struct config_key sense_keys[] = {
    { "start", CONFIG_CHOICE, AT(config_sense, start), .choices = "auto|child|socket|never" },
    { "socket", CONFIG_PATH, AT(config_sense, socket) },
    { "user", CONFIG_ACCOUNT, AT(config_sense, user) },
    { "root", CONFIG_PATH, AT(config_sense, root) },
    { "zones", CONFIG_TEXTS, AT(config_sense, zones), 0, PATTERNS_MOST },
    { "scales", CONFIG_TEXTS, AT(config_sense, scales), 0, SCALES_MOST },
};

static const struct config_key governor_keys[] = {
    { "target_c", CONFIG_MILLI, AT(governor_policy, target_mc), 30000, 125000 },
    { "frame_ms", CONFIG_MILLI, AT(governor_policy, frame_us), LIMIT_FRAME_LEAST_US, LIMIT_FRAME_MOST_US },
    { "slice_ms", CONFIG_MILLI, AT(governor_policy, max_slice_us), 250, 100000 },
    { "idle_slice_ms", CONFIG_MILLI, AT(governor_policy, idle_slice_us), 250, 100000 },
    { "headroom", CONFIG_MILLI, AT(governor_policy, headroom_permille), 1, 900 },
    { "min_share", CONFIG_MILLI, AT(governor_policy, min_share_permille), 0, 500 },
    { "power_w", CONFIG_MILLI, AT(governor_policy, power_mw), 100, 1000000 },
    { "heat_grace", CONFIG_TIME, AT(governor_policy, heat_grace_ms), 2 * SECOND, MINUTE },
    { "graphics_grace", CONFIG_TIME, AT(governor_policy, graphics_grace_ms), 100, MINUTE },
    { "cores_share", CONFIG_FLAG, AT(governor_policy, cores_share) },
    { "trusts_blind", CONFIG_FLAG, AT(governor_policy, trusts_blind) },
};

static const struct config_key energy_keys[] = {
    { "active_w", CONFIG_MILLI, AT(energy_stated, active_mw), 1, 1000000 },
    { "idle_w", CONFIG_MILLI, AT(energy_stated, idle_mw), 0, 1000000 },
};

static const struct config_key model_keys[] = {
    { "file", CONFIG_PATH, AT(model_settings, file) },
    { "backend", CONFIG_CHOICE, AT(model_settings, backend), .choices = "cpu|truth|fake" },
    { "kv_format", CONFIG_CHOICE, AT(model_settings, kv_format), .choices = "f16|f32|q8|q4" },
    { "kv_bytes", CONFIG_BYTES, AT(model_settings, kv_bytes), 4 * KIB, TIB },
    { "context", CONFIG_COUNT, AT(model_settings, n_context), 1, CONTEXT_MOST },
    { "threads", CONFIG_COUNT, AT(model_settings, n_threads), 1, 256 },
    { "sequences", CONFIG_COUNT, AT(model_settings, n_sequences), 1, 256 },
    { "step_rows", CONFIG_COUNT, AT(model_settings, n_step_rows), 1, 4096 },
    { "share_prefixes", CONFIG_FLAG, AT(model_settings, share_prefixes) },
    { "drafts", CONFIG_FLAG, AT(model_settings, drafts) },
    { "load", CONFIG_FLAG, AT(model_settings, load_at_start) },
    { "default", CONFIG_FLAG, AT(model_settings, is_default) },
    { "fake_script", CONFIG_PATH, AT(model_settings, fake_script) },
    { "pin", CONFIG_PART },
};

static const struct config_key pin_keys[] = {
    { "name", CONFIG_NAME, AT(config_pin, name) },
    { "text", CONFIG_PART },
    { "file", CONFIG_PATH, AT(config_pin, file) },
    { "messages", CONFIG_PART },
    { "tools", CONFIG_PART },
    { "variables", CONFIG_PART },
    { "users", CONFIG_PART },
};

static const struct config_key rule_keys[] = {
    { "uid", CONFIG_COUNT, AT(policy_rule, uid), 0, UINT32_MAX - 1 },
    { "gid", CONFIG_COUNT, AT(policy_rule, gid), 0, UINT32_MAX - 1 },
    { "user", CONFIG_ACCOUNT, AT(policy_rule, user) },
    { "group", CONFIG_ACCOUNT, AT(policy_rule, group) },
    { "anyone", CONFIG_FLAG, AT(policy_rule, anyone) },
    { "class_ceiling", CONFIG_CLASS, AT(policy_rule, grant.class_ceiling) },
    { "class_default", CONFIG_CLASS, AT(policy_rule, grant.class_default) },
    { "weight", CONFIG_COUNT, AT(policy_rule, grant.weight), 1, 1000000 },
    { "streams", CONFIG_COUNT, AT(policy_rule, grant.n_streams), 1, 4096 },
    { "context", CONFIG_COUNT, AT(policy_rule, grant.n_context), 1, CONTEXT_MOST },
    { "answer_tokens", CONFIG_COUNT, AT(policy_rule, grant.n_answer), 1, CONTEXT_MOST },
    { "tokens_a_minute", CONFIG_COUNT, AT(policy_rule, grant.tokens_a_minute), 1, UINT32_MAX },
    { "energy_a_minute", CONFIG_COUNT, AT(policy_rule, grant.energy_a_minute), 1, 60000000 },
    { "sessions", CONFIG_COUNT, AT(policy_rule, grant.n_sessions), 0, 256 },
    { "session_idle", CONFIG_TIME, AT(policy_rule, grant.session_idle_ms), 1000, 604800000 },
    { "admin", CONFIG_FLAG, AT(policy_rule, grant.admin) },
    { "observe", CONFIG_FLAG, AT(policy_rule, grant.observe) },
    { "special", CONFIG_FLAG, AT(policy_rule, grant.special) },
    { "graphics_hint", CONFIG_FLAG, AT(policy_rule, grant.graphics_hint) },
};

#undef AT

#define LIST(name, keys, offset)                                                                                       \
    {                                                                                                                  \
        name, keys, COUNTOF(keys), offset                                                                              \
    }

static const struct config_list lists[CONFIG_PART_COUNT] = {
    [CONFIG_TOP] = LIST("", top_keys, 0),
    [CONFIG_MODEL] = LIST("models.NAME", model_keys, 0),
    [CONFIG_PIN] = LIST("models.NAME.pin[N]", pin_keys, 0),
    [CONFIG_RULE] = LIST("policy[N]", rule_keys, 0),
    [CONFIG_DAEMON] = LIST("daemon", daemon_keys, offsetof(struct config, daemon)),
    [CONFIG_DEVICE] = LIST("device", device_keys, offsetof(struct config, device)),
    [CONFIG_SENSE] = LIST("sense", sense_keys, offsetof(struct config, sense)),
    [CONFIG_GOVERNOR] = LIST("governor", governor_keys, offsetof(struct config, governor)),
    [CONFIG_ENERGY] = LIST("energy", energy_keys, offsetof(struct config, energy)),
};

#undef LIST

const struct config_list *config_keys(enum config_part part)
{
    return &lists[part];
}
