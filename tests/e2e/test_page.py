#!/usr/bin/python3
"""docs/protocol.md is true: its frames are frames, and its client runs. The examples of libsotto's pages compile."""
import os
import re
import subprocess
import sys
import tempfile

import sotto_pb2 as pb
import tap
from client import client_frame, generate, pack
from fake_daemon import FakeDaemon
from tap import PATIENCE_S, equal, fact

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
with open(os.path.join(TOP, "docs/protocol.md"), encoding="utf-8") as page:
    PAGE = page.read()
with open(os.path.join(TOP, "proto/limit.h"), encoding="utf-8") as header:
    LIMITS = dict(re.findall(r"^#define (LIMIT_\w+)\s+\(?(\d+)u", header.read(), re.MULTILINE))


def usage():
    return pb.Usage(prompt_tokens=5, generated_tokens=4, ttft_us=1200, total_us=3000)


FRAMES = {
    "Hello": client_frame(0, pb.Hello(version_min=1, version_max=1, client="hex")),
    "Generate": client_frame(1, generate("Once upon a time", max_tokens=4)),
    "Accepted": pb.ServerFrame(stream=1, accepted=pb.Accepted(
        prompt_tokens=5, max_tokens=4, seed=1, model="m", priority=pb.CLASS_INTERACTIVE)),
    "Delta": pb.ServerFrame(stream=1, delta=pb.Delta(first=0, tokens=[432], text=b", there")),
    "Done": pb.ServerFrame(stream=1, done=pb.Done(reason=pb.FINISH_LENGTH, usage=usage())),
    "Cancel": client_frame(1, pb.Cancel()),
    "Credit": client_frame(1, pb.Credit(tokens=8, have_token=3, have_byte=17)),
}


@fact
def every_request_and_answer_is_on_the_page():
    for frame in pb.ClientFrame, pb.ServerFrame:
        for field in frame.DESCRIPTOR.oneofs_by_name["body"].fields:
            name = field.message_type.name
            equal(name if f"`{name}`" in PAGE else "", name)


@fact
def every_frame_in_hex_is_what_the_page_says():
    found = {bytes.fromhex(hexes) for hexes in re.findall(r"^    (?:client|daemon)  ((?:[0-9a-f]{2} ?)+)$", PAGE,
                                                         re.MULTILINE)}
    found.add(bytes.fromhex("".join(re.findall(r"^    ((?:[0-9a-f]{2} )+) +\S", PAGE, re.MULTILINE)[:2])))

    equal(found, {pack(frame) for frame in FRAMES.values()})


@fact
def the_limits_are_those_of_the_header():
    for words, name in [("streams open on a connection | {}", "LIMIT_STREAMS"), ("16; {}", "LIMIT_STOP"),
                        ("| {}; 256 |", "LIMIT_CONNS_A_UID"), ("| 64; {} |", "LIMIT_CONNS"),
                        ("| {}; 256 |", "LIMIT_WAITING_A_UID"), ("stop strings; bytes of one | {};", "LIMIT_STOPS"),
                        ("topics of Watch | {} |", "LIMIT_TOPICS")]:
        tap.holds(words.format(LIMITS[name]) in PAGE, name)
    tap.holds(f"{int(LIMITS['LIMIT_FRAME'])} MiB; {int(LIMITS['LIMIT_TEXT'])} MiB" in PAGE, "frame and text")


@fact
def the_client_on_the_page_streams_an_answer():
    def script(peer):
        peer.greet()
        frame = peer.read()
        equal(frame.generate.text, b"Once")
        peer.say(frame.stream, [" upon", " a time"])
        peer.read()

    with FakeDaemon(script) as fake, tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1])
        program.flush()
        got = subprocess.run([sys.executable, program.name, "Once"], capture_output=True, timeout=PATIENCE_S,
                             env={**os.environ, "SOTTO_SOCKET": fake.path})

        equal((got.returncode, got.stdout), (0, b" upon a time"), got.stderr.decode())


@fact
def the_examples_of_header_and_manual_compile():
    for path, pattern in [("clients/sotto.h", r"(?:^ \*     .*\n|^ \*\n)+"),
                          ("docs/man/sotto.3", r"^\.Bd.*\n((?:.*\n)+?)\.Ed")]:
        with open(os.path.join(TOP, path), encoding="utf-8") as page:
            example = max((match[0] for match in re.finditer(pattern, page.read(), re.MULTILINE)), key=len)
        code = re.sub(r"^ \*|^\.[BE]d.*", "", example, flags=re.MULTILINE).replace("\\en", "\\n")
        tap.holds("sotto_close(" in code and "_destroy(" in code, code)
        program = f"#include <sotto.h>\n#include <stdio.h>\nvoid example(void);\nvoid example(void)\n{{\n{code}\n}}\n"
        done = subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", os.path.join(TOP, "clients"),
                               "-x", "c", "-"], input=program, capture_output=True, text=True, timeout=60)
        equal((done.returncode, done.stderr), (0, ""), path + "\n" + program)


if __name__ == "__main__":
    tap.main()
