#!/usr/bin/python3
"""The manual pages are clean. Left out without mandoc, except in CI."""
import os
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
]


def main():
    if shutil.which("mandoc"):
        return lint.run(RULES, lint.tracked(".1", ".3", ".5", ".8"))
    tap = lint.Tap()
    if os.environ.get("CI"):
        tap.fact("man: mandoc is here", ["mandoc is missing, and CI must have it"])
    else:
        tap.fact("man: the manual pages are clean", [], skip="mandoc is not installed")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
