/*
 * Edges of the language and its library that published templates rarely reach: each row was rendered by Jinja2 3.1.
 * Where the sentence of a refusal depends on Python's own implementation, it is ours.
 */
#include "base/clean.h"
#include "rendering.h"
#include "unit.h"

static const struct rendering_row calls[] = {
    { "{{ x|default(1, nope=2) }}", "TypeError: default() got an unexpected keyword argument 'nope'" },
    { "{{ l|first(1) }}", "TypeError: first() takes at most 1 arguments (2 given)" },
    { "{{ 'a'.zfill() }}", "TypeError: zfill() missing required argument 'width'" },
    { "{{ 'abc'.strip(1) }}", "TypeError: must be str, not int" },
    { "{{ 'a'.ljust('b') }}", "TypeError: 'str' object cannot be interpreted as an integer" },
    { "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(5, *[6]) }}",
      "123456" },
    { "{{ dict(**{1: 2}) }}", "TypeError: keywords must be strings" },
    { "{{ dict(**[1]) }}", "TypeError: argument after ** must be a mapping, not list" },
    { "{{ dict([1]) }}", "TypeError: 'list' object is not a mapping" },
    { "{% for i in [1] %}{{ loop(1) }}{% endfor %}",
      "TypeError: The loop must have the 'recursive' marker to be called recursively." },
    { "{% macro m(a) %}{{ a + 1 }}{% endmacro %}{{ m() }}", "UndefinedError: parameter 'a' was not provided" },
    { "{{ ([]|first).x }}", "UndefinedError: No first item, sequence was empty." },
    { "{{ {}.get() }}", "TypeError: get() missing required argument 'key'" },
    { "{{ (x|abs|string|upper)() }}", "TypeError: 'str' object is not callable" },
    { "{{ l|map('nope')|list }}", "TemplateRuntimeError: No filter named 'nope'." },
    { "{{ l|select('nope')|list }}", "TemplateRuntimeError: No test named 'nope'." },
    { "{{ l|map()|list }}", "FilterArgumentError: map requires a filter argument" },
    { "{{ l|selectattr()|list }}", "FilterArgumentError: Missing parameter for attribute name or test" },
    { "{{ messages|map(attribute='zz', default='-')|list }}", "['-', '-']" },
    { "{{ l|select('gt', 1)|list }} {{ l|reject('gt', 1)|list }} {{ [0, 1, '']|select|list }}", "[3, 2] [1] [1]" },
    { "{{ messages|selectattr('tool_calls')|map(attribute='role')|join }} {{ messages|rejectattr('role', 'eq', "
      "'user')|map(attribute='role')|join }}",
      "assistant assistant" },
    { "{{ messages|selectattr('tool_calls', 'defined')|list|length }}", "1" },
    { "{% call(a) x() %}{% endcall %}", "TypeError: 'int' object is not callable" },
};

static const struct rendering_row values[] = {
    { "{{ [1, 2] < [1, 2, 3] }} {{ 1.5 < 2 }} {{ 2.5 >= y }} {{ {'a': 1} == {'b': 1} }} {{ {'a': 1} == {'a': 1, 'b': "
      "2} }}",
      "True True True False False" },
    { "{{ {1: 'a', 2.5: 'b', none: 'c', (1, 'x'): 'd', true: 'e'} }}", "{1: 'e', 2.5: 'b', None: 'c', (1, 'x'): 'd'}" },
    { "{% set q = namespace(z=0) %}{% for i in range(40) %}{% set q.z = {i: 1, 'k' ~ i: 2, (i, 'x'): 3, 0.5: 4, 'a': "
      "5, 'b': 6, 'c': 7, 'd': 8, 'e': 9, 'f': 10}[(i, 'x')] + q.z %}{% endfor %}{{ q.z }}",
      "120" },
    { "{{ {(1, [2]): 3} }}", "TypeError: unhashable type: 'tuple'" },
    { "{{ d[1:2] }}", "TypeError: unhashable type: 'slice'" },
    { "{{ 'abc'[::0] }}", "ValueError: slice step cannot be zero" },
    { "{{ +x }} {{ +-x }} {{ 'a' in ('a', 'b') }} {{ 1 not in l }}", "5 -5 True False" },
    { "{{ -s }}", "TypeError: bad operand type for unary -: 'str'" },
    { "{{ 7 // -1 }} {{ 7 % -1 }} {{ 1.5 - 1 }} {{ 7.5 // 2 }}", "-7 0 0.5 3.0" },
    { "{{ 1.0 if 0.0 else 2.0 }} {{ 'yes' if range else 'no' }}", "2.0 yes" },
    { "{{ -0.5 }} {{ [-1.5e-7] }}", "-0.5 [-1.5e-07]" },
    { "{{ range(5, 0, -2)|list }} {{ range(3, 1)|list }} {{ range(2, 8, 2) }}", "[5, 3, 1] [] range(2, 8, 2)" },
    { "{{ range(1, 2, 0) }}", "ValueError: range() arg 3 must not be zero" },
    { "{{ range(none) }}", "TypeError: 'NoneType' object cannot be interpreted as an integer" },
    { "{{ [range(3), d.keys()]|length }}", "2" },
    { "{{ l.copy() }} {{ d.copy() }} {{ l.index(9) }}", "ValueError: the value is not in the list" },
    { "{{ l is sameas(l) }} {{ [1] is sameas([1]) }} {{ d is sameas(d) }}", "True False True" },
    { "{{ (1e200 * 1e200)|tojson }} {{ (-1e200 * 1e200)|tojson }}", "Infinity -Infinity" },
    { "{{ '\\U0001F600'|tojson(ensure_ascii=true) }}", "\"\\ud83d\\ude00\"" },
    { "{{ {(1, 2): 3}|tojson }}", "TypeError: keys must be str, int, float, bool or None, not tuple" },
    { "{{ d|tojson(separators=1) }}", "TypeError: separators must be two strings" },
    { "{{ [undefd]|tojson }}", "TypeError: Object of type Undefined is not JSON serializable" },
    { "{{ 'a' < 1 }}", "TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "{{ [3, 'a']|sort }}", "TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "{{ 5|dictsort }}", "TypeError: dictsort takes a mapping, not int" },
    { "{{ 5|items }}", "TypeError: Can only get item pairs from a mapping." },
    { "{{ l|slice(0)|list }}", "ZeroDivisionError: integer division or modulo by zero" },
    { "{{ 'x'|abs }}", "TypeError: must be a number, not str" },
    { "{{ 2.5|round(0, 'up') }}", "FilterArgumentError: method must be common, ceil or floor" },
    { "{{ 3 * [1, 2] }} {{ (1,) * 2 }} {{ true + true }}", "[1, 2, 1, 2, 1, 2] (1, 1) 2" },
    { "{{ [1] + (2,) }}", "TypeError: can only concatenate list (not \"tuple\") to list" },
    { "{{ l['a'] is defined }} {{ l[5] is defined }} {{ d[5] is defined }}", "False False False" },
    { "{{ l[5].x }}", "UndefinedError: list object has no element 5" },
    { "{{ none.x.y }}", "UndefinedError: 'None' has no attribute 'x'" },
};

static const struct rendering_row texts[] = {
    { "{{ '\\u0130'|lower|length }} {{ 'ab cd'.title() }} {{ '\\u00df'|capitalize }}", "2 Ab Cd Ss" },
    { "{{ ''.isprintable() }} {{ 'a\\n'.isprintable() }} {{ 'ab'.isascii() }} {{ '\\u00e9'.isascii() }} {{ "
      "'aB'.isupper() }} {{ '1'.islower() }} {{ '\\u0663'.isdecimal() }}",
      "True False True False False False True" },
    { "{{ 'hello'.find('l', -3) }} {{ 'hello'.find('') }} {{ 'hello'.rfind('l', 4) }} {{ "
      "'aXaXa'.rindex('X') }}",
      "2 0 -1 3" },
    { "{{ 'abc'.index('z') }}", "ValueError: substring not found" },
    { "{{ 'abc'.rindex('z') }}", "ValueError: substring not found" },
    { "{{ 'a'.split('') }}", "ValueError: empty separator" },
    { "{{ 'a'.partition('') }}", "ValueError: empty separator" },
    { "{{ 'a'.ljust(3, 'xy') }}", "TypeError: The fill character must be exactly one character long" },
    { "{{ 'a'.replace('b', none) }}", "TypeError: must be str, not NoneType" },
    { "{{ 'a'.startswith(1) }}", "TypeError: startswith first arg must be str or a tuple of str, not int" },
    { "{{ ','.join([1]) }}", "TypeError: sequence item 0: expected str instance, int found" },
    { "{{ 'a b  c'.rsplit() }} {{ 'a,b,c'.rsplit(',', 0) }} {{ 'abc'.rsplit(',') }} {{ 'a b'.split(none, 0) }}",
      "['a', 'b', 'c'] ['a,b,c'] ['abc'] ['a b']" },
    { "{{ 'ab'.rjust(4, '\\u00e9') }} {{ '+5'.zfill(4) }} {{ 'abc'.zfill(2) }}", "\303\251\303\251ab +005 abc" },
    { "{{ 'a\\x0bb\\x1cc\\u2028d'.splitlines()|length }} {{ ''.splitlines() }}", "4 []" },
    { "{{ 'abc' 'def' }} {{ 'a\\\nb' }}", "abcdef ab" },
    { "{{ 1_000_000 }} {{ 1e3 }} {{ 2E-2 }} {{ 0o17 }}", "1000000 1000.0 0.02 15" },
    { "{{ 'x'|indent(3, true) }} {{ 'x'|center(5) }}|", "   x   x  |" },
    { "{{ 'a\\tb'|wordcount }} {{ ''|wordcount }} {{ 'one_two three'|wordcount }}", "2 0 2" },
    { "{{ 'abcdef'|truncate(5, true, '', 0) }} {{ 'abc'|truncate }}", "abcde abc" },
    { "{{ 'x' * 0 }}|{{ ''|title }}|{{ 'a-b (c'|title }}", "||A-B (C" },
};

static const struct rendering_row formats[] = {
    { "{{ '%d' % 3.9 }} {{ '%5d|%-5d|%05d' % (-3, -3, -3) }} {{ '% d' % 5 }} {{ '%+.1f' % 2.25 }}",
      "3    -3|-3   |-0003  5 +2.2" },
    { "{{ '%(a)s-%(b)03d' % {'a': 1, 'b': 2} }}", "1-002" },
    { "{{ '%s' % (1, 2) }}", "TypeError: not all arguments converted during string formatting" },
    { "{{ '%s %s' % (1,) }}", "TypeError: not enough arguments for format string" },
    { "{{ '%(a' % {'a': 1} }}", "ValueError: incomplete format key" },
    { "{{ '%(a)s' % 5 }}", "TypeError: format requires a mapping" },
    { "{{ '%(a)s' % {'b': 1} }}", "KeyError: the format names a missing key" },
    { "{{ '5%' % 1 }}", "ValueError: incomplete format" },
    { "{{ '%q' % 1 }}", "ValueError: unsupported format: expected one of %s %d %i %r %x %X %o %f %e %g" },
    { "{{ '%d' % 'a' }}", "TypeError: %d format: a real number is required, not str" },
    { "{{ '%(a)s'|format(a=7) }} {{ '%s-%s'|format(1, 2) }}", "7 1-2" },
    { "{{ '{:*^7}|{:*<4}|{:+d}|{: d}|{:x}|{:X}|{:o}|{:e}|{:g}'.format('a', 'b', 5, 5, 255, 255, 8, 1.5, 0.1) }}",
      "***a***|b***|+5| 5|ff|FF|10|1.500000e+00|0.1" },
    { "{{ '{0.role} {m.role}'.format(messages[0], m=messages[1]) }}", "user assistant" },
    { "{{ '{1}'.format(1) }}", "IndexError: the format names a missing argument" },
    { "{{ '{a}'.format(b=1) }}", "IndexError: the format names a missing argument" },
    { "{{ '}'.format() }}", "ValueError: Single '}' encountered in format string" },
    { "{{ '{'.format() }}", "ValueError: Single '{' encountered in format string" },
    { "{{ '{:q}'.format(1) }}", "ValueError: unsupported format: unknown specification behind the colon of {}" },
    { "{{ '{0[0]}'.format(l) }}", "ValueError: unsupported format: conversions and items in {}" },
};

static const struct rendering_row statements[] = {
    { "{% generation %}a{{ x }}{% endgeneration %}b", "a5b" },
    { "{% for i in l recursive %}{{ loop.cycle('a', 'b') }}{% endfor %}", "aba" },
    { "{% for i in l %}{{ loop.cycle() }}{% endfor %}", "TypeError: no items for cycling given" },
    { "{% for i in l|sort %}{{ loop.changed(i > 1) }} {% endfor %}", "True True False " },
    { "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "ValueError: too many values to unpack (expected 2)" },
    { "{% for a, b in [(1,)] %}{% endfor %}", "ValueError: not enough values to unpack (expected 2, got 1)" },
    { "{% set ns = namespace(a=1) %}{% set ns.b = ns.a + 1 %}{{ ns.b }}", "2" },
    { "{% set q = namespace(__x=1) %}{{ q.__x }}", "1" },
    { "{% set q = namespace(__x=1) %}{{ q['__x'].y }}",
      "SecurityError: access to attribute '__x' of 'Namespace' object is unsafe." },
    { "{% print x %}", "5" },
    { "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}", "1False" },
    { "{% for i in range(3) if i != 1 %}{{ loop.index }}{{ i }} {% endfor %}", "10 22 " },
    { "{% for k in {'a': {'b': 1}} recursive %}{{ k }}{{ loop.depth }}{% endfor %}", "a1" },
    { "{% if x > 100 %}a{% elif x > 4 %}b{% elif x %}c{% else %}d{% endif %}", "b" },
    { "{% macro m() %}{% for i in [1, 2] %}{{ i }}{% if i == 1 %}{% continue %}{% endif %}!{% endfor %}{% endmacro "
      "%}{{ m() }}",
      "12!" },
    { "{% set a = b = 1 %}", "TemplateSyntaxError: line 1: expected the end of the tag, got '='" },
    { "{% set (a, b) = (1, 2) %}{{ b }}{{ a }}", "21" },
    { "{{ (l|length)(1) }}", "TypeError: 'int' object is not callable" },
};

START_TEST(arguments_are_bound_as_in_python)
{
    rendering_assert_row(&calls[_i]);
}
END_TEST

START_TEST(values_behave_as_in_python)
{
    rendering_assert_row(&values[_i]);
}
END_TEST

START_TEST(strings_behave_as_in_python)
{
    rendering_assert_row(&texts[_i]);
}
END_TEST

START_TEST(formats_are_those_of_python)
{
    rendering_assert_row(&formats[_i]);
}
END_TEST

START_TEST(statements_are_those_of_jinja)
{
    rendering_assert_row(&statements[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jinja-edges");
    TCase *tcase = tcase_create("jinja-edges");

    tcase_add_loop_test(tcase, arguments_are_bound_as_in_python, 0, (int)COUNTOF(calls));
    tcase_add_loop_test(tcase, values_behave_as_in_python, 0, (int)COUNTOF(values));
    tcase_add_loop_test(tcase, strings_behave_as_in_python, 0, (int)COUNTOF(texts));
    tcase_add_loop_test(tcase, formats_are_those_of_python, 0, (int)COUNTOF(formats));
    tcase_add_loop_test(tcase, statements_are_those_of_jinja, 0, (int)COUNTOF(statements));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
