/*
 * Fuzz: the interface of libFuzzer and of the replay of the kept corpus
 *
 * A fuzzer passes arbitrary bytes to code that parses untrusted input, and checks what this code promises for any
 * input, not only that nothing crashes. The same object is linked with libFuzzer (build/fuzz) and with replay.c, which
 * runs the kept corpus in every build.
 */
#ifndef SOTTO_TESTS_FUZZ_H
#define SOTTO_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Runs the input @bytes; a broken promise ends the process. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Ends the process unless @condition holds, also in builds without assert(). */
#define FUZZ_PROMISE(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: promise broken: %s\n", __FILE__, __LINE__, #condition);                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
