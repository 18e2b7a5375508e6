#!/usr/bin/python3
"""Bounds from outside: a compositor's hints by hand, joules, a reload; and the trace that shows them."""
import json
import os
import re
import signal
import subprocess
import time

import sotto_pb2 as pb
import tap
from client import PATIENCE_S, generate
from daemon import Daemon, program
from tap import equal, fact, holds, within

SLOW = "always do slow 5\n"


def bounded(governor=None, energy=None, **more):
    """A daemon whose cores yield as a device does: hints are all that it knows of a screen."""
    daemon = Daemon(script=SLOW, start=False, **more)
    daemon.parts = {"governor": {"cores_share": True, **(governor or {})}, **({"energy": energy} if energy else {})}
    daemon.configure(**daemon.parts)
    daemon.start()
    daemon.wait_ready()
    return daemon


def cores(daemon):
    return next(info for info in daemon.status().governor if info.processor == "cores")


def hint(daemon, *words):
    return subprocess.Popen([program("sotto"), "--socket", daemon.socket, "hint", *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


@fact
def a_hint_holds_as_long_as_its_command():
    with bounded() as daemon:
        said = hint(daemon, "--frame", "16.667", "--busy", "60000")
        within(lambda: cores(daemon).duty_permille == 0, "busy")
        equal((cores(daemon).mode, cores(daemon).cause), ("paused", "hint"))
        said.send_signal(signal.SIGINT)
        equal(said.wait(PATIENCE_S), 130)
        within(lambda: cores(daemon).mode == "full", "the hint is void")


@fact
def two_compositors_do_not_speak_for_each_other():
    with bounded() as daemon:
        first = hint(daemon, "--frame", "8.333", "--busy", "60000")
        within(lambda: cores(daemon).duty_permille == 0, "busy")
        code, _, error = daemon.sotto("hint", "--frame", "16.667", "--missed", "1", "--for", "100")
        equal(code, 0, error)
        hints = daemon.counter("sotto_graphics_hints_total")
        holds(hints >= 2, hints)
        equal((cores(daemon).mode, cores(daemon).cause), ("paused", "hint"))
        first.send_signal(signal.SIGINT)
        equal(first.wait(PATIENCE_S), 130)
        within(lambda: cores(daemon).mode == "full", "the hint is void")


@fact
def a_stream_hears_that_it_is_held_back_and_that_this_is_over():
    with bounded() as daemon, daemon.client() as client:
        def hears():  # unless the answer is over before the hint comes, on a busy machine
            stream = client.ask(generate("a long story", max_tokens=400))
            begun, said, kinds = time.monotonic(), None, []
            while True:
                frame = client.read_of(stream)
                body = frame.WhichOneof("body")
                if body == "delta" and not said:
                    said = hint(daemon, "--busy", "1500")
                if body == "notice":
                    kinds.append(frame.notice.kind)
                    if frame.notice.kind == pb.NOTICE_THROTTLED:
                        holds("compositor" in frame.notice.detail, frame.notice.detail)
                if body in ("done", "error"):
                    break
            equal(said.wait(PATIENCE_S), 0)
            equal(body, "done")
            holds(len(kinds) <= 6 + time.monotonic() - begun, kinds)
            return pb.NOTICE_THROTTLED in kinds and pb.NOTICE_RESUMED in kinds
        within(hears, "a notice of both")


@fact
def a_hint_says_what_it_needs():
    with bounded() as daemon:
        for words, says in ((), "nothing to send"), (("--frame", "0"), "1 to 1000"), (("--busy", "70000"), "60000"), \
                (("what",), 'unexpected argument "what"'), (("--busy", "1s"), "busy"):
            code, _, error = daemon.sotto("hint", *words)
            equal(code, 2, words)
            holds(says in error, error)


@fact
def a_client_that_is_no_compositor_is_refused():
    policy = [{"anyone": True, "admin": True, "graphics_hint": False}]
    with bounded(policy=policy) as daemon:
        code, _, error = daemon.sotto("hint", "--busy", "100")
        equal(code, 1)
        holds("policy" in error and "graphics_hint" in error, error)
        with daemon.client() as client:
            holds("graphics-hint" not in client.welcome.capabilities, client.welcome.capabilities)


@fact
def a_mode_is_an_event_a_counter_and_a_line_with_its_cause():
    with bounded() as daemon, daemon.client() as client:
        watch = client.ask(pb.Watch(topics=["mode"]))
        said = hint(daemon, "--busy", "300")
        frame = client.read_of(watch)
        pairs = {pair.key: pair.value for pair in frame.event.pairs}
        equal((frame.event.topic, frame.event.name), ("mode", "mode-changed"))
        equal((pairs["mode"], pairs["cause"]), ("paused", "hint"))
        said.wait(PATIENCE_S)
        for name in "sotto_mode_changes_total", "sotto_graphics_hints_total":
            holds(daemon.counter(name) >= 1, name)
        holds(re.search(r"event: mode-changed, processor: cores, mode: paused, cause: hint", daemon.log()), daemon.log())


@fact
def nothing_is_older_than_the_daemon():
    with bounded() as daemon:
        report = daemon.status()
        holds(all(place.since_ms <= report.uptime_ms + 1000 for place in report.governor), report.governor)


@fact
def a_reload_changes_the_bounds_of_a_running_daemon():
    with bounded(governor={"slice_ms": 2}) as daemon:
        said = hint(daemon, "--missed", "1", "--frame", "16.667", "--for", "60000")
        within(lambda: 0 < cores(daemon).slice_us <= 2000, "bounded by 2 ms")
        daemon.configure(governor={**daemon.parts["governor"], "slice_ms": 0.5})
        code, out, error = daemon.sotto("reload")
        equal(code, 0, error)
        holds("governor.slice_ms" in out, out)
        within(lambda: 0 < cores(daemon).slice_us <= 500, "bounded by 0.5 ms")
        said.terminate()
        said.wait()
        said.stdout.close()
        said.stderr.close()


@fact
def stated_watts_are_reported_as_an_estimate_with_each_answer_and_by_account():
    with bounded(energy={"active_w": 6, "idle_w": 1}) as daemon, daemon.client() as client:
        answer = client.generate("hello", max_tokens=20)
        equal(answer.done.usage.energy_source, pb.ENERGY_ESTIMATED)
        holds(answer.done.usage.energy_uj >= 20 * 5000 * 5, answer.done.usage)
        account = next(row for row in daemon.status().accounts if row.uid == os.getuid())
        equal(account.energy_uj, answer.done.usage.energy_uj)
        holds(account.tokens >= 20, account)
        code, out, _ = daemon.sotto("status")
        equal(code, 0)
        holds("estimated" in out, out)


@fact
def without_a_meter_and_a_statement_energy_is_unknown():
    with bounded() as daemon, daemon.client() as client:
        answer = client.generate("hello", max_tokens=5)
        equal((answer.done.usage.energy_source, answer.done.usage.energy_uj), (pb.ENERGY_UNKNOWN, 0))


@fact
def a_budget_of_joules_refuses_with_a_time_to_come_back():
    policy = [{"anyone": True, "energy_a_minute": 1}]
    with bounded(energy={"active_w": 6, "idle_w": 1}, policy=policy) as daemon, daemon.client() as client:
        stream = client.ask(generate("a story", max_tokens=300))
        kinds = []
        while pb.NOTICE_THROTTLED not in kinds:
            frame = client.read_of(stream)
            if frame.WhichOneof("body") == "notice":
                kinds.append(frame.notice.kind)
        with daemon.client() as other:
            refused = other.read_of(other.ask(generate("me too", max_tokens=3)))
            equal(refused.error.code, pb.CODE_RESOURCE_EXHAUSTED)
            holds("joules a minute" in refused.error.message and refused.error.retry_after_ms > 0, refused.error)


@fact
def a_trace_is_written_on_a_signal_and_holds_no_word_of_anybody():
    secret = "the password is swordfish"
    with Daemon(script=SLOW, start=False) as daemon:
        daemon.environment["XDG_RUNTIME_DIR"] = "/nonexistent"  # it stands beside the socket
        daemon.start()
        daemon.wait_ready()
        with daemon.client() as client:
            answer = client.generate(secret, max_tokens=10)
        daemon.process.send_signal(signal.SIGUSR2)
        path = os.path.join(daemon.folder, f"sottod-{daemon.process.pid}.trace.json")
        within(lambda: os.path.exists(path), "a trace is written")
        equal(os.stat(path).st_mode & 0o777, 0o600)
        within(lambda: f"event: trace-written, path: {path}" in daemon.log(), "the log says where")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        events = json.loads(text)["traceEvents"]
        bars = [event for event in events if event["ph"] == "X"]
        steps = [event for event in bars if event["name"] == "step"]
        slices = [event for event in bars if event["name"] == "slice"]
        holds(len(steps) >= 10 and len(slices) >= len(steps), (len(steps), len(slices)))
        holds(all(event["dur"] >= 4000 for event in steps[-5:]), steps[-5:])
        equal(len([event for event in events if event["name"] == "token"]), 10)
        holds("swordfish" not in text and "secret" not in text, "a prompt is in the trace")
        holds(answer.bytes.decode() not in text, "an answer is in the trace")


@fact
def an_idle_daemon_is_not_woken_by_a_hint_for_longer_than_it_holds():
    with bounded() as daemon:
        equal(hint(daemon, "--busy", "100").wait(PATIENCE_S), 0)

        def ran():
            with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as status:
                return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read(), re.M)[1])

        def sleeps():
            before = ran()
            time.sleep(1)
            return ran() - before <= 3
        within(sleeps, "a second without wake-ups; the bounds open again over two")


if __name__ == "__main__":
    tap.main()
