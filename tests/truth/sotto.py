"""Shared by the comparisons: sotto's programs, distances, and the tables for docs/truth.md."""
import json
import os
import subprocess

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(os.environ.get("SOTTO_BUILD", os.path.join(ROOT, "build", "plain")), "daemon", "tool", "sotto-tool")


class Refused(Exception):
    """sotto refused; the text is its message."""


def tool(*words):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise Refused(done.stderr.strip())
    return done.stdout


def convert(folder, path, kind=None):
    return json.loads(tool("convert", "--force", "--json", *(["--type", kind] if kind else []), folder, path))


def logits(path, ids, backend="truth", kv_format="f32"):
    """The logits behind the last of `ids`, as float64."""
    out = tool("logits", "--json", "--file", path, "--backend", backend, "--kv-format", kv_format,
               "--tokens", ",".join(map(str, ids)))
    return numpy.array(json.loads(out)["logits"])


def relative(got, want):
    """The largest difference, relative to the largest logit."""
    return float(numpy.abs(numpy.asarray(got) - want).max() / numpy.abs(want).max())


class Table:
    """Rows of a Markdown table, and whether each keeps its bound."""

    def __init__(self, title, *heads):
        self.title = title
        self.lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
        self.n_failed = 0

    def row(self, good, *cells):
        self.n_failed += not good
        cells = [f"{cell:.1e}" if isinstance(cell, float) else str(cell) for cell in cells]
        self.lines.append("| " + " | ".join(cells) + (" |" if good else " | **beyond the bound** |"))
        print(("ok      " if good else "FAILED  ") + "  ".join(cells), flush=True)

    def text(self):
        return f"### {self.title}\n\n" + "\n".join(self.lines) + "\n"


def keep(section, tables, about):
    """Puts the tables between the marks of `section` in docs/truth.md."""
    path = os.path.join(ROOT, "docs", "truth.md")
    begin, end = f"<!-- {section} -->\n", f"<!-- end of {section} -->\n"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if begin not in text:
        text = text.rstrip("\n") + f"\n\n{begin}{end}"
    head, rest = text.split(begin, 1)
    tail = rest.split(end, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + about + "\n" + "\n".join(table.text() for table in tables) + end + tail)
