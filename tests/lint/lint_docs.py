#!/usr/bin/python3
"""The documents name files, folders and functions that exist, and every module has a row.

A name stands between backquotes, outside blocks of code. A path is looked for at the top of the repository, below the
roots of the modules, and beside the page; the name of a file alone may lie in any folder. NAME, MODULE, SET and X stand
for any word: `arch_X.c`, `NAME_scan()`.
"""
import fnmatch
import os
import re
import sys

import lint
from lint import Finding, Tree

ROOTS = ("", "daemon/", "driver-shim/", "clients/", "tests/", "tests/unit/")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
FILE = re.compile(r"(?!build/)[\w*-][\w./*-]*\.(?:c|h|py|md|txt|proto|svg|board)")
FOLDER = re.compile(r"(?!build\b)[a-z][\w-]*/|(?:daemon|driver-shim|proto|clients|systemd|tests|docs)(?:/[\w*-]+)+/?")
CALL = re.compile(r"(\w+)\(\)")
STANDS_FOR_ANY = re.compile(r"(?<![A-Za-z0-9])(?:NAME|MODULE|SET|X)(?![A-Za-z0-9])")
MODULES = "tests/lint/layers.txt"
MODULE_PAGES = ("docs/architecture.md", "driver-shim/README.md")


class Names:
    """What may be named: files, the folders that they lie in, and the functions of the sources."""

    def __init__(self, texts):
        self.files = set(texts)
        self.folders = {path[:i] for path in texts for i, letter in enumerate(path) if letter == "/"}
        self.bases = {os.path.basename(path) for path in texts}
        self.functions = {name for path, text in texts.items() if path.endswith((".c", ".h"))
                          for name in re.findall(r"\b(\w+)\(", text)}

    def has_path(self, name, page):
        name = STANDS_FOR_ANY.sub("*", name)
        beside = os.path.normpath(os.path.join(os.path.dirname(page), name))
        known = self.files | self.folders
        if any(fnmatch.filter(known, place.rstrip("/")) for place in [root + name for root in ROOTS] + [beside]):
            return True
        return "/" not in name and bool(fnmatch.filter(self.bases, name))

    def has_function(self, name):
        return bool(fnmatch.filter(self.functions, STANDS_FOR_ANY.sub("*", name)))


def check_names(texts):
    names = Names(texts)
    findings = []
    for page, text in texts.items():
        if not page.endswith(".md"):
            continue
        text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), text)
        for match in [*QUOTED.finditer(text), *LINK.finditer(text)]:
            name, line = match[1], text.count("\n", 0, match.start()) + 1
            call = CALL.fullmatch(name)
            if call and not names.has_function(call[1]):
                findings.append(Finding(page, line, name, f"no source has the function {name}"))
            is_path = match[0][0] == "]" or FILE.fullmatch(name) or FOLDER.fullmatch(name)
            if not call and is_path and not names.has_path(name, page):
                findings.append(Finding(page, line, name, f"there is no file or folder {name}"))
    return findings


def check_modules(texts):
    quoted = {name.rstrip("/") for page in MODULE_PAGES for name in QUOTED.findall(texts.get(page, ""))}
    findings = []
    for number, line in enumerate(texts.get(MODULES, "").splitlines(), 1):
        module = line.split("|")[0].strip()
        if module and not module.startswith("#") and not quoted & {module, os.path.basename(module)}:
            findings.append(Finding(MODULES, number, module, f"{' and '.join(MODULE_PAGES)} say nothing of {module}"))
    return findings


def sample(page_text, found):
    return Tree({"docs/a.md": page_text, "docs/b.md": "", "daemon/kern/kern.c": "int kern_dot(int a)\n{\n}\n",
                 "daemon/model/arch_llama.c": "", "tests/lint/lint.py": ""}, found)


RULES = [
    ("docs", "the documents name files and functions that exist", check_names, [
        sample("See `daemon/kern`, `kern/kern.c`, `kern.c`, `tests/lint`, `kern/` and [b](b.md#part).\n", False),
        sample("A family is `model/arch_X.c`; `kern_dot()`, `kern_X()` compute; `daemon/MODULE/NAME.c`.\n", False),
        sample("`sotto plan FILE`, `build/live/a.md`, `/etc/a.txt`, `a/b` are no files of ours.\n", False),
        sample("```\n`kern/gone.c`\n```\n", False),
        sample("See `kern/gone.c`.\n", True),
        sample("See `model/kern.c`.\n", True),
        sample("See `gone.h`.\n", True),
        sample("See `daemon/gone`.\n", True),
        sample("See `gone/`.\n", True),
        sample("See [b](c.md) and [c](README.md).\n", True),
        sample("`kern_gone()` computes.\n", True),
        sample("A family is `model/family_X.c`.\n", True),
    ]),
    ("docs-modules", "the documents have a row for every module", check_modules, [
        Tree({MODULES: "# head\ndaemon/kern | a |\nproto | |\ndriver-shim/drm | |\n",
              MODULE_PAGES[0]: "| `daemon/gguf`, `kern` |\n| `proto` |\n", MODULE_PAGES[1]: "| `drm/` |\n"}, False),
        Tree({MODULES: "daemon/kern | |\ndaemon/loop | |\n", MODULE_PAGES[0]: "| `daemon/kern` | a loop |\n"}, True),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".md", ".c", ".h", ".py", ".txt", ".proto", ".svg", ".ini", ".board", ".build",
                                          ".in", ".socket", ".service", "LICENSE", "dev")))
