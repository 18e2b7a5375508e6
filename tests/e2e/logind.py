"""A fake logind on a private message bus: it grants delay locks, announces sleep, and waits for the locks like the
real one."""
import os
import subprocess
import tempfile
import threading

import tap

try:
    import dbus
    import dbus.mainloop.glib
    import dbus.service
    from gi.repository import GLib
except ImportError as missing:
    dbus = None
    WHY = f"python3-dbus and python3-gi are not here ({missing})"

NAME = "org.freedesktop.login1"
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
<allow user="*"/></policy></busconfig>"""


def needed():
    if not dbus:
        if os.environ.get("CI"):
            raise AssertionError(WHY)
        raise tap.LeftOut(WHY)


class Logind:
    """with Logind() as logind: logind.environment is for the daemon; logind.sleep() is what PrepareForSleep(true) does."""

    def __init__(self, speaks=True):
        needed()
        self.folder = tempfile.TemporaryDirectory(prefix="sotto-bus-")
        self.address = "unix:path=" + os.path.join(self.folder.name, "bus")
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.address}
        self.locks = []  # (what, who, mode, our end of the pipe)
        self.service = None
        config = os.path.join(self.folder.name, "bus.conf")
        with open(config, "w") as file:
            file.write(CONFIG.format(socket=os.path.join(self.folder.name, "bus")))
        self.bus_process = subprocess.Popen(["dbus-daemon", "--config-file=" + config, "--nofork", "--nopidfile",
                                             "--print-address=1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.bus_process.stdout.readline()  # written when it listens
        self.loop = GLib.MainLoop()
        dbus.mainloop.glib.threads_init()
        self.bus = dbus.bus.BusConnection(self.address, mainloop=dbus.mainloop.glib.DBusGMainLoop())
        if speaks:
            self.speak()
        self.thread = threading.Thread(target=self.loop.run, daemon=True)
        self.thread.start()

    def speak(self):
        locks = self.locks

        class Manager(dbus.service.Object):
            @dbus.service.method(NAME + ".Manager", in_signature="ssss", out_signature="h")
            def Inhibit(self, what, who, why, mode):
                ours, theirs = os.pipe()
                os.set_blocking(ours, False)
                locks.append((str(what), str(who), str(mode), ours))
                fd = dbus.types.UnixFd(theirs)
                os.close(theirs)
                return fd

            @dbus.service.signal(NAME + ".Manager", signature="b")
            def PrepareForSleep(self, going):
                pass

        self.service = Manager(dbus.service.BusName(NAME, self.bus), "/org/freedesktop/login1")

    def held(self):
        """Locks that are held now: the far end of the pipe is open."""
        held = []
        for lock in self.locks:
            try:
                if os.read(lock[3], 1) != b"":
                    held.append(lock)
            except BlockingIOError:
                held.append(lock)
        return held

    def tell(self, going):
        GLib.idle_add(lambda: self.service.PrepareForSleep(going) and False)

    def sleep(self):
        """Announces sleep, and waits until no lock is held."""
        self.tell(True)
        tap.within(lambda: not self.held(), "the delay lock is given back")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.quit()
        self.thread.join()
        self.bus.close()
        self.bus_process.terminate()
        self.bus_process.wait()
        self.bus_process.stdout.close()
        self.folder.cleanup()
