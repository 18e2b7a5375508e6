"""What the lints share: the tracked files, C text without comments and strings, exceptions, and TAP.

A lint is a program here that imports this module. It has rules: a rule takes {path: text} and gives findings, each with
the path, the line, what was found, and a short name of it that tests/lint/exceptions.txt can refer to. Each rule comes
with samples that it must find, and some that it must not. They run first, so a rule that finds nothing any more fails.
"""
import fnmatch
import os
import re
import subprocess
import sys
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXCEPTIONS = os.path.join(ROOT, "tests", "lint", "exceptions.txt")
CODE_FOLDERS = ("daemon/", "proto/", "clients/", "driver-shim/")


@dataclass
class Finding:
    path: str
    line: int
    name: str  # what an exception is granted for: a function, a call, a header
    text: str


@dataclass
class Sample:
    path: str
    text: str
    found: bool

    def tree(self):
        return {self.path: self.text}


@dataclass
class Tree:
    """A sample of several small files: {path: text}."""
    files: dict
    found: bool

    def tree(self):
        return self.files


def tracked(*suffixes):
    """{path: text} of the tracked files with these suffixes; without git, of all files outside build/."""
    try:
        listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, check=True,
                                 capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listing = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith(".") and f not in ("build", "__pycache__")]
            listing += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    texts = {}
    for path in sorted(listing):
        if path.endswith(suffixes) and os.path.isfile(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    return texts


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text):
    """@text with comments blank and strings empty; lines stay where they are."""
    def blank(match):
        piece = match[0]
        if piece[0] == "/":
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] * 2
    return TOKEN.sub(blank, text)


def strings(text):
    """(line, content) of each string literal that stands outside comments."""
    for match in TOKEN.finditer(text):
        if match[0][0] == '"':
            yield text.count("\n", 0, match.start()) + 1, match[0][1:-1]


def read_table(path, columns):
    """Rows of a table: columns apart by "|", "#" begins a comment line."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) != columns or (path == EXCEPTIONS and not all(cells)):
                sys.exit(f"{os.path.relpath(path, ROOT)}:{number}: {columns} columns are wanted, all of them filled")
            rows.append(cells)
    return rows


class Tap:
    """Facts to standard output, their reasons as comments."""

    def __init__(self):
        self.n = 0
        self.bad = 0

    def fact(self, name, findings, skip=None):
        self.n += 1
        self.bad += bool(findings)
        for finding in findings:
            print(f"# {finding}")
        print(f"{'not ok' if findings else 'ok'} {self.n} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)

    def end(self):
        print(f"1..{self.n}")
        return 1 if self.bad else 0


def granted(rule, exceptions, used, finding):
    for i, (of_rule, glob, name, _) in enumerate(exceptions):
        if of_rule == rule and fnmatch.fnmatch(finding.path, glob) and fnmatch.fnmatch(finding.name, name):
            used.add(i)
            return True
    return False


def self_test(tap, rule, check, samples):
    wrong = []
    for sample in samples:
        if bool(check(sample.tree())) != sample.found:
            wrong.append(f"{'overlooks' if sample.found else 'refuses'} the sample {sample.tree()}")
    if not any(sample.found for sample in samples):
        wrong.append("has no sample that it must find")
    tap.fact(f"{rule}: the rule sees its samples", wrong)


def run(rules, texts):
    """@rules: (name, fact, check, samples). Prints TAP and gives the exit code."""
    tap = Tap()
    exceptions = read_table(EXCEPTIONS, 4)
    for name, fact, check, samples in rules:
        self_test(tap, name, check, samples)
        used = set()
        left = [f for f in check(texts) if not granted(name, exceptions, used, f)]
        tap.fact(f"{name}: {fact}", [f"{f.path}:{f.line}: {f.text} [{f.name}]" for f in left])
        idle = [f"tests/lint/exceptions.txt: \"{' | '.join(row[:3])}\" is no longer needed"
                for i, row in enumerate(exceptions) if row[0] == name and i not in used]
        if any(row[0] == name for row in exceptions):
            tap.fact(f"{name}: every exception is needed", idle)
    return tap.end()
