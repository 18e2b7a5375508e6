#!/usr/bin/python3
"""What one app may do to all others, however it tries: the loop, the log and everybody else's answers."""
import os

import sotto_pb2 as pb
import tap
from client import Gone, generate
from daemon import BUILD, Daemon
from maker import N_BYTES, N_WORDS
from plant import counter as value
from tap import equal, fact, holds, note


def counter(daemon, name):
    return value(daemon.status(), name)


def last_words(client):
    """Reads until the end of the connection."""
    try:
        while True:
            client.read()
    except Gone:
        pass


def loop_ms(daemon):
    """Processor time of the daemon's loop, whoever else has the machine."""
    pid = daemon.process.pid
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as stat:
        return int(stat.read().split()[0]) / 1e6


def is_slow_build():
    return "san" in os.path.basename(BUILD)


@fact
def the_longest_answers_hold_the_loop_up_for_no_more_than_50_ms():
    piece = "x" * 2000
    with Daemon(words=[piece, "\u00e9"]) as daemon, daemon.client() as client:
        daemon.wait_ready()
        torn = [N_BYTES + 0xC3]  # half a character each: three bytes of answer for one
        for what, ids in (("16 MiB of text", [N_WORDS] * 8000), ("a character in three bytes", torn * 1300000),
                          ("the most that fits", [N_WORDS] * 2000)):
            begun = loop_ms(daemon)
            answer = client.one(pb.Detokenize(ids=ids))
            took = loop_ms(daemon) - begun
            note(f"{what}: {took:.1f} ms")
            holds(is_slow_build() or took < 50, f"{what} took {took} ms of the loop")
            holds(hasattr(answer, "text") or answer.code == pb.CODE_OUT_OF_RANGE, answer)
        equal(len(answer.text), 2000 * len(piece), "bytes of the answer that fits")


@fact
def a_crowd_of_watchers_costs_the_loop_little_for_each():
    with Daemon(models={"tiny": {"sequences": 64}}) as daemon, daemon.client() as client:
        daemon.wait_ready()
        crowd = [daemon.client() for _ in range(40)]
        for watcher in crowd:
            for _ in range(64):
                watcher.ask(pb.Watch(topics=["stream"]))
            watcher.one(pb.ListModels())  # one too many: refused, so all before it are there
        sent = counter(daemon, "sotto_frames_sent_total")
        begun = loop_ms(daemon)
        for stream in [client.ask(generate("hello", max_tokens=1)) for _ in range(8)]:
            equal(client.answer(stream).error, None, "an answer beside them")
        took = loop_ms(daemon) - begun
        sent = counter(daemon, "sotto_frames_sent_total") - sent
        note(f"{sent} events in {took:.1f} ms of the loop")
        holds(sent > 30000, f"only {sent} events were sent")
        holds(is_slow_build() or took * 1000 / sent < 0.6, f"{took * 1000 / sent} us each")
        for watcher in crowd:
            watcher.close()


@fact
def strangers_do_not_fill_the_log():
    with Daemon(policy=[{"anyone": True}]) as daemon:
        daemon.wait_ready()
        begun = len(daemon.log().splitlines())
        for _ in range(60):
            with daemon.client() as client:
                session = client.one(pb.OpenSession(text=b"hello"))
                client.one(pb.CloseSession(session=session.session))
                client.one(pb.LoadModel(name="tiny"))
                client.socket.sendall(b"\xff\xff\xff\xff")
                last_words(client)
        lines = len(daemon.log().splitlines()) - begun
        holds(lines < 40, f"{lines} lines:\n{daemon.log()[-2000:]}")
        equal(counter(daemon, "sotto_connections_bad_total"), 60, "what Status counts")


tap.main()
