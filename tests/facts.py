#!/usr/bin/python3
"""Counts the single facts of a meson test run.

    facts.py BUILD_FOLDER       reads BUILD_FOLDER/meson-logs/testlog.json

A test program that prints TAP has many facts, any other one. A program that ended early, crashed or ran out of time
without naming a failed fact counts as one failed fact. Prints what was left out, a line for each program, and what failed;
the last line is "N passed, N failed" (", N skipped"). The exit code is 1 if anything failed or nothing ran.
"""
import json
import os
import re
import sys

TAP_LINE = re.compile(r"^(ok|not ok)\b\s*(\d*)\s*-?\s*(.*)$")
SKIP = re.compile(r"#\s*SKIP\b", re.IGNORECASE)


def read_runs(folder):
    path = os.path.join(folder, "meson-logs", "testlog.json")
    with open(path, encoding="utf-8", errors="replace") as log:
        return [json.loads(line) for line in log if line.strip()]


def count_run(run):
    """Gives (passed, failed sentences, skipped) of one test program."""
    passed, failed, skipped, reasons = 0, [], 0, []
    for line in (run.get("stdout") or "").splitlines():
        found = TAP_LINE.match(line)
        if not found:
            reasons += [line] if line.startswith("# ") else []
            continue
        if SKIP.search(line):
            skipped += 1
        elif found[1] == "ok":
            passed += 1
        else:
            failed.append("\n  ".join([f"{run['name']}: {found[3] or found[2]}", *reasons]))
        reasons = []
    result = run["result"]
    if result == "SKIP" and not passed and not failed:
        return 0, [], max(skipped, 1)
    if result in ("OK", "EXPECTEDFAIL"):
        return passed or int(skipped == 0), failed, skipped
    if not failed:
        failed.append(f"{run['name']}: ended as {result} (exit status {run.get('returncode')})")
    return passed, failed, skipped


def left_out(run):
    """One line for what a test program left out: files that are not here by their number."""
    text = (run.get("stdout") or "") + "\n" + (run.get("stderr") or "")
    reasons = {line.strip().removeprefix("left out: ") for line in text.splitlines() if line.startswith("left out: ")}
    paths = {reason.removesuffix(" is not here") for reason in reasons if reason.endswith(" is not here")}
    told = sorted(reason for reason in reasons if not reason.endswith(" is not here"))
    if paths:
        folder = os.path.relpath(os.path.commonpath([os.path.dirname(path) for path in paths]))
        told.insert(0, f"{len(paths)} file{'s' * (len(paths) > 1)} below {folder}, not here")
    return [f"left out of {run['name'].split(' / ')[-1]}: {'; '.join(told)}"] if told else []


def main():
    runs = read_runs(sys.argv[1])
    passed, failed, skipped, missing = 0, [], 0, []
    for run in runs:
        counts = count_run(run)
        passed += counts[0]
        failed += counts[1]
        skipped += counts[2]
        missing += left_out(run)
    for sentence in missing:
        print(sentence)
    for sentence in failed:
        print(f"failed: {sentence}")
    print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
