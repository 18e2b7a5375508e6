/*
 * The language of Jinja: each row was rendered by Jinja2 3.1 with the settings of transformers, and gives the same
 * here.
 */
#include "base/clean.h"
#include "rendering.h"
#include "unit.h"

static const struct rendering_row numbers[] = {
    { "{{ 1 + 2 * 3 ** 2 // 4 - 7 % 3 }}", "4" },
    { "{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 // -2 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1/3 }} {{ 2**-1 }} {{ "
      "2**0.5 }}",
      "-4 2 -4 3.0 0.5 0.3333333333333333 0.5 1.4142135623730951" },
    { "{{ 10/2 }} {{ 1e20 }} {{ 1e15 }} {{ 1e16 }} {{ 1.5e-7 }} {{ 0.0001 }} {{ 0.00001 }} {{ 123456789.123 "
      "}} {{ 1e300*1e10 }} {{ -1e300*1e10 }}",
      "5.0 1e+20 1000000000000000.0 1e+16 1.5e-07 0.0001 1e-05 123456789.123 inf -inf" },
    { "{{ 0.1+0.2 }} {{ 100.0 }} {{ 1_000 }} {{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5 }}",
      "0.30000000000000004 100.0 1000 31 5 15 10.5" },
    { "{{ true }} {{ True }} {{ false }} {{ none }} {{ None }} {{ True + 1 }} {{ True == 1 }} {{ 1 == 1.0 }} "
      "{{ '1' == 1 }} {{ none == false }}",
      "True True False None None 2 True True False False" },
    { "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' in 'abc' }} {{ 'z' not in 'abc' }} {{ 1 in [1,2] }} {{ 'a' in "
      "d }} {{ none in [none] }}",
      "True False True True True True True" },
    { "{{ [1,2] < [1,3] }} {{ 'a' < 'b' }} {{ (1,2) == [1,2] }} {{ {'a':1} == {'a':1.0} }} {{ [1,[2]] == "
      "[1,[2]] }}",
      "True True False True True" },
    { "{{ x if x is defined and x else 'no' }} {{ x is defined and x == 5 }} {{ (x is defined) ~ 'a' }} {{ "
      "not x == 5 }}",
      "5 True Truea False" },
    { "{{ x == 5 and 'a' or 'b' }} {{ e or 'dflt' }} {{ none or 0 }} {{ 1 and 2 }}", "a dflt 0 2" },
    { "{{ true and false or true }} {{ not true == false }} {{ 1 not in [2] }} {{ 3 in (1,2,3) }} {{ 1 != 2 "
      "}}",
      "True True True True True" },
    { "{{ 9223372036854775807 }} {{ 1 == true }} {{ 0 == false }} {{ '' == false }}",
      "9223372036854775807 True True False" },
    { "{# {{ #} {% if 1 %}{#{% endif %}#}x{% endif %}", " x" },
};

static const struct rendering_row strings_and_lists[] = {
    { "{{ \"a\" \"b\" 'c' }}", "abc" },
    { "{{ \"a\" ~ 1 ~ none ~ true ~ 1.0 ~ [1,'x'] }}", "a1NoneTrue1.0[1, 'x']" },
    { "{{ [1,2]+[3] }} {{ (1,2)+(3,) }} {{ [1]*3 }} {{ 'ab'*3 }} {{ 3*'ab' }} {{ 'ab'*-1 }}",
      "[1, 2, 3] (1, 2, 3) [1, 1, 1] ababab ababab " },
    { "{{ {'a':1,\"b\":[1,2,{'c':none}]} }}", "{'a': 1, 'b': [1, 2, {'c': None}]}" },
    { "{{ (1,) }} {{ () }} {{ (1,2) }} {{ 1,2 }} {{ [] }} {{ {} }}", "(1,) () (1, 2) (1, 2) [] {}" },
    { "{{ \"it's\" }} {{ [\"it's\", 'say \"x\"', \"a'b\\\"c\", \"n\\nl\\tt\\\\ \\x01 \303\251 \\u200b "
      "\\U0001F600\"] }}",
      "it's [\"it's\", 'say \"x\"', 'a\\'b\"c', 'n\\nl\\tt\\\\ \\x01 \303\251 \\u200b \360\237\230\200']" },
    { "{{ 'a\\nb\\\\c\\'d\\\"e\\x41\\u00e9\\101\\q' }}", "a\nb\\c'd\"eA\303\251A\\q" },
    { "{{ d.foo }}|{{ d.foo is defined }}|{{ d['foo'] is defined }}", "|False|False" },
    { "{{ l.foo }} {{ l[10] }} {{ l[-1] }} {{ l[-4] }}", "  2 " },
    { "{{ n.foo }}", "" },
    { "{{ s[0] }}{{ s[-1] }}{{ s[8] }} {{ s[100] }} {{ s[2:5] }} {{ s[:-3] }} {{ s[::2] }} {{ s[::-1] }} {{ "
      "s[10:2:-2] }} {{ s[100:] }} {{ s[:100] }}",
      "Hd\303\266  llo Hello, W\303\266 Hlo \303\266l dlr\303\266W ,olleH l\303\266 o  Hello, W\303\266rld" },
    { "{{ l[1:] }} {{ l[::-1] }} {{ l[:2] }} {{ l[-2:] }} {{ l[5:] }} {{ (1,2,3)[1:] }} {{ range(5)[1:3] }}",
      "[1, 2] [2, 1, 3] [3, 1] [1, 2] [] (2, 3) range(1, 3)" },
    { "{% if x > 3 and not e or n %}yes{% elif x %}mid{% else %}no{% endif %}", "yes" },
    { "{{ 'yes' if x else 'no' }} {{ 'yes' if e }}| {{ 1 if e else 2 if e else 3 }}", "yes | 3" },
    { "{{ ''.__class__ }}|", "|" },
    { "{{ 'a\\nb\\r\\nc\\rd\\n'.splitlines() }} {{ 'a\\nb'.splitlines(true) }} {{ 'a\\n\\nb'.splitlines() }}",
      "['a', 'b', 'c', 'd'] ['a\\n', 'b'] ['a', '', 'b']" },
    { "{{ dict(a=1,b=2) }} {{ dict({'a':1}, b=2) }} {{ namespace(a=1) }}",
      "{'a': 1, 'b': 2} {'a': 1, 'b': 2} <Namespace {'a': 1}>" },
    { "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%Y-%m-%d %H:%M %A %j %-d') }}",
      "29 Nov 2026 2026-11-29 08:30 Sunday 333 29" },
    { "{{ big }} {{ neg }} {{ y }}", "9223372036854775807 -7 2.5" },
    { "a {#- comment -#} b {# c #}", "ab " },
    { "c", "c" },
    { " line", " line" },
    { "end", "end" },
    { "x", "x" },
    { "y {% if true %} z {% endif %} w", "y  z  w" },
    { "a", "a" },
    { "  b", "  b" },
    { "c", "c" },
    { "  {%+ if true %}x{% endif %}", "  x" },
    { "  {{ i }}", "  " },
    { "x", "x" },
    { "{{ \"{{ x }}\" }} {{ '}}' }} {{ {'a': {'b': 1}}.a.b }} {{ {'a':{'b':{}}} }}", "{{ x }} }} 1 {'a': {'b': {}}}" },
    { "   ~ 'b' }}", "   ~ 'b' }}" },
    { "{{ loop }}", "" },
    { "{{ 'a' if false else 'b' ~ 'c' }} {{ ['a','b'][1] }} {{ 'abc'[1] }} {{ {'a':1}['a'] }} {{ (1,2)[0] }}",
      "bc b b 1 1" },
    { "{{ '\\\\n' }} {{ \"\\\\\" }} {{ '\\/' }} {{ 'tab\\there' }}", "\\n \\ \\/ tab\there" },
    { "{{ 'x' is sameas('x') }} {{ none is sameas none }} {{ 1 is sameas true }}", "True True False" },
    { "{{ x }}", "5" },
    { "{{'a'}}  {%  if true  %}  b{%endif%}", "a    b" },
};

static const struct rendering_row undefined[] = {
    { "{{ undefd }}|{{ undefd is defined }}|{{ undefd is undefined }}|{{ undefd == undefd2 }}|{{ not undefd "
      "}}|{{ undefd|default('x') }}|{{ undefd|length }}|{{ undefd|list }}",
      "|False|True|True|True|x|0|[]" },
    { "{{ undefd ~ 'a' }}", "a" },
    { "{{ x is number }} {{ x is integer }} {{ y is float }} {{ s is string }} {{ d is mapping }} {{ l is "
      "sequence }} {{ s is sequence }} {{ s is iterable }} {{ x is iterable }} {{ n is none }} {{ t is "
      "boolean }} {{ t is true }} {{ t is false }} {{ x is even }} {{ x is odd }} {{ x is divisibleby 5 }} "
      "{{ x is divisibleby(2) }} {{ x is eq 5 }} {{ x is gt 3 }} {{ x is ne 5 }} {{ 'a' is in 'abc' }} {{ x "
      "is sameas x }} {{ 'A' is upper }} {{ 'a' is lower }} {{ range is callable }} {{ d is sequence }} {{ d "
      "is iterable }} {{ undefd is none }} {{ x is not none }} {{ not x is none }} {{ t is integer }} {{ t "
      "is number }} {{ 'upper' is filter }} {{ 'odd' is test }}",
      "True True True True True True True True False True True True False False True True False True True "
      "False True True True True True True True False True True False True True True" },
    { "{{ d|items|list }} {{ d|list }} {{ s|list|length }} {{ undefd|items|list }}",
      "[('b', 2), ('a', 1), ('C', 3)] ['b', 'a', 'C'] 12 []" },
    { "{{ e|default('x') }}|{{ e|default('x', true) }}|{{ none|default('x') }}|{{ undefd|d }}|{{ "
      "d.zz|default(s) }}",
      "|x|None||Hello, W\303\266rld" },
    { "{{ [undefd] }} {{ [undefd, 1]|join(',') }}", "[Undefined] ,1" },
    { "{{ 1 if undefd is defined else 2 }} {{ (undefd|default({})).x }} {{ undefd is string }} {{ undefd in "
      "[1] }} {{ 1 in undefd }}",
      "2  False False False" },
};

static const struct rendering_row loops[] = {
    { "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "b=2;a=1;C=3;" },
    { "{% for k in d %}{{ k }}{% endfor %}", "baC" },
    { "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}",
      "1/2:3 2/2:2 " },
    { "{% for x in [] %}a{% else %}empty{% endfor %}", "empty" },
    { "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last "
      "}}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.cycle('a','b') }}{{ "
      "loop.changed(x) }} {% endfor %}",
      "032TrueFalse110aTrue 121FalseFalse3210bTrue 210FalseTrue110aTrue " },
    { "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif "
      "%}{{ i }}{% endfor %}",
      "0134" },
    { "{% for a in nested recursive %}{% if a is iterable %}[{{ loop(a) }}]{% else %}{{ a }}@{{ loop.depth "
      "}}{% endif %}{% endfor %}",
      "[1@2[2@33@3]][4@2]" },
    { "{% for a, b in [(1,2),(3,4)] %}{{ a+b }} {% endfor %}{% for a, (b, c) in [(1,(2,3))] %}{{ a+b+c }}{% "
      "endfor %}",
      "3 7 6" },
    { "{% for c in 'a\303\261b' %}{{ c }}.{% endfor %}", "a.\303\261.b." },
    { "{% for x in l|sort %}{{ x }}{% if not loop.last %},{% endif %}{% endfor %}", "1,2,3" },
    { "{% for k, v in {'a':1,'b':2}|dictsort %}{{k}}{{v}}{% endfor %} {% for k, v in d|items %}{{k}}{% "
      "endfor %}",
      "a1b2 baC" },
    { "{% for i in range(2) %}{% for j in range(2) %}{% if j %}{% break %}{% endif %}{{ i }}{{ j }} {% "
      "endfor %}{% endfor %}",
      "00 10 " },
};

static const struct rendering_row assignments_and_macros[] = {
    { "{% set z = 1 %}{% for i in [1,2] %}{% set z = z + i %}{{ z }} {% endfor %}{{ z }}", "2 3 1" },
    { "{% set ns = namespace(a=1) %}{% for i in [1,2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }} {{ "
      "ns.b is defined }} {{ ns['a'] }}",
      "4 False 4" },
    { "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "12" },
    { "{% set q %}hello {{ x }}{% endset %}{{ q|upper }}", "HELLO 5" },
    { "{% set q | upper | trim %}  hello {% endset %}[{{ q }}]", "[HELLO]" },
    { "{% macro m(a, b=2, c='x') %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(b=5, "
      "a=0) }} {{ m() }}",
      "1-2-x 1-2-3 0-5-x -2-x" },
    { "{% macro m(a) %}[{{ a }}]{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, z=4) }}", "[1](2, 3){'z': 4}" },
    { "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}body{% endcall %}", "<body>" },
    { "{% macro m(l) %}{% for i in l %}{{ caller(i) }},{% endfor %}{% endmacro %}{% call(i) m([1,2]) %}{{ i "
      "* 2 }}{% endcall %}",
      "2,4," },
    { "{% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n-1) }}{% endif %}{% endmacro %}{{ r(5) }}", "543210" },
    { "{% filter upper %}abc {{ x }}{% endfilter %}", "ABC 5" },
    { "{% with a = 1, b = x %}{{ a + b }}{% endwith %}{{ a }}", "6" },
    { "{% set x = 3 %}{{ x }}{% if true %}{% set x = 4 %}{% endif %}{{ x }}", "34" },
    { "{% macro a() %}{{ g }}{% endmacro %}{% set g = 7 %}{{ a() }}", "7" },
    { "{% for i in [1] %}{% set v = 1 %}{% endfor %}{{ v is defined }}", "False" },
    { "{% set content = 'a</think>b' %}{{ content.split('</think>')[-1].lstrip('\\n') }} {{ "
      "content.split('</think>')[0].rstrip('\\n').split('<think>')[-1] }} {{ '</think>' in content }}",
      "b a True" },
    { "{{ messages[::-1][0].role }} {% for m in messages[::-1] %}{% set i = (messages|length - 1) - "
      "loop.index0 %}{{ i }}{% endfor %}",
      "assistant 10" },
    { "{% set m = messages[0] %}{{ m.role + ': ' + m['content'] }} {{ m.items()|list }} {{ m }}",
      "user: Hi [('role', 'user'), ('content', 'Hi')] {'role': 'user', 'content': 'Hi'}" },
};

static const struct rendering_row blanks[] = {
    { "{% raw %}{{ a }}{% b %}{% endraw %} {%- raw -%} {{ x }} {%- endraw -%} y", "{{ a }}{% b %}{{ x }}y" },
    { "  {{- x -}}  z", "5z" },
    { "a {#- comment -#} b {# c #}\nc", "ab c" },
    { "{% if true %}\n line\n{% endif %}\nend", " line\nend" },
    { "  {% if true %}\nx\n  {% endif %}\ny {% if true %} z {% endif %} w", "x\ny  z  w" },
    { "a\n  {%- if true -%}\n  b\n  {%- endif +%}\nc", "ab\nc" },
    { "  {%+ if true %}x{% endif %}\n y", "  x y" },
    { "{%- for i in l -%}\n  {{ i }}\n{% endfor %}\nx", "3\n1\n2\nx" },
    { "a\n  {{ x }}\n  b\n\t{# c #}\nd\n   {# c #} e", "a\n  5\n  b\nd\n e" },
    { "\n\n{% if true %}\n\n{% endif %}\n\n", "\n\n\n" },
    { "a\n{% if true %}\nb\n{% endif %}", "a\nb\n" },
    { "x \n {%- if true %} y {%- endif %} ", "x y " },
    { "{{ x }}\n\n", "5\n" },
    { "{% set a %}\n  x\n  {% if true %}y{% endif %}\n{% endset %}[{{ a }}]", "[  x\ny]" },
    { "{%- macro m() %}\n  a\n{%- endmacro -%}\n{{ m() }}|", "  a|" },
    { "{#- a -#}\n\n x {#+ b +#}\n y", "x \n y" },
    { "{{ x -}}\n\n z", "5z" },
    { "{% raw -%}\n {{ x }} \n{%- endraw %}\n e", "{{ x }} e" },
    { "  {% raw %} a\n  {% endraw %}\n b", " a\n b" },
    { "{% for i in [1,2] %}\n{{ i }}\n{% endfor %}", "1\n2\n" },
    { "a{% if true %}\nb{% endif %}c\n  d", "abc\n  d" },
    { "\302\240 {%- if true %}x{% endif %}", "x" },
    { "   {{- x }}  {%- if true %}\n  {% endif -%}  \n z", "5z" },
};

START_TEST(numbers_are_those_of_python)
{
    rendering_assert_row(&numbers[_i]);
}
END_TEST

START_TEST(texts_and_lists_are_those_of_python)
{
    rendering_assert_row(&strings_and_lists[_i]);
}
END_TEST

START_TEST(missing_values_are_undefined)
{
    rendering_assert_row(&undefined[_i]);
}
END_TEST

START_TEST(loops_iterate_and_know_their_position)
{
    rendering_assert_row(&loops[_i]);
}
END_TEST

START_TEST(variables_live_in_their_scope)
{
    rendering_assert_row(&assignments_and_macros[_i]);
}
END_TEST

START_TEST(blanks_are_stripped_by_signs_and_settings)
{
    rendering_assert_row(&blanks[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jinja-language");
    TCase *tcase = tcase_create("jinja-language");

    tcase_add_loop_test(tcase, numbers_are_those_of_python, 0, (int)COUNTOF(numbers));
    tcase_add_loop_test(tcase, texts_and_lists_are_those_of_python, 0, (int)COUNTOF(strings_and_lists));
    tcase_add_loop_test(tcase, missing_values_are_undefined, 0, (int)COUNTOF(undefined));
    tcase_add_loop_test(tcase, loops_iterate_and_know_their_position, 0, (int)COUNTOF(loops));
    tcase_add_loop_test(tcase, variables_live_in_their_scope, 0, (int)COUNTOF(assignments_and_macros));
    tcase_add_loop_test(tcase, blanks_are_stripped_by_signs_and_settings, 0, (int)COUNTOF(blanks));
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
