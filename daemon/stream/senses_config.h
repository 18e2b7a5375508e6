/*
 * Senses config: copies and compares what the senses are told
 */
#ifndef SOTTO_STREAM_SENSES_CONFIG_H
#define SOTTO_STREAM_SENSES_CONFIG_H

#include "stream/senses.h"

/* Copies @from with its texts into @arena; pauses of 0 become the usual ones. 0 or -ENOMEM. */
int senses_copy_config(struct arena *arena, const struct senses_config *from, struct senses_config *to);

/* Would the same sotto-sense be started or called? The names of zones matter to a child, which is started with them. */
bool senses_same_link(const struct senses_config *a, const struct senses_config *b);

#endif
