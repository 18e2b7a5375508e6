#!/usr/bin/python3
"""A macro that the build defines is one that code asks for: after a renaming, a test with another macro would test nothing."""
import re
import sys

import lint
from lint import Finding, Tree

# Made from a name, and read by protobuf-c's headers.
ELSEWHERE = ("HAVE_KERN_", "PROTOBUF_C_")


def check_defines(texts):
    words = {word for path, text in texts.items() if path.endswith((".c", ".h"))
             for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", lint.code_only(text))}
    return [Finding(path, text.count("\n", 0, match.start()) + 1, match[1], f"no C file asks for {match[1]}")
            for path, text in texts.items() if path.endswith("meson.build")
            for match in re.finditer(r"-D([A-Z][A-Z0-9_]+)", text)
            if match[1] not in words and not match[1].startswith(ELSEWHERE)]


RULES = [
    ("defines", "each macro of the build is asked for", check_defines, [
        Tree({"meson.build": "c_args: '-DTWO_WAYS=1'\n", "tests/a.c": "#ifdef TWO_WAYS\n#endif\n"}, False),
        Tree({"meson.build": "c_args: '-DTWO_WAYS=1'\n", "tests/a.c": "#ifdef SAMPLE_TWO_WAYS\n#endif\n"}, True),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".c", ".h", "meson.build")))
