/*
 * Label: a line of text for people, made of names that hardware and drivers gave
 */
#ifndef SOTTO_SYSFS_LABEL_H
#define SOTTO_SYSFS_LABEL_H

#include <stddef.h>

/*
 * Prints into @text as snprintf() does. Names from files are untrusted bytes: what is no valid UTF-8 on one line
 * becomes U+FFFD, and what is too long is cut at a whole character.
 */
void label_format(char *text, size_t cap, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints into the array @text. */
#define label_set(text, ...) label_format(text, sizeof(text), __VA_ARGS__)

#endif
