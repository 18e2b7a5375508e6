"""Changes daemon/sched and daemon/govern by rule, one place at a time, and says what notices.

    ./dev mutate [--jobs N] [--seconds N] [--only TEXT] [--stride N]     builds the mutants and judges them
    ./dev mutate --list                                                  lists them
    ./dev mutate --table FILE                                            totals, and those that nothing catches

schemata.py has the rules, build.py makes one program that holds all mutants, run.py judges them. Results stay in
build/plain/mutants.jsonl; a run that was stopped goes on there. build/plain/mutants needs no other file, so it may be
copied to a larger machine.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

import build
import run
import schemata

SAMPLE = """
#define SAMPLE_US 20u /* 1 < 2 */
static bool f(int a)
{
    if (a < SAMPLE_US && g("a > b") && x) {
        return a == 1 ? b : c;
    }
    for (int i = 0; i < 3; i++) {
    }
    return (a ? b : c) != '\\n' || !h(a > 1);
}
"""

CHANGED = """
#define SAMPLE_US MUTATE_VALUE(1, (20u)) /* 1 < 2 */
static bool f(int a)
{
    if (mutate_if(3, mutate_not(5, a < SAMPLE_US) && mutate_not(6, g("a > b")) && mutate_not(7, x))) {
        return mutate_if(8, mutate_not(10, a == 1)) ? b : c;
    }
    for (int i = 0; i < 3; i++) {
    }
    return mutate_not(11, (mutate_if(12, a) ? b : c) != '\\n') || !h(mutate_not(14, a > 1));
}
"""

# Mutants with their verdicts in the first worlds of "starve".
KNOWN = (("QUEUE_AGE_WAITING_US doubled", True), ("ACCOUNT_TOKEN doubled", False))
KNOWN_WORLDS = [f"starve {seed}" for seed in range(180, 200)]


def check_rules(scratch):
    """Returns what is wrong with the text of a sample."""
    path = scratch / "daemon/sched/sample.c"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SAMPLE)
    text = schemata.Sources(scratch).texts["daemon/sched/sample.c"]
    path.unlink()
    return [] if text == CHANGED else [f"the sample becomes:{text}"]


def check_known(out):
    """Returns what is wrong with the verdicts on known mutants."""
    bench = run.Bench(out, 1, float("inf"))
    own = list(bench.run_worlds("worlds", 0, KNOWN_WORLDS))
    wrong = []
    for what, is_caught in KNOWN:
        number = next(x["id"] for x in bench.mutants if x["what"] == what)
        got = list(bench.run_worlds("worlds", number, KNOWN_WORLDS))
        differ = [x["figures"] != y["figures"] for x, y in zip(own, got)]
        failed = sum(bool(run.failing(x)) for x in got)
        if (failed > 1) != is_caught or any(differ) != is_caught:
            wrong.append(f"{what}: {failed} worlds fail, {sum(differ)} of {len(got)} differ")
    return wrong


def check(root, folder, jobs):
    scratch = folder / "mutate"
    out = scratch / "check"
    wrong = check_rules(scratch / "sample")
    build.build(root, folder, out, jobs, is_whole=False)
    wrong += check_known(out)
    for text in wrong:
        print(f"mutate: {text}", file=sys.stderr)
    return 1 if wrong else 0


def verdict_of(stages):
    """Returns what all stages of a mutant come to, and by what."""
    for stage in ("some worlds", "many worlds", "quick tests", "other tests"):
        found = stages.get(stage, {})
        if found.get("verdict") == "caught":
            return ("worlds" if "worlds" in stage else "tests"), found["by"]
    worlds = stages.get("many worlds", stages.get("some worlds", {}))
    if worlds.get("verdict", "invalid") == "invalid":
        return "not tried", ""
    if worlds["worlds"] == 0:
        return "not reached", ""
    return ("same" if worlds["differ"] == 0 else "survives"), ""


def told(found):
    """Returns in words what a mutant that survives does to the worlds."""
    figures = "; ".join(f"{name} {a} to {b}" for name, (a, b) in found.get("figures", {}).items())
    failed = ", ".join(f"{name} in {len(x)}" for name, x in found.get("failed", {}).items())
    return f"{found['differ']} of {found['worlds']} worlds differ; {figures}" + (f"; fails: {failed}" if failed else "")


def table(path):
    stages = collections.defaultdict(dict)
    for line in path.read_text().splitlines():
        found = json.loads(line)
        if "id" in found:
            stages[found["id"]][found["stage"]] = found
    counts = collections.Counter()
    for number in sorted(stages):
        last = list(stages[number].values())[-1]
        kind = "constants" if last["what"].endswith(("halved", "doubled")) else "branches"
        verdict, _ = verdict_of(stages[number])
        counts[last["place"].split("/")[1], kind, verdict] += 1
        if verdict not in ("worlds", "tests"):
            worlds = stages[number].get("many worlds", stages[number].get("some worlds"))
            print(f"{verdict}\t{last['place']}\t{last['function']}\t{last['what']}\t{last['source']}\t"
                  f"{told(worlds) if verdict == 'survives' else ''}")
    print()
    for (folder, kind, verdict), count in sorted(counts.items()):
        print(f"{folder}\t{kind}\t{verdict}\t{count}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the build folder, up to date")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="only tell what FILE has")
    parser.add_argument("--check", action="store_true", help="check this program with a few mutants")
    run.add_options(parser)
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[3]
    folder = options.folder.resolve()
    if options.table:
        table(options.table)
    elif options.list:
        for mutant in schemata.Sources(root).mutants:
            print(f"{mutant['place']}\t{mutant['what']}\t{mutant['source']}")
    elif options.check:
        return check(root, folder, options.jobs)
    else:
        subprocess.run(["ninja", "-C", str(folder)], check=True, stdout=sys.stderr)
        build.build(root, folder, folder / "mutants", options.jobs)
        return run.run(folder / "mutants", options.out or folder / "mutants.jsonl", options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
