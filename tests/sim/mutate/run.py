"""Judges mutants in the folder that build.py made, where this file lies, too.

    python3 run.py [--jobs N] [--seconds N] [--out FILE] [--only TEXT] [--stride N]

A mutant goes through the quick unit tests, some worlds, the other tests, and many worlds, until it is caught; those that a
test catches go through some worlds at the end. Only tests and worlds are asked in which it would have had another value
than sotto at some moment. FILE gets a JSON line for each stage of each mutant; those that it has are not run again.

A mutant is caught by worlds if it hangs or crashes, if a rate is beyond what is allowed by more than noise, or if more
worlds fail than do by chance when nothing but the order of events differs: of sotto's own worlds a few in a thousand fail.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

# Families, first seeds, and how many worlds of each.
FAMILIES = (
    ("chaos", 21, 100), ("steady", 1, 60), ("step", 1, 60), ("hint", 1, 60), ("blind", 1, 30), ("models", 1, 100),
    ("fault", 1, 60), ("deadline", 1, 150), ("idle", 1, 20), ("starve", 180, 40), ("overload", 1, 20), ("hot", 1, 40),
    ("clocks", 1, 40), ("bursts", 1, 30), ("disturbed", 1, 20), ("heat", 21, 20), ("losses", 1, 10), ("twins", 1, 6),
    ("fair", 1, 6), ("share", 1, 10), ("untold", 1, 60), ("endless", 1, 20), ("promises", 1, 6), ("stuck", 1, 20))

# A scenario that takes longer than all others together.
LEFT_OUT = {"hour-of-overload.txt"}

# CPU time of sotto's own run of some and of many worlds, and of a quick test.
SOME_US = 1000000
MANY_US = 6000000
QUICK_S = 0.1

# A world or test that takes so many times the CPU time of the unchanged one, and this much more, hangs.
HANGS = 10
HANGS_MS = 500
HANGS_S = 2

# Worlds of sotto that fail, of 12,000: 51; standard deviations of a rate; probability of a verdict by chance.
FAILS = 0.005
NOISE = 3
CHANCE = 1e-4

FIGURES = ("tokens", "rows", "asked", "refused", "missed", "modes")


def tail(count, mean):
    """Returns the probability of @count cases or more where @mean are expected (Poisson)."""
    term = math.exp(-mean)
    below = 0.0
    for i in range(count):
        below += term
        term *= mean / (i + 1)
    return max(0.0, 1.0 - below)


class Stopped(Exception):
    """The time is over."""


class Bench:
    """The programs, sotto's own results, and how long is left."""

    def __init__(self, folder, jobs, seconds):
        self.folder = folder
        self.until_s = time.monotonic() + seconds
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.mutants = json.loads((folder / "mutants.json").read_text())
        self.units = sorted((folder / "units").glob("*"))
        self.worlds = {}  # name: sotto's own result
        self.reach = {}  # number of a mutant: the names of the worlds
        self.unit_reach = {}
        self.unit_s = {}
        self.fails = {}  # family: probability
        self.sums = {}  # invariant: [cases, beyond, ppm]

    def stop_if_late(self):
        if time.monotonic() > self.until_s:
            raise Stopped

    def run_worlds(self, program, mutant, names, *options):
        """Yields the results of the worlds @names, and at last a text if the program hung or crashed."""
        lines = "".join(f"{name} {self.limit_ms(name)}\n" for name in names)
        with subprocess.Popen([self.folder / program, *options], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True,
                              env={**os.environ, "SOTTO_MUTANT": str(mutant)}) as run:
            try:
                threading.Thread(target=feed, args=(run.stdin, lines), daemon=True).start()
                for line in run.stdout:
                    self.stop_if_late()
                    if line.endswith("}\n"):
                        yield json.loads(line)
                code = run.wait()
                if code != 0:
                    yield "hangs" if code == -signal.SIGPROF else "crashes"
            finally:
                run.kill()

    def limit_ms(self, name):
        return HANGS_MS + HANGS * self.worlds[name]["us"] // 1000 if name in self.worlds else 600000

    def measure(self, path):
        """Takes sotto's own results from the file @path, or runs sotto itself and writes them there."""
        if path.exists():
            own = json.loads(path.read_text())
            self.worlds = own["worlds"]
            self.unit_s = {self.folder / "units" / name: x[0] for name, x in own["units"].items()}
            reached = {self.folder / "units" / name: x[1] for name, x in own["units"].items()}
        else:
            reached = self.run_own()
            units = {x.name: [self.unit_s[x], reached[x]] for x in self.units}
            path.write_text(json.dumps({"worlds": self.worlds, "units": units}))
        for unit, numbers in reached.items():
            for number in numbers:
                self.unit_reach.setdefault(number, []).append(unit)
        self.take_stock()

    def run_own(self):
        """Runs the worlds and tests. Returns the mutants that each test reaches."""
        names = [f"{family} {first + i}" for i in range(max(x[2] for x in FAMILIES))
                 for family, first, count in FAMILIES if i < count]
        names += sorted(f"- scenarios/{p.name}" for p in (self.folder / "scenarios").iterdir() if p.name not in LEFT_OUT)
        parts = [names[i::32] for i in range(32)]
        for found in self.pool.map(lambda part: list(self.run_worlds("worlds", 0, part, "--reached")), parts):
            for result in found:
                if isinstance(result, str):
                    sys.exit(f"mutate: sotto itself {result}")
                self.worlds[result["world"]] = result
        reached = {}
        for unit, seconds, numbers in self.pool.map(self.measure_unit, self.units):
            self.unit_s[unit] = seconds
            reached[unit] = numbers
        return reached

    def measure_unit(self, unit):
        path = self.folder / f"{unit.name}.reached"
        code, seconds = self.run_unit(unit, 0, 600, {"SOTTO_MUTANTS_REACHED": str(path)})
        if code != 0:
            sys.exit(f"mutate: {unit.name} fails with sotto itself")
        numbers = [int(x) for x in path.read_text().split()]
        path.unlink()
        return unit, seconds, numbers

    def take_stock(self):
        names = list(self.worlds)
        for family in {name.split()[0] for name in names}:
            own = [x for name, x in self.worlds.items() if name.split()[0] == family]
            n_failed = sum(bool(failing(x)) for x in own)
            self.fails[family] = max(FAILS, (n_failed + 0.5) / len(own) if n_failed else 0)
        for name in names:
            result = self.worlds[name]
            if failing(result):
                del self.worlds[name]
                continue
            add(self.sums, result["invariants"], 1)
            for number in result.pop("reached"):
                self.reach.setdefault(number, []).append(name)

    def run_unit(self, unit, mutant, limit_s, more):
        """Returns the exit code and the CPU time."""
        with subprocess.Popen([unit], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "SOTTO_MUTANT": str(mutant), "SOTTO_MUTANT_CPU_S": str(limit_s),
                                   "CK_FORK": "no", **more}) as run:
            timer = threading.Timer(min(self.until_s - time.monotonic(), threading.TIMEOUT_MAX), run.kill)
            timer.start()
            _, status, usage = os.wait4(run.pid, 0)
            timer.cancel()
            run.returncode = os.waitstatus_to_exitcode(status)
        self.stop_if_late()
        return run.returncode, usage.ru_utime + usage.ru_stime

    def order(self, names):
        """Returns @names with the cheapest of each family first, then the others by what they cost."""
        seen = set()
        first = []
        rest = []
        for name in sorted(names, key=lambda x: self.worlds[x]["us"]):
            (rest if name.split()[0] in seen else first).append(name)
            seen.add(name.split()[0])
        return first + rest


def feed(pipe, lines):
    try:
        with pipe:
            pipe.write(lines)
    except (OSError, ValueError):
        pass  # the program has ended


def failing(result):
    """Returns the first invariant without a rate that fails, or an empty text."""
    return next((name for name, (_, beyond, ppm, _) in result["invariants"].items() if ppm == 0 and beyond > 0), "")


def add(sums, invariants, sign):
    for name, (cases, beyond, ppm, _) in invariants.items():
        row = sums.setdefault(name, [0, 0, ppm])
        row[0] += sign * cases
        row[1] += sign * beyond


def beyond_rate(sums, own):
    """Returns the invariant whose rate is beyond what is allowed, and beyond sotto's @own, by more than noise."""
    for name, (cases, beyond, ppm) in sums.items():
        allowed = max(cases * ppm / 1e6, own.get(name, [0, 0, 0])[1])
        if ppm > 0 and beyond > allowed + NOISE * math.sqrt(allowed) + 1:
            return name
    return ""


# ---- the stages; each returns what it found


def by_units(bench, mutant, is_quick):
    tests = sorted((x for x in bench.unit_reach.get(mutant["id"], []) if (bench.unit_s[x] < QUICK_S) == is_quick),
                   key=lambda x: bench.unit_s[x])
    for unit in tests:
        code, _ = bench.run_unit(unit, mutant["id"], int(HANGS_S + HANGS * bench.unit_s[unit]), {})
        if code != 0:
            return {"verdict": "caught", "by": unit.name, "tests": len(tests)}
    return {"verdict": "open", "by": "", "tests": len(tests)}


def by_worlds(bench, mutant, most_us):
    """Runs worlds for @most_us of CPU time."""
    program = mutant.get("program", "worlds")
    if program == "invalid":
        return {"verdict": "invalid", "by": "", "worlds": 0}
    names = bench.order(bench.reach.get(mutant["id"], []) if program == "worlds" else bench.worlds)
    n_all = len(names)
    used_us = 0
    for i, name in enumerate(names):
        used_us += bench.worlds[name]["us"]
        if used_us > most_us:
            names = names[:i]
            break
    found = {"verdict": "open", "by": "", "worlds": 0, "of": n_all, "differ": 0, "failed": {}}
    sums = {name: list(row) for name, row in bench.sums.items()}
    figures = [0] * len(FIGURES)
    own = [0] * len(FIGURES)
    chance = 0.0
    for result in bench.run_worlds(program, mutant["id"], names):
        if isinstance(result, str):
            return {**found, "verdict": "caught", "by": result}
        base = bench.worlds[result["world"]]
        found["worlds"] += 1
        figures = [a + b for a, b in zip(figures, result["figures"])]
        own = [a + b for a, b in zip(own, base["figures"])]
        if result["figures"] == base["figures"] and result["invariants"] == base["invariants"]:
            continue
        found["differ"] += 1
        chance += bench.fails[result["world"].split()[0]]
        add(sums, base["invariants"], -1)
        add(sums, result["invariants"], 1)
        wrong = failing(result)
        if wrong:
            found["failed"].setdefault(wrong, []).append(result["world"])
        n_failed = sum(len(x) for x in found["failed"].values())
        wrong = beyond_rate(sums, bench.sums)
        if wrong or (n_failed > 1 and tail(n_failed, chance) < CHANCE):
            by = wrong or max(found["failed"], key=lambda x: len(found["failed"][x]))
            found.update({"verdict": "caught", "by": by})
            break
    found["figures"] = {name: [a, b] for name, a, b in zip(FIGURES, own, figures) if a != b}
    found["rates"] = {name: [bench.sums.get(name, [0, 0])[:2], row[:2]] for name, row in sums.items()
                      if row[2] > 0 and row != bench.sums.get(name)}
    return found


STAGES = {"quick tests": lambda bench, mutant: by_units(bench, mutant, True),
          "some worlds": lambda bench, mutant: by_worlds(bench, mutant, SOME_US),
          "other tests": lambda bench, mutant: by_units(bench, mutant, False),
          "many worlds": lambda bench, mutant: by_worlds(bench, mutant, MANY_US)}


class Results:
    """The file of results."""

    def __init__(self, path, build):
        self.by = {}
        self.lock = threading.Lock()
        if path.exists():
            lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
            if lines and lines[0].get("build") != build:
                sys.exit(f"mutate: {path} is of another build; give another name with --out")
            self.by = {(x["id"], x["stage"]): x for x in lines if "id" in x}
        self.file = path.open("a")
        if not self.by:
            self.file.write(json.dumps({"build": build}) + "\n")

    def take(self, mutant, stage, found):
        line = {**mutant, "stage": stage, **found}
        with self.lock:
            self.by[mutant["id"], stage] = line
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()

    def get(self, mutant, stage):
        return self.by.get((mutant["id"], stage), {}).get("verdict")


def judge(bench, mutants, results):
    """Runs what is not done yet. Returns whether all of it was."""
    def one(mutant, stage):
        if results.get(mutant, stage) is None and time.monotonic() < bench.until_s:
            try:
                results.take(mutant, stage, STAGES[stage](bench, mutant))
            except Stopped:
                pass

    def run_stage(stage, todo):
        list(bench.pool.map(lambda x: one(x, stage), todo))
        n_done = sum(results.get(x, stage) is not None for x in todo)
        print(f"{stage}: {n_done} of {len(todo)}, {sum(results.get(x, stage) == 'caught' for x in todo)} caught", flush=True)
        return n_done == len(todo)

    done = True
    left = mutants
    for stage in STAGES:
        done = run_stage(stage, left) and done
        left = [x for x in left if results.get(x, stage) == "open"]
    return run_stage("some worlds", mutants) and done


def add_options(parser):
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--out", type=pathlib.Path, help="the file of results")
    parser.add_argument("--only", default="", help="mutants with this text in \"FILE:LINE RULE\"")
    parser.add_argument("--stride", type=int, default=1, help="one of so many mutants")


def run(folder, out, options):
    """Judges the mutants in @folder. Returns the exit code: 3 if the time was too short."""
    build = hashlib.sha256((folder / "mutants.json").read_bytes() + (folder / "worlds").read_bytes()).hexdigest()[:16]
    results = Results(out, build)
    bench = Bench(folder, options.jobs, options.seconds)
    bench.measure(out.with_suffix(f".own-{build}.json"))
    mutants = [x for x in bench.mutants if options.only in f"{x['place']} {x['what']}"][::options.stride]
    print(f"{len(mutants)} mutants, {len(bench.worlds)} worlds of {sum(x['us'] for x in bench.worlds.values()) / 1e6:.1f} s,"
          f" {len(bench.units)} unit tests of {sum(bench.unit_s.values()):.1f} s", flush=True)
    return 0 if judge(bench, mutants, results) else 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    options = parser.parse_args()
    return run(pathlib.Path(__file__).resolve().parent, options.out or pathlib.Path("mutants.jsonl"), options)


if __name__ == "__main__":
    sys.exit(main())
