/*
 * Diag: the sentence for people that travels beside a failure
 *
 * The outer caller owns it and the deepest function fills it; later ones leave it unchanged. A sentence says what
 * happened, where, and what to do: "tensor blk.3.attn_q.weight: ends 4,096 bytes past the file". It never holds a
 * prompt, an answer or a token id.
 */
#ifndef SOTTO_BASE_DIAG_H
#define SOTTO_BASE_DIAG_H

#include <stdbool.h>

#define DIAG_BYTES 320

struct diag {
    char text[DIAG_BYTES]; /* valid UTF-8, ended by a zero; empty: not set */
    char field[64];        /* the request field or key at fault, or empty */
};

#define DIAG_INIT                                                                                                      \
    {                                                                                                                  \
        .text = "", .field = ""                                                                                        \
    }

/* Sets the sentence unless there is one. NULL @diag is allowed. Bad UTF-8 and control characters become U+FFFD; a
 * sentence that is too long is cut at a whole character. */
void diag_set(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the sentence as diag_set() does, and the @field at fault. */
void diag_blame(struct diag *diag, const char *field, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "@before: " in front of the sentence ("model tiny: ..."): outer callers know more. Does nothing if none is
 * set. */
void diag_prefix(struct diag *diag, const char *before);

bool diag_is_set(const struct diag *diag);
void diag_clear(struct diag *diag);

#endif
