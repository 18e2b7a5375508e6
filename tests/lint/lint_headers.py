#!/usr/bin/python3
"""Each header compiles alone, and has a guard that is named after its place.

    lint_headers.py BUILD_FOLDER     where the generated schemas lie
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

import lint
from lint import Finding, Sample

BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(lint.ROOT, "build", "plain")
FOLDERS = [".", "daemon", "driver-shim", "tests/unit", "tests/unit/gguf", "tests/shim", "tests/sim", "clients/libsotto",
           "clients"]
X86 = ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"]
SETS = {"avx2": X86, "avx512": X86, "vec": X86}  # headers of an instruction set begin with its name
ARM = "aarch64-linux-gnu-gcc"                    # for headers of "neon": "./dev arm" installs it
LIBRARIES = ["libprotobuf-c", "libuv", "jansson", "libpcre2-8", "libutf8proc", "libsystemd", "libdrm", "check"]


def flags():
    words = ["-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Werror", "-x", "c"]
    words += [f"-I{os.path.join(lint.ROOT, folder)}" for folder in FOLDERS]
    words += [f"-I{os.path.join(BUILD, folder)}" for folder in ("proto", ".", "daemon", "clients")]
    for library in LIBRARIES:
        found = subprocess.run(["pkg-config", "--cflags", library], capture_output=True, text=True, check=False)
        words += found.stdout.split()
    return words


FLAGS = flags()


def complaint(item):
    """The compiler's first error about a file that includes the header (twice), or None."""
    path, text = item
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(lint.ROOT, path)
        if not os.path.exists(place):  # a sample
            place = os.path.join(folder, os.path.basename(path))
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        alone = os.path.join(folder, "alone.c")
        with open(alone, "w", encoding="utf-8") as file:
            file.write(f'#include "{place}"\n#include "{place}"\nextern int alone;\n')
        name = re.split(r"\W|_", os.path.basename(path))[0]
        extra = SETS.get(name, [])
        if name == "neon" and not shutil.which(ARM):
            return None
        compiler = ARM if name == "neon" else "cc"
        run = subprocess.run([compiler, *FLAGS, *extra, f"-I{os.path.dirname(place)}", alone], capture_output=True,
                             text=True, check=False)
    if run.returncode == 0:
        return None
    errors = [line for line in run.stderr.splitlines() if "error" in line]
    return Finding(path, 1, path, errors[0] if errors else run.stderr.strip())


def check_alone(texts):
    headers = [(path, text) for path, text in texts.items() if path.endswith(".h")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [finding for finding in pool.map(complaint, headers) if finding]


def check_guards(texts):
    findings = []
    for path, text in texts.items():
        place = path.removeprefix("daemon/").removeprefix("clients/")
        wanted = {re.sub(r"\W", "_", name).upper() for name in (path, place, os.path.basename(path))}
        found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.MULTILINE)
        if not found or found[1] != found[2] or not found[1].startswith("SOTTO"):
            findings.append(Finding(path, 1, "guard", "has no include guard SOTTO_..._H"))
        elif not any(found[1].endswith(name.removeprefix("UNIT_")) for name in wanted):
            findings.append(Finding(path, 1, found[1], f"its guard {found[1]} is named after another file"))
    return findings


RULES = [
    ("headers", "each header compiles alone", check_alone, [
        Sample("sample_bad.h", "uint32_t f(void);\n", True),
        Sample("sample_twice.h", "struct x {\n    int a;\n};\n", True),
        Sample("sample_good.h", "#ifndef S\n#define S\n#include <stdint.h>\nuint32_t f(void);\n#endif\n", False),
    ]),
    ("guards", "each header has a guard named after itself", check_guards, [
        Sample("daemon/base/err.h", "#ifndef SOTTO_BASE_ERR_H\n#define SOTTO_BASE_ERR_H\n#endif\n", False),
        Sample("daemon/base/err.h", "#ifndef SOTTO_BASE_DIAG_H\n#define SOTTO_BASE_DIAG_H\n#endif\n", True),
        Sample("daemon/base/err.h", "int f(void);\n", True),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".h")))
