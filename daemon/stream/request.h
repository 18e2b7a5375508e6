/*
 * Request: from a Generate to a stream that waits for its turn
 *
 * The first look at a request, inside the call, needs neither model nor text: may this peer have one more, of this
 * class, under this key? What it refuses leaves no stream behind. The second (prompt.h) checks what depends on model
 * and tokens. All values that the client left out are filled in here, so that everything behind it knows only values in
 * force.
 *
 * A holder that changes the request (a session puts what was said before it) does so between the two steps,
 * request_admit() and request_open().
 */
#ifndef SOTTO_STREAM_REQUEST_H
#define SOTTO_STREAM_REQUEST_H

#include "stream/stream.h"

struct request {
    struct streams *streams;
    const Sotto__V1__Generate *generate; /* has passed check_client_frame(); is copied */
    const struct grant *grant;
    const struct stream_sink *sink;
    void *owner; /* of @sink */
    struct stream_holder holder;
    struct model_entry *model; /* NULL: the one that @generate names */
    const char *message;       /* that it came in, for the names of fields; NULL: "generate" */
    bool pools;                /* as in struct stream_request */
    bool prompt_only;
    bool continues;
    bool slides;
    bool yields; /* gives way to every other request */

    /* Filled by request_admit(). */
    struct account *account;
    enum priority priority;
};

/* Takes the first look. 0; above 0 a Code with the sentence in @diag and *ret_retry_ms (0: trying again will not help);
 * or a fault. */
int request_admit(struct request *request, uint32_t *ret_retry_ms, struct diag *diag);

/* Makes the stream of an admitted request; *ret_stream lives until its last message is out. The same results. */
int request_open(const struct request *request, struct stream **ret_stream, struct diag *diag);

/* Does both. */
int request_generate(struct request *request, struct stream **ret_stream, uint32_t *ret_retry_ms, struct diag *diag);

/* Counts a refusal with Code @code, if it is one. Returns @code. */
int request_refused(struct streams *streams, const struct grant *grant, int code);

#endif
