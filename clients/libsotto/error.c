/*
 * Error: fills the caller's struct with sentences for people
 */
#include "base/clean.h"
#include "clients/libsotto/handle.h"
#include <stdarg.h>
#include <stdio.h>

const char *sotto_code_name(enum sotto_code code)
{
    static const char *const names[] = {
        [SOTTO_OK] = "OK",
        [SOTTO_CANCELLED] = "CANCELLED",
        [SOTTO_UNKNOWN] = "UNKNOWN",
        [SOTTO_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [SOTTO_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
        [SOTTO_NOT_FOUND] = "NOT_FOUND",
        [SOTTO_ALREADY_EXISTS] = "ALREADY_EXISTS",
        [SOTTO_PERMISSION_DENIED] = "PERMISSION_DENIED",
        [SOTTO_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
        [SOTTO_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
        [SOTTO_ABORTED] = "ABORTED",
        [SOTTO_OUT_OF_RANGE] = "OUT_OF_RANGE",
        [SOTTO_UNIMPLEMENTED] = "UNIMPLEMENTED",
        [SOTTO_INTERNAL] = "INTERNAL",
        [SOTTO_UNAVAILABLE] = "UNAVAILABLE",
        [SOTTO_DATA_LOSS] = "DATA_LOSS",
        [SOTTO_UNAUTHENTICATED] = "UNAUTHENTICATED",
    };

    return (size_t)code < COUNTOF(names) ? names[code] : "?";
}

enum sotto_code error_set(struct sotto_error *error, enum sotto_code code, const char *format, ...)
{
    va_list args;

    if (!error) {
        return code;
    }
    *error = (struct sotto_error){ .code = code };
    va_start(args, format);
    vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return code;
}

enum sotto_code error_no_memory(struct sotto_error *error)
{
    return error_set(error, SOTTO_RESOURCE_EXHAUSTED, "this program has no memory left");
}

enum sotto_code error_copy(struct sotto_error *error, const struct sotto_error *from)
{
    if (error) {
        *error = *from;
    }
    return from->code;
}

void error_from_wire(struct sotto_error *error, const Sotto__V1__Error *from)
{
    /* An error without a code is still an error. */
    enum sotto_code code = from->code ? (enum sotto_code)from->code : SOTTO_UNKNOWN;

    if (*from->message) {
        error_set(error, code, "%s", from->message);
    } else {
        error_set(error, code, "the daemon gave no reason for this error (%s)", sotto_code_name(code));
    }
    error->retry_after_ms = from->retry_after_ms;
    snprintf(error->field, sizeof(error->field), "%s", from->field);
}
