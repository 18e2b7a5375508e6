/*
 * Runs a fuzzer over kept inputs: "replay FILE...", with one fact in TAP for each. A broken promise ends the process;
 * the first missing fact is the failed one.
 */
#include "base/clean.h"
#include "base/file.h"
#include "fuzz.h"

#define INPUT_BYTES (16u << 20) /* far more than a kept input has */

static bool replay(const char *path)
{
    cleanup(mem_freep) char *bytes = NULL;
    struct diag diag = DIAG_INIT;
    size_t n;

    if (file_read(path, MEM_MISC, INPUT_BYTES, &bytes, &n, &diag) != 0) {
        fprintf(stderr, "%s\n", diag.text);
        return false;
    }
    return LLVMFuzzerTestOneInput((const uint8_t *)bytes, n) == 0;
}

int main(int argc, char **argv)
{
    int n_failed = 0;

    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        const char *slash = strrchr(argv[i], '/');
        bool passed = replay(argv[i]);

        n_failed += !passed;
        printf("%s %d - %s\n", passed ? "ok" : "not ok", i, slash ? slash + 1 : argv[i]);
        fflush(stdout);
    }
    return n_failed || argc == 1;
}
