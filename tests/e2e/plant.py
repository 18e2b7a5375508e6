"""A simulated plant around a real daemon: its computing warms the machine, and a screen draws beside it (both in
files).

Heat has two nodes, a die on a board: the die follows power within a second or so, the board within many. Power is the
time that steps held the processor, as Status reports it, plus what the script sets for other programs. Screen is a
client of the device with a counter that moves. Talker is an app that asks without end, and keeps the answers.
"""
import bisect
import os
import socket
import threading
import time

from client import Answer, Gone, generate
from daemon import thread_times

PERIOD_S = 0.05
PATIENCE_S = 600  # a hot chip admits no request for long
CORES = "cores"


def processor(status, name=CORES):
    """The governor's bounds of a processor."""
    return next(info for info in status.governor if info.processor == name)


class Loop:
    """with Loop(...): a thread that does step() every PERIOD_S until the end; what it raises is raised there."""
    period_s = PERIOD_S

    def __init__(self):
        self.is_over = threading.Event()
        self.fault = None
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.is_over.set()
        self.thread.join()
        if self.fault and kind is None:
            raise self.fault

    def run(self):
        try:
            while not self.is_over.wait(self.period_s):
                self.step()
        except Exception as fault:  # pylint: disable=broad-except
            self.fault = fault

    def step(self):
        raise NotImplementedError


class Nodes:
    """Degrees of die and board; watts in units of what our work takes when it has the cores all the time."""

    def __init__(self, ambient, die_k, die_s, board_k, board_s, others=0.0):
        self.ambient, self.die_k, self.die_s, self.board_k, self.board_s = ambient, die_k, die_s, board_k, board_s
        self.board = ambient + others * board_k
        self.die = self.board + others * die_k

    def pass_time(self, seconds, power):
        left = seconds
        while left > 0:
            dt = min(left, self.die_s / 20)
            self.die += (self.board + power * self.die_k - self.die) * dt / self.die_s
            self.board += (self.ambient + power * self.board_k - self.board) * dt / self.board_s
            left -= dt


class Heat(Loop):
    """Closes the loop: reads how long the daemon's work held the cores, warms the nodes by it, writes what a sensor
    shows.

    A slice that waits for a core of a busy machine holds the processor and warms nothing, so the smaller one of the
    time held and the time that engines computed counts.

    rows: (seconds, degrees of the die, share that was ours, power of others, StatusReport). late_s: the longest time
    that the loop lost at once, because the test or the daemon had no core.
    """

    def __init__(self, daemon, tree, nodes, number=0, grid_mc=100):
        super().__init__()
        self.client = daemon.client()
        self.tree, self.nodes, self.number, self.grid_mc = tree, nodes, number, grid_mc
        self.others = 0.0
        self.shows = True  # False: the sensor is gone
        self.rows = []
        self.pids, self.waited_s, self.late_s = [os.getpid(), daemon.process.pid], None, 0.0
        self.begun = self.last = time.monotonic()
        self.held_us, self.worked_us = processor(self.client.status()).held_us, None

    def step(self):
        status = self.client.status()
        now = time.monotonic()
        held_us = processor(status).held_us
        elapsed = now - self.last
        worked_us = 1e6 * thread_times([engine.pid for engine in status.engines])[0]
        ours_us = min(held_us - self.held_us, worked_us - self.worked_us) if self.worked_us else 0
        ours = min(1.0, max(0.0, ours_us / 1e6 / elapsed))
        self.worked_us = worked_us
        waited_s = thread_times(self.pids)[1]
        if self.waited_s is not None:
            self.late_s = max(self.late_s, elapsed - PERIOD_S, waited_s - self.waited_s)
        self.waited_s = waited_s
        self.nodes.pass_time(elapsed, ours + self.others)
        self.last, self.held_us = now, max(held_us, self.held_us)
        self.rows.append((now - self.begun, self.nodes.die, ours, self.others, status))
        if self.shows:
            self.tree.warm(int(1000 * self.nodes.die) // self.grid_mc * self.grid_mc, self.number)

    def __exit__(self, *what):
        super().__exit__(*what)
        self.client.close()


class Screen(Loop):
    """A client that draws: its engine is busy for @share of each second."""
    period_s = 0.005

    def __init__(self, tree, share=0.0, pid=4711):
        super().__init__()
        self.tree, self.share, self.pid = tree, share, pid
        self.busy_ns = 0
        self.last = time.monotonic()

    def step(self):
        now = time.monotonic()
        self.busy_ns += int((now - self.last) * 1e9 * self.share)
        self.last = now
        self.tree.busy(self.pid, self.busy_ns)


def request(prompt, priority, n, model="", seed=1, temperature=0.0):
    body = generate(prompt, max_tokens=n, model=model, seed=seed, temperature=temperature)
    body.priority = priority
    body.ignore_end = True
    return body


class Talker(Loop):
    """Asks @bodies one after the other, again and again. at: when each token came."""
    period_s = 0.0

    def __init__(self, daemon, bodies):
        super().__init__()
        self.client = daemon.client()
        self.bodies = bodies
        self.at = []
        self.answers = []  # (number of the body, Answer)

    def step(self):
        number = len(self.answers) % len(self.bodies)
        answer = Answer()
        self.answers.append((number, answer))
        try:
            self.read(answer, self.client.ask(self.bodies[number]))
        except (Gone, OSError):  # __exit__() closes the socket at any point of an answer, also before it is asked for
            if not self.is_over.is_set():
                raise

    def read(self, answer, stream):
        while not (answer.done or answer.error):
            n = len(answer.tokens)
            answer.add(self.client.read_of(stream, timeout=PATIENCE_S))
            self.at += [time.monotonic()] * (len(answer.tokens) - n)

    def notices(self, kind):
        return [notice for _, answer in self.answers for notice in answer.notices if notice.kind == kind]

    def n_since(self, moment):
        """Tokens that came after @moment."""
        return len(self.at) - bisect.bisect(self.at, moment)

    def judge(self, alone):
        """Each answer, whole or cut off by our end, is what it was in @alone."""
        for number, answer in self.answers:
            if answer.error:
                raise AssertionError(answer.error)
            want = alone[number][:None if answer.done else len(answer.tokens)]
            if answer.tokens != want:
                raise AssertionError(f"request {number}: got {answer.tokens}, undisturbed {want}")

    def __exit__(self, *what):
        self.is_over.set()
        self.client.socket.shutdown(socket.SHUT_RDWR)  # it may wait for its next token
        super().__exit__(*what)
        self.client.close()
