"""Switches each mechanism of the scheduler off alone, and says what it pays: figures of the same worlds without it.

    ./dev mechanisms [--only TEXT] [--families A,B] [--scale N] [--from SEED] [--jobs N] [--real] [--list]

A mechanism is switched off by changing a line of its source (the table below): a changed copy is compiled and linked
with the objects of the build folder. So the sources have no switches. A mechanism stays if a figure needs it:
docs/simulator.md, "Mechanisms switched off", has the table. With --real the worlds run on sottod itself.

Figures of each family are printed where they differ: worlds that fail, tokens, refused requests, and of each invariant
the cases beyond its bound of all, and the worst.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE / "mutate"))
from build import SIM, Build

REAL = "tests/sim/real/sotto-sim-real"

# Families and how many worlds of each take some seconds.
FAMILIES = (("models", 300), ("deadline", 400), ("chaos", 400), ("fault", 150), ("idle", 40), ("starve", 150),
            ("overload", 30), ("share", 16), ("endless", 24), ("promises", 8), ("losses", 16), ("twins", 4),
            ("fair", 4))

SLOT = "daemon/sched/queue_slot.c"
QUEUE = "daemon/sched/queue.c"
JOB = "daemon/sched/job.c"
ADMIT = "daemon/sched/admit.c"
ESTIMATE = "daemon/sched/estimate.c"
FILL = "daemon/sched/fill.c"
PLAN = "daemon/sched/plan.c"
DISPATCH = "daemon/sched/dispatch.c"
EVENTS = "daemon/sched/dispatch_events.c"
PICK = "daemon/sched/dispatch_pick.c"

# Name, source, and a text there, found once, with what takes its place.
MECHANISMS = (
    # Which job gets a slot, and which gives one up.
    ("slots taken for an account with fewer", SLOT, "if (may_share(want, from)) {", "if (0) {"),
    ("slots taken by age from a higher class", SLOT,
     "if (job->priority < from->priority && queue_rank(", "if (0 && queue_rank("),
    ("slots of accounts out of budget", SLOT, "if (rests(from, want->boot_us)) {", "if (0) {"),
    ("the last slot of a class stays", SLOT,
     "return eq->n_slots >= QUEUE_MANY_SLOTS && eq->n_held", "return 0 && eq->n_held"),
    ("a class keeps its slot as it goes round", SLOT, "if (eq->n_slots < QUEUE_MANY_SLOTS ||", "if (1 ||"),
    ("tenure of a slot got by age", SLOT, "(job->assigned_by_age && !got_further", "(0 && !got_further"),
    ("the quantum of slots", SLOT,
     "for (size_t i = PRIORITY_COUNT; i-- > 0 && !victim;) {\n        victim = quantum",
     "for (size_t i = 0; i-- > 0 && !victim;) {\n        victim = quantum"),
    ("a longer quantum after a long return", SLOT,
     "return num_max(QUEUE_QUANTUM_US,", "return num_min(QUEUE_QUANTUM_US,"),
    ("quanta end one after the other", SLOT, "if (is_any_catching_up(queue, eq, priority)) {", "if (0) {"),
    ("the one whose turn lasted longest goes first", SLOT,
     "if (reason == REASON_QUANTUM && a->assigned_us", "if (0 && a->assigned_us"),
    ("pages kept for realtime", SLOT, "pages.reserved = num_min(", "pages.reserved = 0 * num_min("),
    ("the sequence kept for realtime", SLOT, "job->priority == PRIORITY_REALTIME ? ENGINE_QUEUE_SPARE : 0", "0"),
    ("a refused job asks again alone", SLOT, "return is_asking_again(queue, job->eq);", "return false;"),
    ("no job passes one of its class without room", SLOT,
     "(first->priority == job->priority || victim_for(", "(0 || victim_for("),
    ("no job takes what one before it is to get", SLOT,
     "|| victim_for(queue, first, false, limits, now_us, boot_us)", ""),
    ("a loss grows with each time", SLOT, "+ SLOT_LOSS_ROWS) * (1 + (uint64_t)job->n_preempted)", "+ SLOT_LOSS_ROWS)"),
    ("the least loss gives its slot up", SLOT, "if (loss_of(a) != loss_of(b)) {", "if (0) {"),
    ("patience before a share is taken", SLOT, "want->now_us >= job->since_us + QUEUE_PATIENCE_US && ", ""),
    ("none is closed unless all free enough", SLOT,
     "return choice.n_pages >= n_short ? choice.victim : NULL;", "return choice.victim;"),
    # Order.
    ("the rank of a slot got by age", QUEUE, "job->assigned_by_age && job->n_paid == job->n_paid_at_slot", "0"),
    ("service by age goes round", QUEUE, "if (queue_rank(a, now_us) > a->priority && compare_waits(",
     "if (0 && compare_waits("),
    ("the longest wait before arrival", QUEUE, "order = order != 0 ? order : compare_waits(a, b, now_us);", ""),
    ("ageing of jobs with slots", QUEUE, "spells = (now_us - num_min(now_us, since_us)) / QUEUE_AGE_ASSIGNED_US;", ""),
    ("ageing of jobs without slots", QUEUE,
     "spells = (now_us - num_min(now_us, since_us)) / QUEUE_AGE_WAITING_US;", ""),
    ("accounts charged for slots", QUEUE,
     "return start + (uint64_t)job->account->n_held[job->priority] * QUEUE_SLOT_TOK *", "return start + 0 *"),
    ("order by deadlines", QUEUE, "if (a->urgent != b->urgent) {", "if (0) {"),
    ("rows computed again do not make younger", QUEUE, "if (n_new > 0) { /* what", "if (1) { /* what"),
    # Steps.
    ("accounts raised to one level", FILL,
     "return accounts && prompts && queue_rank(jobs[0], now_us) == jobs[0]->priority ? i : 0;", "return 0;"),
    ("small pieces beside an urgent answer", FILL, "if (job->urgent && job->finish_by_us > 0) {", "if (0) {"),
    ("rows reserved for the first prompt", FILL, "if (room->n_rows < 2) {", "if (1) {"),
    ("the rest of a realtime prompt", FILL, "if (takes_rest(room, job, n, most)) {", "if (0) {"),
    ("an eighth for aged jobs", FILL, "bool aged = others && ", "bool aged = 0 && "),
    ("steps of one slice", FILL,
     "if (limits->duty_permille < 1000 && slice_ns >= least_ns && slice_ns < most_ns) {", "if (0) {"),
    ("an engine that waited longer", PLAN, "if (line->jobs[i]->eq->round < best->eq->round) {", "if (0) {"),
    # Promises.
    ("earlier promises asked again", ADMIT, "double broken = breaks_us(&view, job);", "double broken = 0.0;"),
    ("half of the time left to others", ADMIT, "leave_half(&view, job, &estimate);", ""),
    ("a margin for costs not learnt", ADMIT, "bool young = ", "bool young = 0 && "),
    ("the budget of siblings", ADMIT, "rate > 0 ? siblings_tok(view, job) : 0", "0"),
    ("a share of slots in estimates", ESTIMATE, "if (outlook.n_slots > 0 && takes_share(", "if (0 && takes_share("),
    ("ends of answers in estimates", ESTIMATE, "slot_ns(&outlook, step_ns);", "0.0;"),
    ("higher classes at other models in estimates", ESTIMATE, "ret_outlook->elsewhere = elsewhere_of(queue, job);", ""),
    ("other prompts beside an answer in estimates", ESTIMATE, "double rest_ns = outlook->rest;",
     "double rest_ns = 0.0;"),
    ("pages in estimates", ESTIMATE, "if (eq->n_pages == 0) {", "if (1) {"),
    # Which step has the processor.
    ("a step that waits behind the running one", DISPATCH, "if (!step || least > PRIORITY_REALTIME ||", "if (1 ||"),
    ("a first token has a step of its own", DISPATCH,
     "if (overtakes || is_for_first(view, NULL)) {", "if (overtakes) {"),
    ("boosts", PICK,
     "return others_us >= n * dispatch_boost_us(view, step->eq->processor);", "return n * others_us > UINT64_MAX;"),
    ("boosts of aged jobs", DISPATCH, "step->is_boost = (int)step->priority < wanted;", "step->is_boost = 0 * wanted;"),
    ("one more boost if the first met a frame", EVENTS,
     "return step->is_boost && 2 * held_us < step->slice_us;", "return 0 * held_us * step->slice_us;"),
    ("fewer boosts beside a first token", PICK, "? DISPATCH_STARVE_FIRST", "? DISPATCH_STARVE_SLICES"),
    ("the class that a step inherits", PICK,
     "return dispatch_highest(view, step->priority, is_blocked, step);",
     "return 1 ? (int)step->priority : dispatch_highest(view, step->priority, is_blocked, step);"),
    ("steps behind the gate give way", PICK,
     "if (step->state == DISPATCH_SUSPENDED && dispatch_is_gated(&view, step) &&", "if (0 &&"),
    ("the duty that steps achieve", EVENTS, "if (share < PACE_FULL && share > 0.0 && duty > 0.0) {", "if (0) {"),
)

# A source and a mechanism that something must notice: for --check.
KNOWN = ("ageing of jobs without slots", "starve")


class Error(Exception):
    """A row of the table that does not fit its source."""


def without(root, row):
    """Returns the source of @row without its mechanism."""
    name, path, old, new = row
    text = (root / path).read_text()
    if text.count(old) != 1:
        raise Error(f"\"{name}\": {path} has the text {text.count(old)} times, expected once: {old}")
    return text.replace(old, new)


def build_without(build, row, target, scratch):
    """Compiles and links @target without the mechanism of @row. Returns the program."""
    path = row[1]
    copy = scratch / pathlib.Path(path).relative_to("daemon")
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(without(build.root, row))
    output = min(build.users_of(path))
    built = scratch / output
    if build.compile(output, copy, built, scratch):
        raise Error(f"\"{row[0]}\": {path} does not compile without it")
    program = scratch / pathlib.Path(target).name
    build.link(build.link_of(target), None, [built], program, [])
    return program


def families_of(options):
    """Returns the sweeps: a family each, with its arguments."""
    wanted = options.families.split(",") if options.families else [name for name, _ in FAMILIES]
    counts = dict(FAMILIES)
    return [(name, ("--family", name, "--from", str(options.first),
                    "--count", str(max(1, round(counts.get(name, 100) * options.scale))))) for name in wanted]


def sweep(program, arguments):
    """Returns the figures of one sweep, or the text "crashes"."""
    done = subprocess.run([str(program), "sweep", "--quiet", "--json", *arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
        return "crashes"
    # Without a mechanism something may be divided by zero; the worst value is not looked at.
    return json.loads(re.sub(r":-?(?:inf|nan)\b", ":null", done.stdout))


def run(program, sweeps):
    """Returns the figures of each family; a text where there are none."""
    return {family: sweep(program, arguments) for family, arguments in sweeps}


def differences(with_it, without_it):
    """Returns what differs in one family, as texts."""
    if isinstance(without_it, str) or isinstance(with_it, str):
        return [str(without_it) if isinstance(without_it, str) else "runs"]
    found = [f"{name} {with_it[name]} to {without_it[name]}" for name in ("failed", "tokens", "refused")
             if with_it[name] != without_it[name]]
    for name, row in with_it["invariants"].items():
        other = without_it["invariants"].get(name, row)
        cases = row["cases"] if row["cases"] == other["cases"] else f"{row['cases']}/{other['cases']}"
        if row["beyond"] != other["beyond"] or (row["may_miss_ppm"] > 0 and row["cases"] != other["cases"]):
            found.append(f"{name} {row['beyond']} to {other['beyond']} of {cases}")
    return found


def check(root, build):
    """Says whether each row of the table fits its source, and whether a known mechanism is missed."""
    wrong = []
    for row in MECHANISMS:
        try:
            with tempfile.TemporaryDirectory(prefix="mechanisms.") as name:
                if row[0] == KNOWN[0]:
                    sweeps = [(KNOWN[1], ("--family", KNOWN[1], "--from", "1", "--count", "10"))]
                    program = build_without(build, row, SIM, pathlib.Path(name))
                    if run(program, sweeps)[KNOWN[1]]["invariants"]["progress"]["holds"]:
                        wrong.append(f"nothing misses \"{row[0]}\"")
                else:
                    without(root, row)
        except Error as error:
            wrong.append(str(error))
    for text in wrong:
        print(f"mechanisms: {text}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="the build folder, up to date")
    parser.add_argument("--only", default="", help="mechanisms with this text in their names")
    parser.add_argument("--families", default="", help="these instead of all, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="so many times as many worlds")
    parser.add_argument("--from", dest="first", type=int, default=9200001, help="the first seed")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--real", action="store_true", help="run the worlds on sottod itself")
    parser.add_argument("--list", action="store_true", help="only list the mechanisms")
    parser.add_argument("--check", action="store_true", help="check the table against the sources")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    rows = [row for row in MECHANISMS if options.only in row[0]]
    target = REAL if options.real else SIM

    if options.list:
        for row in rows:
            print(f"{row[1]}\t{row[0]}")
        return 0
    build = Build(root, options.folder.resolve(), None, 1)
    if options.check:
        return check(root, build)
    sweeps = families_of(options)
    as_it_is = run(build.folder / target, sweeps)

    def compare(row):
        with tempfile.TemporaryDirectory(prefix="mechanisms.") as name:
            return run(build_without(build, row, target, pathlib.Path(name)), sweeps)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, figures in zip(rows, pool.map(compare, rows)):
            print(f"without {row[0]}:")
            for family, _ in sweeps:
                found = differences(as_it_is[family], figures[family])
                if found:
                    print(f"    {family}: {'; '.join(found)}")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Error as error:
        sys.exit(f"mechanisms: {error}")
