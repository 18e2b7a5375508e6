/*
 * Load: vocabularies of real models for tests, gzipped or not
 */
#ifndef SOTTO_TESTS_LOAD_H
#define SOTTO_TESTS_LOAD_H

#include "token/token.h"
#include <jansson.h>

/* Returns the vocabulary of the file @name in the truth folder, or NULL if there is none (unit_truth() has said so). */
struct vocab *load_vocab(const char *name);

/* Returns the JSON of such a file, or NULL. */
json_t *load_json(const char *name);

/* Returns the bytes of such a file with a zero behind them, to be freed with mem_free(); or NULL. */
char *load_text(const char *name);

/* Returns the bytes that @hex spells, to be freed with mem_free(). */
uint8_t *from_hex(const char *hex, size_t *ret_n);

/* Fails with the two lists side by side unless @ids are exactly those of the JSON array @wanted. */
void assert_ids(const struct ids *ids, const json_t *wanted, const char *what);

#endif
