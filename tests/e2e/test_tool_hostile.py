#!/usr/bin/python3
"""Each command on files made to break it: a sentence and an exit code, never a signal, never for long."""
import json
import os
import resource
import subprocess
import sys
import tempfile

import tap
from tap import LeftOut, fact, holds, note

BUILD = os.environ["SOTTO_BUILD"]
MAKER = os.path.join(os.environ["SOTTO_TRUTH_DIR"], "gguf-hostile/make_hostile.py")
SECONDS = 60
ADDRESS_BYTES = 3 << 30  # an allocation out of proportion fails
FOLDER = tempfile.TemporaryDirectory()
SANITIZED = "asan" in os.path.basename(BUILD) or "tsan" in os.path.basename(BUILD)


def limit():
    if not SANITIZED:  # sanitizers need terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))


def files():
    """(path, verdict) of each."""
    if not os.path.exists(MAKER):
        if os.environ.get("CI"):
            raise AssertionError(f"truth data missing under CI: {MAKER}")
        raise LeftOut(f"{MAKER} is not here")
    manifest = os.path.join(FOLDER.name, "manifest.json")
    if not os.path.exists(manifest):
        subprocess.run([sys.executable, MAKER, FOLDER.name], check=True, capture_output=True)
    with open(manifest, encoding="utf-8") as file:
        rows = json.load(file)
    rows = rows["files"] if isinstance(rows, dict) and "files" in rows else rows
    rows = [{"file": name, **row} for name, row in rows.items()] if isinstance(rows, dict) else rows
    return [(os.path.join(FOLDER.name, row["file"]), row["verdict"]) for row in rows]


def run(name, *words):
    """(exit code, whether a sentence was said)."""
    done = subprocess.run([os.path.join(BUILD, "clients/sotto-" + name), *words], capture_output=True, timeout=SECONDS,
                          preexec_fn=limit, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


def all_files(name, words_of, wrong):
    """Runs the command on all; @wrong(path, verdict, code) is what else must not be."""
    bad = []
    codes = {}
    for path, verdict in files():
        try:
            code, err = run(name, *words_of(path))
        except subprocess.TimeoutExpired:
            code, err = "timeout", ""
        codes[code] = codes.get(code, 0) + 1
        if code not in (0, 1) or (code == 1 and not err.startswith("sotto ")) or wrong(path, verdict, code):
            bad.append(f"{os.path.basename(path)} ({verdict}): {code} {err[:300]}")
    note(f"{name}: exit codes {codes}")
    holds(not bad, "\n".join(bad))


@fact
def inspect_tells_of_every_file_or_says_why_not():
    all_files("inspect", lambda path: [path], lambda path, verdict, code: verdict == "load" and code)


@fact
def inspect_in_json_is_json():
    bad = []
    for path, _ in files():
        done = subprocess.run([os.path.join(BUILD, "clients/sotto-inspect"), "--json", path], capture_output=True,
                              timeout=SECONDS, check=False)
        try:
            holds((done.returncode == 0) == bool(done.stdout), path)
            json.loads(done.stdout or b"{}")
        except ValueError as error:
            bad.append(f"{path}: {error}")
    holds(not bad, "\n".join(bad))


@fact
def what_a_load_refuses_inspect_does_not_call_running():
    wrong = []
    for path, verdict in files():
        done = subprocess.run([os.path.join(BUILD, "clients/sotto-inspect"), "--json", path], capture_output=True,
                              timeout=SECONDS, check=False)
        runs = done.returncode == 0 and json.loads(done.stdout)["verdict"]["runs"]
        if (verdict == "reject" and runs) or (verdict == "load" and not runs):
            wrong.append(f"{os.path.basename(path)}: {verdict}, runs {runs}")
    holds(not wrong, "\n".join(wrong))


@fact
def tokenize_gives_ids_or_a_sentence():
    all_files("tokenize", lambda path: ["--file", path, "--special", "Once upon a time <s> \u00fc\U0001f642"],
              lambda path, verdict, code: verdict == "load" and code)


@fact
def logits_come_of_what_a_daemon_would_load():
    all_files("logits", lambda path: ["--file", path, "--tokens", "1,5,9", "--json"],
              lambda path, verdict, code: (verdict == "load" and code) or (verdict == "reject" and not code))


@fact
def quantize_makes_a_whole_file_or_none():
    out = os.path.join(FOLDER.name, "out.gguf")
    all_files("quantize", lambda path: ["--force", path, out, "Q4_0"],
              lambda path, verdict, code: verdict == "load" and code)
    left = [name for name in os.listdir(FOLDER.name) if name.endswith(".part")]
    holds(not left, left)


@fact
def pack_makes_a_whole_file_or_none():
    out = os.path.join(FOLDER.name, "out.gguf")
    all_files("pack", lambda path: ["--force", path, out], lambda path, verdict, code: verdict == "load" and code)
    left = [name for name in os.listdir(FOLDER.name) if name.endswith(".part")]
    holds(not left, left)


@fact
def a_plan_is_made_or_a_sentence():
    all_files("plan", lambda path: [path, "--bandwidth", "34GB/s", "--memory", "4GB"],
              lambda path, verdict, code: verdict == "load" and code)


if __name__ == "__main__":
    tap.main()
