/*
 * Check: is a public request within the written ranges?
 *
 * One row a field: protobuf-c neither checks UTF-8 nor ranges, and stores foreign enum values as they are. A refusal
 * fills @diag with the sentence and diag->field with the field's path ("generate.sampling.top_p"). What depends on
 * the peer or the model (class ceiling, vocabulary, context) is not checked here. Pure, any thread.
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

int check_client_frame(const Sotto__V1__ClientFrame *frame, struct diag *diag);

/* A model's or client's name: 1 to LIMIT_NAME of [A-Za-z0-9._:/-]. */
bool check_name(const char *name);

/* True if the table has a row for @field of the message @type: a test asks it of every field of the schema. */
bool check_has_row(const ProtobufCMessageDescriptor *type, const char *field);

#endif
