"""Builds all mutants: a folder that holds the programs, the worlds, and what runs them, and needs nothing else.

    worlds, units/test-*    programs with all mutants that can be chosen while they run (SOTTO_MUTANT)
    worlds-N, units-N/      programs of mutant N: a constant that the language wants constant
    mutants.json            what each mutant is, by its number
    scenarios/, run.py
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from schemata import FOLDERS, Sources

SIM = "tests/sim/sotto-sim"
HERE = pathlib.Path(__file__).resolve().parent

# Sources that no world uses.
UNUSED = {"gains.h"}

# Beyond the links of the build folder: programs that run on a machine without sotto's libraries.
STATIC = ["-static", "-s"]


class Build:
    """The build folder's own commands, without warnings, debugging information and dependency files."""

    def __init__(self, root, folder, out, jobs):
        self.root = root
        self.folder = folder
        self.out = out
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.compiles = {}
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
            self.compiles[entry["output"]] = (source, shlex.split(entry["command"]))
        self.sim = self.link_of(SIM)
        self.deps = self.ask("deps")

    def ask(self, tool, *words):
        """Returns what ninja says of the build folder."""
        run = subprocess.run(["ninja", "-t", tool, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return run.stdout

    def link_of(self, target):
        return shlex.split(self.ask("commands", target).strip().splitlines()[-1])

    def objects_in(self, *folders):
        """Returns the objects that lie in one of @folders."""
        return {output for output in self.compiles if output.startswith(folders)}

    def users_of(self, where):
        """Returns the objects that a change of the file @where changes."""
        if where.endswith(".c"):
            return {output for output, (source, _) in self.compiles.items() if source == where}
        found = set()
        for line in self.deps.splitlines():
            if line.strip() and line[0] != " ":
                output = line.split(":")[0]
            elif line.endswith("/" + where):
                found.add(output)
        return found

    def compile(self, output, source, result, headers, *flags):
        """Compiles @source as the build folder does @output, with the folder @headers first. Returns the errors."""
        _, command = self.compiles[output]
        words = []
        rest = iter(command)
        for word in rest:
            if word in ("-MQ", "-MF", "-o", "-c"):
                next(rest)
            elif word not in ("-MD", "-g") and not word.startswith(("-W", "-fdiagnostics-color")):
                words.append(word)
        at = 1 + (words[0] == "ccache")
        words[at:at] = [f"-I{headers}"]
        result.parent.mkdir(parents=True, exist_ok=True)
        run = subprocess.run(words + [*flags, "-o", str(result), "-c", str(source)], cwd=self.folder,
                             capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        return run.stderr if run.returncode != 0 else ""

    def link(self, command, dropped, objects, target, flags=STATIC):
        """Links as @command does without the object @dropped; @objects take the place of its own, or come first."""
        words = []
        extra = [str(x) for x in objects]
        for word in (word for word in command if word != dropped):
            own = next((x for x in extra if word.endswith(".o") and x.endswith("/" + word)), None)
            words.append(own or word)
            extra = [x for x in extra if x != own]
        at = words.index("-o")
        words[at + 1] = str(target)
        words[at + 2:at + 2] = extra
        words = [re.sub(r"/libsubunit\.so$", "/libsubunit.a", word) for word in words]
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(words + flags, cwd=self.folder, check=True, capture_output=True)


def write_sources(sources, folder):
    shutil.rmtree(folder, ignore_errors=True)
    for where, text in sources.texts.items():
        path = folder / pathlib.Path(where).relative_to("daemon")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def constants_in(errors, names):
    """Returns the constants that a compiler's @errors name."""
    found = set(re.findall(r"in expansion of macro '(\w+)'", errors)) & names
    return found or set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", errors)) & names


def compile_all(build, scratch):
    """Compiles the changed sources. Returns them, and the objects; constants that must stay so are left as they are."""
    outputs = sorted(build.objects_in(*(f"{folder}/lib" for folder in FOLDERS)))
    fixed = set()
    while True:
        sources = Sources(build.root, fixed)
        write_sources(sources, scratch / "daemon")
        names = {x["what"].split()[0] for x in sources.mutants if x["what"].endswith(("halved", "doubled"))} - fixed
        flags = ("-include", str(HERE / "mutate.h"), "-Wvla", "-Werror=vla")

        def one(output):
            copy = scratch / pathlib.Path(build.compiles[output][0])
            return build.compile(output, copy, scratch / "objects" / output, scratch / "daemon", *flags)

        errors = [x for x in build.pool.map(one, outputs) if x]
        more = set().union(*(constants_in(x, names) for x in errors))
        if not errors:
            return sources, [scratch / "objects" / output for output in outputs]
        if not more:
            sys.exit(f"mutate: the changed sources do not compile:\n{errors[0]}")
        fixed |= more


def link_worlds(build, objects, scratch):
    main = next(x for x in build.sim if x.endswith("/main.c.o"))
    extra = [scratch / "objects" / name for name in ("mutate.o", "worlds.o")]
    for result in extra:
        source = HERE / f"{result.stem}.c"
        errors = build.compile(main, source, result, build.root / "tests/sim", f"-I{HERE}", "-w")
        if errors:
            sys.exit(f"mutate: {errors}")
    build.link(build.sim, main, objects + extra, build.out / "worlds")


def link_units(build, objects, scratch):
    names = re.findall(r"^(tests/unit/test-(?:sched|govern)[a-z-]*):", build.ask("targets", "all"), re.M)
    for name in sorted(set(names)):
        build.link(build.link_of(name), "", [*objects, scratch / "objects/mutate.o"], build.out / "units" / os.path.basename(name))


def build_baked(build, sources, objects, scratch):
    """Builds the simulator once more for each mutant that can't be chosen while it runs."""
    main = next(x for x in build.sim if x.endswith("/main.c.o"))
    changed = {str(x.relative_to(scratch / "objects")): x for x in objects}
    mine = build.objects_in(*FOLDERS, "tests/sim/libsim.a.p/", "tests/sim/sotto-sim.p/")
    by_name = {(x["place"].split(":")[0], x["what"]): x for x in sources.mutants}

    def one(change):
        where, what, text = change
        mutant = by_name[where, what]
        folder = scratch / f"baked-{mutant['id']}"
        path = folder / pathlib.Path(where).relative_to("daemon")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        replaced = dict(changed)
        for output in build.users_of(where) & mine:
            source = build.compiles[output][0]
            if output == main:
                source = os.path.relpath(HERE / "worlds.c", build.root)
            replaced[output] = folder / "objects" / output
            copy = path if source == where else build.root / source
            if build.compile(output, copy, replaced[output], folder, f"-I{HERE}", f"-I{build.root}/tests/sim", "-w"):
                mutant["program"] = "invalid"
                return
        mutant["program"] = f"worlds-{mutant['id']}"
        worlds = replaced.pop(main, scratch / "objects/worlds.o")
        build.link(build.sim, main, [*replaced.values(), scratch / "objects/mutate.o", worlds],
                   build.out / mutant["program"])
        shutil.rmtree(folder)

    list(build.pool.map(one, [x for x in sources.baked if pathlib.Path(x[0]).name not in UNUSED]))


def build(root, folder, out, jobs, is_whole=True):
    """Makes the folder @out; without the unit tests and mutants with a program of their own unless @is_whole."""
    scratch = folder / "mutate"
    it = Build(root, folder, out, jobs)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    sources, objects = compile_all(it, scratch)
    link_worlds(it, objects, scratch)
    if is_whole:
        link_units(it, objects, scratch)
        build_baked(it, sources, objects, scratch)
    (out / "mutants.json").write_text(json.dumps(sources.mutants, indent=0))
    shutil.copytree(root / "tests/sim/scenarios", out / "scenarios")
    shutil.copy(HERE / "run.py", out)
