#!/usr/bin/python3
"""./dev soak [MINUTES]: 200 clients of 8 users ask for ten times the capacity.

The fake engine takes 2 ms for each token, however many it computes at once, so the capacity is fixed. A voice of class
realtime sends requests beside them. When all clients have disconnected, memory, descriptors and pages must be what they
were after a short overload of the same kind at the start. The eight users need root; without it all apps are of one
user, and the table says so. Writes soak.md into a folder.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import common
import sotto_pb2 as pb
from daemon import Daemon, held, settle
from plant import Loop, request

N_APPS, N_USERS, FIRST_UID = 200, 8, 20001
TOKEN_MS, N_SEQUENCES, N_TOKENS, TIMES = 2, 16, 40, 10
STEP_MS = TOKEN_MS * N_SEQUENCES  # of a full step
PROMPTS = [f"app {i} asks for directions " + "again " * (i % 9) for i in range(24)]
WARM_S = 10
WAITING_MOST = 256  # LIMIT_WAITING
GROWN_MOST = 1024
TOLD_TIMES = 2  # an announced time is an estimate of how long all that is live takes, and may be so far off


class Voice(Loop):
    """A voice: seconds until each first token."""
    period_s = 0.25

    def __init__(self, daemon):
        super().__init__()
        self.client = daemon.client()
        self.waits, self.tokens = [], set()

    def step(self):
        begun = time.monotonic()
        stream, said, first = self.client.ask(request("turn left", pb.CLASS_REALTIME, 4)), [], True
        while (frame := self.client.read_of(stream)).WhichOneof("body") not in ("done", "error"):
            if frame.WhichOneof("body") == "delta":
                if first:
                    self.waits.append(time.monotonic() - begun)
                first, said = False, said + list(frame.delta.tokens)
        if frame.WhichOneof("body") == "error":
            raise AssertionError(frame.error)
        self.tokens.add(tuple(said))


class Eye(Loop):
    """Records once a second how many requests wait and what is held."""
    period_s = 1.0

    def __init__(self, daemon):
        super().__init__()
        self.client, self.pid = daemon.client(), daemon.process.pid
        self.most_waiting = self.most_live = self.most_of_all = self.most_descriptors = self.most_wire = 0
        self.rss_kb = []

    def step(self):
        status = self.client.status()
        self.most_waiting = max(self.most_waiting, sum(row.queued for row in status.classes))
        self.most_live = max([self.most_live, *(row.requests for row in status.accounts)])
        self.most_of_all = max(self.most_of_all, sum(row.requests for row in status.accounts))
        self.most_descriptors = max(self.most_descriptors, status.descriptors)
        self.most_wire = max([self.most_wire, *(row.bytes for row in status.memory if row.kind == "wire")])
        self.rss_kb.append(rss_kb(self.pid))


def rss_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def storm(daemon, seconds, tokens, seed):
    """Runs all users for @seconds; returns the sums of their counts."""
    capacity = 1000 / TOKEN_MS / N_TOKENS  # answers a second
    is_root = os.geteuid() == 0
    children = []
    for i in range(N_USERS):
        child = subprocess.Popen([sys.executable, "-B", os.path.join(common.HERE, "crowd.py")], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": "/"})
        child.stdin.write(json.dumps({
            "path": daemon.socket, "uid": FIRST_UID + i if is_root else None, "seconds": seconds, "seed": seed + i,
            "apps": N_APPS // N_USERS if is_root else 8, "prompts": PROMPTS, "tokens": tokens, "n_tokens": N_TOKENS,
            "rate": TIMES * capacity / (N_APPS if is_root else 8 * N_USERS)}))
        child.stdin.close()
        children.append(child)
    total = {"count": {}, "others": {}, "longest_ms": 0, "longest_deadline_ms": 0}
    for child in children:
        reported = json.loads(child.stdout.read() or "{}")
        if child.wait() != 0 or not reported:
            raise AssertionError("a process of clients failed; its messages are above")
        for part in "count", "others":
            for name, n in reported[part].items():
                total[part][name] = total[part].get(name, 0) + n
        for part in "longest_ms", "longest_deadline_ms":
            total[part] = max(total[part], reported[part])
    return total


def percent(counts):
    """The first as a share of both."""
    return 100 * counts[0] / max(1, sum(counts))


def row(name, figure, want, is_met):
    return name, figure, want, "yes" if is_met else "**no**"


def differences(before, after):
    return "; ".join(f"{key}: {before.get(key)} to {after.get(key)}" for key in sorted({*before, *after})
                     if before.get(key) != after.get(key)) or "as before"


def is_back(before, after):
    """Tables keep the size of their busiest moment, and the storm may have had a busier one than the warm-up."""
    return before.keys() == after.keys() and all(
        after[key] == was or key in ("stream", "wire", "sched", "text") and after[key] <= was + GROWN_MOST
        for key, was in before.items())


def report(seconds, total, before, after, alone, voice, eye, late):
    count = total["count"]
    first, again = ([count[f"{when}: {word}"] for word in ("admitted", "refused")] for when in ("first retry", "retry"))
    third = max(1, len(eye.rss_kb) // 3)
    calm, end = max(eye.rss_kb[third:2 * third], default=0), max(eye.rss_kb[-third:], default=0)
    waits = [f"{1000 * common.part(v, 500):.0f} / {1000 * common.part(v, 990):.0f}" for v in (alone, voice.waits)]
    drain_ms = 1000 * eye.most_of_all * seconds // max(1, count["answered"])
    harm = common.part(voice.waits, 500) - common.part(alone, 500)
    return [
        row("requests sent", f"{count['asked']} ({count['asked'] / seconds:.0f} a second)", "-", True),
        row("answered in full, compared token by token", f"{count['answered']}, {count['wrong tokens']} wrong", "0 wrong",
            count["wrong tokens"] == 0),
        row("cancelled; ended by a client that disconnected", f"{count['cancelled']}; {count['left in the middle']}", "-", True),
        row("most requests that waited at once, all users", eye.most_waiting, f"<= {WAITING_MOST}", eye.most_waiting <= WAITING_MOST),
        row("most live requests of one user", eye.most_live, "<= 64", eye.most_live <= 64),
        row("refused at once", count["refused at once"], "-", True),
        row("refused without a retry-after", count["refused without a time"], "0",
            count["refused without a time"] == 0),
        row("longest retry-after, ms (for a request with a deadline)",
            f"{total['longest_ms']} ({total['longest_deadline_ms']})",
            f"<= {drain_ms * TOLD_TIMES:.0f}: {TOLD_TIMES} times as long as {eye.most_of_all} live requests took",
            total["longest_ms"] <= drain_ms * TOLD_TIMES),
        row("first retries, sent at the retry-after: admitted", f"{first[0]} of {sum(first)} ({percent(first):.1f} %)",
            "-", True),
        row("all retries, sent at the retry-after: admitted", f"{again[0]} of {sum(again)} ({percent(again):.1f} %)",
            "-", True),
        row("requests with a deadline: admitted; refused", f"{count['deadline admitted']}; {count['deadline refused']}", "-", True),
        row("admitted deadlines missed (by sottod's counter)", late, "<= 0.1 %", late <= count["deadline admitted"] / 1000),
        row("ended in another way", count["ended otherwise"], "0", count["ended otherwise"] == 0),
        row("connections closed by sottod", count["connections closed by sottod"], "0",
            count["connections closed by sottod"] == 0),
        row("realtime first token before the overload, ms, median / 99 %", waits[0], "-", True),
        row("realtime first token during it", f"{waits[1]} of {len(voice.waits)}", f"median within a step ({STEP_MS} ms) of the row above",
            harm <= STEP_MS / 1000),
        row("realtime answers that differ", len(voice.tokens) - 1, "0", len(voice.tokens) == 1),
        row("most descriptors of sottod; most wire bytes", f"{eye.most_descriptors}; {eye.most_wire}", "-", True),
        row("RSS of sottod, KiB: most in the second third; in the last third", f"{calm}; {end}", "+ 2 % at most",
            end <= calm * 1.02),
        row("in use after all have disconnected (bytes by kind, descriptors, pages, sequences)",
            differences(before, after), f"as before the overload; {GROWN_MOST} bytes more of a kind at most",
            is_back(before, after)),
    ]


def soak(minutes):
    seconds = minutes * 60
    with Daemon(script=f"always do slow {TOKEN_MS}\n", start=False,
                models={"tiny": {"sequences": N_SEQUENCES, "context": 512}},
                policy=[{"uid": os.geteuid(), "admin": True, "observe": True, "class_ceiling": "realtime"},
                        {"anyone": True, "class_ceiling": "interactive"}]) as daemon:
        os.chmod(daemon.folder, 0o755)
        daemon.start()
        os.chmod(daemon.socket, 0o777)
        daemon.wait_ready()
        with daemon.client() as client:
            tokens = [client.answer(client.ask(request(prompt, pb.CLASS_INTERACTIVE, N_TOKENS))).tokens
                      for prompt in PROMPTS]
        with Voice(daemon) as voice:
            time.sleep(10)
        alone = voice.waits
        voice.client.close()
        storm(daemon, WARM_S, tokens, 1)
        time.sleep(8)
        before = held(daemon.status())
        was_late = daemon.counter("sotto_deadlines_missed_total")
        with Voice(daemon) as voice, Eye(daemon) as eye:
            total = storm(daemon, seconds, tokens, 1000)
        voice.client.close()
        eye.client.close()
        try:
            settle(daemon, before)
        except AssertionError:
            pass  # the table shows it
        late = daemon.counter("sotto_deadlines_missed_total") - was_late
        return report(seconds, total, before, held(daemon.status()), alone, voice, eye, late), total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("minutes", nargs="?", type=float, default=60.0)
    parser.add_argument("--out", default=".")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    rows, total = soak(options.minutes)
    users = f"{N_APPS} apps of {N_USERS} users" if os.geteuid() == 0 else \
        f"{8 * N_USERS} apps of one user (not root: eight users, and fairness between them, are left out)"
    lines = ["# Overload", "", f"Written by `./dev soak {options.minutes:g}`: {users}, {options.minutes:g} minutes, "
             f"{TIMES} times the capacity, on {common.machine_words()}. The fake engine gives {1000 / TOKEN_MS / N_TOKENS:g} answers "
             f"of {N_TOKENS} tokens a second: {N_SEQUENCES} sequences at once, {STEP_MS} ms for a step of all of them.", "",
             common.table(("figure", "in this run", "wanted", "met"), rows), ""]
    lines += [f"Ended in another way: {n} × {word}" for word, n in total["others"].items()]
    with open(os.path.join(options.out, "soak.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    print("\n".join(lines))
    sys.exit(any(cells[3] != "yes" for cells in rows))


if __name__ == "__main__":
    main()
