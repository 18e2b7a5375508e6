#!/usr/bin/python3
"""./dev bench: sottod beside the server of llama.cpp, on the same model file, threads and requests, in one run.

The two take turns, a few trials each, so that both meet the same moods of the machine. Only one of them works at a time.
A trial is the time from a request, with its connection, to its first token. Prompts differ, so that nothing is cached of
them but what the trial is about. Then one innocent realtime request of sottod is timed beside each crowd of other users.

Writes docs/bench.md (or --out).
"""
import argparse
import contextlib
import itertools
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import common
import machine
import section
from crowds import FIRST_UID, FLOODS, Busy, flood, talk
from servers import Ours, Theirs
import sotto_pb2 as pb

N_SLOTS, N_FAIR_SLOTS = 33, 8
BLOCK = 20  # trials in a row before the other server's turn
WORDS = "the road to the lake was closed after rain so they took the longer way over old hills and talked about home".split()
FAIR_WARM_S = 2.0


def prompt(number, n_words=40):
    """A prompt like no other: its first word is its number."""
    return f"{number}: " + " ".join(WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(n_words))


PROMPTS = map(prompt, itertools.count(1))
LONG_PROMPTS = (prompt(number, 700) for number in itertools.count(1_000_000))


def milliseconds_since(begun):
    return 1000 * (time.monotonic() - begun)


# ---- trials: each returns milliseconds

def first_token(server):
    begun = time.monotonic()
    stream = server.ask(next(PROMPTS), 4)
    stream.first()
    took = milliseconds_since(begun)
    stream.read(4)
    stream.close()
    return took


def after_cancel(server):
    """A long prompt is being computed; from its cancel to the first token of another request."""
    stream = server.ask(next(LONG_PROMPTS), 4)
    time.sleep(0.05)
    begun = time.monotonic()
    stream.cancel()
    other = server.ask(next(PROMPTS), 4)
    other.first()
    took = milliseconds_since(begun)
    for each in other, stream:
        each.close()
    return took


def barge_in(server):
    """An answer is being spoken; from its cancel to the first token of the next turn of the same conversation."""
    said = next(PROMPTS)
    stream = server.ask(said, 200)
    stream.read(10)
    begun = time.monotonic()
    stream.cancel()
    other = server.ask(f"{said}{stream.text} Wait, what about", 4)
    other.first()
    took = milliseconds_since(begun)
    for each in other, stream:
        each.close()
    return took


# Name, long answers beside, trial.
CASES = [("first token, beside nothing", 0, first_token),
         ("first token, beside 8 long answers", 8, first_token),
         ("first token, beside 32 long answers", 32, first_token),
         ("from a cancel in mid-prompt to the next one's first token", 0, after_cancel),
         ("barge-in, beside nothing", 0, barge_in),
         ("barge-in, beside 8 long answers", 8, barge_in)]


class Figures:
    """The times of one case and server; they end early when their time is up."""

    def __init__(self, seconds):
        self.ms, self.left_s = [], seconds

    def add(self, trial, server, n):
        begun = time.monotonic()
        for _ in range(n):
            if time.monotonic() - begun > self.left_s:
                break
            self.ms.append(trial(server))
        self.left_s -= time.monotonic() - begun

    def median(self):
        return common.part(self.ms, 500)

    def words(self):
        return f"{self.median():.0f} / {common.part(self.ms, 990):.0f}"


def measure(case, servers, asked):
    """{name of the server: Figures}, the servers taking turns."""
    name, n_beside, trial = case
    figures = {server.name: Figures(asked.seconds) for server in servers}
    for at in range(0, asked.trials, BLOCK):
        for server in servers:
            with Busy(talk, server, PROMPTS, n_beside, 400, pb.CLASS_BACKGROUND):
                if at == 0:
                    trial(server)  # not counted
                figures[server.name].add(trial, server, min(BLOCK, asked.trials - at))
    print(f"{name}: " + ", ".join(f"{server} {each.words()} ms of {len(each.ms)}" for server, each in figures.items()),
          flush=True)
    return figures


def compare(servers, asked):
    rows = []
    for case in CASES:
        ours, theirs = measure(case, servers, asked).values()
        rows.append((case[0], f"{ours.words()} ({len(ours.ms)})", f"{theirs.words()} ({len(theirs.ms)})",
                     f"{theirs.median() / ours.median():.1f}"))
    return common.table(("median / 99th percentile in ms (trials)", *(server.name for server in servers), "ratio of medians"),
                        rows)


# ---- two accounts

def share(server, asked):
    """Tokens a second of two users: one with 8 requests at a time, one with 24; there are 8 slots."""
    uid = FIRST_UID if os.geteuid() == 0 else None
    with Busy(talk, server, PROMPTS, 24, 32, pb.CLASS_INTERACTIVE, uid=uid) as many, \
            Busy(talk, server, PROMPTS, 8, 32, pb.CLASS_INTERACTIVE, uid=uid and uid + 1) as few:
        time.sleep(FAIR_WARM_S)
        counts, begun = (few.count.value, many.count.value), time.monotonic()
        time.sleep(asked.seconds / 2)
        seconds = time.monotonic() - begun
        few_s, many_s = (few.count.value - counts[0]) / seconds, (many.count.value - counts[1]) / seconds
    print(f"two users: {server.name} {few_s:.0f} and {many_s:.0f} tokens a second", flush=True)
    return server.name, f"{few_s:.0f}", f"{many_s:.0f}", f"{100 * few_s / max(few_s + many_s, 1e-9):.0f} %"


# ---- crowds

def beside(server, asked, crowd, cores):
    """The time of one innocent request beside @crowd, whose processes run on @cores."""
    name, make, n_connections, n_users, n_frames = crowd
    figures = Figures(asked.seconds)
    with contextlib.ExitStack() as users:
        for i in range(n_users):
            users.enter_context(Busy(flood, server.daemon.socket, make, n_connections, n_frames, uid=FIRST_UID + i, cores=cores))
        figures.add(first_token, server, asked.trials)
    print(f"beside {name}, on cores {cores}: {figures.words()} ms of {len(figures.ms)}", flush=True)
    return figures


def beside_crowds(server, asked):
    alone = Figures(asked.seconds)
    alone.add(first_token, server, asked.trials + 1)
    del alone.ms[0]
    places = [asked.cores.ours] + [asked.cores.others] * bool(asked.cores.others)
    rows = [("nothing", *[f"{alone.words()} ({len(alone.ms)})", "1.0"] * len(places))]
    for crowd in FLOODS:
        row = [crowd[0]]
        for cores in places:
            figures = beside(server, asked, crowd, cores)
            row += [f"{figures.words()} ({len(figures.ms)})", f"{figures.median() / alone.median():.1f}"]
        rows.append(row)
    head = ["beside", "the crowd on the same cores: median / 99th percentile in ms (trials)", "times its median alone"]
    return common.table(head + ["the crowd on other cores", "times its median alone"] * (len(places) - 1), rows)


# ---- the page

def page(asked, tables, busyness):
    return f"""# Beside another server

Written by `./dev bench` at commit {asked.commit}: {os.path.basename(asked.model)}, {asked.threads} threads,
{asked.trials} trials or {asked.seconds:.0f} s, on {len(asked.cores.ours)} cores of {machine.processor()}.

Meanwhile {busyness.words()}.

The other server is `llama-server` as built from the sources in the PyPI package {asked.peer}, with the same
file and threads, {N_SLOTS} slots of 1,024 tokens (sottod has as many), and its other settings as they are.

The two take turns of {BLOCK} trials, and only one works at a time. A time is that from the request, with its connection, to the
first token; connections are a Unix socket there and HTTP over loopback here. Prompts have about 50 tokens and differ. Long answers
have 400 tokens; when one ends the next begins. The timed requests are of class realtime, the long answers of class background:
llama-server has no classes.

{tables[0]}

Two users share {N_FAIR_SLOTS} slots: one has 8 requests at a time, the other 24, with answers of 32 tokens. Half of the tokens each
would be fair. llama-server has no users.

{tables[1]}

## Beside crowds

One realtime request of a user at a time, beside crowds of other users that send as fast as sottod takes it, and throw the
answers away. On the same cores the crowds' own processes take their part of the time, too.

{tables[2]}
"""


def fair(asked):
    rows = []
    for server in servers_of(asked, N_FAIR_SLOTS):
        with running([server]):
            rows.append(share(server, asked))
    return common.table(("server", "tokens a second of the user with 8", "with 24", "share of the former"), rows)


def servers_of(asked, n_slots):
    return [Ours(asked.model, n_slots, asked.threads),
            Theirs(asked.llama_server, asked.model, n_slots, asked.threads)]


@contextlib.contextmanager
def running(servers):
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="GGUF file")
    parser.add_argument("--llama-server", required=True, help="program")
    parser.add_argument("--peer", default="llama-cpp-python", help="the package that it is from")
    parser.add_argument("--cores", type=int, help="so many are used; crowds are measured on the other ones, too (all)")
    parser.add_argument("--threads", type=int, help="of each server (as many as cores)")
    parser.add_argument("--trials", type=int, default=100, help="of each case and server (100)")
    parser.add_argument("--seconds", type=float, default=15, help="the most for each case and server (15)")
    parser.add_argument("--commit", default="unknown", help="of sotto, for the page")
    parser.add_argument("--out", default=os.path.join(common.TOP, "docs", "bench.md"))
    asked = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench: run it as root: the crowds are other users")
    asked.cores = machine.Cores(asked.cores)
    asked.threads = asked.threads or len(asked.cores.ours)
    busyness = machine.Busyness(asked.cores)
    with running(servers_of(asked, N_SLOTS)) as servers:
        tables = [compare(servers, asked)]
        servers[1].stop()
        crowds = beside_crowds(servers[0], asked)
    tables += [fair(asked), crowds]
    text = page(asked, tables, busyness) + section.kept(asked.out, "in process")
    with open(asked.out, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"written: {asked.out}")


if __name__ == "__main__":
    main()
