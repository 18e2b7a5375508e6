"""Shared by these scripts: paths of the built programs and of the helpers of tests/e2e, tables, percentiles."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.setdefault("SOTTO_BUILD", os.path.join(TOP, "build", "plain"))
sys.path[:0] = [HERE, os.path.join(TOP, "tests", "e2e"), os.path.join(BUILD, "tests", "e2e")]


def machine_words():
    """Describes this machine: how many cores it has, and how busy they are."""
    n_cores = len(os.sched_getaffinity(0))
    return f"{n_cores} cores that are shared with others (load average {os.getloadavg()[0]:.1f} at the end of the run)"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def part(values, permille):
    """The value that @permille of @values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * permille // 1000)] if ordered else 0
