/*
 * Pin: beginnings of prompts that stay, whatever else comes and goes
 *
 * What a sequence has computed is kept for good: its pages stay in the chain and are held by the pin, as a sequence
 * would hold them, until it is dropped. So they are never evicted, and nothing else of this room has to know of
 * pins. A pin takes no seat: the sequence is closed. How much may be pinned is the caller's matter.
 *
 * Who may find it is the chain's matter: its pages are in the sequence's own domain, and another sequence finds
 * them where it was opened with that domain's salt among seq_request::pins.
 */
#ifndef SOTTO_MODEL_PIN_H
#define SOTTO_MODEL_PIN_H

#include "model/model.h"

enum pin_outcome {
    PIN_OK,
    PIN_UNSUPPORTED, /* the sequence shares with nobody: no salt, or a family whose state no page gives back */
    PIN_UNFINISHED,  /* rows of its tokens are not computed yet */
};

/*
 * Sequence @seq ends and what it has computed becomes pin @pin (above 0, new). The last page stays if it holds
 * enough rows to be worth a copy. -ENOENT: there is no such sequence; -EBUSY: it stands in a begun step; -EEXIST:
 * there is such a pin. Where it is refused all is as it was.
 */
int pin_keep(struct model *model, uint32_t pin, uint32_t seq);

/* Its pages go, but for those that others hold or stand behind. -ENOENT: there is none. */
int pin_drop(struct model *model, uint32_t pin);

#endif
