#!/usr/bin/python3
"""Modules include only what their row of layers.txt allows, and outside libraries only where they belong."""
import fnmatch
import os
import re
import sys

import lint
from lint import Finding, Sample

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC_SCHEMA = "sotto/v1/sotto.pb-c.h"


def read_layers():
    """{module: (modules, libraries)}; modules by their path."""
    layers = {}
    for module, may, libraries in lint.read_table(os.path.join(HERE, "layers.txt"), 3):
        modules = set(layers) if may == "*" else {full_name(name) for name in split(may)}
        unknown = modules - set(layers) - {"proto-schema"}
        if unknown:
            sys.exit(f"layers.txt: the row of {module} names {sorted(unknown)}, which no row above it defines")
        layers[module] = (modules | {module, "daemon/base"}, set(split(libraries)) | {"libc"})
    return layers


def split(cell):
    return [word.strip() for word in cell.split(",") if word.strip()]


def full_name(name):
    return name if name.startswith(("proto", "driver-shim/", "clients")) else "daemon/" + name


LAYERS = read_layers()
LIBRARIES = [(library, headers.split())
             for library, headers in lint.read_table(os.path.join(HERE, "libraries.txt"), 2)]


def module_of(path):
    """The innermost module that a file lies in, or None if no row covers it."""
    return max((module for module in LAYERS if path.startswith(module + "/")), key=len, default=None)


def library_of(header):
    for library, globs in LIBRARIES:
        if any(fnmatch.fnmatch(header, glob) for glob in globs):
            return library
    return None


def module_included(header, includer):
    """The module that an include with quotes (or of a schema) refers to."""
    if header.endswith(".pb-c.h"):
        return "proto-schema" if header == PUBLIC_SCHEMA else "proto"
    if "/" not in header:
        return module_of(includer)
    return module_of(header) or module_of("daemon/" + header) or module_of("driver-shim/" + header)


def judge(path, quote, header):
    """Why @path may not include @header, or None."""
    module = module_of(path)
    modules, libraries = LAYERS[module]
    if quote == '"' or header.endswith(".pb-c.h"):
        other = module_included(header, path)
        if other is None:
            return f"{header} lies in no module of layers.txt"
        if other in modules or (other == "proto-schema" and "proto" in modules):
            return None
        return f"{module} may not include {other}"
    library = library_of(header)
    if library is None:
        return f"<{header}> belongs to no library of libraries.txt"
    return None if library in libraries else f"{module} may not use {library}"


def check_includes(texts):
    findings = []
    for path, text in texts.items():
        if module_of(path) is None:
            continue
        for match in INCLUDE.finditer(text):
            reason = judge(path, match[1], match[2])
            if reason:
                findings.append(Finding(path, text.count("\n", 0, match.start()) + 1, match[2], reason))
    return findings


def check_modules(texts):
    return [Finding(path, 1, path, "this folder has no row in tests/lint/layers.txt")
            for path in texts if path.startswith(lint.CODE_FOLDERS) and module_of(path) is None]


RULES = [
    ("layers", "modules include only what lies below them", check_includes, [
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
    ("modules", "every folder of code has a row", check_modules, [
        Sample("daemon/cellar/a.c", "\n", True),
        Sample("daemon/base/a.c", "\n", False),
        Sample("tests/unit/a.c", "\n", False),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".c", ".h")))
