"""A client of sotto in stock Python: made from sotto.proto alone, sharing no code with the daemon or libsotto."""
import socket
import struct

import sotto_pb2 as pb
from tap import PATIENCE_S

# Every answer is the last one of its request, except these.
LAST = ({field.name for field in pb.ServerFrame.DESCRIPTOR.oneofs_by_name["body"].fields} -
        {"welcome", "accepted", "delta", "notice", "load_progress", "event"})


class Gone(Exception):
    """The daemon has closed the connection."""


def pack(frame):
    body = frame.SerializeToString()
    return struct.pack("<I", len(body)) + body


def client_frame(stream, body):
    """@body in the field of ClientFrame that has its type."""
    for field in pb.ClientFrame.DESCRIPTOR.oneofs_by_name["body"].fields:
        if field.message_type is body.DESCRIPTOR:
            frame = pb.ClientFrame(stream=stream)
            getattr(frame, field.name).CopyFrom(body)
            return frame
    raise TypeError(body)


def generate(prompt=None, tokens=None, messages=None, model="", temperature=0.0, seed=None, max_tokens=None, stop=(),
             credit=None, **sampling):
    ask = pb.Generate(model=model)
    if tokens is not None:
        ask.tokens.ids.extend(tokens)
        ask.tokens.SetInParent()
    elif messages is not None:
        for role, content in messages:
            ask.chat.messages.add(role=role, content=content.encode())
    else:
        ask.text = prompt.encode() if isinstance(prompt, str) else prompt
    if temperature is not None:
        ask.sampling.temperature = temperature
    if seed is not None:
        ask.sampling.seed = seed
    for name, value in sampling.items():
        setattr(ask.sampling, name, value)
    if max_tokens is not None:
        ask.max_tokens = max_tokens
    if credit is not None:
        ask.credit = credit
    ask.stop.extend(s.encode() if isinstance(s, str) else s for s in stop)
    return ask


class Answer:
    """All that came for one stream."""

    def __init__(self):
        self.tokens, self.deltas, self.notices, self.logprobs = [], [], [], []
        self.bytes = b""
        self.accepted = self.done = self.error = None

    def add(self, frame):
        kind = frame.WhichOneof("body")
        if kind == "delta":
            assert frame.delta.first == len(self.tokens), "a token was lost or came twice"
            frame.delta.text.decode()  # whole characters, always
            self.deltas.append(frame.delta)
            self.tokens += frame.delta.tokens
            self.bytes += frame.delta.text
            self.logprobs += frame.delta.logprobs
        elif kind == "notice":
            self.notices.append(frame.notice)
        elif kind == "accepted":
            self.accepted = frame.accepted
        elif kind == "done":
            self.done = frame.done
        elif kind == "error":
            self.error = frame.error
        else:
            raise AssertionError(f"{kind} in the answer to Generate")

    @property
    def text(self):
        return self.bytes.decode()

    @property
    def reason(self):
        return pb.FinishReason.Name(self.done.reason) if self.done else pb.Code.Name(self.error.code)


class Client:
    def __init__(self, path, greet=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(path)
        self.bytes = b""
        self.waiting = []  # frames read while looking for another stream's
        self.answers = {}  # those that have begun
        self.streams = 0
        self.welcome = None
        if greet:
            try:
                self.send(0, pb.Hello(version_min=1, version_max=1, client="e2e/1"))
            except BrokenPipeError as refused:  # before it could say anything
                raise Gone() from refused
            frame = self.read()
            assert frame.WhichOneof("body") == "welcome", frame
            self.welcome = frame.welcome

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, stream, body):
        self.socket.sendall(pack(client_frame(stream, body)))

    def ask(self, body, stream=None):
        if stream is None:
            self.streams += 1
            stream = self.streams
        self.send(stream, body)
        return stream

    def read(self, timeout=PATIENCE_S):
        """The next frame; Gone at the end, socket.timeout after @timeout."""
        self.socket.settimeout(timeout)
        while True:
            if len(self.bytes) >= 4:
                n = struct.unpack_from("<I", self.bytes)[0]
                if len(self.bytes) >= 4 + n:
                    frame = pb.ServerFrame.FromString(self.bytes[4:4 + n])
                    self.bytes = self.bytes[4 + n:]
                    return frame
            try:
                got = self.socket.recv(1 << 16)
            except ConnectionResetError:
                got = b""
            if not got:
                raise Gone()
            self.bytes += got

    def read_of(self, stream, timeout=PATIENCE_S):
        """The next frame of @stream; those of others are kept for their turn."""
        for i, frame in enumerate(self.waiting):
            if frame.stream == stream:
                return self.waiting.pop(i)
        while True:
            frame = self.read(timeout)
            if frame.stream == stream:
                return frame
            self.waiting.append(frame)

    def one(self, body):
        """Asks, and gives the last frame's body (an Error, too)."""
        stream = self.ask(body)
        while True:
            frame = self.read_of(stream)
            kind = frame.WhichOneof("body")
            if kind in LAST:
                return getattr(frame, kind)

    def answer(self, stream, n_tokens=None):
        """All of the answer to a Generate, or its first @n_tokens or more: the next call goes on from there."""
        answer = self.answers.setdefault(stream, Answer())
        while not (answer.done or answer.error or (n_tokens is not None and len(answer.tokens) >= n_tokens)):
            answer.add(self.read_of(stream))
        if answer.done or answer.error:
            del self.answers[stream]
        return answer

    def generate(self, *args, **named):
        return self.answer(self.ask(generate(*args, **named)))

    def status(self):
        return self.one(pb.Status())
