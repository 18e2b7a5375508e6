#!/usr/bin/python3
"""The figures by which the structure and the words of the project are judged, by module; two versions are compared by the
same script.

    report.py [--root CHECKOUT]            the whole table, as Markdown
    report.py --calls MODULE [--root ...]  who calls whom in the largest rings of a module, with the names that are called
"""
import argparse
import os
import re
import statistics
import sys
from collections import Counter

import lint
import lint_comments
import lint_structure
import source

SHOWN_WORDS = 12


def table(title, head, rows):
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def module_rows(code):
    """A row for each folder of what ships."""
    rows, total = [], Counter()
    modules = source.by_module(code)
    for module in sorted({os.path.dirname(path) for path in code}):
        texts = {path: text for path, text in code.items() if os.path.dirname(path) == module}
        exported = [(path, function.name) for path, text in texts.items() if path.endswith(".c")
                    for function in source.functions(lint.code_only(text)) if not function.static and function.name != "main"]
        named = sum(stem(path) in name for path, name in exported)
        found = source.rings(source.call_graph(modules.get(module, {})))
        refused = len(lint_comments.check_comments(texts))
        lines = sum(text.count("\n") for text in texts.values())
        total.update(files=len(texts), lines=lines, exported=len(exported), named=named, refused=refused)
        rows.append((module, len(texts), lines, f"{len(found[0])} of {len(modules[module])}" if found else "none",
                     share(named, len(exported)), refused))
    rows.append(("all", total["files"], total["lines"], "", share(total["named"], total["exported"]), total["refused"]))
    return rows


def stem(path):
    return os.path.basename(path)[:-2]


def share(n, of):
    return f"{100 * n / of:.0f} %" if of else "-"


def uses_of(code, tag):
    """(files that read or write fields of struct @tag, the files that assign to each of its fields or within it)."""
    files, writers = set(), {}
    for path, text in code.items():
        plain = lint.code_only(text)
        names = set(re.findall(rf"\bstruct {tag} \*(?:const )?(\w+)", plain)) | {tag}
        start = rf"(?<!\w)(?:{'|'.join(names)})->"
        if path.endswith(".c") and re.search(rf"{start}\w", plain):
            files.add(path)
        field = rf"{start}(\w+)(?:\.\w+|\[[^\]]*\])*(?![\w.\[]|->)"  # what lies behind another arrow is another object
        for form in rf"{field}\s*(?:(?:[-+*/|&^%]|<<|>>)?=(?!=)|\+\+|--)", rf"(?:\+\+|--){field}":
            for name in re.findall(form, plain):
                writers.setdefault(name, set()).add(path)
    return files, writers


def homonyms(code):
    names, headers, tags = {}, {}, {}
    for path, text in code.items():
        names.setdefault(stem(path), set()).add(os.path.dirname(path))
        for _, tag, _ in source.tags(lint.code_only(text)):
            tags.setdefault(tag, set()).add(path)
            if path.endswith(".h"):
                headers.setdefault(tag, set()).add(path)
    twice = [sum(len(places) > 1 for places in group.values()) for group in (names, tags, headers)]
    return twice + [len(lint_structure.check_external_names(code)), len(lint_structure.check_base_names(code))]


def paragraphs(text):
    """The words of each paragraph and list item of a document, without headings, tables and code blocks."""
    text = re.sub(r"^```.*?^```|^[|#][^\n]*", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n|^(?=\s*[-*] |\s*\d+\. )", text, flags=re.MULTILINE):
        if block.strip():
            yield len(block.split())


def report():
    texts = lint.tracked(".c", ".h")
    code = {path: text for path, text in texts.items() if path.startswith(lint.CODE_FOLDERS)}
    others = lint.tracked(".py", ".md", ".txt", ".proto")
    table("Modules (what ships)", ("module", "files", "lines", "largest ring of calls", "functions named after their file",
                                   "comments refused"), module_rows(code))
    test_lines = sum(text.count("\n") for path, text in (texts | others).items()
                     if path.startswith("tests/") and path.endswith((".c", ".h", ".py")))
    hub, _ = uses_of(code, "hub")
    _, writers = uses_of(code, "stream")
    shared = {field: len(paths) for field, paths in writers.items() if len(paths) > 1}
    most = max(shared, key=shared.get, default=None)
    same = homonyms(code)
    rings = [len(ring) for files in source.by_module(code).values() for ring in source.rings(source.call_graph(files))]
    lengths = [function.lines for text in code.values() for function in source.functions(lint.code_only(text))]
    refused = lint_comments.check_comments(texts)
    table("The project", ("figure", "value"), [
        ("lines that ship (C)", sum(text.count("\n") for text in code.values())),
        ("lines of tests (C, Python)", test_lines),
        ("rings of calls; files in the largest; files in rings of more than "
         f"{lint_structure.RING_FILES}", f"{len(rings)}; {max(rings, default=0)}; "
                                        f"{sum(n for n in rings if n > lint_structure.RING_FILES)}"),
        ("functions; median, longest", f"{len(lengths)}; {statistics.median(lengths):.0f}, {max(lengths)}"),
        (".c files that touch fields of struct hub", len(hub)),
        ("fields of struct stream that are assigned; in two files and more; in most files",
         f"{len(writers)}; {len(shared)}; {f'{most}, {shared[most]}' if most else 'none'}"),
        ("base names of files in two modules and more", same[0]),
        ("files whose name stands twice in a program", same[4]),
        ("tags defined in two files and more; in two headers", f"{same[1]}; {same[2]}"),
        ("external names with two definitions in a program", same[3]),
        ("comments refused by tests/lint/plain_words.txt, tests included", len(refused)),
    ])
    table("Words refused in comments", ("word", "times"), Counter(one.name for one in refused).most_common(SHOWN_WORDS))
    rows = []
    for path, text in others.items():
        counts = sorted(paragraphs(text))
        if path.endswith(".md") and counts and ("/" not in path or path.startswith("docs/")):
            rows.append((path, len(text.split()), len(counts), f"{statistics.median(counts):.0f}", counts[-1]))
    table("Documents", ("document", "words", "paragraphs", "median words of one", "longest"), rows)


def print_calls(module):
    files = source.by_module(lint.tracked(".c")).get(module) or sys.exit(f"{module}: there is no such folder with .c files")
    graph = source.call_graph(files)
    for ring in source.rings(graph):
        print(f"{len(ring)} files:")
        for path in ring:
            for other in sorted(set(graph[path]) & set(ring)):
                print(f"  {os.path.basename(path)} -> {os.path.basename(other)}: {' '.join(sorted(graph[path][other]))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=lint.ROOT)
    parser.add_argument("--calls")
    arguments = parser.parse_args()
    lint.ROOT = os.path.abspath(arguments.root)
    if arguments.calls:
        print_calls(arguments.calls)
    else:
        report()


if __name__ == "__main__":
    main()
