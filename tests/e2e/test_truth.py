#!/usr/bin/python3
"""The real engine through the socket: greedy tokens and first logits are those that other programs computed."""
import json
import math
import subprocess

import tap
from client import generate
from daemon import Daemon, program, truth
from tap import PATIENCE_S, equal, fact, holds, note

# Equality is asked up to the first place where the two best logits are nearer than this. F32 weights are off by the
# rounding of the f16 KV cache; quantised ones by the 8 bits of the activations as well.
BOUND = {"f32": 0.02, "f16": 0.02}
BOUND_QUANTISED = 0.6
LOGITS_F32 = 0.02  # the KV cache is f16
MODELS = ["f32", "f16", "q8_0", "q4_0", "wide-q4_k_m"]


def cases(name):
    with open(truth(f"models/stories260K-{name}.expected.json")) as file:
        return json.load(file)["cases"]


def n_sure(case, name):
    """How many of the expected tokens are asked for."""
    margins = case["margins"]
    bound = BOUND.get(name, BOUND_QUANTISED)
    return next((i for i, margin in enumerate(margins) if margin < bound), len(case["greedy_ids"]))


def stories(name, **settings):
    return Daemon(engine="real", models={name: {"file": truth(f"models/stories260K-{name}.gguf"), **settings}})


def agree(got, case, name, who, asked=None):
    n = min(n_sure(case, name), asked or len(case["greedy_ids"]))
    equal(list(got[:n]), case["greedy_ids"][:n], f"{name}, {who}, prompt {case['prompt']!r}")
    return n


@fact
def greedy_tokens_by_a_client_in_stock_python():
    for name in MODELS:
        with stories(name) as daemon, daemon.client() as client:
            info = daemon.wait_ready(name)
            n = 0
            for case in cases(name):
                answer = client.generate(case["prompt"], max_tokens=len(case["greedy_ids"]))
                equal(answer.accepted.prompt_tokens, len(case["prompt_ids"]))
                n += agree(answer.tokens, case, name, "text")
                agree(client.generate(tokens=case["prompt_ids"], max_tokens=len(case["greedy_ids"])).tokens, case,
                      name, "ids")
            note(f"{name}: {n} tokens on {info.backend}, ready {daemon.ready_s * 1000:.0f} ms after start, "
                 f"loaded in {info.load_us / 1000:.0f} ms")


@fact
def greedy_tokens_by_tiny_in_c():
    for name in "f32", "q4_0":
        with stories(name) as daemon:
            daemon.wait_ready(name)
            for case in cases(name):
                got = subprocess.run([program("tiny"), "--tokens", daemon.socket, name, case["prompt"]],
                                     capture_output=True, timeout=PATIENCE_S)
                equal(got.returncode, 0, got.stderr.decode())
                agree([int(line) for line in got.stdout.split()], case, name, "tiny")


@fact
def greedy_tokens_by_the_command_line():
    with stories("f32") as daemon:
        daemon.wait_ready("f32")
        for case in cases("f32"):
            code, out, err = daemon.sotto("generate", "--temperature", "0", "--max-tokens", str(len(case["greedy_ids"])),
                                          "--json", case["prompt"])
            equal(code, 0, err)
            answer = json.loads(out)
            agree(answer["tokens"], case, "f32", "sotto")
            equal(answer["usage"]["prompt_tokens"], len(case["prompt_ids"]))
            ids = json.loads(daemon.sotto("tokenize", "--json", "--special", case["prompt"])[1])["tokens"]
            equal(ids, case["prompt_ids"])


def spread(case, logprobs):
    """The largest difference between two logits' distance there and here: what a log-probability leaves of logits."""
    ours = dict(zip(logprobs.top_ids, logprobs.top_logprobs))
    theirs = case["first_logits"]
    top = max(range(len(theirs)), key=lambda i: theirs[i])
    return max(abs((ours[i] - ours[top]) - (theirs[i] - theirs[top])) for i in ours)


@fact
def first_logits_are_within_the_bound():
    for name, bound in ("f32", LOGITS_F32), ("f16", LOGITS_F32):
        worst = 0
        with stories(name) as daemon, daemon.client() as client:
            daemon.wait_ready(name)
            for case in cases(name):
                answer = client.generate(case["prompt"], max_tokens=1, logprobs=True, top_logprobs=512)
                first = answer.logprobs[0]
                equal(len(first.top_ids), len(case["first_logits"]))
                holds(abs(sum(math.exp(p) for p in first.top_logprobs) - 1) < 1e-4, "probabilities sum to 1")
                worst = max(worst, spread(case, first))
        note(f"{name}: largest difference {worst:.5f}")
        holds(worst < bound, f"{name}: {worst}")


@fact
def with_an_f32_cache_the_first_logits_are_those_of_float64():
    worst = 0
    with stories("f32", kv_format="f32") as daemon, daemon.client() as client:
        daemon.wait_ready("f32")
        for case in cases("f32"):
            answer = client.generate(case["prompt"], max_tokens=1, logprobs=True, top_logprobs=512)
            worst = max(worst, spread(case, answer.logprobs[0]))
    note(f"largest difference {worst:.6f}")
    holds(worst < 1e-4, worst)


@fact
def the_truth_backend_meets_the_f32_bound_on_every_file():
    for name in MODELS:
        with stories(name, backend="truth") as daemon, daemon.client() as client:
            daemon.wait_ready(name)
            worst = 0
            for case in cases(name):
                answer = client.generate(case["prompt"], max_tokens=20, logprobs=True, top_logprobs=512)
                agree(answer.tokens, case, "f32", "truth", 20)
                worst = max(worst, spread(case, answer.logprobs[0]))
            note(f"{name}: largest difference {worst:.5f}")
            holds(worst < 0.02, f"{name}: {worst}")


@fact
def a_long_answer_is_the_authors_own():
    with open(truth("models/stories260K-long.json")) as file:
        story = json.load(file)
    with stories("f32") as daemon, daemon.client() as client:
        daemon.wait_ready("f32")
        wanted = story["greedy_ids"]
        answer = client.generate("", max_tokens=len(wanted))
        n = n_sure(story, "f32")
        equal(answer.tokens[:n], wanted[:n])
        note(f"{n} of {len(wanted)} tokens")


@fact
def an_answer_has_the_same_bits_beside_any_other_and_on_every_kernel_set():
    ask = generate("Once upon a time", temperature=1.0, seed=42, max_tokens=60, logprobs=True, top_logprobs=3)
    reported = []
    for settings in {}, {"threads": 1}, {"step_rows": 5}:
        for cpu in "", "scalar":
            daemon = Daemon(engine="real", environment={"SOTTO_CPU": cpu} if cpu else None,
                            models={"q4_0": {"file": truth("models/stories260K-q4_0.gguf"), **settings}})
            with daemon, daemon.client() as client:
                daemon.wait_ready("q4_0")
                for n_others in 0, 1, 7:
                    others = [client.ask(generate(f"Tom {i} " * (3 * i + 1), seed=i, max_tokens=50)) for i in
                              range(n_others)]
                    answer = client.answer(client.ask(ask))
                    reported.append((answer.tokens, [p.logprob for p in answer.logprobs]))
                    for stream in others:
                        client.answer(stream)
    for one in reported:
        equal(one, reported[0])
    note(f"{len(reported)} runs of {len(reported[0][0])} tokens")


@fact
def a_step_reads_the_weights_once_and_allocates_nothing():
    with Daemon(engine="real", settings={"guard_allocations": True},
                models={"f32": {"file": truth("models/stories260K-f32.gguf"), "sequences": 32}}) as daemon:
        daemon.wait_ready("f32")
        with daemon.client() as client:
            streams = [client.ask(generate(f"One day {i}", max_tokens=30)) for i in range(32)]
            for stream in streams:
                client.answer(stream)
        engine = daemon.engine_of("f32")
        equal((engine.weight_passes, engine.step_allocations), (engine.steps, 0))
        holds(engine.rows > 4 * engine.steps, f"{engine.rows} rows in {engine.steps} steps")
        note(f"{engine.rows} rows in {engine.steps} steps")


if __name__ == "__main__":
    tap.main()
