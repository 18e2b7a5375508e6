#!/usr/bin/python3
"""The trace of GPU jobs that the unit of sotto-sense has made for it: set up whole, or not at all."""
import os
import subprocess
import tempfile

import tap
from tap import PATIENCE_S, equal, fact, holds

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../systemd/sotto-trace")
EVENTS = "gpu_scheduler/drm_sched_job_run", "gpu_scheduler/drm_sched_job_done"


def trace(*words):
    return subprocess.run(["/bin/sh", SCRIPT, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def quietly(*words):
    done = trace(*words)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), words)


def folder(*parts):
    path = os.path.join(*parts)
    os.makedirs(path, exist_ok=True)
    return path


def read(*parts):
    with open(os.path.join(*parts), encoding="ascii") as file:
        return file.read()


class Tracing:
    """with Tracing() as base: a kernel's trace folder, of plain files, with the events of GPU jobs."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sotto-trace-")
        base = self.folder.name
        folder(base, "instances")
        for event in EVENTS:
            folder(base, "events", event)
        return base

    def __exit__(self, *_):
        self.folder.cleanup()


@fact
def an_instance_is_set_up_and_again_without_harm():
    with Tracing() as base:
        here = folder(base, "instances/sotto")
        for event in EVENTS:
            with open(os.path.join(folder(here, "events", event), "enable"), "w", encoding="ascii"):
                pass
        for _ in range(2):
            quietly("up", base)

            equal(read(here, "trace_clock"), "mono\n")
            equal(read(here, "tracing_on"), "1\n")
            holds(int(read(here, "buffer_size_kb")) < 1408, "a small buffer: the usual one is megabytes")
            for event in EVENTS:
                equal(read(here, "events", event, "enable"), "1\n")
            equal(sorted(os.listdir(os.path.join(here, "events"))), ["gpu_scheduler"])


@fact
def one_that_is_not_there_is_made_and_another_s_tracing_is_left_alone():
    with Tracing() as base:
        other = folder(base, "instances/other")

        quietly("up", base)

        equal(sorted(os.listdir(os.path.join(base, "instances"))), ["other", "sotto"])
        equal(os.listdir(other), [])
        equal(sorted(os.listdir(base)), ["events", "instances"])


@fact
def it_is_removed_afterwards():
    with Tracing() as base:
        folder(base, "instances/sotto")

        quietly("down", base)
        quietly("down", base)

        equal(os.listdir(os.path.join(base, "instances")), [])


@fact
def where_there_is_no_tracing_or_no_gpu_job_nothing_is_made():
    with tempfile.TemporaryDirectory() as base:
        quietly("up", base)
        quietly("down", base)
        equal(os.listdir(base), [])
        folder(base, "instances")
        folder(base, "events/sched")
        quietly("up", base)
        equal(os.listdir(os.path.join(base, "instances")), [])
        quietly("up", base + "/nowhere")


@fact
def what_may_not_be_made_is_reported_and_stops_nothing():
    with Tracing() as base:
        with open(base + "/instances/sotto", "w", encoding="ascii"):
            pass  # a file in its place

        done = trace("up", base)

        equal(done.returncode, 0)
        holds("sotto" in done.stderr, done.stderr)


@fact
def another_word_is_refused():
    for words in (), ("sideways",):
        done = trace(*words)
        equal(done.returncode, 2, words)
        holds("usage:" in done.stderr, done.stderr)


if __name__ == "__main__":
    tap.main()
