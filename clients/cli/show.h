/*
 * Show: events as JSON, and numbers for people
 *
 * JSON has the field names of the protocol, one object a line.
 */
#ifndef SOTTO_CLI_SHOW_H
#define SOTTO_CLI_SHOW_H

#include "sotto.h"
#include <jansson.h>

/* A string of bytes that should be UTF-8; what is not becomes U+FFFD. Never NULL while there is memory. */
json_t *show_text(const char *text, size_t n);
json_t *show_name(const char *text); /* the same, up to a zero */
json_t *show_number(uint64_t value);
json_t *show_ids(const uint32_t *ids, size_t n);
json_t *show_usage(const struct sotto_done *done);
json_t *show_model(const struct sotto_model *model);
json_t *show_status(const struct sotto_status *status);
json_t *show_watched(const struct sotto_watched *watched);
json_t *show_reloaded(const struct sotto_reloaded *reloaded);

/* Words of the interface: "realtime", "measured". */
const char *show_class(enum sotto_class priority);
const char *show_energy_source(uint32_t source);

/* A line for each pin of @model, as text. */
void show_pins(const struct sotto_model *model);

/* Prints @object on a line of standard output and frees it. */
void show_line(json_t *object);

#define SHOW_BYTES 16

/* "94.1 MiB" in @text (SHOW_BYTES of room), which it returns. */
const char *show_bytes(uint64_t bytes, char *text);

#endif
