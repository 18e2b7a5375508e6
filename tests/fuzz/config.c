/*
 * Fuzzer: a configuration file
 *
 * The file belongs to the administrator, but a half-written one must be refused with sentences, and an accepted one
 * must be equal to itself when it is read again.
 */
#include "config/config.h"
#include "base/clean.h"
#include "base/utf8.h"
#include "fuzz.h"
#include <string.h>

static void on_sentence(void *owner, const char *sentence)
{
    FUZZ_PROMISE(*sentence);
    FUZZ_PROMISE(utf8_is_valid(sentence, strlen(sentence), NULL));
    FUZZ_PROMISE(!strchr(sentence, '\n'));
    (*(size_t *)owner)++;
}

static void on_change(void *owner, const char *path, bool restart)
{
    fprintf(stderr, "read twice, %s differs\n", path);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct config_extra extra = { 0 };
    struct config *config = NULL;
    struct config *again = NULL;
    size_t n_sentences = 0;
    cleanup(mem_freep) char *text = mem_strndup(MEM_MISC, (const char *)bytes, n); /* as file_read() gives it */
    int r = config_parse(&config, "fuzz.json", text, n, &extra, on_sentence, &n_sentences);

    FUZZ_PROMISE(r == CONFIG_OK || r == CONFIG_REFUSED);
    FUZZ_PROMISE((r == CONFIG_REFUSED) == (n_sentences > 0));
    FUZZ_PROMISE((r == CONFIG_OK) == (config != NULL));
    if (r == CONFIG_OK) {
        r = config_parse(&again, "fuzz.json", text, n, &extra, on_sentence, &n_sentences);
        FUZZ_PROMISE(r == CONFIG_OK);
        config_compare(config, again, on_change, NULL);
        config_destroy(again);
        config_destroy(config);
    }
    return 0;
}
