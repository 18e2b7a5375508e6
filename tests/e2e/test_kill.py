#!/usr/bin/python3
"""Engines that die: streams go on with the tokens of an undisturbed run; the request that kills fails alone."""
import os
import signal
import time

import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon
from tap import equal, fact, holds, note, within

POISON = 300  # an id that no other prompt has
ASKS = [generate(f"stream {i}", temperature=0.8, seed=i, max_tokens=60) for i in range(8)]


def alone(daemon):
    with daemon.client() as client:
        return [client.answer(client.ask(ask)).tokens for ask in ASKS]


@fact
def sigkill_in_the_middle_of_eight_streams_changes_no_token():
    with Daemon(script="always do slow 4\n", settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        daemon.wait_ready()
        want = alone(daemon)
        with daemon.client() as client:
            streams = [client.ask(ask) for ask in ASKS]
            for stream in streams:  # each has begun
                client.answer(stream, 1)
        with daemon.client() as client:
            streams = [client.ask(ask) for ask in ASKS]
            for stream in streams:
                client.answer(stream, 1)
            pid = daemon.engine_of().pid
            os.kill(pid, signal.SIGKILL)
            begun = time.monotonic()
            answers = [client.answer(stream) for stream in streams]
            note(f"all eight ended {time.monotonic() - begun:.2f} s after the kill")
            equal([answer.tokens for answer in answers], want, "tokens")
            equal({answer.reason for answer in answers}, {"FINISH_LENGTH"})
            holds(all(answer.done.usage.rebuilds >= 1 for answer in answers), "usage.rebuilds")
            kinds = {notice.kind for answer in answers for notice in answer.notices}
            holds(pb.NOTICE_REBUILDING in kinds, kinds)
        engine = daemon.engine_of()
        holds(engine.pid != pid and "9" in engine.last_exit, engine)


@fact
def a_request_that_always_crashes_fails_alone():
    script = f"always do slow 3\nwhen {POISON} at 3 do crash\n"
    with Daemon(script=script, settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        daemon.wait_ready()
        want = alone(daemon)
        with daemon.client() as client, daemon.client() as poisoner:
            streams = [client.ask(ask) for ask in ASKS]
            poison = poisoner.generate(tokens=[1, POISON], max_tokens=20)
            equal(poison.reason, "CODE_INTERNAL")
            note(poison.error.message)
            holds(len(poison.tokens) <= 3, "tokens before the crash")
            answers = [client.answer(stream) for stream in streams]
            equal([answer.tokens for answer in answers], want, "tokens of those beside it")
            equal(client.generate("after it", max_tokens=5).reason, "FINISH_LENGTH")
        info = daemon.wait_ready()
        holds(info.backend.startswith("fake"), f"the device was blamed: {info.backend}")


@fact
def a_request_that_crashes_at_open_fails_alone_too():
    with Daemon(script=f"when {POISON} at open do crash\n",
                settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        daemon.wait_ready()
        with daemon.client() as client:
            equal(client.generate(tokens=[1, POISON], max_tokens=20).reason, "CODE_INTERNAL")
            equal(client.generate("after it", max_tokens=5).reason, "FINISH_LENGTH")


@fact
def a_request_for_which_the_kernel_kills_each_engine_fails_alone():
    for at in "open", 0, 3:
        with Daemon(script=f"always do slow 2\nwhen {POISON} at {at} do kill\n",
                    settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
            daemon.wait_ready()
            want = alone(daemon)
            with daemon.client() as client, daemon.client() as poisoner:
                streams = [client.ask(ask) for ask in ASKS]
                equal(poisoner.generate(tokens=[1, POISON], max_tokens=20).reason, "CODE_INTERNAL", at)
                answers = [client.answer(stream) for stream in streams]
                equal([answer.tokens for answer in answers], want, "tokens of those beside it")
                equal(client.generate("after it", max_tokens=5).reason, "FINISH_LENGTH")
            note(f"at {at}: {daemon.engine_of().starts} starts")


@fact
def a_step_that_hangs_is_ended_by_its_watchdog():
    with Daemon(settings={"step_watchdog": "5s", "restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        once = os.path.join(daemon.folder, "once")
        daemon.wait_ready()
        with daemon.client() as client:
            want = client.generate("to be hung", max_tokens=12).tokens
            client.one(pb.UnloadModel(name="tiny"))
            daemon.set_script(f"always at 4 once {once} do hang\n")
            client.one(pb.LoadModel(name="tiny"))
            answer = client.generate("to be hung", max_tokens=12)
            equal((answer.reason, answer.tokens), ("FINISH_LENGTH", want))
            equal(answer.done.usage.rebuilds, 1)


@fact
def an_engine_that_talks_nonsense_is_replaced():
    with Daemon(settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        once = os.path.join(daemon.folder, "once")
        daemon.wait_ready()
        with daemon.client() as client:
            want = client.generate("nonsense", max_tokens=12).tokens
            client.one(pb.UnloadModel(name="tiny"))
            daemon.set_script(f"always at 4 once {once} do garbage\n")
            client.one(pb.LoadModel(name="tiny"))
            equal(client.generate("nonsense", max_tokens=12).tokens, want)


@fact
def degenerate_logits_end_their_request_and_not_its_neighbours():
    with Daemon(script=f"always do slow 2\nwhen {POISON} at 2 do numeric\n") as daemon:
        daemon.wait_ready()
        want = alone(daemon)
        with daemon.client() as client, daemon.client() as sick:
            streams = [client.ask(ask) for ask in ASKS]
            answer = sick.generate(tokens=[1, POISON], max_tokens=20)
            holds(answer.error, "it should end with an error")
            note(answer.error.message)
            equal([client.answer(stream).tokens for stream in streams], want, "tokens of those beside it")
        equal(daemon.engine_of().starts, 1, "starts of the engine")


@fact
def a_hopeless_load_gives_its_reason_to_all_that_wait():
    with Daemon(script="load do stall 300\nload do hopeless this file will never do\n") as daemon:
        with daemon.client() as client:
            streams = [client.ask(generate("please", max_tokens=3)) for _ in range(3)]
            for stream in streams:
                answer = client.answer(stream)
                equal(answer.reason, "CODE_FAILED_PRECONDITION")
                holds("this file will never do" in answer.error.message, answer.error.message)
            models = client.one(pb.ListModels()).models
            equal(models[0].state, pb.MODEL_FAILED)
            holds("this file will never do" in models[0].reason, models[0].reason)
            starts = daemon.engine_of().starts if daemon.engine_of() else 0
            equal(client.generate("again", max_tokens=3).reason, "CODE_FAILED_PRECONDITION")
            equal(daemon.engine_of().starts if daemon.engine_of() else 0, starts, "starts: it is not tried again")


@fact
def a_load_that_crashes_is_tried_again_and_then_given_up():
    with Daemon(script="load do crash\n", settings={"restart_pauses": ["1ms", "5ms", "10ms"]}) as daemon:
        with daemon.client() as client:
            equal(client.generate("please", max_tokens=3).reason, "CODE_FAILED_PRECONDITION")
        engine = daemon.engine_of()
        note(f"{engine.starts if engine else '?'} starts")


@fact
def a_load_that_was_given_up_without_a_fault_of_the_file_is_tried_again_after_a_pause():
    with Daemon(script="load do kill\n", settings={"restart_pauses": ["1ms", "5ms", "2s"]}) as daemon:
        with daemon.client() as client:
            begun = time.monotonic()
            equal(client.generate("please", max_tokens=3).reason, "CODE_FAILED_PRECONDITION")
            daemon.set_script("")
            reason = client.generate("at once", max_tokens=3).reason
            if time.monotonic() - begun < 2:  # on a busy machine the pause may be over
                equal(reason, "CODE_FAILED_PRECONDITION")
            within(lambda: client.generate("later", max_tokens=3).reason == "FINISH_LENGTH", "it is tried again")


@fact
def one_load_serves_all_that_ask_and_outlives_the_first():
    with Daemon(script="load do stall 400\n", models={"tiny": {"load": False}}) as daemon:
        first = daemon.client()
        first.ask(generate("I leave", max_tokens=3))
        time.sleep(0.1)
        first.close()
        clients = [daemon.client() for _ in range(20)]
        streams = [client.ask(generate(f"{i}", max_tokens=3)) for i, client in enumerate(clients)]
        for client, stream in zip(clients, streams):
            equal(client.answer(stream).reason, "FINISH_LENGTH")
            client.close()
        equal(daemon.engine_of().starts, 1, "starts of the engine")


@fact
def requests_that_differ_load_nothing_again():
    """O14: two apps ask for one model in turns, each with options of its own."""
    with Daemon(models={"tiny": {"load": False}}) as daemon:
        with daemon.client() as one, daemon.client() as two:
            for i in range(10):
                for client, n in (one, 20), (two, 40):
                    asked = generate("which context?", max_tokens=n, temperature=n / 100, seed=i, repetition_penalty=n / 20)
                    asked.on_full = pb.ON_FULL_SLIDE if n == 20 else pb.ON_FULL_END
                    answer = client.answer(client.ask(asked))
                    equal((answer.reason, answer.accepted.max_tokens), ("FINISH_LENGTH", n), "what is in force")
                    equal(client.one(pb.LoadModel(name="tiny")).state, pb.MODEL_READY)
        equal(daemon.engine_of().starts, 1, "starts of the engine")


@fact
def unload_waits_for_answers_and_now_does_not():
    with Daemon(script="always do slow 5\n") as daemon:
        daemon.wait_ready()
        with daemon.client() as client, daemon.client() as admin:
            for now, reason in (False, "FINISH_LENGTH"), (True, "CODE_UNAVAILABLE"):
                client.one(pb.LoadModel(name="tiny"))
                pid = daemon.engine_of().pid
                stream = client.ask(generate("the last one", max_tokens=30))
                client.answer(stream, 1)
                equal(admin.one(pb.UnloadModel(name="tiny", now=now)), pb.Unloaded())
                equal(client.answer(stream).reason, reason, f"now={now}")
                within(lambda: not os.path.exists(f"/proc/{pid}"), "the engine's process is gone")


if __name__ == "__main__":
    tap.main()
