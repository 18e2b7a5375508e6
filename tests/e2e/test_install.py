#!/usr/bin/python3
"""Installed files work from where they are installed: programs, library, header, pages."""
import os
import shutil
import subprocess
import tempfile

import tap
from fake_daemon import FakeDaemon
from tap import PATIENCE_S, equal, fact, holds

BUILD = os.environ["SOTTO_BUILD"]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SANITIZED = "san" in os.path.basename(BUILD)
ROOT = tempfile.mkdtemp(prefix="sotto-install-")


def run(*words, **named):
    got = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, **named)
    holds(got.returncode == 0, f"{words}: {got.stderr.decode()[-2000:]}{got.stdout.decode()[-500:]}")
    return got.stdout.decode().strip()


def find(name):
    for folder, _, files in os.walk(ROOT):
        if name in files:
            return os.path.join(folder, name)
    raise AssertionError(f"{name} is not installed")


def pkg_config(*words):
    folder = os.path.dirname(find("libsotto.pc"))
    environment = {**os.environ, "PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": ROOT}
    return run("pkg-config", *words, "libsotto", env=environment).split()


def streams_an_answer(program):
    def script(peer):
        peer.greet()
        peer.say(peer.read().stream, ["Hello", " there"])
        peer.read()

    with FakeDaemon(script) as fake:
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(find("libsotto.so.0"))}
        equal(run(program, fake.path, "Hi", env=environment), "Hello there")


@fact
def everything_that_the_manual_speaks_of_is_installed():
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", ROOT)
    for name in ["sottod", "sotto", "sotto-engine", "sotto-sense", "libsotto.so", "libsotto.a", "libsotto.pc", "sotto.h", "sotto.1",
                 "sotto.3", "sottod.8", "sotto.json.5", "_sotto", "sotto.fish", "sottod.service", "sottod.socket",
                 "sotto-sense.8", "sotto-sense.service", "sotto-sense.socket", "sotto-trace"]:
        find(name)
    holds(os.path.exists(os.path.join(os.path.dirname(find("sotto.1")), "../../bash-completion/completions/sotto")),
          "the completion for bash")


@fact
def no_tool_for_tests_is_installed():
    for name in "sotto-fake-engine", "tiny":
        try:
            holds(not find(name), name)
        except AssertionError as absent:
            holds("not installed" in str(absent), absent)


@fact
def a_program_is_built_from_what_pkg_config_says():
    if SANITIZED:
        raise tap.LeftOut("a sanitized library wants a sanitized program")
    out = os.path.join(ROOT, "tiny-shared")
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", os.path.join(TOP, "clients/tiny.c"), "-o", out,
        *pkg_config("--cflags", "--libs"))
    streams_an_answer(out)


@fact
def the_static_library_is_whole_and_its_inner_names_are_its_own():
    if SANITIZED:
        raise tap.LeftOut("a sanitized archive wants a sanitized program")
    # A program with a buf_append() and a mem_alloc() of its own: neither side may notice the other.
    clash = os.path.join(ROOT, "clash.c")
    with open(clash, "w") as file:
        file.write("#include <stdlib.h>\nint buf_append(void);\nvoid *mem_alloc(int kind, size_t size);\n"
                   "int buf_append(void) { abort(); }\nvoid *mem_alloc(int kind, size_t size) { abort(); }\n")
    out = os.path.join(ROOT, "tiny-static")
    run("cc", "-std=c11", os.path.join(TOP, "clients/tiny.c"), clash, "-o", out, *pkg_config("--cflags"),
        find("libsotto.a"), "-lprotobuf-c")
    streams_an_answer(out)


@fact
def only_names_of_the_interface_leave_the_libraries():
    for words in ["nm", "-D", "--defined-only", find("libsotto.so")], ["nm", "-g", "--defined-only", find("libsotto.a")]:
        names = [line.split()[2] for line in run(*words).splitlines() if len(line.split()) == 3]
        strange = [name for name in names if not name.startswith("sotto_") and not name.startswith("__")]
        equal(strange, [])
        holds("sotto_dispatch" in names, names)


@fact
def every_function_of_the_header_is_in_the_library():
    import re
    with open(find("sotto.h"), encoding="utf-8") as header:
        declared = set(re.findall(r"^SOTTO_EXPORT [^;]*?\b(sotto_\w+)\(", header.read(), re.MULTILINE | re.DOTALL))
    defined = {line.split()[2] for line in run("nm", "-D", "--defined-only", find("libsotto.so")).splitlines()}
    equal(declared, {name for name in defined if name.startswith("sotto_")})
    holds(len(declared) > 40, declared)


@fact
def the_header_compiles_alone_as_old_c_and_as_cpp():
    header = find("sotto.h")
    run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c", header)
    if not shutil.which("c++"):
        raise tap.LeftOut("no C++ compiler here")
    run("c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-x", "c++", header)


if __name__ == "__main__":
    try:
        tap.main()
    finally:
        shutil.rmtree(ROOT)
