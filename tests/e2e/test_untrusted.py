#!/usr/bin/python3
"""Whatever a client sends, it is that client, that stream or that frame which ends, with a typed Error."""
import os
import random
import socket
import struct
import time

import sotto_pb2 as pb
import tap
from client import Client, Gone, client_frame, generate, pack
from daemon import Daemon, client_of, held, serving, settle, thread_times
from tap import LeftOut, equal, fact, holds, note, within

DAEMON = None


def hello():
    return pack(client_frame(0, pb.Hello(version_min=1, version_max=1, client="other/1")))


def last_words(client):
    """Frames until the end of the connection; the last one should be a fatal Error."""
    frames = []
    try:
        while True:
            frames.append(client.read())
    except Gone:
        return frames


def fatal(data, greet=True):
    """Sends @data; gives the Error with which the connection ended."""
    with Client(DAEMON.socket, greet=greet) as client:
        client.socket.sendall(data)
        frames = last_words(client)
        holds(frames and frames[-1].WhichOneof("body") == "error", f"no last word to {data[:20]!r}: {frames}")
        holds(frames[-1].error.fatal and frames[-1].error.message, frames[-1])
        return frames[-1].error


def is_well():
    with DAEMON.client() as client:
        equal(client.generate("are you well?", max_tokens=3).reason, "FINISH_LENGTH")


@fact
def a_length_beyond_the_limit_is_refused_from_its_head():
    clients = [DAEMON.client() for _ in range(50)]
    before = DAEMON.status()
    for client in clients:
        client.socket.sendall(b"\xff\xff\xff\xff")
    for client in clients:
        equal(last_words(client)[-1].error.fatal, True)
        client.close()
    peak = max(row.peak_bytes for row in before.memory if row.kind == "wire" and row.holder == "sottod")
    holds(peak < 64 << 20, f"{peak} bytes set aside")
    is_well()


@fact
def before_welcome_a_page_is_the_most():
    fatal(struct.pack("<I", 4097), greet=False)
    with Client(DAEMON.socket, greet=False) as client:
        client.socket.sendall(struct.pack("<I", 4096))
        try:
            client.read(timeout=0.2)
            raise AssertionError("an answer to half a frame")
        except socket.timeout:
            pass


@fact
def anything_before_hello_and_a_second_hello_end_the_connection():
    fatal(pack(client_frame(1, pb.Status())), greet=False)
    fatal(hello())
    fatal(pack(client_frame(1, pb.Hello(version_min=1, version_max=1, client="x"))))


@fact
def a_request_on_stream_0_is_refused_and_the_connection_goes_on():
    with DAEMON.client() as client:
        client.send(0, pb.Status())
        error = client.read_of(0).error
        equal((error.code, error.field, error.fatal), (pb.CODE_INVALID_ARGUMENT, "stream", False))
        client.status()  # it still answers


@fact
def a_version_that_is_not_spoken_is_refused():
    error = fatal(pack(client_frame(0, pb.Hello(version_min=7, version_max=9, client="x"))), greet=False)

    equal(error.code, pb.CODE_UNIMPLEMENTED)


@fact
def bytes_that_are_no_message_end_their_connection():
    noise = random.Random(1).randbytes(64)  # the same in each run: one of 3000 such bodies is a message, with unknown fields
    for body in b"\x13\x14", b"\x00\x01", b"\x0a", b"\x1a\xff\xff\xff\xff\x0f", b"\xff" * 11, noise + b"\xff" * 20:
        fatal(struct.pack("<I", len(body)) + body)
    is_well()


@fact
def a_frame_that_multiplies_in_memory_is_refused():
    body = pb.ClientFrame(stream=1, generate=pb.Generate(chat=pb.Chat())).SerializeToString()
    many = b"\x0a\x00" * (1 << 19)
    chat = b"\x22" + varint(len(many)) + many
    frame = b"\x08\x01\x1a" + varint(len(chat)) + chat
    holds(len(body) < len(frame), "it is larger than an honest one")
    error = fatal(struct.pack("<I", len(frame)) + frame)
    holds(error.code in (pb.CODE_RESOURCE_EXHAUSTED, pb.CODE_INVALID_ARGUMENT), error)
    is_well()


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


@fact
def a_megabyte_of_unknown_fields_is_ignored_or_refused_but_harmless():
    with DAEMON.client() as client:
        frame = client_frame(1, pb.Status()).SerializeToString() + b"\xba\x3e\x01x" * (1 << 16)
        client.socket.sendall(struct.pack("<I", len(frame)) + frame)
        try:
            kind = client.read().WhichOneof("body")
        except Gone:
            kind = "gone"
        holds(kind in ("status_report", "error"), kind)
    is_well()


@fact
def an_unknown_body_is_unimplemented_and_the_connection_goes_on():
    with DAEMON.client() as client:
        client.socket.sendall(struct.pack("<I", 5) + b"\x08\x05\xf2\x01\x00")  # body 30
        frame = client.read()
        equal(frame.error.code, pb.CODE_UNIMPLEMENTED)
        equal(frame.stream or frame.error.about_stream, 5)
        client.status()  # it still answers


@fact
def empty_and_torn_and_joined_frames_are_read_alike():
    ask = pack(client_frame(3, generate("torn", max_tokens=4)))
    with Client(DAEMON.socket, greet=False) as client:
        for byte in hello() + ask:
            client.socket.sendall(bytes([byte]))
        equal(client.read().WhichOneof("body"), "welcome")
        torn = client.answer(3)
    with Client(DAEMON.socket, greet=False) as client:
        client.socket.sendall(hello() + ask + pack(client_frame(4, generate("torn", max_tokens=4))) + b"\x04\0")
        equal(client.read().WhichOneof("body"), "welcome")
        equal([client.answer(3).tokens, client.answer(4).tokens], [torn.tokens] * 2)


@fact
def a_label_in_use_is_refused_and_its_first_owner_runs_on():
    with DAEMON.client() as client:
        want = client.generate("twice", max_tokens=40).tokens
        client.ask(generate("twice", max_tokens=40), stream=7)
        client.ask(generate("twice", max_tokens=40), stream=7)
        frame = client.read_of(0)
        equal((frame.error.code, frame.error.about_stream, frame.error.fatal), (pb.CODE_ALREADY_EXISTS, 7, False))
        equal(client.answer(7).tokens, want)
        equal(client.answer(client.ask(generate("twice", max_tokens=40), stream=7)).tokens, want, "the label is free")


@fact
def a_label_longer_than_labels_are_is_cut_as_protobuf_cuts_it():
    """O13: 2^64-1, and what it is cut to is in use or free like any other."""
    body = pb.ClientFrame(generate=generate("largest", max_tokens=4)).SerializeToString()
    data = b"\x08" + b"\xff" * 9 + b"\x01" + body
    with DAEMON.client() as client:
        want = client.generate("largest", max_tokens=4).tokens
        for _ in range(2):
            client.socket.sendall(struct.pack("<I", len(data)) + data)
            equal(client.answer(2**32 - 1).tokens, want)


@fact
def two_connections_may_use_one_label_and_a_cancel_does_not_cross():
    with DAEMON.client() as one, DAEMON.client() as two:
        want = one.generate("mine", max_tokens=40).tokens
        one.ask(generate("mine", max_tokens=40), stream=9)
        two.send(9, pb.Cancel())
        two.ask(generate("mine", max_tokens=40), stream=9)
        equal(one.answer(9).tokens, want)
        equal(two.answer(9).tokens, want)


@fact
def cancel_and_credit_for_no_stream_are_ignored():
    with DAEMON.client() as client:
        client.send(77, pb.Cancel())
        client.send(77, pb.Credit(tokens=5))
        equal(client.generate("still here", max_tokens=3).reason, "FINISH_LENGTH")


@fact
def queued_requests_are_cancelled_where_they_stand():
    with Daemon(script="always do slow 20\n", models={"tiny": {"sequences": 1}}) as daemon:
        daemon.wait_ready()
        with daemon.client() as client:  # tables and buffers grow to what five such take
            for stream in [client.ask(generate("long " * 100, max_tokens=2)) for _ in range(5)]:
                client.answer(stream)
        before = held(daemon.status())
        runner, second, third, fourth, fifth = [daemon.client() for _ in range(5)]
        running = runner.ask(generate("long " * 100, max_tokens=400))
        within(lambda: daemon.engine_of().sequences == 1, "it runs")
        asked = [(client, client.ask(generate(name, max_tokens=10)))
                 for client, name in ((second, "2"), (third, "3"), (fourth, "4"), (fifth, "5"))]
        second.send(asked[0][1], pb.Cancel())
        third.close()
        fourth.send(asked[2][1], pb.Cancel())
        fifth.socket.shutdown(socket.SHUT_WR)
        for client, stream in asked[0], asked[2]:
            answer = client.answer(stream)
            equal((answer.reason, answer.tokens), ("FINISH_CANCELLED", []))
        equal(daemon.engine_of().sequences, 1, "the running one, for which the cancelled ones did not wait")
        begun = time.monotonic()
        runner.send(running, pb.Cancel())
        equal(runner.answer(running).reason, "FINISH_CANCELLED")
        note(f"the running one was cancelled in {(time.monotonic() - begun) * 1000:.0f} ms")
        equal(fifth.answer(asked[3][1]).reason, "FINISH_LENGTH")
        for client in runner, second, fourth, fifth:
            client.close()
        settle(daemon, before)


@fact
def text_that_is_not_utf_8_is_refused_with_its_place():
    with DAEMON.client() as client:
        for data in b"ab\xe6\xad", b"ab\xf0\x9f\x98", b"ab\xc3\x28", b"ab\xc0\x80", b"ab\xed\xa0\x80":
            answer = client.generate(prompt=data, max_tokens=2)
            equal(answer.reason, "CODE_INVALID_ARGUMENT", data)
            holds("2" in answer.error.message, answer.error.message)
        for data in b"41\x0042", b"\xc2\xa0":
            equal(client.generate(prompt=data, max_tokens=2).reason, "FINISH_LENGTH")
        equal(client.one(pb.Tokenize(text=b"\xc3\x28")).code, pb.CODE_INVALID_ARGUMENT)
        equal(client.generate("x", max_tokens=2, stop=[b"\xff"]).reason, "CODE_INVALID_ARGUMENT")


@fact
def a_zero_byte_is_a_byte_like_others():
    with DAEMON.client() as client:
        ids = client.one(pb.Tokenize(text=b"A\0B")).ids
        text = client.one(pb.Detokenize(ids=ids)).text
        equal(text.strip(), b"A\0B")


@fact
def foreign_token_ids_are_refused():
    with DAEMON.client() as client:
        for ids in [1, 512], [2**31], [2**32 - 1]:
            equal(client.generate(tokens=ids, max_tokens=2).reason, "CODE_INVALID_ARGUMENT", ids)
            equal(client.one(pb.Detokenize(ids=ids)).code, pb.CODE_INVALID_ARGUMENT, ids)
        equal(client.generate(tokens=[1, 511], max_tokens=2).reason, "FINISH_LENGTH")


@fact
def endless_words_take_time_in_proportion():
    with DAEMON.client() as client:
        for letter in "a", "\u0301":
            times = []
            for n in 100000, 200000, 400000:
                before = thread_times([DAEMON.process.pid])[0]
                answer = client.one(pb.Tokenize(text=(letter * n).encode()))
                times.append(thread_times([DAEMON.process.pid])[0] - before)
                holds(isinstance(answer, pb.Tokenized), answer)
            note(f"{letter!r}: " + ", ".join(f"{t * 1000:.0f} ms" for t in times))
            holds(times[2] < 10 * times[0] + 0.1, times)


@fact
def every_number_outside_the_table_is_refused_with_its_field():
    bad = [("temperature", -1), ("temperature", float("nan")), ("temperature", 101), ("temperature", float("inf")),
           ("top_k", 0), ("top_p", 0), ("top_p", 1.5), ("top_p", float("nan")), ("min_p", -0.5), ("min_p", 1.5),
           ("min_p", float("nan")), ("repetition_penalty", 0), ("frequency_penalty", 3),
           ("presence_penalty", float("nan")), ("penalty_window", 2**32 - 1), ("top_logprobs", 100000)]
    with DAEMON.client() as client:
        for name, value in bad:
            ask = generate("x", max_tokens=2)
            setattr(ask.sampling, name, value)
            answer = client.answer(client.ask(ask))
            equal(answer.reason, "CODE_INVALID_ARGUMENT", f"{name} {value}")
            equal(answer.error.field, f"generate.sampling.{name}", f"{name} {value}")
        for name, value in [("temperature", 1e-30), ("temperature", 100), ("top_k", 1), ("top_p", 1), ("min_p", 1),
                            ("min_p", 0), ("penalty_window", 0)]:
            ask = generate("x", max_tokens=2)
            setattr(ask.sampling, name, value)
            equal(client.answer(client.ask(ask)).reason, "FINISH_LENGTH", f"{name} {value}")


@fact
def biases_on_foreign_ids_and_twice_are_refused():
    with DAEMON.client() as client:
        for bias in [(512, 1.0)], [(5, 1.0), (5, 2.0)], [(5, float("nan"))], [(5, 101.0)], [(5, float("inf"))]:
            ask = generate("x", max_tokens=2)
            for id, value in bias:
                ask.sampling.bias.add(id=id, bias=value)
            equal(client.answer(client.ask(ask)).reason, "CODE_INVALID_ARGUMENT", bias)


@fact
def biases_that_leave_no_token_are_the_requests_fault():
    with serving(words=["a", "b"]) as (daemon, client):
        n = daemon.status().models[0].vocabulary
        for n_left, reason in (0, "CODE_INVALID_ARGUMENT"), (1, "FINISH_LENGTH"):
            ask = generate("hello", max_tokens=2)
            for id in range(n_left, n):
                ask.sampling.bias.add(id=id, bias=float("-inf"))
            equal(client.answer(client.ask(ask)).reason, reason, f"{n_left} of {n} left")


@fact
def zero_tokens_of_answer_are_refused_and_too_many_are_capped():
    with DAEMON.client() as client:
        equal(client.generate("x", max_tokens=0).reason, "CODE_INVALID_ARGUMENT")
        answer = client.generate("x", max_tokens=2**31)
        holds(answer.accepted.max_tokens <= client.welcome.limits.answer_tokens, answer.accepted)
        minus_one = client.generate("x", max_tokens=2**32 - 1)  # -1 for a reader that takes it for signed
        equal(minus_one.accepted.max_tokens, answer.accepted.max_tokens)
        none = client.ask(generate("x"))
        equal(client.answer(none).accepted.max_tokens, client.welcome.limits.answer_tokens)


@fact
def an_unknown_model_is_not_found_and_a_bad_name_is_refused():
    with DAEMON.client() as client:
        equal(client.generate("x", model="none").reason, "CODE_NOT_FOUND")
        equal(client.generate("x", model="no body").reason, "CODE_INVALID_ARGUMENT")
        equal(client.generate("x", model="a" * 65).reason, "CODE_INVALID_ARGUMENT")


@fact
def a_key_names_one_live_answer():
    with serving(script="always do slow 5\n") as (daemon, client):
        ask = generate("x", max_tokens=30)
        ask.key = "once"
        first = client.ask(ask)
        equal(client.answer(client.ask(ask)).reason, "CODE_ALREADY_EXISTS")
        equal(client.answer(first).reason, "FINISH_LENGTH")
        equal(client.answer(client.ask(ask)).reason, "FINISH_LENGTH")


@fact
def policy_bounds_class_rights_and_streams():
    policy = [{"anyone": True, "class_ceiling": "interactive", "streams": 2, "answer_tokens": 7,
               "admin": False}]
    with serving(policy=policy, script="always do slow 20\n") as (daemon, client):
        limits = client.welcome.limits
        equal((limits.class_ceiling, limits.answer_tokens, limits.admin), (pb.CLASS_INTERACTIVE, 7, False))
        ask = generate("x")
        ask.priority = pb.CLASS_REALTIME
        equal(client.answer(client.ask(ask)).reason, "CODE_PERMISSION_DENIED")
        for body in pb.UnloadModel(name="tiny"), pb.Reload(), pb.LoadModel(name="tiny", file="/etc/passwd"):
            equal(client.one(body).code, pb.CODE_PERMISSION_DENIED, type(body).__name__)
        streams = [client.ask(generate("x")) for _ in range(3)]
        reasons = sorted(client.answer(stream).reason for stream in streams)
        equal(reasons, ["CODE_RESOURCE_EXHAUSTED", "FINISH_LENGTH", "FINISH_LENGTH"])


@fact
def status_tells_a_user_only_its_own():
    if os.geteuid() != 0:
        raise LeftOut("other users take root")
    with Daemon(policy=[{"uid": 0, "observe": True}, {"anyone": True}], start=False) as daemon:
        os.chmod(daemon.folder, 0o755)
        daemon.start()
        os.chmod(daemon.socket, 0o777)
        daemon.wait_ready()
        with client_of(daemon, 20001) as busy, client_of(daemon, 20002) as curious, daemon.client() as observer:
            before = curious.status()
            live = busy.ask(generate("a long question", max_tokens=5, credit=2))
            busy.answer(live, 2)
            after, own, all_of_it = curious.status(), busy.status(), observer.status()
            for report in before, after:
                report.uptime_ms = 0
                for at in list(report.sensors) + list(report.devices) + list(report.governor):
                    at.Clear()  # about the machine
            equal(after, before, "what a third user sees of an answer")
            equal([row.parked for row in own.classes if row.parked], [1], "its own")
            equal([row.parked for row in all_of_it.classes if row.parked], [1], "an observer's")
            holds(all_of_it.engines[0].rows > 0 and all_of_it.counters and all_of_it.memory, "sums for an observer")
            equal((own.connections, all_of_it.connections), (1, 3), "connections")


def main():
    global DAEMON
    with Daemon() as DAEMON:
        DAEMON.wait_ready()
        is_well()  # tables have grown to what one request takes
        before = held(DAEMON.status())
        try:
            tap.main()
        finally:
            settle(DAEMON, before)


if __name__ == "__main__":
    main()
