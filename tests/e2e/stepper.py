"""sotto-engine driven from outside: the test is sottod, and speaks engine.proto in stock Python."""
import os
import socket
import struct
import subprocess
import tempfile

import engine_pb2 as pb
from tap import PATIENCE_S

BUILD = os.environ["SOTTO_BUILD"]
TRUTH = os.environ["SOTTO_TRUTH_DIR"]
MODEL_FD = 4

# Puts socket and model where an engine expects them. Python's own way to pass descriptors keeps their numbers.
LAUNCH = "exec 3<&{0} 4<&{1} {0}<&- {1}<&-; exec {2}"


class Stepper:
    """One engine process, started with Start. Answers come by get(), Progress and Log set aside."""

    def __init__(self, model, program="sotto-engine", script=None, **start):
        self.logs = []
        self.script = None
        if script is not None:
            self.script = tempfile.NamedTemporaryFile("w", suffix=".script")
            self.script.write(script)
            self.script.flush()
            start["fake_script"] = self.script.name
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE_S)
        self.socket = ours
        program = os.path.join(BUILD, "daemon/engine", program)
        with open(model, "rb") as file, theirs:
            fds = (file.fileno(), theirs.fileno())
            high = [os.dup(fd) for fd in fds]
            launch = LAUNCH.format(high[1], high[0], program)
            self.process = subprocess.Popen(["/bin/bash", "-c", launch], pass_fds=high, stdin=subprocess.DEVNULL)
            for fd in high:
                os.close(fd)
        start.setdefault("build", version())
        start.setdefault("backend", "cpu")
        start.setdefault("max_step_rows", 64)
        start.setdefault("guard_allocations", True)
        self.send(start=pb.Start(model_fd=MODEL_FD, **start))
        self.step_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.script:
            self.script.close()

    def send(self, **body):
        if "continue_" in body:
            body["continue"] = body.pop("continue_")
        frame = pb.ToEngine(**body).SerializeToString()
        self.socket.sendall(struct.pack("<I", len(frame)) + frame)

    def _read(self, n):
        parts = b""
        while len(parts) < n:
            part = self.socket.recv(n - len(parts))
            if not part:
                return None
            parts += part
        return parts

    def any(self):
        """The next answer, or None when the engine has gone."""
        while True:
            try:
                head = self._read(4)
            except ConnectionResetError:
                head = None
            if head is None:
                return None
            message = pb.FromEngine.FromString(self._read(struct.unpack("<I", head)[0]))
            kind = message.WhichOneof("body")
            if kind == "log":
                self.logs.append(message.log.line)
            elif kind not in ("progress", "slow"):  # a busy machine makes any step slow
                return message

    def get(self, kind):
        message = self.any()
        if message is None or message.WhichOneof("body") != kind:
            raise AssertionError(f"{kind} expected, came: {message}")
        return getattr(message, kind)

    def open(self, sequence, tokens, reserve=64, n_prompt=None, **sampler):
        sampler.setdefault("top_p", 1)
        sampler.setdefault("repetition_penalty", 1)
        self.send(open=pb.Open(sequence=sequence, tokens=tokens, n_prompt=n_prompt or len(tokens),
                               reserve_tokens=reserve, sampler=pb.Sampler(**sampler)))
        return self.get("opened")

    def step(self, *entries):
        """Runs a step of (sequence, prefill rows or 0 for a decode)."""
        self.begin(*entries)
        done = self.get("step_done")
        assert done.id == self.step_id, done
        return done

    def begin(self, *entries, slice_us=0):
        self.step_id += 1
        work = [pb.Entry(sequence=s, prefill=n) if n else pb.Entry(sequence=s, decode=1) for s, n in entries]
        self.send(step=pb.Step(id=self.step_id, entries=work, slice_us=slice_us))

    def answer(self, sequence, n_prompt, n):
        """Prefills, then decodes; the EntryDone of each token."""
        return [self.step((sequence, n_prompt if i == 0 else 0)).entries[0] for i in range(n)]

    def ended(self):
        """Waits for the process; its exit code, below 0 for a signal."""
        return self.process.wait(PATIENCE_S)


def version():
    program = os.path.join(BUILD, "daemon/engine/sotto-engine")
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
