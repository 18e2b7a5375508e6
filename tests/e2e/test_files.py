#!/usr/bin/python3
"""Model files that change, shrink or lie under a running daemon: right outcomes, sottod untouched."""
import os
import shutil
import tempfile

import sotto_pb2 as pb
import tap
from client import generate
from daemon import Daemon, truth
from tap import equal, fact, holds, note


def stories(name="f32"):
    return truth(f"models/stories260K-{name}.gguf")


def real(path, **named):
    return Daemon(engine="real", models={"tiny": {"file": path}},
                  settings={"restart_pauses": ["1ms", "10ms", "100ms"]}, **named)


class Copy:
    """A copy of a model's file that may be maltreated."""

    def __init__(self, name="f32"):
        self.folder = tempfile.mkdtemp(prefix="sotto-file-")
        self.path = os.path.join(self.folder, "model.gguf")
        shutil.copy(stories(name), self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def tokens(client, n=40):
    return client.generate("Once upon a time", max_tokens=n).tokens


@fact
def a_file_truncated_while_it_is_served_hurts_an_engine_and_not_sottod():
    with Copy() as copy, real(copy.path, engine_may_fault=True) as daemon, daemon.client() as client:
        daemon.wait_ready()
        pid = daemon.process.pid
        tokens(client)
        os.truncate(copy.path, 100000)
        answer = client.generate("Once upon a time", max_tokens=40)
        holds(answer.error, "an answer out of half a file")
        note(answer.error.message)
        holds(answer.reason in ("CODE_FAILED_PRECONDITION", "CODE_INTERNAL", "CODE_UNAVAILABLE"), answer.reason)
        equal(client.status().instance, client.welcome.instance, "it is the same daemon")
        equal(daemon.process.pid, pid)
        shutil.copy(stories(), copy.path)
        client.one(pb.LoadModel(name="tiny"))
        equal(len(tokens(client)), 40, "tokens from the whole file")


@fact
def a_file_replaced_by_rename_serves_running_streams_and_restarts_as_it_was():
    with Copy() as copy, real(copy.path) as daemon, daemon.client() as client:
        daemon.wait_ready()
        want = tokens(client)
        other = copy.path + ".new"
        shutil.copy(stories("q8_0"), other)
        os.rename(other, copy.path)
        stream = client.ask(generate("Once upon a time", max_tokens=40))
        os.kill(daemon.engine_of().pid, 9)
        equal(client.answer(stream).tokens, want, "tokens after a restart")
        equal(client.one(pb.UnloadModel(name="tiny")), pb.Unloaded())
        info = client.one(pb.LoadModel(name="tiny"))
        equal(info.format, "Q8_0", "the new file is a new model")


@fact
def files_that_lie_are_refused_with_a_sentence_and_the_model_beside_stays():
    with open(stories(), "rb") as file:
        whole = file.read()
    with Copy() as copy, real(copy.path) as daemon, daemon.client() as client:
        daemon.wait_ready()
        want = tokens(client)
        bad = os.path.join(copy.folder, "bad.gguf")
        for what, data in [("empty", b""), ("no GGUF", b"GIF89a" + bytes(1000)), ("cut head", whole[:5000]),
                           ("cut weights", whole[:-4096]), ("version", whole[:4] + b"\x09" + whole[5:]),
                           ("counts", whole[:8] + b"\xff" * 16 + whole[24:])]:
            with open(bad, "wb") as file:
                file.write(data)
            got = client.one(pb.LoadModel(name="bad", file=bad))
            holds(isinstance(got, pb.Error), f"{what} was loaded")
            note(f"{what}: {got.message}")
            equal(tokens(client), want, f"the model beside {what}")


@fact
def a_file_that_is_not_there_or_no_file_is_refused():
    with Copy() as copy, real(copy.path) as daemon, daemon.client() as client:
        daemon.wait_ready()
        for path in copy.path + ".absent", copy.folder, "/dev/zero", "relative.gguf":
            got = client.one(pb.LoadModel(name="bad", file=path))
            holds(isinstance(got, pb.Error), path)
            note(f"{path}: {got.message}")


if __name__ == "__main__":
    tap.main()
