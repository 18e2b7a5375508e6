"""A fake daemon: a test speaks the server's side of the protocol, to see what clients make of it."""
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import sotto_pb2 as pb
from tap import PATIENCE_S

BUILD = os.environ["SOTTO_BUILD"]


class Peer:
    """One client's connection, seen from the daemon."""

    def __init__(self, connection):
        self.connection = connection
        self.asked = []  # bodies, in order

    def read(self):
        """The next ClientFrame, or None when the client has gone."""
        head = self.connection.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return None
        body = self.connection.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)
        frame = pb.ClientFrame.FromString(body)
        self.asked.append(frame)
        return frame

    def send(self, stream=0, **body):
        frame = pb.ServerFrame(stream=stream, **body).SerializeToString()
        self.connection.sendall(struct.pack("<I", len(frame)) + frame)

    def greet(self):
        assert self.read().WhichOneof("body") == "hello"
        self.send(welcome=pb.Welcome(version=1, server="fake/1", limits=pb.Limits(frame_bytes=4 << 20)))

    def models(self, **facts):
        """Answers ListModels with one model that is ready."""
        model = pb.ModelInfo(name="tiny", state=pb.MODEL_READY, is_default=True, architecture="llama", format="F32")
        for name, value in facts.items():
            setattr(model, name, value)
        frame = self.read()
        assert frame.WhichOneof("body") == "list_models", frame
        self.send(frame.stream, models=pb.Models(models=[model]))

    def say(self, stream, words, reason=pb.FINISH_END, seed=7):
        self.send(stream, accepted=pb.Accepted(prompt_tokens=5, max_tokens=64, seed=seed, model="tiny"))
        for i, word in enumerate(words):
            text = word if isinstance(word, bytes) else word.encode()
            self.send(stream, delta=pb.Delta(first=i, tokens=[100 + i], text=text))
        usage = pb.Usage(prompt_tokens=5, cached_tokens=2, generated_tokens=len(words), ttft_us=20000, total_us=40000)
        self.send(stream, done=pb.Done(reason=reason, usage=usage))


class FakeDaemon:
    """Listens in a folder of its own and calls script(peer) for each connection."""

    def __init__(self, script):
        self.folder = tempfile.mkdtemp(prefix="sotto-fake-")
        self.path = os.path.join(self.folder, "s")
        self.script = script
        self.failure = None
        self.peers = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept(); after close() alone it would accept for the next fake
        self.thread.join(PATIENCE_S)
        self.listener.close()
        shutil.rmtree(self.folder)
        if self.failure and kind is None:
            raise self.failure

    def serve(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            peer = Peer(connection)
            self.peers.append(peer)
            try:
                self.script(peer)
            except Exception as failure:
                self.failure = failure
            connection.close()

    def start(self, *words, **named):
        """Starts `sotto` on this socket."""
        named.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([os.path.join(BUILD, "clients/sotto"), "--socket", self.path, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **named)

    def run(self, *words, stdin=b""):
        """(exit code, standard output, standard error) of `sotto`."""
        process = self.start(*words, stdin=subprocess.PIPE)
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
        return process.returncode, out.decode(), err.decode()
