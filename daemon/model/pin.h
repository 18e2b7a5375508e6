/*
 * Pin: prefixes of prompts that stay, whatever else is evicted
 *
 * A pin keeps what a sequence has computed: it holds the sequence's pages in the chain, as a sequence would, until it
 * is dropped. So they are never evicted, and nothing else in this module has to know of pins. A pin takes no sequence
 * slot, since the sequence is closed. The caller limits how much is pinned.
 *
 * Its pages are in the sequence's own domain. Another sequence finds them if it is opened with that domain's salt among
 * seq_request::pins.
 */
#ifndef SOTTO_MODEL_PIN_H
#define SOTTO_MODEL_PIN_H

#include "model/model.h"

enum pin_outcome {
    PIN_OK,
    PIN_UNSUPPORTED, /* the sequence shares with none: it has no salt, or a family with states */
    PIN_UNFINISHED,  /* rows of its prompt are not computed yet */
};

/*
 * Closes sequence @seq and makes what it has computed pin @pin (above 0, new). The last page is included if it holds
 * enough rows to be worth a copy. -ENOENT: there is no such sequence; -EBUSY: it is in a begun step; -EEXIST: there is
 * such a pin. A refusal changes nothing.
 */
int pin_keep(struct model *model, uint32_t pin, uint32_t seq);

/* Releases the pages of pin @pin; those held by others, or with pages behind them, stay. -ENOENT: there is no such
 * pin. */
int pin_drop(struct model *model, uint32_t pin);

#endif
