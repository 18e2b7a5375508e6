#!/usr/bin/python3
"""Unusual surroundings of a program: standard descriptors closed, no space in files, few descriptors."""
import os
import resource
import subprocess
import time

import sotto_pb2 as pb
import tap
from daemon import Daemon, program, truth
from tap import PATIENCE_S, equal, fact, holds, note, within


def closing(*fds):
    """For preexec_fn: as a shell's "0<&- 1>&-"."""
    def close():
        for fd in fds:
            os.close(fd)
    return close


@fact
def sottod_started_without_standard_descriptors_serves_and_ends_in_order():
    for fds in (0,), (1,), (2,), (0, 1, 2):
        with Daemon(engine="real", models={"f32": {"file": truth("models/stories260K-f32.gguf")}},
                    limits=closing(*fds)) as daemon:
            daemon.wait_ready("f32")
            with daemon.client() as client:
                equal(client.generate("Once", max_tokens=4).reason, "FINISH_LENGTH", fds)
            for fd in fds:
                equal(os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}"), "/dev/null", fds)


@fact
def what_a_client_prints_never_goes_to_the_daemon():
    with Daemon() as daemon:
        daemon.wait_ready()
        for name, words in [("sotto", ["--socket", daemon.socket, "generate", "--max-tokens", "5", "--raw", "Hi"]),
                            ("sotto", ["--socket", daemon.socket, "status"]), ("tiny", [daemon.socket, "Hi"])]:
            for fds in (0,), (1,), (2,), (0, 1, 2):
                done = subprocess.run([program(name), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, preexec_fn=closing(*fds), timeout=PATIENCE_S)
                equal(daemon.counter("sotto_connections_bad_total"), 0, f"{name} {words[2:3]} without {fds}")
                if name == "sotto":
                    equal(done.returncode, 1 if 1 in fds else 0, f"{words[2]} without {fds}")
                if name == "sotto" and fds == (1,):
                    holds(b"standard output: Bad file descriptor" in done.stderr, done.stderr)


@fact
def a_full_disk_behind_standard_output_is_named_and_ends_the_answer():
    with Daemon(script="always do slow 20\n") as daemon:
        daemon.wait_ready()
        for words in (["generate", "--raw", "--max-tokens", "400", "Hi"], ["status"], ["tokenize", "Hi"],
                      ["generate", "--json", "--max-tokens", "2", "Hi"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([program("sotto"), "--socket", daemon.socket, *words], stdout=full,
                                      stderr=subprocess.PIPE, timeout=PATIENCE_S)
            equal(done.returncode, 1, words)
            equal(done.stderr, b"sotto: can't write to standard output: No space left on device\n", words)
            equal(daemon.sotto("status", "--json")[0], 0)
        within(lambda: daemon.engine_of().sequences == 0, "the daemon computes no more of it")


@fact
def a_limit_on_the_size_of_files_ends_no_daemon():
    if os.path.basename(os.environ["SOTTO_BUILD"]) == "tsan":
        raise tap.LeftOut("ThreadSanitizer makes a file of its own before main() and is ended by the limit")

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    with Daemon(start=False) as daemon:
        read, write = os.pipe()
        daemon.process = subprocess.Popen(daemon.command(), stdout=write, stderr=write, preexec_fn=small)
        os.close(write)
        open(daemon.log_path, "w").close()
        within(daemon.answers, "it answers")
        with daemon.client() as client:
            answer = client.generate("Hi", max_tokens=4)
            note(f"{answer.reason} {answer.error.message if answer.error else ''}")
            client.status()  # it lives
        daemon.stop()
        with os.fdopen(read) as log:
            log.read()


@fact
def an_engine_stopped_while_it_loads_did_nothing_wrong():
    for wait_ms in range(0, 40, 4):
        with Daemon(engine="real", models={"f32": {"file": truth("models/stories260K-f32.gguf")}}) as daemon:
            time.sleep(wait_ms / 1000)
            daemon.stop()
            holds("was lost" not in daemon.log(), daemon.log())


@fact
def a_load_without_descriptors_says_what_is_missing():
    with Daemon(models={"tiny": {"load": False}}, settings={"restart_pauses": ["1ms", "1ms", "1ms"]}) as daemon:
        with daemon.client() as client:
            held = {int(fd) for fd in os.listdir(f"/proc/{daemon.process.pid}/fd")}
            free = min(set(range(len(held) + 1)) - held)  # the next one that it opens, and so on: none
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (free, free))
            got = client.one(pb.LoadModel(name="tiny"))
            note(got.message)
            holds("open files" in got.message and ": :" not in got.message, got)
            client.status()  # it still serves


if __name__ == "__main__":
    tap.main()
