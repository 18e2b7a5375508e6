#!/usr/bin/python3
"""The formatter leaves no difference. Its version matters, so without that one the check is left out, except in CI."""
import os
import shutil
import subprocess
import sys
import tempfile

import lint
from lint import Finding, Sample

FORMATTER = "clang-format-14"


def complaints(paths, root):
    """Paths that the formatter would change."""
    run = subprocess.run([FORMATTER, f"-style=file:{lint.ROOT}/.clang-format", "--dry-run", "-Werror", *paths], cwd=root,
                         capture_output=True, text=True, check=False)
    return sorted({tuple(line.split(":")[:2]) for line in run.stderr.splitlines() if "error: code should be" in line})


def check_format(texts):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        found = {}
        for path, line in complaints(list(texts), folder):
            found.setdefault(path, []).append(int(line))
    return [Finding(path, min(lines), path, f"./dev fmt would change {len(lines)} lines")
            for path, lines in found.items()]


RULES = [
    ("format", "the formatter leaves no difference", check_format, [
        Sample("daemon/a.c", "int f( void ){return 1;}\n", True),
        Sample("daemon/a.c", "int f(void)\n{\n    return 1;\n}\n", False),
    ]),
]


def main():
    if shutil.which(FORMATTER):
        return lint.run(RULES, lint.tracked(".c", ".h"))
    tap = lint.Tap()
    if os.environ.get("CI"):
        tap.fact("format: the formatter is here", [f"{FORMATTER} is missing, and CI must have it"])
    else:
        tap.fact("format: the formatter leaves no difference", [], skip=f"{FORMATTER} is not installed")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
