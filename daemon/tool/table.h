/*
 * Table: the rows of all commands, each defined in the file of its name
 *
 * A new command needs a file, its name here and in table.c, and a line in meson.build, which makes the link that
 * `sotto COMMAND` runs. clients/cli/external.c lists them in `sotto --help`; a test compares.
 */
#ifndef SOTTO_TOOL_TABLE_H
#define SOTTO_TOOL_TABLE_H

#include "tool/tool.h"

extern const struct tool tool_bench;
extern const struct tool tool_convert;
extern const struct tool tool_doctor;
extern const struct tool tool_inspect;
extern const struct tool tool_logits;
extern const struct tool tool_pack;
extern const struct tool tool_perplexity;
extern const struct tool tool_plan;
extern const struct tool tool_quantize;
extern const struct tool tool_render;
extern const struct tool tool_sensors;
extern const struct tool tool_tokenize;

#endif
