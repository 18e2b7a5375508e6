#!/usr/bin/python3
"""Real boards, as files: what doctor and sensors say of each, and what a busy client does to the readings."""
import json
import os
import subprocess
import tempfile
import time

import boards
import tap
from daemon import program
from tap import PATIENCE_S, equal, fact, holds


def run(*words):
    done = subprocess.run([program("sotto"), *words], capture_output=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(*words):
    code, out, err = run(*words, "--json")
    equal(code, 0, err)
    return json.loads(out)


class Look:
    """What doctor says of a board, asked as the lines of a .board ask."""

    def __init__(self, root):
        self.root = root
        self.page = answer("doctor", "--root", root)

    def sensors(self, quantity, name=""):
        return [row for row in self.page["sensors"] if row["quantity"] == quantity and name in row["name"]]

    def one(self, quantity, name=""):
        rows = [row for row in self.sensors(quantity, name) if row["in_use"]]
        holds(len(rows) == 1, f"{quantity} {name}: {self.sensors(quantity, name)}")
        return rows[0]

    def device(self, node, driver, fate):
        rows = [row for row in self.page["devices"] if row["node"] == node]
        holds(rows and rows[0]["driver"] == driver, self.page["devices"])
        equal(rows[0]["chosen"], fate == "chosen", node)

    def no_device(self):
        equal(self.page["devices"], [])

    def chip(self, *words):
        chosen = [row["chip"] for row in self.page["devices"] if row["chosen"]]
        holds(chosen and " ".join(words) in chosen[0], chosen)

    def temperature(self, name, state, value=None):
        rows = [row for row in self.sensors("temperature", name) if row["state"] == state]
        holds(rows, self.sensors("temperature", name))
        if value:
            equal(rows[0]["value"], int(value), name)

    def no_temperature(self):
        equal(self.sensors("temperature"), [])
        holds(any("no temperature" in line for line in self.page["advice"]), self.page["advice"])

    def not_chosen(self, name):
        holds(not any(row["in_use"] for row in self.sensors("temperature", name)), name)

    def passive(self, name, value):
        equal(self.one("temperature", name)["passive_mc"], int(value), name)

    def critical(self, name, value):
        equal(self.one("temperature", name)["critical_mc"], int(value), name)

    def no_trip(self, name):
        row = self.one("temperature", name)
        holds("passive_mc" not in row and "critical_mc" not in row, row)

    def load(self, kind, fate):
        """The source of that kind decides; or it says nothing, or is not even there."""
        rows = [row for row in self.sensors("graphics-load", kind) if row["state"] != "passed over"]
        if fate == "in-use":
            holds(any(row["in_use"] for row in rows), self.sensors("graphics-load"))
        else:
            holds(all(row["state"] == "absent" for row in rows), rows)

    def graphics(self, value):
        equal(self.one("graphics-load")["value"], int(value))

    def compute(self, value):
        equal(self.one("compute-load")["value"], int(value))

    def power(self, name, value):
        equal(self.one("power", name)["value"], int(value))

    def energy(self, name, state):
        holds(any(row["state"] == state for row in self.sensors("energy", name)), self.sensors("energy"))

    def throttle(self, name, value):
        equal(self.one("throttle", name)["value"], int(value))

    def clock(self, value):
        equal(self.one("clock")["value"], int(value))

    def available(self, value):
        equal(self.one("memory-available")["value"], int(value))

    def pressure(self, value):
        if value == "absent":
            equal(self.sensors("memory-pressure"), [])
        else:
            equal(self.one("memory-pressure")["value"], int(value))

    def busy(self, paths, key, side):
        """A client whose counter @key moves by 400 ms in a second is seen as busy for 40 % on @side."""
        files = {self.root + path: (key + ":", " ns", 0.4e9) for path in paths.split(",")}
        self.follows(files, f"{side}-load")

    def active(self, folder):
        """A device that has power for 400 ms in a second is at most so busy."""
        self.follows({f"{self.root}{folder}/runtime_active_time": ("", "", 400),
                      f"{self.root}{folder}/runtime_suspended_time": ("", "", 600)}, "graphics-load")

    def follows(self, files, quantity):
        """While the counters in @files move, a page tells of about 40 %."""
        counters = [Counter(path, *what) for path, what in files.items()]
        with subprocess.Popen([program("sotto"), "sensors", "--watch", "--period", "250", "--root", self.root, "--json"],
                              stdout=subprocess.PIPE) as process:
            try:
                end = time.monotonic() + PATIENCE_S
                while time.monotonic() < end:
                    for counter in counters:
                        counter.move()
                    page = json.loads(process.stdout.readline())
                    if any(row["quantity"] == quantity and row["in_use"] and 250 < row.get("value", 0) < 600
                           for row in page["sensors"]):
                        return
            finally:
                process.kill()
        raise AssertionError(f"{quantity} does not follow")


class Counter:
    """A number in a file that moves with the clock: behind @before on its line, @unit behind it."""

    def __init__(self, path, before, unit, pace):
        self.path, self.unit, self.pace = path, unit, pace
        with open(path) as file:
            self.text = file.read()
        self.line = next(line for line in self.text.splitlines() if line.startswith(before))
        self.before = before
        self.first = int(self.line[len(before):].split()[0])
        self.begun = time.monotonic()

    def move(self):
        now = self.first + int((time.monotonic() - self.begun) * self.pace)
        with open(self.path + ".new", "w") as file:
            file.write(self.text.replace(self.line, f"{self.before}\t{now}{self.unit}" if self.before else str(now)))
        os.replace(self.path + ".new", self.path)


def look_at(name):
    with tempfile.TemporaryDirectory(prefix="sotto-board-") as root:
        wanted = boards.unfold(name, root)
        look = Look(root)
        for key, *words in wanted:
            try:
                getattr(look, key.replace("-", "_"))(*words)
            except AssertionError as reason:
                raise AssertionError(f"{key} {' '.join(words)}: {reason}") from reason
        code, page, err = run("doctor", "--root", root)
        equal(code, 0, err)
        holds("what sotto does here" in page, page)


def a_board(name):
    def look():
        look_at(name)
    look.__name__ = f"{name.replace('-', ' ')} is seen as it is"
    return fact(look)


for each in boards.names():
    a_board(each)


@fact
def a_recorded_machine_reads_as_the_machine_did():
    with tempfile.TemporaryDirectory(prefix="sotto-board-") as folder:
        root, copy = os.path.join(folder, "root"), os.path.join(folder, "copy")
        os.mkdir(root)
        wanted = boards.unfold("rk3588", root)
        code, out, err = run("sensors", "--record", copy, "--root", root)
        equal(code, 0, err)
        holds("files" in out, out)
        look = Look(copy)
        for key, *words in wanted:
            if key not in ("busy", "load"):
                getattr(look, key.replace("-", "_"))(*words)
        equal(run("sensors", "--record", copy, "--root", root)[0], 1, "a folder with something in it")


@fact
def doctor_and_sensors_run_on_this_machine():
    holds("machine" in run("doctor")[1], "doctor")
    holds("memory-available" in run("sensors")[1], "sensors")
    equal(run("sensors", "--period", "5")[0], 2)
    equal(run("sensors", "--root", "/no/such/folder")[0], 1)
    equal(run("doctor", "everything")[0], 2)


if __name__ == "__main__":
    tap.main()
