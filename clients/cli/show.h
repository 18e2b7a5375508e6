/*
 * Show: events as JSON, and numbers for people
 *
 * JSON has the field names of the protocol, one object on a line.
 */
#ifndef SOTTO_CLI_SHOW_H
#define SOTTO_CLI_SHOW_H

#include "sotto.h"
#include <jansson.h>

/* Each returns a new reference. Without memory members are missing, or the result is NULL, which show_line() allows. */
json_t *show_text(const char *text, size_t n); /* bytes that are not UTF-8 become U+FFFD */
json_t *show_ids(const uint32_t *ids, size_t n);
json_t *show_id64(uint64_t id); /* as a string: JSON readers keep only 53 bits of a number */
json_t *show_usage(const struct sotto_done *done);
json_t *show_logprobs(const struct sotto_logprobs *logprobs);
json_t *show_model(const struct sotto_model *model);
json_t *show_models(const struct sotto_models *models);
json_t *show_status(const struct sotto_status *status);
json_t *show_watched(const struct sotto_watched *watched);
json_t *show_reloaded(const struct sotto_reloaded *reloaded);
json_t *show_embedding(const struct sotto_embedding *embedding);
json_t *show_session(const struct sotto_session *session);
json_t *show_session_closed(const struct sotto_session *session);

/* Names of the protocol's values: "realtime", "measured". */
const char *show_class(enum sotto_class priority);
const char *show_energy_source(uint32_t source);

/* Prints a line of text for each pin of @model. */
void show_pins(const struct sotto_model *model);

/* Prints @object on a line of standard output and frees it. */
void show_line(json_t *object);

#define SHOW_BYTES 16

/* Writes "94.1 MiB" into @text (SHOW_BYTES of room) and returns it. */
const char *show_bytes(uint64_t bytes, char *text);

#endif
