#include "mutate.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MEMORY_MOST (1ull << 30) /* a mutant may allocate without end */

unsigned mutate_id;
unsigned char mutate_differs[MUTATE_MOST];

/* Writes the numbers of the mutants that would have differed into the file that SOTTO_MUTANTS_REACHED names. */
static void write_reached(void)
{
    FILE *out = fopen(getenv("SOTTO_MUTANTS_REACHED"), "w");

    if (!out) {
        return;
    }
    for (unsigned i = 1; i < MUTATE_MOST; i++) {
        if (mutate_differs[i]) {
            fprintf(out, "%u\n", i);
        }
    }
    fclose(out);
}

__attribute__((constructor)) static void begin(void)
{
    const char *id = getenv("SOTTO_MUTANT");
    const char *cpu_s = getenv("SOTTO_MUTANT_CPU_S");
    struct rlimit memory = { MEMORY_MOST, MEMORY_MOST };

    setrlimit(RLIMIT_DATA, &memory);
    if (cpu_s) {
        struct rlimit cpu = { strtoul(cpu_s, NULL, 10), RLIM_INFINITY };

        setrlimit(RLIMIT_CPU, &cpu);
    }
    mutate_id = id ? (unsigned)strtoul(id, NULL, 10) : 0;
    if (getenv("SOTTO_MUTANTS_REACHED")) {
        atexit(write_reached);
    }
}
