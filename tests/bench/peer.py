#!/usr/bin/python3
"""./dev bench peer: the same work by sotto and by llama.cpp, each in one process of its own, in turns.

In each turn both read a prompt and decode, with the same file, threads, batches and contexts, in random order; only one of
them works at a time. A ratio is that of two rates of one turn, so it survives a machine that changes from turn to turn; the
table has medians. Where the processor gains by it, sotto is measured with a packed copy of the file, too.

Writes a section of docs/bench.md (or --out).
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import common
import section

STEPS = 16
PROMPT, CONTEXT, LONG, BATCHES = 512, 64, 2048, (4, 8)
CASES = [{"work": "prompt", "batch": 1, "context": PROMPT, "steps": 1}] + \
    [{"work": "decode", "batch": n, "context": CONTEXT, "steps": STEPS} for n in (1, *BATCHES)] + \
    [{"work": "decode", "batch": 1, "context": LONG, "steps": STEPS}]
TOOL = os.path.join(common.BUILD, "daemon", "tool", "sotto-tool")
MIB = 1 << 20


def tokens_of(case):
    return case["batch"] * (case["context"] if case["work"] == "prompt" else case["steps"])


def words_of(case):
    if case["work"] == "prompt":
        return f"prompt of {case['context']} tokens"
    return f"decode, {case['batch']} sequence{'s' * (case['batch'] > 1)}, context {case['context']}"


# ---- one turn of each: {"rates": tokens a second of each case, "ready": seconds, "resident": bytes}

def ours(path, threads):
    out = subprocess.run(
        [TOOL, "bench", "--json", "--threads", str(threads), "--batch", ",".join(map(str, (1, *BATCHES))),
         "--context", f"{CONTEXT},{LONG}", "--kv-format", "f16", "--prompt", str(PROMPT), "--decode", str(STEPS), "--repeat", "1",
         "--seconds", "3600", path], check=True, stdout=subprocess.PIPE).stdout
    model, = json.loads(out)["models"]
    rows = {(row["work"], row["batch"], row["context_tokens"]): row for row in model["rows"]}
    wanted = [rows.get((case["work"], case["batch"], case["context"])) for case in CASES]
    if None in wanted:
        sys.exit(f"bench: sotto left out {model['left_out']}")
    return {"rates": [row["tokens_per_second"] for row in wanted], "shares": [row["share_of_bound"] for row in wanted],
            "bounds": [row["bound"] for row in wanted], "ready": model["ready_seconds"], "resident": model["resident_bytes"]}


def theirs(folder, path, threads):
    work = {"folder": folder, "model": path, "threads": threads, "cases": CASES}
    done = subprocess.run([sys.executable, os.path.join(common.TOP, "tests", "bench", "peer_llama.py")], input=json.dumps(work).encode(),
                          stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"bench: the process of llama.cpp ended with {done.returncode}"
                 + " (was it built for another processor?)" * (done.returncode < 0))
    told = json.loads(done.stdout)
    return {"rates": [tokens_of(case) / seconds for case, seconds in zip(CASES, told["seconds"])], **told}


# ---- figures

def ratios(turns, name, other, key):
    """The medians over turns of (@name's / @other's), for each case, or for a single value."""
    def of(turn):
        a, b = turn[name][key], turn[other][key]
        return [x / y for x, y in zip(a, b)] if isinstance(a, list) else [a / b]
    return [statistics.median(column) for column in zip(*map(of, turns))]


def medians(turns, name, key):
    return [statistics.median(column) for column in zip(*(turn[name][key] for turn in turns))]


def rows_of(turns):
    """Rows of the table for one file; @turns: [{"sotto": ..., "packed": ... or absent, "llama.cpp": ...}]"""
    packed = "packed" in turns[0]
    ours_in_front = ["sotto"] + ["packed"] * packed
    best = ours_in_front[-1]
    shares = [statistics.median(column) if None not in column else None
              for column in zip(*(turn[best]["shares"] for turn in turns))]
    rows = []
    for i, case in enumerate(CASES):
        cells = [words_of(case)]
        cells += [f"{medians(turns, name, 'rates')[i]:.1f}" for name in ours_in_front]
        cells.append(f"{medians(turns, 'llama.cpp', 'rates')[i]:.1f}")
        cells += [f"{ratios(turns, name, 'llama.cpp', 'rates')[i]:.2f}" for name in ours_in_front]
        bound = statistics.mode(turn[best]["bounds"][i] for turn in turns)
        cells.append(f"{100 * shares[i]:.0f} % of {bound}" if shares[i] else "unknown")
        rows.append(cells)
    return rows


def head_of(turns):
    names = ["sotto"] + ["sotto, packed"] * ("packed" in turns[0])
    return ["tokens/s", *names, "llama.cpp"] + [f"{name} / llama.cpp" for name in names] + [f"{names[-1]}: of the limit"]


def text_of(path, turns):
    name = "packed" if "packed" in turns[0] else "sotto"

    def middle(who, key):
        return statistics.median(turn[who][key] for turn in turns)

    return f"""### {os.path.basename(path)}

{common.table(head_of(turns), rows_of(turns))}

From the open file to a model that has computed a token: sotto{', packed,' * (name == 'packed')} {middle(name, 'ready'):.2f} s, \
llama.cpp {middle('llama.cpp', 'ready'):.2f} s; ratio {ratios(turns, name, 'llama.cpp', 'ready')[0]:.2f}.
Resident: sotto {middle(name, 'resident') / MIB:.0f} MiB, llama.cpp {middle('llama.cpp', 'resident') / MIB:.0f} MiB, \
for a file of {os.path.getsize(path) / MIB:.0f} MiB.
"""


# ---- the run

def may_gain_by_packing():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        return "avx512_vnni" in info.read()


def measure(path, asked, folder):
    """[{name: turn}] for one file"""
    players = {"sotto": lambda: ours(path, asked.threads),
               "llama.cpp": lambda: theirs(asked.bindings, path, asked.threads)}
    if may_gain_by_packing():
        packed = os.path.join(folder, "packed.gguf")
        subprocess.run([TOOL, "pack", "--force", path, packed], check=True, stdout=subprocess.DEVNULL)
        players["packed"] = lambda: ours(packed, asked.threads)
    turns = []
    for number in range(asked.turns):
        order = list(players)
        random.shuffle(order)
        turn = {}
        for name in order:
            print(f"{os.path.basename(path)}: turn {number + 1} of {asked.turns}, {name}", file=sys.stderr, flush=True)
            turn[name] = players[name]()
        turns.append(turn)
    return turns


def page(asked, texts, load_before):
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith(("model name", "Model"))]
    return f"""## In process, beside llama.cpp

Written by `./dev bench peer` at commit {asked.commit}: {asked.turns} turns with {asked.threads} threads on \
{names[0] if names else os.uname().machine}; load average {load_before:.1f} before and {os.getloadavg()[0]:.1f} after.
llama.cpp is that of the PyPI package {asked.peer}, built for this processor, with its usual settings. Rates are medians
over turns, and so are ratios of two rates of one turn. sotto draws its tokens, greedily; for llama.cpp they are given. The last
column is the share of the bandwidth, or of the peak of 8-bit arithmetic, as measured beside it (`sotto bench`).

""" + "\n".join(texts)


def main():
    commit = subprocess.run(["git", "-C", common.TOP, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip() or "unknown"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--bindings", required=True, help="the folder llama_cpp of llama-cpp-python, with its library")
    parser.add_argument("--peer", default="llama-cpp-python", help="the package that it is from")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--commit", default=commit, help="of sotto, for the page")
    parser.add_argument("--out", default=os.path.join(common.TOP, "docs", "bench.md"))
    asked = parser.parse_args()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        texts = [text_of(path, measure(path, asked, folder)) for path in asked.models]
    text = page(asked, texts, load_before)
    section.put(asked.out, "in process", text)
    print(text)


if __name__ == "__main__":
    main()
