/*
 * The list of commands: one row each, in the order of their names.
 */
#include "tool/table.h"

/* clang-format off: a line each, so that two who add one do not meet. */
const struct tool *const tools[] = {
    &tool_convert,
    &tool_inspect,
    &tool_logits,
    &tool_perplexity,
    &tool_plan,
    &tool_quantize,
    &tool_tokenize,
    NULL,
};
/* clang-format on */
