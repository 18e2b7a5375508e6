/*
 * Fuzzer: an untrusted chat template and its variables
 *
 * The input up to the first zero byte is the template, behind it the JSON object of its variables. For any input the
 * run ends within its steps and bytes, with a text of which every byte is marked, or with a sentence.
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "jinja/jinja.h"
#include <string.h>

static const struct jinja_limits limits = { .steps = 20000, .memory_bytes = 4u << 20, .output_bytes = 256u << 10 };

static void check_text(const struct jinja_run *run)
{
    const struct jinja_out *out = jinja_run_out(run);

    FUZZ_PROMISE(out->n <= limits.output_bytes);
    for (size_t i = 0; i < out->n; i++) {
        FUZZ_PROMISE(out->marks[i] == JINJA_SCAFFOLD || out->marks[i] == JINJA_FOREIGN);
    }
    FUZZ_PROMISE(utf8_is_valid(out->bytes, out->n, NULL));
}

static int render(struct jinja_run *run, const char *json, size_t n)
{
    int r = jinja_set_none(run, "tools");

    r = r ? r : jinja_set_text(run, "bos_token", "<s>", 3, JINJA_SCAFFOLD);
    if (!r && n > 0) {
        r = jinja_set_json(run, json, n, JINJA_FOREIGN);
    }
    return r ? r : jinja_render(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct tm now = { .tm_year = 126, .tm_mon = 10, .tm_mday = 29 };
    const char *source = (const char *)bytes;
    const char *zero = n > 0 ? memchr(bytes, 0, n) : NULL;
    const size_t n_source = zero ? (size_t)(zero - source) : n;
    struct jinja_run *run = NULL;
    struct jinja *jinja = NULL;
    struct diag diag = DIAG_INIT;
    int r = jinja_compile(&jinja, source, n_source, &diag);

    FUZZ_PROMISE(r == JINJA_OK || r == JINJA_FAILED);
    if (r == JINJA_OK) {
        FUZZ_PROMISE(jinja_run_create(&run, jinja, &limits, &now, NULL, &diag) == 0);
        r = render(run, zero ? zero + 1 : "", zero ? n - n_source - 1 : 0);
        FUZZ_PROMISE(r == JINJA_OK || r == JINJA_FAILED);
        FUZZ_PROMISE(jinja_run_steps(run) < 64 * limits.steps + 4 * limits.memory_bytes);
    }
    if (r == JINJA_FAILED) {
        FUZZ_PROMISE(diag_is_set(&diag));
        FUZZ_PROMISE(utf8_is_valid(diag.text, strlen(diag.text), NULL));
    } else {
        check_text(run);
    }
    jinja_run_destroy(run);
    jinja_destroy(jinja);
    return 0;
}
