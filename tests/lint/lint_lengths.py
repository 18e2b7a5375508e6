#!/usr/bin/python3
"""Files, functions and lines have a longest length, and every file says what it is for."""
import statistics
import sys

import lint
import source
from lint import Finding, Sample

FILE_LINES = 600
FUNCTION_LINES = 80
LINE_COLUMNS = 120  # the formatter's limit; it leaves comments and long strings to this rule


def check_files(texts):
    return [Finding(path, FILE_LINES, path, f"{n} lines; a file has {FILE_LINES} at most: split it by what it does")
            for path, text in texts.items() if (n := text.count("\n")) > FILE_LINES]


def check_functions(texts):
    return [Finding(path, f.line, f.name, f"{f.name} has {f.lines} lines; a function has {FUNCTION_LINES} at most")
            for path, text in texts.items() for f in source.functions(lint.code_only(text)) if f.lines > FUNCTION_LINES]


def check_columns(texts):
    return [Finding(path, i, "columns", f"{len(line)} columns; a line has {LINE_COLUMNS} at most")
            for path, text in texts.items() for i, line in enumerate(text.split("\n"), 1) if len(line) > LINE_COLUMNS]


def check_heads(texts):
    """A .c file may leave its head to the header of its name."""
    return [Finding(path, 1, "head", "does not begin with a comment that says what it is for")
            for path, text in texts.items()
            if not text.startswith(("/*", "//")) and not (path.endswith(".c") and path[:-1] + "h" in texts)]


def body(n):
    return "/* x */\nint f(void)\n{\n" + "    x();\n" * n + "}\n"


RULES = [
    ("file-length", f"no file is over {FILE_LINES} lines", check_files, [
        Sample("a.c", "\n" * 601, True),
        Sample("a.c", "\n" * 600, False),
    ]),
    ("function-length", f"no function is over {FUNCTION_LINES} lines", check_functions, [
        Sample("a.c", body(78), True),
        Sample("a.c", body(77), False),
        Sample("a.c", "static const int table[] = {\n" + "    1,\n" * 100 + "};\n", False),
        Sample("a.c", "struct x\n{\n" + "    int a;\n" * 100 + "};\n", False),
    ]),
    ("columns", f"no line is over {LINE_COLUMNS} columns", check_columns, [
        Sample("a.c", "x" * 121, True),
        Sample("a.c", "x" * 120, False),
    ]),
    ("heads", "every file begins with what it is for", check_heads, [
        Sample("a.c", "#include <stdio.h>\n", True),
        Sample("a.c", "/* A sample. */\n", False),
    ]),
]


def print_medians(texts):
    files = [text.count("\n") for path, text in texts.items() if path.endswith(".c")]
    lengths = [f.lines for text in texts.values() for f in source.functions(lint.code_only(text))]
    if files and lengths:
        print(f"# {len(files)} .c files: median {statistics.median(files):.0f}, longest {max(files)} lines; "
              f"{len(lengths)} functions: median {statistics.median(lengths):.0f}, longest {max(lengths)} lines")


if __name__ == "__main__":
    TEXTS = lint.tracked(".c", ".h")
    print_medians(TEXTS)
    sys.exit(lint.run(RULES, TEXTS))
