/*
 * Stop: one automaton for all stop strings of a request
 *
 * Bytes go in one by one; the state is the longest end of what was read that may still become a stop string. Its
 * depth is how many bytes may not be shown yet. Aho and Corasick, "Efficient string matching" (1975); with one stop
 * string it is the automaton of Knuth, Morris and Pratt. Linear in the bytes read. Read-only once made.
 */
#ifndef SOTTO_TEXT_STOP_H
#define SOTTO_TEXT_STOP_H

#include <stddef.h>
#include <stdint.h>

struct stop;

struct stop_text;

#define STOP_BEGIN 0u
#define STOP_NONE  (-1)

/* @texts are copied; each has 1 byte or more, together less than 2^31. 0 or -ENOMEM. */
int stop_create(struct stop **ret_stop, const struct stop_text *texts, size_t n_texts);
void stop_destroy(struct stop *stop);

/* The state after @byte; the first is STOP_BEGIN. */
uint32_t stop_step(const struct stop *stop, uint32_t state, uint8_t byte);

/* How many of the last bytes may belong to a stop string. */
uint32_t stop_depth(const struct stop *stop, uint32_t state);

/* The stop string that ends here, the longest if there are several, or STOP_NONE; and its length. */
int stop_hit(const struct stop *stop, uint32_t state, uint32_t *ret_n);

#endif
