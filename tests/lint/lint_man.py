#!/usr/bin/python3
"""The manual pages are clean, and read as they were meant. Left out without mandoc and groff, except in CI."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import lint
from lint import Finding, Sample


def check_pages(texts):
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            place = os.path.join(folder, os.path.basename(path))
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
            run = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", place], capture_output=True, text=True,
                                 check=False)
            # "referenced manual not found" is about this machine, not about the page.
            findings += [Finding(path, 1, "mandoc", line.replace(folder + "/", "")) for line in run.stdout.splitlines()
                         if "referenced manual not found" not in line]
    return findings


RENDERERS = {"mandoc": ["mandoc", "-T", "utf8", "-O", "width=500"], "groff": ["groff", "-mdoc", "-Tutf8", "-rLL=500n", "-P-c"]}
# What a page shows where a word was taken for a macro: "<an> event loop" for ".Ss In an event loop", and quotes in quotes
# for ".Dq end , Dq stop" or ".Ql background , interactive".
MARK = re.compile(r"<[a-z]+>|[”’]{2,}|“[^”\n]*“|‘[^’\n]*‘|‘\w+, \w+[^’]*’")


def check_rendered(texts):
    findings = []
    for path, text in texts.items():
        for name, command in RENDERERS.items():
            run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
            page = re.sub(".\b", "", run.stdout)
            findings += [Finding(path, 1, name, f"{name} shows {match[0]!r}") for match in MARK.finditer(page)]
    return findings


GOOD = """.Dd November 29, 2026
.Dt SAMPLE 1
.Os
.Sh NAME
.Nm sample
.Nd a page
.Sh DESCRIPTION
Text.
"""
RULES = [
    ("man", "the manual pages are clean", check_pages, [
        Sample("sample.1", GOOD, False),
        Sample("sample.1", GOOD.replace(".Nd a page\n", ""), True),
        Sample("sample.1", GOOD + ".Bl -tag\n.It x\n", True),
    ]),
    ("man-rendered", "the manual pages show what was meant", check_rendered, [
        Sample("sample.1", GOOD + ".Dq one ,\n.Ql two\nand\n.In sotto.h\n", False),
        Sample("sample.1", GOOD + ".Ss In an event loop\n", True),
        Sample("sample.1", GOOD + ".Pq Dq end , Dq stop\n", True),
        Sample("sample.1", GOOD + ".Ql background , interactive\n", True),
    ]),
]


def main():
    if all(shutil.which(name) for name in RENDERERS):
        return lint.run(RULES, lint.tracked(".1", ".3", ".5", ".8"))
    tap = lint.Tap()
    if os.environ.get("CI"):
        tap.fact("man: mandoc and groff are here", ["mandoc or groff is missing, and CI must have both"])
    else:
        tap.fact("man: the manual pages are clean", [], skip="mandoc or groff is not installed")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
