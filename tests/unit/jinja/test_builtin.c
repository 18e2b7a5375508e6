/*
 * The library of Jinja (filters, tests, methods, functions), and refusals in the words of Python.
 */
#include "base/clean.h"
#include "rendering.h"
#include "unit.h"
#include <string.h>

static const struct rendering_row filters[] = {
    { "{{ d.items()|list }} {{ d.keys()|list }} {{ d.values()|list }} {{ d.get('a') }} {{ d.get('zz') }} {{ "
      "d.get('zz', 7) }}",
      "[('b', 2), ('a', 1), ('C', 3)] ['b', 'a', 'C'] [2, 1, 3] 1 None 7" },
    { "{{ s|upper }} {{ s|lower }} {{ s|title }} {{ s|capitalize }} {{ u|upper }} {{ u|title }} {{ "
      "u|capitalize }} {{ u|lower }}",
      "HELLO, W\303\226RLD hello, w\303\266rld Hello, W\303\266rld Hello, w\303\266rld STRASSE \303\211COLE "
      "\307\204 Stra\303\237e \303\211cole \307\204 Stra\303\237e \303\251cole \307\206 stra\303\237e "
      "\303\251cole \307\206" },
    { "{{ s.upper() }} {{ s.lower() }} {{ u.title() }} {{ \"hello wORLD-foo it's\".title() }} {{ "
      "s.capitalize() }} {{ s.swapcase() }} {{ \"a-b c_d(e [f {g <h\".title() }} {{ \"a-b c_d(e [f {g "
      "<h\"|title }}",
      "HELLO, W\303\226RLD hello, w\303\266rld Stra\303\237e \303\211cole \307\205 Hello World-Foo It'S "
      "Hello, w\303\266rld hELLO, w\303\226RLD A-B C_D(E [F {G <H A-B C_d(E [F {G <H" },
    { "[{{ ws|trim }}] [{{ ws.strip() }}] [{{ ws.lstrip() }}] [{{ ws.rstrip() }}] [{{ 'xxaxx'.strip('x') }}] "
      "[{{ 'xyaxy'|trim('xy') }}] [{{ 'abc'.strip('') }}]",
      "[a b  c] [a b  c] [a b  c \n] [ \t a b  c] [a] [a] [abc]" },
    { "{{ 'aXbX'.replace('X','--') }} {{ 'aaa'.replace('a','b',2) }} {{ 'abc'.replace('','-') }} {{ "
      "'abc'.replace('','-',2) }} {{ 'aaa'|replace('a','b') }} {{ 'aaa'|replace('a','b',1) }} {{ "
      "123|replace(2, 'x') }}",
      "a--b-- bba -a-b-c- -a-bc bbb baa 1x3" },
    { "{{ [1,2,3]|join(',') }} {{ l|join }} {{ d|join('-') }} {{ messages|join(',', attribute='role') }} {{ "
      "'abc'|join('.') }}",
      "1,2,3 312 b-a-C user,assistant a.b.c" },
    { "{{ 'x'.zfill(3) }} {{ '-5'.zfill(4) }} {{ 'ab'.ljust(5,'.') }}| {{ 'ab'.rjust(5) }}| {{ "
      "'ab'.center(5,'*') }}| {{ 'abc'.center(6,'*') }} {{ 'abc'|center(9) }}|",
      "00x -005 ab...|    ab| **ab*| *abc**    abc   |" },
    { "{{ '%s %d %5.2f %r %%' % ('a', 5, 3.14159, 'q') }} {{ '%s' % 'x' }} {{ '%05d|%-5s|%5s' % (42, 'a', "
      "'b') }} {{ '%(a)s' % {'a': 1} }} {{ '%s' % [1,2] }} {{ '%x %X %o' % (255,255,8) }} {{ '%+d' % 5 }} {{ "
      "\"%s-%s\"|format('a', 1) }}",
      "a 5  3.14 'q' % x 00042|a    |    b 1 [1, 2] ff FF 10 +5 a-1" },
    { "{{ ('%.60s' % ('a' * 70))|length }} {{ ('{:.60}'.format('a' * 70))|length }} {{ ('%1200s' % "
      "'a')|length }} "
      "{{ '{:<1200}'.format('a')|length }}",
      "60 60 1200 1200" },
    { "{{ l|sort }} {{ l|sort(reverse=true) }} {{ ['b','A','c']|sort }} {{ "
      "['b','A','c']|sort(case_sensitive=true) }} {{ "
      "messages|sort(attribute='role')|map(attribute='role')|list }}",
      "[1, 2, 3] [3, 2, 1] ['A', 'b', 'c'] ['A', 'b', 'c'] ['assistant', 'user']" },
    { "{{ d|dictsort }} {{ d|dictsort(true) }} {{ d|dictsort(by='value') }} {{ d|dictsort(reverse=true) }} "
      "{{ d|dictsort(false, 'value') }}",
      "[('a', 1), ('b', 2), ('C', 3)] [('C', 3), ('a', 1), ('b', 2)] [('a', 1), ('b', 2), ('C', 3)] [('C', "
      "3), ('b', 2), ('a', 1)] [('a', 1), ('b', 2), ('C', 3)]" },
    { "{{ l|first }} {{ l|last }} {{ l|length }} {{ l|count }} {{ l|sum }} {{ l|min }} {{ l|max }} {{ "
      "[]|first }} {{ ''|last }} {{ []|max }} {{ ['b','A']|max }} {{ l|reverse|list }} {{ 'abc'|reverse }} "
      "{{ s|length }}",
      "3 2 3 3 6 1 3    b [2, 1, 3] cba 12" },
    { "{{ [1,1,2,'a','A']|unique|list }} {{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3,4,5]|batch(2,'x')|list }} "
      "{{ [1,2,3,4,5]|slice(2)|list }} {{ [1,2,3,4,5]|slice(3,'x')|list }}",
      "[1, 2, 'a'] [[1, 2], [3, 4], [5]] [[1, 2], [3, 4], [5, 'x']] [[1, 2, 3], [4, 5]] [[1, 2], [3, 4], [5, "
      "'x']]" },
    { "{{ '5'|int }} {{ '5.7'|int }} {{ 'x'|int }} {{ 'x'|int(9) }} {{ 5.9|int }} {{ none|int }} {{ "
      "'0x1f'|int(0,16) }} {{ ' 7 '|int }} {{ '5.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 5|float "
      "}} {{ true|int }} {{ '1e3'|float }} {{ '1_000'|int }}",
      "5 5 0 9 5 0 31 7 5.5 0.0 1.5 5.0 1 1000.0 1000" },
    { "{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.4|round(0,'ceil') }} {{ "
      "2.9|round(0,'floor') }} {{ 5|round }} {{ 1234.5|round(-2) }} {{ 2.675|round(2) }}",
      "2.0 4.0 2.57 3.0 2.0 5 1200.0 2.67" },
    { "{{ -5|abs }} {{ (-5)|abs }} {{ 5.5|abs }} {{ neg|abs }}", "5 5 5.5 7" },
    { "{{ 'a\\nb\\n\\nc'|indent }}| {{ 'a\\nb'|indent(2, true) }}| {{ 'a\\n\\nb'|indent(2, blank=true) }}| "
      "{{ 'a\\nb'|indent('>>') }} {{ 'a\\nb\\n'|indent }}|",
      "a\n    b\n\n    c|   a\n  b| a\n  \n  b| a\n>>b a\n    b\n|" },
    { "{{ 'a<b>\"&\\''|e }} {{ 'a<b'|escape }} {{ 'a'|safe }} {{ 'hello world foo'|truncate(8) }} {{ 'hello "
      "world foo'|truncate(8, true) }} {{ 'hello world foo bar'|truncate(9, false, '!', 0) }} {{ "
      "'hello'|truncate(3) }} {{ 'a b c'|wordcount }} {{ x|string + 'a' }} {{ none|string }} {{ [1]|string "
      "}}",
      "a&lt;b&gt;&#34;&amp;&#39; a&lt;b a hello... hello... hello! hello 3 5a None [1]" },
    { "{{ -x ** 2 }} {{ (-x) ** 2 }} {{ -x|abs }} {{ 2 ** 3 ** 2 }}", "25 25 5 64" },
    { "{{ x | string | length }} {{ (x,)|length }} {{ x.__class__ is defined }}", "1 1 False" },
    { "{{ l|sort|first }} {{ (l|sort)[0] }} {{ l | join(', ') | upper }}", "1 1 3, 1, 2" },
    { "{{ [1,2,3]|sum(start=10) }} {{ messages|map(attribute='role')|list }} {{ "
      "[{'a':{'b':3}}]|map(attribute='a.b')|list }} {{ [{'a':1},{'a':2}]|sum(attribute='a') }}",
      "16 ['user', 'assistant'] [3] 3" },
    { "{{ 5|string|upper }} {{ 5.0|string }} {{ true|string|lower }} {{ none|upper }} {{ 3|trim }} {{ "
      "l|upper }}",
      "5 5.0 true NONE 3 [3, 1, 2]" },
    { "{{ {'a':1}|length }} {{ {'a':1, 'a':2} }} {{ {1:'a'}[1] }} {{ {1:'a'}[1.0] }} {{ {(1,2):3}[(1,2)] }}",
      "1 {'a': 2} a a 3" },
    { "{{ [3,2,1]|sort(attribute='x')|list }}", "[3, 2, 1]" },
    { "{{ ['x','y']|map('length')|sum }} {{ 'abc'|map('upper')|join }} {{ [1,[2,3]]|string }}", "2 ABC [1, [2, 3]]" },
    { "{{ 'a'.join(['x','y']) ~ 1 }} {{ ('a','b')|join }} {{ 'a' ~ ('b','c') }}", "xay1 ab a('b', 'c')" },
    { "{{ \"abc\"|first }} {{ \"abc\"|last }} {{ d|first }} {{ [[1,2],[3]]|map('first')|list }}", "a c b [1, 3]" },
};

static const struct rendering_row tests[] = {
    { "{{ messages[0].role }} {{ messages[0]['role'] }} {{ messages[1].tool_calls[0].function.arguments.b[0] "
      "}} {{ messages[-1]['content'] is none }} {{ messages.0.role }} {{ messages[0][\"content\"][:1] }}",
      "user user 1.5 True user H" },
};

static const struct rendering_row methods[] = {
    { "{{ d.items() }} {{ d.keys() }} {{ d.values() }}",
      "dict_items([('b', 2), ('a', 1), ('C', 3)]) dict_keys(['b', 'a', 'C']) dict_values([2, 1, 3])" },
    { "{{ ws.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a  b c '.split(None, 1) "
      "}} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(None, 1) }} {{ ''.split() }} {{ ''.split(',') }} "
      "{{ 'abc'.split('abc') }}",
      "['a', 'b', 'c'] ['a', 'b', '', 'c'] ['a', 'b,c'] ['a', 'b c '] ['a,b', 'c'] [' a b', 'c'] [] [''] "
      "['', '']" },
    { "{{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'abc'.partition('-') }} {{ "
      "'abc'.rpartition('-') }}",
      "('a', '-', 'b-c') ('a-b', '-', 'c') ('abc', '', '') ('', '', 'abc')" },
    { "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x','bc')) }} {{ 'abc'.startswith('') }}", "True True True" },
    { "{{ 'h\303\251llo'.find('l') }} {{ 'hello'.rfind('l') }} {{ 'hello'.find('z') }} {{ 'hello'.index('e') "
      "}} {{ 'hello'.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }} {{ 'hello'.find('l', 3) }}",
      "2 3 -1 1 2 2 4 3" },
    { "{{ ','.join(['a','b']) }} {{ ','.join('abc') }} {{ ','.join(d) }}", "a,b a,b,c b,a,C" },
    { "{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.removesuffix('x') }}", "bc ab abc" },
    { "{{ 'abc'.isalpha() }} {{ 'a1'.isalnum() }} {{ '12'.isdigit() }} {{ ' '.isspace() }} {{ "
      "'AB1'.isupper() }} {{ 'ab'.islower() }} {{ ''.isalpha() }} {{ '\303\251'.isalpha() }}",
      "True True True True True True False True" },
    { "{{ 'x={} y={}'.format(1, 'b') }} {{ '{1}{0}'.format(1,2) }} {{ '{a}'.format(a=5) }} {{ "
      "'{{}}'.format() }} {{ '{:>5}|{:<5}|{:^5}|{:05d}|{:.2f}'.format('a','b','c',42,3.14159) }} {{ "
      "'{:5}|{:5}'.format('a', 1) }}",
      "x=1 y=b 21 5 {}     a|b    |  c  |00042|3.14 a    |    1" },
    { "{{ [1,2,3].index(2) }} {{ [1,2,2].count(2) }} {{ (1,2).count(1) }}", "1 2 1" },
    { "{{ 'ab' 'cd'.upper() }} {{ 'A' < 'a' }} {{ '\303\251' > 'z' }}", "ABCD True True" },
};

static const struct rendering_row json[] = {
    { "{{ d|tojson }} {{ messages|tojson }} {{ s|tojson }} {{ u|tojson(ensure_ascii=true) }} {{ "
      "d|tojson(indent=2) }} {{ d|tojson(separators=(',',':')) }} {{ d|tojson(sort_keys=true) }} {{ "
      "[]|tojson(indent=2) }} {{ {}|tojson(indent=2) }} {{ [1.0,1e20,none,true]|tojson }} {{ "
      "\"a\\\"\\\\\\n\\t\\x00\\x1f\\x7f/<>&\303\251\\u2028\" | tojson }} {{ d|tojson(indent=0) }} {{ "
      "{1:2,none:3,true:4,1.5:5}|tojson }} {{ [[],[1,[2]],{'a':{}}]|tojson(indent='--') }}",
      "{\"b\": 2, \"a\": 1, \"C\": 3} [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", "
      "\"content\": null, \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": "
      "[1.5, null, true]}}}]}] \"Hello, W\303\266rld\" \"stra\\u00dfe \\u00c9COLE \\u01c6\" {\n  \"b\": 2,\n "
      " \"a\": 1,\n  \"C\": 3\n} {\"b\":2,\"a\":1,\"C\":3} {\"C\": 3, \"a\": 1, \"b\": 2} [] {} [1.0, 1e+20, "
      "null, true] \"a\\\"\\\\\\n\\t\\u0000\\u001f\177/<>&\303\251\342\200\250\" {\n\"b\": 2,\n\"a\": "
      "1,\n\"C\": 3\n} {\"1\": 4, \"null\": 3, \"1.5\": 5} "
      "[\n--[],\n--[\n----1,\n----[\n------2\n----]\n--],\n--{\n----\"a\": {}\n--}\n]" },
    { "{{ (1,2)|tojson }}", "[1, 2]" },
};

static const struct rendering_row refusals[] = {
    { "{{ undefd.foo }}", "UndefinedError: 'undefd' is undefined" },
    { "{{ '%.3d' % 5 }}", "ValueError: unsupported format: expected a precision with %f %e %g %s only" },
    { "{{ '%.1r' % 'ab' }}", "ValueError: unsupported format: expected a precision with %f %e %g %s only" },
    { "{{ '{:.2}'.format(1.239) }}", "ValueError: unsupported format: expected a precision with %f %e %g %s only" },
    { "{{ '%.51f' % 1.5 }}", "ValueError: precision 51 of a number is above 50" },
    { "{{ '%.4294967298f' % 1.5 }}", "ValueError: precision 1073741824 of a number is above 50" },
    { "{{ undefd['foo'] }}", "UndefinedError: 'undefd' is undefined" },
    { "{{ undefd + 1 }}", "UndefinedError: 'undefd' is undefined" },
    { "{{ 'a' + undefd }}", "UndefinedError: 'undefd' is undefined" },
    { "{{ d.foo.bar }}", "UndefinedError: 'dict object' has no attribute 'foo'" },
    { "{{ l[10].x }}", "UndefinedError: list object has no element 10" },
    { "{{ n.foo.bar }}", "UndefinedError: 'None' has no attribute 'foo'" },
    { "{{ n['foo'].bar }}", "UndefinedError: 'None' has no attribute 'foo'" },
    { "{{ x.foo.bar }}", "UndefinedError: 'int object' has no attribute 'foo'" },
    { "{{ s.foo.bar }}", "UndefinedError: 'str object' has no attribute 'foo'" },
    { "{{ l[::0] }}", "ValueError: slice step cannot be zero" },
    { "{% set a, b = [1,2,3] %}", "ValueError: too many values to unpack (expected 2)" },
    { "{% set a, b = [1] %}", "ValueError: not enough values to unpack (expected 2, got 1)" },
    { "{{ 'a' in n }}", "TypeError: argument of type 'NoneType' is not iterable" },
    { "{{ 1 in 'abc' }}", "TypeError: 'in <string>' requires string as left operand, not int" },
    { "{{ 'a' < 1 }}", "TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "{{ n < 1 }}", "TypeError: '<' not supported between instances of 'NoneType' and 'int'" },
    { "{{ n + 'a' }}", "TypeError: unsupported operand type(s) for +: 'NoneType' and 'str'" },
    { "{{ 'a' + n }}", "TypeError: can only concatenate str (not \"NoneType\") to str" },
    { "{{ 'a' + 1 }}", "TypeError: can only concatenate str (not \"int\") to str" },
    { "{{ 1 + 'a' }}", "TypeError: unsupported operand type(s) for +: 'int' and 'str'" },
    { "{{ [1] + 'a' }}", "TypeError: can only concatenate list (not \"str\") to list" },
    { "{{ 1 / 0 }}", "ZeroDivisionError: division by zero" },
    { "{{ 1 // 0 }}", "ZeroDivisionError: integer division or modulo by zero" },
    { "{{ 1 % 0 }}", "ZeroDivisionError: integer modulo by zero" },
    { "{{ d + d }}", "TypeError: unsupported operand type(s) for +: 'dict' and 'dict'" },
    { "{{ l - 1 }}", "TypeError: unsupported operand type(s) for -: 'list' and 'int'" },
    { "{{ 'a' * 'b' }}", "TypeError: can't multiply sequence by non-int of type 'str'" },
    { "{{ -s }}", "TypeError: bad operand type for unary -: 'str'" },
    { "{{ x() }}", "TypeError: 'int' object is not callable" },
    { "{{ undefd() }}", "UndefinedError: 'undefd' is undefined" },
    { "{{ d.foo() }}", "UndefinedError: 'dict object' has no attribute 'foo'" },
    { "{{ l.append(4) }}", "SecurityError: access to attribute 'append' of 'list' object is unsafe." },
    { "{{ d.update({}) }}", "SecurityError: access to attribute 'update' of 'dict' object is unsafe." },
    { "{{ d.pop('a') }}", "SecurityError: access to attribute 'pop' of 'dict' object is unsafe." },
    { "{{ ''.__class__.__mro__ }}", "SecurityError: access to attribute '__class__' of 'str' object is unsafe." },
    { "{{ 'a'.split('') }}", "ValueError: empty separator" },
    { "{{ 'abc'.startswith(1) }}", "TypeError: startswith first arg must be str or a tuple of str, not int" },
    { "{{ 'hello'.index('z') }}", "ValueError: substring not found" },
    { "{{ ','.join([1]) }}", "TypeError: sequence item 0: expected str instance, int found" },
    { "{{ '%s %s' % 'a' }}", "TypeError: not enough arguments for format string" },
    { "{{ '%s' % ('a','b') }}", "TypeError: not all arguments converted during string formatting" },
    { "{{ '%d' % 'a' }}", "TypeError: %d format: a real number is required, not str" },
    { "{{ [1,'a']|sort }}", "TypeError: '<' not supported between instances of 'str' and 'int'" },
    { "{{ x|length }}", "TypeError: object of type 'int' has no len()" },
    { "{{ n|length }}", "TypeError: object of type 'NoneType' has no len()" },
    { "{{ n|list }}", "TypeError: 'NoneType' object is not iterable" },
    { "{{ l|map('nofilter')|list }}", "TemplateRuntimeError: No filter named 'nofilter'." },
    { "{{ l|nofilter }}", "TemplateAssertionError: No filter named 'nofilter'." },
    { "{{ x is notest }}", "TemplateAssertionError: No test named 'notest'." },
    { "{{ undefd|tojson }}", "TypeError: Object of type Undefined is not JSON serializable" },
    { "{{ d.items()|tojson }}", "TypeError: Object of type dict_items is not JSON serializable" },
    { "{{ range(100001)|list }}",
      "OverflowError: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)." },
    { "{{ range(10**12) }}",
      "OverflowError: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)." },
    { "{{ raise_exception('boom ' + s) }}", "TemplateError: boom Hello, W\303\266rld" },
    { "{% for a, b in [1] %}{% endfor %}", "TypeError: cannot unpack non-iterable int object" },
    { "{% for i in x %}{% endfor %}", "TypeError: 'int' object is not iterable" },
    { "{% set ns.x = 1 %}", "TemplateRuntimeError: cannot assign attribute on non-namespace object" },
    { "{% set d.x = 1 %}", "TemplateRuntimeError: cannot assign attribute on non-namespace object" },
    { "{{ x.y.z() }}", "UndefinedError: 'int object' has no attribute 'y'" },
    { "{{ s.nomethod() }}", "UndefinedError: 'str object' has no attribute 'nomethod'" },
    { "{{ 1 ~ 2 + 3 }} {{ 1 + 2 ~ 3 }}", "TypeError: can only concatenate str (not \"int\") to str" },
    { "{{ {[1]:2} }}", "TypeError: unhashable type: 'list'" },
};

static const struct rendering_row unknown_names_and_overflows[] = {
    { "{{ l|nofilter }}", "TemplateAssertionError: No filter named 'nofilter'." },
    { "{{ x is notest }}", "TemplateAssertionError: No test named 'notest'." },
    { "{% if e %}{{ l|nofilter }}{% endif %}fine", "fine" },
    { "{{ 9223372036854775807 + 1 }}", "OverflowError: an integer does not fit into 64 bits" },
    { "{{ 3 ** 50 }}", "OverflowError: an integer does not fit into 64 bits" },
    { "{{ -9223372036854775807 - 2 }}", "OverflowError: an integer does not fit into 64 bits" },
    { "{{ big * big }}", "OverflowError: an integer does not fit into 64 bits" },
};

START_TEST(filters_are_those_of_jinja)
{
    rendering_assert_row(&filters[_i]);
}
END_TEST

START_TEST(tests_are_those_of_jinja)
{
    rendering_assert_row(&tests[_i]);
}
END_TEST

START_TEST(methods_are_those_of_python)
{
    rendering_assert_row(&methods[_i]);
}
END_TEST

START_TEST(json_is_written_as_python_does)
{
    rendering_assert_row(&json[_i]);
}
END_TEST

START_TEST(refusals_have_the_words_of_python)
{
    rendering_assert_row(&refusals[_i]);
}
END_TEST

START_TEST(syntax_errors_are_refused_with_their_line)
{
    static const struct {
        const char *source;
        const char *word;
    } rows[] = {
        { "a\n{% if x %}", "line 2: expected endif" },
        { "{% for x in l %}", "expected endfor" },
        { "{% foo %}", "unknown tag 'foo'" },
        { "{% endif %}", "unknown tag 'endif'" },
        { "{{ 'abc", "is not terminated" },
        { "{{ x", "{{ is not closed by }}" },
        { "\n\n{% if", "line 3: {% is not closed by %}" },
        { "{# x", "comment" },
        { "{% raw %}", "raw" },
        { "{{ (1 }}", "bracket" },
        { "{{ 1) }}", "bracket" },
        { "{{ }}", "expected an expression" },
        { "{{ 1 2 }}", "expected the end of the print tag" },
        { "{% if %}{% endif %}", "expected an expression" },
        { "{% break %}", "expected a loop" },
        { "{% set 1 = 2 %}", "expected a name" },
        { "{% set true = 2 %}", "expected a name" },
        { "{% for in l %}{% endfor %}", "expected a name" },
        { "{% macro m(a=1, b) %}{% endmacro %}", "expected a default" },
        { "{% call x %}{% endcall %}", "expected a call" },
        { "{% include 'x' %}", "unknown tag 'include'" },
        { "{% import 'x' as y %}", "unknown tag 'import'" },
        { "{{ 99999999999999999999 }}", "64 bits" },
        { "{{ 0x }}", "64 bits" },
        { "{{ $ }}", "is not allowed in a tag" },
        { "{{ a. }}", "expected a name" },
        { "{{ {1} }}", "expected :" },
        { "{{ '\xff' }}", "not valid UTF-8" },
    };

    for (size_t i = 0; i < COUNTOF(rows); i++) {
        rendering_assert_refused(rows[i].source, strlen(rows[i].source), rows[i].word);
    }
}
END_TEST

START_TEST(unknown_names_and_overflows_are_refused_where_they_occur)
{
    rendering_assert_row(&unknown_names_and_overflows[_i]);
}
END_TEST

START_TEST(invalid_json_is_refused)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{a:1}",
        "{\"a\":tru}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\\ud800\\u0041\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"",
        "{\"a\":\"\\",
        "{\"a\":1} x",
        "{\"a\":[1,]}",
        "{\"a\":[1",
        "{\"a\":\"\xff\"}",
        "{\"a\":18446744073709551616}",
        "{\"a\":NaN}",
    };
    const struct jinja_limits limits = JINJA_LIMITS;

    for (size_t i = 0; i < COUNTOF(texts); i++) {
        cleanup(buf_finish) struct buf out;
        struct diag diag = DIAG_INIT;

        buf_init(&out, MEM_MISC, 1 << 20);
        ck_assert_msg(rendering_of("x", 1, texts[i], &limits, &out, &diag) == JINJA_FAILED, "taken: %s", texts[i]);
        ck_assert_msg(strncmp(diag.text, "JSON: ", 6) == 0, "%s", diag.text);
    }
}
END_TEST

START_TEST(json_is_read_exactly)
{
    const char *object = "{\"a\": \"\\u00e9\\ud83d\\ude00\\n\\\"\\/\", \"b\": [-0, 1e2, 1.50, -12, 1E-2], \"a "
                         "b\": {}, \"b\": 7, "
                         "\"c\": {\"x\": 1, \"y\": 2, \"x\": 3}}";
    const char *source = "{{ a }}|{{ b }}|{{ c }}";
    const char *wanted = "\303\251\360\237\230\200\n\"/|7|{'x': 3, 'y': 2}";
    const struct jinja_limits limits = JINJA_LIMITS;
    cleanup(buf_finish) struct buf out;
    struct diag diag = DIAG_INIT;

    buf_init(&out, MEM_MISC, 1 << 20);
    ck_assert_msg(rendering_of(source, strlen(source), object, &limits, &out, &diag) == JINJA_OK, "%s", diag.text);
    ck_assert_uint_eq(out.n, strlen(wanted));
    ck_assert_mem_eq(buf_data(&out), wanted, out.n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jinja-builtin");
    TCase *tcase = tcase_create("jinja-builtin");

    tcase_add_loop_test(tcase, filters_are_those_of_jinja, 0, (int)COUNTOF(filters));
    tcase_add_loop_test(tcase, tests_are_those_of_jinja, 0, (int)COUNTOF(tests));
    tcase_add_loop_test(tcase, methods_are_those_of_python, 0, (int)COUNTOF(methods));
    tcase_add_loop_test(tcase, json_is_written_as_python_does, 0, (int)COUNTOF(json));
    tcase_add_loop_test(tcase, refusals_have_the_words_of_python, 0, (int)COUNTOF(refusals));
    tcase_add_test(tcase, syntax_errors_are_refused_with_their_line);
    tcase_add_loop_test(tcase, unknown_names_and_overflows_are_refused_where_they_occur, 0,
                        (int)COUNTOF(unknown_names_and_overflows));
    tcase_add_test(tcase, invalid_json_is_refused);
    tcase_add_test(tcase, json_is_read_exactly);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
