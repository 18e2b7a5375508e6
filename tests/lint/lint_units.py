#!/usr/bin/python3
"""The systemd units are understood by systemd, and leave little exposed. Left out where there is no systemd-analyze,
except in CI."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import lint
from lint import Finding, Sample

ANALYZE = "systemd-analyze"
EXPOSURE = {"sotto-sense.service": 2.1}  # of 10, by the scale of "systemd-analyze security"
EXPOSURE_USUAL = 1.6
RIGHTS = {"sotto-sense.service": {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}}  # of all others: none
FAMILIES = {"sotto-sense.service": {"AF_UNIX", "AF_NETLINK"}, "sottod.service": {"AF_UNIX"}}


def write_units(texts, folder):
    """The units as they would be installed, with programs that are there."""
    paths = {}
    for path, text in texts.items():
        name = os.path.basename(path).removesuffix(".in")
        text = re.sub(r"^(Exec\w+)=.*$", r"\1=/bin/true", text, flags=re.MULTILINE)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE))
        paths[os.path.join(folder, name)] = path
    return paths


def analyze(*words):
    # Without a message bus, warnings about it are no finding of ours.
    return subprocess.run([ANALYZE, "--no-pager", *words], capture_output=True, text=True, check=False)


def check_verify(texts):
    with tempfile.TemporaryDirectory() as folder:
        paths = write_units(texts, folder)
        run = analyze("verify", *paths)
        said = [line for line in run.stderr.splitlines() if any(os.path.basename(place) in line for place in paths)]
        first = next(iter(texts))
        if run.returncode and not said:
            said = run.stderr.splitlines()[-3:]
        return [Finding(first, 1, "verify", line.replace(folder + "/", "")) for line in said]


def check_exposure(texts):
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for place, path in write_units(texts, folder).items():
            if not place.endswith(".service"):
                continue
            run = analyze("security", "--offline=true", place)
            level = re.search(r"exposure level for \S+: ([\d.]+)", run.stdout)
            allowed = EXPOSURE.get(os.path.basename(place), EXPOSURE_USUAL)
            if not level or float(level[1]) > allowed:
                told = level[1] if level else "unknown: " + run.stderr.strip()
                findings.append(Finding(path, 1, "exposure", f"exposure {told}; {allowed} is allowed"))
    return findings


def words_of(text, key):
    """All values of @key together, or None where it does not stand."""
    lines = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    return {word for line in lines for word in line.split()} if lines else None


def check_rights(texts):
    findings = []
    for path, text in texts.items():
        name = os.path.basename(path).removesuffix(".in")
        if not name.endswith(".service"):
            continue
        wanted = {"CapabilityBoundingSet": RIGHTS.get(name, set()), "AmbientCapabilities": RIGHTS.get(name, set())}
        if name in FAMILIES:
            wanted["RestrictAddressFamilies"] = FAMILIES[name]
        for key, words in wanted.items():
            if words_of(text, key) != words:
                findings.append(Finding(path, 1, key, f"{key} must be exactly {' '.join(sorted(words)) or 'empty'}"))
    return findings


SERVICE = "[Service]\nExecStart=/x\n"
SENSE = ("CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH\n"
         "AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH\nRestrictAddressFamilies=AF_UNIX AF_NETLINK\n")
RULES = [
    ("units", "systemd understands the units", check_verify, [
        Sample("a.service", SERVICE + "Typ=notify\n", True),
        Sample("a.service", SERVICE + "WatchdogSec=often\n", True),
        Sample("a.service.in", SERVICE + "Type=notify\nWatchdogSec=10s\n", False),
    ]),
    ("exposure", f"the exposure of a service is {EXPOSURE_USUAL} at most, of sotto-sense 2.1", check_exposure, [
        Sample("a.service", SERVICE, True),
        Sample("sotto-sense.service", SERVICE, True),
        Sample("a.socket", "[Socket]\nListenStream=/run/a\n", False),
    ]),
    ("rights", "a service has the rights that it needs, and no other", check_rights, [
        Sample("a.service", SERVICE + "CapabilityBoundingSet=\nAmbientCapabilities=\n", False),
        Sample("a.service", SERVICE, True),
        Sample("sotto-sense.service.in", SERVICE + SENSE, False),
        Sample("sotto-sense.service.in", SERVICE + SENSE.replace("CAP_DAC_READ_SEARCH", "CAP_SYS_ADMIN"), True),
        Sample("sotto-sense.service.in", SERVICE + SENSE + "RestrictAddressFamilies=AF_INET\n", True),
    ]),
]


def main():
    if shutil.which(ANALYZE):
        return lint.run(RULES, lint.tracked(".service", ".service.in", ".socket"))
    tap = lint.Tap()
    if os.environ.get("CI"):
        tap.fact("units: systemd-analyze is here", [f"{ANALYZE} is missing, and CI must have it"])
    else:
        tap.fact("units: systemd understands the units", [], skip=f"{ANALYZE} is not installed")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
