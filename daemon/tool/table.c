/*
 * The list of commands: one row each, in the order of their names.
 */
#include "tool/table.h"

const struct tool *const tools[] = {
    &tool_convert, &tool_inspect, &tool_logits, &tool_plan, &tool_tokenize, NULL,
};
