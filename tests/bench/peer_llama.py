#!/usr/bin/python3
"""The work of peer.py, done by llama.cpp through the bindings of llama-cpp-python. Reads the work as JSON from standard
input and prints the seconds that each case took, as JSON.

Only the bindings are loaded, not the rest of the package. No token is sampled: the next ones are given, so that the time is
that of the model alone.
"""
import ctypes
import json
import os
import sys
import time
import types
import typing

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
N_UBATCH = 512  # rows of a step, as is usual there
SPARE = 64      # positions beside those that are needed


def bindings(folder):
    package = types.ModuleType("llama_cpp")
    package.__path__ = [folder]
    sys.modules["llama_cpp"] = package
    sys.modules.setdefault("typing_extensions", typing)  # of it only TypeAlias is used
    from llama_cpp import llama_cpp as llama
    return llama


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * PAGE_BYTES


class Peer:
    def __init__(self, llama, path, threads):
        self.llama, self.threads = llama, threads
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = 0
        self.model = llama.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            sys.exit(f"llama.cpp can't load {path}")
        self.n_vocab = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self.model))

    def context(self, n_seqs, n_each):
        params = self.llama.llama_context_default_params()
        params.n_ctx, params.n_seq_max = n_seqs * n_each, n_seqs
        params.n_batch = params.n_ubatch = N_UBATCH
        params.n_threads = params.n_threads_batch = self.threads
        context = self.llama.llama_init_from_model(self.model, params)
        if not context:
            sys.exit("llama.cpp can't make a context")
        return Context(self, context, n_seqs)


class Context:
    def __init__(self, peer, context, n_seqs):
        self.peer, self.llama, self.context, self.n_seqs = peer, peer.llama, context, n_seqs
        self.batch = self.llama.llama_batch_init(N_UBATCH, 0, 1)

    def clear(self):
        self.llama.llama_memory_clear(self.llama.llama_get_memory(self.context), True)

    def close(self):
        self.llama.llama_batch_free(self.batch)
        self.llama.llama_free(self.context)

    def step(self, rows):
        """@rows: (sequence, position, whether logits are wanted)"""
        for i, (seq, position, wanted) in enumerate(rows):
            self.batch.token[i] = (seq * 7919 + position * 104729) % self.peer.n_vocab
            self.batch.pos[i] = position
            self.batch.n_seq_id[i] = 1
            self.batch.seq_id[i][0] = seq
            self.batch.logits[i] = wanted
        self.batch.n_tokens = len(rows)
        if self.llama.llama_decode(self.context, self.batch):
            sys.exit("llama_decode failed")

    def read(self, n_tokens):
        """Reads a prompt into each sequence, with logits behind its last token; returns the seconds."""
        rows = [(seq, position, position == n_tokens - 1) for seq in range(self.n_seqs) for position in range(n_tokens)]
        begun = time.monotonic()
        for at in range(0, len(rows), N_UBATCH):
            self.step(rows[at:at + N_UBATCH])
        self.llama.llama_synchronize(self.context)
        return time.monotonic() - begun

    def decode(self, first, n_steps):
        begun = time.monotonic()
        for position in range(first, first + n_steps):
            self.step([(seq, position, True) for seq in range(self.n_seqs)])
            self.llama.llama_synchronize(self.context)
        return time.monotonic() - begun


def main():
    work = json.load(sys.stdin)
    llama = bindings(work["folder"])
    quiet = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(quiet, ctypes.c_void_p(0))
    begun = time.monotonic()
    peer = Peer(llama, work["model"], work["threads"])
    cases, seconds, ready = work["cases"], [], None
    n_resident = 0
    for case in cases:
        context = peer.context(case["batch"], case["context"] + case["steps"] + SPARE)
        context.read(1)  # also what the first step allocates is not timed
        if ready is None:
            ready = time.monotonic() - begun
        context.clear()
        took = context.read(case["context"])
        if case["work"] == "decode":
            context.decode(case["context"], 1)
            took = context.decode(case["context"] + 1, case["steps"])
        seconds.append(took)
        n_resident = n_resident or resident_bytes()
        context.close()
    print(json.dumps({"seconds": seconds, "ready": ready, "resident": n_resident}))


if __name__ == "__main__":
    main()
