#!/usr/bin/python3
"""Rooms include only what their row of floors.txt allows, and outside libraries only where they belong."""
import fnmatch
import os
import re
import sys

import lint
from lint import Finding, Sample

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC_SCHEMA = "sotto/v1/sotto.pb-c.h"


def read_floors():
    """{room: (rooms, libraries)}, with rooms by their path."""
    floors = {}
    for room, may, libraries in lint.read_table(os.path.join(HERE, "floors.txt"), 3):
        rooms = set(floors) if may == "*" else {full_name(name) for name in split(may)}
        unknown = rooms - set(floors) - {"proto-schema"}
        if unknown:
            sys.exit(f"floors.txt: {room} would include {sorted(unknown)}, which stand not below it")
        floors[room] = (rooms | {room, "daemon/base"}, set(split(libraries)) | {"libc"})
    return floors


def split(cell):
    return [word.strip() for word in cell.split(",") if word.strip()]


def full_name(name):
    return name if name.startswith(("proto", "driver-shim/", "clients")) else "daemon/" + name


FLOORS = read_floors()
LIBRARIES = [(library, headers.split())
             for library, headers in lint.read_table(os.path.join(HERE, "libraries.txt"), 2)]


def room_of(path):
    """The room that a file lies in (the innermost), or None: no row, or no code of ours."""
    return max((room for room in FLOORS if path.startswith(room + "/")), key=len, default=None)


def library_of(header):
    for library, globs in LIBRARIES:
        if any(fnmatch.fnmatch(header, glob) for glob in globs):
            return library
    return None


def room_included(header, includer):
    """The room that an include with quotes (or of a schema) means."""
    if header.endswith(".pb-c.h"):
        return "proto-schema" if header == PUBLIC_SCHEMA else "proto"
    if "/" not in header:
        return room_of(includer)
    return room_of(header) or room_of("daemon/" + header) or room_of("driver-shim/" + header)


def judge(path, quote, header):
    """Why @path may not include @header, or None."""
    room = room_of(path)
    rooms, libraries = FLOORS[room]
    if quote == '"' or header.endswith(".pb-c.h"):
        other = room_included(header, path)
        if other is None:
            return f"{header} lies in no room of floors.txt"
        if other in rooms or (other == "proto-schema" and "proto" in rooms):
            return None
        return f"{room} may not include {other}"
    library = library_of(header)
    if library is None:
        return f"<{header}> belongs to no library of libraries.txt"
    return None if library in libraries else f"{room} may not use {library}"


def check_includes(texts):
    findings = []
    for path, text in texts.items():
        if room_of(path) is None:
            continue
        for match in INCLUDE.finditer(text):
            reason = judge(path, match[1], match[2])
            if reason:
                findings.append(Finding(path, text.count("\n", 0, match.start()) + 1, match[2], reason))
    return findings


def check_rooms(texts):
    return [Finding(path, 1, path, "this folder has no row in tests/lint/floors.txt")
            for path in texts if path.startswith(lint.CODE_FOLDERS) and room_of(path) is None]


RULES = [
    ("floors", "rooms include only what lies below them", check_includes, [
        Sample("daemon/gguf/a.c", '#include "tensor/type.h"\n', False),
        Sample("daemon/gguf/a.c", '#include "token/token.h"\n', True),
        Sample("daemon/base/a.c", '#include "gguf/gguf.h"\n', True),
        Sample("daemon/sched/a.c", '#include "base/list.h"\n#include <stdint.h>\n', False),
        Sample("daemon/sched/a.c", "#include <pthread.h>\n", True),
        Sample("daemon/stream/a.c", "#include <uv.h>\n", False),
        Sample("daemon/model/a.c", "#include <uv.h>\n", True),
        Sample("daemon/model/a.c", '#include "kern/kern.h"\n', True),
        Sample("daemon/ipc/a.c", "#include <sotto/v1/sotto.pb-c.h>\n", False),
        Sample("daemon/token/a.c", "#include <sotto/v1/sotto.pb-c.h>\n", True),
        Sample("clients/a.c", "#include <sotto/v1/sotto.pb-c.h>\n", False),
        Sample("clients/a.c", '#include "sotto/engine.pb-c.h"\n', True),
        Sample("clients/a.c", '#include "proto/frame.h"\n', True),
        Sample("clients/libsotto/a.c", '#include "proto/frame.h"\n', False),
        Sample("daemon/app/a.c", "#include <curl/curl.h>\n", True),
        Sample("daemon/sensor/a.c", '#include "sense/reading.h"\n', False),
        Sample("daemon/stream/a.c", '#include "sense/reading.h"\n', True),
        Sample("driver-shim/sense/a.c", '#include "gguf/gguf.h"\n', True),
        Sample("daemon/token/a.c", '#include "vocab.h"\n', False),
        Sample("daemon/token/a.c", '#include "cellar/wine.h"\n', True),
    ]),
    ("rooms", "every folder of code has a row", check_rooms, [
        Sample("daemon/cellar/a.c", "\n", True),
        Sample("daemon/base/a.c", "\n", False),
        Sample("tests/unit/a.c", "\n", False),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".c", ".h")))
