/*
 * Fuzz: one door for libFuzzer and for the replay of the kept corpus
 *
 * A fuzzer feeds arbitrary bytes to something that parses what strangers send, and checks what that promises for any
 * input: not only that nothing crashes. The same object is linked with libFuzzer (build/fuzz) and with replay.c, which
 * runs the kept corpus in every build.
 */
#ifndef SOTTO_TESTS_FUZZ_H
#define SOTTO_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs @bytes through; a broken promise ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* A promise that holds for any input, also in builds without assert(). */
#define FUZZ_PROMISE(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: promise broken: %s\n", __FILE__, __LINE__, #condition);                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
