"""Changes daemon/sched and daemon/govern by rule, one place at a time, and says what notices.

    ./dev mutate [--kind constants|branches] [--only TEXT] [--stride N] [--jobs N] [--no-units] [--list]

Rules: each named constant halved and doubled; the condition of each "if" and "?:" forced true and forced false; each
comparison turned round. Loops and assertions stay. The sources are not touched: a changed copy is compiled and linked
with the objects of the build folder, so the simulator that judges is the one that is there, with the constants as they
were.

Verdicts: "caught" by a sweep (by which invariant, or because it hangs or crashes); "unit": by a unit test; "survives",
with what it does to tokens and refusals; "same": not one figure of any world differs; "invalid": does not compile.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

FOLDERS = ("daemon/sched", "daemon/govern")
SIM = "tests/sim/sotto-sim"

# Sources that no world uses: metering and charging of energy.
UNUSED = {"energy.c", "energy.h", "usage.c", "usage.h"}

# Families, first seeds, and how many worlds of each; the cheapest first, so what they catch costs little.
SWEEPS = tuple(("--family", family, "--from", str(first), "--count", str(count)) for family, first, count in (
    ("chaos", 21, 40), ("steady", 1, 20), ("step", 1, 20), ("hint", 1, 20), ("blind", 1, 16), ("models", 1, 20),
    ("fault", 1, 40), ("deadline", 1, 80), ("idle", 1, 16), ("starve", 180, 20), ("overload", 1, 12), ("hot", 1, 12),
    ("clocks", 1, 16), ("bursts", 1, 12), ("disturbed", 1, 12), ("heat", 21, 10), ("losses", 1, 5), ("twins", 1, 3),
    ("fair", 1, 3)))

# Families in which no change of a source is looked for, since hardly any could show there.
CROWDS = {"models", "fault", "deadline", "idle", "starve", "overload", "losses", "twins", "fair"}
HEATS = {"hot", "bursts", "disturbed", "heat"}
LEFT_OUT = (
    ("daemon/sched/", HEATS | {"blind", "clocks"}),
    ("daemon/govern/yield", CROWDS | HEATS),
    ("daemon/govern/", CROWDS),
)

# A sweep that takes so many times as long as the unchanged one hangs.
HANGS = 20

# Standard deviations by which a rate must exceed what is allowed.
NOISE = 2

# ---- what can be changed

CONSTANT = re.compile(r"^#define (\w+)[ \t]+(\S[^\n]*?)[ \t]*$", re.M)
CONDITION = re.compile(r"\bif \(")
CHOICE = re.compile(r" \? ")
COMPARISON = re.compile(r" (==|!=|<=|>=|<|>) ")
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def blank(text):
    """Replaces comments and strings by spaces, so that places in the text stay."""
    pattern = r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def closing(text, at):
    """Returns the place of the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)


def beginning(text, at):
    """Returns where the condition of the "?" at @at begins."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth < 0 or (depth == 0 and text[i] in ",;=?:{}" and text[i - 1:i + 1] not in ("==", "!=", "<=", ">=")
                         and text[i:i + 2] != "=="):
            return i + 1
        if depth == 0 and text[i - 6:i + 1] == "return ":
            return i + 1
    return 0


def constants(text):
    bare = blank(text)
    for match in CONSTANT.finditer(bare):
        value = match[2].strip()
        if re.search(r"\d", value) and "{" not in value and not re.search(r"\[[^]\n]*\b%s\b" % match[1], bare):
            for name, form in (("halved", "((%s) / 2)"), ("doubled", "((%s) * 2)")):
                yield match.start(2), match.end(2), form % value, f"{match[1]} {name}"


def branches(text):
    bare = blank(text)
    code = re.sub(r"^[ \t]*#.*$|\bfor \([^\n]*|\bwhile \([^\n]*|\bassert\([^\n]*", lambda m: " " * len(m[0]), bare,
                  flags=re.M)
    spans = [(m.end(), closing(code, m.end() - 1), "if") for m in CONDITION.finditer(code)]
    spans += [(beginning(code, m.start()), m.start(), "?:") for m in CHOICE.finditer(code)]
    for begin, end, kind in spans:
        condition = text[begin:end].strip()
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        for name, form in (("true", "((%s) || 1)"), ("false", "((%s) && 0)")):
            yield begin, end, form % condition, f"{kind} {name}"
    for match in COMPARISON.finditer(code):
        yield match.start(1), match.end(1), OPPOSITE[match[1]], f"{match[1]} to {OPPOSITE[match[1]]}"


def changes(root, kind, only):
    """Returns all changes: (path, line, what, changed text), in the order of the sources."""
    found = []
    for path in sorted(p for folder in FOLDERS for p in (root / folder).glob("*.[ch]")
                       if p.name not in UNUSED):
        text = path.read_text()
        rules = [constants] * (kind != "branches") + [branches] * (kind != "constants" and path.suffix == ".c")
        for begin, end, new, what in sorted(x for rule in rules for x in rule(text)):
            place = f"{path.relative_to(root)}:{text.count(chr(10), 0, begin) + 1}"
            if only in f"{place} {what}":
                found.append((path.relative_to(root), place, what, text[:begin] + new + text[end:]))
    return found


# ---- building and running


class Build:
    """The build folder's own commands, without debugging information, warnings and dependency files."""

    def __init__(self, root, folder):
        self.root = root
        self.folder = folder
        self.compiles = {}
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
            self.compiles[entry["output"]] = (source, shlex.split(entry["command"]))
        self.objects = {source: output for output, (source, _) in self.compiles.items()
                        if source.startswith(FOLDERS)}
        self.sim = self.link_of(SIM)
        self.units = {}

    def ask(self, tool, *words):
        """Returns what ninja says of the build folder."""
        run = subprocess.run(["ninja", "-t", tool, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return run.stdout

    def find_units(self):
        names = re.findall(r"^(tests/unit/test-(?:sched|govern)[a-z-]*):", self.ask("targets", "all"), re.M)
        self.units = {name: self.link_of(name) for name in sorted(set(names))}

    def link_of(self, target):
        return shlex.split(self.ask("commands", target).strip().splitlines()[-1])

    def depends(self, output, header):
        return re.search(r"/%s$" % re.escape(str(header)), self.ask("deps", output), re.M) is not None

    def compile(self, output, source, scratch, *flags):
        """Compiles @source (a path) as the build folder does @output, with the headers of @scratch first."""
        _, command = self.compiles[output]
        result = scratch / (output.replace("/", "+"))
        skip = {"-MD", "-g", "-Werror"}
        words = []
        rest = iter(command)
        for word in rest:
            if word in ("-MQ", "-MF", "-o", "-c"):
                next(rest)
            elif word not in skip:
                words.append(word)
        at = 1 + (words[0] == "ccache")
        words[at:at] = [f"-I{scratch}"]
        run = subprocess.run(words + ["-w", *flags, "-o", str(result), "-c", str(source)], cwd=self.folder, capture_output=True,
                             check=False)
        return result if run.returncode == 0 else None

    def link(self, command, replaced, extra, scratch):
        """Links as @command does; @replaced objects take the place of its own, @extra ones come before the libraries."""
        words = [str(replaced.get(word, word)) for word in command]
        at = words.index("-o")
        target = scratch / os.path.basename(words[at + 1])
        words[at + 1] = str(target)
        words[at + 2:at + 2] = [str(x) for x in extra]
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True)
        return target


class Sums:
    """The cases of some sweeps, all of one program."""

    def __init__(self):
        self.rows = {}
        self.tokens = 0
        self.refused = 0

    def add(self, figures):
        self.tokens += figures["tokens"]
        self.refused += figures["refused"]
        for name, row in figures["invariants"].items():
            cases, beyond, ppm = self.rows.get(name, (0, 0, row["may_miss_ppm"]))
            self.rows[name] = (cases + row["cases"], beyond + row["beyond"], ppm)

    def failing(self, is_last):
        """Returns an invariant that fails, or an empty text. A rate is judged at the end, with room for its noise."""
        for name, (cases, beyond, ppm) in self.rows.items():
            allowed = cases * ppm / 1e6
            if (beyond if ppm == 0 else is_last and beyond > allowed + NOISE * math.sqrt(allowed)):
                return name
        return ""


def sweep(program, arguments, limit_s=None):
    """Runs one sweep and returns its figures, and what went wrong if there are none."""
    try:
        run = subprocess.run([str(program), "sweep", "--quiet", "--json", *arguments], capture_output=True, text=True,
                             timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return None, "hangs"
    if run.returncode not in (0, 1) or not run.stdout.startswith("{"):
        return None, "crashes"
    # A mutant may divide by zero; the worst value is only compared.
    return json.loads(re.sub(r":-?(?:inf|nan)\b", ":null", run.stdout)), ""


def unit_tests(build, header, objects, scratch):
    """Returns the first unit test that fails with @objects, or an empty text."""
    for name, command in build.units.items():
        replaced = {}
        own = [x for x in objects if x.name.split(".p+")[0].replace("+", "/") in command]
        if not own:
            continue
        for output in (word for word in command if word.endswith(".o") and header and build.depends(word, header)):
            replaced[output] = build.compile(output, build.root / build.compiles[output][0], scratch, "-O0") or output
        program = build.link(command, replaced, own, scratch)
        try:
            run = subprocess.run([str(program)], capture_output=True, timeout=300, check=False,
                                 cwd=build.folder / "tests/unit", env={**os.environ, "CK_FORK": "no"})
        except subprocess.TimeoutExpired:
            return os.path.basename(name)
        if run.returncode != 0:
            return os.path.basename(name)
    return ""


def judges(arguments, path):
    """Returns true if the sweep with @arguments judges a change of @path."""
    left_out = next(families for start, families in LEFT_OUT if str(path).startswith(start))
    return arguments[1] not in left_out


def judge(build, change, expected, with_units):
    """Returns the verdict on one change: caught, unit, same or survives, and by what."""
    path, _, _, text = change
    is_header = path.suffix == ".h"
    with tempfile.TemporaryDirectory(prefix="mutate.") as name:
        scratch = pathlib.Path(name)
        copy = scratch / path.relative_to("daemon")
        copy.parent.mkdir()
        copy.write_text(text)
        header = path.relative_to("daemon") if is_header else None
        outputs = [output for source, output in build.objects.items()
                   if (build.depends(output, header) if is_header else source == str(path))]
        objects = [build.compile(output, build.root / build.compiles[output][0] if is_header else copy, scratch)
                   for output in outputs]
        if None in objects:
            return "invalid", "does not compile"
        program = build.link(build.sim, {}, objects, scratch)
        sums = Sums()
        sweeps = [arguments for arguments in expected.figures if judges(arguments, path)]
        is_same = True
        for arguments in sweeps:
            figures, wrong = sweep(program, arguments, expected.limits_s[arguments])
            if figures:
                sums.add(figures)
                wrong = sums.failing(arguments == sweeps[-1])
            if wrong:
                return "caught", wrong
            is_same = is_same and figures == expected.figures[arguments]
        wrong = unit_tests(build, header, objects, scratch) if with_units else ""
        by = wrong if is_same else f"{wrong} {expected.compared(sums, sweeps)}".strip()
        return "unit" if wrong else "same" if is_same else "survives", by


class Expected:
    """The figures of each sweep as sotto is, and how long it may take before it counts as hanging."""

    def __init__(self, build, sweeps):
        self.figures = {}
        self.limits_s = {}
        sums = Sums()
        for arguments in sweeps:
            began_s = time.monotonic()
            figures, wrong = sweep(build.folder / SIM, arguments)
            if figures:
                sums.add(figures)
                wrong = sums.failing(arguments == sweeps[-1])
            if wrong:
                sys.exit(f"mutate: sotto as it is fails \"{wrong}\" in: sotto-sim sweep {' '.join(arguments)}")
            self.figures[arguments] = figures
            self.limits_s[arguments] = 60 + HANGS * (time.monotonic() - began_s)

    def compared(self, sums, sweeps):
        """Returns the tokens and refusals of @sums, over @sweeps, as changes."""
        tokens = sum(self.figures[arguments]["tokens"] for arguments in sweeps)
        refused = sum(self.figures[arguments]["refused"] for arguments in sweeps)
        return f"tokens {100 * (sums.tokens / tokens - 1):+.2f} %, refused {sums.refused - refused:+d}"


# ---- a check of this program itself

SAMPLE = """
#define SAMPLE_US 20u /* 1 < 2 */
static bool f(int a)
{
    if (a < SAMPLE_US && g("a > b")) {
        return a == 1 ? b : c;
    }
    for (int i = 0; i < 3; i++) {
    }
}
"""

SAMPLE_CHANGES = [
    "#define SAMPLE_US ((20u) * 2) ", "#define SAMPLE_US ((20u) / 2) ",
    "if (((a < SAMPLE_US && g(\"a > b\")) && 0))", "if (((a < SAMPLE_US && g(\"a > b\")) || 1))", "if (a >= SAMPLE_US ",
    "return ((a == 1) && 0) ? b", "return ((a == 1) || 1) ? b", "return a != 1 ? b",
]

# Changes with their verdicts: one that a sweep must catch, and one of a unit, which nothing can notice.
KNOWN = ((("daemon/sched/queue.h", "QUEUE_AGE_WAITING_US doubled"), "caught"),
         (("daemon/sched/account.h", "ACCOUNT_TOKEN doubled"), "same"))


def check(root, build):
    """Says whether the rules find what they must, and known changes have their verdicts."""
    wrong = []
    made = [SAMPLE[:begin] + new + SAMPLE[end:] for rule in (constants, branches)
            for begin, end, new, _ in sorted(rule(SAMPLE))]
    if len(made) != len(SAMPLE_CHANGES):
        wrong.append(f"{len(made)} changes of the sample, expected {len(SAMPLE_CHANGES)}")
    wrong += [f"no change of the sample has: {text}" for text in SAMPLE_CHANGES if not any(text in x for x in made)]
    expected = Expected(build, [arguments for arguments in SWEEPS if arguments[1] == "starve"])
    for (path, what), verdict in KNOWN:
        for change in changes(root, "constants", what):
            got, by = judge(build, change, expected, False)
            if got != verdict:
                wrong.append(f"{path}: {what}: {got} {by}, expected {verdict}")
    for text in wrong:
        print(f"mutate: {text}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the build folder, up to date")
    parser.add_argument("--kind", choices=("constants", "branches", "all"), default="all")
    parser.add_argument("--only", default="", help="changes with this text in \"FILE:LINE RULE\"")
    parser.add_argument("--stride", type=int, default=1, help="one of so many changes")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-units", action="store_true", help="do not ask the unit tests")
    parser.add_argument("--list", action="store_true", help="only list the changes")
    parser.add_argument("--check", action="store_true", help="check this program with a few changes")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    found = changes(root, options.kind, options.only)[::options.stride]

    if options.list:
        for _, place, what, _ in found:
            print(f"{place}\t{what}")
        return 0
    build = Build(root, options.folder.resolve())
    if options.check:
        return check(root, build)
    if not options.no_units:
        build.find_units()
    expected = Expected(build, [x for x in SWEEPS if any(judges(x, change[0]) for change in found)])
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda change: judge(build, change, expected, not options.no_units), found)
        for (_, place, what, _), (verdict, by) in zip(found, verdicts):
            counts[verdict] = counts.get(verdict, 0) + 1
            print(f"{verdict}\t{place}\t{what}\t{by}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())) + f" of {len(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
