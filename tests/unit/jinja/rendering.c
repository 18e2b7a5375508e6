#include "rendering.h"
#include "base/clean.h"
#include <check.h>
#include <string.h>

const char *const rendering_variables =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": [1.5, null, "
    "true]}}}]}], "
    "\"x\": 5, \"y\": 2.5, \"s\": \"Hello, W\\u00f6rld\", \"e\": \"\", \"l\": [3, 1, 2], "
    "\"d\": {\"b\": 2, \"a\": 1, \"C\": 3}, \"n\": null, \"t\": true, \"u\": \"stra\\u00dfe \\u00c9COLE "
    "\\u01c6\", "
    "\"nested\": [[1, [2, 3]], [4]], \"ws\": \" \\t a b  c \\n\", \"big\": 9223372036854775807, \"neg\": -7}";

/* Sunday, 29 November 2026, 08:30. */
static const struct tm now = {
    .tm_year = 126, .tm_mon = 10, .tm_mday = 29, .tm_hour = 8, .tm_min = 30, .tm_wday = 0, .tm_yday = 332
};

int rendering_of(const char *source, size_t n, const char *variables, const struct jinja_limits *limits,
                 struct buf *out, struct diag *diag)
{
    cleanup(jinja_run_destroyp) struct jinja_run *run = NULL;
    cleanup(jinja_destroyp) struct jinja *jinja = NULL;
    int r = jinja_compile(&jinja, source, n, diag);

    r = r ? r : jinja_run_create(&run, jinja, limits, &now, NULL, diag);
    r = r ? r : jinja_set_none(run, "tools");
    r = r ? r : jinja_set_none(run, "documents");
    r = r ? r : jinja_set_json(run, variables, strlen(variables), JINJA_FOREIGN);
    r = r ? r : jinja_render(run);
    if (!r) {
        const struct jinja_out *text = jinja_run_out(run);

        r = buf_append(out, text->n ? text->bytes : (const uint8_t *)"", text->n);
    }
    return r;
}

void rendering_assert_row(const struct rendering_row *row)
{
    const struct jinja_limits limits = JINJA_LIMITS;
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;
    int r;

    buf_init(&out, MEM_MISC, 1 << 20);
    r = rendering_of(row->source, strlen(row->source), rendering_variables, &limits, &out, &diag);
    ck_assert_msg(r == JINJA_OK || r == JINJA_FAILED, "%s: %d", row->source, r);
    if (r == JINJA_FAILED) {
        ck_assert_msg(strcmp(diag.text, row->wanted) == 0, "%s\nwanted \"%s\"\ngot    \"%s\"", row->source, row->wanted,
                      diag.text);
        return;
    }
    ck_assert_msg(out.n == strlen(row->wanted) && memcmp(buf_data(&out), row->wanted, out.n) == 0,
                  "%s\nwanted \"%s\"\ngot    \"%.*s\"", row->source, row->wanted, (int)out.n,
                  (const char *)buf_data(&out));
}

void rendering_assert_refused(const char *source, size_t n, const char *word)
{
    const struct jinja_limits limits = JINJA_LIMITS;
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;

    buf_init(&out, MEM_MISC, 32 << 20);
    ck_assert_int_eq(rendering_of(source, n, rendering_variables, &limits, &out, &diag), JINJA_FAILED);
    ck_assert_msg(strstr(diag.text, word) != NULL, "\"%s\" does not say \"%s\"", diag.text, word);
}
