"""What the lints know of C: comments, functions, external names, tags, calls, and who calls whom.

It reads our own format (braces of functions stand alone in the first column), not C in general.
"""
import os
import re
from dataclasses import dataclass

import lint

WORD = re.compile(r"[A-Za-z_]\w*")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)(?=[^)])", re.DOTALL)


@dataclass
class Function:
    line: int      # of its head
    name: str
    lines: int
    static: bool


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def functions(code):
    """The functions of @code, which is text without comments and strings (lint.code_only)."""
    lines = code.split("\n")
    begin = None
    for i, line in enumerate(lines):
        if line.rstrip() == "{" and begin is None:
            begin = i
            while begin > 0 and lines[begin - 1].strip() and not lines[begin - 1].startswith(("#", "}")):
                begin -= 1
        elif line.startswith("}") and begin is not None:
            head = ATTRIBUTE.sub(" ", " ".join(lines[begin:i]).split("{")[0])
            name = re.search(r"START_TEST\((\w+)\)|(\w+)\(", head)
            if name:
                static = bool(name[1]) or bool(re.search(r"\bstatic\b", head))
                yield Function(begin + 1, name[1] or name[2], i - begin + 1, static)
            begin = None


def external_names(code):
    """{name: line} of the functions and objects that a .c file gives to others."""
    names = {function.name: function.line for function in functions(code) if not function.static}
    table = re.compile(r"^(?!static\b|extern\b|typedef\b|return\b|#)(?:[\w*]+[ *]+)+(\w+)(?:\[[^\]]*\])*\s*(?:=|;)", re.MULTILINE)
    for match in table.finditer(code):
        names.setdefault(match[1], line_of(code, match.start()))
    return names



def called(code):
    return set(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(", code))


def tags(code):
    """(kind, tag, line) of each struct, union and enum that is defined in @code."""
    for match in re.finditer(r"\b(struct|union|enum)\s+(\w+)\s*\{", code):
        yield match[1], match[2], line_of(code, match.start())


def comments(text):
    """(line, content) of each comment: its marks taken away, its lines joined, paragraphs apart by a newline."""
    for match in lint.TOKEN.finditer(text):
        if match[0].startswith("/*"):
            lines = [re.sub(r"^\s*\*? ?", "", line) for line in match[0][2:-2].split("\n")]
        elif match[0].startswith("//"):
            lines = [match[0][2:]]
        else:
            continue
        paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip())
        yield line_of(text, match.start()), "\n".join(" ".join(part.split()) for part in paragraphs)


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def programs(texts):
    """{folder: folders}: for each folder with a main.c, all those that its files include from, directly or not: what may be
    linked into that program."""
    folders = {os.path.dirname(path) for path in texts}
    reach = {folder: set() for folder in folders}
    for path, text in texts.items():
        for header in INCLUDE.findall(text):
            for root in ("", "daemon/", "driver-shim/", "clients/"):
                reach[os.path.dirname(path)] |= {os.path.dirname(root + header)} & folders
    found = {}
    for folder in sorted(folder for folder in folders if folder + "/main.c" in texts):
        found[folder], wave = {folder}, {folder}
        while wave:
            wave = set().union(*(reach[one] for one in wave)) - found[folder]
            found[folder] |= wave
    return found


def by_module(texts):
    """{folder: {path: text}} of the .c files."""
    modules = {}
    for path, text in texts.items():
        if path.endswith(".c"):
            modules.setdefault(os.path.dirname(path), {})[path] = text
    return modules


def call_graph(files):
    """{path: paths} within one module: a call of a name that exactly one of its files exports. Calls by way of tables of
    function pointers are not seen, so what is found is a lower bound."""
    codes = {path: lint.code_only(text) for path, text in files.items()}
    homes = {}
    own = {}
    for path, code in codes.items():
        own[path] = {function.name for function in functions(code)}
        for function in functions(code):
            if not function.static:
                homes.setdefault(function.name, set()).add(path)
    graph = {path: {} for path in files}
    for path, code in codes.items():
        for name in called(code) - own[path]:
            if len(homes.get(name, ())) == 1:
                graph[path].setdefault(next(iter(homes[name])), []).append(name)
    return graph


def rings(graph):
    """The strongly connected components of more than one file, largest first (Tarjan 1972, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    ring = stack[stack.index(node):]
                    del stack[len(stack) - len(ring):]
                    on_stack -= set(ring)
                    if len(ring) > 1:
                        found.append(sorted(ring))
    return sorted(found, key=len, reverse=True)
