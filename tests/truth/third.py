"""The third implementation: real models, answered by sottod and by llama.cpp (PyPI: llama-cpp-python).

Fifty prompts are answered greedily with 128 tokens each; both programs get the same ids. Where two answers diverge, the
margin shows whether rounding can be the cause: it is the difference between the two best log-probabilities at that token,
as each program computes them.

The KL divergence is that of sotto's distribution from llama.cpp's, over all positions that follow the same text. sotto
reports its 1,024 best tokens; the rest counts as one more token. llama.cpp has its own rule for rounding activations to 8
bits. So `truth`, which multiplies floats, differs from it about as often as `cpu` does.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy

import sotto

N_TOKENS = 128
N_TOP = 1024
BOUND = 0.6  # of a margin, where weights in blocks meet activations of 8 bits: docs/engine.md, "Bits"

PROMPTS = """
The capital of France is
Water boils at a temperature of
My favourite season is autumn because
Once upon a time there was a lighthouse keeper who
To change a flat tyre, first
The engine of a car needs oil because
In winter, drivers should
A good recipe for pancakes begins with
The three laws of motion say that
She opened the old letter and read:
The train to Hamburg leaves at
If it rains tomorrow, we will
An electric motor works by
The largest planet in the solar system is
Dear Sir or Madam,
The history of the bicycle began in
When the traffic light turns red, you
Bees are important to farmers because
The ship left the harbour at dawn and
How do I reset the clock in my car?
List three cities in Italy:
The difference between a lake and a sea is
He had never seen snow before, so
To save fuel, drive
The moon affects the tides because
A short poem about the night:
The quick brown fox
Photosynthesis is the process by which
def fibonacci(n):
for (int i = 0; i < n; i++) {
SELECT name, age FROM people WHERE
1, 1, 2, 3, 5, 8, 13,
Monday, Tuesday, Wednesday,
Question: What is the boiling point of water? Answer:
Question: Who wrote Hamlet? Answer:
Question: How many legs has a spider? Answer:
The meeting was moved from Tuesday to
Turn left at the next crossing, then
The weather in Lisbon in May is usually
According to the manual, the brake pads
Bonjour, je m'appelle
Guten Morgen! Heute ist
The recipe calls for two cups of flour and
When she was a child, her grandmother told her that
The best way to learn a language is
Mount Everest is
A battery stores energy in the form of
The museum is open from
Please write a polite answer to this complaint:
In the year 2050, cars will
""".strip().split("\n")


def log_softmax(logits):
    logits = numpy.asarray(logits, dtype=numpy.float64)
    logits = logits - logits.max()
    return logits - numpy.log(numpy.exp(logits).sum())


class Peer:
    """llama.cpp with one model."""

    def __init__(self, path, n_threads):
        import llama_cpp
        self.version = llama_cpp.__version__
        self.llama = llama_cpp.Llama(path, n_ctx=512, n_batch=512, n_threads=n_threads, n_threads_batch=n_threads,
                                     logits_all=True, verbose=False)

    def tokenize(self, text):
        return self.llama.tokenize(text.encode(), add_bos=True, special=False)

    def answer(self, ids):
        """The greedy ids, and the log-probabilities from which each was chosen."""
        self.llama.reset()
        self.llama.eval(ids)
        tokens, rows = [], []
        for _ in range(N_TOKENS):
            row = log_softmax(self.llama.scores[self.llama.n_tokens - 1])
            tokens.append(int(row.argmax()))
            rows.append(row)
            self.llama.eval(tokens[-1:])
        return tokens, rows


class Daemon:
    """sottod with one model, on two backends."""

    def __init__(self, path):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "sock")
        self.build = os.path.dirname(os.path.dirname(os.path.dirname(sotto.TOOL)))
        config = os.path.join(self.folder.name, "sotto.json")
        path = os.path.abspath(path)
        with open(config, "w", encoding="utf-8") as out:
            models = {name: {"file": path, "backend": name, "load": True} for name in ("cpu", "truth")}
            json.dump({"models": models}, out)
        self.process = subprocess.Popen([os.path.join(self.build, "daemon", "app", "sottod"), "--config", config,
                                         "--socket", self.socket], stderr=subprocess.DEVNULL)
        while not os.path.exists(self.socket):
            if self.process.poll() is not None:
                sys.exit("sottod ended at its start")
            time.sleep(0.05)

    def answer(self, backend, ids):
        words = [os.path.join(self.build, "clients", "sotto"), "--socket", self.socket, "generate", "--json", "--model",
                 backend, "--temperature", "0", "--max-tokens", str(N_TOKENS), "--ignore-end", "--logprobs", str(N_TOP),
                 "--tokens", ",".join(map(str, ids))]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        answer = json.loads(done.stdout)
        return answer["tokens"], [row["top"] for row in answer["logprobs"]]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def divergence(row, top):
    """KL(llama.cpp || sotto) at one position."""
    ids = [entry["id"] for entry in top]
    ours = numpy.array([entry["logprob"] for entry in top], dtype=numpy.float64)
    theirs = row[ids]
    rest_ours = max(1 - numpy.exp(ours).sum(), 1e-12)
    rest_theirs = max(1 - numpy.exp(theirs).sum(), 1e-12)
    return float((numpy.exp(theirs) * (theirs - ours)).sum() + rest_theirs * numpy.log(rest_theirs / rest_ours))


def compare(theirs, ours):
    """The first position where they differ (N_TOKENS: none), the smaller margin there, and the divergences up to it."""
    tokens, rows = theirs
    mine, tops = ours
    n = next((i for i, (a, b) in enumerate(zip(tokens, mine)) if a != b), N_TOKENS)
    kl = [divergence(rows[i], tops[i]) for i in range(min(n + 1, N_TOKENS))]
    if n == N_TOKENS:
        return n, 0.0, kl
    best = numpy.sort(rows[n])[-2:]
    return n, min(float(best[1] - best[0]), tops[n][0]["logprob"] - tops[n][1]["logprob"]), kl


def check_model(name, path, table, n_threads):
    peer, daemon = Peer(path, n_threads), Daemon(path)
    n_words_equal = 0
    parts = {"cpu": [], "truth": []}
    for prompt in PROMPTS:
        ids = peer.tokenize(prompt)
        own = json.loads(sotto.tool("tokenize", "--special", "--json", "--file", path, prompt))["tokens"]
        n_words_equal += own == ids
        theirs = peer.answer(ids)
        for backend, found in parts.items():
            found.append(compare(theirs, daemon.answer(backend, ids)))
        print(f"        {name}: {prompt[:40]!r}: equal up to {[found[-1][0] for found in parts.values()]}", flush=True)
    daemon.close()
    for backend, found in parts.items():
        whole = sum(n == N_TOKENS for n, _, _ in found)
        margins = [margin for n, margin, _ in found if n < N_TOKENS]
        kl = numpy.concatenate([k for _, _, k in found])
        explained = whole + sum(margin < BOUND for margin in margins)
        of = f"of {len(PROMPTS)}"
        table.row(explained == len(PROMPTS) and n_words_equal == len(PROMPTS), name, backend, f"{n_words_equal} {of}",
                  f"{whole} {of}", f"{explained} {of}", int(numpy.median([n for n, _, _ in found])),
                  f"{max(margins, default=0):.3f}", f"{kl.mean():.5f}", f"{numpy.median(kl):.6f}")
    return peer.version


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keep", action="store_true", help="write the table into docs/truth.md")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE")
    args = parser.parse_args()
    models = [model.split("=", 1) for model in args.model]
    if not models:
        path = subprocess.run([os.path.join(sotto.ROOT, "dev"), "model"], capture_output=True, text=True, check=True)
        models = [["SmolLM2-135M-Instruct Q4_1", path.stdout.strip().split("\n")[-1]]]
    table = sotto.Table("Greedy answers of real models", "model", "backend", "prompts with the same ids",
                        "the same 128 tokens", f"the same up to a margin below {BOUND}", "median length of the equal beginning",
                        "largest margin where they differ", "mean KL", "median KL")
    for name, path in models:
        version = check_model(name, path, table, args.threads)
    if args.keep:
        sotto.keep("third", [table], f"## The third implementation\n\nllama.cpp as llama-cpp-python {version} builds it.\n"
                   + __doc__.strip().split("\n\n", 1)[1] + "\n")
    print(f"{len(table.lines) - 2 - table.n_failed} passed, {table.n_failed} failed")
    return 1 if table.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
