#!/usr/bin/python3
"""A comment is a sentence of its own: it does not begin in the middle, and speaks of programs as things.

The words are in plain_words.txt, each with what to write instead.
"""
import os
import re
import sys

import lint
import source
from lint import Finding, Sample

HERE = os.path.dirname(os.path.abspath(__file__))


def read_words():
    """(patterns of beginnings, patterns of openings, patterns held), each [(word, compiled, what to write instead)]."""
    kinds = {"begins": [], "opens": [], "holds": []}
    persons = []
    for kind, word, instead in lint.read_table(os.path.join(HERE, "plain_words.txt"), 3):
        if kind == "person":
            persons += [one.strip() for one in word.split(",")]
        else:
            kinds[kind].append((word, instead))
    after = "".join(rf"(?<!\b{person} )" for person in persons)
    begin = [(word, re.compile(rf"{word}\b"), instead) for word, instead in kinds["begins"]]
    opens = [(word, re.compile(rf"{word}\b(?!(?:(?![.:;](?:\s|$)).)*[,?])", re.DOTALL), instead)
             for word, instead in kinds["opens"]]
    holds = [(word, re.compile(rf"{after if word in ('who', 'whose', 'whom') else ''}\b{word}\b", re.IGNORECASE), instead)
             for word, instead in kinds["holds"]]
    return begin + opens, holds


BEGINS, HOLDS = read_words()


def judge(comment):
    """(word, what to write instead) of each thing that the lint refuses in a comment."""
    for word, pattern, instead in BEGINS:
        if pattern.match(comment):
            yield word, f"begins with \"{word}\"; {instead}"
    for word, pattern, instead in HOLDS:
        found = pattern.search(comment)
        if found:
            yield word, f"holds \"{found[0]}\"; {instead}"


def check_comments(texts):
    return [Finding(path, line, word, f"\"{' '.join(comment[:50].split())}...\" {reason}") for path, text in texts.items()
            for line, comment in source.comments(text) for word, reason in judge(comment)]


def sample(comment, found):
    return Sample("daemon/a.c", f"/* {comment} */\nint a;\n", found)


RULES = [
    ("comments", "comments are sentences of their own, in plain words", check_comments, [
        sample("That are kept free of it for realtime.", True),
        sample("Of the last ones so many are remembered: what a storm is like, and no more.", True),
        sample("Of three readings, the middle one counts.", False),
        sample("What any client brings about.", True),
        sample("What is missing? The end.", False),
        sample("With what it holds.", True),
        sample("With one slot, a job waits for the other.", False),
        sample("Pages of the job; what it holds counts once.", False),
        sample("Twice is once.", True),
        sample("Thatcher wrote it.", False),
        sample("Closes it; the one who asked is told.", True),
        sample("Only a user who may read the file loads it.", False),
        sample("Nobody waits.", True),
        sample("Every file of the house.", True),
        sample("Built anew.", True),
        Sample("daemon/a.c", 's = "who";\n// A whole sentence.\n', False),
        Sample("daemon/a.c", "int a; // whose it is\n", True),
        Sample("daemon/a.h", "/*\n * Head: the one idea.\n *\n * The peer whose turn it is.\n */\n", True),
    ]),
]

if __name__ == "__main__":
    sys.exit(lint.run(RULES, lint.tracked(".c", ".h")))
