/*
 * Hostile templates: each ends soon, within its memory, with a sentence.
 */
#include "base/clean.h"
#include "failed_alloc.h"
#include "rendering.h"
#include "unit.h"
#include <string.h>

static void refused(const char *source, const char *word)
{
    rendering_assert_refused(source, strlen(source), word);
}

/* Asserts that @begin and @end, @n times each, around @middle are refused. */
static void nested(const char *begin, const char *middle, const char *end, size_t n, const char *word)
{
    const size_t n_begin = strlen(begin);
    const size_t n_end = strlen(end);
    char *source = mem_calloc(MEM_MISC, n * (n_begin + n_end) + strlen(middle) + 1, 1);
    char *at = source;

    for (size_t i = 0; i < n; i++, at += n_begin) {
        memcpy(at, begin, n_begin);
    }
    memcpy(at, middle, strlen(middle));
    at += strlen(middle);
    for (size_t i = 0; i < n; i++, at += n_end) {
        memcpy(at, end, n_end);
    }
    rendering_assert_refused(source, (size_t)(at - source), word);
    mem_free(source);
}

START_TEST(internals_of_objects_are_unreachable)
{
    refused("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError: access to attribute '__class__'");
    refused("{{ cycler.__init__.__globals__.os.popen('touch /tmp/x').read() }}", "'cycler' is undefined");
    refused("{{ [].append(1) }}", "SecurityError: access to attribute 'append'");
    refused("{{ {}['update']({}) }}", "SecurityError");
    refused("{{ range.__globals__.x }}", "SecurityError");
    refused("{{ ''|attr('__class__')|attr('mro') }}", "SecurityError");
    refused("{{ '{0.__class__.x}'.format(1) }}", "SecurityError");
}
END_TEST

START_TEST(a_wide_format_is_paid_for_in_steps)
{
    refused("{{ '%99999999999d' % 1 }}", "TimeoutError");
    refused("{{ '{:99999999999}'.format(1) }}", "TimeoutError");
}
END_TEST

START_TEST(loops_end)
{
    refused("{% for i in range(10000000000) %}{% endfor %}x", "Range too big");
    refused("{% for i in range(-9223372036854775807, 9223372036854775807) %}{% endfor %}", "Range too big");
    refused("{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(100) %}{% endfor %}{% "
            "endfor %}"
            "{% endfor %}",
            "more than");
    refused("{% for a in range(100000) %}{% for b in range(100000) %}{{ 'x'|upper is upper }}{% endfor %}{% "
            "endfor %}",
            "more than");
}
END_TEST

START_TEST(texts_and_lists_have_a_ceiling)
{
    refused("{{ 'aaaaaaaaaa' * 10000000000 }}", "more than");
    refused("{{ [1] * 10000000000 }}", "more than");
    refused("{% set ns = namespace(s='aa') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor "
            "%}{{ ns.s }}",
            "more than");
    refused("{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
            "more than");
    refused("{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor "
            "%}{{ ns.s }}",
            "more than");
    refused("{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
            "{% set nt = namespace(s=[1]) %}{% for i in range(60) %}{% set nt.s = [nt.s, nt.s] %}{% endfor %}"
            "{{ ns.s == nt.s }}",
            "more than");
    refused("{{ 'a'.ljust(1000000000000) }}", "more than");
    refused("{{ 'a'|center(1000000000000) }}", "more than");
    refused("{{ 'a'|indent(1000000000000, true) }}", "more than");
    refused("{% set a = 'a' * 4000 %}{{ a.replace('a', a).replace('a', a) }}", "more than");
    refused("{{ '%99999999d' % 1 ~ ('x' * 100000000) }}", "more than");
}
END_TEST

START_TEST(quadratic_searches_are_paid_for)
{
    refused("{% set a = 'a' * 2000000 %}{% set b = 'b' ~ 'a' * 1000000 %}{% for i in range(100000) %}{{ "
            "a.rfind(b) }}"
            "{{ a.find(b) }}{% endfor %}",
            "more than");
}
END_TEST

START_TEST(recursion_ends)
{
    refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError");
    refused("{% macro m(x) %}{{ m([x]) }}{% endmacro %}{{ m(1) }}", "RecursionError");
    refused("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}", "RecursionError");
    refused("{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "RecursionError");
    refused("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}", "RecursionError");
    refused("{% set ns = namespace(s=[1]) %}{% for i in range(5000) %}{% set ns.s = [ns.s] %}{% endfor %}{{ "
            "ns.s }}",
            "RecursionError");
    refused("{% set ns = namespace(s=[1]) %}{% for i in range(5000) %}{% set ns.s = [ns.s] %}{% endfor %}"
            "{{ ns.s|tojson }}",
            "RecursionError");
}
END_TEST

/* Asserts that a print tag with 1 nested in @n brackets is refused. */
static void nested_in_print(const char *begin, const char *end, size_t n, const char *word)
{
    const size_t n_begin = strlen(begin);
    const size_t n_end = strlen(end);
    char *source = mem_calloc(MEM_MISC, n * (n_begin + n_end) + 16, 1);
    char *at = source + 3;

    memcpy(source, "{{ ", 3);
    for (size_t i = 0; i < n; i++, at += n_begin) {
        memcpy(at, begin, n_begin);
    }
    *at++ = '1';
    for (size_t i = 0; i < n; i++, at += n_end) {
        memcpy(at, end, n_end);
    }
    memcpy(at, " }}", 3);
    rendering_assert_refused(source, (size_t)(at + 3 - source), word);
    mem_free(source);
}

START_TEST(deep_expressions_are_refused)
{
    nested_in_print("(", ")", 100000, "nested too deeply");
    nested_in_print("(", ")", 220, "nested deeper");
    nested_in_print("[", "]", 220, "nested deeper");
    nested_in_print("{1:", "}", 220, "nested deeper");
    nested_in_print("not ", "", 50000, "nested deeper");
    nested_in_print("- ", "", 100000, "nested deeper");
    nested_in_print("1 if 1 else ", "", 20000, "nested deeper");
    nested_in_print("1 + ", "", 60000, "nests too deeply");
    nested_in_print("x|default(", ")", 220, "nested deeper");
    nested_in_print("x[", "]", 220, "nested deeper");
}
END_TEST

START_TEST(nesting_has_a_ceiling)
{
    nested("{% if true %}", "x", "{% endif %}", 5000, "nested deeper");
    nested("{% for i in l %}", "x", "{% endfor %}", 5000, "nested deeper");
}
END_TEST

static int render_once(void *source)
{
    const struct jinja_limits limits = JINJA_LIMITS;
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;

    buf_init(&out, MEM_MISC, 1 << 20);
    return rendering_of(source, strlen(source), rendering_variables, &limits, &out, &diag);
}

START_TEST(failing_allocation_leaks_nothing)
{
    char source[] = "{% macro m(a, b=[1, {'x': 2}]) %}{{ a|upper ~ b|tojson }}{% endmacro %}"
                    "{% for i in l|sort %}{{ m(s, b=d) }}{{ messages|map(attribute='role')|join }}{% endfor %}"
                    "{% set q %}{{ ws.split()|join('-') }}{% endset %}{{ q * 3000 }}";

    for_each_failed_alloc(render_once, source);
}
END_TEST

START_TEST(cancel_flag_ends_a_run)
{
    static const char source[] = "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}";
    const struct jinja_limits limits = JINJA_LIMITS;
    struct jinja_run *run = NULL;
    struct jinja *jinja = NULL;
    struct diag diag = DIAG_INIT;
    atomic_bool cancel;

    atomic_init(&cancel, true);
    ck_assert_int_eq(jinja_compile(&jinja, source, strlen(source), &diag), JINJA_OK);
    ck_assert_int_eq(jinja_run_create(&run, jinja, &limits, NULL, &cancel, &diag), 0);
    ck_assert_int_eq(jinja_render(run), JINJA_CANCELLED);
    ck_assert_uint_lt(jinja_run_steps(run), 4096);
    jinja_run_destroy(run);
    jinja_destroy(jinja);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jinja-hostile");
    TCase *tcase = tcase_create("jinja-hostile");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, internals_of_objects_are_unreachable);
    tcase_add_test(tcase, a_wide_format_is_paid_for_in_steps);
    tcase_add_test(tcase, loops_end);
    tcase_add_test(tcase, texts_and_lists_have_a_ceiling);
    tcase_add_test(tcase, quadratic_searches_are_paid_for);
    tcase_add_test(tcase, recursion_ends);
    tcase_add_test(tcase, deep_expressions_are_refused);
    tcase_add_test(tcase, nesting_has_a_ceiling);
    tcase_add_test(tcase, failing_allocation_leaks_nothing);
    tcase_add_test(tcase, cancel_flag_ends_a_run);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
