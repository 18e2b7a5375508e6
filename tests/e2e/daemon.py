"""Starts a private sottod: its folder, with its socket, is removed at the end; the test chooses the engine."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import maker
from client import PATIENCE_S, Client, Gone
from tap import LeftOut, equal, holds, within

BUILD = os.environ["SOTTO_BUILD"]
PROGRAMS = {"sottod": "daemon/app/sottod", "fake": "daemon/engine/sotto-fake-engine",
            "real": "daemon/engine/sotto-engine", "sense": "daemon/sensor/sotto-sense", "sotto": "clients/sotto", "tiny": "clients/tiny"}
REPORTS = re.compile(r"AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:|Assertion")


def thread_times(pids):
    """(seconds that the threads of @pids have run, seconds that they were ready and had no core), as the kernel counts."""
    ran = waited = 0
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                    times = stat.read().split()
                ran, waited = ran + int(times[0]), waited + int(times[1])
        except (OSError, IndexError):
            pass  # it has just ended
    return ran / 1e9, waited / 1e9


def program(name):
    return os.path.join(BUILD, PROGRAMS[name])


def truth(name):
    """Path of a file that another program made; raises LeftOut if it is missing (under CI: a failure)."""
    path = os.path.join(os.environ.get("SOTTO_TRUTH_DIR", ""), name)
    if not os.path.exists(path):
        if os.environ.get("CI"):
            raise AssertionError(f"truth data missing under CI: {path}")
        raise LeftOut(f"{path} is not here")
    return path


def stories(**named):
    """A small trained model, for Daemon(engine="real")."""
    return {"file": truth("models/stories260K-f32.gguf"), "threads": 1, **named}


class Daemon:
    """with Daemon(models={"tiny": {...}}) as daemon: ...

    A model without a "file" is made for the fake engine, with the pieces of @words; @script tells the fake engine what
    to do. At the end sottod is stopped: it must exit with 0, in time, and without a report of a sanitizer in its log.
    """

    def __init__(self, models=None, engine="fake", script="", words=(), template=None, policy=None, settings=None,
                 start=True, environment=None, limits=None,
                 engine_may_fault=False, sense=None, sense_program=None, device=None):
        self.folder = tempfile.mkdtemp(prefix="sotto-e2e-")
        self.socket = os.path.join(self.folder, "s")
        self.log_path = os.path.join(self.folder, "log")
        self.config_path = os.path.join(self.folder, "sotto.json")
        self.script_path = os.path.join(self.folder, "script")
        self.engine = engine
        self.environment = {**os.environ, **(environment or {})}
        self.limits = limits
        self.engine_may_fault = engine_may_fault
        self.sense = sense or {"start": "never"}  # a test must not depend on how warm its machine is
        self.sense_program = sense_program
        self.device = device or {}
        self.process = None
        self.begun = self.ready_s = None
        self.policy = policy or [{"anyone": True, "admin": True, "observe": True, "special": True,
                                  "class_ceiling": "realtime", "streams": 256}]
        self.settings = settings or {}
        self.models = models or {"tiny": {}}
        self.set_script(script)
        for model in self.models.values():
            if "file" not in model:
                model["file"] = maker.write_model(os.path.join(self.folder, "made.gguf"), words, template)
            if engine == "fake":
                model.setdefault("backend", "fake")
                model.setdefault("fake_script", self.script_path)
            model.setdefault("load", True)
        next(iter(self.models.values())).setdefault("default", True)
        self.configure()
        if start:
            self.start()

    def set_script(self, script):
        with open(self.script_path, "w") as file:
            file.write(script)

    def configure(self, **changes):
        config = {"models": self.models, "policy": self.policy, "daemon": self.settings,
                  "sense": self.sense, "device": self.device, **changes}
        with open(self.config_path, "w") as file:
            json.dump(config, file)

    def command(self, *words):
        return [program("sottod"), "--config", self.config_path, "--socket", self.socket, "--engine",
                program(self.engine), *(["--sense", self.sense_program] if self.sense_program else []),
                "--foreground", *words]

    def start(self):
        with open(self.log_path, "ab") as log:
            self.begun = time.monotonic()
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env=self.environment, preexec_fn=self.limits)
        within(self.answers, "the daemon answers")
        self.ready_s = time.monotonic() - self.begun

    def answers(self):
        holds(self.process.poll() is None, f"sottod ended with {self.process.returncode}:\n{self.log()}")
        try:
            Client(self.socket).close()
        except (FileNotFoundError, ConnectionRefusedError, Gone):
            return False
        return True

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.process and self.process.poll() is None:
                self.stop(check=kind is None)
            log = self.log() if os.path.exists(self.log_path) else ""
            if kind is not None:
                print("\n".join("# log: " + line for line in log.splitlines()[-40:]))
            elif REPORTS.search(log) and not self.engine_may_fault:
                raise AssertionError(log)
        finally:
            shutil.rmtree(self.folder)

    def stop(self, check=True, patience_s=PATIENCE_S):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"sottod did not stop within {patience_s} s of SIGTERM:\n{self.log()[-3000:]}")
        if check:
            holds(code == 0, f"sottod ended with {code}:\n{self.log()[-3000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def client(self):
        return Client(self.socket)

    def sotto(self, *words, **named):
        """(exit code, standard output, standard error) of the command line."""
        done = subprocess.run([program("sotto"), "--socket", self.socket, *words], capture_output=True,
                              timeout=PATIENCE_S, **named)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def status(self):
        with self.client() as client:
            return client.status()

    def counter(self, name):
        return next(row.value for row in self.status().counters if row.name == name)

    def wait_ready(self, name="tiny"):
        """Waits until the model is ready, and returns its ModelInfo."""
        info = []

        def is_ready():
            info[:] = [model for model in self.status().models if model.name == name]
            return info and info[0].state == 3
        within(is_ready, f"{name} is ready")
        return info[0]

    def engine_of(self, name="tiny"):
        """EngineInfo, or None."""
        return next((engine for engine in self.status().engines if engine.model == name), None)


@contextlib.contextmanager
def serving(**named):
    """with serving(...) as (daemon, client): a Daemon(...) with all of its models ready, and a connection to it."""
    with Daemon(**named) as daemon, daemon.client() as client:
        for name, model in daemon.models.items():
            if model["load"]:
                daemon.wait_ready(name)
        yield daemon, client


def client_of(daemon, uid):
    """A connection of another user; needs root, and a socket that this user may open."""
    os.seteuid(uid)
    try:
        return daemon.client()
    finally:
        os.seteuid(0)


def settle(daemon, before, patience_s=PATIENCE_S):
    """Waits until what is held now is what was held() before."""
    end = time.monotonic() + patience_s
    now = None
    while now != before and time.monotonic() < end:
        try:
            now = held(daemon.status())
        except (AssertionError, Gone) as refused:  # too many connections, while it still reaps the dead
            now = refused
        time.sleep(0.02)
    equal(now, before, "what is held after all have left")


def calm(daemon):
    """Waits until nothing is asked for and what is held() does not change for a while, and returns it."""
    last = []

    def is_calm():
        now = held(daemon.status())
        last.append(now)
        time.sleep(0.2)
        return not any(n for name, row in now.items() if name.startswith("class ") for n in row) and last[-2:] == [now, now]
    within(is_calm, "what is held does not change")
    return last[-1]


def held(status):
    """Figures that must return to their first values when all clients have left: sottod's bytes by kind, descriptors,
    connections, pages, sequences.

    Tables keep the size of their busiest moment, so take the first values after one like it. The buffer between sottod
    and an engine holds the message of the moment, and does not count.
    """
    figures = {row.kind: row.bytes for row in status.memory if row.holder == "sottod" and
               row.kind in ("stream", "wire", "sched", "text")}
    figures["descriptors"] = status.descriptors
    figures["connections"] = status.connections
    for model in status.models:
        figures[model.name + " pages"] = model.kv_pages_used
    for engine in status.engines:
        figures[engine.model + " sequences"] = engine.sequences
    for row in status.classes:
        figures[f"class {row.priority}"] = (row.queued, row.running, row.parked)
    return figures
