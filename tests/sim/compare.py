"""Plays the same worlds on two builds of sotto-sim, and prints what clients saw of each, side by side.

    python3 tests/sim/compare.py OLD NEW [--families A,B] [--from SEED] [--count N] [--jobs N]

OLD makes the worlds and writes them as text, so NEW plays them without what OLD does not know yet. All figures are
taken from the traces, by the same rules for both, so builds with different judges can be compared: times of first
tokens (median and 99th percentile of those that came), deadlines asked for, promised and met, tokens, and missed frames
that the screen alone would not have missed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FAMILIES = ("steady,step,hint,heat,disturbed,hot,blind,overload,models,fair,deadline,idle,starve,fault,chaos,share,"
            "clocks,bursts,twins")

# In these worlds a chip is unknown if the text says so; in all others the governor has the gains of an earlier run.
HEATS = {"heat", "disturbed", "hot", "bursts"}

ASKED = re.compile(r"request (\d+): uid \d+, class (\d), .* first by (\d+), done by (\d+)$")
TOKEN = re.compile(r"request (\d+): token (\d+)$")
ENDED = re.compile(r"request (\d+): (done|cancelled|expired|never)")
HEAD = re.compile(r"(\d+) missed \((\d+) without us\); (\d+) requests, (\d+) refused; \d+ rows, (\d+) tokens")

CLASSES = ("background", "interactive", "realtime")


class Figures:
    """What clients saw in some worlds."""

    def __init__(self):
        self.first_ms = {name: [] for name in CLASSES}
        self.tokens = self.refused = self.asked = self.missed = self.due = self.met = self.broken = 0

    def add(self, other):
        for name in CLASSES:
            self.first_ms[name] += other.first_ms[name]
        for name in ("tokens", "refused", "asked", "missed", "due", "met", "broken"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def read(lines):
    """Returns the figures of one world's trace."""
    figures = Figures()
    live = {}
    for line in lines:
        place, _, text = line.strip().partition(" ")
        if match := TOKEN.match(text):
            request = live.get(match[1])
            if request and match[2] == "1":
                at_ms = float(place)
                figures.first_ms[request["class"]].append(at_ms - request["at_ms"])
                request["late"] = 0 < request["first_ms"] < at_ms
                request["has_first"] = True
        elif match := ASKED.match(text):
            live[match[1]] = {"at_ms": float(place), "class": CLASSES[int(match[2])], "late": False, "has_first": False,
                              "first_ms": int(match[3]) / 1000, "done_ms": int(match[4]) / 1000}
        elif match := ENDED.match(text):
            count_end(figures, live.pop(match[1], None), match[2], float(place))
        elif match := HEAD.search(line):
            missed, alone, figures.asked, figures.refused, figures.tokens = (int(match[i]) for i in range(1, 6))
            figures.missed = missed - alone
    return figures


def count_end(figures, request, how, at_ms):
    """Counts the end of a request with a deadline. One that its client cancelled in time says nothing."""
    if not request or request["first_ms"] + request["done_ms"] == 0:
        return
    late = request["late"] or 0 < request["done_ms"] < at_ms or how == "expired"
    late = late or (not request["has_first"] and 0 < request["first_ms"] < at_ms)
    if how == "cancelled" and not late:
        return
    figures.due += 1
    figures.met += not late
    figures.broken += late


def known_chip(text):
    """Returns the world @text with a chip whose gains are known."""
    return re.sub(r"^(heat .*?)(?: kept_permille=\d+)?$", r"\1 kept_permille=1000", text, flags=re.M)


def play(old, new, family, seed):
    """Returns the figures of one world on both builds."""
    with tempfile.TemporaryDirectory(prefix="compare.") as name:
        world = pathlib.Path(name) / "world.txt"
        subprocess.run([old, "run", "--family", family, "--seed", str(seed), "-o", str(world)], capture_output=True,
                       check=False)
        results = []
        for program in (old, new):
            if program == new and family not in HEATS:
                world.write_text(known_chip(world.read_text()))
            run = subprocess.run([program, "replay", str(world), "--trace"], capture_output=True, text=True,
                                 check=False)
            results.append(read(run.stdout.splitlines()))
        return results


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


def times(figures, name):
    values = figures.first_ms[name]
    if not values:
        return "-"
    return f"{percentile(values, 0.5):.0f} / {percentile(values, 0.99):.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--families", default=FAMILIES)
    parser.add_argument("--from", dest="first", type=int, default=9200001)
    parser.add_argument("--count", type=int, default=40, help="worlds of each family")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    old, new = (str(pathlib.Path(path).resolve()) for path in (options.old, options.new))

    print("| family | realtime first token | interactive | background | deadlines met, broken | tokens | refused | "
          "frames missed |\n|---|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for family in options.families.split(","):
            sums = (Figures(), Figures())
            seeds = range(options.first, options.first + options.count)
            for pair in pool.map(lambda seed, family=family: play(old, new, family, seed), seeds):
                for total, figures in zip(sums, pair):
                    total.add(figures)
            a, b = sums
            cells = [f"{times(a, name)} -> {times(b, name)}" for name in reversed(CLASSES)]
            cells += [f"{a.met}, {a.broken} -> {b.met}, {b.broken}",
                      f"{a.tokens} -> {b.tokens} ({100 * (b.tokens / max(1, a.tokens) - 1):+.1f} %)",
                      f"{a.refused} -> {b.refused}", f"{a.missed} -> {b.missed}"]
            print(f"| {family} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
