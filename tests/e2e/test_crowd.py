#!/usr/bin/python3
"""Many at once: each gets what it would have got alone, however others misbehave, and nothing stays behind."""
import os
import signal
import socket
import subprocess
import threading
import time

import sotto_pb2 as pb
import tap
from client import Client, client_frame, generate, pack
from daemon import Daemon, held, program, settle
from tap import equal, fact, holds, note, within

N = 32
SLOW = "always do slow 2\n"  # so that all of them run at the same time


def asks():
    return [generate(f"client {i} says hello {'again ' * (i % 7)}", temperature=0.0 if i % 2 else 0.9, seed=1000 + i,
                     max_tokens=40 + i % 5) for i in range(N)]


def crowd(path, asks, answers):
    def one(i):
        with Client(path) as client:
            answers[i] = client.answer(client.ask(asks[i]))
    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(asks))]
    for thread in threads:
        thread.start()
    return threads


def warm_up(daemon):
    """A crowd as large as any to come, so that tables have grown; gives what is held after it."""
    daemon.wait_ready()
    for thread in crowd(daemon.socket, asks(), [None] * N):
        thread.join()
    return held(daemon.status())


@fact
def thirty_two_at_once_get_the_tokens_of_each_alone_and_share_every_step():
    with Daemon(script=SLOW, models={"tiny": {"sequences": 32}}) as daemon:
        before = warm_up(daemon)
        alone = []
        with daemon.client() as client:
            for ask in asks():
                alone.append(client.answer(client.ask(ask)).tokens)
        first = daemon.engine_of()
        answers = [None] * N
        for thread in crowd(daemon.socket, asks(), answers):
            thread.join()
        equal([answer.tokens for answer in answers], alone, "tokens")
        last = daemon.engine_of()
        steps, rows = last.steps - first.steps, last.rows - first.rows
        note(f"{rows} rows in {steps} steps")
        equal(last.weight_passes - first.weight_passes, steps, "weights are read once a step")
        holds(rows > 8 * steps, f"{rows} rows in {steps} steps: too few together")
        equal(last.step_allocations, 0, "allocations in steps")
        settle(daemon, before)


@fact
def one_that_never_reads_one_killed_and_one_with_garbage_disturb_no_other():
    with Daemon(script=SLOW, models={"tiny": {"sequences": 32}}) as daemon:
        before = warm_up(daemon)
        alone = []
        with daemon.client() as client:
            for ask in asks()[3:]:
                alone.append(client.answer(client.ask(ask)).tokens)
        deaf = daemon.client()
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.ask(generate("talk to the wall", max_tokens=500))
        killed = subprocess.Popen([program("tiny"), daemon.socket, "I will be killed"], stdout=subprocess.PIPE)
        answers = [None] * (N - 3)
        threads = crowd(daemon.socket, asks()[3:], answers)
        killed.stdout.read(1)
        killed.send_signal(signal.SIGKILL)
        garbage = daemon.client()
        garbage.socket.sendall(b"\x05\0\0\0\xff\xff\xff\xff\xff" + os.urandom(4096))
        for thread in threads:
            thread.join()
        equal([answer.tokens for answer in answers], alone, "tokens of the 29")
        killed.wait()
        killed.stdout.close()
        garbage.close()
        deaf.close()
        settle(daemon, before)


@fact
def two_equal_requests_without_a_seed_differ_and_with_one_do_not():
    with Daemon() as daemon:
        with daemon.client() as client:
            ids = [client.ask(generate("dice", temperature=1.5, max_tokens=24)) for _ in range(2)]
            one, two = [client.answer(stream) for stream in ids]
            holds(one.tokens != two.tokens, "two seeds drawn at one moment are the same")
            holds(one.accepted.seed != two.accepted.seed, "seeds")
            again = client.generate("dice", temperature=1.5, max_tokens=24, seed=one.accepted.seed)
            equal(again.tokens, one.tokens, "the seed that was reported")


@fact
def a_reader_that_stops_is_parked_then_ended_and_others_keep_their_pace():
    with Daemon(script=SLOW, words=[f"{i:03}" + "x" * 900 for i in range(250)], models={"tiny": {"sequences": 8, "context": 2048}}) as daemon:
        before = warm_up(daemon)
        deaf = daemon.client()
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        for _ in range(2):
            deaf.ask(generate("to the wall", max_tokens=1000, ))
        with daemon.client() as client:
            begun = time.monotonic()
            client.generate("me", max_tokens=50)
            note(f"50 tokens beside it: {(time.monotonic() - begun) * 1000:.0f} ms")

            def is_parked():
                return sum(row.parked for row in client.status().classes) == 2
            within(is_parked, "its streams park")
            wire = max(row.bytes for row in client.status().memory if row.kind == "wire")
            holds(wire < 3 << 20, f"{wire} bytes held for one that does not read")
        deaf.close()
        settle(daemon, before)


@fact
def credit_parks_a_stream_and_more_credit_moves_it_on():
    with Daemon() as daemon, daemon.client() as client:
        whole = client.generate("credit", max_tokens=30).tokens
        stream = client.ask(generate("credit", max_tokens=30, credit=4))
        client.answer(stream, 4)
        try:
            raise AssertionError(f"without more credit: {client.read_of(stream, timeout=0.3)}")
        except socket.timeout:
            pass
        client.send(stream, pb.Credit(tokens=1000, have_token=4))
        equal(client.answer(stream).tokens, whole, "tokens")


@fact
def clients_that_die_at_any_byte_leave_nothing():
    rounds = 300
    frames = b"".join(frames_of_a_short_life())
    with Daemon(script="always do slow 1\n") as daemon:
        before = warm_up(daemon)
        for i in range(rounds):
            dying = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            dying.connect(daemon.socket)
            try:
                dying.sendall(frames[:(i * 7919) % (len(frames) + 1)])
            except BrokenPipeError:
                pass  # refused: too many connections at once
            dying.close()
        settle(daemon, before)


def frames_of_a_short_life():
    yield pack(client_frame(0, pb.Hello(version_min=1, version_max=1, client="short/1")))
    yield pack(client_frame(1, generate("I shall not see the end", max_tokens=100)))
    yield pack(client_frame(2, generate("nor this one's", max_tokens=100)))
    yield pack(client_frame(1, pb.Cancel()))


if __name__ == "__main__":
    tap.main()
