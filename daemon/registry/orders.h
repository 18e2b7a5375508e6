/*
 * Orders: what sottod tells an instance's engine beside steps and the opening of sequences
 *
 * orders_close() and orders_pin() do nothing while no engine takes orders; the others need one that does.
 *
 * The loop's thread.
 */
#ifndef SOTTO_REGISTRY_ORDERS_H
#define SOTTO_REGISTRY_ORDERS_H

#include "registry/instance.h"

/* Drops what is still to be computed for @sequence, between the parts of a running step. */
void orders_stop(struct instance *instance, uint32_t sequence);

/* Closes a sequence, trimmed to @n_known tokens (0: as it is). @keep: its pages may stay in the cache. */
void orders_close(struct instance *instance, uint32_t sequence, uint32_t n_known, bool keep);

/* Makes @sequence pin @number, so that its pages stay; 0: drops the pin. */
void orders_pin(struct instance *instance, uint32_t number, uint32_t sequence);

/* Asks for the engine's figures (Stats). */
void orders_query(struct instance *instance);

/* Tells the share of the pages that the engine may use (registry::kv_permille). */
void orders_limit_pages(struct instance *instance);

#endif
