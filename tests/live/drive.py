#!/usr/bin/python3
"""./dev live: the real daemon and a real model on a simulated machine, for some minutes.

The model computes on the cores. They warm a die on a board (two nodes) by the time for which sotto held them, as Status
reports it, and its engine really computed (on a shared machine it may wait for a core). The script adds the heat of other
programs and a screen that draws, and it removes the sensor for a while. The governor sees the files that this script
writes, and nothing else of the machine. Slices are read from the daemon's trace (SIGUSR2), and frames are judged against
them: a frame of the storm is late if the time that our slices leave is too short to draw it before the next frame.

Writes live.md, live.svg and the last trace, for any viewer of trace events, into a folder.
"""
import argparse
import json
import os
import shutil
import signal
import time

import common
from daemon import Daemon
import picture
from plant import Heat, Loop, Nodes, Screen, Talker, processor, request
from tap import within
from machine_files import MachineFiles
import sotto_pb2 as pb

FRAME_S = 1 / 60
PASSIVE_MC = 80000
TARGET = 75.0  # five degrees below the passive trip point
NODES = {"ambient": 30, "die_k": 18, "die_s": 3, "board_k": 25, "board_s": 25}
FULL, SHARED, THIN, PAUSED = "full", "shared", "thin", "paused"

# Name, seconds, share of the screen, power of others (reached after 3/4 of the phase), sensor present.
PHASES = [
    ("cool, nothing draws", 20, 0.0, 0.1, True),
    ("steady graphics, 35 %", 20, 0.35, 0.1, True),
    ("warm: others take half of what the target allows", 50, 0.0, 0.5, True),
    ("warmer: others take 4/5", 60, 0.0, 0.8, True),
    ("hot: others alone pass the target", 25, 0.0, 1.1, True),
    ("others cool down", 45, 0.0, 0.3, True),
    ("no sensor", 15, 0.0, 0.3, False),
    ("sensor back; a storm of frames", 24, None, 0.2, True),
    ("recovery: nothing draws", 30, 0.0, 0.1, True),
]
HEATING = range(2, 4)
STORM = 7
STORM_S, STORM_DRAWS_S = 2.0, (0.004, 0.010)  # the two times to draw a frame; they alternate every STORM_S


class Frames(Screen):
    """A screen that draws 60 frames a second in the storm, and records each."""

    def __init__(self, tree):
        super().__init__(tree)
        self.frames = []  # (when it begins, seconds that it draws)
        self.storm = None  # when it began

    def step(self):
        now = time.monotonic()
        while self.storm and (not self.frames or self.frames[-1][0] + FRAME_S <= now):
            at = self.frames[-1][0] + FRAME_S if self.frames else self.storm
            draws = STORM_DRAWS_S[int((at - self.storm) / STORM_S) % len(STORM_DRAWS_S)]
            self.frames.append((at, draws))
            self.share = draws / FRAME_S
        super().step()


class Voice(Loop):
    """Asks in class realtime every few seconds; waits: (when, seconds to the first token)."""
    period_s = 3.0

    def __init__(self, daemon):
        super().__init__()
        self.client = daemon.client()
        self.waits = []

    def step(self):
        begun = time.monotonic()
        stream = self.client.ask(request("Turn left where?", pb.CLASS_REALTIME, 4))
        while True:
            frame = self.client.read_of(stream, timeout=600)
            if frame.WhichOneof("body") == "delta" and (not self.waits or self.waits[-1][0] != begun):
                self.waits.append((begun, time.monotonic() - begun))
            if frame.WhichOneof("body") in ("done", "error"):
                return


def trace_of(daemon):
    return os.path.join(daemon.folder, f"sottod-{daemon.process.pid}.trace.json")


class Slices(Loop):
    """Collects the slices of the daemon's trace: {when it began: seconds}."""
    period_s = 3.0

    def __init__(self, daemon):
        super().__init__()
        self.daemon, self.slices = daemon, {}
        self.path = trace_of(daemon)

    def step(self):
        self.daemon.process.send_signal(signal.SIGUSR2)
        within(self.is_whole, "a trace is written")

    def is_whole(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        except (OSError, ValueError):
            return False
        for event in events:
            if event.get("name") == "slice":
                self.slices[event["ts"] / 1e6] = event["dur"] / 1e6
        return True


def is_late(frame, slices):
    """True if the time that @slices leave is too short to draw @frame before the next one is due."""
    at, draws = frame
    due, free = at + FRAME_S, at
    for begin, took in slices:
        if begin >= due:
            break
        if begin - free >= draws:
            return False
        draws -= max(0.0, begin - free)
        free = max(free, begin + took)
    return due - free < draws


def judge_frames(frames, slices):
    """The times of the late frames."""
    ordered = sorted(slices.items())
    late, first = [], 0
    for frame in frames:
        while first < len(ordered) and sum(ordered[first]) < frame[0]:
            first += 1
        if is_late(frame, ordered[first:first + 200]):
            late.append(frame[0])
    return late


def without_us(heat, passed):
    """Degrees of a die without our power from the moment it first passes the target, for each row of @heat."""
    nodes = Nodes(**NODES, others=PHASES[0][3])
    degrees, last, is_left = [], 0.0, False
    for at, die, ours, others, _ in heat.rows:
        is_left = is_left or die > passed
        nodes.pass_time(at - last, others + (0.0 if is_left else ours))
        degrees.append(nodes.die)
        last = at
    return degrees


class Run:
    """One run: the simulated parts, and the results."""

    def __init__(self, model, scale):
        self.model, self.scale, self.begins = model, scale, []
        self.bodies = [request("Tell me everything about the sea.", pb.CLASS_BACKGROUND, 250),
                       request("Write a long letter to a friend.", pb.CLASS_BACKGROUND, 250, seed=3, temperature=0.8)]
        self.talk = [request("What is a good name for a boat?", pb.CLASS_INTERACTIVE, 200, seed=4, temperature=0.7)]

    def start(self, tree):
        tree.gpu()
        tree.client(4711, "weston")
        tree.zone("gpu-thermal", 35000, passive=PASSIVE_MC, critical=105000)
        daemon = Daemon(engine="real", start=False, device={"gpu": "off"}, sense={"start": "child", "root": tree.folder},
                        models={"model": {"file": self.model, "threads": 1, "context": 1024}})
        daemon.configure(governor={"cores_share": True})
        daemon.start()
        daemon.wait_ready("model")
        within(lambda: any(one.name == "fdinfo renderD128" and one.state == pb.SENSOR_OK
                               for one in daemon.status().sensors), "the load is read")
        return daemon

    def undisturbed(self, daemon):
        with daemon.client() as client:
            return [[client.answer(client.ask(body)).tokens for body in bodies] for bodies in (self.bodies, self.talk)]

    def go(self, tree, daemon):
        alone = self.undisturbed(daemon)
        nodes = Nodes(**NODES, others=PHASES[0][3])
        with Frames(tree) as screen, Heat(daemon, tree, nodes) as heat, Slices(daemon) as slices, \
                Voice(daemon) as voice, Talker(daemon, self.bodies) as low, Talker(daemon, self.talk) as high:
            self.begun = heat.begun
            self.set_script(tree, screen, heat)
            slices.step()
            self.end = time.monotonic() - self.begun
        for talker, tokens in ((low, alone[0]), (high, alone[1])):
            talker.judge(tokens)
        self.screen, self.heat, self.slices, self.voice, self.low, self.high = screen, heat, slices.slices, voice, low, high
        self.late = judge_frames(screen.frames, self.slices)
        self.cold = without_us(heat, TARGET)

    def set_script(self, tree, screen, heat):
        heat.others = PHASES[0][3]
        there = True
        for name, seconds, share, others, sensor in PHASES:
            print(f"{time.monotonic() - self.begun:6.1f} s: {name}", flush=True)
            self.begins.append(time.monotonic() - self.begun)
            if sensor != there:
                heat.shows, there = sensor, sensor
                time.sleep(0.2)
                if sensor:
                    tree.zone("gpu-thermal", int(1000 * heat.nodes.die), number=5, passive=PASSIVE_MC, critical=105000)
                    heat.number = 5
                else:
                    tree.drop_zone()
            screen.storm = time.monotonic() if share is None else None
            screen.share = share or 0.0
            self.warm_others(heat, others, seconds * self.scale)

    @staticmethod
    def warm_others(heat, others, seconds):
        """Moves to the new value evenly, and stays there for the last quarter."""
        first, begun = heat.others, time.monotonic()
        while (passed := time.monotonic() - begun) < seconds:
            heat.others = first + (others - first) * min(1.0, passed / (0.75 * seconds))
            time.sleep(0.1)

    # ---- figures

    def rows_of(self, number):
        end = self.begins[number + 1] if number + 1 < len(self.begins) else self.end
        return [row for row in self.heat.rows if self.begins[number] <= row[0] < end]

    def tokens_by_second(self):
        counts = [0] * (int(self.end) + 1)
        for moment in self.low.at + self.high.at:
            second = int(moment - self.begun)
            if 0 <= second < len(counts):
                counts[second] += 1
        return counts[:-1]

    def shares_by_second(self):
        """The share of each second that we held, and its mean duty."""
        seconds = [[] for _ in range(int(self.end) + 1)]
        for row in self.heat.rows:
            if int(row[0]) < len(seconds):
                seconds[int(row[0])].append((row[2], processor(row[4]).duty_permille / 1000))
        return [tuple(sum(column) / len(column) for column in zip(*second)) if second else (0.0, 0.0)
                for second in seconds][:-1]

    def phase_row(self, number):
        rows = self.rows_of(number)
        begin, end = rows[0][0], rows[-1][0]
        infos = [processor(row[4]) for row in rows]
        modes = " ".join(f"{mode} {sum(info.mode == mode for info in infos) * (end - begin) / len(rows):.0f}"
                         for mode in (FULL, SHARED, THIN, PAUSED) if any(info.mode == mode for info in infos))
        slices = [1000 * took for at, took in self.slices.items() if begin <= at - self.begun < end]
        waits = [1000 * wait for at, wait in self.voice.waits if begin <= at - self.begun < end]
        tokens = sum(begin <= at - self.begun < end for at in self.low.at + self.high.at)
        return (PHASES[number][0], f"{end - begin:.0f}", modes, f"{max(row[1] for row in rows):.1f}",
                f"{sum(info.duty_permille for info in infos) / len(infos) / 10:.0f}",
                f"{100 * sum(row[2] for row in rows) / len(rows):.0f}", f"{tokens / (end - begin):.1f}",
                f"{common.part(slices, 500):.1f} / {common.part(slices, 990):.1f}",
                f"{min(info.slice_us for info in infos) / 1000:.1f}", f"{max(waits):.0f}" if waits else "-")

    def sentences(self):
        first, last = int(self.begins[HEATING[0]]), int(self.begins[HEATING[-1] + 1])
        tokens, shares = self.tokens_by_second()[first:last], self.shares_by_second()[first:last]
        best = max(self.tokens_by_second()) or 1
        step = max(a - b for a, b in zip(tokens, tokens[1:]))
        means = [sum(three) / 3 for three in zip(tokens, tokens[1:], tokens[2:])]
        calm = max(a - b for a, b in zip(means, means[1:]))
        held = max(a[0] - b[0] for a, b in zip(shares, shares[1:]))
        duty = max(a[1] - b[1] for a, b in zip(shares, shares[1:]))
        over = max(row[1] - TARGET for row in self.heat.rows)
        above = max(row[1] - max(TARGET, cold) for row, cold in zip(self.heat.rows, self.cold))
        storms = [f for f in self.screen.frames]
        steps = max(1, int(len(storms) * FRAME_S / STORM_S))
        total = {mode: 0 for mode in (FULL, SHARED, THIN, PAUSED)}
        for row in self.heat.rows:
            total[processor(row[4]).mode] += 1
        times = ", ".join(f"{mode} {n * self.end / len(self.heat.rows):.0f} s" for mode, n in total.items())
        return [
            f"Answers: {len(self.low.answers) + len(self.high.answers)} ({len(self.low.at) + len(self.high.at)} tokens), "
            "each equal, token for token, to the same request undisturbed.",
            f"While the chip warms up (phases 3 and 4), tokens a second fell by {step} at most from one second to the next, and "
            f"means of three seconds by {calm:.1f} (the best second of the run had {best}). The share of time that we held "
            f"fell by {held:.2f} at most, the duty by {duty:.2f}.",
            f"The chip exceeded the target of {TARGET:.0f} °C by {max(over, 0):.2f} °C at most. It exceeded the higher of the "
            "target and the temperature that it would have had without our power, from the first moment above the target on, "
            f"by {max(above, 0):.2f} °C at most.",
            f"Modes: {times}; {processor(self.heat.rows[-1][4]).changes} changes (of both processors).",
            f"Storm: {len(storms)} frames that take {' and '.join(f'{1000 * d:.0f} ms' for d in STORM_DRAWS_S)} in turn, "
            f"with {steps} changes; {len(self.late)} were late because of us.",
        ]


def write(run, folder, minutes, model):
    head = ("phase", "s", "modes, s", "hottest °C", "duty %", "held %", "tokens/s", "slice ms, median / 99 %",
            "slice bound ms, least", "realtime first token ms, worst")
    lines = ["# Live", "", f"Written by `./dev live` ({minutes:.1f} minutes, {os.path.basename(model)}), measured on "
             f"{common.machine_words()}, at the highest priority that the script may give itself.", "", __doc__.split("\n\n")[1], "",
             "![temperature, duty, modes, tokens, slices](live.svg)", "",
             common.table(head, [run.phase_row(i) for i in range(len(PHASES))]), ""]
    lines += ["- " + sentence for sentence in run.sentences()]
    with open(os.path.join(folder, "live.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    picture.draw(run, os.path.join(folder, "live.svg"), TARGET, [phase[0] for phase in PHASES])
    print("\n".join(lines))


def raise_priority():
    """Raises the priority, to keep other programs of a shared machine out of the picture."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True, help="a folder")
    parser.add_argument("--scale", type=float, default=1.0, help="of all times")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    raise_priority()
    run = Run(options.model, options.scale)
    with MachineFiles() as tree:
        daemon = run.start(tree)
        with daemon:
            run.go(tree, daemon)
            shutil.copy(trace_of(daemon), os.path.join(options.out, "live.trace.json"))
    write(run, options.out, run.end / 60, options.model)


if __name__ == "__main__":
    main()
