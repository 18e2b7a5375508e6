"""Prints facts as TAP: a test is a script of functions marked @fact, and ends with tap.main()."""
import sys
import time
import traceback

FACTS = []
PATIENCE_S = 120  # for whatever must happen: a sanitizer on a busy machine takes its time


class LeftOut(Exception):
    """The fact can't be tested on this machine; the text says what is missing."""


def fact(function):
    FACTS.append(function)
    return function


def note(text):
    """Prints a comment: a time, a size."""
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def equal(got, want, what="value"):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def holds(condition, what):
    if not condition:
        raise AssertionError(what)


def within(condition, what, seconds=PATIENCE_S):
    """Waits until @condition() is true. The bound finds what never comes; it judges no speed.

    How quick something is can only be asked so: a busy machine makes some of the times long, and a fault all of them.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def main():
    failed = 0
    wanted = sys.argv[1:]
    facts = [f for f in FACTS if not wanted or any(word in f.__name__ for word in wanted)]
    print(f"1..{len(facts)}", flush=True)
    for number, function in enumerate(facts, 1):
        name = function.__name__.replace("_", " ")
        begun = time.monotonic()
        try:
            function()
        except LeftOut as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except BaseException:  # a failed fact must not hide the next one
            failed += 1
            note(traceback.format_exc())
            print(f"not ok {number} - {name}", flush=True)
        else:
            print(f"ok {number} - {name}", flush=True)
            if time.monotonic() - begun > 1:
                note(f"{time.monotonic() - begun:.1f} s")
    sys.exit(1 if failed else 0)
