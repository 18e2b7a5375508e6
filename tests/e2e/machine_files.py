"""A machine made of files, for sotto-sense to read below its root."""
import os
import shutil
import tempfile

SENSES = "sys/class/thermal"


class MachineFiles:
    """with MachineFiles() as tree: tree.zone("gpu-thermal", 45000) ..."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sotto-tree-")
        self.write("proc/meminfo", "MemTotal: 4000000 kB\nMemFree: 200000 kB\nMemAvailable: 3000000 kB\n")
        self.write("proc/pressure/memory", "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n"
                                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, path):
        return os.path.join(self.folder, path)

    def write(self, path, text):
        """Replaces the file at once, as the kernel does: no reader sees half of it."""
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def zone(self, kind, temp, number=0, passive=None, critical=None):
        folder = f"{SENSES}/thermal_zone{number}"
        self.write(f"{folder}/type", kind + "\n")
        for i, (name, limit) in enumerate((name, limit) for name, limit in
                                          (("passive", passive), ("critical", critical)) if limit is not None):
            self.write(f"{folder}/trip_point_{i}_temp", f"{limit}\n")
            self.write(f"{folder}/trip_point_{i}_type", f"{name}\n")
            self.write(f"{folder}/trip_point_{i}_hyst", "2000\n")
        self.warm(temp, number)

    def warm(self, temp, number=0):
        self.write(f"{SENSES}/thermal_zone{number}/temp", f"{temp}\n")

    def drop_zone(self, number=0):
        shutil.rmtree(self.path(f"{SENSES}/thermal_zone{number}"))

    def link(self, path, target):
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)

    def gpu(self, driver="panfrost", name="fd00000.gpu", number=0):
        """A platform device with a render node and a card, and process 1, which every machine has."""
        device = f"sys/devices/platform/{name}"
        os.makedirs(self.path(device))
        self.link(f"{device}/driver", f"../../../bus/platform/drivers/{driver}")
        self.link(f"{device}/subsystem", "../../../bus/platform")
        for node in f"renderD{128 + number}", f"card{number}":
            self.link(f"sys/class/drm/{node}/device", f"../../../devices/platform/{name}")
        if not os.path.exists(self.path("proc/1")):
            self.process(1, "init")

    def process(self, pid, name):
        self.write(f"proc/{pid}/comm", name + "\n")
        self.link(f"proc/{pid}/fd/0", "/dev/null")

    def client(self, pid, name):
        """A process that holds the render node."""
        self.process(pid, name)
        self.link(f"proc/{pid}/fd/3", "/dev/dri/renderD128")
        self.busy(pid, 0)

    def busy(self, pid, ns):
        self.write(f"proc/{pid}/fdinfo/3", "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t603\ndrm-driver:\tpanfrost\n"
                                           f"drm-client-id:\t{pid}\ndrm-engine-fragment:\t{ns} ns\n")

    def hang(self, path):
        """Reading this file takes for ever: a pipe without a writer."""
        path = self.path(path)
        if os.path.exists(path):
            os.unlink(path)
        os.mkfifo(path)
