#!/usr/bin/python3
"""The inside of a module is restrained, too: no large ring of files that call each other, one meaning for a name.

What ships is looked at, not the tests. Names that are found twice make the linker choose, and grep, ctags and gdb err.
"""
import fnmatch
import os
import sys

import lint
import source
from lint import Finding, Tree

RING_FILES = 5
ALTERNATIVES = ("fake*.c", "fake*.h", "*_none.c")  # linked instead of the real one


def is_alternative(path):
    return any(fnmatch.fnmatch(os.path.basename(path), glob) for glob in ALTERNATIVES)


def check_rings(texts):
    findings = []
    for module, files in source.by_module(texts).items():
        graph = source.call_graph(files)
        for ring in source.rings(graph):
            if len(ring) > RING_FILES:
                names = " ".join(os.path.basename(path) for path in ring)
                findings.append(Finding(ring[0], 1, module, f"{len(ring)} files call each other in a ring ({RING_FILES} may): "
                                        f"{names}; tests/lint/report.py --calls {module} prints the calls"))
    return findings


def twice(programs, places, what):
    """@places: {name: [(path, line)]}. A finding for each name with two places in one program."""
    findings = []
    for name, found in sorted(places.items()):
        for program, folders in programs.items():
            inside = sorted(place for place in found if os.path.dirname(place[0]) in folders)
            if len(inside) > 1:
                findings.append(Finding(*inside[1], name, f"{what.format(name)} also in {inside[0][0]}, both in the program of "
                                                          f"{program}"))
                break
    return findings


def check_external_names(texts):
    places = {}
    for path, text in texts.items():
        if path.endswith(".c") and not is_alternative(path):
            for name, line in source.external_names(lint.code_only(text)).items():
                places.setdefault(name, []).append((path, line))
    places.pop("main", None)
    return twice(source.programs(texts), places, "{} is defined here and")


def check_tags(texts):
    places = {}
    for path, text in texts.items():
        if path.endswith(".h") and not is_alternative(path):
            for kind, tag, line in source.tags(lint.code_only(text)):
                places.setdefault(tag, []).append((path, line, kind))
    return [Finding(path, line, tag, f"{kind} {tag} is defined here and in {found[0][0]}")
            for tag, found in sorted(places.items()) for path, line, kind in found[1:]]


def check_base_names(texts):
    places = {}
    for path in texts:
        name = os.path.basename(path)
        if name != "main.c":
            places.setdefault(name, []).append((path, 1))
    return twice(source.programs(texts), places, "a file {} is here and")


def ring_of(n, back=True):
    """@n files, each of which calls the next; the last the first if @back."""
    files = {}
    for i in range(n):
        call = f"    step_{(i + 1) % n}();\n" if back or i + 1 < n else ""
        files[f"daemon/a/f{i}.c"] = f"void step_{i}(void)\n{{\n{call}}}\n"
    return files


MAIN = "int main(void)\n{\n}\n"
F = "int f(void)\n{\n}\n"
RULES = [
    ("rings", f"no more than {RING_FILES} files of a module call each other in a ring", check_rings, [
        Tree(ring_of(6), True),
        Tree(ring_of(5), False),
        Tree(ring_of(6, back=False), False),
        Tree(ring_of(6) | {"daemon/a/f5.c": "static void step_0(void)\n{\n}\nvoid step_5(void)\n{\n    step_0();\n}\n"}, False),
        Tree(ring_of(6) | {"daemon/a/f5.c": "void step_5(void)\n{\n    /* step_0(); */\n}\n"}, False),
    ]),
    ("external-names", "an external name has one definition in a program", check_external_names, [
        Tree({"daemon/a/main.c": '#include "b/f.h"\n' + MAIN, "daemon/a/f.c": F, "daemon/b/g.c": F, "daemon/b/f.h": ""}, True),
        Tree({"daemon/a/main.c": '#include "b/f.h"\n' + MAIN, "daemon/a/f.c": F, "daemon/b/g.c": "static " + F,
              "daemon/b/f.h": ""}, False),
        Tree({"daemon/a/main.c": MAIN, "daemon/a/f.c": F, "daemon/b/main.c": MAIN, "daemon/b/f.c": F}, False),
        Tree({"daemon/a/main.c": MAIN, "daemon/a/f.c": F, "daemon/a/f_none.c": F, "daemon/a/fake_f.c": F}, False),
        Tree({"daemon/a/main.c": MAIN, "daemon/a/f.c": "const struct x table = {\n};\n", "daemon/a/g.c": "int table[2];\n"}, True),
        Tree({"daemon/a/main.c": MAIN, "daemon/a/f.c": "int f(void);\nextern int g;\n", "daemon/a/g.c": F + "int g;\n"}, False),
    ]),
    ("tags", "a struct, union or enum of a header has a tag of its own", check_tags, [
        Tree({"daemon/a/a.h": "struct job {\n};\n", "clients/b.h": "struct job {\n};\n"}, True),
        Tree({"daemon/a/a.h": "struct job {\n};\n", "daemon/b/b.h": "struct job;\n", "daemon/b/b.c": "struct job {\n};\n"}, False),
    ]),
    ("base-names", "a file's name stands once in a program", check_base_names, [
        Tree({"daemon/a/main.c": '#include "b/f.h"\n', "daemon/a/f.h": "", "daemon/b/f.h": ""}, True),
        Tree({"daemon/a/main.c": '#include "b/main.c"\n', "daemon/b/main.c": "", "daemon/b/f.c": "", "daemon/c/f.c": ""}, False),
    ]),
]

if __name__ == "__main__":
    TEXTS = {path: text for path, text in lint.tracked(".c", ".h").items() if path.startswith(lint.CODE_FOLDERS)}
    sys.exit(lint.run(RULES, TEXTS))
