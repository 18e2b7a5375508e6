"""Processes that keep a server busy while one innocent request is measured. Each may have a user id of its own."""
import json
import multiprocessing
import os
import selectors
import socket
import threading

import common  # noqa: F401  pylint: disable=unused-import
import sotto_pb2 as pb
from client import Client, client_frame, generate, pack

FIRST_UID = 20001
READY_S = 20


class Busy:
    """with Busy(work, argument...): a process runs work(self, argument...) until the block ends, which begins when the
    process is ready, or has had long enough for it. @cores: where it may run, unless where this process does."""

    def __init__(self, work, *arguments, uid=None, cores=None):
        context = multiprocessing.get_context("fork")
        self.over, self.ready, self.count = context.Event(), context.Event(), context.Value("q", 0)
        self.process = context.Process(target=self.run, args=(work, uid, cores, arguments), daemon=True)

    def run(self, work, uid, cores, arguments):
        if cores:
            os.sched_setaffinity(0, cores)
        if uid is not None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        work(self, *arguments)

    def __enter__(self):
        self.process.start()
        self.ready.wait(READY_S)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.process.join(10)
        self.process.kill()
        self.process.join()


def talk(busy, server, prompts, n_at_once, n_tokens, priority):
    """@n_at_once answers of @n_tokens at a time, one after the other; counts tokens."""
    def talk_on(number):
        while not busy.over.is_set():
            stream = server.ask(next(prompts), n_tokens, priority)
            while not busy.over.is_set() and (got := stream.read(1)):
                begun[number] = True
                with busy.count.get_lock():
                    busy.count.value += got
                if all(begun):
                    busy.ready.set()
            stream.close()

    begun = [False] * n_at_once
    if not begun:
        busy.ready.set()
    for number in range(n_at_once):
        threading.Thread(target=talk_on, args=(number,), daemon=True).start()
    busy.over.wait()


# ---- floods of sottod: frames as fast as it takes them, answers thrown away

def biased(number):
    """1,024 biases, the last one a duplicate: refused, but only after a look at all."""
    body = generate("x", max_tokens=1)
    for i in range(1023):
        body.sampling.bias.add(id=i, bias=0.5)
    body.sampling.bias.add(id=1022, bias=0.5)
    return pack(client_frame(number, body))


def watched(number):
    """The first 32 frames of a connection are watches, the others tiny requests."""
    return pack(client_frame(number, pb.Watch(topics=["stream"]) if number <= 32 else generate("x", max_tokens=1)))


def chatted(number):
    """A chat of 1,024 messages and 400 KB of variables for the template."""
    body = generate(messages=[("user" if i % 2 == 0 else "assistant", f"line {i}") for i in range(1024)], max_tokens=1)
    body.chat.variables = json.dumps({"notes": "x" * 400_000}).encode()
    return pack(client_frame(number, body))


def long_text(number):
    return pack(client_frame(number, pb.Tokenize(text=(b"the quick brown fox " * 104_857)[:2 << 20])))


# Name, what is sent, connections, users, frames that are made in advance (sent again and again under the same numbers).
FLOODS = [("60 connections with 1,024 biases each", biased, 60, 1, 4),
          ("4 users with heavy templates", chatted, 1, 4, 1),
          ("60 connections with 32 watches each and tiny requests", watched, 60, 1, 64),
          ("4 users who tokenise texts of 2 MB", long_text, 1, 4, 1)]


def flood(busy, path, make, n_connections, n_frames):
    selector = selectors.DefaultSelector()
    frames = b"".join(make(number) for number in range(1, n_frames + 1))
    again = b"".join(make(number) for number in range(max(1, n_frames - 31), n_frames + 1))
    for _ in range(n_connections):
        client = Client(path)
        client.socket.setblocking(False)
        selector.register(client.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, [memoryview(frames)])
    busy.ready.set()
    while not busy.over.is_set():
        for key, events in selector.select(0.1):
            try:
                if events & selectors.EVENT_READ:
                    key.fileobj.recv(1 << 18)
                if events & selectors.EVENT_WRITE:
                    left = key.data[0][key.fileobj.send(key.data[0][:1 << 16]):]
                    key.data[0] = left or memoryview(again)
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError, socket.timeout):
                selector.unregister(key.fileobj)
