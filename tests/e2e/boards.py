"""Machines made of files: a .board of tests/boards, unfolded into a folder that a program takes for its root."""
import errno
import os
import re

BOARDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "boards")


def names():
    return sorted(name[:-len(".board")] for name in os.listdir(BOARDS) if name.endswith(".board"))


def read(name):
    """(files: {path: bytes}, links: {path: target}, faults: {path: number}, wanted: [[key, value, ...]])"""
    files, links, faults, wanted, path = {}, {}, {}, [], None
    with open(os.path.join(BOARDS, name + ".board")) as board:
        for line in board:
            line = line.rstrip("\n")
            if line.startswith("  "):
                files[path] += line[2:] + "\n"
                continue
            path = None
            if line.startswith("= "):
                wanted.append(line[2:].split())
            elif " -> " in line:
                at, target = line.split(" -> ")
                links[at] = target
            elif " ! " in line:
                at, fault = line.split(" ! ")
                faults[at] = getattr(errno, fault)
                files[at] = ""
            elif line.startswith("/"):
                path = line
                files[path] = ""
            elif line and not line.startswith("#"):
                raise AssertionError(f"{name}.board: what is {line!r}?")
    return files, links, faults, wanted


def place(folder, path):
    full = folder + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    return full


def write(folder, path, text):
    with open(place(folder, path), "w") as file:
        file.write(text)


def unfold(name, folder):
    """Makes the machine in @folder; gives what must be seen of it."""
    files, links, faults, wanted = read(name)
    for path, text in files.items():
        write(folder, path, text)
        # The kernel has a link to the driver wherever a device has one.
        driver = re.search("^DRIVER=(.*)$", text, re.MULTILINE) if path.endswith("/uevent") else None
        if driver:
            links[os.path.dirname(path) + "/driver"] = "../drivers/" + driver[1]
    for path, target in links.items():
        os.symlink(target, place(folder, path))
    for path, number in faults.items():
        write(folder, path + ".sotto-errno", f"{number}\n")
    return wanted
