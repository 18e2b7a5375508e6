#!/usr/bin/python3
"""Any body with any values: each request has exactly one last answer, each refusal a sentence, and the daemon serves."""
import random
import socket

import sotto_pb2 as pb
import tap
from client import LAST, pack
from daemon import Daemon, held
from tap import equal, fact, holds, note, within

N_CONNECTIONS = 40
STREAM_BYTES = 32 << 10
NUMBERS = [0, 1, 2, 3, 5, 64, 511, 512, 513, 1024, 2**16, 2**31 - 1, 2**31, 2**32 - 1]
REALS = [0, -0.0, 1e-45, 1e-30, 0.5, 1, 1.0000001, 2, -1, 100, 101, -100, 1e38, float("inf"), -float("inf"),
         float("nan")]
NAMES = ["", "tiny", "a", "\u00e4", "x" * 64, "x" * 65, "user", "assistant", "system", "a b", "/", "\0", "x" * 5000,
         "model"]
TEXTS = [b"", b"hello", b"\0", b"\xff", b"\xc3\xa9", b"a" * 1000, b"a" * 70000, b"\xf0\x9f\x98", b"</s><s>", b" " * 50]


def value(field, luck):
    return luck.choice({field.TYPE_UINT32: NUMBERS, field.TYPE_UINT64: [*NUMBERS, 2**63, 2**64 - 1],
                        field.TYPE_BOOL: [False, True], field.TYPE_ENUM: [0, 1, 2, 3, 4, 99, -1, 2**31 - 1],
                        field.TYPE_FLOAT: REALS, field.TYPE_STRING: NAMES, field.TYPE_BYTES: TEXTS}[field.type])


def fill(message, luck):
    message.SetInParent()
    for field in message.DESCRIPTOR.fields:
        if luck.random() < 0.5:
            continue
        if field.label == field.LABEL_REPEATED:
            for _ in range(luck.choice([0, 1, 1, 2, 3, 17, 70])):
                if field.message_type:
                    fill(getattr(message, field.name).add(), luck)
                else:
                    getattr(message, field.name).append(value(field, luck))
        elif field.message_type:
            fill(getattr(message, field.name), luck)
        else:
            setattr(message, field.name, value(field, luck))


def request(stream, luck):
    """A frame with a random body, made valid here and there."""
    fields = [field for field in pb.ClientFrame.DESCRIPTOR.oneofs_by_name["body"].fields
              if field.name not in ("hello", "cancel", "credit", "graphics_hint")]  # those that have no answer
    field = luck.choices(fields, [6 if field.name == "generate" else 1 for field in fields])[0]
    frame = pb.ClientFrame(stream=stream)
    body = getattr(frame, field.name)
    fill(body, luck)
    if field.name == "generate":
        for name, likely in ("model", 0.7), ("sampling", 0.7), ("stop", 0.8), ("priority", 0.5), ("credit", 0.9):
            if luck.random() < likely:
                body.ClearField(name)
        body.max_tokens = luck.randint(1, 20)
    return frame


def counted(daemon):
    """Everything held but bytes: tables keep the size of their busiest moment."""
    return {name: count for name, count in held(daemon.status()).items()
            if name not in ("stream", "wire", "sched", "text")}


@fact
def every_request_has_exactly_one_last_answer():
    kinds = {}
    with Daemon(settings={"restart_pauses": ["1ms", "10ms", "100ms"]}) as daemon:
        daemon.wait_ready()
        with daemon.client() as client:
            client.generate("tables have grown", max_tokens=2)
        before = counted(daemon)
        for seed in range(N_CONNECTIONS):
            luck = random.Random(seed)
            with daemon.client() as client:
                open_now = set(range(1, luck.randint(2, 40)))
                for stream in sorted(open_now):
                    client.socket.sendall(pack(request(stream, luck)))
                    if luck.random() < 0.2:
                        client.send(luck.randint(1, stream), pb.Cancel())
                    if luck.random() < 0.2:
                        client.send(luck.randint(1, stream), pb.Credit(tokens=luck.choice(NUMBERS)))
                for stream in sorted(open_now):  # those that watch, or have no credit
                    client.send(stream, pb.Cancel())
                while open_now:
                    frame = client.read()
                    kind = frame.WhichOneof("body")
                    holds(frame.stream in open_now, f"seed {seed}: {kind} on {frame.stream}, which had its last answer")
                    if kind == "error":
                        holds(frame.error.message and not frame.error.fatal, f"seed {seed}: {frame}")
                        holds(frame.error.code != pb.CODE_INTERNAL, f"seed {seed}: {frame}")
                    if kind in LAST:
                        open_now.remove(frame.stream)
                        kinds[kind] = kinds.get(kind, 0) + 1
                try:
                    frame = client.read(timeout=0.02)
                    raise AssertionError(f"seed {seed}: after all last answers came {frame}")
                except socket.timeout:
                    pass
        note(", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
        with daemon.client() as client:
            client.one(pb.LoadModel(name="tiny"))
            equal(client.generate("still here", max_tokens=3).reason, "FINISH_LENGTH")
        within(lambda: counted(daemon) == before, "all that was held is back")
        holds(held(daemon.status())["stream"] < STREAM_BYTES, "tables of some rows, and nothing else, are left")


if __name__ == "__main__":
    tap.main()
