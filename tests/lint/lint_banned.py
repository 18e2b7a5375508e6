#!/usr/bin/python3
"""Calls that are allowed in one place only, or nowhere."""
import fnmatch
import re
import sys
from dataclasses import dataclass

import lint
from lint import Finding, Sample


@dataclass
class Ban:
    rule: str
    calls: str      # names, apart by blanks
    within: tuple   # globs of the files that it holds for
    but: tuple      # globs of those that may
    reason: str


MAINS = ("daemon/app/*", "daemon/engine/main.c", "daemon/sensor/main.c", "daemon/tool/main.c", "clients/*")
ALL = tuple(folder + "*" for folder in lint.CODE_FOLDERS)
SERVICE = ("daemon/*", "proto/*", "driver-shim/*")  # without the clients

BANS = [
    Ban("allocation", "malloc calloc realloc reallocarray free strdup strndup aligned_alloc posix_memalign memalign "
        "asprintf vasprintf getline open_memstream", SERVICE, ("daemon/base/mem.c",),
        "every block has a kind: use mem_alloc() and its like"),
    Ban("unbounded", "strcpy strcat sprintf vsprintf gets stpcpy alloca", ALL, (), "writes without a bound"),
    Ban("ambiguous", "strtok atoi atol atoll atof", ALL, (), "can't tell a failure, or keeps hidden state"),
    Ban("environment", "getenv secure_getenv setenv putenv unsetenv", ALL, ("daemon/*/options.c", "daemon/app/cmdline.c", "clients/*"),
        "the environment is read once, in the options.c of a program"),
    Ban("exit", "exit _exit quick_exit _Exit", ALL, MAINS, "only a main may end the process"),
    Ban("abort", "abort", ALL, ("daemon/base/mem.c", "daemon/base/clock.c"),
        "broken invariants assert; bad input is answered"),
    Ban("clock", "clock_gettime gettimeofday time ftime timespec_get uv_now uv_hrtime", ALL,
        ("daemon/base/clock.c", "clients/*"), "only daemon/base/clock.c reads a clock"),
    Ban("wall-clock", "clock_real_us", SERVICE,
        ("daemon/base/clock.c", "daemon/base/clock.h", "daemon/base/log.c", "daemon/ipc/on_watch.c",
         "daemon/loop/text_job.c", "daemon/tool/render.c"),
        "it may be set back a day: it is for people to read, never for deciding when something happens"),
    Ban("sleep", "sleep usleep nanosleep clock_nanosleep uv_sleep", ALL, ("clients/cli/*",),
        "nothing waits for time to pass: the loop has timers"),
    Ban("random", "rand srand random srandom drand48 rand_r", ALL, (),
        "results follow from a seed that was told, or from clock_entropy()"),
    Ban("shell", "system popen wordexp", ALL, (), "no shell"),
    Ban("locale", "setlocale newlocale uselocale", SERVICE, (), "numbers have a point, whatever the machine speaks"),
    Ban("libm-exp", "exp expf exp2 exp2f pow powf tanh tanhf", ("daemon/kern/*", "daemon/exec/*"), (),
        "its bits differ from libc to libc: our own exponential is part of the arithmetic"),
]


def matches(path, globs):
    return any(fnmatch.fnmatch(path, glob) for glob in globs)


def check_calls(ban):
    # Not behind "." or "->" (a slot of that name) and not a declaration or definition of one's own "x_free(".
    call = re.compile(r"(?<![\w.>])(" + "|".join(ban.calls.split()) + r")\s*\(")

    def check(texts):
        findings = []
        for path, text in texts.items():
            if not matches(path, ban.within) or matches(path, ban.but):
                continue
            code = lint.code_only(text)
            for match in call.finditer(code):
                findings.append(Finding(path, code.count("\n", 0, match.start()) + 1, match[1],
                                        f"{match[1]}(): {ban.reason}"))
        return findings
    return check


def samples_of(ban):
    call = ban.calls.split()[0]
    inside = ban.within[0].replace("*", "sample.c")
    samples = [
        Sample(inside, f"x = {call}(1);\n", True),
        Sample(inside, f"x = mem_{call}(1); y->{call}(1); z.{call}(1);\n", False),
        Sample(inside, f"/* {call}(1) */ s = \"{call}(1)\";\n", False),
        Sample("tests/sample.c", f"x = {call}(1);\n", False),
    ]
    if ban.but:
        samples.append(Sample(ban.but[0].replace("*", "sample.c"), f"x = {call}(1);\n", False))
    return samples


def check_system_files(texts):
    """Paths below /proc and /sys in strings: modules of the hardware only, and one's own process."""
    may = ("driver-shim/*", "daemon/sensor/*", "daemon/hub/hub_gains.c")  # the last: the board's name, once
    return [Finding(path, line, content, f"\"{content}\": only driver-shim and sotto-sense read the machine's files")
            for path, text in texts.items() if matches(path, ALL) and not matches(path, may)
            for line, content in lint.strings(text)
            if content.startswith(("/proc/", "/sys/")) and not content.startswith("/proc/self/")]


def check_goto(texts):
    """goto only forward, and not over a loop's head."""
    findings = []
    for path, text in texts.items():
        if not matches(path, ALL):
            continue
        code = lint.code_only(text)
        for match in re.finditer(r"\bgoto\s+(\w+)\s*;", code):
            if not re.search(rf"^\s*{match[1]}:", code[match.end():], re.MULTILINE):
                findings.append(Finding(path, code.count("\n", 0, match.start()) + 1, match[1], "goto jumps backward"))
    return findings


def check_typedef(texts):
    return [Finding(path, code.count("\n", 0, match.start()) + 1, match[1], f"typedef {match[1]}: it is struct x")
            for path, text in texts.items() if matches(path, ALL)
            for code in [lint.code_only(text)]
            for match in re.finditer(r"\btypedef\s+(?:struct|union|enum)\b[^;{]*(?:\{[^}]*\})?\s*(\w+)\s*;", code)]


def check_unfinished(texts):
    return [Finding(path, text.count("\n", 0, match.start()) + 1, match[0], f"{match[0]}: finish it, or write an issue")
            for path, text in texts.items() for match in re.finditer(r"\b(?:TODO|FIXME|XXX|HACK)\b", text)]


RULES = [("banned-" + ban.rule, f"{ban.calls.split()[0]}() and its like stand only where they belong", check_calls(ban),
          samples_of(ban)) for ban in BANS] + [
    ("system-files", "only the modules of the hardware open the machine's files", check_system_files, [
        Sample("daemon/ipc/a.c", 'open("/sys/class/thermal");\n', True),
        Sample("daemon/ipc/a.c", 'open("/proc/self/exe"); /* "/sys/" */\n', False),
        Sample("driver-shim/sense/a.c", 'open("/sys/class/thermal");\n', False),
    ]),
    ("goto", "goto only jumps forward", check_goto, [
        Sample("daemon/a.c", "again:\n    x();\n    goto again;\n", True),
        Sample("daemon/a.c", "    goto out;\n    x();\nout:\n    y();\n", False),
    ]),
    ("typedef", "structs, unions and enums keep their names", check_typedef, [
        Sample("daemon/a.h", "typedef struct { int a; } job;\n", True),
        Sample("daemon/a.h", "typedef struct job job_t;\n", True),
        Sample("daemon/a.h", "typedef void (*job_fn)(struct job *job);\n", False),
    ]),
    ("unfinished", "nothing is marked as unfinished", check_unfinished, [
        Sample("daemon/a.c", "/* TODO: all */\n", True),
        Sample("daemon/a.c", "/* A method. */\n", False),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".c", ".h")))
