/*
 * Pins: beginnings of prompts that policy has computed ahead
 *
 * An instance has the pins of its model's settings. When its engine is ready each is made into tokens, once, and then
 * computed by a stream of the daemon's own, one after the other: background work that yields to every other request.
 * Where that stream ends the engine keeps its pages and the slot is free. An engine that is lost takes all of it along:
 * the next one computes the pins again. A reload adds and drops pins of an instance that serves.
 *
 * Pins may hold half of the pages, and beside them a whole context fits in any case: so no request is refused that
 * would fit without them. What is more than that is refused for good, with a sentence; where the governor has taken
 * pages back the last pins are let go, and computed again when the pages are back.
 *
 * Which requests may find a pin is the matter of registry/pin.h. The loop's thread.
 */
#ifndef SOTTO_SESSION_PINS_H
#define SOTTO_SESSION_PINS_H

#include "registry/model_entry.h"
#include "registry/pin.h"
#include "stream/streams.h"

/* Puts @pins in force: those that @instance has already stay as they are, the others go or come. 0, or -ENOMEM and
 * nothing changed. */
int pins_configure(struct instance *instance, const struct pin_settings *pins, size_t n);

/* Goes on with the pins of all instances that are due. */
void pins_run(struct streams *streams);

/* Forgets what the engine held: it is gone. */
void pins_lose(struct instance *instance);

/* Drops all pins: the instance ends, or no new request comes to it. */
void pins_end(struct instance *instance);
void pins_end_all(const struct registry *registry);

/* Returns the pin that @stream computes, or NULL. */
const struct pin *pins_computed_by(const struct stream *stream);

#endif
