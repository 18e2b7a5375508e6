/*
 * Table: the commands, sorted by name
 */
#include "tool/table.h"

/* One line each, so that two additions do not conflict. */
/* clang-format off */
const struct tool *const tools[] = {
    &tool_bench,
    &tool_convert,
    &tool_doctor,
    &tool_inspect,
    &tool_logits,
    &tool_pack,
    &tool_perplexity,
    &tool_plan,
    &tool_quantize,
    &tool_render,
    &tool_sensors,
    &tool_tokenize,
    NULL,
};
/* clang-format on */
