/*
 * Roll: which sequences are open, and what their answers are to carry
 *
 * The model owns sequences; the engine remembers only whether log-probabilities were asked for. A few dozen at
 * most, so a list that is walked.
 */
#ifndef SOTTO_ENGINE_ROLL_H
#define SOTTO_ENGINE_ROLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roll_row {
    uint32_t seq;
    bool logprobs;
};

struct roll {
    struct roll_row *rows; /* owned */
    size_t n;
    size_t cap;
};

int roll_init(struct roll *roll, size_t cap); /* 0 or -ENOMEM */
void roll_finish(struct roll *roll);

bool roll_is_full(const struct roll *roll);
const struct roll_row *roll_find(const struct roll *roll, uint32_t seq); /* or NULL */
void roll_add(struct roll *roll, uint32_t seq, bool logprobs);           /* not full, @seq not in it */
void roll_set(struct roll *roll, uint32_t seq, bool logprobs);           /* @seq is in it */
void roll_drop(struct roll *roll, uint32_t seq);                         /* unknown: nothing */

#endif
