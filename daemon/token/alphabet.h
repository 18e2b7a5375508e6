/*
 * Alphabet: how byte-level vocabularies spell bytes
 *
 * GPT-2 wrote each byte as one visible character: printable Latin-1 as itself, the others in order from U+0100
 * upwards, so that a blank is "Ġ". Source: the byte table of OpenAI's GPT-2 encoder. Pure, any thread.
 */
#ifndef SOTTO_TOKEN_ALPHABET_H
#define SOTTO_TOKEN_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the bytes that @text spells to @out (room for @n) and their number to *ret_n. False if @text has a character
 * outside the alphabet; @out is undefined then. */
bool alphabet_decode(const char *text, size_t n, uint8_t *out, size_t *ret_n);

#endif
