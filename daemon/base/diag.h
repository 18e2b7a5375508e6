/*
 * Diag: the sentence for people that travels beside a failure
 *
 * The outer caller owns it, the deepest place fills it; whoever comes later finds it taken and leaves it. A
 * sentence says what, where and what to do: "tensor blk.3.attn_q.weight: ends 4,096 bytes past the file".
 * It never holds a prompt, an answer or a token id.
 */
#ifndef SOTTO_BASE_DIAG_H
#define SOTTO_BASE_DIAG_H

#include <stdbool.h>

#define DIAG_BYTES 320

struct diag {
    char text[DIAG_BYTES]; /* valid UTF-8, ended by a zero; empty: nothing said yet */
    char field[64];        /* the request field or key to blame, or empty */
};

#define DIAG_INIT                                                                                                      \
    {                                                                                                                  \
        .text = "", .field = ""                                                                                        \
    }

/* Says the sentence unless one stands already. NULL @diag is allowed. Bad UTF-8 and control characters become
 * U+FFFD; too long is cut at a whole character. */
void diag_set(struct diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, naming the @field that is to blame. */
void diag_blame(struct diag *diag, const char *field, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "@before: " in front of what stands there ("model tiny: ..."), as outer callers know more. */
void diag_prefix(struct diag *diag, const char *before);

bool diag_is_set(const struct diag *diag);
void diag_clear(struct diag *diag);

#endif
