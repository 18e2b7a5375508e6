#!/usr/bin/python3
"""sotto-engine as a process: the answers that other programs computed, and how it ends."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import tap
from stepper import BUILD, TRUTH, Stepper
from tap import LeftOut, equal, fact, holds, note, within

STORIES = "stories260K-f32"
SANITIZED = "san" in os.path.basename(BUILD)  # parts take tens of times as long there

# Largest difference of a logit, and the margin below which a greedy token may be another one (design, section 11).
FLOAT_BOUND, QUANT_BOUND = 0.02, 0.6
MODELS = {
    "stories260K-f32": FLOAT_BOUND,
    "stories260K-f16": FLOAT_BOUND,
    "stories260K-q8_0": QUANT_BOUND,
    "stories260K-q4_0": QUANT_BOUND,
    "stories260K-wide-q4_k_m": QUANT_BOUND,
}


def path(name):
    file = os.path.join(TRUTH, "models", name)
    if not os.path.exists(file):
        if os.environ.get("CI"):
            raise AssertionError(f"truth data missing under CI: {file}")
        raise LeftOut(f"{file} is not here")
    return file


def model(name):
    return path(name + ".gguf")


def cases(name):
    with open(path(name + ".expected.json")) as file:
        return json.load(file)["cases"]


def compare(name, bound, **start):
    """Plays every case of the truth; returns the largest difference of a first logit."""
    worst = 0
    compared = 0
    with Stepper(model(name), **start) as engine:
        engine.get("ready")
        for sequence, case in enumerate(cases(name), 1):
            prompt, wanted = case["prompt_ids"], case["greedy_ids"]
            engine.open(100 + sequence, prompt, logprobs=True, top_logprobs=512)
            first = engine.answer(100 + sequence, len(prompt), 1)[0]
            worst = max(worst, logit_difference(first.logprobs[0], case["first_logits"]))
            engine.send(close={"sequence": 100 + sequence})
            engine.open(sequence, prompt, reserve=len(wanted))
            entries = engine.answer(sequence, len(prompt), len(wanted))
            for entry, token, margin in zip(entries, wanted, case["margins"]):
                if margin < bound and entry.tokens[0] != token:
                    break
                equal(entry.tokens[0], token, f"{name}, prompt {case['prompt']!r}")
                compared += 1
            engine.send(close={"sequence": sequence})
    note(f"{name}: {compared} tokens, largest difference of a logit {worst:.5f}")
    return worst


def logit_difference(logprobs, logits):
    """Log-probabilities are logits up to a constant: the one that the best of them shows."""
    got = dict(zip(logprobs.top_ids, logprobs.top_logprobs))
    equal(len(got), len(logits), "logits")
    best = max(range(len(logits)), key=logits.__getitem__)
    return max(abs((got[i] - got[best]) - (logits[i] - logits[best])) for i in got)


@fact
def answers_are_those_of_another_program():
    for name, bound in MODELS.items():
        worst = compare(name, bound)
        holds(worst < bound, f"{name}: a logit differs by {worst}")


@fact
def f32_pages_hold_a_ten_thousandth():
    holds(compare(STORIES, FLOAT_BOUND, kv_format="f32") < 1e-4, "a logit differs by more")


@fact
def truth_backend_meets_the_float_bound_on_every_file():
    for name in MODELS:
        worst = compare(name, FLOAT_BOUND, backend="truth")
        holds(worst < FLOAT_BOUND, f"{name}: a logit differs by {worst}")


def played(name, **start):
    """What two drawn sequences come to, with all their log-probabilities."""
    prompts = [case["prompt_ids"] for case in cases(name)[1:3]]
    with Stepper(model(name), **start) as engine:
        engine.get("ready")
        for sequence, prompt in enumerate(prompts, 1):
            engine.open(sequence, prompt, temperature=0.9, top_k=50, min_p=0.01, seed=11 * sequence, logprobs=True,
                        top_logprobs=20, frequency_penalty=0.3, penalty_window=64)
        done = [engine.step(*((s, len(p)) for s, p in enumerate(prompts, 1)))]
        done += [engine.step((1, 0), (2, 0)) for _ in range(20)]
        return [[entry.SerializeToString() for entry in step.entries] for step in done]


@fact
def scalar_and_vector_kernels_give_the_same_bits():
    for name in MODELS:
        equal(played(name, cpu_mask="scalar"), played(name), name)


@fact
def number_of_threads_changes_no_bit():
    equal(played(STORIES, threads=1), played(STORIES, threads=3))


@fact
def suspended_sequences_and_a_close_in_between_change_no_bit():
    prompt = cases(STORIES)[1]["prompt_ids"]
    with Stepper(model(STORIES)) as engine:
        engine.get("ready")
        engine.open(1, prompt)
        engine.open(2, prompt)
        engine.begin((1, len(prompt)), (2, len(prompt)), slice_us=1)
        engine.get("suspended")
        engine.send(close={"sequence": 2})
        engine.send(continue_={"step": 1})
        first = engine.get("step_done").entries[0].tokens[0]
        tokens = [first] + [engine.step((1, 0)).entries[0].tokens[0] for _ in range(9)]
        equal(tokens, cases(STORIES)[1]["greedy_ids"][:10])
        engine.send(query={})
        equal(engine.get("stats").sequences, 1)


def run_sliced(engine, step, slice_us):
    """Lets a begun step go on slice by slice to its end; its StepDone, and how long each slice was held."""
    held = []
    while True:
        answer = engine.any()
        kind = answer.WhichOneof("body")
        holds(kind in ("suspended", "step_done"), answer)
        held.append(getattr(answer, kind).held_us)
        if kind == "step_done":
            equal(answer.step_done.allocations, 0)
            return answer.step_done, held
        engine.send(continue_={"step": step, "slice_us": slice_us})


@fact
def slices_are_kept_and_change_no_bit():
    prompt = (cases(STORIES)[1]["prompt_ids"] * 60)[:240]
    start = {"max_step_rows": 256, "context_tokens": 400, "threads": 1}
    with Stepper(model(STORIES), **start) as engine:
        engine.get("ready")
        engine.open(1, prompt, temperature=0.9, seed=3)
        whole = [entry.tokens[0] for entry in engine.answer(1, len(prompt), 8)]

    def are_kept(slice_us):
        with Stepper(model(STORIES), **start) as engine:
            engine.get("ready")
            engine.open(1, prompt, temperature=0.9, seed=3)
            tokens, held = [], []
            for i in range(8):
                engine.begin((1, 0 if i else len(prompt)), slice_us=slice_us)
                done, slices = run_sliced(engine, engine.step_id, slice_us)
                tokens.append(done.entries[0].tokens[0])
                held += slices
            equal(tokens, whole)
            held.sort()
            note(f"slice of {slice_us} us: half of {len(held)} held at most {held[len(held) // 2]} us, all {held[-1]}")
            # Another process may take the processor in the midst of a part, on a busy machine of every other one.
            return SANITIZED or held[len(held) // 2] <= slice_us
    for slice_us in (2000, 400):
        within(lambda: are_kept(slice_us), f"half of the slices end within {slice_us} us")


def take_done(engine, left, tokens):
    """Takes the answer to a run of a begun step. Returns true if the step is done; it is then no longer in @left."""
    answer = engine.any()
    if answer.WhichOneof("body") == "suspended":
        return False
    done = answer.step_done
    left.remove(done.id)
    tokens[done.entries[0].sequence].append(done.entries[0].tokens[0])
    return True


@fact
def two_begun_steps_change_no_bit_of_each_other():
    prompts = [case["prompt_ids"] for case in cases(STORIES)[1:3]]
    wanted = [case["greedy_ids"][:6] for case in cases(STORIES)[1:3]]
    with Stepper(model(STORIES), threads=2) as engine:
        engine.get("ready")
        engine.open(1, prompts[0])
        engine.open(2, prompts[1])
        tokens = {1: [], 2: []}
        n_suspended = 0
        for i in range(6):
            left = []
            for sequence in (1, 2):
                engine.begin((sequence, 0 if i else len(prompts[sequence - 1])), slice_us=1)
                left.append(engine.step_id)
                n_suspended += not take_done(engine, left, tokens)
            while left:  # a submission each, in turns
                for step in reversed(list(left)):
                    engine.send(continue_={"step": step, "slice_us": 1})
                    n_suspended += not take_done(engine, left, tokens)
        holds(n_suspended > 6, f"{n_suspended} suspensions of 12 steps")
        tokens = [tokens[1], tokens[2]]
        equal(tokens, wanted)


@fact
def a_next_turn_on_an_open_sequence_has_the_bits_of_a_new_one():
    prompt = cases(STORIES)[1]["prompt_ids"]
    sampler = {"temperature": 0.8, "top_p": 0.9, "seed": 4, "repetition_penalty": 1.1, "penalty_window": 64,
               "logprobs": True, "top_logprobs": 20}
    with Stepper(model(STORIES)) as engine:
        engine.get("ready")
        engine.open(1, prompt)
        said = [entry.tokens[0] for entry in engine.answer(1, len(prompt), 20)]
        turn = prompt + said + prompt[1:]
        engine.send(stop={"sequence": 1})
        engine.send(extend={"sequence": 1, "tokens": turn, "n_prompt": len(turn), "reserve_tokens": 20, "sampler": sampler})
        opened = engine.get("opened")
        equal(opened.cached_tokens, len(prompt) + len(said) - 1)
        extended = engine.answer(1, len(turn) - opened.cached_tokens, 10)
        engine.open(2, turn, **sampler)
        fresh = engine.answer(2, len(turn), 10)
        for a, b in zip(extended, fresh):
            equal(a.tokens[:], b.tokens[:])
            equal(a.logprobs[0].SerializeToString(), b.logprobs[0].SerializeToString())


@fact
def a_hundred_sequences_leave_nothing_behind():
    prompt = cases(STORIES)[1]["prompt_ids"]
    with Stepper(model(STORIES)) as engine:
        engine.get("ready")
        seen = []
        for sequence in range(1, 101):
            engine.open(sequence, prompt, temperature=1, seed=sequence, bias_ids=[3, 4], bias=[1, -1])
            engine.answer(sequence, len(prompt), 5)
            engine.send(close={"sequence": sequence})
            if sequence in (10, 100):
                engine.send(query={})
                stats = engine.get("stats")
                seen.append(({row.kind: row.bytes for row in stats.memory}, stats.pages_free, stats.sequences))
                equal(stats.step_allocations, 0)
                equal(stats.pages_held, 0)
        equal(seen[1][1:], seen[0][1:])
        # What a buffer held of the last order may differ; 90 sequences that left a byte each there would be seen.
        for kind, size in seen[1][0].items():
            holds(size <= seen[0][0][kind] + (89 if kind == "wire" else 0), f"{kind} grew from {seen[0][0][kind]} to {size}")


# ---- how it ends


@fact
def end_of_the_socket_is_a_good_end():
    with Stepper(model(STORIES)) as engine:
        engine.get("ready")
        engine.socket.close()
        equal(engine.ended(), 0)


@fact
def signals_of_the_terminal_and_of_systemd_are_left_to_sottod():
    with Stepper(model(STORIES)) as engine:
        engine.get("ready")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            engine.process.send_signal(number)
        engine.send(query={})
        engine.get("stats")
        engine.send(quit={})
        equal(engine.ended(), 0)


@fact
def truncated_model_kills_no_more_than_the_engine():
    prompt = cases(STORIES)[1]["prompt_ids"]
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfile(model(STORIES), copy.name)
        with Stepper(copy.name) as engine:
            engine.get("ready")
            engine.open(1, prompt)
            os.truncate(copy.name, 4096)
            engine.begin((1, len(prompt)))
            equal(engine.any(), None)
            holds(engine.ended() != 0, "it went on")  # SIGBUS, or what a sanitizer makes of it


@fact
def file_that_is_no_model_is_a_hopeless_fault_with_a_reason():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"GGUF" + bytes(60))
        file.flush()
        with Stepper(file.name) as engine:
            fault = engine.get("fault")
            holds(fault.hopeless and fault.what, str(fault))
            note(fault.what)
            equal(engine.ended(), 1)


@fact
def scripted_ends_are_what_the_script_says():
    ends = {"crash": -signal.SIGABRT, "kill": -signal.SIGKILL, "exit": 3}
    for action, code in ends.items():
        with Stepper(model(STORIES), "sotto-fake-engine", f"when 300 at 1 do {action}\n", backend="fake") as engine:
            engine.get("ready")
            engine.open(1, [1, 300])
            equal(len(engine.step((1, 2)).entries[0].tokens), 1)
            engine.begin((1, 0))
            equal(engine.any(), None)
            equal(engine.ended(), code, action)


@fact
def rule_that_acts_once_does_not_act_in_the_next_engine():
    with tempfile.TemporaryDirectory() as folder:
        script = f"when 300 once {folder}/once do crash\n"
        for code in (-signal.SIGABRT, 0):
            with Stepper(model(STORIES), "sotto-fake-engine", script, backend="fake") as engine:
                engine.get("ready")
                engine.open(1, [1, 300])
                engine.begin((1, 2))
                holds((engine.any() is None) == (code != 0), "the rule acted wrongly")
                engine.socket.close()
                equal(engine.ended(), code)


@fact
def hung_engine_obeys_nothing():
    with Stepper(model(STORIES), "sotto-fake-engine", "always do hang\n", backend="fake") as engine:
        engine.get("ready")
        engine.open(1, [1, 300])
        engine.begin((1, 2))
        time.sleep(0.2)
        engine.socket.close()
        time.sleep(0.2)
        equal(engine.process.poll(), None)
        engine.process.kill()


@fact
def garbage_comes_from_a_fake_with_such_a_script():
    with Stepper(model(STORIES), "sotto-fake-engine", "always do garbage\n", backend="fake") as engine:
        engine.get("ready")
        engine.open(1, [1, 300])
        engine.begin((1, 2))
        equal(engine._read(4), b"\xff\xff\xff\xff")


@fact
def scripted_tokens_are_said_first():
    with Stepper(model(STORIES), "sotto-fake-engine", "when 300 do tokens 5,6,7\n", backend="fake") as engine:
        engine.get("ready")
        engine.open(1, [1, 300])
        said = [entry.tokens[0] for entry in engine.answer(1, 2, 4)]
        equal(said[:3], [5, 6, 7])
        holds(said[3] >= 320, "an ordinary token")


@fact
def step_that_allocates_ends_a_guarded_engine_and_is_counted_by_another():
    for guarded in (True, False):
        with Stepper(model(STORIES), "sotto-fake-engine", "always do allocate\n", backend="fake",
                     guard_allocations=guarded) as engine:
            engine.get("ready")
            engine.open(1, [1, 300])
            engine.begin((1, 2))
            if guarded:
                equal(engine.any(), None)
                equal(engine.ended(), -signal.SIGABRT)
                holds("allocated" in engine.logs[0], str(engine.logs))
            else:
                equal(engine.get("step_done").allocations, 1)
                engine.send(query={})
                equal(engine.get("stats").step_allocations, 1)


@fact
def stall_of_loading_ends():
    begun = time.monotonic()
    with Stepper(model(STORIES), "sotto-fake-engine", "load do stall 400\n", backend="fake") as engine:
        engine.get("ready")
        holds(time.monotonic() - begun > 0.4, "no stall")


@fact
def it_is_not_run_by_hand():
    program = os.path.join(BUILD, "daemon/engine/sotto-engine")
    for words, code in ((["--help"], 0), (["--version"], 0), (["--dance"], 2), ([], 2)):
        done = subprocess.run([program, *words], capture_output=True, text=True, close_fds=True, check=False)
        equal(done.returncode, code, str(words))
        holds(done.stdout if code == 0 else "not meant to be run by hand" in done.stderr, str(done))


if __name__ == "__main__":
    tap.main()
