#!/usr/bin/python3
"""What sottod knows of the machine, and what it makes of a sotto-sense that is killed, hangs, or lies."""
import json
import os
import pwd
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import sense_pb2
import sotto_pb2 as pb
import tap
from client import Gone
from daemon import Daemon, program
from tap import PATIENCE_S, equal, fact, holds, within
from machine_files import MachineFiles

HERE = os.path.dirname(os.path.abspath(__file__))



def child(tree, **more):
    return {"start": "child", "root": tree.folder, **more}


def sensors(daemon):
    return {sensor.name: sensor for sensor in daemon.status().sensors}


def state(daemon, name):
    sensor = sensors(daemon).get(name)
    return pb.SensorState.Name(sensor.state).removeprefix("SENSOR_").lower() if sensor else None


def wait_state(daemon, name, wanted):
    within(lambda: state(daemon, name) == wanted, f"{name} is {wanted}; it is {state(daemon, name)}")


def value(daemon, name):
    sensor = sensors(daemon).get(name)
    return sensor.value if sensor and sensor.state == pb.SENSOR_OK else None


def sense_pid(daemon):
    """Of the child, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        if name == "sotto-sense" and int(rest.split()[1]) == daemon.process.pid and rest.split()[0] != "Z":
            return int(pid)
    return None


def serves(daemon):
    """Status and an answer come at once, whatever sotto-sense does."""
    def is_quick():
        begun = time.monotonic()
        with daemon.client() as client:
            equal(client.generate("Hi", max_tokens=1).reason, "FINISH_LENGTH")
        return time.monotonic() - begun < 5
    within(is_quick, "an answer comes soon")


# ---- readings

@fact
def the_first_look_at_the_screen_pauses_nothing():
    """A share of time is known with the second look: until then the screen is neither idle nor lost."""
    with MachineFiles() as tree:
        tree.gpu()
        tree.client(4711, "weston")

        def pauses_nothing():  # unless a busy machine keeps sotto-sense from looking for seconds
            with Daemon(sense=child(tree), start=False) as daemon:
                daemon.configure(governor={"cores_share": True})
                daemon.start()
                daemon.wait_ready()
                with daemon.client() as client:
                    while state(daemon, "fdinfo renderD128") != "ok":
                        equal(client.generate("hello", max_tokens=5).error, None)
                return "blind-graphics" not in daemon.log()
        within(pauses_nothing, "a start that pauses nothing")


@fact
def readings_stand_in_status_with_unit_history_and_why():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000, passive=85000, critical=105000)
        with Daemon(sense=child(tree)) as daemon:
            wait_state(daemon, "zone gpu-thermal", "ok")
            within(lambda: len(sensors(daemon)["zone gpu-thermal"].history) >= 2, "a history grows")
            zone = sensors(daemon)["zone gpu-thermal"]

            equal((zone.quantity, zone.unit, zone.value, zone.in_use), ("temperature", "m°C", 45000, True))
            within(lambda: sensors(daemon)["zone gpu-thermal"].age_ms < 5000, "a fresh reading")
            equal(set(zone.history), {45000})
            memory = next(sensor for sensor in daemon.status().sensors if sensor.quantity == "memory-available")
            equal(memory.value, 3000000)
            out = daemon.sotto("status")[1]
            holds("temperature zone gpu-thermal (in use): 45.0 °C" in out, out)
            equal(json.loads(daemon.sotto("status", "--json")[1])["sensors"][0]["state"], "ok")


@fact
def the_share_of_another_program_is_read_from_its_descriptors():
    with MachineFiles() as tree:
        tree.gpu()
        tree.client(4711, "weston")
        with Daemon(sense=child(tree), device={"gpu": "off"}) as daemon:
            begun = time.monotonic_ns()

            def share():
                tree.busy(4711, (time.monotonic_ns() - begun) * 3 // 10)
                return value(daemon, "fdinfo renderD128") or 0
            within(lambda: 200 <= share() <= 400, "three tenths are seen")

            load = sensors(daemon)["fdinfo renderD128"]
            equal((load.quantity, load.unit, load.in_use), ("graphics-load", "permille", True))
            equal([(device.node, device.load_source) for device in daemon.status().devices],
                  [("/dev/dri/renderD128", "fdinfo renderD128")])


@fact
def the_load_of_the_device_that_the_configuration_names_is_the_one_that_counts():
    with MachineFiles() as tree:
        tree.gpu()
        tree.gpu(name="fe00000.gpu", number=1)
        with Daemon(sense=child(tree), device={"root": tree.folder, "node": "/dev/dri/renderD129"}) as daemon:
            within(lambda: "fdinfo renderD129" in sensors(daemon), "sources of both are named")

            equal(sensors(daemon)["fdinfo renderD128"].why, "passed over: of another device")
            within(lambda: sensors(daemon)["fdinfo renderD129"].in_use, "ours is in use")
            holds(not sensors(daemon)["fdinfo renderD128"].in_use, sensors(daemon))


@fact
def a_sotto_sense_that_goes_by_another_device_is_reported():
    with MachineFiles() as tree:
        tree.gpu()
        tree.gpu(name="fe00000.gpu", number=1)
        with Sense(tree) as sense, Daemon(sense={"start": "socket", "socket": sense.path},
                                          device={"root": tree.folder, "node": "/dev/dri/renderD129"}) as daemon:
            def why():
                return [device.why for device in daemon.status().devices if device.chosen]
            within(lambda: why() and "--device" in why()[0], "the device tells why its load is not seen")


@fact
def a_device_that_comes_later_is_found():
    with MachineFiles() as tree:
        with Daemon(sense=child(tree), device={"root": tree.folder}) as daemon:
            within(lambda: "sense-ready" in daemon.log(), "the first inventory")
            equal(list(daemon.status().devices), [])

            tree.gpu()
            os.kill(sense_pid(daemon), signal.SIGKILL)  # the next one looks at once; this one would within a minute

            within(lambda: any(device.chosen for device in daemon.status().devices), "it is chosen")


@fact
def a_value_that_changes_is_seen():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        with Daemon(sense=child(tree)) as daemon:
            within(lambda: value(daemon, "zone gpu-thermal") == 45000, "the first value")

            tree.warm(47000)

            within(lambda: value(daemon, "zone gpu-thermal") == 47000, "the second value")


@fact
def a_zone_that_vanishes_is_reported_once_and_comes_back_under_another_number():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        with Daemon(sense=child(tree)) as daemon, daemon.client() as client:
            wait_state(daemon, "zone gpu-thermal", "ok")
            stream = client.ask(pb.Watch(topics=["sense"]))

            tree.drop_zone()
            wait_state(daemon, "zone gpu-thermal", "absent")
            event = client.read_of(stream)

            equal((event.event.name, {pair.key: pair.value for pair in event.event.pairs}["to"]),
                  ("sensor-state", "absent"))
            tree.zone("gpu-thermal", 46000, number=5)
            within(lambda: value(daemon, "zone gpu-thermal") == 46000, "it is back")


@fact
def a_source_that_hangs_is_stale_and_holds_nothing_up():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        tree.zone("cpu-thermal", 50000, number=1)
        with Daemon(sense=child(tree)) as daemon:
            wait_state(daemon, "zone gpu-thermal", "ok")
            wait_state(daemon, "zone cpu-thermal", "ok")

            tree.hang("sys/class/thermal/thermal_zone0/temp")
            wait_state(daemon, "zone gpu-thermal", "stale")
            tree.warm(51000, number=1)

            equal(sensors(daemon)["zone gpu-thermal"].value, 45000)
            within(lambda: value(daemon, "zone cpu-thermal") == 51000, "the other zone goes on")
            within(lambda: sensors(daemon)["zone gpu-thermal"].age_ms > 3000, "its age is reported")
            serves(daemon)
            with open(tree.path("sys/class/thermal/thermal_zone0/temp"), "w", encoding="ascii") as pipe:
                pipe.write("46000\n")  # it comes back
            tree.warm(46500)
            within(lambda: value(daemon, "zone gpu-thermal") in (46000, 46500), "it goes on")


@fact
def a_reload_may_name_another_tree_and_other_zones():
    with MachineFiles() as one, MachineFiles() as two:
        one.zone("gpu-thermal", 45000)
        two.zone("gpu-thermal", 55000)
        with Daemon(sense=child(one)) as daemon:
            within(lambda: value(daemon, "zone gpu-thermal") == 45000, "the first tree")

            daemon.configure(sense=child(two, zones=["gpu*"]))
            applied = json.loads(daemon.sotto("reload", "--json")[1])["applied"]

            equal(sorted(applied), ["sense.root", "sense.zones"])
            within(lambda: value(daemon, "zone gpu-thermal") == 55000, "the second tree")
            daemon.configure(sense={"start": "never"})
            daemon.sotto("reload")
            within(lambda: sense_pid(daemon) is None, "no child")
            serves(daemon)


# ---- a process that fails

@fact
def killed_it_is_started_again_and_what_was_known_grows_old_meanwhile():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        with Daemon(sense=child(tree)) as daemon, daemon.client() as client:
            wait_state(daemon, "zone gpu-thermal", "ok")
            stream = client.ask(pb.Watch(topics=["sense"]))
            before = sense_pid(daemon)

            os.kill(before, signal.SIGKILL)

            equal(client.read_of(stream).event.name, "sense-lost")
            within(lambda: sense_pid(daemon) not in (None, before), "another one")
            wait_state(daemon, "zone gpu-thermal", "ok")
            serves(daemon)


@fact
def stopped_its_readings_are_stale_and_then_it_is_dropped():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        with Daemon(sense=child(tree)) as daemon:
            wait_state(daemon, "zone gpu-thermal", "ok")
            before = sense_pid(daemon)

            os.kill(before, signal.SIGSTOP)

            wait_state(daemon, "zone gpu-thermal", "stale")
            serves(daemon)
            within(lambda: sense_pid(daemon) not in (None, before), "another one")
            wait_state(daemon, "zone gpu-thermal", "ok")


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return "zombie" in status.read()
    except OSError:
        return True


@fact
def it_ends_with_the_daemon_that_started_it():
    with MachineFiles() as tree:
        with Daemon(sense=child(tree)) as daemon:
            within(lambda: sense_pid(daemon), "a child")
            pid = sense_pid(daemon)

            daemon.kill()

            within(lambda: is_gone(pid), "the child is gone")


@fact
def a_program_that_is_not_there_leaves_the_daemon_serving():
    with Daemon(sense={"start": "child"}, sense_program="/bin/false") as daemon:
        within(lambda: "sense-lost" in daemon.log(), "it is reported")
        serves(daemon)
        holds(daemon.log().count("sense-lost") == 1, "reported once, not with each try")


# ---- a process that lies

FAKE_SENSE = """#!/usr/bin/python3
import os, socket, struct, sys, time
sys.path[:0] = {path!r}
import sense_pb2 as pb
peer = socket.socket(fileno=3)
def say(**body):
    frame = pb.FromSense(**body).SerializeToString()
    peer.sendall(struct.pack("<I", len(frame)) + frame)
def us():
    return int(time.monotonic() * 1e6)
def inventory(n=1, build={build!r}, **more):
    say(inventory=pb.Inventory(build=build, sources=[pb.Source(id=i + 1, quantity=2, name=f"zone {{i}}", in_use=True,
                                                               **more) for i in range(n)]))
def sample(**reading):
    reading = {{"source": 1, "value": 45000, "at_us": us(), **reading}}
    say(sample=pb.Sample(at_us=us(), readings=[pb.Reading(**reading)]))
try:
{body}
    while peer.recv(4096):
        pass
except OSError:
    pass
"""


def version():
    done = subprocess.run([program("sense"), "--version"], capture_output=True, check=True)
    return done.stdout.decode().split()[1]


class FakeSense:
    """A program that plays @lines in place of sotto-sense."""

    def __init__(self, *lines):
        self.folder = tempfile.mkdtemp(prefix="sotto-fake-")
        self.path = os.path.join(self.folder, "fake")
        body = "\n".join("    " + line for line in lines)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(FAKE_SENSE.format(path=sys.path, build=version(), body=body))
        os.chmod(self.path, 0o755)


def is_caught(because, *lines):
    fake = FakeSense(*lines)
    with Daemon(sense={"start": "child"}, sense_program=fake.path) as daemon:
        within(lambda: "sense-lost" in daemon.log(), f"{lines} is caught: {daemon.log()[-2000:]}")
        line = next(line for line in daemon.log().splitlines() if "sense-lost" in line)
        holds(because in line, f"{lines}: {line}")
        for sensor in daemon.status().sensors:
            holds(sensor.state != pb.SENSOR_OK or sensor.value == 45000, sensor)
        serves(daemon)


@fact
def a_truthful_fake_is_believed():
    fake = FakeSense("inventory()", "for i in range(1000): sample(); time.sleep(0.5)")
    with Daemon(sense={"start": "child"}, sense_program=fake.path) as daemon:
        within(lambda: value(daemon, "zone 0") == 45000, "it is believed")


@fact
def it_is_asked_to_look_often_while_there_is_work_and_seldom_else():
    fake = FakeSense("inventory()", "peer.settimeout(0.02)", "rates = open(os.path.dirname(__file__) + '/rates', 'a')",
                "while True:", "    sample()", "    try:", "        data = peer.recv(4096)",
                "        while data:  # a busy machine may bring several orders at once",
                "            end = 4 + int.from_bytes(data[:4], 'little')",
                "            print(pb.ToSense.FromString(data[4:end]).rate.period_ms, file=rates, flush=True)",
                "            data = data[end:]", "    except TimeoutError:", "        pass")

    def rates():
        with open(os.path.join(fake.folder, "rates"), encoding="ascii") as file:
            return [int(line) for line in file]
    with Daemon(sense={"start": "child"}, sense_program=fake.path, script="always do slow 50\n") as daemon:
        within(lambda: value(daemon, "zone 0") == 45000, "it is believed")
        daemon.wait_ready()
        with daemon.client() as client:
            # Work that ends before a late daemon looks at it asks for nothing.
            within(lambda: client.generate("Hi", max_tokens=8) and 50 in rates(), "often")
        within(lambda: rates()[-1] == 1000, "seldom again")
        equal((rates()[0], set(rates())), (1000, {1000, 50}))


@fact
def one_of_another_build_is_refused_by_name():
    is_caught("0.0.1", "inventory(build='0.0.1')")


@fact
def a_reading_of_what_was_not_named_is_refused():
    is_caught("has not named", "inventory()", "sample()", "sample(source=7)")
    is_caught("before it has named", "sample()")


@fact
def a_state_or_a_value_that_can_not_be_is_refused():
    is_caught("a state that there is not", "inventory()", "sample()", "sample(state=9)")
    is_caught("can't be", "inventory()", "sample()", "sample(value=-300000)")
    is_caught("can't be", "inventory()", "sample()", "sample(value=1 << 40)")


@fact
def a_trip_point_that_can_not_be_is_refused():
    is_caught("trip point", "inventory()", "sample()", "inventory(critical_mc=-2**31)")
    is_caught("trip point", "inventory(passive_mc=2**31 - 1)")


@fact
def two_devices_of_ours_are_refused():
    is_caught("more than one device", "say(inventory=pb.Inventory(build=%r, devices=[pb.Device(minor=128, is_ours=True), "
              "pb.Device(minor=129, is_ours=True)]))" % version())


@fact
def how_it_ended_is_reported():
    is_caught("signal 6", "inventory()", "sample()", "os.abort()")
    is_caught("exit code 3", "inventory()", "sample()", "os._exit(3)")


@fact
def what_comes_and_goes_all_the_time_does_not_fill_the_log():
    fake = FakeSense("for n in range(1, 100000):",
                "    say(inventory=pb.Inventory(build=%r, sources=[pb.Source(id=100 * n + i, quantity=2, name=f'z{n} {i}')" % version(),
                "                               for i in range(100)], devices=[pb.Device(minor=128 + n % 2)]))",
                "    time.sleep(0.02)")
    with Daemon(sense={"start": "child"}, sense_program=fake.path) as daemon:
        within(lambda: "sense-ready" in daemon.log(), "it is believed")
        time.sleep(5)
        lines, seconds = daemon.log().splitlines(), time.monotonic() - daemon.begun
        holds(sum("sensor-" in line for line in lines) <= 64 * (1 + seconds // 10), f"{len(lines)} lines in {seconds} s")
        holds(sum("devices-changed" in line for line in lines) <= 2 + seconds, f"{len(lines)} lines in {seconds} s")
        within(lambda: "sensors-came-and-went" in daemon.log(), "their number is reported")


@fact
def times_that_are_not_ours_are_refused():
    is_caught("in the future", "inventory()", "sample()", "sample(at_us=us() + 10**7)")
    is_caught("runs backward", "inventory()", "sample()", "sample(at_us=us() - 10**7)")
    is_caught("time is not ours", "inventory()", "sample()", "say(sample=pb.Sample(at_us=us() + 10**7))")


@fact
def numbers_that_change_their_meaning_are_refused():
    is_caught("names a source twice", "say(inventory=pb.Inventory(build=%r, sources=[pb.Source(id=1), pb.Source(id=1)]))"
              % version())
    is_caught("quantity that there is not", "say(inventory=pb.Inventory(build=%r, sources=[pb.Source(id=1, quantity=99)]))"
              % version())
    is_caught("number to another one", "inventory()",
              "say(inventory=pb.Inventory(build=%r, sources=[pb.Source(id=1, quantity=3)]))" % version())


@fact
def more_than_may_be_is_refused():
    is_caught("more sources", "inventory(n=129)")
    is_caught("no message", "peer.sendall(struct.pack('<I', 1 << 20))")
    is_caught("no message", "peer.sendall(struct.pack('<I', 4) + b'\\xff\\xff\\xff\\xff')")
    is_caught("more than it was asked for", "inventory()", "for i in range(5000): sample()")
    is_caught("more clients", "inventory()",
              "say(sample=pb.Sample(at_us=us(), clients=[pb.Client(id=i) for i in range(65)]))")


@fact
def one_that_flaps_is_reported_seldom():
    fake = FakeSense("inventory()", "for i in range(200):", "    sample(state=i % 2 and pb.STATE_IMPLAUSIBLE, why='x\\n\\x1b[31m')",
                "    time.sleep(0.3)")
    with Daemon(sense={"start": "child"}, sense_program=fake.path) as daemon:
        within(lambda: "sensor-state" in daemon.log(), "a change is reported")
        time.sleep(4)
        log, seconds = daemon.log(), time.monotonic() - daemon.begun
        holds(log.count("sensor-state") <= 2 + seconds // 10, log)
        holds("\x1b" not in daemon.log(), "escape sequences of another program in the log")


@fact
def a_mute_one_is_given_up():
    fake = FakeSense("time.sleep(3600)")
    with Daemon(sense={"start": "child"}, sense_program=fake.path) as daemon:
        within(lambda: "fallen silent" in daemon.log(), "it is given up")
        serves(daemon)


# ---- sotto-sense by itself

class Sense:
    """sotto-sense at a socket of its own."""

    def __init__(self, tree, *words, preexec=None):
        self.path = tree.path("sense.sock")
        self.process = subprocess.Popen([program("sense"), "--socket", self.path, "--root", tree.folder, *words],
                                        preexec_fn=preexec)
        within(lambda: os.path.exists(self.path), "the socket is there")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(PATIENCE_S), 0, "exit code")

    def connect(self):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(PATIENCE_S)
        peer.connect(self.path)
        return peer

    def n_reads(self):
        with open(f"/proc/{self.process.pid}/io", encoding="ascii") as io:
            return int(next(line.split()[1] for line in io if line.startswith("syscr")))


def receive(peer):
    head = peer.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise Gone
    body = peer.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)
    return sense_pb2.FromSense.FromString(body)


def say_rate(peer, ms):
    frame = sense_pb2.ToSense(rate=sense_pb2.Rate(period_ms=ms)).SerializeToString()
    peer.sendall(struct.pack("<I", len(frame)) + frame)


def read_periods_ms(peer, n):
    """Milliseconds between the next @n readings of the source that is read most, by their stamps."""
    times = {}
    while True:
        most = max(times.values(), key=len, default=())
        if len(most) > n:
            at_us = sorted(most)
            return [(b - a) / 1000 for a, b in zip(at_us, at_us[1:])]
        sample = receive(peer).sample
        for reading in sample.readings:
            times.setdefault(reading.source, set()).add(reading.at_us)


@fact
def nothing_is_read_without_a_client_and_nothing_fast_unless_asked():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 84000, passive=85000)  # near its trip: would be read fast
        with Sense(tree) as sense:
            def is_idle():
                before = sense.n_reads()
                time.sleep(2.5)
                return sense.n_reads() == before
            within(is_idle, "nothing is read without a client")

            with sense.connect() as peer:
                equal(receive(peer).WhichOneof("body"), "inventory")
                periods = read_periods_ms(peer, 3)
                holds(sum(periods) > 2500, f"faster than once a second: {periods}")
                say_rate(peer, 50)
                within(lambda: sum(read_periods_ms(peer, 12)) < 4000, "heat near a trip is read every 100 ms")
            within(is_idle, "nothing is read after the client has left")


@fact
def other_users_and_clients_that_send_garbage_are_disconnected():
    with MachineFiles() as tree:
        os.chmod(tree.folder, 0o755)
        with Sense(tree) as sense:
            equal(os.stat(sense.path).st_mode & 0o777, 0o600)
            if os.geteuid() == 0:
                os.chmod(sense.path, 0o666)
                code = f"import socket, os; os.setuid({pwd.getpwnam('nobody').pw_uid}); s = socket.socket(socket.AF_UNIX); " \
                    f"s.settimeout(100); s.connect({sense.path!r}); print(s.recv(1))"
                done = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, check=False)
                holds(done.stdout.strip() == b"b''" or b"ConnectionReset" in done.stderr, done)
            for nonsense in b"\xff\xff\xff\xff", struct.pack("<I", 3) + b"abc", struct.pack("<I", 0):
                with sense.connect() as peer:
                    peer.sendall(nonsense)
                    try:
                        while True:
                            receive(peer)
                    except (Gone, ConnectionResetError):
                        pass
            with sense.connect() as peer:
                equal(receive(peer).inventory.build, version())


@fact
def it_gives_up_exec_and_new_rights():
    if "san" in os.path.basename(os.environ["SOTTO_BUILD"]):
        raise tap.LeftOut("a sanitizer looks into the process")
    with MachineFiles() as tree, Sense(tree) as sense, sense.connect() as peer:
        equal(receive(peer).inventory.build, version())  # it has begun
        with open(f"/proc/{sense.process.pid}/status", encoding="ascii") as status:
            held = dict(line.split(":", 1) for line in status)
        equal((held["NoNewPrivs"].strip(), held["Seccomp"].strip()), ("1", "2"))


@fact
def a_daemon_calls_the_configured_socket():
    with MachineFiles() as tree:
        tree.zone("gpu-thermal", 45000)
        with Sense(tree) as sense, Daemon(sense={"start": "socket", "socket": sense.path}) as daemon:
            wait_state(daemon, "zone gpu-thermal", "ok")
            sense.process.send_signal(signal.SIGSTOP)
            wait_state(daemon, "zone gpu-thermal", "stale")
            sense.process.send_signal(signal.SIGCONT)
            wait_state(daemon, "zone gpu-thermal", "ok")


@fact
def a_socket_that_the_service_manager_passes_in_is_served():
    with MachineFiles() as tree:
        path = tree.path("passed.sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()

        def pass_in():
            os.dup2(listener.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.execv(program("sense"), ["sotto-sense", "--root", tree.folder])

        pid = os.fork()
        if pid == 0:
            pass_in()
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE_S)
            peer.connect(path)
            equal(receive(peer).inventory.build, version())
        os.kill(pid, signal.SIGTERM)
        equal(os.waitpid(pid, 0)[1], 0)


@fact
def a_wrong_command_line_says_what_to_do():
    for words, sentence in [((), "no socket"), (("--fd", "77"), "there is no socket"), (("--period", "5"), "10 to 1000"),
                            (("--scale", "x", "--socket", "/tmp/x"), "PATTERN=FACTOR"), (("--root", "/nowhere", "--socket", "/tmp/x/y/z"), "/"),
                            (("extra",), "options only"), (("--socket", "/a", "--fd", "3"), "one of them")]:
        done = subprocess.run([program("sense"), *words], capture_output=True, check=False, timeout=PATIENCE_S)
        equal(done.returncode, 2, words)
        holds(sentence in done.stderr.decode(), done.stderr)


if __name__ == "__main__":
    tap.main()
