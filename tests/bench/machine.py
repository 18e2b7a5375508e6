"""The machine under a measurement: its processor, whose cores are whose, and how much of them other programs took."""
import os
import resource

TICKS_S = os.sysconf("SC_CLK_TCK")
QUIET = 0.05  # of a core that is measured on: the most that others may use


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith(("model name", "Model"))]
    return names[0] if names else os.uname().machine


class Cores:
    """The cores of the measurement: the first @n that this process may use, or all of them. This process, and those that it
    starts, stay on them; a crowd may be let run on the @others."""

    def __init__(self, n=None):
        allowed = sorted(os.sched_getaffinity(0))
        self.ours, self.others = allowed[:n or None], allowed[n:] if n else []
        self.all = allowed
        os.sched_setaffinity(0, self.ours)


class Busyness:
    """From its making on: what processes that are not ours took of the cores."""

    def __init__(self, cores):
        self.cores = cores
        self.begun = self.look()

    def look(self):
        """(ticks of all, ticks in use, ticks that the hypervisor gave to others, seconds that we have used)"""
        wanted = {f"cpu{core}" for core in self.cores.all}
        ticks = [0] * 8
        with open("/proc/stat", encoding="ascii") as stat:
            for line in stat:
                name, *numbers = line.split()
                if name in wanted:
                    ticks = [a + int(b) for a, b in zip(ticks, numbers)]
        ours = sum(usage.ru_utime + usage.ru_stime for usage in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
        user, nice, system, idle, wait, irq, soft_irq, stolen = ticks
        return idle + wait + (busy := user + nice + system + irq + soft_irq) + stolen, busy, stolen, ours

    def words(self):
        """When all of our processes have ended: those that still run are not known to be ours."""
        total, busy, stolen, ours = (now - then for now, then in zip(self.look(), self.begun))
        if total == 0:
            return "this machine does not say how busy it was"
        a_core = total / len(self.cores.all)
        others, stolen = max(0.0, (busy - ours * TICKS_S) / a_core), stolen / a_core
        told = f"other programs used {others:.2f} of {len(self.cores.all)} cores, and other virtual machines took {stolen:.2f}"
        if others + stolen < QUIET * len(self.cores.ours):
            return told
        return f"{told}.\n**The machine was not quiet**: compare the columns of a row, not the times"
