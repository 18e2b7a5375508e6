/*
 * Text of a pin: from its text or its messages to tokens
 *
 * Of messages what is pinned is the part that every conversation has in common which begins with them. What a template
 * writes behind them depends on what follows, and some refuse or rearrange messages without an answer; so they are
 * rendered twice, each time with another message behind them, and the tokens that both begin with are the pin's.
 */
#ifndef SOTTO_SESSION_PINS_TEXT_H
#define SOTTO_SESSION_PINS_TEXT_H

#include "registry/pin.h"

/* Makes pin->tokens; @done is called from the loop, with a sentence if they can't be made. 0 or -ENOMEM. */
int pins_text_tokenize(struct pin *pin, void (*done)(struct pin *pin, const char *why));

#endif
