#!/usr/bin/python3
"""Embeddings through the socket: their values, their bits, which requests get none, and what a lost engine does to
them."""
import json
import math
import os
import shutil
import signal
import struct
import tempfile
import time

import maker
import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon, calm, settle, truth
from reader import File, hidden_states
from tap import equal, fact, holds, note

TEXT = "Once upon a time, there was a little girl"
MEAN, FIRST, LAST = 1, 2, 3
POOLED = {MEAN: lambda states: [math.fsum(column) / len(states) for column in zip(*states)],
          FIRST: lambda states: states[0], LAST: lambda states: states[-1]}
BOUND = 1e-5  # of a value; F32 weights and an f32 cache

folder = tempfile.mkdtemp(prefix="sotto-embed-")
plain = None


def as_float(word):
    return struct.unpack("<f", struct.pack("<f", float(word)))[0]


def u32(name, value):
    return name, maker.key(name, maker.U32, struct.pack("<I", value))


def flag(name, value):
    return name, maker.key(name, maker.BOOL, bytes([value]))


def stories(*keys):
    """A daemon with the small trained model, as if it were made for embedding as @keys say."""
    global plain
    plain = plain or File(truth("models/stories260K-f32.gguf"))
    path = plain.write_with(os.path.join(folder, f"{len(os.listdir(folder))}.gguf"), *keys)
    return Daemon(engine="real", models={"tiny": {"file": path, "kv_format": "f32", "threads": 1}})


def embedding(client, ask):
    answer = client.one(ask)
    holds(isinstance(answer, pb.Embedding), answer)
    return answer


def refused(client, ask, code, field=""):
    answer = client.one(ask)
    holds(isinstance(answer, pb.Error), answer)
    equal((pb.Code.Name(answer.code), answer.field), (code, field), answer)
    holds(answer.message, "a sentence")
    return answer.message


def tokens_of(client, text):
    return list(client.one(pb.Tokenize(text=text.encode(), special=True)).ids)


@fact
def values_are_the_pooled_hidden_states_of_a_computation_in_float64():
    states = None
    for kind, pool in POOLED.items():
        with stories(u32("llama.pooling_type", kind)) as daemon, daemon.client() as client:
            equal(daemon.wait_ready().embedding_values, 64)
            ids = tokens_of(client, TEXT)
            states = states or hidden_states(plain, ids)
            expected = pool(states)
            length = math.sqrt(math.fsum(v * v for v in expected))
            unit = embedding(client, pb.Embed(text=TEXT.encode()))
            raw = embedding(client, pb.Embed(tokens=pb.TokenIds(ids=ids), raw=True))

            equal((len(unit.values), unit.prompt_tokens, unit.model), (64, len(ids), "tiny"))
            holds(unit.numerics.endswith("kv-f32"), unit.numerics)
            worst = max(abs(got - want / length) for got, want in zip(unit.values, expected))
            holds(worst <= BOUND, f"pooling {kind}: off by {worst}")
            worst_raw = max(abs(got - want) for got, want in zip(raw.values, expected))
            holds(worst_raw <= BOUND * max(1, length), f"pooling {kind}, raw: off by {worst_raw}")
            note(f"pooling {kind}: largest difference {worst:.2g}, raw {worst_raw:.2g}")
            holds(abs(math.sqrt(math.fsum(v * v for v in unit.values)) - 1) < 1e-6, "its length is 1")


@fact
def the_bits_do_not_depend_on_the_company():
    with stories(u32("llama.pooling_type", MEAN)) as daemon, daemon.client() as client:
        daemon.wait_ready()
        text = (TEXT + ". ") * 12
        alone = embedding(client, pb.Embed(text=text.encode()))
        answers = [client.ask(generate(TEXT, max_tokens=60, seed=i)) for i in range(4)]
        crowd = [client.ask(pb.Embed(text=text.encode(), priority=1 + i % 3)) for i in range(8)]
        for stream in crowd:
            equal(client.read_of(stream).embedding.values, alone.values)
        for stream in answers:
            equal(client.answer(stream).reason, "FINISH_LENGTH")


@fact
def a_lost_engine_changes_nothing():
    with stories(u32("llama.pooling_type", MEAN)) as daemon, daemon.client() as client:
        daemon.wait_ready()
        text = (TEXT + ". ") * 12
        expected = embedding(client, pb.Embed(text=text.encode()))
        for _ in range(3):
            streams = [client.ask(pb.Embed(text=text.encode())) for _ in range(16)]
            client.read_of(streams[0])
            os.kill(daemon.engine_of().pid, signal.SIGKILL)
            for stream in streams[1:]:
                equal(client.read_of(stream).embedding.values, expected.values)


@fact
def a_client_that_cancels_or_leaves_holds_nothing():
    with stories(u32("llama.pooling_type", MEAN)) as daemon, daemon.client() as client:
        daemon.wait_ready()
        long = pb.Embed(text=((TEXT + ". ") * 12).encode())
        for stream in [client.ask(long) for _ in range(8)]:
            client.read_of(stream)
        with daemon.client() as other:
            other.ask(long)
        before = calm(daemon)  # tables keep the size of their busiest moment
        ends = set()
        while "done" not in ends:  # on a busy machine all may have ended before the cancel
            streams = [client.ask(long) for _ in range(8)]
            for stream in streams:
                client.send(stream, pb.Cancel())
            ends |= {client.read_of(stream).WhichOneof("body") for stream in streams}
        holds(ends <= {"done", "embedding"}, ends)
        with daemon.client() as other:
            for _ in range(8):
                other.ask(long)
        settle(daemon, before)


@fact
def a_model_that_is_not_made_for_it_says_so():
    with stories() as daemon, daemon.client() as client:
        equal(daemon.wait_ready().embedding_values, 0)
        sentence = refused(client, pb.Embed(text=b"Hi"), "CODE_FAILED_PRECONDITION", "embed.model")
        holds("not made for embedding" in sentence and "llama.pooling_type" in sentence, sentence)
        code, out, err = daemon.sotto("embed", "Hi")
        equal((code, out), (1, ""))
        holds("not made for embedding" in err, err)


@fact
def what_cannot_be_embedded_is_refused():
    with stories(u32("llama.pooling_type", MEAN)) as daemon, daemon.client() as client:
        daemon.wait_ready()
        holds("embed" in client.welcome.capabilities, client.welcome)
        refused(client, pb.Embed(), "CODE_INVALID_ARGUMENT", "embed")
        refused(client, pb.Embed(model="none", text=b"Hi"), "CODE_NOT_FOUND", "embed.model")
        refused(client, pb.Embed(tokens=pb.TokenIds(ids=[5, 512])), "CODE_INVALID_ARGUMENT", "embed.tokens.ids")
        refused(client, pb.Embed(tokens=pb.TokenIds(ids=[5] * 513)), "CODE_OUT_OF_RANGE")
        equal(len(embedding(client, pb.Embed(tokens=pb.TokenIds(ids=[5] * 512))).values), 64)
        equal(embedding(client, pb.Embed(text=b"")).prompt_tokens, 1)


@fact
def a_class_above_the_ceiling_is_refused():
    with Daemon(policy=[{"anyone": True, "class_ceiling": "background"}]) as daemon, daemon.client() as client:
        refused(client, pb.Embed(text=b"Hi", priority="CLASS_REALTIME"), "CODE_PERMISSION_DENIED", "embed.priority")


@fact
def a_vocabulary_that_closes_its_texts_closes_this_one():
    keys = [u32("llama.pooling_type", LAST), flag("tokenizer.ggml.add_eos_token", True)]
    with stories(*keys) as daemon, daemon.client() as client:
        daemon.wait_ready()
        ids = tokens_of(client, TEXT)
        closed = embedding(client, pb.Embed(text=TEXT.encode()))
        equal(closed.prompt_tokens, len(ids) + 1)
        same = pb.Embed(tokens=pb.TokenIds(ids=ids + [plain.keys["tokenizer.ggml.eos_token_id"]]))
        equal(embedding(client, same).values, closed.values)


@fact
def a_model_whose_rows_see_ahead_is_not_loaded():
    keys = [u32("llama.pooling_type", MEAN), flag("llama.attention.causal", False)]
    with stories(*keys) as daemon, daemon.client() as client:
        sentence = refused(client, pb.Embed(text=b"Hi"), "CODE_FAILED_PRECONDITION")
        holds("llama.attention.causal" in sentence, sentence)


@fact
def the_command_line_prints_the_same_values():
    with stories(u32("llama.pooling_type", MEAN)) as daemon, daemon.client() as client:
        daemon.wait_ready()
        values = list(embedding(client, pb.Embed(text=TEXT.encode())).values)
        code, out, _ = daemon.sotto("embed", "--json", TEXT)
        equal((code, list(map(as_float, json.loads(out)["values"]))), (0, values))
        code, out, _ = daemon.sotto("embed", TEXT)
        equal((code, list(map(as_float, out.split()))), (0, values))


if __name__ == "__main__":
    try:
        tap.main()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
