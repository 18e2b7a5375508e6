/*
 * Status: what the hub tells of itself
 *
 * Engines are asked for their figures before a Status is answered, all at once and for 100 ms at most; questions that
 * come meanwhile share the next round.
 */
#ifndef SOTTO_HUB_HUB_STATUS_H
#define SOTTO_HUB_HUB_STATUS_H

#include "registry/models.h"

/* Fills @ret_info from @arena. 0 or -ENOMEM. */
int status_fill_model(const struct model *model, const struct grant *grant, struct arena *arena,
                      Sotto__V1__ModelInfo *ret_info);

/* Makes the callback of a TICKET_STATUS. */
void status_call(struct ticket *ticket);

/* An engine has told its figures, or is gone. */
void status_figures(struct hub *hub);

#endif
