/*
 * Check: checks the values of a public request
 * protobuf-c checks neither UTF-8 nor ranges, and stores unknown enum values as they are. Here each field has a row
 * with its rule. A refusal fills @diag with a sentence and diag->field with the field's path
 * ("generate.sampling.top_p"). Not checked here is what depends on the peer or the model (class ceiling, vocabulary,
 * context). Pure, any thread.
 */
#ifndef SOTTO_PROTO_CHECK_H
#define SOTTO_PROTO_CHECK_H

#include "base/diag.h"
#include <sotto/v1/sotto.pb-c.h>
#include <stdbool.h>

enum check_outcome {
    CHECK_OK,
    CHECK_BAD, /* INVALID_ARGUMENT */
};

/* Checks the body of @frame. An outcome. */
int check_client_frame(const Sotto__V1__ClientFrame *frame, struct diag *diag);

/* Returns true for the name of a model or client: 1 to LIMIT_NAME of [A-Za-z0-9._:/-]. */
bool check_name(const char *name);

/* Returns true if the tables have a list for the message @type, which an empty message needs as well. */
bool check_has_list(const ProtobufCMessageDescriptor *type);

/* Returns true if that list has a row for @field. A test asks for every message and field of the schema. */
bool check_has_row(const ProtobufCMessageDescriptor *type, const char *field);

#endif
