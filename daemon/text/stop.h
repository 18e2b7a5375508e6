/*
 * Stop: one automaton for all stop strings of a request
 *
 * It reads byte by byte; its state is the longest suffix of the bytes read that may still become a stop string, and the
 * depth of the state is how many bytes may not be shown yet. Aho and Corasick, "Efficient string matching" (1975); with
 * one stop string it is the automaton of Knuth, Morris and Pratt (1977). Linear in the bytes read. Read-only once made.
 */
#ifndef SOTTO_TEXT_STOP_H
#define SOTTO_TEXT_STOP_H

#include <stddef.h>
#include <stdint.h>

struct stop;

struct stop_text {
    const uint8_t *bytes;
    size_t n;
};

#define STOP_BEGIN 0u
#define STOP_NONE  (-1)

/* Copies @texts, each of 1 byte or more, together less than 2^31. 0 or -ENOMEM. */
int stop_create(struct stop **ret_stop, const struct stop_text *texts, size_t n_texts);
void stop_destroy(struct stop *stop);

/* Returns the state after @byte; the first state is STOP_BEGIN. */
uint32_t stop_step(const struct stop *stop, uint32_t state, uint8_t byte);

/* Returns how many of the last bytes may belong to a stop string. */
uint32_t stop_depth(const struct stop *stop, uint32_t state);

/* Returns the index of the stop string that ends here, the longest of several, or STOP_NONE. *ret_n: its length. */
int stop_hit(const struct stop *stop, uint32_t state, uint32_t *ret_n);

#endif
