/*
 * The list of commands: one row each, in the order of their names.
 */
#include "tool/table.h"

/* A line each, so that two who add one do not meet. */
/* clang-format off */
const struct tool *const tools[] = {
    &tool_convert,
    &tool_doctor,
    &tool_inspect,
    &tool_logits,
    &tool_perplexity,
    &tool_plan,
    &tool_quantize,
    &tool_render,
    &tool_sensors,
    &tool_tokenize,
    NULL,
};
/* clang-format on */
