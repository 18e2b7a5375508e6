"""Two servers behind one interface: sottod, and the server of llama.cpp.

start() and stop() are theirs. ask(prompt, n) gives a stream: first() waits for its first token, read(n) for n more or the
end, cancel() ends it and does not wait. Both compute greedily, go on at the end of a sentence, and keep the keys and
values of a prompt for the next one that begins like it.
"""
import http.client
import json
import os
import socket
import subprocess
import time

import common  # noqa: F401  pylint: disable=unused-import
import sotto_pb2 as pb
from client import Client, generate
from daemon import Daemon
from tap import PATIENCE_S, within

CONTEXT = 1024  # tokens of one sequence


class Ours:
    name = "sotto"

    def __init__(self, model, n_slots, n_threads):
        self.daemon = Daemon(engine="real", start=False, models={"one": {
            "file": model, "threads": n_threads, "context": CONTEXT, "sequences": n_slots}},
            policy=[{"anyone": True, "special": True, "observe": True, "class_ceiling": "realtime", "streams": 256}])

    def start(self):
        os.chmod(self.daemon.folder, 0o755)
        self.daemon.start()
        os.chmod(self.daemon.socket, 0o777)
        self.daemon.wait_ready("one")

    def stop(self):
        self.daemon.__exit__(None)

    def ask(self, prompt, n, priority=pb.CLASS_REALTIME):
        return OurStream(Client(self.daemon.socket), prompt, n, priority)


class OurStream:
    def __init__(self, client, prompt, n, priority):
        body = generate(prompt, max_tokens=n)
        body.priority, body.ignore_end = priority, True
        self.client, self.text, self.is_over = client, "", False
        self.stream = client.ask(body)

    def first(self):
        return self.read(1)

    def read(self, n):
        """Returns how many tokens came: fewer than @n only at the end."""
        got = 0
        while got < n and not self.is_over:
            frame = self.client.read_of(self.stream)
            kind = frame.WhichOneof("body")
            if kind == "error":
                raise AssertionError(frame.error.message)
            self.is_over = kind == "done"
            if kind == "delta":
                got += len(frame.delta.tokens)
                self.text += frame.delta.text.decode()
        return got

    def cancel(self):
        self.client.send(self.stream, pb.Cancel())

    def close(self):
        self.client.close()


class Theirs:
    name = "llama.cpp server"

    def __init__(self, program, model, n_slots, n_threads):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.words = [program, "--model", model, "--host", "127.0.0.1", "--port", str(self.port), "--parallel", str(n_slots),
                      "--ctx-size", str(CONTEXT * n_slots), "--threads", str(n_threads), "--threads-batch", str(n_threads),
                      "--threads-http", str(n_slots + 8)]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        within(self.answers, "llama-server answers")

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"llama-server ended with {self.process.returncode}: {' '.join(self.words)}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()

    def ask(self, prompt, n, priority=None):
        return TheirStream(self.port, prompt, n)


class TheirStream:
    def __init__(self, port, prompt, n):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.connection.request("POST", "/completion", headers={"Content-Type": "application/json"}, body=json.dumps(
            {"prompt": prompt, "n_predict": n, "stream": True, "cache_prompt": True, "temperature": 0, "ignore_eos": True}))
        self.answer, self.text, self.is_over = None, "", False

    def first(self):
        return self.read(1)

    def read(self, n):
        if not self.answer:
            self.answer = self.connection.getresponse()
        got = 0
        while got < n and not self.is_over:
            line = self.answer.readline()
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                self.text += event["content"]
                self.is_over = event["stop"]
                got += not self.is_over or bool(event["content"])
            elif not line:
                self.is_over = True
        return got

    def cancel(self):
        """This server ends a request whose connection ends."""
        self.connection.sock and self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self):
        if self.answer:
            self.answer.close()
        self.connection.close()


def milliseconds(action):
    begun = time.monotonic()
    action()
    return 1000 * (time.monotonic() - begun)
