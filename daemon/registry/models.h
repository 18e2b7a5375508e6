/*
 * Models: loads and unloads instances of models
 *
 * A load belongs to the daemon: many requests for it are one load, and it goes on when they leave.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_MODELS_H
#define SOTTO_REGISTRY_MODELS_H

#include "base/diag.h"
#include "registry/model_entry.h"

/*
 * Makes sure that an instance serves or loads. @admin: also if the model was unloaded or has failed before. 0, or above
 * 0 a Code with the sentence in @diag, or a fault.
 */
int models_want(struct model_entry *model, bool admin, struct diag *diag);

/* Loads the file that lies at the path now, beside the current instance, if that serves another file. Same results. */
int models_want_newest(struct model_entry *model, struct diag *diag);

/* Ends all instances: when their streams are gone, or @now with them. */
void models_unload(struct model_entry *model, bool now, const char *why);

#endif
