#!/usr/bin/python3
"""The life of the daemon: it starts in time, one at a socket, reloads all or nothing, and ends in order."""
import json
import os
import resource
import signal
import socket
import subprocess
import time

import sotto_pb2 as pb
import tap
from client import PATIENCE_S, Client, generate
from daemon import Daemon, program, serving, truth
from tap import equal, fact, holds, note, within


@fact
def the_socket_answers_long_before_a_model_is_loaded():
    with Daemon(script="load do stall 3000\n") as daemon:
        note(f"answers {daemon.ready_s * 1000:.0f} ms after its start")
        with daemon.client() as client:
            equal(client.one(pb.ListModels()).models[0].state, pb.MODEL_LOADING)
            answer = client.generate("wait for it", max_tokens=3)
            equal(answer.reason, "FINISH_LENGTH")
            holds(pb.NOTICE_LOADING in [notice.kind for notice in answer.notices], answer.notices)


@fact
def a_real_model_is_ready_below_a_second():
    def is_quick():
        with Daemon(engine="real", models={"f32": {"file": truth("models/stories260K-f32.gguf")}}) as daemon:
            daemon.wait_ready("f32")
            took = time.monotonic() - daemon.begun
            note(f"{took * 1000:.0f} ms from the start of sottod to a model that answers")
            return took < 1 or "san" in os.path.basename(os.environ["SOTTO_BUILD"])
    within(is_quick, "a quick start")


@fact
def bench_times_first_tokens_alone_and_beside_answers():
    with Daemon(script="always do slow 1\n", models={"tiny": {}}) as daemon:
        done = subprocess.run([program("sotto"), "bench", "--beside", "3", "--json"], capture_output=True, timeout=PATIENCE_S,
                              check=False, env={**os.environ, "SOTTO_SOCKET": daemon.socket})
        equal(done.returncode, 0, done.stderr)
        asked = json.loads(done.stdout)["daemon"]
    gone = subprocess.run([program("sotto"), "bench", "--beside", "3"], capture_output=True, timeout=PATIENCE_S, check=False,
                          env={**os.environ, "SOTTO_SOCKET": daemon.socket})

    equal((asked["model"], [row["beside"] for row in asked["first_tokens"]]), ("tiny", [0, 3]))
    equal({len(row["ms"]) for row in asked["first_tokens"]}, {20})
    holds(min(row["ms"][0] for row in asked["first_tokens"]) > 0, asked)
    equal(gone.returncode, 1)
    holds(b"no daemon listens at" in gone.stderr, gone.stderr)


@fact
def a_client_that_asks_for_a_load_sees_its_progress():
    with Daemon(script="load do stall 100\n", models={"tiny": {"load": False}}) as daemon, daemon.client() as client:
        stream = client.ask(pb.LoadModel(name="tiny"))
        phases = []
        while True:
            frame = client.read_of(stream)
            if frame.WhichOneof("body") != "load_progress":
                break
            phases.append(frame.load_progress.phase)
        equal(frame.model_info.state, pb.MODEL_READY)
        holds("checking" in phases, phases)


@fact
def sigterm_with_eight_streams_ends_them_with_a_reason_within_its_grace():
    with Daemon(script="always do slow 50\n", settings={"stop_grace": "300ms"}) as daemon:
        daemon.wait_ready()
        client = daemon.client()
        streams = [client.ask(generate(f"{i}", max_tokens=400)) for i in range(8)]
        for stream in streams:
            client.answer(stream, 1)
        begun = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        for stream in streams:
            equal(client.answer(stream).reason, "CODE_UNAVAILABLE")
        equal(daemon.process.wait(PATIENCE_S), 0)
        note(f"ended {time.monotonic() - begun:.2f} s after SIGTERM")
        holds(not os.path.exists(daemon.socket), "the socket's file is left")


@fact
def short_answers_end_within_the_grace():
    with Daemon(script="always do slow 20\n", settings={"stop_grace": "5s"}) as daemon:
        daemon.wait_ready()
        client = daemon.client()
        stream = client.ask(generate("almost done", max_tokens=10))
        client.answer(stream, 1)
        daemon.process.send_signal(signal.SIGTERM)
        equal(client.answer(stream).reason, "FINISH_LENGTH")
        equal(daemon.process.wait(PATIENCE_S), 0)


@fact
def stopping_while_loading_is_no_trouble():
    with Daemon(script="load do stall 600000\n") as daemon:  # longer than the patience of stop()
        daemon.stop()


@fact
def no_engine_outlives_a_killed_daemon_and_the_next_one_starts():
    with Daemon() as daemon:
        daemon.wait_ready()
        pid = daemon.engine_of().pid
        daemon.kill()
        within(lambda: not os.path.exists(f"/proc/{pid}") or is_zombie(pid), "the engine has ended")
        holds(os.path.exists(daemon.socket), "the file that a kill leaves")
        daemon.start()
        daemon.wait_ready()


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@fact
def a_second_daemon_does_not_evict_the_first():
    with Daemon() as daemon:
        daemon.wait_ready()
        second = subprocess.run(daemon.command(), capture_output=True, timeout=PATIENCE_S)
        equal(second.returncode, 1, second.stderr.decode())
        holds(daemon.socket in second.stderr.decode(), second.stderr.decode())
        with daemon.client() as client:
            equal(client.generate("still mine", max_tokens=2).reason, "FINISH_LENGTH")


@fact
def what_is_no_socket_of_ours_is_left_alone():
    with Daemon(start=False) as daemon:
        with open(daemon.socket, "w") as file:
            file.write("precious")
        got = subprocess.run(daemon.command(), capture_output=True, timeout=PATIENCE_S)
        equal(got.returncode, 1)
        with open(daemon.socket) as file:
            equal(file.read(), "precious")
        os.unlink(daemon.socket)
        os.symlink("/etc/passwd", daemon.socket)
        equal(subprocess.run(daemon.command(), capture_output=True, timeout=PATIENCE_S).returncode, 1)
        equal(os.readlink(daemon.socket), "/etc/passwd")


@fact
def a_path_longer_than_the_system_takes_is_refused():
    with Daemon(start=False) as daemon:
        for n in 108, 120:
            path = daemon.folder + "/" + "x" * (n - len(daemon.folder) - 1)
            daemon.socket = path
            got = subprocess.run(daemon.command(), capture_output=True, timeout=PATIENCE_S)
            equal(got.returncode, 1, n)
            equal(os.path.exists(path[:107]), False, "a cut path was bound")
        daemon.socket = daemon.folder + "/" + "x" * (107 - len(daemon.folder) - 1)
        daemon.start()


@fact
def the_socket_is_never_open_to_all():
    with Daemon() as daemon:
        equal(os.stat(daemon.socket).st_mode & 0o007, 0)


@fact
def a_good_configuration_is_taken_as_a_whole_and_running_answers_keep_theirs():
    with serving(script="always do slow 5\n") as (daemon, client):
        stream = client.ask(generate("under the old rules", max_tokens=60))
        client.answer(stream, 1)
        daemon.configure(policy=[{"anyone": True, "admin": True, "answer_tokens": 9}])
        got = client.one(pb.Reload())
        holds(isinstance(got, pb.Reloaded), got)
        holds(got.applied, "what changed is named")
        equal(client.answer(stream).reason, "FINISH_LENGTH")
        with daemon.client() as later:
            equal(later.welcome.limits.answer_tokens, 9)
            equal(len(later.generate("under the new rules", max_tokens=60).tokens), 9)


@fact
def a_bad_configuration_changes_nothing_and_names_the_key():
    with serving() as (daemon, client):
        before = client.status().config_generation
        for text, said in [('{"modles": {}}', "modles"), ("{", "sotto.json:1:1"), ('{"daemon": {"stop_grace": 10}}', "stop_grace"),
                           ('{"daemon": {"stop_grace": "1s", "stop_grace": "2s"}}', "stop_grace"), ("", "")]:
            with open(daemon.config_path, "w") as file:
                file.write(text)
            got = client.one(pb.Reload())
            holds(isinstance(got, pb.Error), f"{text} was taken")
            holds(said in got.message + got.field, f"{text}: {got.message}")
            note(got.message)
            equal(client.generate("still here", max_tokens=2).reason, "FINISH_LENGTH")
        equal(client.status().config_generation, before)
        daemon.configure()


@fact
def sighup_reloads_and_three_in_a_row_do_no_harm():
    with serving() as (daemon, client):
        before = client.status().config_generation
        daemon.configure(policy=[{"anyone": True, "admin": True, "answer_tokens": 11}])
        for _ in range(3):
            daemon.process.send_signal(signal.SIGHUP)
        within(lambda: client.status().config_generation > before, "the reload")
        with daemon.client() as later:
            equal(later.welcome.limits.answer_tokens, 11)


@fact
def check_config_says_what_is_wrong_and_starts_nothing():
    with Daemon(start=False) as daemon:
        got = subprocess.run([program("sottod"), "--config", daemon.config_path, "--check-config"],
                             capture_output=True, timeout=PATIENCE_S)
        equal(got.returncode, 0, got.stderr.decode())
        with open(daemon.config_path, "w") as file:
            file.write('{"models": {"a": {"fiel": "/x"}}}')
        got = subprocess.run([program("sottod"), "--config", daemon.config_path, "--check-config"],
                             capture_output=True, timeout=PATIENCE_S)
        holds(got.returncode != 0 and "fiel" in got.stderr.decode(), got.stderr.decode())


@fact
def sockets_passed_in_are_used_and_left_in_place():
    with Daemon(start=False) as daemon:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(daemon.socket)
        listener.listen(16)
        for _ in range(2):
            daemon.process = start_activated(daemon, [listener])
            within(daemon.answers, "it answers")
            daemon.stop()
            holds(os.path.exists(daemon.socket), "systemd's file was removed")
        wrong = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        refused = start_activated(daemon, [wrong])
        equal(refused.wait(PATIENCE_S), 1, daemon.log()[-500:])
        listener.close()


def start_activated(daemon, sockets):
    """As systemd does it: descriptors from 3 on, and the environment that names their number and the process."""
    fds = [s.fileno() for s in sockets]
    program_words = " ".join(f"'{word}'" for word in daemon.command())
    moves = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(fds))
    shell = f"export LISTEN_PID=$$ LISTEN_FDS={len(fds)}; exec {program_words} {moves}"
    with open(daemon.log_path, "ab") as log:
        return subprocess.Popen(["bash", "-c", shell], pass_fds=fds, stdout=log, stderr=log)


class Manager:
    """Stands in for systemd's notify socket."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(PATIENCE_S)

    def until(self, word):
        reported = []
        while not any(word in line for line in reported):
            reported.append(self.socket.recv(4096).decode())
        return reported


@fact
def ready_is_reported_when_the_socket_answers_and_the_watchdog_is_fed_while_loading():
    with Daemon(start=False, script="load do stall 600000\n") as daemon:
        manager = Manager(daemon.folder)
        daemon.environment.update(NOTIFY_SOCKET=manager.path, WATCHDOG_USEC="400000")
        daemon.environment.pop("WATCHDOG_PID", None)
        daemon.start()
        manager.until("READY=1")
        equal(daemon.status().models[0].state, pb.MODEL_LOADING, "READY does not wait for the load")

        def is_fed():
            manager.until("WATCHDOG=1")
            begun = time.monotonic()
            for _ in range(4):
                manager.until("WATCHDOG=1")
            return time.monotonic() - begun < 4 * 0.35
        within(is_fed, "the watchdog is fed twice within its interval")
        equal(daemon.status().models[0].state, pb.MODEL_LOADING, "the state when it was fed")
        daemon.process.send_signal(signal.SIGTERM)
        manager.until("STOPPING=1")
        equal(daemon.process.wait(PATIENCE_S), 0)


@fact
def at_the_descriptor_limit_streams_go_on_and_accepting_comes_back():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))

    with serving(limits=few, script="always do slow 5\n") as (daemon, client):
        want = [client.answer(client.ask(generate(f"{i}", max_tokens=40))).tokens for i in range(2)]
        streams = [client.ask(generate(f"{i}", max_tokens=40)) for i in range(2)]
        crowd = []
        for _ in range(100):
            try:
                crowd.append(Client(daemon.socket, greet=False))
            except OSError:
                break
        equal([client.answer(stream).tokens for stream in streams], want)
        for one in crowd:
            one.close()

        def serves():
            try:
                with daemon.client():
                    return True
            except Exception:
                return False
        within(serves, "accepting comes back")


def own_bytes(daemon):
    with open(f"/proc/{daemon.process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


@fact
def pages_of_long_texts_go_back_to_the_system():
    if "san" in os.path.basename(os.environ["SOTTO_BUILD"]):
        raise tap.LeftOut("sanitizers keep freed blocks")
    with Daemon() as daemon:
        daemon.wait_ready()
        before = own_bytes(daemon)
        for _ in range(4):
            with daemon.client() as client:
                client.one(pb.Tokenize(text=b"word " * 300_000))
        after = own_bytes(daemon)
        within(lambda: own_bytes(daemon) < (before + after) // 2, "the pages go back")
        note(f"{before >> 20}, {after >> 20}, then {own_bytes(daemon) >> 20} MiB resident")


@fact
def status_names_the_bytes_and_prompts_stay_out_of_the_log():
    secret = "the-secret-of-the-test"
    with Daemon(environment={"SOTTO_LOG": "ipc:debug,stream:debug,app:debug,sched:debug"}) as daemon:
        daemon.wait_ready()
        with daemon.client() as client:
            client.generate(secret, max_tokens=3)
            client.generate(secret + "\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), max_tokens=0)
        status = json.loads(daemon.sotto("status", "--json")[1])
        kinds = {(row["holder"], row["kind"]) for row in status["memory"]}
        holds(len({holder for holder, _ in kinds}) >= 2, kinds)
        named = sum(row["bytes"] for row in status["memory"])
        note(f"{status['rss_bytes']} bytes resident, {named} named, in {len(kinds)} rows")
        holds(secret not in daemon.log(), "a prompt is in the log")


if __name__ == "__main__":
    tap.main()
