"""The clients of one user for soak.py: a process with the user's id and many connections.

Each connection sends requests at random times of its own, whether they are answered or not. A request that is refused
with a retry-after is sent again after that time, and the outcome is counted. Some clients cancel, some disconnect in the
middle of an answer and connect again, some are slow to read. Each answer is compared with the known one.
"""
import json
import os
import random
import selectors
import socket
import struct
import sys
import time

import common  # noqa: F401  pylint: disable=unused-import
import sotto_pb2 as pb
from client import generate, pack, client_frame

CANCELS, LEAVES, DEADLINES, DAWDLES = 0.02, 0.004, 0.05, 0.03  # of the requests
DEADLINE_MS = 4000
RETRIES = 6  # then a refused request gives up
WAITING_MOST = 8  # requests of a connection that wait to be sent again


def body_of(prompt, n, deadline, seed):
    """@seed changes no token at temperature 0; it makes requests differ, like those of people."""
    body = generate(prompt, max_tokens=n, temperature=0.0, seed=seed)
    body.priority = pb.CLASS_INTERACTIVE
    body.ignore_end = True
    if deadline:
        body.finish_by_ms = DEADLINE_MS
    return body


class App:
    """One connection."""

    def __init__(self, crowd):
        self.crowd = crowd
        self.next_s = time.monotonic() + random.expovariate(crowd.rate)
        self.connect()

    def connect(self):
        self.streams, self.again = {}, []  # by number: request and answer so far; (when, what to ask again)
        self.n_streams, self.bytes = 0, b""
        self.deaf_until = 0.0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(self.crowd.path)
        self.socket.sendall(pack(client_frame(0, pb.Hello(version_min=1, version_max=1, client="soak/1"))))
        self.crowd.selector.register(self.socket, selectors.EVENT_READ, self)

    def leave(self):
        self.crowd.count["left in the middle"] += len(self.streams)
        self.crowd.selector.unregister(self.socket)
        self.socket.close()

    def ask(self, request):
        self.n_streams += 1
        request["tokens"], request["asked"], request["is_in"] = [], time.monotonic(), False
        self.streams[self.n_streams] = request
        self.crowd.count["asked"] += 1
        body = body_of(self.crowd.prompts[request["prompt"]], self.crowd.n_tokens, request["deadline"],
                       request["seed"])
        self.socket.sendall(pack(client_frame(self.n_streams, body)))

    def act(self, now):
        if now >= self.next_s:
            self.next_s = now + random.expovariate(self.crowd.rate)
            if len(self.streams) < 60:
                self.ask({"prompt": random.randrange(len(self.crowd.prompts)), "seed": random.getrandbits(32),
                          "retry_ms": 0, "n_refused": 0,
                          "deadline": random.random() < DEADLINES, "cancels": random.random() < CANCELS})
            if random.random() < LEAVES:
                self.leave()
                self.connect()
            elif random.random() < DAWDLES:
                self.deaf_until = now + 2.0
        due = [entry for entry in self.again if entry[0] <= now]
        for entry in due:
            self.again.remove(entry)
            self.ask(entry[1])

    def read(self):
        got = self.socket.recv(1 << 16)
        if not got:
            self.crowd.count["connections closed by sottod"] += 1
            self.leave()
            self.connect()
            return
        self.bytes += got
        while len(self.bytes) >= 4 and len(self.bytes) >= 4 + struct.unpack_from("<I", self.bytes)[0]:
            n = 4 + struct.unpack_from("<I", self.bytes)[0]
            frame, self.bytes = pb.ServerFrame.FromString(self.bytes[4:n]), self.bytes[n:]
            if frame.stream in self.streams:
                self.take(frame)

    def take(self, frame):
        request, kind = self.streams[frame.stream], frame.WhichOneof("body")
        if kind == "accepted" and not request["is_in"]:
            request["is_in"] = True
            self.crowd.admitted(request)
        elif kind == "delta":
            request["tokens"] += frame.delta.tokens
            if request["cancels"]:
                request["cancels"] = False
                self.socket.sendall(pack(client_frame(frame.stream, pb.Cancel())))
        elif kind == "done":
            del self.streams[frame.stream]
            self.crowd.ended(request, frame.done)
        elif kind == "error":
            del self.streams[frame.stream]
            self.refused(request, frame.error)

    def refused(self, request, error):
        self.crowd.refused(request, error)
        if error.code != pb.CODE_RESOURCE_EXHAUSTED or error.retry_after_ms == 0 or request["is_in"]:
            return
        request["retry_ms"], request["n_refused"] = error.retry_after_ms, request["n_refused"] + 1
        if request["n_refused"] < RETRIES and len(self.again) < WAITING_MOST:
            self.again.append((time.monotonic() + error.retry_after_ms / 1000, request))


class Crowd:
    def __init__(self, asked):
        self.path, self.rate, self.prompts = asked["path"], asked["rate"], asked["prompts"]
        self.wanted, self.n_tokens = asked["tokens"], asked["n_tokens"]
        self.selector = selectors.DefaultSelector()
        self.count = {name: 0 for name in (
            "asked", "answered", "cancelled", "left in the middle", "refused at once", "refused without a time",
            "ended otherwise", "connections closed by sottod", "deadline admitted", "deadline refused", "deadline missed",
            "retry: admitted", "retry: refused", "first retry: admitted", "first retry: refused", "wrong tokens")}
        self.others = {}  # counts of other codes
        self.longest_ms = self.longest_deadline_ms = 0
        self.apps = [App(self) for _ in range(asked["apps"])]

    def admitted(self, request):
        if not request["deadline"]:
            self.count_retry(request, "admitted")
        self.count["deadline admitted"] += request["deadline"]

    def ended(self, request, done):
        if done.reason == pb.FINISH_CANCELLED:
            self.count["cancelled"] += 1
            wanted = self.wanted[request["prompt"]][:len(request["tokens"])]
        else:
            self.count["answered"] += 1
            wanted = self.wanted[request["prompt"]]
            late = time.monotonic() - request["asked"] > DEADLINE_MS / 1000 and done.usage.total_us > DEADLINE_MS * 1000
            self.count["deadline missed"] += request["deadline"] and late
        self.count["wrong tokens"] += request["tokens"] != wanted

    def count_retry(self, request, outcome):
        self.count[f"retry: {outcome}"] += request["n_refused"] > 0
        self.count[f"first retry: {outcome}"] += request["n_refused"] == 1

    def refused(self, request, error):
        if error.code == pb.CODE_DEADLINE_EXCEEDED and request["deadline"]:
            return  # counted by sottod
        if error.code != pb.CODE_RESOURCE_EXHAUSTED:
            self.count["ended otherwise"] += 1
            word = f"{pb.Code.Name(error.code)}: {error.message}"[:90]
            self.others[word] = self.others.get(word, 0) + 1
            return
        if request["deadline"] and "within" in error.message:
            self.count["deadline refused"] += 1
        self.count["refused at once"] += 1
        self.count["refused without a time"] += error.retry_after_ms == 0 and not request["deadline"]
        if request["deadline"]:
            self.longest_deadline_ms = max(self.longest_deadline_ms, error.retry_after_ms)
            return
        self.longest_ms = max(self.longest_ms, error.retry_after_ms)
        self.count_retry(request, "refused")

    def run(self, seconds):
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            for app in self.apps:
                app.act(now)
            for key, _ in self.selector.select(0.01):
                if key.data.deaf_until <= now and key.data.socket is key.fileobj:
                    key.data.read()
        for app in self.apps:
            app.leave()


def main():
    asked = json.loads(sys.stdin.read())
    if asked["uid"] is not None:
        os.setgroups([])
        os.setgid(asked["uid"])
        os.setuid(asked["uid"])
    random.seed(asked["seed"])
    crowd = Crowd(asked)
    crowd.run(asked["seconds"])
    print(json.dumps({"count": crowd.count, "others": crowd.others, "longest_ms": crowd.longest_ms,
                      "longest_deadline_ms": crowd.longest_deadline_ms}))


if __name__ == "__main__":
    main()
