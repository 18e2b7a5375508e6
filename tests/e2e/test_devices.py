#!/usr/bin/python3
"""The device of the daemon is found, named, chosen and claimed, and shown in Status."""
import os
import subprocess
import tempfile

import boards
import tap
from daemon import Daemon
from tap import PATIENCE_S, equal, fact, holds, within


def device_config(root, **more):
    return {"device": {"root": root, **more}}


class Board:
    """with Board("am62") as root: a machine made of files, in a folder that goes with it."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sotto-board-")
        boards.unfold(self.name, self.folder.name)
        return self.folder.name

    def __exit__(self, *_):
        self.folder.cleanup()


def started(config, runtime):
    daemon = Daemon(start=False, environment={"XDG_RUNTIME_DIR": runtime})
    daemon.configure(**config)
    daemon.start()
    return daemon


def looked(daemon):
    """Status once the pool has looked for devices."""
    within(lambda: daemon.status().devices, "devices are reported")
    return daemon.status().devices


@fact
def status_names_devices_chips_and_reasons():
    with Board("am62") as root, tempfile.TemporaryDirectory() as runtime:
        with started(device_config(root), runtime) as daemon:
            devices = {device.node: device for device in looked(daemon)}
            gpu = devices["/dev/dri/renderD128"]
            equal((gpu.driver, gpu.chosen), ("powervr", True))
            holds("AM62" in gpu.chip, gpu.chip)
            display = devices["/dev/dri/card0"]
            holds(not display.chosen and "a display" in display.why, display)


@fact
def a_second_daemon_learns_which_one_has_the_device():
    with Board("rpi5") as root, tempfile.TemporaryDirectory() as runtime:
        with started(device_config(root), runtime) as first, started(device_config(root), runtime) as second:
            within(lambda: any(device.claimed for device in first.status().devices) or
                   any(device.claimed for device in second.status().devices), "one has claimed")
            owners = [daemon for daemon in (first, second)
                      if any(device.claimed for device in looked(daemon))]
            equal(len(owners), 1, "owners")
            other = second if owners[0] is first else first
            reason = next(device.why for device in looked(other) if device.chosen)
            holds(f"process {owners[0].process.pid}" in reason, reason)


@fact
def a_required_gpu_that_is_not_there_ends_the_daemon_with_a_sentence():
    with Board("nothing") as root, tempfile.TemporaryDirectory() as runtime:
        daemon = Daemon(start=False, environment={"XDG_RUNTIME_DIR": runtime})
        with daemon:
            daemon.configure(**device_config(root, gpu="required"))
            done = subprocess.run(daemon.command(), capture_output=True, timeout=PATIENCE_S, check=False)
            equal(done.returncode, 1)
            holds(b"requires a GPU" in done.stderr and b"no DRM device" in done.stderr, done.stderr)


@fact
def without_a_gpu_the_cpu_serves():
    with Board("nothing") as root, tempfile.TemporaryDirectory() as runtime:
        with started(device_config(root), runtime) as daemon:
            daemon.wait_ready()
            within(lambda: "no DRM device" in daemon.log(), "the log says so")
            equal(len(daemon.status().devices), 0)


@fact
def no_device_is_looked_for_where_it_is_off():
    with Board("am62") as root, tempfile.TemporaryDirectory() as runtime:
        with started(device_config(root, gpu="off"), runtime) as daemon:
            daemon.wait_ready()
            equal(len(daemon.status().devices), 0)


@fact
def a_node_in_the_configuration_that_is_no_device_is_said_and_the_cpu_serves():
    with Board("am62") as root, tempfile.TemporaryDirectory() as runtime:
        with started(device_config(root, node="/dev/dri/renderD199"), runtime) as daemon:
            daemon.wait_ready()
            within(lambda: "renderD199" in daemon.log(), "the log says so")
            holds(not any(device.chosen for device in looked(daemon)), daemon.status().devices)


@fact
def a_node_may_be_named_by_a_link_that_keeps_its_name():
    with Board("am62") as root, tempfile.TemporaryDirectory() as runtime:
        os.makedirs(root + "/dev/dri/by-path", exist_ok=True)
        with open(root + "/dev/dri/renderD128", "w", encoding="ascii"):
            pass
        os.symlink("../renderD128", root + "/dev/dri/by-path/platform-fd00000.gpu-render")
        with started(device_config(root, node="/dev/dri/by-path/platform-fd00000.gpu-render"), runtime) as daemon:
            equal([device.node for device in looked(daemon) if device.chosen], ["/dev/dri/renderD128"])


if __name__ == "__main__":
    tap.main()
